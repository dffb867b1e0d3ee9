"""Finished release files against the dataset that they were made of."""

from __future__ import annotations

import numpy as np
import pytest

from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import TOP
from app.domain.rules.rule import TableRule, apply
from app.services.datasets.dataset_schema import Role
from app.services.releases.release_alignment import NOBODY_SAID, align_release
from app.services.releases.released_tables import release_of
from app.services.resources import Actor
from tests.unit.services.memory_store import MemoryStore
from tests.unit.services.world import CITY, World, declare

pytestmark = pytest.mark.anyio

ORIGINAL = """member_id,city,income
m1,Lafayette,=52
m2,Chicago,=52
m3,Dayton,48
m4,,=52
"""
SCHEMA = (
    declare("member_id", Role.IDENTIFIER),
    declare("city", hierarchy="city", map={"Chi": "Chicago"}),
    declare("income", Role.SENSITIVE),
)


@pytest.fixture
async def world(store: MemoryStore, actor: Actor) -> World:
    made = World(store, actor)
    await made.hierarchy("city", CITY)
    await made.upload("members", ORIGINAL)
    made.members = (await made.dataset("members", "members", *SCHEMA)).resource
    return made


async def aligned(world: World, text: str, key: str | None = None, order: str | None = None):
    upload = await world.upload(f"release-{abs(hash(text))}", text)
    tenant = world.actor.tenant
    return await align_release(world.loader, world.store, tenant, world.members, upload, key, order)


async def refused(world: World, text: str, key: str | None = None) -> list[tuple[str, str]]:
    with pytest.raises(InvalidInput) as error:
        await aligned(world, text, key)
    shown = str([(fault.message, fault.remedy) for fault in error.value.faults])
    assert not any(cell in shown for cell in ("Lafayette", "Dayton", "m1", "Atlantis"))
    return [(fault.pointer, fault.code) for fault in error.value.faults]


async def shown(world: World, found) -> list[list[str]]:
    table = await world.loader.table(world.actor.tenant, world.members)
    rows = apply(found.rule, table).tolist()
    return [[h.labels[code] for h, code in zip(table.hierarchies, row, strict=True)] for row in rows]


@pytest.mark.parametrize("neutralise", [False, True])
async def test_the_products_own_release_is_aligned_by_its_order(world: World, neutralise: bool) -> None:
    table = await world.loader.table(world.actor.tenant, world.members)
    rule = TableRule((1, 0))
    data = b"".join(release_of(table, rule).csv_chunks(neutralise_formulas=neutralise)).decode()
    assert ("'=52" in data) == neutralise
    found = await aligned(world, data, order="records")
    assert (found.aligned_by, found.records, found.absent.sum(), found.reason) == ("order", 4, 0, None)
    assert found.order == "records"
    assert found.rule.codes.tolist() == apply(rule, table).tolist()
    assert found.table.codes[:, 0].tolist() == [2, 1, 2, TOP]
    assert found.table.hierarchies[1] is table.hierarchies[1]


async def test_rows_in_another_order_are_found_by_their_key(world: World) -> None:
    text = "no,income,city\nm3,48,Indiana\nm1,*,\nm2,=52,Chi\n"
    found = await aligned(world, text, "no")
    assert (found.aligned_by, found.records, found.absent.sum()) == ("key", 3, 1)
    assert await shown(world, found) == [["*", "*"], ["Chicago", "=52"], ["Indiana", "48"], ["*", "*"]]


async def test_without_key_another_number_of_rows_leaves_only_the_file_itself(world: World) -> None:
    found = await aligned(world, "city,income\nIndiana,48\nIndiana,*\n", order="records")
    assert (found.rule, found.aligned_by, found.records) == (None, None, 2)
    assert "2 rows and the dataset 4 records" in found.reason
    assert found.table.n_records == 2
    assert len(np.unique(found.table.codes[:, 0])) == 1


async def test_without_key_rows_in_another_order_are_no_rule(world: World) -> None:
    found = await aligned(world, "city\nChicago\nLafayette\nDayton\n*\n", order="records")
    assert found.rule is None
    assert "'city'" in found.reason
    assert "first rows: 1, 2" in found.reason
    assert (found.table.codes[:, 1] == TOP).all()


