"""Within a request nothing is read from a document that the request itself has written."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from app.domain.models.k_anonymity import KAnonymity
from app.domain.policies.objectives import objective_of
from app.domain.search.objectives import MinLoss, MinRisk
from app.services.questions import DirectBudget, RunStarted
from app.services.resources import Actor
from app.services.rules.rule_building import define_rule, raised_rule
from app.services.rules.rule_definitions import (
    AtLeastDefinition,
    GeneralisationDefinition,
    RecordLevelDefinition,
    RecordLevels,
    RuleDefinition,
    TableLevelDefinition,
)
from app.services.rules.rule_documents import rule_of
from app.services.rules.rules import CreateRule, PreviewRule, RuleService
from app.services.runs.run_execution import no_tick
from app.services.scoring.assessment_work import AssessmentPreparation
from app.services.scoring.assessments import AssessmentService, CreateAssessment
from app.services.scoring.scoring_options import ScoringOptions
from app.services.searches.frontiers import CreateFrontier, FrontierPreparation, FrontierService
from app.services.searches.objectives import SearchBudget, scored_problem, solver_of
from app.services.searches.optimisation_work import OptimisationPreparation
from app.services.searches.optimisations import CreateOptimisation, OptimisationService
from tests.unit.services.memory_store import MemoryStore
from tests.unit.services.scoring_world import World, make_world

pytestmark = pytest.mark.anyio

READERS = (rule_of, objective_of, solver_of)
MAKERS = (define_rule, raised_rule, scored_problem)

SUPPRESSING = TableLevelDefinition({"city": 1}, suppress_classes_failing=(KAnonymity(2),))
OF_RECORDS = RecordLevelDefinition((RecordLevels(row=1, steps={"city": 1}),))
OF_VALUES = GeneralisationDefinition({"city": {"Muncie": None}})


@pytest.fixture
async def world(store: MemoryStore, actor: Actor) -> World:
    world = await make_world(store, actor)
    await RuleService(world.store, world.loader).create(actor, CreateRule("stored", "members", SUPPRESSING))
    return world


@pytest.fixture
def calls(world: World, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often readers and makers are called, wherever they were imported to."""
    found: Counter[str] = Counter()

    def counted(function: Callable[..., Any], name: str) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            found[name] += 1
            return function(*given, **named)

        return call

    modules = [module for name, module in sys.modules.items() if name.startswith("app.")]
    for function in (*READERS, *MAKERS):
        for module in modules:
            if getattr(module, function.__name__, None) is function:
                monkeypatch.setattr(module, function.__name__, counted(function, function.__name__))
    for type_ in (ScoringOptions, SearchBudget):
        monkeypatch.setattr(type_, "of", counted(type_.of, f"{type_.__name__}.of"))
    return found


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("stored", {"rule_of": 1}),
        (SUPPRESSING, {"define_rule": 1}),
        (OF_RECORDS, {"define_rule": 1}),
        (OF_VALUES, {"define_rule": 1}),
        (AtLeastDefinition("stored", {"race": 1}), {"rule_of": 1, "raised_rule": 1}),
        (AtLeastDefinition(OF_VALUES, {"race": 1}), {"define_rule": 1, "raised_rule": 1}),
    ],
)
async def test_a_rule_is_made_or_read_once(
    world: World, actor: Actor, calls: Counter[str], rule: str | RuleDefinition, expected: dict[str, int]
) -> None:
    assessments = AssessmentService(world.store, world.loader, DirectBudget(60.0))
    asked = CreateAssessment("members", rule, "census", "members-harm")
    made = await assessments.create(actor, asked)
    assert calls == expected
    calls.clear()
    await assessments.plan(actor, asked)
    assert calls == expected
    calls.clear()
    await RuleService(world.store, world.loader).preview(actor, PreviewRule("members", rule))
    assert calls == expected
    calls.clear()
    stored = await AssessmentPreparation(world.store, world.loader)(actor.tenant, made.resource)
    assert calls == {"rule_of": 1, "ScoringOptions.of": 1}
    assert stored.conclude({0: stored.run_block(0, no_tick)}).result == made.result


@pytest.mark.parametrize(
    ("objective", "expected", "in_its_run"),
    [
        (MinRisk(2.0), {"scored_problem": 1}, {"scored_problem": 1, "ScoringOptions.of": 1, "solver_of": 1}),
        (MinLoss((KAnonymity(2),)), {}, {"solver_of": 1}),
    ],
)
async def test_an_optimisation_is_read_by_its_run_alone(
    world: World,
    actor: Actor,
    calls: Counter[str],
    objective: MinRisk | MinLoss,
    expected: dict[str, int],
    in_its_run: dict[str, int],
) -> None:
    service = OptimisationService(world.store, world.loader)
    asked = CreateOptimisation("best", "members", "census", "members-harm", objective)
    await service.plan(actor, asked)
    assert calls == expected
    calls.clear()
    started = await service.create_run(actor, asked)
    assert calls == expected
    calls.clear()
    await OptimisationPreparation(world.store, world.loader)(actor.tenant, started.resource)
    assert calls == {"objective_of": 1, "SearchBudget.of": 1, **in_its_run}


async def test_a_frontier_is_read_by_its_run_alone(world: World, actor: Actor, calls: Counter[str]) -> None:
    service = FrontierService(world.store, world.loader)
    started = await service.create_run(actor, CreateFrontier("all", "members", "census", "members-harm"))
    assert calls == {}
    await FrontierPreparation(world.store, world.loader)(actor.tenant, started.resource)
    assert calls == {"ScoringOptions.of": 1}


async def test_what_is_too_large_to_be_answered_at_once_is_not_loaded_again_for_its_run(
    world: World, actor: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = []
    score = AssessmentPreparation.score

    async def counted(self: AssessmentPreparation, *asked: Any) -> Any:
        loaded.append(await score(self, *asked))
        return loaded[-1]

    monkeypatch.setattr(AssessmentPreparation, "score", counted)
    service = AssessmentService(world.store, world.loader, DirectBudget(0.0))
    started = await service.ask(actor, CreateAssessment("members", "stored", "census", "members-harm"))
    assert isinstance(started, RunStarted)
    assert len(loaded) == 1
