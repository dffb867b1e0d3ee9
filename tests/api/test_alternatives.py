"""Several rules of little loss side by side, from the question to the releases."""

from __future__ import annotations

import math
from collections import Counter

import httpx
import pytest

from app.api.schemas.alternatives import AlternativesResult
from app.services.resources import Scope
from tests.api.optimisations import EXAMPLES, found, result_of
from tests.api.problem_documents import pointers, problem_of

NAME = "members-compared"
QUASI = ("city", "race", "birth_date")


def asking(name, privacy, limit=0.2, **more):
    objective = {"kind": "alternatives", "privacy": privacy, "suppression_limit": limit, **more}
    return {"name": name, "dataset": "members", "objective": objective}


async def test_every_alternative_is_released_as_it_is_told(journey: httpx.AsyncClient):
    result = await result_of(journey, NAME)
    assert result["objective"] == EXAMPLES[NAME]["objective"]
    told = [own for one in result["alternatives"] for own in (one["id"], *one["also"])]
    told += result["not_found"]
    assert sorted(told) == [
        "every_column_shown", "fewer_suppressed", "important_columns", "levels_per_record",
        "one_level_per_column",
    ]  # fmt: skip
    assert result["suggested"] in told
    for number, own in enumerate(result["alternatives"]):
        rule = f"{NAME}-{own['id'].replace('_', '-')}"
        body = {"dataset": "members", "rule": rule, "measure": {"kind": "information_loss"}}
        loss = (await journey.post("/v1/measurements", json={"name": f"loss-{number}", **body})).json()
        measured = loss["result"]
        assert own["loss"] == pytest.approx(measured["geometric"])
        assert [one["loss"] for one in own["columns"]] == [one["loss"] for one in measured["attributes"]]
        name = f"compared-{number}"
        made = await journey.post("/v1/releases", json={"name": name, "dataset": "members", "rule": rule})
        assert made.json()["suppressed_records"] == own["suppressed_records"]
        lines = (await journey.get(f"/v1/releases/{name}/data")).text.splitlines()
        places = [lines[0].split(",").index(column) for column in QUASI]
        rows = [tuple(line.split(",")[place] for place in places) for line in lines[1:]]
        kept = [row for row in rows if row != ("*",) * 3]
        sizes = Counter(kept)
        assert len(rows) - len(kept) == own["suppressed_records"]
        assert (own["classes"], own["smallest_class"]) == (len(sizes), min(sizes.values()))
        assert own["highest_risk"] == pytest.approx(1 / min(sizes.values()))
        assert own["mean_risk"] == pytest.approx(len(sizes) / len(kept))
        assert own["privacy"][0]["attained"] == min(sizes.values())
        for column, shown in zip(QUASI, own["columns"], strict=True):
            cells = [row[QUASI.index(column)] for row in kept]
            assert shown["attribute"] == column
            assert shown["shown_share"] == pytest.approx(1 - cells.count("*") / len(cells))
            assert sum(one["records"] for one in shown["levels"]) == len(cells)
            assert {one["example"] for one in shown["levels"]} - {None} <= set(cells)


async def test_every_curve_is_that_of_the_best_rule(api, journey: httpx.AsyncClient):
    curves = (await result_of(journey, NAME))["curves"]
    assert [own["at"] for own in curves["suppression"]] == [0.0, 0.1, 0.2, 0.4, 1.0]
    for point in curves["suppression"][:3]:
        objective = {"kind": "min_loss", "privacy": [{"kind": "k_anonymity", "k": 2}]}
        body = {"name": f"limit-{point['at']}", "dataset": "members"}
        best = await found(api, journey, body | {"objective": objective | {"suppression_limit": point["at"]}})
        assert (point["loss"], point["suppressed_records"]) == (best["loss"], best["suppressed_records"])
    losses = [own["loss"] for own in curves["k"]]
    assert [own["at"] for own in curves["k"]] == [2, 3, 5, 10]
    assert losses == sorted(losses)


async def test_a_comparison_of_before_is_read_without_what_likeness_would_cost(journey: httpx.AsyncClient):
    result = await result_of(journey, NAME)
    assert result["curves"].pop("likeness") == []
    assert AlternativesResult.model_validate(result).curves.likeness == []


async def test_where_nothing_is_feasible_the_nearest_is_told(api, journey: httpx.AsyncClient):
    body = asking("too-much", [{"kind": "k_anonymity", "k": 2}, {"kind": "distinct_l_diversity", "l": 99}])
    result = await found(api, journey, body)
    assert (result["status"], result["alternatives"], result["suggested"]) == ("infeasible", [], None)
    assert len(result["not_found"]) == 4
    (why,) = result["infeasible_because"]
    assert why["criterion"]["l"] == 99
    (limit, near) = result["nearest"]
    assert (limit["criterion"], limit["value"]) == (None, 1.0)
    assert near["criterion"]["l"] == 99
    less = [{"kind": "distinct_l_diversity", "l": int(near["value"])}]
    assert (await found(api, journey, asking("less", less)))["alternatives"]
    more = [{"kind": "distinct_l_diversity", "l": int(near["value"]) + 1}]
    assert not (await found(api, journey, asking("more", more, 0.0)))["alternatives"]


async def test_an_equal_question_stores_the_rules_under_its_own_name(api, journey: httpx.AsyncClient):
    again = EXAMPLES[NAME] | {"name": "again"}
    run = await journey.post("/v1/optimisations", json=again)
    assert run.status_code == 201
    rules = [(await journey.get(f"/v1/rules/{name}-one-level-per-column")).json() for name in (NAME, "again")]
    assert rules[0]["sha256"] == rules[1]["sha256"]


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"objective": {"important": ["income"]}}, "/objective/important/0"),
        ({"scope": "record_level"}, "/scope"),
        ({"name": "n" * 90}, "/name"),
        ({"dictionary": None, "objective": {"privacy": [{"kind": "k_map", "k": 2}]}}, "/dictionary"),
    ],
)
async def test_what_does_not_fit_is_named(journey: httpx.AsyncClient, change, pointer):
    asked = asking("wrong", [{"kind": "k_anonymity", "k": 2}])
    asked |= change | {"objective": asked["objective"] | change.get("objective", {})}
    refused = problem_of(await journey.post("/v1/optimisations", json=asked), 422, "invalid-input")
    assert pointers(refused) == [pointer]


async def test_a_name_that_is_taken_by_another_rule_is_refused_before_any_work(journey: httpx.AsyncClient):
    rule = {"kind": "suppression", "attributes": ["city"]}
    taken = {"name": "taken-levels-per-record", "dataset": "members", "rule": rule}
    assert (await journey.post("/v1/rules", json=taken)).status_code == 201
    asked = asking("taken", [{"kind": "k_anonymity", "k": 4}])
    problem_of(await journey.post("/v1/optimisations", json=asked), 409, "conflict")


async def test_examples_are_for_those_who_may_read_the_data(api, journey: httpx.AsyncClient):
    token = journey.headers["authorization"].removeprefix("Bearer ")
    actor = await api.services.tenants.authenticate(token)
    async with api.client(await api.key_with(actor, Scope.ASSESS)) as blind:
        shown = await result_of(blind, NAME)
    columns = [column for own in shown["alternatives"] for column in (*own["columns"], *own["sensitive"])]
    assert "income" in {column["attribute"] for column in columns}
    levels = [one for column in columns for one in column["levels"]]
    assert {one["example"] for one in levels} == {None}
    assert all(math.isfinite(own["loss"]) for own in shown["alternatives"])
