"""Which uploads are the same table: by the hash of their cells, and by way of other uploads."""

from __future__ import annotations

import itertools
from collections import Counter

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from app.services.datasets.ingest.rows_hash import RowsHash
from app.services.datasets.ingest.table_hash import TableHash
from app.services.releases.same_tables import contents_alike

TEXTS = ("", "a", "b", "ab", "ba", "é", "\x00")
CELLS = st.none() | st.sampled_from(TEXTS)
ROWS = st.lists(st.tuples(CELLS, CELLS), max_size=6)


def hashed(rows: list[tuple[str | None, str | None]], names: tuple[str, str], cut: int = 0) -> str:
    found = TableHash(names)
    columns = list(zip(*rows, strict=True)) or [(), ()]
    table = pa.table([pa.array(own, pa.string()) for own in columns], names)
    for part in (table.slice(0, cut), table.slice(cut)):
        found.add(part)
    return found.hexdigest()


@given(ROWS, ROWS, st.integers(0, 6))
def test_tables_have_the_same_hash_exactly_if_their_cells_are_the_same(one, other, cut):
    same = hashed(one, ("x", "y"))
    assert (hashed(other, ("x", "y"), cut) == same) == (one == other)
    assert hashed([row[::-1] for row in one], ("y", "x"), cut) == same
    assert hashed(one, ("x", "z")) != same


def hashed_in_any_order(rows, names, cut: int = 0, most_rows: int = 6) -> str | None:
    found = RowsHash(names, most_rows)
    columns = list(zip(*rows, strict=True)) or [(), ()]
    table = pa.table([pa.array(own, pa.string()) for own in columns], names)
    for part in (table.slice(0, cut), table.slice(cut)):
        found.add(part)
    return found.hexdigest()


@given(ROWS, ROWS, st.integers(0, 6), st.randoms(use_true_random=False))
def test_tables_have_the_same_hash_in_any_order_exactly_if_they_have_the_same_rows_as_often(
    one, other, cut, chance
):
    same = hashed_in_any_order(one, ("x", "y"))
    assert same is not None
    assert (hashed_in_any_order(other, ("x", "y"), cut) == same) == (Counter(one) == Counter(other))
    mixed = chance.sample(one, len(one))
    assert hashed_in_any_order(mixed, ("x", "y"), cut) == same
    assert hashed_in_any_order([row[::-1] for row in mixed], ("y", "x")) == same
    assert hashed_in_any_order(one, ("x", "z")) != same
    assert (hashed_in_any_order(one, ("x", "y"), cut, most_rows=5) is None) == (len(one) > 5)


def test_where_a_cell_ends_and_whether_it_is_missing_changes_both_hashes():
    rows = list(itertools.product((None, *TEXTS), repeat=2))
    assert len({hashed([row], ("x", "y")) for row in rows}) == len(rows)
    assert len({hashed_in_any_order([row], ("x", "y")) for row in rows}) == len(rows)


def test_long_cells_and_many_rows_are_hashed_in_parts_that_change_nothing():
    table = pa.table({"x": ["a" * 400_000, None, "b"] * 20, "y": [str(i) for i in range(60)]})
    whole, parts = RowsHash(("x", "y")), RowsHash(("y", "x"))
    whole.add(table)
    for place in range(60):
        parts.add(table.slice(59 - place, 1))
    assert whole.hexdigest() == parts.hexdigest()


class Noted:
    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self._pairs = pairs

    @property
    def same_tables(self):
        return self

    async def noted(self):
        return self._pairs


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("12345")), max_size=9))
def test_contents_are_alike_if_a_chain_of_shared_tables_leads_from_one_to_the_other(pairs):
    work = Noted(pairs)
    try:
        contents_alike(work).send(None)
    except StopIteration as ended:
        found = ended.value
    for content in {own for own, _ in pairs}:
        reached, before = {content}, set()
        while reached != before:
            before = set(reached)
            tables = {table for own, table in pairs if own in reached}
            reached |= {own for own, table in pairs if table in tables}
        assert found[content] == reached
    assert found.keys() == {own for own, _ in pairs}
