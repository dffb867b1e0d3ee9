"""Releases that a mechanism makes: drawn once, stored, counted, withdrawn."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import re
from collections import Counter
from typing import Any

import httpx
import numpy as np
import psycopg
import pyarrow.parquet as pq
import pytest

from app.domain.mechanisms.perturbation import PERTURBATION
from app.persistence.draws import PostgresDraws
from tests.api.drawn_people import ILLNESSES, PERTURBED, SAMPLED, TOWNS, UNIFORM, asked, data, made, people
from tests.api.problem_documents import problem_of
from tests.api.service import Api

pytestmark = pytest.mark.anyio


async def again(client: httpx.AsyncClient, body: dict[str, Any]) -> dict[str, Any]:
    """What is answered where nothing is made."""
    answer = await client.post("/v1/releases", json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def draws(database_urls: Any) -> tuple[int, int]:
    """How many draws are counted, and how many of them still have their secret."""
    with psycopg.connect(database_urls.admin) as connection:
        row = connection.execute("SELECT count(*), count(sealed) FROM draws").fetchone()
    assert row is not None
    return row[0], row[1]


async def refused(client: httpx.AsyncClient, body: dict[str, Any], names: str | None) -> None:
    """That another draw is refused, and which release is named."""
    problem = problem_of(await client.post("/v1/releases", json=body), 409, "conflict")
    (earlier,) = problem["details"]["earlier"]
    assert earlier["release"] == names
    assert "independent_of_earlier" in problem["remedy"]


async def test_a_release_is_drawn_once_and_read_many_times(client: httpx.AsyncClient):
    await people(client)
    manifest = await made(client.post("/v1/releases", json=asked()))
    once = await data(client)
    assert await data(client) == once
    assert manifest["mechanism"]["csv_sha256"] == hashlib.sha256(once).hexdigest()
    lines = once.decode().splitlines()
    assert Counter(line.split(",")[0] for line in lines[1:]) == Counter(TOWNS)
    table = pq.read_table(io.BytesIO(await data(client, format_="parquet")))
    assert [",".join(row.values()) for row in table.to_pylist()] == lines[1:]
    assert await data(client, format_="parquet") == await data(client, format_="parquet")
    assert (manifest["rows"], manifest["columns"], manifest["order"]) == (60, ["town", "illness"], "shuffled")
    assert (await client.get("/v1/releases/drawn")).json() == manifest
    assert (await again(client, asked())) == manifest


async def test_the_manifest_says_how_it_was_made_and_what_readers_need(client: httpx.AsyncClient):
    await people(client)
    told = (await made(client.post("/v1/releases", json=asked())))["mechanism"]
    assert (told["name"], told["version"], told["family"]) == ("perturbation", 1, "perturb")
    assert told["parameters"]["beta"] == 2
    published = told["published"]
    assert published["values"] == sorted(set(ILLNESSES))
    kept = [a + y for a, y in zip(published["retention"], published["elsewhere"], strict=True)]
    columns = [x + 2 * y for x, y in zip(kept, published["elsewhere"], strict=True)]
    assert columns == pytest.approx([1, 1, 1])
    (guarantee,) = told["guarantees"]
    assert (guarantee["status"], guarantee["standing"]) == ("certified", "certified")
    assert {own["id"]: own["holds"] for own in guarantee["hypotheses"]}["drawn_once"] == "assumed"
    assert any("who finds a person's record" in own for own in told["warnings"])
    (listed,) = (await client.get("/v1/datasets/people/releases")).json()["items"]
    assert (listed["mechanism"]["published"], listed["mechanism"]["parameters"]) == (None, None)
    assert listed["mechanism"]["guarantees"] == told["guarantees"]


async def test_uniform_perturbation_is_planned_drawn_once_and_told(client: httpx.AsyncClient):
    await people(client)
    body = asked(mechanism=UNIFORM)
    planned = (await client.post("/v1/releases/plans", json=body)).json()
    assert (planned["missing"], planned["constants"]["groups"]) == ([], 2)
    assert planned["constants"]["groups_failing_exact_total"] == 0
    told = (await made(client.post("/v1/releases", json=body)))["mechanism"]
    assert (told["name"], told["published"]["p"]) == ("uniform_perturbation", 0.25)
    assert told["published"]["values"] == sorted(set(ILLNESSES))
    standing = {own["model"]: own["standing"] for own in told["guarantees"]}
    assert standing == {"amplification": "certified", "reconstruction_privacy": "certified"}
    assert await data(client) == await data(client)
    lines = (await data(client)).decode().splitlines()[1:]
    assert Counter(line.split(",")[0] for line in lines) == Counter(TOWNS)
    # The same attribute was drawn, by whatever mechanism.
    await refused(client, asked("more"), "drawn")


async def test_groups_are_sampled_and_stored_in_copies(client: httpx.AsyncClient):
    await people(client)
    manifest = await made(client.post("/v1/releases", json=asked(mechanism=SAMPLED | {"epsilon": 1.0})))
    told = manifest["mechanism"]
    assert (told["name"], told["family"], manifest["rows"]) == ("sample_perturb_scale", "sample", 60)
    assert told["published"]["sample_size"] == 6
    once = await data(client)
    # Six values of each town, each published five times.
    assert all(n % 5 == 0 for n in Counter(once.decode().splitlines()[1:]).values())
    assert await data(client) == once


async def test_a_release_may_have_fewer_rows_than_its_dataset(client: httpx.AsyncClient):
    """A record alone in its town is above its bound, and no sample of one record is smaller."""
    text = "town,illness\nBari,flu\n" + "\n".join(f"Rome,{own}" for own in ILLNESSES[:30]) + "\n"
    await made(client.post("/v1/uploads?name=lonely", content=text, headers={"Content-Type": "text/csv"}))
    await people(client, "lonely", "lonely")
    mechanism = SAMPLED | {"epsilon": 1.0, "delta": 0.85, "mode": "balanced"}
    manifest = await made(client.post("/v1/releases", json=asked("less", "lonely", mechanism=mechanism)))
    told = manifest["mechanism"]
    assert (manifest["rows"], told["published"]["sample_size"]) == (30, None)
    assert any("is suppressed if no sample of it is small enough" in own for own in told["warnings"])
    (guarantee,) = told["guarantees"]
    assert (guarantee["status"], guarantee["standing"]) == ("as_published", "none")
    lines = (await data(client, "less")).decode().splitlines()
    assert {line.split(",")[0] for line in lines[1:]} == {"Rome"}
    assert len(lines) == 31
    table = pq.read_table(io.BytesIO(await data(client, "less", format_="parquet")))
    assert table.num_rows == 30


async def test_samples_as_published_are_for_who_governs_and_accepts_the_leak(
    api: Api, client: httpx.AsyncClient
):
    await people(client)
    mechanism = SAMPLED | {"epsilon": 1.0, "mode": "paper"}
    (error,) = problem_of(
        await client.post("/v1/releases", json=asked(mechanism=mechanism)), 422, "invalid-input"
    )["errors"]
    assert (error["pointer"], error["code"]) == ("/mechanism/accept_known_leak", "known-leak")
    accepted = asked(mechanism=mechanism | {"accept_known_leak": True})
    key = {"name": "assessor", "scopes": ["assess", "data:read"]}
    token = (await made(client.post("/v1/api-keys", json=key)))["token"]
    async with api.client(token) as assessor:
        for path in ("/v1/releases", "/v1/releases/plans", "/v1/releases/runs"):
            assert problem_of(await assessor.post(path, json=accepted), 403, "forbidden")["scope"] == "govern"
    told = (await made(client.post("/v1/releases", json=accepted)))["mechanism"]
    (guarantee,) = told["guarantees"]
    assert (guarantee["status"], guarantee["standing"]) == ("as_published", "none")
    assert any(own.startswith("Known leak") for own in told["warnings"])
    assert told["published"]["groups_suppressed"] == 0
    plan = (await client.post("/v1/releases/plans", json=asked("other", mechanism=mechanism))).json()
    assert "groups_suppressed" not in plan["constants"]
    # Numbers that follow from the data are in no sentence, whoever reads it.
    assert not any(re.search(r"\d", own) for own in (*plan["warnings"], *told["warnings"]))


async def test_uniform_perturbation_asks_for_a_cap(client: httpx.AsyncClient):
    await people(client)
    for more, pointer, code in (
        ({"rho_1": None, "rho_2": None}, "/mechanism/p_cap", "cap-missing"),
        ({"p": 0.9}, "/mechanism/p", "p-above-cap"),
    ):
        answer = await client.post("/v1/releases", json=asked(mechanism=UNIFORM | more))
        (error,) = problem_of(answer, 422, "invalid-input")["errors"]
        assert (error["pointer"], error["code"]) == (pointer, code)


async def test_who_may_not_read_data_sees_no_value_in_the_manifest(api: Api, client: httpx.AsyncClient):
    await people(client)
    body = asked(mechanism=PERTURBED | {"reference": {"flu": 5, "asthma": 5, "gout": 10}})
    await made(client.post("/v1/releases", json=body))
    key = {"name": "blind", "scopes": ["assess"]}
    token = (await made(client.post("/v1/api-keys", json=key)))["token"]
    async with api.client(token) as blind:
        text = (await blind.get("/v1/releases/drawn")).text
        assert "gout" not in text
        problem_of(await blind.post("/v1/releases", json=asked() | body), 403, "forbidden")
        problem_of(await blind.get("/v1/releases/drawn/data"), 403, "forbidden")
    assert "gout" in (await client.get("/v1/releases/drawn")).text


async def test_the_same_question_is_answered_by_the_first_release(client: httpx.AsyncClient, database_urls):
    await people(client)
    first = await made(client.post("/v1/releases", json=asked()))
    assert await again(client, asked("another-name")) == first
    await people(client, "same-again", "people")
    assert (await again(client, asked("third", "same-again")))["name"] == "drawn"
    problem_of(await client.get("/v1/releases/another-name"), 404, "not-found")


async def test_any_further_draw_is_refused_whatever_else_differs(client: httpx.AsyncClient):
    await people(client)
    await made(client.post("/v1/releases", json=asked()))
    await refused(client, asked("more", mechanism=PERTURBED | {"beta": 2.0001}), "drawn")
    await refused(client, asked("more", neutralise_formulas=True), "drawn")
    await people(client, "other", "people", town="sensitive")
    other = asked("more", "other", mechanism=PERTURBED | {"attribute": "illness"})
    await refused(client, other, "drawn")
    # Of another attribute it is the first draw, though each release shows what the other hides.
    await made(client.post("/v1/releases", json=other | {"mechanism": PERTURBED | {"attribute": "town"}}))
    assert await standing(client, "drawn") == "none"
    assert await standing(client, "more") == "none"


async def standing(client: httpx.AsyncClient, name: str) -> str:
    """What is left of the guarantee of a release."""
    (guarantee,) = (await client.get(f"/v1/releases/{name}")).json()["mechanism"]["guarantees"]
    found: str = guarantee["standing"]
    return found


@pytest.mark.parametrize(
    ("rule", "left"),
    [({"kind": "identity"}, "none"), ({"kind": "suppression", "attributes": ["illness"]}, "certified")],
)
async def test_what_another_release_shows_is_promised_no_more(
    client: httpx.AsyncClient, rule: dict[str, Any], left: str
):
    await people(client)
    await made(client.post("/v1/releases", json=asked()))
    assert await standing(client, "drawn") == "certified"
    await people(client, "same-people", "people")
    await made(client.post("/v1/rules", json={"name": "shown", "dataset": "same-people", "rule": rule}))
    body = {"name": "under-a-rule", "dataset": "same-people", "rule": "shown"}
    await made(client.post("/v1/releases", json=body))
    assert await standing(client, "drawn") == left
    (planned,) = (await client.post("/v1/releases/plans", json=asked("x"))).json()["guarantees"]
    assert planned["standing"] == left
    reasons = {own["id"]: own["reason"] for own in planned["hypotheses"]}
    assert ("'under-a-rule'" in reasons["not_shown_otherwise"]) == (left == "none")


async def test_a_drawn_table_is_judged_neither_as_a_file_nor_as_rules(client: httpx.AsyncClient):
    await people(client)
    await made(client.post("/v1/releases", json=asked()))
    table = await data(client)
    await made(client.post("/v1/uploads?name=sent", content=table, headers={"Content-Type": "text/csv"}))
    condition = {"kind": "privacy_model", "model": {"kind": "k_anonymity", "k": 2}}
    criterion = {"id": "k", "title": "k", "reason": "For the test.", "demand": condition}
    policy = {"format": "privacy-risk/policy/1", "name": "k", "version": 1, "title": "k"}
    await made(
        client.post("/v1/policies", json=policy | {"assumes": {"attacker": "A"}, "criteria": [criterion]})
    )
    judged = {"dataset": "people", "release": {"upload": "sent"}}
    answer = await client.post("/v1/gates/k/evaluations", json=judged)
    assert [own["code"] for own in problem_of(answer, 422, "invalid-input")["errors"]] == [
        "made-by-mechanism"
    ]
    measure = {"dataset": "people", "measure": {"kind": "risk_given_releases"}}
    problem = problem_of(await client.post("/v1/measurements", json=measure), 422, "not-supported")
    assert "'drawn' was made by a mechanism" in problem["detail"]


async def test_a_draw_stays_counted_when_everything_is_erased(client: httpx.AsyncClient, database_urls):
    await people(client)
    manifest = await made(client.post("/v1/releases", json=asked()))
    for path in ("releases/drawn", "datasets/people", "uploads/people"):
        assert (await client.delete(f"/v1/{path}")).status_code == 204
    with psycopg.connect(database_urls.admin) as connection:
        for query in (
            "SELECT count(*) FROM release_pieces WHERE release_id = %s",
            "SELECT count(*) FROM data_keys WHERE id = %s",
        ):
            assert connection.execute(query, [manifest["id"]]).fetchone() == (0,)
    await people(client)
    await refused(client, asked(), None)
    await refused(client, asked("other-beta", mechanism=PERTURBED | {"beta": 1}), None)


async def test_a_dataset_cannot_leave_before_what_was_drawn_of_it(client: httpx.AsyncClient):
    await people(client)
    await made(client.post("/v1/releases", json=asked()))
    for _ in range(2):
        problem = problem_of(await client.delete("/v1/datasets/people"), 409, "conflict")
        assert problem["details"]["users"] == [
            {"kind": "release", "name": "drawn", "href": "/v1/releases/drawn"}
        ]
        assert (await client.post("/v1/releases/drawn/withdrawal")).status_code == 200
    assert (await client.delete("/v1/releases/drawn")).status_code == 204
    assert (await client.delete("/v1/datasets/people")).status_code == 204


async def test_a_further_draw_that_is_asked_for_is_worth_less_and_so_is_the_first(
    api: Api, client: httpx.AsyncClient
):
    await people(client)
    await made(client.post("/v1/releases", json=asked()))
    body = asked("second", independent_of_earlier=True)
    second = await made(client.post("/v1/releases", json=body))
    assert (await again(client, body))["name"] == "second"
    third = problem_of(await client.post("/v1/releases", json=body | {"name": "third"}), 409, "conflict")
    assert "'second'" in third["detail"]
    assert await data(client, "second") != await data(client)
    first = (await client.get("/v1/releases/drawn")).json()
    for number, manifest in ((1, first), (2, second)):
        told = manifest["mechanism"]
        assert (told["draw"], told["draws"]) == (number, 2)
        (guarantee,) = told["guarantees"]
        assert (guarantee["status"], guarantee["standing"]) == ("certified", "none")
        (fails,) = [own for own in guarantee["hypotheses"] if own["holds"] == "no"]
        assert fails["id"] == "drawn_once"
    joint = first["mechanism"]["together"]
    assert (joint["standing"], joint["parameters"]["draws"]) == ("certified", 2)
    # Odds of 1/2, multiplied by 4.656 = X/Y by each of the draws.
    assert joint["parameters"]["beta"] == pytest.approx(1.7467, abs=1e-4)
    assert second["mechanism"]["together"] == joint
    key = {"name": "assessor", "scopes": ["assess", "data:read"]}
    token = (await made(client.post("/v1/api-keys", json=key)))["token"]
    async with api.client(token) as assessor:
        problem = problem_of(await assessor.post("/v1/releases", json=body), 403, "forbidden")
        assert problem["scope"] == "govern"


async def together_of(client: httpx.AsyncClient, name: str = "drawn") -> dict[str, Any]:
    """What the draws of the same data promise together, as the release of this name tells it."""
    found: dict[str, Any] = (await client.get(f"/v1/releases/{name}")).json()["mechanism"]["together"]
    return found


async def test_draws_by_different_mechanisms_are_worth_the_product_of_their_odds(client: httpx.AsyncClient):
    await people(client)
    await made(client.post("/v1/releases", json=asked()))
    other = asked("uniform", mechanism=UNIFORM, independent_of_earlier=True)
    await made(client.post("/v1/releases", json=other))
    joint = await together_of(client)
    assert (joint["model"], joint["standing"], joint["parameters"]["draws"]) == (
        "amplification", "certified", 2,
    )  # fmt: skip
    # X/Y of the rarer values by the one, a/c = (0.25 + 0.25)/0.25 by the other.
    told = (await client.get("/v1/releases/drawn")).json()["mechanism"]["published"]
    rarest = max(
        (a + y) / min(told["elsewhere"]) for a, y in zip(told["retention"], told["elsewhere"], strict=True)
    )
    assert joint["parameters"]["gamma"] == pytest.approx(2 * rarest)
    assert await together_of(client, "uniform") == joint


async def test_where_a_draw_is_deleted_nothing_is_known_of_all_and_that_is_said(client: httpx.AsyncClient):
    await people(client)
    await made(client.post("/v1/releases", json=asked()))
    await made(client.post("/v1/releases", json=asked("second", independent_of_earlier=True)))
    assert (await client.delete("/v1/releases/second")).status_code == 204
    joint = await together_of(client)
    assert joint["standing"] == "none"
    assert "no release that could be read is stored of draw 2" in joint["sentence"]


async def test_draws_promise_nothing_together_where_the_values_are_shown_otherwise(
    client: httpx.AsyncClient,
):
    await people(client)
    await made(client.post("/v1/releases", json=asked()))
    await made(client.post("/v1/releases", json=asked("second", independent_of_earlier=True)))
    assert (await together_of(client))["standing"] == "certified"
    await made(
        client.post("/v1/rules", json={"name": "all", "dataset": "people", "rule": {"kind": "identity"}})
    )
    await made(client.post("/v1/releases", json={"name": "shown", "dataset": "people", "rule": "all"}))
    joint = await together_of(client)
    assert (joint["status"], joint["standing"]) == ("certified", "none")
    (fails,) = [own for own in joint["hypotheses"] if own["holds"] == "no"]
    assert fails["id"] == "not_shown_otherwise"


async def test_two_clients_who_ask_the_same_at_once_get_the_same_draw(
    client: httpx.AsyncClient, database_urls
):
    await people(client)
    answers = await asyncio.gather(
        *(client.post("/v1/releases", json=asked(f"by-{number}")) for number in range(4))
    )
    assert sorted(own.status_code for own in answers) == [200, 200, 200, 201]
    assert len({own.content for own in answers}) == 1


async def test_of_two_who_ask_for_different_draws_at_once_one_is_refused(client: httpx.AsyncClient):
    await people(client)
    bodies = [asked(f"b-{beta}", mechanism=PERTURBED | {"beta": beta}) for beta in (1, 2, 3)]
    answers = await asyncio.gather(*(client.post("/v1/releases", json=body) for body in bodies))
    assert sorted(own.status_code for own in answers) == [201, 409, 409]


async def test_a_plan_names_the_rows_that_have_no_value_to_draw(client: httpx.AsyncClient):
    text = "town,illness\nRome,flu\nBari,\nRome,gout\nBari,\n"
    await made(client.post("/v1/uploads?name=gaps", content=text, headers={"Content-Type": "text/csv"}))
    await people(client, "gaps", "gaps")
    for mechanism in (PERTURBED, UNIFORM, SAMPLED):
        body = asked("x", "gaps", mechanism=mechanism)
        (fault,) = (await client.post("/v1/releases/plans", json=body)).json()["missing"]
        assert (fault["pointer"], fault["code"]) == ("/mechanism/attribute", "missing-sensitive-values")
        assert "2 records have no value of 'illness' that could be replaced: rows 2, 4." in fault["message"]
        problem = problem_of(await client.post("/v1/releases", json=body), 422, "invalid-input")
        assert problem["errors"] == [fault]


async def test_the_catalogue_tells_what_is_promised_and_what_numbers_of_plans_mean(
    client: httpx.AsyncClient,
):
    await people(client)
    listed = {own["name"]: own for own in (await client.get("/v1/catalogue")).json()["mechanisms"]}
    assert (listed["rule"]["guarantees"], listed["rule"]["constants"]) == ([], {})
    for mechanism in (PERTURBED, UNIFORM, SAMPLED):
        body = asked(mechanism=mechanism | {"epsilon": 1.0} if mechanism is SAMPLED else mechanism)
        plan = (await client.post("/v1/releases/plans", json=body)).json()
        own = listed[mechanism["kind"]]
        assert plan["constants"].keys() <= own["constants"].keys()
        models = {one["model"] for one in own["guarantees"]}
        assert {one["model"] for one in plan["guarantees"]} <= models
    assert listed["perturbation"]["guarantees"] == [{"model": "beta_likeness", "title": "β-likeness"}]


async def test_a_published_matrix_is_written_out_as_the_documentation_says(client: httpx.AsyncClient):
    await people(client)
    told = (await made(client.post("/v1/releases", json=asked())))["mechanism"]["published"]
    matrix = np.diag(told["retention"]) + np.array(told["elsewhere"])
    assert matrix.sum(axis=0).tolist() == pytest.approx([1, 1, 1])
    published = PERTURBATION.published(
        told["attribute"], *(tuple(told[name]) for name in ("values", "prior", "retention", "elsewhere"))
    )
    assert matrix.tolist() == published.matrix.dense().tolist()


async def test_a_plan_draws_nothing_and_tells_what_stands_in_the_way(
    client: httpx.AsyncClient, database_urls
):
    await people(client)
    before = draws(database_urls)
    plan = (await client.post("/v1/releases/plans", json=asked())).json()
    assert (plan["missing"], plan["earlier"], plan["constants"]["values"]) == ([], [], 3)
    assert plan["guarantees"][0]["standing"] == "certified"
    assert (await client.post("/v1/releases?dry_run=true", json=asked())).json() == plan
    high = asked(mechanism=PERTURBED | {"alpha_floor": 0.99})
    (fault,) = (await client.post("/v1/releases/plans", json=high)).json()["missing"]
    assert (fault["pointer"], fault["code"]) == ("/mechanism/alpha_floor", "alpha-floor-too-large")
    problem = problem_of(await client.post("/v1/releases", json=high), 422, "invalid-input")
    assert problem["errors"] == [fault]
    assert draws(database_urls) == before
    await made(client.post("/v1/releases", json=asked()))
    plan = (await client.post("/v1/releases/plans", json=asked("more", neutralise_formulas=True))).json()
    assert [own["code"] for own in plan["missing"]] == ["conflict"]
    assert [own["release"] for own in plan["earlier"]] == ["drawn"]


async def test_a_rule_generalises_the_quasi_identifiers_first(client: httpx.AsyncClient):
    await people(client)
    for name, hidden in (("no-town", "town"), ("no-illness", "illness")):
        rule = {"kind": "suppression", "attributes": [hidden]}
        await made(client.post("/v1/rules", json={"name": name, "dataset": "people", "rule": rule}))
    problem_of(await client.post("/v1/releases", json=asked(rule="no-illness")), 422, "not-supported")
    manifest = await made(client.post("/v1/releases", json=asked(rule="no-town")))
    assert (manifest["rule"]["name"], manifest["suppressed_cells"]) == ("no-town", 60)
    assert {line.split(",")[0] for line in (await data(client)).decode().splitlines()[1:]} == {"*"}


async def test_what_does_not_fit_together_is_refused_with_the_field(client: httpx.AsyncClient):
    await people(client)
    for body, pointer, code in (
        (asked(order="records"), "/order", "order-not-offered"),
        ({"name": "x", "dataset": "people"}, "/rule", "missing"),
        (asked(mechanism={"kind": "perturbation"}), "/mechanism/beta", "missing"),
        (asked(mechanism={"kind": "unheard-of"}), "/mechanism/kind", "union-tag-invalid"),
        (asked(mechanism=PERTURBED | {"seed": 1}), "/mechanism/seed", "extra-forbidden"),
        (asked(mechanism=PERTURBED | {"beta": 0}), "/mechanism/beta", "greater-than-equal"),
    ):
        problem = problem_of(await client.post("/v1/releases", json=body), 422, "invalid-input")
        assert (problem["errors"][0]["pointer"], problem["errors"][0]["code"]) == (pointer, code)


async def test_a_taken_name_is_refused_before_anything_is_drawn(client: httpx.AsyncClient, database_urls):
    await people(client)
    rule = {"name": "as-is", "dataset": "people", "rule": {"kind": "identity"}}
    await made(client.post("/v1/rules", json=rule))
    await made(client.post("/v1/releases", json={"name": "drawn", "dataset": "people", "rule": "as-is"}))
    before = draws(database_urls)
    problem_of(await client.post("/v1/releases", json=asked()), 409, "conflict")
    assert draws(database_urls) == before
    await made(client.post("/v1/releases", json=asked("free")))


async def test_a_withdrawn_release_gives_no_table_and_stays_counted(client: httpx.AsyncClient):
    await people(client)
    manifest = await made(client.post("/v1/releases", json=asked()))
    shown = (await client.post("/v1/releases/drawn/withdrawal")).json()
    assert shown == manifest | {"withdrawn_at": shown["withdrawn_at"]}
    assert (await client.post("/v1/releases/drawn/withdrawal")).json() == shown
    assert (await client.get("/v1/releases/drawn")).json() == shown
    problem = problem_of(await client.get("/v1/releases/drawn/data"), 410, "withdrawn")
    assert shown["withdrawn_at"][:10] in problem["detail"]
    await refused(client, asked("more", neutralise_formulas=True), "drawn")
    events = (await client.get("/v1/audit-events?action=release.withdraw")).json()["items"]
    assert [own["subject"] for own in events] == [manifest["id"]]


async def test_a_release_under_a_rule_has_the_manifest_that_it_had(client: httpx.AsyncClient):
    await people(client)
    rule = {"name": "as-is", "dataset": "people", "rule": {"kind": "identity"}}
    await made(client.post("/v1/rules", json=rule))
    manifest = await made(
        client.post("/v1/releases", json={"name": "r", "dataset": "people", "rule": "as-is"})
    )
    assert list(manifest) == [
        "id", "name", "sha256", "created_at", "addresses", "dataset", "dataset_sha256", "rows_are", "rule",
        "columns", "rows", "suppressed_cells", "suppressed_records", "classes", "neutralise_formulas",
        "order", "order_chosen",
    ]  # fmt: skip
    problem_of(await client.post("/v1/releases/r/withdrawal"), 422, "not-supported")
    body = {"name": "r", "dataset": "people", "rule": "as-is", "independent_of_earlier": True}
    problem_of(await client.post("/v1/releases", json=body), 422, "invalid-input")


async def test_what_was_drawn_counts_in_the_quota(api: Api, client: httpx.AsyncClient, database_urls):
    await people(client)
    used = (await client.get("/v1/tenant")).json()["quotas"]["stored_bytes"]["used"]
    tenant = (await client.get("/v1/tenant")).json()["id"]
    async with api.store.work(tenant) as work:
        await work.tenant.change({"stored_bytes": used})
        await work.commit()
    problem = problem_of(await client.post("/v1/releases", json=asked()), 413, "quota-exceeded")
    assert problem["quota"]["name"] == "stored_bytes"
    async with api.store.work(tenant) as work:
        await work.tenant.change({"stored_bytes": None})
        await work.commit()
    # The draw was begun: it is gone on with, and no other takes its place.
    other = asked(mechanism=PERTURBED | {"beta": 1})
    problem = problem_of(await client.post("/v1/releases", json=other), 409, "conflict")
    assert "not stored yet" in problem["detail"]
    manifest = await made(client.post("/v1/releases", json=asked()))
    assert (manifest["mechanism"]["draw"], manifest["mechanism"]["draws"]) == (1, 1)
    now = (await client.get("/v1/tenant")).json()["quotas"]["stored_bytes"]["used"]
    assert now > used


async def test_no_secret_is_in_any_answer_log_or_row(api: Api, database_urls, monkeypatch):
    seen: list[bytes] = []
    real = PostgresDraws.secret

    async def secret(self: PostgresDraws, draw_id: str) -> bytes:
        seen.append(await real(self, draw_id))
        return seen[-1]

    monkeypatch.setattr(PostgresDraws, "secret", secret)
    _, token = await api.tenant_with_key()
    async with api.client(token) as client:
        await people(client)
        answers = [(await client.post("/v1/releases", json=asked())).content, await data(client)]
        for path in ("releases/drawn", "releases", "datasets/people/releases", "audit-events"):
            answers.append((await client.get(f"/v1/{path}")).content)
    answers.append(api.log.getvalue().encode())
    (only,) = seen
    assert len(only) == 32
    for answer in answers:
        assert only not in answer
        assert only.hex() not in answer.decode().lower()
    with psycopg.connect(database_urls.admin) as connection:
        query = "SELECT count(*) FROM draws WHERE sealed IS NOT NULL AND id = %s"
        assert connection.execute(query, [json.loads(answers[0])["id"]]).fetchone() == (0,)
