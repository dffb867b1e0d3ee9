from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from app.domain.errors import Conflict, Forbidden, InvalidInput, NotFound
from app.domain.models.class_suppression import SmallClasses, suppress_small
from app.domain.models.k_map import KMap
from app.domain.models.prosecutor_risk import AverageRisk
from app.domain.rules.condition_text import parse_condition
from app.domain.rules.condition_truth import Column
from app.domain.rules.conditional import Generalise, Hide, ToEntities, ToLevel, ToRows, ToValue
from app.domain.rules.rule import CellRule, RecordRule, TableRule
from app.domain.tables.table import Table
from app.services.fingerprints import resource_sha256
from app.services.resources import Actor, Kind, Scope
from app.services.rules.rule_building import apply_definition, define_rule
from app.services.rules.rule_definitions import (
    ConditionalDefinition,
    GeneralisationDefinition,
    IdentityDefinition,
    RecordLevelDefinition,
    RecordLevels,
    SuppressionDefinition,
    TableLevelDefinition,
    definition_document,
    definition_of,
    statements_of,
)
from app.services.rules.rule_documents import (
    require_rule_of,
    rule_document,
    rule_in_short,
    rule_of,
    rule_sha256,
)
from app.services.rules.rules import CreateRule, RuleService, rule_stated_anew
from tests.unit.services.memory_store import MemoryStore
from tests.unit.services.scoring_world import CITY, RACE, World, make_world, members

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
        "suppress_classes_below": None,
        "suppress_classes_failing": None,
        "missing": None,
        "suppressed": None,
    }
    stored = await rules.get(actor, "proposal")
    assert rule_of(stored.document, members()) == TableRule((1, 0))


async def test_a_rule_that_suppresses_small_classes_is_another_rule_than_its_levels(
    rules: RuleService, actor: Actor
) -> None:
    """Indiana has three members, two of one race; the one of the other and the one in Illinois are alone."""
    levels = {"city": 1, "race": 0}
    kept = await rules.create(actor, CreateRule("kept", "members", TableLevelDefinition(levels)))
    made = await rules.create(actor, CreateRule("pairs", "members", TableLevelDefinition(levels, 2)))
    assert made.resource.sha256 != kept.resource.sha256
    table = members()
    disclosed = rule_of(rules_document := made.resource.document, table).codes.tolist()
    plain = [[CITY.ancestors_at(1)[city], race] for city, race in table.codes.tolist()]
    expected = [row if plain.count(row) >= 2 else [0, 0] for row in plain]
    assert disclosed == expected
    assert made.resource.summary["suppress_classes_below"] == 2
    assert made.resource.summary["records"] == expected.count([0, 0]) > 0
    assert kept.resource.summary["suppress_classes_below"] is None
    stored = json.loads(json.dumps(rules_document))
    assert rule_of(stored, table).codes.tolist() == disclosed


async def test_small_classes_are_found_anew_in_the_next_delivery(world: World, actor: Actor) -> None:
    rule = define_rule(TableLevelDefinition({"city": 1}, 2), members()).document
    before = members()
    after = Table(before.attributes, before.hierarchies, before.codes[[0, 0, 1, 2, 3, 3]])
    async with world.store.work(actor.tenant) as work:
        dataset = await work.resources.get(Kind.DATASET, "members")
    anew = await rule_stated_anew(world.store, world.loader, actor.tenant, rule, dataset, after)
    assert anew.codes.tolist() == suppress_small(after, TableRule((1, 0)), SmallClasses(2))[0].codes.tolist()
    levels = {"levels": {}}
    assert await rule_stated_anew(world.store, world.loader, actor.tenant, levels, dataset, after) is None


async def test_classes_are_compared_with_the_population_anew_in_the_next_delivery(
    world: World, rules: RuleService, actor: Actor
) -> None:
    """Of the eight people two are of Muncie and three of each of the others: k-map with k = 3."""
    definition = TableLevelDefinition({"race": 1}, suppress_classes_failing=(KMap(3),), dictionary="census")
    made = await rules.create(actor, CreateRule("mapped", "members", definition))
    assert (made.resource.summary["records"], made.resource.summary["dictionary"]) == (1, "census")
    shown = rule_of(made.resource.document, members()).codes
    assert np.flatnonzero((shown == 0).all(axis=1)).tolist() == [1]
    before = members()
    after = Table(before.attributes, before.hierarchies, before.codes[[1, 0, 1, 2]])
    async with world.store.work(actor.tenant) as work:
        dataset = await work.resources.get(Kind.DATASET, "members")
        with pytest.raises(Conflict):
            await work.resources.delete(Kind.DICTIONARY, "census")
    rule = json.loads(json.dumps(made.resource.document))
    anew = await rule_stated_anew(world.store, world.loader, actor.tenant, rule, dataset, after)
    assert np.flatnonzero((anew.codes == 0).all(axis=1)).tolist() == [0, 2]
    unnamed = TableLevelDefinition({"race": 1}, suppress_classes_failing=(KMap(3),))
    with pytest.raises(InvalidInput) as refused:
        await rules.create(actor, CreateRule("unnamed", "members", unnamed))
    assert refused.value.faults[0].pointer == "/rule/dictionary"


