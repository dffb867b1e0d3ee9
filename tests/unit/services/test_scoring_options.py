"""Options of a score: what they mean does not depend on how they are written, nor on when."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.dictionaries.consistency import Consistency
from app.domain.errors import InvalidInput
from app.domain.risk.models import RiskModel
from app.services.fingerprints import resource_sha256
from app.services.questions import DirectBudget
from app.services.resources import Actor, Kind
from app.services.rules.rule_definitions import IdentityDefinition, TableLevelDefinition
from app.services.rules.rules import CreateRule, RuleService
from app.services.scoring.assessment_work import AssessmentPreparation
from app.services.scoring.assessments import AssessmentService, Bounds, CreateAssessment
from app.services.scoring.scoring_options import ConsistencyOptions, ScoringOptions, UtilitySpec
from tests.unit.services.memory_store import MemoryStore
from tests.unit.services.scoring_world import World, make_world

pytestmark = pytest.mark.anyio

JARO = Consistency("jaro", 0.9, True)
OPTIONS = [
    ScoringOptions(),
    ScoringOptions(utility=UtilitySpec("log_leaves", {"city": 2.0}), absent_policy="add_self"),
    ScoringOptions(risk_model=RiskModel("III"), attacker_view="estimated"),
    ScoringOptions(risk_model=RiskModel("custom", "phi / count")),
    ScoringOptions(consistency=ConsistencyOptions(JARO, {"race": Consistency("subsumed")})),
    ScoringOptions(attacker_view="worst_case_per_record"),
]


@pytest.fixture
async def world(store: MemoryStore, actor: Actor) -> World:
    world = await make_world(store, actor)
    rules = RuleService(world.store, world.loader)
    await rules.create(actor, CreateRule("proposal", "members", TableLevelDefinition({"city": 1})))
    return world


def service(world: World) -> AssessmentService:
    return AssessmentService(world.store, world.loader, DirectBudget(60.0))


@pytest.mark.parametrize("options", OPTIONS)
def test_options_come_back_from_their_document(options):
    assert ScoringOptions.of(options.document()).document() == options.document()
    assert ScoringOptions.of({**options.document(), "rule": None}).shown() == options.shown()


def test_documents_of_different_options_differ():
    documents = [str(options.document()) for options in OPTIONS]
    assert len(set(documents)) == len(OPTIONS)


def test_what_says_the_default_is_left_out():
    spelled = ScoringOptions(
        utility=UtilitySpec("depth_sum", {"city": 1.0}),
        risk_model=RiskModel("I"),
        consistency=ConsistencyOptions(
            Consistency("compatible", 0.5), {"city": Consistency("compatible", 0.1)}
        ),
        attacker_view="known",
    )
    assert spelled.document() == ScoringOptions().document()
    assert spelled.document() == {"utility": "depth_sum", "absent_policy": "zero"}


async def test_the_usual_question_hashes_as_it_did_before_there_were_options(world: World, actor: Actor):
    asked = CreateAssessment("members", "proposal", "census", "members-harm", "one")
    made = (await service(world).create(actor, asked)).resource
    rule = await RuleService(world.store, world.loader).get(actor, "proposal")
    uses = {
        "dataset": "d" * 64, "dictionary": "c" * 64, "sensitivity": "5" * 64, "rule": rule.sha256,
    }  # fmt: skip
    meaning = {"utility": "depth_sum", "absent_policy": "zero"}
    assert made.sha256 == resource_sha256(Kind.ASSESSMENT, meaning, uses)


@pytest.mark.parametrize("rule", ["proposal", IdentityDefinition()])
async def test_an_assessment_that_names_no_roles_is_read_by_their_order(world: World, actor: Actor, rule):
    """Those that were stored before sources had names."""
    asked = CreateAssessment("members", rule, "census", "members-harm", "one")
    made = await service(world).create(actor, asked)
    document = {k: v for k, v in made.resource.document.items() if k not in ("sources", "stored_rule")}
    old = replace(made.resource, document=document)
    preparation = AssessmentPreparation(world.store, world.loader)
    score = await preparation.score(actor.tenant, await preparation.question(actor.tenant, old))
    assert score.result() == made.result


async def test_a_bound_is_asked_of_one_dictionary_and_enters_the_hash(world: World, actor: Actor):
    asked = CreateAssessment("members", "proposal", "census", "members-harm")
    plain = await service(world).create(actor, asked)
    bounded = await service(world).create(actor, replace(asked, bounds=Bounds()))
    assert plain.resource.sha256 != bounded.resource.sha256
    assert plain.result["bound"] is None
    held = {h["id"]: h["holds"] for h in bounded.result["bound"]["hypotheses"]}
    # The census of this world has no identifiers that are the members'.
    assert (held["own_rows_consistent"], bounded.result["bound"]["claimed"]) == ("no", False)


async def test_similarity_is_part_of_the_estimate_before_it_is_done(world: World, actor: Actor):
    asked = CreateAssessment("members", "proposal", "census", "members-harm")
    jaro = replace(asked, options=ScoringOptions(consistency=ConsistencyOptions(Consistency("jaro"))))
    plain, similar = [await service(world).plan(actor, request) for request in (asked, jaro)]
    # Three cities and two races, each compared with itself and the others.
    assert similar.seconds - plain.seconds == pytest.approx((9 + 4) * 2e-7, rel=1e-6)


async def test_an_unknown_attribute_of_consistency_is_refused_by_its_place(world: World, actor: Actor):
    options = ScoringOptions(consistency=ConsistencyOptions(attributes={"age": JARO}))
    asked = CreateAssessment("members", "proposal", "census", "members-harm", options=options)
    with pytest.raises(InvalidInput) as refused:
        await service(world).create(actor, asked)
    assert refused.value.faults[0].pointer == "/consistency/attributes/age"
