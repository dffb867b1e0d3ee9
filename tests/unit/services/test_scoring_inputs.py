"""Scores, optima and releases of tables that came as uploads, through the loader that the product uses."""

from __future__ import annotations

import csv
import io
import json

import pytest

from app.domain.errors import InvalidInput
from app.domain.search.objectives import MinRisk
from app.services.datasets.dataset_schema import OnUnknown
from app.services.datasets.dictionaries import AgeTransform, Link, LookupTransform
from app.services.questions import DirectBudget
from app.services.releases.releases import ReleaseService
from app.services.releases.requests import CreateRelease
from app.services.resources import Actor, DataFormat
from app.services.rules.rule_definitions import (
    IdentityDefinition,
    RecordLevelDefinition,
    RecordLevels,
    SuppressionDefinition,
)
from app.services.rules.rules import CreateRule, RuleService
from app.services.scoring.assessments import AssessmentService, CreateAssessment
from app.services.scoring.scoring_options import ScoringOptions
from app.services.scoring.sensitivity_profiles import ConstantWeight
from app.services.searches.optimisation_work import OptimisationPreparation
from app.services.searches.optimisations import CreateOptimisation, OptimisationService
from tests.unit.services.memory_store import MemoryStore
from tests.unit.services.world import MEMBERS_SCHEMA, ZIPS, World, declare

pytestmark = pytest.mark.anyio

WEIGHTS = {name: ConstantWeight(1.0) for name in ("city", "birth_date", "income")}


@pytest.fixture
async def world(store: MemoryStore, actor: Actor) -> World:
    world = World(store, actor)
    await world.members()
    await world.upload("census", CENSUS)
    zips = LookupTransform(ZIPS, missing_entry="elsewhere")
    links = (
        Link("city", "zip", transform=zips),
        Link("birth_date", "age", transform=AgeTransform("2008-12-31")),
    )
    await world.dictionary("census", "census", links=links, identifier="person_id")
    await world.profile("harm", family="linear", attributes=WEIGHTS)
    return world


CENSUS = """person_id,zip,age
m1,47901,33
p2,47901,33
p3,60601,32
m2,60601,32
p5,99999,33
"""


def scores(world: World) -> AssessmentService:
    return AssessmentService(world.store, world.loader, DirectBudget(60.0))


def asked(rule, **changes) -> CreateAssessment:
    fields = {"dataset": "members", "rule": rule, "dictionary": "census", "sensitivity": "harm"}
    return CreateAssessment(**(fields | changes))


async def read(stream) -> bytes:
    return b"".join([chunk async for chunk in stream.chunks])


async def test_absent_records_always_show_what_they_would_be_worth_if_they_were_there(
    world: World, actor: Actor
) -> None:
    made = await scores(world).create(actor, asked(IdentityDefinition(), name="as-is"))
    result = made.result
    # m3 is of Dayton, of which the census knows nobody; m1 and m4 were born in 1975: 33.
    rows = json.loads(await read(await scores(world).records(actor, "as-is", DataFormat.JSON)))
    assert [row["entity"] for row in rows] == ["m1", "m2", "m3", "m4"]
    assert [row["count"] for row in rows] == [2, 2, 0, 3]
    assert result["absent"] == 1
    assert result["risk_average"] == pytest.approx((3 / 2 + 3 / 2 + 0 + 2 / 3) / 4)
    beside = await scores(world).create(
        actor, asked(IdentityDefinition(), options=ScoringOptions(absent_policy="add_self"))
    )
    assert result["add_self_risk_average"] == beside.result["risk_average"] > result["risk_average"]


async def test_levels_of_single_entities_reach_the_score_and_the_release(world: World, actor: Actor) -> None:
    records = (RecordLevels({"city": 2, "birth_date": 3}, entity="m1"),)
    await RuleService(world.store, world.loader).create(
        actor, CreateRule("own", "members", RecordLevelDefinition(records))
    )
    await scores(world).create(actor, asked("own", name="score"))
    rows = json.loads(await read(await scores(world).records(actor, "score", DataFormat.JSON)))
    assert [row["count"] for row in rows] == [5, 2, 0, 3]
    releases = ReleaseService(world.store, world.loader)
    await releases.create(actor, CreateRelease("r", "members", "own", order="records"))
    text = (await read(await releases.data(actor, "r", DataFormat.CSV))).decode()
    assert list(csv.reader(io.StringIO(text)))[:3] == [
        ["city", "birth_date", "income"],
        ["*", "*", "52"],
        ["Chicago", "1976-01-01", "52"],
    ]


async def test_the_dataset_itself_as_dictionary_gives_every_record_at_least_itself(
    world: World, actor: Actor
) -> None:
    await world.dictionary("self", from_dataset="members")
    result = (
        await scores(world).create(actor, asked(SuppressionDefinition(("city",)), dictionary="self"))
    ).result
    assert result["min_consistent"] >= 1
    assert (result["absent"], result["n_entities"]) == (0, 4)


async def test_an_optimum_of_uploads_is_released_without_identifiers(world: World, actor: Actor) -> None:
    optimisations = OptimisationService(world.store, world.loader)
    started = await optimisations.create_run(
        actor, CreateOptimisation("best", "members", "census", "harm", MinRisk(1.0))
    )
    work = await OptimisationPreparation(world.store, world.loader)(actor.tenant, started.resource)
    concluded = work.conclude({i: work.run_block(i, lambda units: None) for i in range(work.n_blocks)})
    assert concluded.result["status"] == "optimal"
    async with world.store.work(actor.tenant) as unit:
        await unit.resources.add(concluded.rule)
        await unit.commit()
    releases = ReleaseService(world.store, world.loader)
    made = await releases.create(actor, CreateRelease("r", "members", "best"))
    assert made.resource.summary["columns"] == ["city", "birth_date", "income"]
    assert b"m1" not in await read(await releases.data(actor, "r", DataFormat.CSV))


async def test_a_dataset_that_needs_attention_is_neither_scored_nor_released(
    world: World, actor: Actor
) -> None:
    await world.upload("strangers", "member_id,city,birth_date,income,group\nx,Atlantis,1975-01-01,1,a\n")
    schema = (*MEMBERS_SCHEMA[:1], declare("city", hierarchy="city", on_unknown=OnUnknown.REFUSE))
    await world.dataset("strangers", "strangers", *schema)
    rules = RuleService(world.store, world.loader)
    with pytest.raises(InvalidInput) as refused:
        await rules.create(actor, CreateRule("r", "strangers", IdentityDefinition()))
    assert refused.value.faults[0].code == "needs-attention"
    plan = await scores(world).plan(actor, asked(IdentityDefinition(), dataset="strangers"))
    assert [fault.code for fault in plan.missing] == ["needs-attention"]


async def test_a_profile_of_another_dataset_is_refused(world: World, actor: Actor) -> None:
    await world.dataset("others", "members", *MEMBERS_SCHEMA[:3])
    with pytest.raises(InvalidInput) as refused:
        await scores(world).create(actor, asked(IdentityDefinition(), dataset="others"))
    assert (refused.value.faults[0].pointer, refused.value.faults[0].code) == (
        "/sensitivity",
        "other-dataset",
    )
