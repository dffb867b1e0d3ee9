"""Which uploads are the same table: by the hash of their cells, and by way of other uploads."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from app.services.datasets.ingest.table_hash import TableHash
from app.services.releases.same_tables import contents_alike

CELLS = st.none() | st.sampled_from(["", "a", "b", "ab", "ba", "é", "\x00"])
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
