from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from app.domain.errors import Forbidden, InvalidInput, NotFound
from app.services.datasets import dataset_schema
from app.services.datasets.dataset_making import CreateDataset
from app.services.datasets.dataset_schema import AttributeType, OnUnknown, Role
from app.services.datasets.datasets import DatasetService
from app.services.datasets.dictionaries import CreateDictionary, DictionaryService, Link
from app.services.datasets.tables import TableLoader
from app.services.deletions import Erased
from app.services.resources import Actor, Scope, TenantId
from tests.unit.services.world import CITY, MEMBERS_SCHEMA, World, declare

pytestmark = pytest.mark.anyio


async def test_a_dataset_is_encoded_with_missing_cells_as_top(world: World) -> None:
    dataset = await world.members()
    assert dataset.summary["status"] == "ready"
    assert dataset.summary["rows"] == 4
    assert dataset.summary["identifier"] == "member_id"
    table = await TableLoader(world.store).table(world.actor.tenant, dataset)
    assert table.attributes == ("city", "birth_date", "income")
    assert table.entity_ids is not None
    assert table.entity_ids.tolist() == ["m1", "m2", "m3", "m4"]
    labels = [
        [hierarchy.labels[code] for code in table.codes[:, j]]
        for j, hierarchy in enumerate(table.hierarchies)
    ]
    assert labels == [
        ["Lafayette", "Chicago", "Dayton", "*"],
        ["1975-05-10", "1976-01-01", "*", "1975-05-10"],
        ["52", "52", "48", "52"],
    ]
    assert table.hierarchies[2].labels == ("*", "48", "52")


async def test_unknown_values_need_attention_until_they_are_resolved(world: World) -> None:
    await world.hierarchy("city", CITY)
    await world.upload("u", "city\nChicago\nGary\nGary\nParis\n")
    refused = (await world.dataset("refused", "u", declare("city", hierarchy="city"))).resource
    assert refused.summary["status"] == "needs_attention"
    assert refused.summary["attributes"][0]["unknown"] == 3
    assert refused.summary["attributes"][0]["unknown_values"] == 2
    assert "Gary" not in str(refused.summary)
    with pytest.raises(InvalidInput) as caught:
        await world.loader.table(world.actor.tenant, refused)
    assert caught.value.faults[0].code == "needs-attention"

    async def labels(name: str, **rest: Any) -> list[str]:
        dataset = (await world.dataset(name, "u", declare("city", hierarchy="city", **rest))).resource
        table = await world.loader.table(world.actor.tenant, dataset)
        return [table.hierarchies[0].labels[code] for code in table.codes[:, 0]]

    assert await labels("attached", on_unknown=OnUnknown.ATTACH) == ["Chicago", "Gary", "Gary", "Paris"]
    assert await labels("missing", on_unknown=OnUnknown.MISSING) == ["Chicago", "*", "*", "*"]
    replaced = await labels("mapped", map={"Gary": "Indiana", "Paris": "Chicago"})
    assert replaced == ["Chicago", "Indiana", "Indiana", "Chicago"]


async def test_a_quasi_identifier_that_a_search_can_only_suppress_is_warned_of(world: World) -> None:
    await world.hierarchy("city", CITY)
    await world.upload("u", "city,age,sex,illness\nChicago,30,f,flu\nDayton,31,f,cold\n")
    roles = {"city": "city", "age": None, "sex": None}
    declared = [declare(name, hierarchy=own) for name, own in roles.items()]
    illness = declare("illness", role=Role.SENSITIVE)
    dataset = (await world.dataset("d", "u", *declared, illness)).resource
    # Neither what has a hierarchy nor what has one value, nor what is sensitive.
    (warning,) = dataset.summary["warnings"]
    assert warning.startswith("'age' has no hierarchy")


async def test_a_profile_shows_values_only_to_those_who_may_read_them(world: World) -> None:
    await world.hierarchy("city", CITY)
    await world.upload("u", "city,x\nChicago,1\nGary,\nGary,1\nParis,2\n")
    await world.dataset("d", "u", declare("city", hierarchy="city"), declare("x", Role.OTHER))
    city, other = (await world.datasets.profile(world.actor, "d", limit=1)).attributes
    assert (city.distinct, city.missing, city.unknown_rows, city.unknown_distinct) == (3, 0, 3, 2)
    assert city.unknown is not None
    assert [(count.value, count.rows) for count in city.unknown] == [("Gary", 2)]
    assert (other.distinct, other.missing, other.unknown_rows) == (2, 1, 0)
    blind = Actor(world.actor.tenant, "k", frozenset({Scope.DATA_WRITE, Scope.ASSESS}))
    city, _ = (await world.datasets.profile(blind, "d")).attributes
    assert (city.unknown, city.frequent, city.unknown_rows) == (None, None, 3)
    with pytest.raises(Forbidden, match="data:read"):
        await world.datasets.preview(blind, "d")


