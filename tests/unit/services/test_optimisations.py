from __future__ import annotations

import json
import math

import pytest

from app.domain.errors import Conflict, Forbidden, InvalidInput, MemoryLimitExceeded, NotFound
from app.domain.risk.models import RiskModel
from app.domain.search.objectives import Lagrangian, MaxUtility, MinRisk
from app.domain.search.solvers import BranchAndBound, Enumeration
from app.services.questions import DirectBudget
from app.services.resources import Actor, Kind, RunState, Scope
from app.services.rules.rule_definitions import IdentityDefinition, TableLevelDefinition
from app.services.rules.rules import CreateRule, RuleService
from app.services.scoring.assessments import AssessmentService, CreateAssessment
from app.services.scoring.scoring_options import ScoringOptions
from app.services.searches.objectives import SearchBudget
from app.services.searches.optimisation_work import OptimisationPreparation
from app.services.searches.optimisations import CreateOptimisation, OptimisationService
from tests.unit.services.memory_store import MemoryStore
from tests.unit.services.scoring_world import World, make_world

pytestmark = pytest.mark.anyio


@pytest.fixture
async def world(store: MemoryStore, actor: Actor) -> World:
    return await make_world(store, actor)


@pytest.fixture
def optimisations(world: World) -> OptimisationService:
    return OptimisationService(world.store, world.loader)


def asked(name: str = "optimum", objective=MinRisk(2.0), **changes) -> CreateOptimisation:  # noqa: B008
    fields = {"dataset": "members", "dictionary": "census", "sensitivity": "members-harm"}
    return CreateOptimisation(name, objective=objective, **(fields | changes))


async def execute(world: World, started):
    """What the run's process does, in few words."""
    tenant = world.actor.tenant
    work = await OptimisationPreparation(world.store, world.loader)(tenant, started.resource)
    units: list[int] = []
    blocks = []
    for index in range(work.n_blocks):
        ticks: list[int] = []
        blocks.append(work.run_block(index, ticks.append))
        units.append(max(ticks, default=0))
    assert 0 < sum(units) <= work.units
    concluded = work.conclude(dict(enumerate(blocks)))
    async with world.store.work(tenant) as unit:
        if concluded.rule is not None:
            await unit.resources.add(concluded.rule)
        await unit.results.save(
            "optimisation", started.run.input_sha256, json.loads(json.dumps(concluded.result)), "about"
        )
        await unit.commit()
    return concluded.result


async def risks(world: World) -> dict[tuple[int, int], tuple[float, float]]:
    """Risk and utility of every rule, each scored by itself."""
    assessments = AssessmentService(world.store, world.loader, DirectBudget(60.0))
    found = {}
    for city in range(3):
        for race in range(2):
            rule = TableLevelDefinition({"city": city, "race": race})
            made = await assessments.create(
                world.actor, CreateAssessment("members", rule, "census", "members-harm")
            )
            found[city, race] = made.result["risk_average"], made.result["utility_average"]
    return found


async def test_a_question_is_stored_and_queued_together(
    optimisations: OptimisationService, actor: Actor, world: World
) -> None:
    started = await optimisations.create_run(actor, asked())
    assert (started.created, started.run.state) == (True, RunState.QUEUED)
    assert world.data().queue == [started.run.id]
    assert started.run.input_sha256 == started.resource.sha256
    assert started.resource.summary == {
        "dataset": "members", "dictionary": "census", "dictionaries": [], "sensitivity": "members-harm",
        "failure": None, "objective": {"kind": "min_risk", "utility_floor": 2.0}, "scope": "table_level",
        "solver": "auto", "constraint": "average", "aggregate": "average", "utility": "depth_sum",
        "absent_policy": "zero", "risk_model": "I", "attacker_view": "known",
        "budget": {"max_nodes": None, "relative_gap": None, "time_limit_seconds": None},
        "consistency": {"default": {"mode": "compatible"}, "attributes": {}},
        "warnings": [],
    }  # fmt: skip
    assert (await optimisations.view(actor, "optimum")).result is None


