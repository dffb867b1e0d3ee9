"""Solvers, budgets and objectives through the interface, on the examples of the journey."""

from __future__ import annotations

import itertools
from collections import Counter

import httpx
import pytest

from app.api.examples.inputs import DATASETS
from app.api.schemas.optimisations import OptimisationSummary
from app.domain.search.budget import Budget
from app.services.searches.objectives import SearchBudget
from tests.api.optimisations import EXAMPLES, IN_BACKGROUND, QUESTION, found, result_of
from tests.api.problem_documents import pointers, problem_of

pytestmark = pytest.mark.anyio


EXACT = ["enumeration", "branch_and_bound", "btda", "aruba", {"kind": "aruba", "moves": "full_cube"}]


@pytest.mark.deep
@pytest.mark.parametrize(
    "objective", [{"kind": "min_risk", "utility_floor": 8}, {"kind": "max_utility", "risk_cap": 0.15}]
)
async def test_all_exact_solvers_find_the_same_rule(api, journey: httpx.AsyncClient, objective):
    asked = QUESTION | {"objective": objective}
    results = [
        await found(api, journey, asked | {"name": f"by-{number}", "solver": solver})
        for number, solver in enumerate(EXACT)
    ]
    for solver, result in zip(EXACT, results, strict=True):
        assert (result["status"], result["gap"], result["reproducible"]) == ("optimal", 0, True)
        assert result["rule"] == results[0]["rule"]
        assert result["risk"] == results[0]["risk"]
        name = solver if isinstance(solver, str) else solver["kind"]
        assert result["solver"].startswith(name)
        assert result["solver_parameters"]["kind"] == name
    assert results[-1]["solver_parameters"]["moves"] == "full_cube"
    assert results[-2]["risk_evaluations"] < results[0]["risk_evaluations"]


async def test_parameters_and_budget_are_shown_as_they_were_asked(journey: httpx.AsyncClient):
    shown = (await journey.get("/v1/optimisations/optimum-by-aruba")).json()
    assert shown["solver"] == {"kind": "aruba", "moves": "reduced", "start": "binary_search", "seed": 0}
    assert shown["budget"] == EXAMPLES["optimum-by-aruba"]["budget"]
    assert shown["result"]["solver_parameters"] == shown["solver"]
    assert shown["result"]["budget"] == shown["budget"]
    assert shown["result"]["risk"] <= 0.2


async def test_a_relative_gap_ends_the_search_and_is_kept(api, journey: httpx.AsyncClient):
    body = QUESTION | {"name": "close", "solver": "branch_and_bound", "budget": {"relative_gap": 0.9}}
    result = await found(api, journey, body)
    best = await result_of(journey, "members-optimum")
    assert (result["status"], result["reproducible"]) in (("heuristic", True), ("optimal", True))
    assert result["relative_gap"] <= 0.9
    assert result["lower_bound"] <= best["risk"] <= result["risk"]


async def test_genetic_search_is_repeated_by_its_seed_and_never_called_optimal(api, journey):
    first = await result_of(journey, "optimum-by-breeding")
    assert first["status"] == "heuristic"
    assert first["lower_bound"] <= first["risk"]
    assert first["utility"] >= 6
    for name in ("optimisations", "rules"):
        assert (await journey.delete(f"/v1/{name}/optimum-by-breeding")).status_code == 204
    again = await found(api, journey, EXAMPLES["optimum-by-breeding"])
    assert again == first


async def test_the_best_of_given_rules_is_the_one_that_scores_best(api, journey: httpx.AsyncClient):
    body = EXAMPLES["best-proposal"]
    shown = (await journey.get("/v1/optimisations/best-proposal")).json()
    assert shown["solver"] == body["solver"]
    scores = []
    for number, rule in enumerate(body["solver"]["rules"]):
        asked = {key: body[key] for key in ("dataset", "dictionary", "sensitivity")}
        made = await journey.post("/v1/assessments", json=asked | {"name": f"one-{number}", "rule": rule})
        scores.append(made.json()["result"])
    best = min(score["risk_average"] for score in scores if score["utility_average"] >= 3)
    assert shown["result"]["risk"] == pytest.approx(best)
    users = problem_of(await journey.delete("/v1/rules/careful"), 409, "conflict")["details"]["users"]
    assert ("optimisation", "best-proposal") in [(own["kind"], own["name"]) for own in users]


