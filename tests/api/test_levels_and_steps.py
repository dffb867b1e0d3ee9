"""Levels cut a hierarchy, steps count from a record's own value: on leaves of unequal depth they differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.api.fixture_f import post, upload
from tests.api.optimisations import found
from tests.api.problem_documents import pointers, pointers_with_remedies, problem_of

pytestmark = pytest.mark.anyio

PARENTS = {"a": ["g"], "b": ["g"], "g": ["k"], "c": ["k"], "d": ["e"], "k": [None], "e": [None]}
QUESTION = {"dataset": "uneven", "dictionary": "people", "sensitivity": "plain"}
PEOPLE = ["a"] * 9 + ["b"] * 9 + ["c"] * 3 + ["d"] * 2
"""Three people of c and 21 of k."""


@pytest.fixture
async def world(client: httpx.AsyncClient, once: Callable[[str], bool]) -> httpx.AsyncClient:
    if not once("world"):
        return client
    definition = {"kind": "parents", "parents": PARENTS}
    await post(client, "hierarchies", {"name": "uneven", "definition": definition})
    await upload(
        client, "uneven", ("id", "x"), [(f"r{i}", value) for i, value in enumerate("acd")] + [("r3", None)]
    )
    await upload(client, "people", ("id", "x"), [(f"p{i}", value) for i, value in enumerate(PEOPLE)])
    attributes = [
        {"name": "id", "type": "text", "role": "identifier"},
        {"name": "x", "type": "categorical", "role": "quasi_identifier", "hierarchy": "uneven"},
    ]
    await post(client, "datasets", {"name": "uneven", "upload": "uneven", "attributes": attributes})
    links = [{"attribute": "x", "column": "x", "hierarchy": "uneven"}]
    await post(
        client, "dictionaries", {"name": "people", "upload": "people", "identifier": "id", "links": links}
    )
    harm = {"name": "plain", "dataset": "uneven", "family": "constant", "constant": 1}
    await post(client, "sensitivity-profiles", harm)
    await post(client, "sequential-disclosures", {"name": "stream", **QUESTION})
    return client


async def append(
    client: httpx.AsyncClient, values: list[str | None], rule: dict[str, Any]
) -> list[dict[str, Any]]:
    body = {"records": [{"values": {"x": value}} for value in values], "rule": rule}
    return (await post(client, "sequential-disclosures/stream/batches", body))["records"]


async def assessed(client: httpx.AsyncClient, rule: dict[str, Any] | str) -> list[dict[str, Any]]:
    """Record by record."""
    name = f"score-{rule if isinstance(rule, str) else rule['kind']}"
    await post(client, "assessments", {"name": name, **QUESTION, "rule": rule})
    rows: list[dict[str, Any]] = (await client.get(f"/v1/assessments/{name}/records?format=json")).json()
    return rows


async def test_a_level_of_the_full_domain_shows_what_the_same_number_of_steps_does_not(world):
    (best,) = await append(world, ["c"], {"kind": "optimal", "utility_floor": 1})
    assert (best["steps"], best["disclosed"]) == ({"x": 1}, {"x": "k"})
    assert best["levels"] == {"x": 1}, "the former name keeps its meaning"
    assert best["loss"] == pytest.approx(1 / 21)
    (cut,) = await append(world, ["c"], {"kind": "levels", "levels": {"x": 1}})
    assert (cut["levels"], cut["steps"], cut["disclosed"]) == ({"x": 1}, {"x": 0}, {"x": "c"})
    assert cut["loss"] == pytest.approx(1 / 3)


async def test_the_answers_of_a_batch_are_sent_back_as_steps_and_as_rules(world):
    values = ["a", "c", "d", None]
    await append(world, ["a", "a", "c"], {"kind": "optimal", "utility_floor": 1})
    for rule in ({"kind": "modal", "utility_floor": 1}, {"kind": "levels", "levels": {"x": 2}}):
        answer = await append(world, values, rule)
        back = {"kind": "record_level", "records": [{"steps": record["steps"]} for record in answer]}
        again = await append(world, values, back)
        told = ("steps", "disclosed", "loss", "utility", "count")
        assert [[one[key] for key in told] for one in again] == [[one[key] for key in told] for one in answer]
        named = {"kind": "record_level", "records": [{"values": record["disclosed"]} for record in answer]}
        assert [one["loss"] for one in await append(world, values, named)] == [one["loss"] for one in answer]
        records = [{"row": row, "steps": own["steps"]} for row, own in enumerate(answer, start=1)]
        rows = await assessed(world, {"kind": "record_level", "records": records})
        assert [row["loss"] for row in rows] == [one["loss"] for one in answer]
        assert [row["disclosed_x"] for row in rows] == [one["disclosed"]["x"] for one in answer]
        assert [row["steps_x"] for row in rows] == [one["steps"]["x"] for one in answer]
        assert (await world.delete("/v1/assessments/score-record_level")).status_code == 204


async def test_what_a_search_over_records_found_is_read_and_stated_again(api, world):
    body = {
        "name": "best",
        **QUESTION,
        "scope": "record_level",
        "objective": {"kind": "min_risk", "utility_floor": 0.9},
    }
    body["constraint"] = "average"
    result = await found(api, world, body)
    assert (result["status"], result["rule"]["kind"]) == ("optimal", "record_level")
    preview = await post(world, "rule-previews", {"dataset": "uneven", "rule": "best"})
    records = [
        {"row": one["row"], "steps": dict(zip(preview["columns"], one["steps"], strict=True))}
        for one in preview["records"]
    ]
    rows = await assessed(world, {"kind": "record_level", "records": records})
    assert rows == await assessed(world, "best")
    assert [row["disclosed_x"] for row in rows] == [one["after"][0] for one in preview["records"]]
    assert sum(row["loss"] for row in rows) / len(rows) == pytest.approx(result["risk"])


@pytest.mark.parametrize(
    ("rule", "pointer"),
    [
        ({"kind": "record_level", "records": [{"row": 3, "steps": {"x": 3}}]}, "/rule/records/0/steps/x"),
        ({"kind": "record_level", "records": [{"row": 4, "steps": {"x": 4}}]}, "/rule/records/0/steps/x"),
        ({"kind": "record_level", "records": [{"row": 1, "steps": {"y": 1}}]}, "/rule/records/0/steps/y"),
        (
            {"kind": "record_level", "records": [{"row": 1, "steps": {"x": 1}, "values": {"x": None}}]},
            "/rule/records/0/values/x",
        ),
        (
            {
                "kind": "record_level",
                "records": [{"row": 1, "steps": {"x": 1}}, {"row": 2, "levels": {"x": 1}}],
            },
            "/rule",
        ),
        ({"kind": "table_level", "levels": {"x": 1}, "steps": {"x": 1}}, "/rule/steps"),
        ({"kind": "table_level", "levels": {"x": 4}}, "/rule/levels/x"),
    ],
)
async def test_steps_beyond_the_top_and_two_ways_to_count_are_refused(world, unchanged, rule, pointer):
    response = await world.post("/v1/rules", json={"name": "bad", "dataset": "uneven", "rule": rule})
    assert pointers_with_remedies(problem_of(response, 422, "invalid-input")) == [pointer]


async def test_a_rank_needs_several_attributes(world, unchanged):
    loss = {"kind": "arithmetic", "aggregate": "rank"}
    objective = {"kind": "min_loss", "privacy": [{"kind": "k_anonymity", "k": 2}], "loss": loss}
    body = {"name": "ranked", "dataset": "uneven", "objective": objective}
    refused = problem_of(await world.post("/v1/optimisations", json=body), 422, "invalid-input")
    assert pointers_with_remedies(refused) == ["/objective/loss/aggregate"]


async def test_levels_of_single_records_keep_the_meaning_that_they_had(world):
    rule = {"kind": "record_level", "records": [{"row": row, "levels": {"x": 3}} for row in (1, 3, 4)]}
    await post(world, "rules", {"name": "former", "dataset": "uneven", "rule": rule})
    preview = await post(world, "rule-previews", {"dataset": "uneven", "rule": "former"})
    assert [one["after"] for one in preview["records"]] == [[None], ["c"], [None], [None]]
    assert [one["steps"] for one in preview["records"]] == [[3], [0], [2], [0]]


async def test_a_batch_names_the_record_whose_steps_lead_too_far(world, unchanged):
    body = {
        "records": [{"values": {"x": "a"}}, {"values": {"x": "d"}}],
        "rule": {"kind": "record_level", "records": [{"steps": {"x": 3}}, {"steps": {"x": 3}}]},
    }
    path = "/v1/sequential-disclosures/stream/batches"
    assert pointers(problem_of(await world.post(path, json=body), 422, "invalid-input")) == [
        "/rule/records/1/steps/x"
    ]
    body["rule"]["records"].pop()
    assert pointers(problem_of(await world.post(path, json=body), 422, "invalid-input")) == ["/rule/records"]


async def test_a_value_with_several_parents_is_shown_as_it_is_or_not_at_all_by_one_rule(api, client):
    """Four records of a, b, b and c; a is below p and q, so that only single records may say so."""
    parents = {"a": ["p", "q"], "b": ["p"], "c": ["q"], "p": [None], "q": [None]}
    definition = {"kind": "parents", "parents": parents}
    await post(client, "hierarchies", {"name": "overlap", "definition": definition})
    rows = [(f"r{i}", value) for i, value in enumerate("abbc")]
    await upload(client, "overlap", ("id", "x"), rows)
    attributes = [
        {"name": "id", "type": "text", "role": "identifier"},
        {"name": "x", "type": "categorical", "role": "quasi_identifier", "hierarchy": "overlap"},
    ]
    await post(client, "datasets", {"name": "overlap", "upload": "overlap", "attributes": attributes})
    body = {
        "name": "shown",
        "dataset": "overlap",
        "objective": {
            "kind": "min_loss",
            "privacy": [{"kind": "k_anonymity", "k": 2}],
            "suppression_limit": 0.5,
            "loss": "height",
            "minimal_rules": True,
        },
    }
    result = await found(api, client, body)
    assert (result["status"], result["rule"]["levels"], result["suppressed_records"]) == (
        "optimal",
        {"x": 0},
        2,
    )
    assert result["minimal_rules"] == [{"x": 0}]
    body["objective"]["suppression_limit"] = 0.0
    result = await found(api, client, {**body, "name": "hidden"})
    assert (result["rule"]["levels"], result["loss"], result["minimal_rules"]) == ({"x": 2}, 2.0, [{"x": 2}])
    made = await post(client, "releases", {"name": "shown", "dataset": "overlap", "rule": "shown"})
    assert made["suppressed_records"] == 2
    del body["objective"]["minimal_rules"]
    refused = await client.post("/v1/optimisations", json={**body, "name": "single", "scope": "record_level"})
    assert "table_level" in problem_of(refused, 422, "not-supported")["remedy"]