async def test_a_preview_shows_the_first_rows_as_they_are(world: World) -> None:
    await world.members()
    preview = await world.datasets.preview(world.actor, "members", limit=3)
    assert preview.columns == ("member_id", "city", "birth_date", "income", "group")
    assert preview.rows[2] == ("m3", "Dayton", None, "48", "a")
    assert (len(preview.rows), preview.total_rows) == (3, 4)


def weight(name: str) -> dataset_schema.AttributeDeclaration:
    return declare(name, Role.WEIGHT, AttributeType.NUMBER)


async def test_record_weights_are_read_whole_and_kept_with_the_table(world: World) -> None:
    await world.upload("u", "w,a\n3,x\n0,y\n1.5,z\n")
    made = await world.dataset("d", "u", weight("w"), declare("a"))
    for loader in (world.loader, TableLoader(world.store)):
        table = await loader.table(world.actor.tenant, made.resource)
        assert table.attributes == ("a",)
        assert table.weights is not None
        assert (table.weights / table.weights.sum()).tolist() == pytest.approx([3 / 4.5, 0, 1.5 / 4.5])


@pytest.mark.parametrize(
    ("text", "attributes", "code"),
    [
        ("a\n", [declare("a")], "empty-dataset"),
        ("a\n1\n", [declare("b")], "unknown-column"),
        ("a\n1\n", [declare("a"), declare("a")], "duplicate-attribute"),
        ("a\n1\n", [declare("a", Role.OTHER)], "nothing-disclosed"),
        ("a\n1\n", [], "nothing-disclosed"),
        ("a,b\n1,2\n", [declare("a"), declare("b", Role.OTHER, hierarchy="city")], "hierarchy-not-used"),
        (
            "a,b,c\n1,2,3\n",
            [declare("a", Role.IDENTIFIER), declare("b", Role.IDENTIFIER), declare("c")],
            "second-identifier",
        ),
        ("a,b\n1,2\n1,3\n", [declare("a", Role.IDENTIFIER), declare("b")], "duplicate-identifier"),
        ("a,b\n,2\n1,3\n", [declare("a", Role.IDENTIFIER), declare("b")], "missing-identifier"),
        ("a\n1\nx\n", [declare("a", type=AttributeType.NUMBER)], "not-a-number"),
        ("a,w\nx,1\n", [declare("a"), declare("w", Role.WEIGHT)], "weights-are-numbers"),
        ("a,w,v\nx,1,2\n", [declare("a"), weight("w"), weight("v")], "second-weight"),
        ("a,w\nx,1\ny,-1\n", [declare("a"), weight("w")], "not-a-weight"),
        ("a,w\nx,1\ny,\n", [declare("a"), weight("w")], "not-a-weight"),
        ("a,w\nx,1\ny,1e999\n", [declare("a"), weight("w")], "not-a-weight"),
        ("a,w\nx,0\ny,0.0\n", [declare("a"), weight("w")], "no-weight"),
        ("a,w\nx,one\n", [declare("a"), weight("w")], "not-a-number"),
        ("a\nNaN\n", [declare("a", type=AttributeType.NUMBER)], "not-a-number"),
        ("a\ninf\n", [declare("a", type=AttributeType.NUMBER)], "not-a-number"),
        ("a\n1975-02-30\n", [declare("a", type=AttributeType.DATE)], "not-a-date"),
        ("a\n10.05.1975\n", [declare("a", type=AttributeType.DATE)], "not-a-date"),
    ],
)
async def test_bad_schemas_and_cells_are_refused_by_name(
    world: World, text: str, attributes: list[dataset_schema.AttributeDeclaration], code: str
) -> None:
    await world.hierarchy("city", CITY)
    await world.upload("u", text)
    with pytest.raises(InvalidInput) as caught:
        await world.dataset("d", "u", *attributes)
    assert caught.value.faults[0].code == code
    with pytest.raises(NotFound):
        await world.datasets.get(world.actor, "d")


