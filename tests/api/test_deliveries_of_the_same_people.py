"""Draws of another delivery of the same people: recognised by identifiers, counted, told and refused."""

from __future__ import annotations

from typing import Any

import httpx
import psycopg
import pytest

from app.services.releases import mechanism_releases, people_in_both
from tests.api.deliveries import delivery, drawn, drawn_once
from tests.api.drawn_people import made
from tests.api.problem_documents import problem_of
from tests.api.service import Api
from tests.conftest import DatabaseUrls

pytestmark = pytest.mark.anyio


async def planned(client: httpx.AsyncClient, body: dict[str, Any]) -> dict[str, Any]:
    answer = await client.post("/v1/releases/plans", json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def of_key(api: Api, client: httpx.AsyncClient, *scopes: str) -> str:
    answer = await made(client.post("/v1/api-keys", json={"name": "-".join(scopes[0:1]), "scopes": scopes}))
    return str(answer["token"])


async def test_the_same_people_in_another_delivery_are_a_further_draw(api: Api, client: httpx.AsyncClient):
    await delivery(client, "spring", range(60))
    first = await made(client.post("/v1/releases", json=drawn("of-spring", "spring")))
    assert {own["holds"] for own in drawn_once(first["mechanism"])} == {"yes"}
    # In another order, and with twenty others in place of the first twenty.
    await delivery(client, "summer", range(79, 19, -1))
    plan = await planned(client, drawn("of-summer", "summer"))
    assert [own["release"] for own in plan["earlier"]] == ["of-spring"]
    assert [own["code"] for own in plan["missing"]] == ["conflict"]
    assert plan["constants"]["releases"] == 2
    for own in drawn_once(plan):
        assert own["holds"] == "no"
        assert "with 40 of the same people" in own["reason"]
    assert {own["standing"] for own in plan["guarantees"]} == {"none"}
    async with api.client(await of_key(api, client, "assess")) as assessor:
        for own in drawn_once(await planned(assessor, drawn("of-summer", "summer"))):
            assert "with some of the same people" in own["reason"]
            assert "40" not in own["reason"]
        body = drawn("of-summer", "summer", independent_of_earlier=True)
        assert (
            problem_of(await assessor.post("/v1/releases", json=body), 403, "forbidden")["scope"] == "govern"
        )
    problem = problem_of(
        await client.post("/v1/releases", json=drawn("of-summer", "summer")), 409, "conflict"
    )
    assert [own["release"] for own in problem["details"]["earlier"]] == ["of-spring"]
    second = await made(client.post("/v1/releases", json=body))
    for number, name in ((1, "of-spring"), (2, "of-summer")):
        told = (await client.get(f"/v1/releases/{name}")).json()["mechanism"]
        assert (told["draw"], told["draws"]) == (number, 2)
        assert {own["holds"] for own in drawn_once(told)} == {"no"}
        assert {own["standing"] for own in told["guarantees"]} == {"none"}
        assert told["together"]["parameters"]["draws"] == 2
        # Each draw multiplies odds by as much.
        once = next(own["parameters"]["gamma"] for own in told["guarantees"] if "gamma" in own["parameters"])
        assert told["together"]["parameters"]["gamma"] == pytest.approx(once**2)
    assert "40" not in str(drawn_once(second["mechanism"]))
    # The groups are tested for who has both.
    (of_groups,) = [
        own for own in second["mechanism"]["guarantees"] if own["model"] == "reconstruction_privacy"
    ]
    assert "for who has 2 independent releases" in str(of_groups["hypotheses"])
    # Of three that nobody is in all of, a person is in two at most.
    await delivery(client, "winter", range(60, 120))
    plan = await planned(client, drawn("of-winter", "winter"))
    assert (plan["constants"]["releases"], [own["release"] for own in plan["earlier"]]) == (2, ["of-summer"])


async def test_of_two_deliveries_that_are_first_drawn_at_one_moment_the_second_is_a_further_draw(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
):
    await delivery(client, "spring", range(60))
    await delivery(client, "summer", range(20, 80))
    prepare = mechanism_releases.prepare_release

    async def overtaken(*given: Any) -> Any:
        prepared = await prepare(*given)
        monkeypatch.setattr(mechanism_releases, "prepare_release", prepare)
        await made(client.post("/v1/releases", json=drawn("of-spring", "spring")))
        return prepared

    monkeypatch.setattr(mechanism_releases, "prepare_release", overtaken)
    body = drawn("of-summer", "summer")
    problem = problem_of(await client.post("/v1/releases", json=body), 409, "conflict")
    assert [own["release"] for own in problem["details"]["earlier"]] == ["of-spring"]


async def test_other_people_are_no_further_draw(client: httpx.AsyncClient):
    await delivery(client, "spring", range(60))
    await made(client.post("/v1/releases", json=drawn("of-spring", "spring")))
    await delivery(client, "others", range(60, 120))
    plan = await planned(client, drawn("of-others", "others"))
    assert (plan["missing"], plan["earlier"], plan["constants"]["releases"]) == ([], [], 1)
    told = (await made(client.post("/v1/releases", json=drawn("of-others", "others"))))["mechanism"]
    assert (told["draws"], {own["holds"] for own in drawn_once(told)}) == (1, {"yes"})


async def test_a_deleted_release_of_another_delivery_counts(client: httpx.AsyncClient):
    await delivery(client, "spring", range(60))
    await made(client.post("/v1/releases", json=drawn("of-spring", "spring")))
    assert (await client.delete("/v1/releases/of-spring")).status_code == 204
    await delivery(client, "summer", range(20, 80))
    problem = problem_of(
        await client.post("/v1/releases", json=drawn("of-summer", "summer")), 409, "conflict"
    )
    assert [own["release"] for own in problem["details"]["earlier"]] == [None]


async def test_without_an_identifier_nobody_is_recognised_and_it_is_said(client: httpx.AsyncClient):
    await delivery(client, "spring", range(60))
    await made(client.post("/v1/releases", json=drawn("of-spring", "spring")))
    await delivery(client, "nameless", range(61), identifier="other")
    for own in drawn_once(await planned(client, drawn("of-nameless", "nameless"))):
        assert (own["holds"], own["reason"]) == ("assumed", people_in_both.NO_IDENTIFIER)
    told = (await made(client.post("/v1/releases", json=drawn("of-nameless", "nameless"))))["mechanism"]
    for own in drawn_once(told):
        assert own["holds"] == "assumed"
        assert people_in_both.NO_IDENTIFIER in own["reason"]
    # Neither are those who are in that, whatever identifier another delivery declares.
    await delivery(client, "autumn", range(200, 260))
    for own in drawn_once(await planned(client, drawn("of-autumn", "autumn"))):
        assert own["holds"] == "assumed"
        assert "no dataset of some of them declares" in own["reason"]


async def test_what_is_beyond_the_bound_is_not_compared_and_it_is_said(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
):
    await delivery(client, "spring", range(60))
    await made(client.post("/v1/releases", json=drawn("of-spring", "spring")))
    await delivery(client, "summer", range(20, 80))
    monkeypatch.setattr(people_in_both, "MOST_RECORDS", 59)
    plan = await planned(client, drawn("of-summer", "summer"))
    assert plan["missing"] == []
    for own in drawn_once(plan):
        assert own["holds"] == "assumed"
        assert "something was given out of more" in own["reason"]


async def test_of_a_draw_of_before_nothing_is_known_of_other_deliveries(
    client: httpx.AsyncClient, database_urls: DatabaseUrls
):
    """As a migrated database has it: that all was compared is not kept."""
    await delivery(client, "spring", range(60))
    made_before = await made(client.post("/v1/releases", json=drawn("of-spring", "spring")))
    assert {own["holds"] for own in drawn_once(made_before["mechanism"])} == {"yes"}
    with psycopg.connect(database_urls.admin) as connection:
        connection.execute("UPDATE draws SET is_compared = false WHERE id = %s", [made_before["id"]])
    told = (await client.get("/v1/releases/of-spring")).json()["mechanism"]
    for own in drawn_once(told):
        assert own["holds"] == "assumed"
        assert "of which it is not known whether" in own["reason"]
    # What is drawn now is compared with it.
    await delivery(client, "others", range(60, 120))
    later = (await made(client.post("/v1/releases", json=drawn("of-others", "others"))))["mechanism"]
    assert {own["holds"] for own in drawn_once(later)} == {"yes"}


async def test_a_release_under_a_rule_that_is_deleted_counts_for_its_people(client: httpx.AsyncClient):
    await delivery(client, "spring", range(60))
    await delivery(client, "summer", range(20, 80))
    rule = {"name": "plain", "dataset": "spring", "rule": {"kind": "identity"}}
    await made(client.post("/v1/rules", json=rule))
    shown = {"name": "shown", "dataset": "spring", "rule": "plain"}
    await made(client.post("/v1/releases", json=shown))
    assert (await planned(client, drawn("of-summer", "summer")))["earlier"] == []
    assert (await client.delete("/v1/releases/shown")).status_code == 204
    plan = await planned(client, drawn("of-summer", "summer"))
    assert [own["release"] for own in plan["earlier"]] == [None]
    assert {own["holds"] for own in drawn_once(plan)} == {"no"}
    # Of others it is not known any more, once nothing of it is stored.
    for own in ("rules/plain", "datasets/spring", "uploads/spring"):
        assert (await client.delete(f"/v1/{own}")).status_code == 204
    await delivery(client, "others", range(100, 160))
    for own in drawn_once(await planned(client, drawn("of-others", "others"))):
        assert own["holds"] == "assumed"
        assert "deleted by now" in own["reason"]
