"""Optima of fixture F through the interface, and frontiers, against every rule assessed by itself."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from tests.api.fixture_f import ATTRIBUTES, post
from tests.api.optimisations import all_scores, few_records, frontier, not_dominated
from tests.api.problem_documents import pointers, problem_of
from tests.unit.domain.fixture_f import levels_of

pytestmark = pytest.mark.anyio

APPROX = {"abs": 6e-7}


def question(dictionary: str, objective: dict[str, Any], **more: Any) -> dict[str, Any]:
    asked = {"dataset": "T", "dictionary": dictionary, "sensitivity": "personal", "objective": objective}
    return asked | more


def floor(utility: float) -> dict[str, Any]:
    return {"kind": "min_risk", "utility_floor": utility}


_names = (f"optimum-{number}" for number in itertools.count())


async def optimum(api, client, *arguments, **more) -> dict[str, Any]:
    body = question(*arguments, **more) | {"name": next(_names)}
    run = await post(client, "optimisations", body)
    await api.work_off(run["id"])
    shown = (await client.get(f"/v1/optimisations/{body['name']}")).json()
    assert shown["result"] is not None, (await client.get(f"/v1/runs/{run['id']}")).json()
    return shown["result"]


def levels_in(result) -> tuple[int, ...]:
    return tuple(result["rule"]["levels"][attribute] for attribute in ATTRIBUTES)


TV_11 = {
    # utility floor: (cut, risk) under D1, by Bayes and against the worst of T, D1, D2.
    1: (((1, 0, 0), 0.004545), ((1, 0, 0), 0.005189), ((1, 0, 0), 0.008333)),
    2: (((2, 0, 0), 0.010937), ((2, 0, 0), 0.013344), ((2, 0, 0), 0.022500)),
    3: (((3, 0, 0), 0.036806), ((3, 0, 0), 0.045625), ((3, 0, 0), 0.077778)),
    4: (((4, 0, 0), 0.062103), ((4, 0, 0), 0.092302), ((4, 0, 0), 0.175000)),
    5: (((4, 0, 1), 0.177778), ((4, 0, 1), 0.240556), ((4, 0, 1), 0.433333)),
    6: (((4, 0, 2), 0.284722), ((4, 0, 2), 0.414444), ((5, 2, 0), 0.600000)),
}


@pytest.mark.deep
@pytest.mark.spec("TV-11")
@pytest.mark.parametrize("least", TV_11)
async def test_the_best_table_rules_of_the_vectors_in_every_view(api, fixture, least):
    asked = [("D1", None), ("theta", None), ("theta-without-prior", "worst_case")]
    for (dictionary, view), (cut, risk) in zip(asked, TV_11[least], strict=True):
        result = await optimum(api, fixture, dictionary, floor(least), attacker_view=view)
        assert result["status"] == "optimal"
        assert result["risk"] == pytest.approx(risk, **APPROX)
        assert levels_in(result) == levels_of(cut)
        assert result["assessment"]["risk_average"] == result["risk"]
        assert result["assessment"]["attacker_view"] == result["attacker_view"]


@pytest.mark.deep
@pytest.mark.spec("TV-11")
@pytest.mark.parametrize(
    ("least", "per_record", "average"),
    [(3, 0.015278, 0.015278), (5, 0.057037, 0.057037), (6, 0.130093, 0.130093), (7, 0.223009, 0.220370)],
)
async def test_a_floor_under_the_mean_may_cost_less_than_one_under_every_record(
    api, fixture, least, per_record, average
):
    of = await few_records(fixture, "three", 3)
    for constraint, risk in (("per_record", per_record), ("average", average)):
        result = await optimum(api, fixture, "D1", floor(least), constraint=constraint, **of)
        assert (result["status"], result["constraint"]) == ("optimal", constraint)
        assert result["risk"] == pytest.approx(risk, **APPROX)
        assert result["utility"] >= least - 1e-9


@pytest.mark.spec("TV-12")
@pytest.mark.parametrize(
    ("model", "risks"),
    [
        ("I", {0: 0, 1: 0.004545, 5: 0.05, 7: 0.21, 9: 0.483333, 10: None}),
        ("II", {0: 0.083333, 1: 0.090909, 5: 0.166667, 9: 0.333333}),
        ("III", {0: 0, 1: 0.004351, 5: 0.207944, 9: 2.010127}),
    ],
)
async def test_the_best_rule_of_one_record_under_every_model(api, fixture, model, risks):
    """Least utility → risk."""
    of = await few_records(fixture, "one", 1)
    for least, risk in risks.items():
        result = await optimum(api, fixture, "D1", floor(least), risk_model=model, **of)
        if risk is None:
            assert (result["status"], result["infeasible_by"]["best"]) == ("infeasible", 9)
        else:
            assert result["risk"] == pytest.approx(risk, **APPROX), least


def half_up(value: float) -> int:
    return math.floor(value + 0.5)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("options", "more", "objective", "meets", "cost"),
    [
        ({}, {"aggregate": "max"}, floor(5), lambda r: r["utility_average"] >= 5, lambda r: r["risk_max"]),
        ({"utility": "info_loss_lm"}, {}, {"kind": "min_risk", "loss_cap": 1.5},
         lambda r: r["information_loss_average"] <= 1.5 + 1e-9, lambda r: r["risk_average"]),
        ({"utility": "info_loss_xt"}, {}, {"kind": "max_utility", "risk_cap": 0.1},
         lambda r: r["risk_average"] <= 0.1 + 1e-9, lambda r: r["information_loss_average"]),
        ({"utility": {"kind": "depth_sum", "weights": {"income": 3}}}, {}, floor(6),
         lambda r: r["utility_average"] >= 6 - 1e-9, lambda r: r["risk_average"]),
        ({"utility": {"kind": "depth_sum", "round_before_constraint": True}}, {}, floor(5),
         lambda r: half_up(r["utility_average"]) >= 5, lambda r: r["risk_average"]),
        ({"risk_model": "II"}, {}, floor(4), lambda r: r["utility_average"] >= 4,
         lambda r: r["risk_average"]),
        ({"risk_model": "III_raw"}, {}, floor(4), lambda r: r["utility_average"] >= 4,
         lambda r: r["risk_average"]),
        ({"consistency": {"default": {"mode": "subsumed"}}}, {}, floor(4),
         lambda r: r["utility_average"] >= 4, lambda r: r["risk_average"]),
        ({"failure": "multiplicative"}, {}, floor(4), lambda r: r["utility_average"] >= 4,
         lambda r: r["risk_average"]),
        ({"absent_policy": "add_self"}, {}, floor(4), lambda r: r["utility_average"] >= 4,
         lambda r: r["risk_average"]),
    ],
    ids=["max", "loss-cap", "least-loss", "weighted", "rounded", "II", "III_raw", "subsumed", "failure",
         "self"],
)  # fmt: skip
async def test_the_optimum_is_the_best_of_all_rules_assessed_one_by_one(
    api, fixture, options, more, objective, meets, cost
):
    scores = await all_scores(fixture, **options)
    best = min(cost(result) for result in scores.values() if meets(result))
    result = await optimum(api, fixture, "D1", objective, **options, **more)
    assert result["status"] == "optimal"
    assert cost(result["assessment"]) == pytest.approx(best, abs=1e-9)
    levels = levels_in(result)
    assert result["assessment"] == scores[levels]
    if "III_raw" in options.values():
        assert result["not_monotone"] is True
        assert result["solver"] == "enumeration"


@pytest.mark.deep
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"utility": "info_loss_lm"},
        {"risk_model": "III"},
        {"failure": "multiplicative"},
        {"consistency": {"default": {"mode": "subsumed"}}},
    ],
)
async def test_the_frontier_of_table_rules_is_what_no_assessed_rule_beats(api, fixture, options):
    scores = (await all_scores(fixture, **options)).values()
    result = await frontier(api, fixture, **options)
    rules = [(r["utility_average"], r["risk_average"]) for r in scores]
    if options.get("utility") == "info_loss_lm":
        # What is not lost: the loss of full suppression is 3, one for each attribute.
        rules = [(3 - r["information_loss_average"], r["risk_average"]) for r in scores]
    expected = not_dominated(rules)
    assert result["complete"] is True
    found = [(p["utility"], p["risk"]) for p in result["points"]]
    assert [u for u, _ in found] == pytest.approx(sorted({round(u, 9) for u, _ in expected}), abs=1e-8)
    for u, r in found:
        assert any(abs(u - v) < 1e-9 and abs(r - s) < 1e-9 for v, s in expected)
    assert {p["kind"] for p in result["points"]} == {"proven"}
    if "utility" in options:
        assert all(p["information_loss"] == pytest.approx(3 - p["utility"]) for p in result["points"])


async def test_a_default_that_is_spelled_out_is_the_same_question(fixture):
    plain = question("D1", floor(4), name="one")
    first = await post(fixture, "optimisations", plain)
    spelled = plain | {
        "constraint": "average", "aggregate": "average", "attacker_view": "known", "risk_model": "I",
        "utility": "depth_sum", "consistency": {},
    }  # fmt: skip
    again = await fixture.post("/v1/optimisations", json=spelled)
    assert again.status_code == 200
    assert again.json()["id"] == first["id"]


@pytest.mark.deep
@pytest.mark.parametrize(
    "more",
    [
        {"dictionary": "theta"},
        {"dictionary": "theta", "attacker_view": "worst_case"},
        {"dictionary": "theta", "attacker_view": "worst_case_per_record"},
        {"attacker_view": "estimated"},
        {"scope": "record_level"},
        {"scope": "record_level", "constraint": "average"},
        {"aggregate": "max"},
        {"risk_model": "III"},
        {"failure": "multiplicative"},
        {"consistency": {"default": {"mode": "subsumed"}}},
        {"utility": "log_leaves"},
    ],
)
async def test_a_dry_run_costs_what_is_asked_and_every_option_has_a_hash_of_its_own(fixture, more):
    body = question("D1", floor(4), name="one") | more
    dry = (await fixture.post("/v1/optimisations", params={"dry_run": True}, json=body)).json()
    assert (dry["route"], dry["missing"]) == ("run", [])
    assert dry["units"] > 0
    await post(fixture, "optimisations", question("D1", floor(4), name="plain"))
    await post(fixture, "optimisations", body)
    shown = (await fixture.get("/v1/optimisations")).json()["items"]
    assert len({item["sha256"] for item in shown}) == 2


REFUSALS = [
    ({"constraint": "per_record"}, "/constraint", "constraint-of-records"),
    ({"utility": "info_loss_lm"}, "/objective/utility_floor", "wrong-direction"),
    ({"objective": {"kind": "min_risk", "loss_cap": 1}}, "/objective/loss_cap", "wrong-direction"),
    ({"objective": {"kind": "min_risk"}}, "/objective", None),
    ({"objective": {"kind": "min_risk", "loss_cap": 1, "utility_floor": 1}}, "/objective", None),
    ({"dictionary": "theta-without-prior", "attacker_view": "bayes"}, "/attacker_view", "no-prior"),
    ({"failure": "personal", "risk_model": "II"}, "/failure", "no-failure-in-model"),
    ({"aggregate": "median"}, "/aggregate", None),
    ({"objective": {"kind": "max_utility", "risk_cap": 1},
      "utility": {"kind": "depth_sum", "round_before_constraint": True}},
     "/utility/round_before_constraint", "not-applicable"),
]  # fmt: skip


@pytest.mark.parametrize(("more", "pointer", "code"), REFUSALS)
async def test_what_does_not_fit_together_is_refused_by_its_field(fixture, more, pointer, code):
    body = question("D1", floor(4), name="bad") | more
    problem = problem_of(await fixture.post("/v1/optimisations", json=body), 422, "invalid-input")
    assert pointers(problem)[0].startswith(pointer)
    assert code in (None, problem["errors"][0]["code"])
    assert (await fixture.get("/v1/optimisations")).json()["items"] == []
