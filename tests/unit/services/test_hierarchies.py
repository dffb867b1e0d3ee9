from __future__ import annotations

import pytest

from app.domain.errors import Conflict, Forbidden, InvalidInput, NotFound
from app.domain.hierarchies.hierarchy_definitions import (
    DatesDefinition,
    FlatDefinition,
    HierarchyDefinition,
    IntervalsDefinition,
    LeafColumn,
    LeafRange,
    LeafValues,
    MaskingDefinition,
    OrderedGroupsDefinition,
    ParentsDefinition,
    RowsDefinition,
)
from app.services.datasets.hierarchies import CreateHierarchy
from app.services.resources import Actor, Scope
from tests.unit.services.world import CITY, World

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("definition", "leaves", "height"),
    [
        (ParentsDefinition({"a": ("g",), "b": ("g",), "g": (None,)}), 2, 2),
        (CITY, 4, 2),
        (IntervalsDefinition(LeafRange("0", "99"), ("10", "50")), 100, 3),
        (OrderedGroupsDefinition(LeafValues(("low", "mid", "high")), (2,)), 3, 2),
        (MaskingDefinition(LeafValues(("47901", "47906"))), 2, 5),
        (DatesDefinition(LeafRange("1975-01-01", "1975-12-31"), ("day", "month")), 365, 2),
        (FlatDefinition(LeafValues(("x", "y"))), 2, 1),
    ],
)
async def test_every_way_of_defining_a_hierarchy_works(
    world: World, definition: HierarchyDefinition, leaves: int, height: int
) -> None:
    stored = await world.hierarchy("h", definition)
    assert (stored.summary["leaves"], stored.summary["height"]) == (leaves, height)
    assert stored.summary["kind"] == definition.kind
    assert stored.summary["level_nodes"][-1] == leaves
    assert stored.summary["level_nodes"][0] == 1
    assert (await world.hierarchies.tree(world.actor, "h")).leaves == leaves


async def test_leaves_may_come_from_a_column_and_are_not_repeated_in_errors(world: World) -> None:
    await world.upload("u", "zip,age\n02139,7\n10115,secret\n,9\n")
    stored = await world.hierarchy("zip", MaskingDefinition(LeafColumn("u", "zip")))
    assert stored.summary["leaves"] == 2
    with pytest.raises(InvalidInput) as caught:
        await world.hierarchy("age", IntervalsDefinition(LeafColumn("u", "age"), ("10",)))
    assert "secret" not in str(caught.value.faults)
    assert caught.value.faults[0].pointer == "/definition/leaves/column"
    with pytest.raises(InvalidInput, match="no column 'city'"):
        await world.hierarchy("city", FlatDefinition(LeafColumn("u", "city")))


async def test_faults_point_into_the_definition(world: World) -> None:
    for definition, pointer in [
        (ParentsDefinition({"a": ("b",), "b": ("a",)}), "/definition/parents/a"),
        (RowsDefinition((("a", "g"), ("a", "h"))), "/definition/rows/1"),
        (IntervalsDefinition(LeafValues(("1",)), ("10", "15")), "/definition/widths/1"),
        (DatesDefinition(LeafValues(("1975-02-30",)), ("day",)), "/definition/values"),
    ]:
        with pytest.raises(InvalidInput) as caught:
            await world.hierarchy("h", definition)
        assert caught.value.faults[0].pointer == pointer
    with pytest.raises(NotFound):
        await world.hierarchies.get(world.actor, "h")


async def test_the_csv_form_is_read_with_its_delimiter(world: World) -> None:
    text = "\ufeff34;<50;*\n45;<50;*\n\n66;>=50;*\n"
    created = await world.hierarchies.create_from_csv(world.actor, "age", text, ";")
    assert created.resource.summary["height"] == 2
    for bad in ('1;"2\n', "1;2;*\n3;*\n"):
        with pytest.raises(InvalidInput):
            await world.hierarchies.create_from_csv(world.actor, "bad", bad, ";")
    with pytest.raises(InvalidInput):
        await world.hierarchies.create_from_csv(world.actor, "bad", text, ";;")


async def test_equal_content_is_the_same_hierarchy_however_it_was_defined(world: World) -> None:
    first = await world.hierarchies.create(
        world.actor, CreateHierarchy("h", FlatDefinition(LeafValues(("a", "b"))))
    )
    again = await world.hierarchies.create(
        world.actor, CreateHierarchy("h", ParentsDefinition({"a": (None,), "b": (None,)}))
    )
    assert (again.created, again.resource.id) == (False, first.resource.id)
    with pytest.raises(Conflict):
        await world.hierarchy("h", FlatDefinition(LeafValues(("a", "c"))))


async def test_a_preview_shows_generations_and_is_bounded(world: World) -> None:
    await world.hierarchy("city", CITY)
    top = await world.hierarchies.tree(world.actor, "city", depth=1, limit=1)
    assert (top.label, top.leaves, top.n_children, len(top.children)) == ("*", 4, 2, 1)
    assert top.children[0].children == ()
    inner = await world.hierarchies.tree(world.actor, "city", node=top.children[0].node)
    assert [child.label for child in inner.children] == ["Lafayette", "Dayton"]
    with pytest.raises(NotFound):
        await world.hierarchies.tree(world.actor, "city", node=99)


async def test_names_are_checked_and_scopes_are_named(world: World) -> None:
    with pytest.raises(InvalidInput) as caught:
        await world.hierarchy("no spaces", CITY)
    assert caught.value.faults[0].pointer == "/name"
    reader = Actor(world.actor.tenant, "k", frozenset({Scope.DATA_READ}))
    with pytest.raises(Forbidden, match="data:write"):
        await world.hierarchies.create(reader, CreateHierarchy("city", CITY))
    await world.hierarchy("city", CITY)
    assert (await world.hierarchies.get(reader, "city")).name == "city"
    with pytest.raises(Forbidden, match="data:write"):
        await world.hierarchies.delete(reader, "city")


async def test_creating_and_deleting_are_audited_and_what_is_in_use_stays(world: World) -> None:
    await world.members()
    with pytest.raises(Conflict):
        await world.hierarchies.delete(world.actor, "city")
    await world.datasets.delete(world.actor, "members")
    await world.hierarchies.delete(world.actor, "city")
    actions = [action for _, action, _, _ in world.store.data(world.actor.tenant).audit]
    assert actions == [
        "hierarchy.create",
        "hierarchy.create",
        "upload.create",
        "dataset.create",
        "dataset.delete",
        "hierarchy.delete",
    ]
