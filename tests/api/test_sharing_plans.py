"""Best plans and answers to invitations over HTTP: the specification's numbers, whole networks, bad input."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.api.networks import dataset, fault_of, measured

pytestmark = pytest.mark.anyio

TRUST = "a,b,trust\n0,1,2\n1,0,2\n1,2,1\n2,1,1\n"
INTERESTS = "person,k1,k2\n0,1,0.5\n1,0.8,1.2\n2,0.4,2\n"
ALL_PAIRS = "a,b\n0,1\n0,2\n1,0\n1,2\n2,0\n2,1\n"


async def people(
    client: httpx.AsyncClient,
    rows: str,
    ladders: dict[str, list[list[str]]],
    weights: dict[str, dict[str, Any]],
    utility: dict[str, Any] | None = None,
) -> None:
    """Profiles of people with hierarchies and a linear sensitivity profile."""
    sent = {"content": rows, "headers": {"Content-Type": "text/csv"}}
    assert (await client.post("/v1/uploads?name=people", **sent)).status_code == 201
    attributes = [{"name": "person", "type": "text", "role": "identifier"}]
    for name, ladder in ladders.items():
        body = {"name": name, "definition": {"kind": "rows", "rows": ladder}}
        assert (await client.post("/v1/hierarchies", json=body)).status_code == 201
        attributes.append(
            {"name": name, "type": "categorical", "role": "quasi_identifier", "hierarchy": name}
        )
    body = {"name": "people", "upload": "people", "attributes": attributes}
    assert (await client.post("/v1/datasets", json=body)).status_code == 201
    body = {
        "name": "harm",
        "dataset": "people",
        "family": "linear",
        "attributes": weights,
        "allow_positive_top": True,
    }
    answer = await client.post("/v1/sensitivity-profiles", json=body)
    assert answer.status_code == 201, answer.text


@pytest.fixture
async def planned(client: httpx.AsyncClient) -> httpx.AsyncClient:
    """V10 of the specification: heights 3 and 2, weights by value, stated trust, interests."""
    ladders = {
        name: [[leaf, *above] for leaf in "xyz"]
        for name, above in (("k1", ["near", "far", "all"]), ("k2", ["near", "all"]))
    }
    weights = {"k1": {"leaves": {"x": 2, "y": 1, "z": 0.5}}, "k2": {"leaves": {"x": 1, "y": 3, "z": 0.5}}}
    await people(client, "person,k1,k2\n0,x,x\n1,y,y\n2,z,z\n", ladders, weights)
    await dataset(client, "pairs", ALL_PAIRS)
    await dataset(client, "thoughts", TRUST)
    await dataset(client, "interests", INTERESTS, person="identifier")
    return client


@pytest.fixture
async def invited(client: httpx.AsyncClient) -> httpx.AsyncClient:
    """V11 of the specification: p is invited by five-friends, one-friend and nobody-in-common."""
    rows = "p,Laf,Eng\nf1,Laf,Eng\nf2,Laf,Nur\nf3,Day,Eng\nf4,Chi,Eng\nf5,Chi,Nur\n"
    await people(
        client,
        "person,city,job\n" + rows + "many,Chi,Nur\none,Chi,Nur\nnone,Chi,Nur\n",
        {
            "city": [["Laf", "IN", "*"], ["Day", "IN", "*"], ["Chi", "IL", "*"]],
            "job": [["Eng", "*"], ["Nur", "*"]],
        },
        {
            "city": {"nodes": {"Laf": 0.6, "Day": 0.6, "Chi": 0.6, "IN": 0.3, "IL": 0.3, "*": 0.1}},
            "job": {"nodes": {"Eng": 0.5, "Nur": 0.5, "*": 0.1}},
        },
    )
    edges = [f"{end},f{i}" for end in ("p", "many") for i in range(1, 6)]
    await dataset(client, "edges", "a,b\n" + "\n".join([*edges, "one,f1"]) + "\n")
    await dataset(client, "invitations", "a,b\np,many\np,one\np,none\n")
    return client


async def asked(client: httpx.AsyncClient, kind: str, **question: Any) -> httpx.Response:
    return await measured(client, kind, **{"sensitivity": "harm", **question})


def result_of(answer: httpx.Response) -> dict[str, Any]:
    assert answer.is_success, answer.text
    result: dict[str, Any] = answer.json()["result"]
    return result


async def plan_of(client: httpx.AsyncClient, **question: Any) -> httpx.Response:
    usual = {
        "pairs": "pairs", "interests": "interests", "trust_table": "thoughts", "decreasing": "reciprocal",
    }  # fmt: skip
    return await asked(client, "sharing_plan", **{**usual, **question})


async def answers_of(client: httpx.AsyncClient, **question: Any) -> httpx.Response:
    usual = {"edges": "edges", "pairs": "invitations", "risk_cap": 0.3}
    return await asked(client, "sharing_recommendation", **{**usual, **question})


@pytest.mark.spec("DN-V10", "DN-S11")
async def test_the_three_problems_are_solved_as_the_specification_has_them(planned: httpx.AsyncClient):
    least = result_of(await plan_of(planned, trade_off=0.7))
    assert least["plan"] == [
        {"source": a, "target": b, "levels": {"k1": x, "k2": y}}
        for (a, b), x, y in (("01", 0, 2), ("02", 0, 2), ("10", 3, 0), ("20", 3, 0), ("21", 3, 2))
    ]  # fmt: skip
    assert (least["pairs"], least["sharing"], least["is_optimal"]) == (6, 5, True)
    assert (least["loss"], least["utility"]) == (pytest.approx(6.416667, abs=5e-7), pytest.approx(17.2))
    assert least["bound"] == pytest.approx(-5.623333, abs=5e-7)
    capped = result_of(await plan_of(planned, loss_cap=6, method="exact"))
    assert (capped["utility"], capped["bound"]) == (pytest.approx(16.2), pytest.approx(16.2))
    assert capped["loss"] == pytest.approx(5.916667, abs=5e-7)
    floored = result_of(await plan_of(planned, utility_floor=15, method="exact"))
    assert (floored["loss"], floored["is_optimal"]) == (pytest.approx(5.416667, abs=5e-7), True)
    greedy = result_of(await plan_of(planned, loss_cap=6))
    assert greedy["utility"] <= capped["utility"] <= greedy["bound"] + 1e-9


async def test_a_plan_can_be_sent_back_and_costs_what_was_said(planned: httpx.AsyncClient):
    plan = result_of(await plan_of(planned, trade_off=0.7, most=100))
    rows = [
        f"{row['source']},{row['target']},{row['levels']['k1']},{row['levels']['k2']}" for row in plan["plan"]
    ]
    await dataset(planned, "plan", "a,b,k1,k2\n" + "\n".join(rows) + "\n")
    usual = {"interests": "interests", "trust_table": "thoughts", "decreasing": "reciprocal"}
    scored = result_of(await asked(planned, "sharing_loss", plan="plan", **usual))
    assert (scored["loss"], scored["utility"]) == pytest.approx((plan["loss"], plan["utility"]))


async def test_a_long_plan_is_listed_in_parts_and_shows_nobodys_trust(planned: httpx.AsyncClient):
    whole = await plan_of(planned, trade_off=0.7)
    parts = [
        result_of(await plan_of(planned, trade_off=0.7, most=2, skip=skip))["plan"] for skip in (0, 2, 4, 6)
    ]
    assert [len(part) for part in parts] == [2, 2, 1, 0]
    assert [row for part in parts for row in part] == result_of(whole)["plan"]
    assert "trust" not in str(result_of(whole))


async def test_without_pairs_everybody_may_share_along_edges(planned: httpx.AsyncClient):
    await dataset(planned, "edges", "a,b\n0,1\n1,0\n1,1\n")
    found = result_of(await plan_of(planned, pairs=None, edges="edges", trade_off=0.7))
    assert found["pairs"] == 2
    assert [(row["source"], row["target"]) for row in found["plan"]] == [("0", "1"), ("1", "0")]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, ("/measure/trade_off", "one-of")),
        ({"trade_off": 1, "loss_cap": 1}, ("/measure/trade_off", "one-of")),
        ({"utility_floor": 1e6}, ("/measure/utility_floor", "unreachable")),
        ({"trade_off": 1, "pairs": None}, ("/measure/edges", "missing")),
        ({"trade_off": 1, "decreasing": "linear"}, ("/measure/decreasing", "trust-out-of-range")),
        ({"trade_off": 1, "trust": "common_friends"}, ("/measure/edges", "missing")),
    ],
)
async def test_plans_without_one_answerable_problem_are_refused(planned, changed, expected):
    assert fault_of(await plan_of(planned, **changed))[:2] == expected


@pytest.mark.parametrize("changed", [{"trade_off": -1}, {"loss_cap": -1}, {"trade_off": 1, "skip": -1}])
async def test_numbers_below_their_bounds_are_refused(planned, changed):
    assert fault_of(await plan_of(planned, **changed))[1] == "greater-than-equal"


async def test_pairs_of_strangers_are_refused(planned: httpx.AsyncClient):
    await dataset(planned, "strange", "a,b\n0,9\n")
    assert fault_of(await plan_of(planned, trade_off=1, pairs="strange"))[:2] == (
        "/measure/pairs", "unknown-person",
    )  # fmt: skip


@pytest.mark.spec("DN-V11", "DN-S17")
async def test_invitations_are_answered_as_the_specification_has_it(invited: httpx.AsyncClient):
    found = result_of(await answers_of(invited))
    assert (found["invitations"], found["repeated"], found["attributes"]) == (3, 0, ["city", "job"])
    assert (found["accepted"], found["unproven"]) == (2, 0)
    many, one, none = (own["recommendation"] for own in found["answers"])
    assert [own["inviter"] for own in found["answers"]] == ["many", "one", "none"]
    assert (many["accepted"], many["common_friends"], many["shown"]["levels"]) == (True, 5, [1, 1])
    assert (many["shown"]["utility"], many["shown"]["risk"]) == (1, pytest.approx(0.133333, abs=5e-7))
    assert many["utility_bound"] == 1
    town, job = many["more"]
    assert (town["levels"], town["risk"]) == ([0, 1], pytest.approx(0.35))
    assert (job["levels"], job["risk"]) == ([1, 0], pytest.approx(0.4))
    assert (one["accepted"], one["shown"]["levels"]) == (True, [2, 1])
    assert one["shown"]["risk"] == pytest.approx(0.2)
    assert (none["accepted"], none["common_friends"], none["shown"]["risk"]) == (False, 0, "inf")


async def test_repeated_invitations_are_answered_once_and_many_in_parts(invited: httpx.AsyncClient):
    await dataset(invited, "again", "a,b\np,one\np,many\np,one\np,p\n")
    found = result_of(await answers_of(invited, pairs="again"))
    assert (found["invitations"], found["repeated"]) == (2, 2)
    parts = [result_of(await answers_of(invited, most=1, skip=skip))["answers"] for skip in range(4)]
    whole = result_of(await answers_of(invited))["answers"]
    assert [row for part in parts for row in part] == whole


async def test_friends_without_a_profile_hide_nobody_but_who_shows_nothing(invited: httpx.AsyncClient):
    await dataset(invited, "more", "a,b\np,stranger\nmany,stranger\np,f1\nmany,f1\n")
    found = result_of(await answers_of(invited, edges="more", risk_cap=0.15))
    many = found["answers"][0]["recommendation"]
    assert (many["common_friends"], many["shown"]["levels"]) == (2, [2, 1])
    assert many["shown"]["risk"] == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"edges": None}, ("/measure/edges", "missing")),
        ({"risk_cap": -1}, ("/measure/risk_cap", "greater-than-equal")),
    ],
)
async def test_questions_that_are_none_are_refused(invited, changed, expected):
    place, code, _ = fault_of(await answers_of(invited, **changed))
    assert (place, code) == expected


async def test_people_without_a_profile_are_shown_nowhere(invited: httpx.AsyncClient):
    await dataset(invited, "more", "a,b\np,stranger\n")
    await dataset(invited, "strange", "a,b\nstranger,p\n")
    answer = await answers_of(invited, edges="more", pairs="strange")
    assert fault_of(answer)[:2] == ("/measure/pairs", "no-profile")