async def test_the_rule_found_is_the_best_of_all_scored_one_by_one(
    optimisations: OptimisationService, actor: Actor, world: World
) -> None:
    result = await execute(world, await optimisations.create_run(actor, asked()))
    scores = await risks(world)
    best = min((risk, levels) for levels, (risk, utility) in scores.items() if utility >= 2.0)
    assert result["status"] == "optimal"
    assert tuple(result["rule"]["levels"].values()) == best[1]
    assert result["risk"] == pytest.approx(best[0])
    assert result["assessment"]["risk_max"] >= result["risk"]
    assert (await optimisations.view(actor, "optimum")).result == result


async def test_the_map_has_every_rule_with_the_score_it_gets_by_itself(
    optimisations: OptimisationService, actor: Actor, world: World
) -> None:
    result = await execute(world, await optimisations.create_run(actor, asked(solver=Enumeration())))
    scores = await risks(world)
    assert result["rules"] == len(result["points"]) == 6
    for point in result["points"]:
        risk, utility = scores[point["levels"]["city"], point["levels"]["race"]]
        assert (point["risk"], point["utility"]) == (pytest.approx(risk), pytest.approx(utility))


async def test_the_rule_found_is_the_rule_made_by_hand(
    optimisations: OptimisationService, actor: Actor, world: World
) -> None:
    result = await execute(world, await optimisations.create_run(actor, asked()))
    rules = RuleService(world.store, world.loader)
    found = await rules.get(actor, "optimum")
    by_hand = await rules.create(
        actor, CreateRule("by-hand", "members", TableLevelDefinition(result["rule"]["levels"]))
    )
    assert found.sha256 == by_hand.resource.sha256
    assert found.summary == by_hand.resource.summary
    assert found.uses == by_hand.resource.uses


async def test_the_rule_found_scores_what_the_search_said(
    optimisations: OptimisationService, actor: Actor, world: World
) -> None:
    for scope in ("table_level", "record_level"):
        result = await execute(
            world, await optimisations.create_run(actor, asked(scope, MinRisk(1.0), scope=scope))
        )
        assessments = AssessmentService(world.store, world.loader, DirectBudget(60.0))
        made = await assessments.create(actor, CreateAssessment("members", scope, "census", "members-harm"))
        assert made.result["risk_average"] == result["risk"]
        assert made.result == result["assessment"]


async def test_a_record_level_optimum_keeps_every_record_at_its_floor(
    optimisations: OptimisationService, actor: Actor, world: World
) -> None:
    result = await execute(
        world, await optimisations.create_run(actor, asked("own", MinRisk(1.0), scope="record_level"))
    )
    assert result["status"] == "optimal"
    assert result["assessment"]["utility_min"] >= 1.0
    rule = await RuleService(world.store, world.loader).get(actor, "own")
    assert (rule.summary["kind"], rule.summary["levels"]) == ("record_level", None)


async def test_a_known_answer_is_given_at_once_with_its_rule(
    optimisations: OptimisationService, actor: Actor, world: World
) -> None:
    for scope in ("table_level", "record_level"):
        first = await optimisations.create_run(actor, asked(f"first-{scope}", MinRisk(1.0), scope=scope))
        result = await execute(world, first)
        queued = list(world.data().queue)
        second = await optimisations.create_run(actor, asked(f"second-{scope}", MinRisk(1.0), scope=scope))
        assert (second.created, second.run.state) == (True, RunState.SUCCEEDED)
        assert world.data().queue == queued
        rules = RuleService(world.store, world.loader)
        one, two = [await rules.get(actor, f"{which}-{scope}") for which in ("first", "second")]
        assert one.sha256 == two.sha256
        assert (await optimisations.view(actor, f"second-{scope}")).result == result


