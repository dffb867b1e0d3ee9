"""Rules that generalise another rule further, and suggested changes as rules."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.api.schemas.rules import NewRule
from app.domain.errors import Forbidden, InvalidInput, NotFound
from app.domain.models.class_suppression import ClassSuppression
from app.domain.models.k_anonymity import KAnonymity
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import RecordRule, TableRule, apply
from app.domain.search.nearest.change import AllowedSuppression, OpaqueRequirement
from app.domain.search.nearest.nearest import nearest_change
from app.services.gates.changes import definition_of_change
from app.services.resources import Actor, Kind, Scope, document_of
from app.services.rules.rule_definitions import (
    AtLeastDefinition,
    ConditionalDefinition,
    IdentityDefinition,
    RecordLevelDefinition,
    RecordLevels,
    TableLevelDefinition,
    statements_of,
)
from app.services.rules.rule_documents import rule_of
from app.services.rules.rules import CreateRule, RuleService
from tests.unit.services.memory_store import MemoryStore
from tests.unit.services.scoring_world import World, make_world

pytestmark = pytest.mark.anyio


@pytest.fixture
async def world(store: MemoryStore, actor: Actor) -> World:
    return await make_world(store, actor)


@pytest.fixture
def rules(world: World) -> RuleService:
    return RuleService(world.store, world.loader)


async def table_of(world: World, actor: Actor):
    async with world.store.work(actor.tenant) as work:
        dataset = await work.resources.get(Kind.DATASET, "members")
    return dataset, await world.loader.table(actor.tenant, dataset)


async def shown_by(world: World, actor: Actor, made) -> list[list[str]]:
    _, table = await table_of(world, actor)
    codes = apply(rule_of(document_of(made.resource), table), table)
    return [[h.labels[c] for h, c in zip(table.hierarchies, row, strict=True)] for row in codes.tolist()]


async def test_a_table_rule_raised_is_the_table_rule_of_the_greater_levels(
    rules: RuleService, actor: Actor, world: World
) -> None:
    await rules.create(actor, CreateRule("city", "members", TableLevelDefinition({"city": 1})))
    raised = AtLeastDefinition("city", {"race": 1})
    made = await rules.create(actor, CreateRule("further", "members", raised))
    same = await rules.create(
        actor, CreateRule("both", "members", TableLevelDefinition({"city": 1, "race": 1}))
    )
    assert (made.resource.summary["kind"], made.resource.summary["levels"]) == (
        "at_least",
        {"city": 1, "race": 1},
    )
    assert made.resource.sha256 == same.resource.sha256


async def test_records_keep_what_is_more_general_already(
    rules: RuleService, actor: Actor, world: World
) -> None:
    records = (RecordLevels({"city": 2}, row=1), RecordLevels({"race": 1}, row=2))
    inner = RecordLevelDefinition(records)
    await rules.create(actor, CreateRule("records", "members", inner))
    by_name = await rules.create(
        actor, CreateRule("named", "members", AtLeastDefinition("records", {"city": 1}))
    )
    inline = await rules.create(actor, CreateRule("inline", "members", AtLeastDefinition(inner, {"city": 1})))
    _, table = await table_of(world, actor)
    found = rule_of(document_of(by_name.resource), table)
    assert isinstance(found, RecordRule)
    assert found.steps[0].tolist() == [2, 0]
    assert found.steps[1].tolist() == [1, 1]
    assert (found.steps[2:, 0] == 1).all()
    assert by_name.resource.sha256 == inline.resource.sha256


async def test_failing_classes_are_suppressed_of_any_rule(
    rules: RuleService, actor: Actor, world: World
) -> None:
    records = RecordLevelDefinition((RecordLevels({"city": 1}, row=1),))
    made = await rules.create(
        actor, CreateRule("kept", "members", AtLeastDefinition(records, {}, (KAnonymity(2),)))
    )
    rows = await shown_by(world, actor, made)
    assert all(rows.count(row) >= 2 for row in rows)


async def test_what_a_change_cannot_rest_on_is_named(rules: RuleService, actor: Actor) -> None:
    with pytest.raises(InvalidInput) as error:
        await rules.create(
            actor, CreateRule("r", "members", AtLeastDefinition(IdentityDefinition(), {"city": 9, "x": 1}))
        )
    assert {fault.pointer for fault in error.value.faults} == {"/rule/levels/city", "/rule/levels/x"}
    below = TableLevelDefinition({"city": 9})
    with pytest.raises(InvalidInput) as error:
        await rules.create(actor, CreateRule("r", "members", AtLeastDefinition(below, {})))
    assert error.value.faults[0].pointer == "/rule/rule/levels/city"
    with pytest.raises(NotFound):
        await rules.create(actor, CreateRule("r", "members", AtLeastDefinition("nothing", {})))


async def test_conditions_below_need_to_read_the_data(rules: RuleService, actor: Actor) -> None:
    statements = statements_of([{"kind": "hide", "attribute": "race", "unless": "city = 'Gary'"}], "")
    inner = ConditionalDefinition(statements)
    writer = replace(actor, scopes=frozenset({Scope.DATA_WRITE}))
    with pytest.raises(Forbidden):
        await rules.create(writer, CreateRule("r", "members", AtLeastDefinition(inner, {"race": 1})))


async def test_a_suggested_change_can_be_stored_as_it_is(
    rules: RuleService, actor: Actor, world: World
) -> None:
    _, table = await table_of(world, actor)
    utility = build_utility(table)

    def two_alike(rule) -> bool:
        rows = [tuple(row) for row in apply(rule, table).tolist()]
        return all(rows.count(row) >= 2 for row in rows if any(row) or isinstance(rule, TableRule))

    steps = np.zeros(table.codes.shape, dtype=np.int16)
    steps[0, 0] = 1
    inner = RecordLevelDefinition((RecordLevels({"city": 1}, row=1),))
    await rules.create(actor, CreateRule("one-record", "members", inner))
    for rule, written in (
        (TableRule((0, 0)), "unused"),
        (RecordRule(steps), "one-record"),
    ):
        for limit in (0, 2):
            suppression = AllowedSuppression(ClassSuppression((KAnonymity(2),)), limit)
            requirement = OpaqueRequirement(two_alike, 1, True)
            change = nearest_change(table, rule, utility, [requirement], suppression=suppression)
            definition = definition_of_change(change, table, rule, written)
            body = NewRule.model_validate(
                {
                    "name": f"taken-{type(rule).__name__.lower()}-{limit}",
                    "dataset": "members",
                    "rule": definition,
                }
            )
            made = await rules.create(actor, body.request())
            taken = rule_of(document_of(made.resource), table)
            assert apply(taken, table).tolist() == apply(change.rule, table).tolist()
            assert two_alike(taken)
