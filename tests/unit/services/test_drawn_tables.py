"""A stored release, read back as nodes of the hierarchies."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.hierarchies.shown_labels import nodes_shown
from app.domain.rules.rule import TableRule, apply
from app.domain.tables.table import Table
from app.services.releases.drawn_tables import rows_of
from app.services.releases.released_tables import released_columns

TOWNS = Hierarchy.from_rows(
    [("Rome", "Rome", "*"), ("Ostia", "Rome", "*"), ("Bari", "South", "*"), ("Lecce", "South", "*")]
)
"""Rome is a town and a province."""
ILLNESSES = Hierarchy.from_rows([(own, "*") for own in ("asthma", "flu", "gout")])


def people():
    rng = np.random.default_rng(7)
    codes = np.stack([rng.choice([TOP, *own.leaves], 400) for own in (TOWNS, ILLNESSES)], axis=1)
    return Table(("town", "illness"), (TOWNS, ILLNESSES), codes, sensitive=frozenset({"illness"}))


def read_back(table, level):
    """The rows that were shown and those that are read of what is stored, both sorted."""
    shown = apply(TableRule((level, 0)), table)
    released = released_columns(table, [shown[:, j] for j in range(2)]).shuffled(bytes(32))
    parquet = b"".join(released.parquet_chunks({}))
    read = rows_of(parquet, table, {"town": level, "illness": 0})
    return sorted(shown.tolist()), sorted(read.codes.tolist()), read


def test_what_is_stored_is_read_as_what_was_shown():
    table = people()
    for level in (0, 1, 2):
        shown, found, read = read_back(table, level)
        assert found == shown
        assert (read.attributes, read.sensitive, read.entity_ids) == (table.attributes, table.sensitive, None)
        assert read.hierarchies is table.hierarchies or read.hierarchies == table.hierarchies


def test_a_release_without_rows_is_refused_by_its_own_name():
    table = people()
    released = released_columns(table, [table.codes[:, j] for j in range(2)]).shuffled(bytes(32))
    empty = pq.read_table(pa.BufferReader(b"".join(released.parquet_chunks({})))).slice(0, 0)
    sink = pa.BufferOutputStream()
    pq.write_table(empty, sink)
    with pytest.raises(InvalidInput) as refused:
        rows_of(sink.getvalue().to_pybytes(), table, {"town": 0, "illness": 0})
    (fault,) = refused.value.faults
    assert (fault.pointer, fault.code) == ("/release", "empty-dataset")


def test_a_label_of_several_nodes_is_the_one_of_the_level_that_is_shown():
    as_it_is, generalised, unknown = (nodes_shown(TOWNS, level)["Rome"] for level in (0, 1, None))
    assert TOWNS.is_leaf[as_it_is]
    assert generalised == unknown == TOWNS.parent[as_it_is]