async def test_rules_of_other_datasets_and_unknown_ones_are_no_candidates(api, journey: httpx.AsyncClient):
    solver = {"kind": "min_risk_of_candidates", "rules": ["proposal", "unheard-of"]}
    body = QUESTION | {"name": "none", "solver": solver}
    problem_of(await journey.post("/v1/optimisations", json=body), 422, "invalid-input")
    dry = (await journey.post("/v1/optimisations", params={"dry_run": True}, json=body)).json()
    assert dry == (await journey.post("/v1/optimisations/plans", json=body)).json()
    assert [fault["pointer"] for fault in dry["missing"]] == ["/solver/rules/1"]
    twin = DATASETS["members"]["value"] | {"name": "twin"}
    twin["attributes"] = twin["attributes"][:-1]
    assert (await journey.post("/v1/datasets", json=twin)).status_code == 201
    other = {"name": "other", "dataset": "twin", "rule": {"kind": "identity"}}
    assert (await journey.post("/v1/rules", json=other)).status_code == 201
    solver = {"kind": "min_risk_of_candidates", "rules": ["proposal", "other"]}
    refused = await journey.post("/v1/optimisations", json=QUESTION | {"name": "none", "solver": solver})
    assert pointers(problem_of(refused, 422, "invalid-input")) == ["/solver/rules/1"]


async def test_an_approximation_shows_its_certificate(journey: httpx.AsyncClient):
    result = await result_of(journey, "certified-optimum")
    certificate = result["certificate"]
    assert certificate["records"] == 12
    assert certificate["guarantee_met"] == (certificate["met"] == 12)
    assert certificate["rounded"] == 12 - certificate["exact"]
    assert 0 <= certificate["expected_met"] <= certificate["rounded"]
    assert float(certificate["expected_inverse_risk"]) > 0
    assert result["lower_bound"] * certificate["ratio"] == pytest.approx(result["risk"])
    assert result["assessment"]["utility_min"] >= certificate["kept_floor"] - 1e-9


async def test_the_aggregate_objective_is_the_best_of_each_record(api, journey: httpx.AsyncClient):
    """Against the scores of the records one by one under every table-level rule: none of them does better."""
    result = await result_of(journey, "aggregate-optimum")
    asked = {"kind": "aggregate", "trade_off": 1, "kappa": 2}
    assert asked.items() <= result["objective"].items()
    assert (result["status"], result["gap"]) == ("optimal", 0)
    question = {key: EXAMPLES["aggregate-optimum"][key] for key in ("dataset", "dictionary", "sensitivity")}

    async def values(rule) -> list[float]:
        body = question | {"rule": rule, "name": f"scored-{next(numbers)}"}
        assert (await journey.post("/v1/assessments", json=body)).status_code == 201
        records = (await journey.get(f"/v1/assessments/{body['name']}/records")).json()
        return [1 / r["loss"] + r["utility"] ** 2 for r in records if r["loss"] > 0]

    numbers = itertools.count()
    best = await values("aggregate-optimum")
    assert len(best) == 12
    for levels in ({}, {"city": 4}, {"city": 2, "birth_date": 2}, {"race": 2, "birth_date": 3, "income": 4}):
        other = await values({"kind": "table_level", "levels": levels})
        assert all(own >= its - 1e-9 for own, its in zip(best, other, strict=True))
    assert result["objective_value"] == pytest.approx(sum(best) / 12)


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        ({"objective": {"kind": "lagrangian", "trade_off": 1}, "solver": "btda"}, "not-supported",
         "threshold"),
        ({"objective": {"kind": "aggregate", "trade_off": 1, "method": "closure"}, "solver": "auto",
          "scope": "record_level"}, "not-supported", "linear"),
        ({"solver": {"kind": "approx"}}, "not-supported", "record"),
        ({"solver": {"kind": "genetic", "seed": 1, "elites": 40}}, "invalid-input", "elites"),
        ({"solver": {"kind": "genetic"}}, "invalid-input", "seed"),
        ({"solver": "genetic"}, "invalid-input", ""),
        ({"objective": {"kind": "aggregate", "trade_off": 1, "phi_zero_policy": "offset"}}, "invalid-input",
         "phi_offset"),
    ],
)  # fmt: skip
async def test_a_solver_that_does_not_fit_is_refused_with_the_reason(
    journey: httpx.AsyncClient, more, code, said
):
    response = await journey.post("/v1/optimisations", json=QUESTION | {"name": "refused"} | more)
    problem = problem_of(response, 422, code)
    assert said in response.text
    assert problem.get("remedy") or problem.get("errors") or len(problem["detail"].split(". ")) > 1
    problem_of(await journey.get("/v1/optimisations/refused"), 404, "not-found")


