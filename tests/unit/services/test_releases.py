from __future__ import annotations

import csv
import hashlib
import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from app.api.schemas.common import shown
from app.api.schemas.releases import Release
from app.domain.errors import Conflict, Forbidden, InvalidInput, NotFound
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.rules.rule import TableRule, record_rule
from app.domain.tables.table import Table
from app.services.releases.released_tables import release_of
from app.services.releases.releases import ReleaseService
from app.services.releases.requests import CreateRelease
from app.services.resources import Actor, DataFormat, Kind, NewResource, Scope
from app.services.rules.rule_definitions import (
    RecordLevelDefinition,
    RecordLevels,
    SuppressionDefinition,
    TableLevelDefinition,
)
from app.services.rules.rules import CreateRule, RuleService
from tests.unit.services.memory_store import MemoryStore
from tests.unit.services.scoring_world import World, make_world

pytestmark = pytest.mark.anyio


@pytest.fixture
async def world(store: MemoryStore, actor: Actor) -> World:
    world = await make_world(store, actor)
    rules = RuleService(world.store, world.loader)
    records = (RecordLevels({"city": 2, "race": 1}, row=1), RecordLevels({"city": 1}, row=2))
    for name, definition in {
        "as-is": TableLevelDefinition({}),
        "states": TableLevelDefinition({"city": 1}),
        "nothing": SuppressionDefinition(("city", "race")),
        "own": RecordLevelDefinition(records),
    }.items():
        await rules.create(actor, CreateRule(name, "members", definition))
    return world


@pytest.fixture
def releases(world: World) -> ReleaseService:
    return ReleaseService(world.store, world.loader)


async def body(releases: ReleaseService, actor: Actor, name: str, format=DataFormat.CSV) -> bytes:
    stream = await releases.data(actor, name, format)
    return b"".join([chunk async for chunk in stream.chunks])


async def test_a_release_shows_the_disclosed_attributes_sorted_by_what_they_show(
    releases: ReleaseService, actor: Actor
) -> None:
    await releases.create(actor, CreateRelease("r", "members", "states"))
    assert (await body(releases, actor, "r")).decode() == (
        "city,race\nIllinois,White\nIndiana,=Asian\nIndiana,White\nIndiana,any race\n"
    )


async def test_the_order_of_the_records_is_kept_only_if_asked_for(
    releases: ReleaseService, actor: Actor
) -> None:
    made = await releases.create(actor, CreateRelease("r", "members", "states", order="records"))
    assert (made.resource.summary["order"], made.resource.summary["order_chosen"]) == ("records", True)
    assert (await body(releases, actor, "r")).decode() == (
        "city,race\nIndiana,White\nIndiana,=Asian\nIllinois,White\nIndiana,any race\n"
    )


async def test_identifiers_never_leave(releases: ReleaseService, actor: Actor) -> None:
    await releases.create(actor, CreateRelease("r", "members", "as-is"))
    assert b"m-1" not in await body(releases, actor, "r")
    # Packed bytes in an order of chance may be these three: what is read of them counts.
    file = pq.ParquetFile(io.BytesIO(await body(releases, actor, "r", DataFormat.PARQUET)))
    groups = [file.metadata.row_group(number).to_dict() for number in range(file.num_row_groups)]
    assert "m-1" not in f"{file.read().to_pydict()} {groups} {file.schema_arrow.metadata}"


async def test_records_are_disclosed_each_by_its_own_levels(releases: ReleaseService, actor: Actor) -> None:
    await releases.create(actor, CreateRelease("r", "members", "own", order="records"))
    assert (await body(releases, actor, "r")).decode() == (
        "city,race\n*,any race\nIndiana,=Asian\nChicago,White\nLafayette,any race\n"
    )


