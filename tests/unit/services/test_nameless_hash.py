"""Which tables have one hash whatever their columns are called: against what cells, rows and columns are."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from app.services.datasets.ingest.nameless_hash import NamelessHash

TEXTS = ("", "a", "b", "ab", "ba", "é", "\x00", "0")
COLUMNS = st.integers(1, 6).flatmap(
    lambda n: st.lists(
        st.lists(st.none() | st.sampled_from(TEXTS), min_size=n, max_size=n), min_size=1, max_size=3
    )
)
Columns = list[list[str | None]]


def hashed(columns: Columns, names: str = "xyzw", cut: int = 0, most_rows: int = 6) -> str | None:
    found = NamelessHash(most_rows)
    table = pa.table([pa.array(own, pa.string()) for own in columns], list(names[: len(columns)]))
    for part in (table.slice(0, cut), table.slice(cut)):
        found.add(part)
    return found.hexdigest()


def told(columns: Columns) -> object:
    """What the hash is of: each row's cells, and each column's, of those in which cells differ."""
    varied = [own for own in columns if len(set(own)) > 1] or columns
    rows = Counter(tuple(sorted(row, key=str)) for row in zip(*varied, strict=True))
    return rows, Counter(frozenset(Counter(own).items()) for own in varied)


@given(COLUMNS, COLUMNS)
def test_tables_have_one_hash_exactly_if_rows_and_columns_have_the_same_cells(one, other):
    assert (hashed(one) == hashed(other)) == (told(one) == told(other))


@given(COLUMNS, st.integers(0, 6), st.randoms(use_true_random=False), st.sampled_from((None, *TEXTS)))
def test_names_orders_and_constant_columns_change_nothing(columns, cut, chance, constant):
    rows = list(zip(*columns, strict=True))
    mixed = [list(own) for own in zip(*chance.sample(rows, len(rows)), strict=True)]
    chance.shuffle(mixed)
    assert hashed(mixed, "dcba", cut) == hashed(columns)
    if any(len(set(own)) > 1 for own in columns):
        assert hashed([*mixed, [constant] * len(rows)], "dcba", cut) == hashed(columns)


def test_of_no_rows_and_of_too_many_there_is_none():
    assert hashed([[]]) is None
    assert hashed([["a"] * 7]) is None


def test_long_cells_and_many_rows_are_hashed_in_parts_that_change_nothing():
    long = ["a" * 1_500_000, None, "b", "a" * 1_500_001] * 3
    numbers = [str(number) for number in range(12)]
    assert hashed([long, numbers], most_rows=12) == hashed([numbers[::-1], long[::-1]], "pq", 5, 12)
