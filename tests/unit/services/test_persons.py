"""Whom a row is about: person columns, rows that are persons, and what is refused or said of them."""

from __future__ import annotations

import numpy as np
import pytest

from app.domain.errors import InvalidInput
from app.domain.hierarchies.spellings import common_reading
from app.services.datasets.dataset_making import CreateDataset
from app.services.datasets.dataset_schema import AttributeType, Role, rows_are_of
from app.services.datasets.persons import persons_of
from app.services.datasets.tables import TableLoader, bytes_of_table
from app.services.datasets.text_columns import TextColumn
from tests.unit.services.world import World, declare

pytestmark = pytest.mark.anyio

VISITS = "pid,sex,dx\nb,m,d0\na,f,d1\nb,m,d2\nc,f,d0\na,f,d0\n"
SEX = declare("sex")


def person(name: str = "pid", **rest) -> object:
    return declare(name, Role.PERSON, **rest)


@pytest.mark.parametrize(
    "spellings",
    [
        ("1000", "1000.0", " 1000 ", "1e3", "+1000", "01000", "1000.", "１０００", "1000\u00a0"),
        ("p0001", "P0001", " p0001\t", "ｐ0001", "p\u200b0001"),
        ("Zoë  Müller", "ZOË MÜLLER", "Zoe\u0308 Mu\u0308ller"),
        ("0", "-0", "0.00"),
        ("123456789012345678901", "123456789012345678901.0"),
    ],
)
def test_spellings_of_one_number_or_text_are_one_person(spellings: tuple[str, ...]) -> None:
    assert len({common_reading(text) for text in spellings}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1000", "1001"), ("1000", "1000a"), ("p1", "p01"), ("1.5", "15"), ("12 34", "1234"), ("-1", "1"),
        ("9007199254740993", "9007199254740992"), ("Zoe", "Zoë"),
    ],
)  # fmt: skip
def test_other_numbers_and_texts_are_other_persons(one: str, other: str) -> None:
    assert common_reading(one) != common_reading(other)


def test_persons_are_numbered_without_gaps_and_each_empty_row_by_itself() -> None:
    texts = [None, "7", " ", "7.0", "x", "\u200b", "X", None]
    values = tuple(dict.fromkeys(text for text in texts if text is not None))
    positions = np.array([-1 if text is None else values.index(text) for text in texts], dtype=np.int32)
    found = persons_of(TextColumn(values, positions))
    assert found.numbers.dtype == np.int32
    assert found.numbers.tolist() == [2, 0, 3, 0, 1, 4, 1, 5]
    assert (found.n_named, found.n_spellings, found.n_persons) == (2, 4, 6)
    assert found.nobody.tolist() == [1, 3, 6, 8]


async def test_the_table_knows_whom_each_record_is_about(world: World) -> None:
    await world.upload("u", VISITS)
    made = (await world.dataset("d", "u", person(), SEX)).resource
    assert {key: made.summary[key] for key in ("identifier", "person", "persons", "rows_are")} == {
        "identifier": None, "person": "pid", "persons": 3, "rows_are": None,
    }  # fmt: skip
    for loader in (world.loader, TableLoader(world.store)):
        table = await loader.table(world.actor.tenant, made)
        assert table.persons is not None
        by_person: dict[int, list[int]] = {}
        for row, number in enumerate(table.persons.tolist()):
            by_person.setdefault(number, []).append(row)
        assert sorted(by_person) == [0, 1, 2]
        assert sorted(by_person.values()) == [[0, 2], [1, 4], [3]]
        assert table.attributes == ("sex",)
    plain = await world.loader.table(world.actor.tenant, (await world.dataset("e", "u", SEX)).resource)
    assert bytes_of_table(table) == bytes_of_table(plain) + 4 * 5


async def test_a_person_and_an_identifier_may_both_be_declared(world: World) -> None:
    await world.upload("u", "visit,pid,sex\nv1,a,m\nv2,a,m\n")
    made = (await world.dataset("d", "u", declare("visit", Role.IDENTIFIER), person(), SEX)).resource
    table = await world.loader.table(world.actor.tenant, made)
    assert table.entity_ids is not None
    assert table.entity_ids.tolist() == ["v1", "v2"]
    assert table.n_persons == 1