async def test_steps_ask_the_record_how_deep_its_value_is(rules: RuleService, actor: Actor) -> None:
    """They are refused beyond ⊥, which tells it; by their former name they are not."""
    blind = Actor(actor.tenant, "k", actor.scopes - {Scope.DATA_READ})
    steps = RecordLevelDefinition((RecordLevels(row=1, steps={"city": 1}),))
    levels = RecordLevelDefinition((RecordLevels({"city": 1}, row=1),))
    with pytest.raises(Forbidden):
        await rules.create(blind, CreateRule("steps", "members", steps))
    former = await rules.create(blind, CreateRule("levels", "members", levels))
    named = await rules.create(actor, CreateRule("steps", "members", steps))
    assert named.resource.sha256 == former.resource.sha256


async def test_small_classes_are_of_quasi_identifiers_but_in_rules_that_say_nothing_of_it() -> None:
    """Three of Indiana are one class; two of them share a race, and the one of the other is alone with it."""
    table = members()
    with_race_sensitive = Table(
        table.attributes, table.hierarchies, table.codes, sensitive=frozenset({"race"})
    )
    definition = TableLevelDefinition({"city": 1}, 2)
    document = define_rule(definition, with_race_sensitive).document
    assert document["meaning"] == 2
    alone = [CITY.ancestors_at(1)[city] for city in table.codes[:, 0].tolist()]
    suppressed = [row for row, state in enumerate(alone) if alone.count(state) < 2]
    assert document["records"] == len(suppressed) == 1
    shown = rule_of(document, with_race_sensitive).codes
    assert np.flatnonzero((shown == 0).all(axis=1)).tolist() == suppressed

    stored = {key: value for key, value in document.items() if key != "meaning"}
    before = rule_of(stored, with_race_sensitive).codes
    assert np.flatnonzero((before == 0).all(axis=1)).tolist() == [
        row
        for row, own in enumerate(zip(alone, table.codes[:, 1].tolist(), strict=True))
        if list(zip(alone, table.codes[:, 1].tolist(), strict=True)).count(own) < 2
    ]
    assert rule_in_short(stored)["meaning"] == 1
    stated = define_rule(TableLevelDefinition({"city": 1}, 2, meaning=1), with_race_sensitive).document
    hashes = [rule_sha256(own, "0" * 64) for own in (stored, stated, {**stored, "meaning": 1}, document)]
    assert hashes[0] == hashes[1] == hashes[2] != hashes[3]
    # As it was hashed before there was a second meaning.
    plain = {"levels": stored["levels"], "suppress_classes_below": 2}
    assert hashes[0] == resource_sha256(Kind.RULE, plain, {"dataset": "0" * 64})


def test_rules_of_another_order_of_suppression_are_other_rules() -> None:
    """They may suppress others, and where they do not, they may in the next delivery."""
    by_size = TableLevelDefinition({"city": 1}, suppress_classes_failing=(AverageRisk(0.5),))
    definitions = [replace(by_size, suppression_order="class_by_class"), by_size]
    one, all_of_a_size = (define_rule(definition, members()).document for definition in definitions)
    assert rule_sha256(one, "0" * 64) != rule_sha256(all_of_a_size, "0" * 64)
    # As it was hashed before there was a second order.
    plain = {key: all_of_a_size[key] for key in ("levels", "suppress_classes_failing")}
    before = resource_sha256(Kind.RULE, plain, {"dataset": "0" * 64})
    assert rule_sha256(all_of_a_size, "0" * 64) == before


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
        "suppress_classes_below": None,
        "suppress_classes_failing": None,
        "missing": None,
        "suppressed": None,
    }
    rule = rule_of(json.loads(json.dumps(made.resource.document)), members())
    assert isinstance(rule, RecordRule)
    assert rule.steps.tolist() == [[0, 0], [1, 1], [0, 0], [2, 0]]