async def test_faulty_cells_are_named_by_row_never_by_value(world: World) -> None:
    await world.upload("u", "a,b\n1,1975-01-01\nsecret,nodate\n")
    with pytest.raises(InvalidInput) as caught:
        await world.dataset(
            "d", "u", declare("a", type=AttributeType.NUMBER), declare("b", type=AttributeType.DATE)
        )
    assert [fault.code for fault in caught.value.faults] == ["not-a-number", "not-a-date"]
    assert all("in row 2" in fault.message for fault in caught.value.faults)
    assert "secret" not in str(caught.value.faults)


async def test_a_column_of_missing_cells_alone_is_top_everywhere(world: World) -> None:
    await world.upload("u", "a,b\n1,\n2,\n")
    dataset = (await world.dataset("d", "u", declare("a"), declare("b"))).resource
    table = await world.loader.table(world.actor.tenant, dataset)
    assert table.hierarchies[1].height == 0
    assert table.codes[:, 1].tolist() == [0, 0]


async def test_the_hash_covers_pieces_schema_and_hierarchies_but_no_names(world: World) -> None:
    dataset = await world.members()
    other = World(type(world.store)(), world.actor)
    assert (await other.members()).sha256 == dataset.sha256
    changed = await other.dataset("changed", "members", *MEMBERS_SCHEMA[:4])
    assert changed.resource.sha256 != dataset.sha256


async def test_column_names_may_hold_dots_and_blanks(world: World) -> None:
    await world.upload("u", "a.b,a,a b\n1,2,3\n")
    dataset = (await world.dataset("d", "u", declare("a.b"), declare("a b"))).resource
    table = await TableLoader(world.store).table(world.actor.tenant, dataset)
    assert [hierarchy.labels[1] for hierarchy in table.hierarchies] == ["1", "3"]


async def test_a_table_is_loaded_once_however_many_wait_for_it(world: World) -> None:
    dataset = await world.members()
    loader = TableLoader(world.store)
    first = asyncio.create_task(loader.table(world.actor.tenant, dataset))
    await asyncio.sleep(0)
    others = [asyncio.create_task(loader.table(world.actor.tenant, dataset)) for _ in range(3)]
    await asyncio.sleep(0)
    first.cancel()
    tables = await asyncio.gather(*others)
    assert all(table is tables[0] for table in tables)
    small = TableLoader(world.store, capacity_bytes=1)
    again = await small.table(world.actor.tenant, dataset)
    assert again is not await small.table(world.actor.tenant, dataset)


async def test_columns_that_would_not_fit_into_memory_are_refused_before_they_are_read(world: World) -> None:
    await world.upload("u", "a,b,c\n1,2,3\n4,5,6\n")
    loader = TableLoader(world.store, most_bytes=2 * 2 * 8)
    datasets, dictionaries = DatasetService(world.store, loader), DictionaryService(world.store, loader)
    three = CreateDataset("three", "u", tuple(map(declare, "abc")))
    with pytest.raises(InvalidInput) as refused:
        await datasets.create(world.actor, three)
    (fault,) = refused.value.faults
    assert (fault.pointer, fault.code) == ("/attributes", "too-many-cells")
    assert fault.message.startswith("2 rows of 3 columns do not fit")
    assert fault.remedy.startswith("At most 2 fit: declare fewer")
    links = tuple(Link(name, name) for name in "abc")
    with pytest.raises(InvalidInput, match="do not fit"):
        await dictionaries.create(world.actor, CreateDictionary("three", "u", links))
    with pytest.raises(InvalidInput, match="do not fit"):
        await dictionaries.create(world.actor, CreateDictionary("three", "u", links[:2], identifier="c"))
    await dictionaries.create(world.actor, CreateDictionary("two", "u", links[:2]))
    await datasets.create(world.actor, replace(three, attributes=three.attributes[:2], rows_are="persons"))


async def test_what_was_erased_leaves_memory_also_if_it_is_just_being_loaded(world: World) -> None:
    dataset = await world.members()
    tenant = world.actor.tenant
    loader = TableLoader(world.store)
    kept = await loader.table(tenant, dataset)
    erased = Erased(tenant, dataset.id, dataset.sha256)
    for other in (replace(erased, tenant=TenantId("other")), replace(erased, sha256="0" * 64)):
        loader.forget(other)
        assert await loader.table(tenant, dataset) is kept
    loader.forget(erased)
    loading = asyncio.create_task(loader.table(tenant, dataset))
    await asyncio.sleep(0)
    loader.forget(erased)
    loaded = await loading
    held = await loader.table(tenant, dataset)
    assert kept is not loaded is not held
    assert await loader.table(tenant, dataset) is held
    loader.forget(None)
    assert await loader.table(tenant, dataset) is not held