async def test_an_infeasible_question_succeeds_and_says_by_how_much(
    optimisations: OptimisationService, actor: Actor, world: World
) -> None:
    result = await execute(world, await optimisations.create_run(actor, asked(objective=MinRisk(4.0))))
    assert (result["status"], result["rule"], result["assessment"]) == ("infeasible", None, None)
    assert result["infeasible_by"]["by"] == pytest.approx(4.0 - 11 / 4)
    with pytest.raises(NotFound):
        await RuleService(world.store, world.loader).get(actor, "optimum")


async def test_prohibited_where_every_rule_has_infinite_risk(store: MemoryStore, actor: Actor) -> None:
    world = await make_world(store, actor, weight=math.inf)
    optimisations = OptimisationService(store, world.loader)
    result = await execute(world, await optimisations.create_run(actor, asked(objective=MinRisk(2.0))))
    assert result["status"] == "prohibited"
    json.dumps(result, allow_nan=False)


async def test_a_budget_of_nodes_gives_a_heuristic_with_its_bound(
    optimisations: OptimisationService, actor: Actor, world: World
) -> None:
    request = asked(objective=MinRisk(2.0), solver=BranchAndBound(), budget=SearchBudget(1))
    result = await execute(world, await optimisations.create_run(actor, request))
    assert result["status"] == "heuristic"
    assert result["lower_bound"] is not None


async def test_the_result_says_how_it_was_found(
    optimisations: OptimisationService, actor: Actor, world: World
) -> None:
    budget = SearchBudget(1000, 0.5, 60.0)
    result = await execute(world, await optimisations.create_run(actor, asked(budget=budget)))
    assert result["solver_parameters"] == {"kind": "auto"}
    assert result["budget"] == {"max_nodes": 1000, "relative_gap": 0.5, "time_limit_seconds": 60.0}
    assert result["reproducible"] is True
    assert result["relative_gap"] == pytest.approx(result["gap"] / result["objective_value"])


async def test_a_halted_search_finds_a_rule_that_answers_for_nothing_else(
    optimisations: OptimisationService, actor: Actor, world: World
) -> None:
    started = await optimisations.create_run(actor, asked())
    work = await OptimisationPreparation(world.store, world.loader)(actor.tenant, started.resource)
    concluded = work.conclude({})
    assert (concluded.reproducible, concluded.result["reproducible"]) == (False, False)
    assert (concluded.result["status"], concluded.rule.document["found_by"]) == ("heuristic", None)
    assert concluded.result["utility"] >= 2.0
    assert concluded.result["lower_bound"] <= concluded.result["risk"]


async def test_a_search_that_needs_more_memory_than_a_run_has_is_refused_with_its_estimate(
    world: World, actor: Actor
) -> None:
    small = OptimisationService(world.store, world.loader, run_bytes=10)
    with pytest.raises(MemoryLimitExceeded, match="estimated to need 1 MiB") as refused:
        await small.create_run(actor, asked())
    assert refused.value.cost["bytes"] > refused.value.limit == 10
    assert not any(r.kind is Kind.OPTIMISATION for r in world.data().resources.values())
    planned = await small.plan(actor, asked())
    assert (planned.route, planned.bytes) == (None, refused.value.cost["bytes"])
    assert [fault.code for fault in planned.missing] == ["memory-limit"]


async def test_the_result_holds_no_ids_names_or_times(
    optimisations: OptimisationService, actor: Actor, world: World
) -> None:
    started = await optimisations.create_run(actor, asked("a-telling-name"))
    text = json.dumps(await execute(world, started))
    for telling in ("a-telling-name", started.resource.id, started.run.id, "2026", "census"):
        assert telling not in text


