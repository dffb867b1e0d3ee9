"""Records released batch by batch: the running risk is that of one table with all of them."""

from __future__ import annotations

import asyncio
import csv
import io

import pytest

from app.api.examples.files import MEMBERS_CSV
from tests.api.problem_documents import pointers, problem_of

pytestmark = pytest.mark.anyio

PATH = "/v1/sequential-disclosures"
QUESTION = {"dataset": "members", "dictionary": "census", "sensitivity": "members-harm"}
AS_IS = {"kind": "levels", "levels": {}}
ATTRIBUTES = ("city", "race", "birth_date", "income")


def members() -> list[dict]:
    rows = csv.DictReader(io.StringIO(MEMBERS_CSV))
    return [
        {"entity": row["member_id"], "values": {name: row[name] or None for name in ATTRIBUTES}}
        for row in rows
    ]


async def begin(client, name: str = "stream", **more) -> str:
    response = await client.post(PATH, json={"name": name, **QUESTION, **more})
    assert response.status_code == 201, response.text
    return f"{PATH}/{name}"


async def append(client, address: str, records: list[dict], rule: dict) -> dict:
    response = await client.post(f"{address}/batches", json={"records": records, "rule": rule})
    assert response.status_code == 201, response.text
    return response.json()


async def assessed(client, rule, **more) -> dict:
    body = {"name": "whole", **QUESTION, "rule": rule, **more}
    response = await client.post("/v1/assessments", json=body)
    assert response.status_code == 201, response.text
    return response.json()["result"]


@pytest.mark.parametrize("policy", ["zero", "add_self"])
async def test_batches_amount_to_the_assessment_of_the_whole_table(journey, policy):
    address = await begin(journey, absent_policy=policy)
    records = members()
    for first in range(0, len(records), 5):
        last = await append(journey, address, records[first : first + 5], AS_IS)
    whole = await assessed(journey, {"kind": "identity"}, absent_policy=policy)
    assert last["running"]["risk_average"] == pytest.approx(whole["risk_average"], abs=1e-12)
    assert last["running"]["risk_max"] == whole["risk_max"]
    assert last["running"]["utility_average"] == pytest.approx(whole["utility_average"], abs=1e-12)
    assert last["running"]["records"] == whole["n_records"] == 12
    assert (await journey.get(address)).json()["running"] == last["running"]


async def test_a_record_shows_how_it_was_judged(journey):
    """The case study's record: 7 consistent entities, harm 7.028688, loss 1.004098, utility 13."""
    address = await begin(journey)
    batch = await append(journey, address, [members()[0]], AS_IS)
    (record,) = batch["records"]
    assert record["count"] > 0
    assert record["phi"] == pytest.approx(7.028688, abs=1e-6)
    assert record["loss"] == pytest.approx(record["phi"] / record["count"])
    assert record["levels"] == dict.fromkeys(ATTRIBUTES, 0)
    assert record["entity"] == "m-01"


async def test_weights_make_the_mean(journey):
    address = await begin(journey)
    one, other = members()[:2]
    batch = await append(journey, address, [one | {"weight": 1}, other | {"weight": 3}], AS_IS)
    losses = [record["loss"] for record in batch["records"]]
    assert batch["running"]["risk_average"] == pytest.approx((losses[0] + 3 * losses[1]) / 4)
    batch = await append(journey, address, [members()[2] | {"weight": 0}], AS_IS)
    assert batch["running"]["risk_average"] == pytest.approx((losses[0] + 3 * losses[1]) / 4)
    assert batch["running"]["records"] == 3


async def test_the_best_levels_of_a_batch_keep_the_floor_and_their_mode_is_used_next(journey):
    address = await begin(journey)
    best = await append(journey, address, members(), {"kind": "optimal", "utility_floor": 6})
    assert all(record["utility"] >= 6 for record in best["records"])
    tally: dict[tuple, int] = {}
    for record in best["records"]:
        key = tuple(record["levels"][name] for name in ATTRIBUTES)
        tally[key] = tally.get(key, 0) + 1
    most = max(tally.values())
    mode = min(key for key, n in tally.items() if n == most)
    next_ = await append(journey, address, [members()[5]], {"kind": "modal", "utility_floor": 6})
    assert tuple(next_["records"][0]["levels"][name] for name in ATTRIBUTES) == mode
    assert next_["step"] == 2


