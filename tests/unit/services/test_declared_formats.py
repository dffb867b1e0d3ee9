"""Columns of dates and numbers as an office exports them, with the cells that cannot be read."""

from __future__ import annotations

import pytest

from app.domain.errors import InvalidInput
from app.domain.hierarchies.cell_formats import CellFormat
from app.services.datasets.dataset_schema import AttributeDeclaration, AttributeType, OnUnreadable, Role
from app.services.releases.release_alignment import align_release
from app.services.resources import document_of
from tests.unit.services.world import World, declare

pytestmark = pytest.mark.anyio

UPLOAD = "born;costs;ward\n10.05.1975;17100,00;A\n31.02.1975;17100;A\n10.05.1975 00:00;1.200,5;B\n;0,10;B\n"
GERMAN = CellFormat("dd.mm.yyyy")
COSTS = declare("costs", Role.SENSITIVE, AttributeType.NUMBER, format=CellFormat("1.234,56"))


def born(**rest) -> AttributeDeclaration:
    return declare("born", type=AttributeType.DATE, format=GERMAN, **rest)


@pytest.fixture
async def office(world: World) -> World:
    await world.upload("u", UPLOAD, delimiter=";")
    return world


async def cells(world: World, name: str, *declared: AttributeDeclaration) -> list[list[str]]:
    dataset = (await world.dataset(name, "u", *declared)).resource
    table = await world.loader.table(world.actor.tenant, dataset)
    return [
        [hierarchy.labels[code] for code in table.codes[:, j]]
        for j, hierarchy in enumerate(table.hierarchies)
    ]


async def test_cells_become_iso_dates_and_plain_numbers(office: World) -> None:
    read = await cells(office, "d", born(on_unreadable=OnUnreadable.MISSING), COSTS)
    assert read == [["1975-05-10", "*", "1975-05-10", "*"], ["17100", "17100", "1200.5", "0.1"]]


async def test_an_unreadable_cell_is_refused_with_its_row_and_never_shown(office: World) -> None:
    with pytest.raises(InvalidInput) as caught:
        await office.dataset("d", "u", born(), COSTS)
    (fault,) = caught.value.faults
    assert (fault.pointer, fault.code) == ("/attributes/0", "not-a-date")
    assert "dd.mm.yyyy" in fault.message
    assert "row 2" in fault.message
    assert "31.02" not in fault.message + fault.remedy


async def test_a_number_that_a_cell_is_given_is_one_with_equal_ones(office: World) -> None:
    costs = declare(
        "costs", Role.SENSITIVE, AttributeType.NUMBER, format=CellFormat("1.234,56"), map={"0,10": "17100.00"}
    )
    assert (await cells(office, "d", costs))[0] == ["17100", "17100", "1200.5", "17100"]


async def test_an_unreadable_cell_can_be_given_its_value(office: World) -> None:
    (read,) = await cells(office, "d", born(map={"31.02.1975": "1975-02-28"}))
    assert read == ["1975-05-10", "1975-02-28", "1975-05-10", "*"]
    with pytest.raises(InvalidInput, match="row 2"):
        await office.dataset("again", "u", born(map={"31.02.1975": "28.02.1975"}))


async def test_what_counts_as_missing_is_told(office: World) -> None:
    declared = born(on_unreadable=OnUnreadable.MISSING)
    dataset = (await office.dataset("d", "u", declared)).resource
    assert dataset.summary["warnings"][0] == (
        "1 cell counts as missing in 'born', being no date written like dd.mm.yyyy, in row 2."
    )
    summary = dataset.summary["attributes"][0]
    assert (summary["missing"], summary["unreadable"]) == (2, 1)
    profile = await office.datasets.profile(office.actor, "d")
    assert (profile.attributes[0].missing, profile.attributes[0].distinct) == (2, 1)


async def test_a_dataset_without_formats_keeps_the_document_that_it_had(office: World) -> None:
    plain = (await office.dataset("plain", "u", declare("ward"))).resource
    assert {"format", "on_unreadable"}.isdisjoint(document_of(plain)["attributes"][0])


@pytest.mark.parametrize(
    ("declared", "pointer", "code"),
    [
        (declare("born", format=GERMAN), "/attributes/0/format", "not-read"),
        (
            declare("born", on_unreadable=OnUnreadable.MISSING),
            "/attributes/0/on_unreadable",
            "not-read",
        ),
        (
            declare("born", type=AttributeType.NUMBER, format=GERMAN),
            "/attributes/0/format",
            "format-of-another-type",
        ),
        (
            declare("born", type=AttributeType.DATE, format=CellFormat.COMMA),
            "/attributes/0/format",
            "format-of-another-type",
        ),
        (
            declare("born", Role.IDENTIFIER, AttributeType.DATE, format=GERMAN),
            "/attributes/0/format",
            "not-read",
        ),
    ],
)
async def test_a_reading_that_cannot_be_used_is_refused(office: World, declared, pointer, code) -> None:
    with pytest.raises(InvalidInput) as caught:
        await office.dataset("d", "u", declared, declare("ward"))
    assert (pointer, code) in [(fault.pointer, fault.code) for fault in caught.value.faults]


async def aligned(world: World, raw: str, released: str, key: str | None):
    """A file of the rows, by their key or by none, beside the dataset that reads other rows as declared."""
    await world.upload("raw", f"id;born;costs\n{raw}", delimiter=";")
    id_ = declare("id", Role.IDENTIFIER, AttributeType.TEXT)
    dataset = (await world.dataset("d", "raw", id_, born(), COSTS)).resource
    rows = f"id;born;costs\n{released}".splitlines()
    written = [row if key else row.partition(";")[2] for row in rows]
    upload = await world.upload("released", "\n".join(written) + "\n\n", delimiter=";")
    return await align_release(world.loader, world.store, world.actor.tenant, dataset, upload, key)


@pytest.mark.parametrize("key", [None, "id"])
async def test_a_file_may_be_written_as_the_datasets_own_file_is(world: World, key: str | None) -> None:
    rows = "1;10.05.1975;1.234\n2;11.05.1975;2,5\n"
    found = await aligned(world, rows, rows, key)
    assert not len(found.unmatched)
    assert (found.rule is None) == (key is None)


@pytest.mark.parametrize("key", [None, "id"])
async def test_a_cell_that_is_no_value_is_refused_and_the_form_to_write_is_named(
    world: World, key: str | None
) -> None:
    rows = "1;10.05.1975;1.234\n2;11.05.1975;2,5\n"
    with pytest.raises(InvalidInput) as caught:
        await aligned(world, rows, rows.replace("11.05", "31.02"), key)
    (fault,) = caught.value.faults
    assert fault.code == "unknown-value"
    assert "Cells like dd.mm.yyyy are dates like 1975-05-10 in the dataset" in fault.remedy


async def test_a_text_that_is_a_value_as_it_stands_is_not_read_as_another(world: World) -> None:
    rows = "1;10.05.1975;1.234\n2;11.05.1975;1,234\n"  # 1234 and 1.234
    assert (await aligned(world, rows, rows, "id")).doubt.code == "not-a-generalisation"