async def test_the_same_question_twice_is_one_run_and_another_a_conflict(
    optimisations: OptimisationService, actor: Actor, world: World
) -> None:
    first = await optimisations.create_run(actor, asked())
    again = await optimisations.create_run(actor, asked())
    assert (again.created, again.run.id, world.data().queue) == (False, first.run.id, [first.run.id])
    with pytest.raises(Conflict):
        await optimisations.create_run(actor, asked(objective=MinRisk(1.0)))


async def test_a_taken_rule_name_is_refused_before_the_work(
    optimisations: OptimisationService, actor: Actor, world: World
) -> None:
    rules = RuleService(world.store, world.loader)
    await rules.create(actor, CreateRule("optimum", "members", IdentityDefinition()))
    with pytest.raises(Conflict, match="best rule is to be stored under this name"):
        await optimisations.create_run(actor, asked())
    assert world.data().queue == []


async def test_a_deleted_question_can_be_asked_again_although_its_rule_is_still_there(
    optimisations: OptimisationService, actor: Actor, world: World
) -> None:
    await execute(world, await optimisations.create_run(actor, asked()))
    await optimisations.delete(actor, "optimum")
    world.data().results.clear()
    again = await optimisations.create_run(actor, asked())
    assert (again.created, again.run.state) == (True, RunState.QUEUED)
    await execute(world, again)


@pytest.mark.parametrize(
    "objective", [MaxUtility(-1.0), MaxUtility(math.inf), Lagrangian(-0.1), MinRisk(math.nan)]
)
async def test_a_threshold_out_of_range_is_refused_and_stores_nothing(
    optimisations: OptimisationService, actor: Actor, world: World, objective
) -> None:
    with pytest.raises(InvalidInput) as refused:
        await optimisations.create_run(actor, asked(objective=objective))
    assert refused.value.faults[0].pointer.startswith("/objective/")
    assert not any(r.kind is Kind.OPTIMISATION for r in world.data().resources.values())


@pytest.mark.parametrize(
    "change",
    [
        {"objective": MinRisk(1.0)},
        {"objective": MaxUtility(2.0)},
        {"objective": Lagrangian(2.0)},
        {"scope": "record_level"},
        {"solver": BranchAndBound()},
        {"options": ScoringOptions(absent_policy="error")},
        {"options": ScoringOptions(attacker_view="estimated")},
        {"options": ScoringOptions(risk_model=RiskModel("II"))},
        {"aggregate": "max"},
        {"budget": SearchBudget(3)},
        {"budget": SearchBudget(relative_gap=0.1)},
        {"budget": SearchBudget(time_limit_seconds=9.0)},
    ],
)
async def test_whatever_changes_the_answer_changes_the_hash(
    optimisations: OptimisationService, actor: Actor, change
) -> None:
    one = await optimisations.create_run(actor, asked("one"))
    two = await optimisations.create_run(actor, asked("two", **change))
    assert one.resource.sha256 != two.resource.sha256


async def test_a_dry_run_plans_or_says_what_is_missing(
    optimisations: OptimisationService, actor: Actor, world: World
) -> None:
    before = dict(world.data().resources)
    plan = await optimisations.plan(actor, asked())
    assert (plan.route, plan.units, plan.missing) == ("run", 6, ())
    missing = await optimisations.plan(actor, asked(dataset="nothing", dictionary="nobody"))
    assert [fault.pointer for fault in missing.missing] == ["/dataset", "/dictionary"]
    wrong = await optimisations.plan(actor, asked(objective=MaxUtility(-1.0)))
    assert (wrong.route, wrong.missing[0].pointer) == (None, "/objective/risk_cap")
    assert world.data().resources == before


async def test_optimising_needs_the_scope(optimisations: OptimisationService, actor: Actor) -> None:
    weak = Actor(actor.tenant, "k", frozenset({Scope.DATA_READ, Scope.DATA_WRITE}))
    for refused in (optimisations.create_run(weak, asked()), optimisations.plan(weak, asked())):
        with pytest.raises(Forbidden):
            await refused