async def test_a_file_is_aligned_by_its_order_only_if_somebody_says_so(world: World) -> None:
    in_place = await aligned(world, "city\nLafayette\nChicago\nDayton\n*\n")
    assert (in_place.rule, in_place.aligned_by, in_place.order) == (None, None, "unknown")
    assert in_place.reason == NOBODY_SAID
    assert in_place.fits_in_place
    # Sorted, or so general that every order fits: nothing speaks for the order of the records.
    for rows in ("*\nChicago\nDayton\nLafayette", "*\n*\n*\n*"):
        assert not (await aligned(world, f"city\n{rows}\n")).fits_in_place


async def test_with_a_key_it_is_seen_whether_the_rows_keep_the_order_of_the_records(world: World) -> None:
    rows = ["m1,Indiana,=52", "m2,*,=52", "m3,Indiana,48", "m4,*,*"]
    everywhere, within, mixed, alike = [
        await aligned(world, "\n".join(["no,city,income", *own]), "no")
        for own in (
            rows,
            [rows[1], rows[3], rows[0], rows[2]],
            [rows[2], rows[1], rows[0], rows[3]],
            ["m2,*,=52", "m1,*,=52"],
        )
    ]
    assert [own.order for own in (everywhere, within, mixed, alike)] == [
        "records",
        "records",
        "other",
        "other",
    ]
    assert (everywhere.kept.within_classes, within.kept.within_classes) == (False, True)
    assert [round(10**-own.kept.log10_chance) for own in (everywhere, within)] == [24, 4]


async def test_a_missing_original_is_never_shown_as_a_value(world: World) -> None:
    found = await aligned(world, "city\nLafayette\nChicago\nDayton\nDayton\n", order="records")
    assert found.rule is None
    assert "row 4" in found.reason


async def test_what_is_no_release_of_the_dataset_is_refused(world: World) -> None:
    upload = "/release/upload"
    assert await refused(world, "city,note\nIndiana,x\n") == [(upload, "columns-not-judged")]
    assert await refused(world, "member_id,city\nm1,Indiana\n") == [(upload, "columns-not-judged")]
    assert await refused(world, "city,income\nAtlantis,48\n") == [(upload, "unknown-value")]
    assert await refused(world, "no\nm1\n", "no") == [(upload, "empty-release")]
    assert await refused(world, "city\n") == [(upload, "empty-release")]
    assert await refused(world, "city\nIndiana\n", "no") == [("/release/key", "unknown-column")]


async def test_a_key_that_does_not_fit_is_a_doubt_in_which_nothing_is_judged(world: World) -> None:
    keys = "no,city\nm1,*\nm1,*\n,*\nm9,*\n"
    for text, code in ((keys, "missing-key"), ("no,city\nm1,Chicago\n", "not-a-generalisation")):
        found = await aligned(world, text, "no")
        assert found.rule is None
        assert (found.doubt.pointer, found.doubt.code) == ("/release/key", code)
    said = (await aligned(world, keys, "no")).doubt.message
    for what in ("has no key (first rows: 3)", "no identifier of the dataset (first rows: 4)",
                 "repeats the key of an earlier one (first rows: 2)"):  # fmt: skip
        assert what in said


async def test_many_rows_that_are_wrong_are_counted_and_twenty_named(world: World) -> None:
    ids = [f"p{i}" for i in range(50)]
    await world.upload("many", "member_id,city,income\n" + "".join(f"{i},Dayton,48\n" for i in ids))
    world.members = (await world.dataset("many", "many", *SCHEMA)).resource
    text = "no,city\n" + "".join(f"{i},Chicago\n" for i in ids)
    fault = (await aligned(world, text, "no")).doubt
    assert "In 50 rows" in fault.message
    assert "first rows: 1, 2, 3" in fault.message
    assert "20)" in fault.message
    assert "21" not in fault.message


async def test_a_key_needs_a_dataset_with_identifiers(world: World) -> None:
    world.members = (await world.dataset("nameless", "members", *SCHEMA[1:])).resource
    assert await refused(world, "no,city\nm1,*\n", "no") == [("/release/key", "no-identifier")]