@pytest.mark.deep
async def test_the_rule_of_least_loss_is_released_and_scored_with_its_small_classes_suppressed(
    api, journey: httpx.AsyncClient
):
    result = await result_of(journey, "anonymous-optimum")
    assert (result["status"], result["gap"], result["suppression_allowed"]) == ("optimal", 0, 2)
    shown = (await journey.get("/v1/optimisations/anonymous-optimum")).json()
    for scored in ("dictionary", "sensitivity", "utility", "absent_policy", "risk_model", "attacker_view"):
        assert shown[scored] is None, scored
    rule = (await journey.get("/v1/rules/anonymous-optimum")).json()
    failing = [{"kind": "k_anonymity", "k": 2}]
    assert rule["suppress_classes_failing"] == result["rule"]["suppress_classes_failing"] == failing
    assert rule["levels"]["income"] == 0
    attained = {"attained": result["smallest_class"], "guarantee": "exact"}
    assert result["privacy"] == [{"criterion": failing[0], **attained}]
    assert rule["records"] == result["suppressed_records"]
    release = {"name": "anonymous", "dataset": "members", "rule": "anonymous-optimum"}
    made = (await journey.post("/v1/releases", json=release)).json()
    assert made["suppressed_records"] == result["suppressed_records"]
    assert made["rule"]["suppress_classes_failing"] == failing
    table = (await journey.get("/v1/releases/anonymous/data")).text.splitlines()[1:]
    classes = Counter(row.rsplit(",", 1)[0] for row in table if row != "*,*,*,*")
    assert (len(classes), min(classes.values())) == (result["classes"], result["smallest_class"])
    assert min(classes.values()) >= 2

    asked = {key: QUESTION[key] for key in ("dataset", "dictionary", "sensitivity")} | {"name": "its-score"}
    score = await journey.post("/v1/assessments", json=asked | {"rule": "anonymous-optimum"})
    inline = {"kind": "table_level", "levels": rule["levels"], "suppress_classes_failing": failing}
    again = await journey.post("/v1/assessments", json=asked | {"name": "again", "rule": inline})
    assert score.json()["result"] == again.json()["result"]


@pytest.mark.deep
async def test_suppressing_records_never_costs_more_than_keeping_all(api, journey: httpx.AsyncClient):
    example = EXAMPLES["anonymous-optimum"]
    losses = []
    for number, limit in enumerate((0, 0.1, 0.2, 1)):
        objective = example["objective"] | {"suppression_limit": limit, "loss": "arithmetic"}
        result = await found(api, journey, example | {"name": f"least-{number}", "objective": objective})
        assert result["suppressed_records"] <= result["suppression_allowed"] == int(12 * limit)
        losses.append(result["loss"])
    assert losses == sorted(losses, reverse=True)
    assert losses[0] > losses[-1]
    plain = (await journey.get("/v1/rules/least-0")).json()
    assert (plain["suppress_classes_below"], plain["suppress_classes_failing"]) == (None, None)


async def test_what_scores_rules_has_no_meaning_for_the_least_loss(journey: httpx.AsyncClient):
    body = EXAMPLES["anonymous-optimum"] | {"name": "refused"}
    more = {"dictionary": "census", "scope": "record_level", "solver": "btda", "aggregate": "average"}
    refused = problem_of(await journey.post("/v1/optimisations", json=body | more), 422, "invalid-input")
    assert pointers(refused) == ["/solver"]  # the dictionary is ignored, and a note says so
    without = {key: value for key, value in QUESTION.items() if key not in ("dictionary", "sensitivity")}
    refused = await journey.post("/v1/optimisations", json=without | {"name": "refused"})
    assert pointers(problem_of(refused, 422, "invalid-input")) == ["/dictionary", "/sensitivity"]


