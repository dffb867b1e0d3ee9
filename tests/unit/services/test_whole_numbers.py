"""17100.0 and 17100 are one number, wherever a table meets what was made of another one.

pandas writes the whole numbers of a column as decimals once one of them is missing.
"""

from __future__ import annotations

import numpy as np
import pytest

from app.domain.counting.counter import Counter
from app.domain.hierarchies.cell_formats import spelled_otherwise
from app.domain.hierarchies.hierarchy import UNKNOWN, Hierarchy
from app.domain.hierarchies.hierarchy_definitions import RowsDefinition
from app.domain.rules.rule import apply
from app.services.datasets.dataset_schema import AttributeType, Role
from app.services.datasets.dictionaries import Link
from app.services.gates.released_columns import are_alike
from app.services.releases.readings import readings_of
from app.services.releases.release_alignment import align_release
from app.services.resources import Actor, Stored
from tests.unit.services.memory_store import MemoryStore
from tests.unit.services.world import World, declare

WHOLE, DECIMAL = "", ".0"
SPELLINGS = [(WHOLE, DECIMAL), (DECIMAL, WHOLE)]
TYPES = [AttributeType.NUMBER, AttributeType.CATEGORICAL]


@pytest.fixture
def world(store: MemoryStore, actor: Actor) -> World:
    return World(store, actor)


@pytest.mark.parametrize(
    ("text", "others"),
    [
        ("17100", ("17100.0",)),
        ("17100.0", ("17100",)),
        ("-3.00", ("-3", "-3.0")),
        ("17100.5", ()),
        ("1.10", ()),
        ("02139", ("02139.0",)),
        ("x1.0", ()),
        ("١٢.0", ()),
        ("1e3", ()),
        ("", ()),
    ],
)
def test_only_whole_numbers_are_spelled_in_several_ways(text, others):
    assert spelled_otherwise(text) == others


def test_a_label_that_is_there_as_it_is_written_is_always_meant():
    tree = Hierarchy.from_parents({"1": [None], "1.0": [None], "7.0": [None]})
    one, dotted, seven = (tree.node_of(label) for label in ("1", "1.0", "7.0"))
    codes, unknown = tree.encode(["1.0", "1", "7", "7.00", "8", None])
    assert codes.tolist() == [dotted, one, seven, seven, UNKNOWN, 0]
    assert unknown == {"8"}
    assert tree.node_of("7") == seven


async def salaries(world: World, ending: str, labels: str, type_: AttributeType) -> Stored:
    rows = [(f"{n}00{labels}", "low" if n < 3 else "high", "*") for n in range(1, 5)]
    await world.hierarchy("pay", RowsDefinition(tuple(rows)))
    cells = "".join(f"{n},{n}00{ending},{'ab'[n % 2]}\n" for n in (1, 2, 3, 4))
    await world.upload("people", f"no,pay,ill\n{cells}")
    made = await world.dataset(
        "people",
        "people",
        declare("no", Role.IDENTIFIER),
        declare("pay", type=type_, hierarchy="pay"),
        declare("ill", Role.SENSITIVE),
    )
    return made.resource


@pytest.mark.anyio
@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize(("cells", "labels"), SPELLINGS)
async def test_a_table_has_the_values_of_a_hierarchy_that_spells_them_otherwise(world, cells, labels, type_):
    dataset = await salaries(world, cells, labels, type_)
    assert dataset.summary["status"] == "ready"
    table = await world.loader.table(world.actor.tenant, dataset)
    tree = table.hierarchies[0]
    assert [tree.labels[code] for code in table.codes[:, 0]] == [f"{n}00{labels}" for n in range(1, 5)]


@pytest.mark.anyio
@pytest.mark.parametrize(("cells", "register"), SPELLINGS)
async def test_the_people_of_a_register_are_found_by_numbers_that_it_spells_otherwise(world, cells, register):
    dataset = await salaries(world, cells, cells, AttributeType.NUMBER)
    await world.upload("register", "wage\n" + "".join(f"{n}00{register}\n" for n in (1, 1, 2, 3, 9)))
    made = await world.dictionary("register", "register", links=(Link("pay", "wage", "pay"),))
    table = await world.loader.table(world.actor.tenant, dataset)
    register_of = await world.loader.dictionary(world.actor.tenant, made.resource, dataset)
    found = Counter(table, register_of).count_records(table.codes, (0,) * table.n_attributes).values
    assert np.asarray(found).tolist() == [2, 1, 1, 0]


@pytest.mark.anyio
@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize(("cells", "released"), SPELLINGS)
async def test_a_release_file_that_pandas_has_spelled_otherwise_is_judged(world, cells, released, type_):
    dataset = await salaries(world, cells, cells, type_)
    rows = f"3{released},300{released},b\n1{released},,b\n2{released},low,a\n4{released},400{released},a\n"
    upload = await world.upload("release", f"no,pay,ill\n{rows}")
    found = await align_release(world.loader, world.store, world.actor.tenant, dataset, upload, "no")
    table = await world.loader.table(world.actor.tenant, dataset)
    shown = apply(found.rule, table)[:, 0]
    assert [table.hierarchies[0].labels[code] for code in shown] == ["*", "low", f"300{cells}", f"400{cells}"]
    other = await world.upload("other", f"no,pay,ill\n1,200{released},b\n")
    found = await align_release(world.loader, world.store, world.actor.tenant, dataset, other, "no")
    assert (found.rule, found.doubt.code) == (None, "not-a-generalisation")


def read(texts, labels):
    return [readings_of(text, {}, labels) for text in texts]


def test_two_spellings_of_one_number_in_a_file_tell_records_apart():
    assert are_alike(read(["300", "300.0"], {"300"}))
    assert are_alike(read(["300", "300.0"], {"300.0"}))
    # Where the hierarchy has both, they are different values.
    assert not are_alike(read(["300", "300.0"], {"300", "300.0"}))
    assert readings_of("'-5.0", {}, {"-5"}) == ("'-5.0", "-5.0", "-5")