async def test_the_best_levels_are_those_of_the_record_level_search(journey):
    address = await begin(journey)
    best = await append(journey, address, members(), {"kind": "optimal", "utility_floor": 6})
    identity = await append(journey, address, members(), AS_IS)
    suppressed = await append(
        journey, address, members(), {"kind": "levels", "levels": {"city": 1, "race": 1, "birth_date": 1}}
    )
    for good, as_is, other in zip(best["records"], identity["records"], suppressed["records"], strict=True):
        assert good["loss"] <= as_is["loss"] + 1e-12
        if other["utility"] >= 6:
            assert good["loss"] <= other["loss"] + 1e-12


async def test_a_mode_without_history_is_refused(journey):
    address = await begin(journey)
    body = {"records": members()[:1], "rule": {"kind": "modal", "utility_floor": 6}}
    problem = problem_of(await journey.post(f"{address}/batches", json=body), 422, "invalid-input")
    assert problem["errors"][0]["code"] == "no-history"


async def test_an_infeasible_floor_says_by_how_much(journey):
    address = await begin(journey)
    body = {"records": members()[:1], "rule": {"kind": "optimal", "utility_floor": 14.5}}
    problem = problem_of(await journey.post(f"{address}/batches", json=body), 422, "invalid-input")
    assert "1.5" in problem["errors"][0]["remedy"]


async def test_two_clients_at_once_lose_no_batch(journey):
    address = await begin(journey)
    records = members()
    appended = await asyncio.gather(*(append(journey, address, [record], AS_IS) for record in records[:6]))
    assert sorted(batch["step"] for batch in appended) == [1, 2, 3, 4, 5, 6]
    running = (await journey.get(address)).json()["running"]
    assert running["records"] == 6
    losses = [batch["records"][0]["loss"] for batch in appended]
    assert running["risk_average"] == pytest.approx(sum(losses) / 6)


async def test_equal_batches_are_two_but_a_repeated_request_is_one(journey):
    address = await begin(journey)
    body = {"records": members()[:1], "rule": AS_IS}
    for key in ("a", "a", "b"):
        response = await journey.post(f"{address}/batches", json=body, headers={"Idempotency-Key": key})
        assert response.status_code == 201
    assert (await journey.get(address)).json()["running"]["records"] == 2


async def test_every_wrong_value_is_named_and_nothing_is_appended(journey):
    address = await begin(journey)
    wrong = [
        {"entity": "a", "values": {"city": "Atlantis", "colour": "red"}},
        {"entity": "a", "values": {"race": "Elf"}},
    ]
    response = await journey.post(f"{address}/batches", json={"records": wrong, "rule": AS_IS})
    problem = problem_of(response, 422, "invalid-input")
    assert set(pointers(problem)) == {
        "/records/0/values/colour",
        "/records/0/values/city",
        "/records/1/values/race",
        "/records/1/entity",
    }
    # Values of records are personal, even those that were just sent.
    assert not any(value in response.text for value in ("Atlantis", "Elf", '"red'))
    assert (await journey.get(address)).json()["running"]["records"] == 0


async def test_a_model_that_is_never_positive_is_refused_at_once(journey):
    body = {"name": "no", **QUESTION, "risk_model": "III_raw"}
    problem = problem_of(await journey.post(PATH, json=body), 422, "invalid-input")
    assert pointers(problem) == ["/risk_model"]


async def test_add_self_needs_entities(journey):
    address = await begin(journey, absent_policy="add_self")
    body = {"records": [{"values": {"city": "Gary"}}], "rule": AS_IS}
    problem_of(await journey.post(f"{address}/batches", json=body), 422, "invalid-input")


async def test_a_set_is_refused(journey):
    body = {"name": "no", **QUESTION, "dictionary": "attackers"}
    problem = problem_of(await journey.post(PATH, json=body), 422, "invalid-input")
    assert pointers(problem) == ["/dictionary"]


async def test_deleting_takes_all_steps_along(journey):
    address = await begin(journey)
    for _ in range(3):
        await append(journey, address, members()[:2], AS_IS)
    assert (await journey.delete(address)).status_code == 204
    problem_of(await journey.get(address), 404, "not-found")
    again = await begin(journey)
    assert (await journey.get(again)).json()["running"]["step"] == 0