def test_record_levels_above_a_byte_survive_too() -> None:
    steps = np.array([[0, 300], [127, 128]], dtype=np.int16)
    back = rule_of(rule_document(RecordRule(steps), ("a", "b")), members())
    assert back.steps.tolist() == steps.tolist()


@pytest.mark.parametrize("greatest", [1, 200, 70_000])
def test_disclosed_nodes_survive_whatever_their_number(greatest: int) -> None:
    codes = np.array([[0, greatest], [1, 0]], dtype=np.int32)
    document = rule_document(CellRule(codes), ("a", "b"))
    back = rule_of(json.loads(json.dumps(document)), members())
    assert isinstance(back, CellRule)
    assert back.codes.tolist() == codes.tolist()
    assert back.codes.dtype == np.int32
    other = rule_document(CellRule(codes + 1), ("a", "b"))
    assert rule_sha256(other, "d") != rule_sha256(document, "d")


async def test_values_by_record_make_a_rule_of_cells(rules: RuleService, actor: Actor) -> None:
    records = (
        RecordLevels({"race": 1}, entity="m-2", values={"city": "Indiana"}),
        RecordLevels({"city": 1}, row=4),
    )
    made = await rules.create(actor, CreateRule("own", "members", RecordLevelDefinition(records)))
    assert made.resource.summary == {
        "dataset": "members",
        "kind": "record_level",
        "levels": None,
        "records": 2,
        "suppress_classes_below": None,
        "suppress_classes_failing": None,
        "missing": None,
        "suppressed": None,
    }
    rule = rule_of(json.loads(json.dumps(made.resource.document)), members())
    labels = [[CITY.labels[city], RACE.labels[race]] for city, race in rule.codes.tolist()]
    assert labels == [
        ["Lafayette", "White"],
        ["Indiana", "any race"],
        ["Chicago", "White"],
        ["Indiana", "any race"],
    ]


async def test_equal_values_defined_differently_mean_different_rules(
    rules: RuleService, actor: Actor
) -> None:
    """What a rule says of the next delivery belongs to its meaning."""
    one = GeneralisationDefinition({"city": {"Muncie": "Indiana"}})
    two = GeneralisationDefinition({"city": {"Muncie": "Indiana"}, "race": {}})
    first = await rules.create(actor, CreateRule("one", "members", one))
    second = await rules.create(actor, CreateRule("two", "members", two))
    assert first.resource.sha256 != second.resource.sha256
    assert first.resource.summary["records"] == 1
    assert rules.definition(actor, first.resource) == {
        "kind": "generalisation",
        "values": {"city": {"Muncie": "Indiana"}},
    }


def test_a_definition_is_stated_anew_for_the_next_delivery() -> None:
    before = members()
    columns = {"city": Column("text", (None, *CITY.labels[1:]), before.codes[:, 0])}
    statement = Generalise("city", parse_condition("city = 'Chicago'"), ToLevel(1))
    definition = ConditionalDefinition((statement,))
    document = json.loads(json.dumps(define_rule(definition, before, columns).document))
    assert document["affected"] == [3]
    again = definition_of(document["definition"])
    assert again == definition
    after = Table(before.attributes, before.hierarchies, before.codes[::-1])
    columns = {"city": Column("text", (None, *CITY.labels[1:]), after.codes[:, 0])}
    rule = apply_definition(again, after, columns)
    assert rule.codes.tolist() == rule_of(document, before).codes[::-1].tolist()


def test_conditions_of_a_rule_are_read_up_to_a_number_of_comparisons() -> None:
    thousand = {"kind": "hide", "attribute": "city", "unless": " or ".join(["1 = 2"] * 1000)}
    assert len(statements_of([thousand] * 10, "")) == 10
    unreadable = {**thousand, "unless": "("}
    with pytest.raises(InvalidInput, match="at most 10000 comparisons altogether") as refused:
        statements_of([*[thousand] * 11, unreadable], "/rule/statements")
    assert [(f.pointer, f.code) for f in refused.value.faults] == [
        ("/rule/statements", "conditions-too-large")
    ]


@pytest.mark.parametrize(
    "to",
    [ToLevel(2), ToValue(None), ToEntities({"m-1": "Indiana", "m-2": None}), ToRows({1: "Indiana", 2: None})],
)
def test_statements_survive_their_plain_form(to) -> None:
    definition = ConditionalDefinition(
        (
            Generalise("city", parse_condition("race = 'White' or \"a b\" < 0.5"), to),
            Hide("race", parse_condition("1 < 2")),
        )
    )
    assert definition_of(json.loads(json.dumps(definition_document(definition)))) == definition


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