async def test_the_manifest_says_what_was_released_and_suppressed(
    releases: ReleaseService, actor: Actor, world: World
) -> None:
    made = await releases.create(actor, CreateRelease("r", "members", "own"))
    rule = await RuleService(world.store, world.loader).get(actor, "own")
    summary = made.resource.summary
    assert summary.pop("csv_sha256") == hashlib.sha256(await body(releases, actor, "r")).hexdigest()
    assert summary == {
        "rows_are": {
            "kind": "not_said",
            "column": None,
            "persons": None,
            "said_by": None,
            "sentence": "Each row counts as one person: assumed, nobody said so.",
        },
        "dataset": "members",
        "dataset_sha256": "d" * 64,
        "rule": {
            "name": "own",
            "kind": "record_level",
            "sha256": rule.sha256,
            "levels": None,
            "suppress_classes_below": None,
            "suppress_classes_failing": None,
            "missing": None,
            "suppressed": None,
        },
        "columns": ["city", "race"],
        "rows": 4,
        "suppressed_cells": 3,
        "suppressed_records": 1,
        "classes": 4,
        "neutralise_formulas": False,
        "order": "shuffled",
        "order_chosen": False,
    }


async def test_a_release_made_before_orders_were_secret_keeps_its_bytes(
    releases: ReleaseService, actor: Actor, world: World
) -> None:
    """As such releases are stored: without an order in summary or document, hashed in the records' order."""
    made = await releases.create(actor, CreateRelease("new", "members", "states", order="records"))
    kept = {key: made.resource.summary[key] for key in made.resource.summary if not key.startswith("order")}
    document = {"neutralise_formulas": False}
    old = NewResource(Kind.RELEASE, "old", "a" * 64, kept, document, made.resource.uses)
    async with world.store.work(actor.tenant) as work:
        await work.resources.add(old)
        await work.commit()
    data = await body(releases, actor, "old")
    assert data.decode().splitlines()[1:] == [
        "Indiana,White", "Indiana,=Asian", "Illinois,White", "Indiana,any race",
    ]  # fmt: skip
    assert hashlib.sha256(data).hexdigest() == kept["csv_sha256"]
    answer = shown(Release, await releases.get(actor, "old"))
    assert (answer.order, answer.order_chosen) == ("records", False)


async def test_another_order_under_the_same_name_is_a_conflict(
    releases: ReleaseService, actor: Actor
) -> None:
    await releases.create(actor, CreateRelease("r", "members", "states"))
    with pytest.raises(Conflict):
        await releases.create(actor, CreateRelease("r", "members", "states", order="records"))


async def test_everything_suppressed_is_one_class(releases: ReleaseService, actor: Actor) -> None:
    made = await releases.create(actor, CreateRelease("r", "members", "nothing"))
    summary = made.resource.summary
    assert (summary["classes"], summary["suppressed_cells"], summary["suppressed_records"]) == (1, 8, 4)


async def test_parquet_holds_the_same_texts_and_where_they_come_from(
    releases: ReleaseService, actor: Actor
) -> None:
    made = await releases.create(
        actor, CreateRelease("r", "members", "states", neutralise_formulas=True, order="records")
    )
    table = pq.read_table(io.BytesIO(await body(releases, actor, "r", DataFormat.PARQUET)))
    assert table.to_pydict() == {
        "city": ["Indiana", "Indiana", "Illinois", "Indiana"],
        "race": ["White", "=Asian", "White", "any race"],
    }
    assert table.schema.types == [pa.string(), pa.string()]
    assert table.schema.metadata[b"privacy-risk.release"] == made.resource.sha256.encode()


async def test_formulas_are_made_harmless_only_if_asked(releases: ReleaseService, actor: Actor) -> None:
    await releases.create(actor, CreateRelease("plain", "members", "states"))
    await releases.create(actor, CreateRelease("safe", "members", "states", neutralise_formulas=True))
    assert "\nIndiana,=Asian\n" in (await body(releases, actor, "plain")).decode()
    assert "\nIndiana,'=Asian\n" in (await body(releases, actor, "safe")).decode()