async def test_cells_of_a_person_column_are_mapped_and_never_read_as_its_type(world: World) -> None:
    await world.upload("u", "pid,sex\n 1000 ,m\n1000.0,m\nold,f\nA7,f\n")
    number = person(type=AttributeType.NUMBER, map={"old": "1e3"})
    made = (await world.dataset("d", "u", number, SEX)).resource
    table = await world.loader.table(world.actor.tenant, made)
    assert table.persons is not None
    assert table.persons.tolist() == [0, 0, 0, 1]
    assert made.summary["attributes"][0]["unreadable"] == 0


async def test_spellings_that_were_taken_for_one_person_are_counted_and_not_shown(world: World) -> None:
    await world.upload("u", "pid,sex\nSecret1,m\nsecret1,m\n7,f\n7.0,f\n8,f\n")
    made = (await world.dataset("d", "u", person(), SEX)).resource
    first = made.summary["warnings"][0]
    assert first.startswith("5 spellings in 'pid' are taken for 3 persons")
    assert "ecret" not in str(made.summary)


async def test_empty_person_cells_are_refused_with_their_rows_or_each_another_person(world: World) -> None:
    await world.upload("u", "pid,sex\na,m\n,m\na,f\n  ,f\n")
    with pytest.raises(InvalidInput) as caught:
        await world.dataset("d", "u", SEX, person())
    (fault,) = caught.value.faults
    assert (fault.pointer, fault.code) == ("/attributes/1", "missing-person")
    assert "2 of 4 rows" in fault.message
    assert "rows 2, 4" in fault.message
    assert "own_person" in fault.remedy
    made = (await world.dataset("d", "u", SEX, person(on_missing="own_person"))).resource
    assert made.summary["persons"] == 3
    assert made.summary["warnings"][0].startswith("2 rows name nobody in 'pid'")
    table = await TableLoader(world.store).table(world.actor.tenant, made)
    assert table.n_persons == 3


@pytest.mark.parametrize(
    ("cells", "says"),
    [("abc", "it may number the rows"), ("aaa", "All rows are about one person"), ("aab", None)],
)
async def test_a_person_column_that_is_unique_or_constant_is_warned_of(
    world: World, cells: str, says: str | None
) -> None:
    await world.upload("u", "pid,sex\n" + "".join(f"{cell},m\n" for cell in cells))
    made = (await world.dataset("d", "u", person(), SEX)).resource
    warnings = made.summary["warnings"]
    assert [bool(says and says in own) for own in warnings] == ([True] if says else [])


@pytest.mark.parametrize(
    ("attributes", "rows_are", "pointer", "code"),
    [
        ([person(), person("dx"), SEX], None, "/attributes/1/role", "second-person"),
        ([person(hierarchy="city"), SEX], None, "/attributes/0/hierarchy", "hierarchy-not-used"),
        ([person(), SEX], "persons", "/rows_are", "contradiction"),
        ([declare("pid", Role.OTHER, on_missing="own_person"), SEX], None,
         "/attributes/0/on_missing", "not-a-person-column"),
        ([declare("pid", Role.IDENTIFIER), declare("pid", Role.PERSON), SEX], None,
         "/attributes/1/name", "duplicate-attribute"),
    ],
)  # fmt: skip
async def test_schemas_that_contradict_themselves_on_persons_are_refused(
    world: World, attributes, rows_are, pointer: str, code: str
) -> None:
    await world.upload("u", VISITS)
    with pytest.raises(InvalidInput) as caught:
        await world.datasets.create(world.actor, CreateDataset("d", "u", tuple(attributes), rows_are))
    assert (pointer, code) in [(fault.pointer, fault.code) for fault in caught.value.faults]


async def test_what_rows_are_is_kept_and_only_what_was_said_changes_the_hash(world: World) -> None:
    await world.upload("u", VISITS)
    unsaid = (await world.dataset("unsaid", "u", SEX)).resource
    said = (await world.datasets.create(world.actor, CreateDataset("said", "u", (SEX,), "persons"))).resource
    assert (rows_are_of(unsaid), rows_are_of(said)) == (None, "persons")
    assert (unsaid.summary["rows_are"], said.summary["rows_are"]) == (None, "persons")
    assert unsaid.sha256 != said.sha256
    assert unsaid.document is not None
    assert set(unsaid.document) == {"upload", "attributes"}
    assert "on_missing" not in str(unsaid.document)


async def test_a_register_is_not_made_of_a_dataset_that_repeats_persons(world: World) -> None:
    await world.upload("u", VISITS)
    await world.dataset("d", "u", person(), SEX)
    with pytest.raises(InvalidInput) as caught:
        await world.dictionary("r", from_dataset="d")
    assert caught.value.faults[0].code == "repeated-entities"
