from __future__ import annotations

import json

import numpy as np
import pytest

from app.domain.errors import Conflict, Forbidden, InvalidInput, NotFound
from app.domain.rules import RecordRule, TableRule
from app.services.resources import Actor, Kind, Scope
from app.services.rule_documents import require_rule_of, rule_document, rule_of
from app.services.rules import (
    CreateRule,
    IdentityDefinition,
    RecordLevelDefinition,
    RecordLevels,
    RuleService,
    SuppressionDefinition,
    TableLevelDefinition,
)
from tests.unit.services.memory_store import MemoryStore
from tests.unit.services.scoring_world import World, make_world, members

pytestmark = pytest.mark.anyio


@pytest.fixture
async def world(store: MemoryStore, actor: Actor) -> World:
    return await make_world(store, actor)


@pytest.fixture
def rules(world: World) -> RuleService:
    return RuleService(world.store, world.loader)


async def test_a_table_rule_shows_levels_by_attribute(rules: RuleService, actor: Actor) -> None:
    made = await rules.create(actor, CreateRule("proposal", "members", TableLevelDefinition({"city": 1})))
    assert made.created
    assert made.resource.summary == {
        "dataset": "members",
        "kind": "table_level",
        "levels": {"city": 1, "race": 0},
        "records": None,
    }
    stored = await rules.get(actor, "proposal")
    assert rule_of(stored.document, members()) == TableRule((1, 0))


@pytest.mark.parametrize(
    ("definition", "levels"),
    [
        (IdentityDefinition(), {"city": 0, "race": 0}),
        (SuppressionDefinition(("city",)), {"city": 2, "race": 0}),
    ],
)
async def test_a_rule_hashes_as_the_same_rule_said_in_levels(
    rules: RuleService, actor: Actor, definition, levels
) -> None:
    said = await rules.create(actor, CreateRule("said", "members", definition))
    in_levels = await rules.create(actor, CreateRule("levels", "members", TableLevelDefinition(levels)))
    assert said.resource.sha256 == in_levels.resource.sha256
    assert said.resource.summary["levels"] == levels


async def test_an_equal_rule_again_is_the_same_and_another_is_a_conflict(
    rules: RuleService, actor: Actor
) -> None:
    first = await rules.create(actor, CreateRule("r", "members", IdentityDefinition()))
    again = await rules.create(actor, CreateRule("r", "members", TableLevelDefinition({})))
    assert (again.created, again.resource.id) == (False, first.resource.id)
    with pytest.raises(Conflict):
        await rules.create(actor, CreateRule("r", "members", TableLevelDefinition({"race": 1})))


async def test_record_levels_by_entity_and_by_row_survive_storage(rules: RuleService, actor: Actor) -> None:
    records = (RecordLevels({"city": 1, "race": 1}, entity="m-2"), RecordLevels({"city": 2}, row=4))
    made = await rules.create(actor, CreateRule("own", "members", RecordLevelDefinition(records)))
    assert made.resource.summary == {
        "dataset": "members",
        "kind": "record_level",
        "levels": None,
        "records": 2,
    }
    rule = rule_of(json.loads(json.dumps(made.resource.document)), members())
    assert isinstance(rule, RecordRule)
    assert rule.steps.tolist() == [[0, 0], [1, 1], [0, 0], [2, 0]]


def test_record_levels_above_a_byte_survive_too() -> None:
    steps = np.array([[0, 300], [127, 128]], dtype=np.int16)
    back = rule_of(rule_document(RecordRule(steps), ("a", "b")), members())
    assert back.steps.tolist() == steps.tolist()


@pytest.mark.parametrize(
    ("definition", "pointer", "code"),
    [
        (SuppressionDefinition(("city", "zip")), "/rule/attributes/1", "unknown-attribute"),
        (TableLevelDefinition({"zip": 1}), "/rule/levels/zip", "unknown-attribute"),
        (TableLevelDefinition({"city": 3}), "/rule/levels/city", "level-out-of-range"),
        (TableLevelDefinition({"city": -1}), "/rule/levels/city", "level-out-of-range"),
        (
            RecordLevelDefinition((RecordLevels({"race": 2}, row=1),)),
            "/rule/records/0/levels/race",
            "level-out-of-range",
        ),
        (
            RecordLevelDefinition((RecordLevels({"zip": 1}, row=1),)),
            "/rule/records/0/levels/zip",
            "unknown-attribute",
        ),
        (RecordLevelDefinition((RecordLevels({}, row=5),)), "/rule/records/0/row", "out-of-range"),
        (RecordLevelDefinition((RecordLevels({}, row=0),)), "/rule/records/0/row", "out-of-range"),
        (RecordLevelDefinition((RecordLevels({}, entity="x"),)), "/rule/records/0/entity", "unknown-entity"),
        (RecordLevelDefinition((RecordLevels({}),)), "/rule/records/0", "exactly-one"),
        (
            RecordLevelDefinition((RecordLevels({}, row=2), RecordLevels({}, entity="m-2"))),
            "/rule/records/1",
            "duplicate-record",
        ),
    ],
)
async def test_a_wrong_rule_is_refused_where_it_is_wrong(
    rules: RuleService, actor: Actor, world: World, definition, pointer: str, code: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        await rules.create(actor, CreateRule("r", "members", definition))
    (fault,) = refused.value.faults
    assert (fault.pointer, fault.code) == (pointer, code)
    assert fault.message
    assert fault.remedy
    assert not any(r.kind is Kind.RULE for r in world.data().resources.values())


async def test_entities_have_no_names_without_an_identifier(
    rules: RuleService, actor: Actor, world: World
) -> None:
    world.loader.held = members(ids=False)
    definition = RecordLevelDefinition((RecordLevels({"race": 1}, entity="m-1"),))
    with pytest.raises(InvalidInput) as refused:
        await rules.create(actor, CreateRule("r", "members", definition))
    assert refused.value.faults[0].code == "no-identifier"


async def test_every_wrong_record_is_named_up_to_a_limit(rules: RuleService, actor: Actor) -> None:
    records = tuple(RecordLevels({}, row=100 + i) for i in range(200))
    with pytest.raises(InvalidInput) as refused:
        await rules.create(actor, CreateRule("r", "members", RecordLevelDefinition(records)))
    assert len(refused.value.faults) == 50


async def test_a_rule_is_refused_for_another_dataset(rules: RuleService, actor: Actor, world: World) -> None:
    made = await rules.create(actor, CreateRule("r", "members", IdentityDefinition()))
    other = await world.add(Kind.DATASET, "others", "e" * 64)
    with pytest.raises(InvalidInput) as refused:
        require_rule_of(made.resource, other)
    assert refused.value.faults[0].pointer == "/rule"


async def test_rules_need_a_dataset_and_the_scope(rules: RuleService, actor: Actor) -> None:
    with pytest.raises(NotFound):
        await rules.create(actor, CreateRule("r", "nobody", IdentityDefinition()))
    weak = Actor(actor.tenant, "k", frozenset({Scope.ASSESS}))
    with pytest.raises(Forbidden):
        await rules.create(weak, CreateRule("r", "members", IdentityDefinition()))


async def test_a_rule_leaves_its_trace_and_keeps_its_dataset(
    rules: RuleService, actor: Actor, world: World
) -> None:
    made = await rules.create(actor, CreateRule("r", "members", IdentityDefinition()))
    assert world.data().audit == [
        (actor.key_id, "rule.create", made.resource.id, {"sha256": made.resource.sha256})
    ]
    async with world.store.work(actor.tenant) as work:
        with pytest.raises(Conflict):
            await work.resources.delete(Kind.DATASET, "members")