async def test_a_rule_of_another_dataset_is_refused(
    releases: ReleaseService, actor: Actor, world: World
) -> None:
    await world.add(Kind.DATASET, "others", "e" * 64)
    with pytest.raises(InvalidInput) as refused:
        await releases.create(actor, CreateRelease("r", "others", "states"))
    assert (refused.value.faults[0].pointer, refused.value.faults[0].code) == ("/rule", "other-dataset")


async def test_releasing_and_reading_need_their_scopes(releases: ReleaseService, actor: Actor) -> None:
    await releases.create(actor, CreateRelease("r", "members", "states"))
    with pytest.raises(Forbidden):
        await releases.data(Actor(actor.tenant, "k", frozenset({Scope.ASSESS})), "r", DataFormat.CSV)
    with pytest.raises(Forbidden):
        await releases.create(
            Actor(actor.tenant, "k", frozenset({Scope.DATA_READ})), CreateRelease("s", "members", "states")
        )
    with pytest.raises(NotFound):
        await releases.data(actor, "unknown", DataFormat.CSV)
    with pytest.raises(InvalidInput):
        await releases.data(actor, "r", DataFormat.JSON)


async def test_a_release_is_traced_and_holds_on_to_its_rule(
    releases: ReleaseService, actor: Actor, world: World
) -> None:
    made = await releases.create(actor, CreateRelease("r", "members", "states"))
    assert (actor.key_id, "release.create", made.resource.id, {"sha256": made.resource.sha256}) in (
        world.data().audit
    )
    again = await releases.create(actor, CreateRelease("r", "members", "states"))
    assert (again.created, again.resource.id) == (False, made.resource.id)
    with pytest.raises(Conflict):
        await RuleService(world.store, world.loader).delete(actor, "states")


AWKWARD = ["=1+1", "+49", "-5", "@SUM", "\tx", "\rx", 'say "hi"', "a,b", "two\nlines", "", "'", "ünï"]


def flat(labels: list[str]) -> Hierarchy:
    return Hierarchy(("*", *labels), ((), *(((0,),) * len(labels))))


def awkward_table() -> Table:
    tree = flat(AWKWARD)
    codes = tree.encode(AWKWARD)[0]
    return Table(("=col", "b"), (tree, tree), np.stack([codes, codes], axis=1))


@pytest.mark.parametrize("neutralise", [False, True])
def test_any_csv_reader_gets_the_texts_back(neutralise: bool) -> None:
    released = release_of(awkward_table(), TableRule((0, 0)))
    text = b"".join(released.csv_chunks(neutralise_formulas=neutralise)).decode()
    rows = list(csv.reader(io.StringIO(text, newline="")))
    starts = ("=", "+", "-", "@", "\t", "\r")
    expected = [f"'{v}" if neutralise and v.startswith(starts) else v for v in ["=col", *AWKWARD]]
    assert [row[0] for row in rows] == expected


def test_a_single_column_of_empty_texts_has_no_empty_lines() -> None:
    tree = flat(["", "x"])
    table = Table(("only",), (tree,), tree.encode(["", "x"])[0].reshape(-1, 1))
    text = b"".join(release_of(table, TableRule((0,))).csv_chunks(neutralise_formulas=False)).decode()
    assert text == 'only\n""\nx\n'


def test_a_large_release_comes_in_bounded_chunks_in_order() -> None:
    tree = Hierarchy.from_parents({f"v{i}": [None] for i in range(100)})
    values = [f"v{i % 100}" for i in range(50_000)]
    table = Table(("a",), (tree,), tree.encode(values)[0].reshape(-1, 1))
    released = release_of(table, record_rule(table, np.zeros((50_000, 1), dtype=np.int16)))
    chunks = list(released.csv_chunks(neutralise_formulas=False))
    assert len(chunks) > 3
    assert max(map(len, chunks)) < 100_000
    assert b"".join(chunks).decode().splitlines() == ["a", *values]
    parquet = list(released.parquet_chunks({}))
    assert len([chunk for chunk in parquet if chunk]) > 3
    assert pq.read_table(io.BytesIO(b"".join(parquet)))["a"].to_pylist() == values