async def test_a_stopped_search_for_the_least_loss_has_a_rule_and_a_bound(api, journey: httpx.AsyncClient):
    body = EXAMPLES["anonymous-optimum"] | {"name": "stopped-loss"}
    body["objective"] = body["objective"] | {"suppression_limit": 0.1}
    run = (await journey.post("/v1/optimisations", json=body, headers=IN_BACKGROUND)).json()
    await api.work_off(run["id"], lambda: True)
    result = (await journey.get("/v1/runs/stopped-loss/result")).json()
    assert result["reproducible"] is False
    assert 0 <= result["lower_bound"] <= result["loss"]
    assert result["gap"] == pytest.approx(result["loss"] - result["lower_bound"])
    assert (await journey.get("/v1/rules/stopped-loss")).json()["levels"] == result["rule"]["levels"]


VARIANTS = [
    QUESTION | {"name": "by-boxes", "solver": "branch_and_bound"},
    QUESTION | {"name": "downwards", "solver": "btda"},
    QUESTION | {"name": "by-record", "scope": "record_level"},
    QUESTION | {"name": "by-record-and-box", "scope": "record_level", "solver": "branch_and_bound"},
    QUESTION | {"name": "on-average", "scope": "record_level", "constraint": "average", "solver": "auto"},
    QUESTION | {"name": "worst", "scope": "record_level", "dictionary": "any-attacker", "solver": "auto",
                "attacker_view": "worst_case"},
    QUESTION | {"name": "mixed", "objective": {"kind": "lagrangian", "trade_off": 0.01}},
]  # fmt: skip


@pytest.mark.deep
async def test_whatever_is_stopped_has_a_rule_and_a_bound_that_the_whole_search_does_not_break(
    api, journey: httpx.AsyncClient
):
    """Every kind of search, stopped before it begins or after it has looked once or twice."""
    # Several rules side by side have a bound each: what a stop leaves of them is tried where they are found.
    asked_for_one = [own for own in EXAMPLES.values() if own["objective"]["kind"] != "alternatives"]
    for number, asked in enumerate([*asked_for_one, *VARIANTS]):
        name = asked["name"]
        if name in EXAMPLES:
            whole = await result_of(journey, name)
        else:
            whole = await found(api, journey, asked)
        # Its answer must not be known: another name alone would be answered by that.
        body = asked | {"name": f"stopped-{name}", "budget": {"time_limit_seconds": 100_000}}
        run = (await journey.post("/v1/optimisations", json=body, headers=IN_BACKGROUND)).json()
        looks = iter([False] * (number % 3))
        await api.work_off(run["id"], lambda looks=looks: next(looks, True))
        ended = (await journey.get(f"/v1/runs/{run['id']}")).json()
        assert (ended["state"], ended["error"]) == ("succeeded", None), (name, ended["error"])
        result = (await journey.get(f"/v1/optimisations/stopped-{name}")).json()["result"]
        assert result["status"] in ("optimal", "heuristic"), name
        sign = -1 if result["objective"]["kind"] in ("max_utility", "aggregate") else 1
        value = "loss" if "loss" in result else "objective_value"
        if result["lower_bound"] is not None:
            assert result["lower_bound"] <= sign * whole[value] + 1e-9, name
        if name == "best-proposal":  # none of the given rules was looked at
            continue
        assert (await journey.get(f"/v1/rules/stopped-{name}")).status_code == 200, name
        if whole["status"] == "optimal":
            assert sign * whole[value] <= sign * result[value] + 1e-9, name
        if result["status"] == "heuristic" and result["lower_bound"] != "-inf":
            assert result["gap"] == pytest.approx(sign * result[value] - result["lower_bound"]), name


def test_an_optimisation_of_the_first_kind_is_shown_with_its_number_of_nodes():
    """Its summary, as a backup may hold it, had no budget and no parameters of solvers."""
    stored = {
        "id": "o", "name": "old", "sha256": "0" * 64, "created_at": "2026-11-20T09:00:00Z",
        "dataset": "members", "dictionary": "census", "sensitivity": "harm",
        "addresses": {"self": "/v1/optimisations/o"},
        "objective": {"kind": "min_risk", "utility_floor": 6.0}, "scope": "table_level",
        "solver": "branch_and_bound", "max_nodes": 9, "utility": "depth_sum",
        "absent_policy": "zero",
    }  # fmt: skip
    shown = OptimisationSummary.model_validate(stored)
    assert shown.budget.max_nodes == 9
    assert (shown.risk_model, shown.attacker_view) == ("I", "known")
    assert SearchBudget.of({"max_nodes": 9}).counted == Budget(9)
