"""One row per person against loops over each person's rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.tables.one_row import Kept, PersonRows, are_numbers, ranks

CELLS = st.sampled_from([None, "0", "1", "2.5", "-3", "007", "1000000.125", "0.1"])
ROWS = st.integers(1, 25).flatmap(
    lambda n: st.lists(st.tuples(st.integers(0, 4), CELLS, st.integers(0, 3)), min_size=n, max_size=n)
)


def coded(cells: Sequence[str | None]) -> tuple[tuple[str, ...], np.ndarray]:
    values = tuple(dict.fromkeys(cell for cell in cells if cell is not None))
    return values, np.array([-1 if cell is None else values.index(cell) for cell in cells], dtype=np.int32)


def made(how: Kept, rows: PersonRows, cells: Sequence[str | None]) -> tuple[list[str | None], int]:
    values, positions = coded(cells)
    ties = 0
    if how is Kept.MOST_FREQUENT:
        found, ties = rows.most_frequent(positions, len(values))
    elif how in (Kept.FIRST, Kept.LAST):
        found = rows.at_end(positions, is_last=how is Kept.LAST)
    else:
        values, found = rows.total(positions, values, is_mean=how is Kept.MEAN)
    return [None if own < 0 else values[own] for own in found.tolist()], ties


def by_loops(how: Kept, cells: Sequence[tuple[str, int]]) -> str | None:
    """What one person's present cells, each with its place in the order, come to."""
    if not cells:
        return None
    in_order = [cell for cell, _ in sorted(cells, key=lambda own: own[1])]
    match how:
        case Kept.FIRST:
            return in_order[0]
        case Kept.LAST:
            return in_order[-1]
        case Kept.MOST_FREQUENT:
            return Counter(cell for cell, _ in cells).most_common(1)[0][0]
    total = sum(Fraction(cell) for cell, _ in cells)
    if how is Kept.MEAN:
        total = round(total / len(cells), 6)
    text = f"{Decimal(total.numerator) / Decimal(total.denominator):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


@pytest.mark.parametrize("how", list(Kept))
@given(rows=ROWS, by_rank=st.booleans())
def test_every_way_is_what_loops_over_persons_find(how, rows, by_rank):
    numbers = np.array([person for person, _, _ in rows], dtype=np.int32)
    order = np.array([rank for _, _, rank in rows], dtype=np.int32) if by_rank else None
    found, ties = made(how, PersonRows.of(numbers, order), [cell for _, cell, _ in rows])
    of_persons: dict[int, list[tuple[str, int]]] = {}
    for person, cell, rank in rows:
        own = of_persons.setdefault(person, [])
        if cell is not None:
            own.append((cell, rank if by_rank else 0))
    assert found == [by_loops(how, own) for own in of_persons.values()]
    if how is Kept.MOST_FREQUENT:
        counts = [Counter(cell for cell, _ in own).most_common() for own in of_persons.values()]
        assert ties == sum(len(own) > 1 and own[0][1] == own[1][1] for own in counts)


def test_persons_are_in_the_order_of_their_first_rows():
    rows = PersonRows.of(np.array([3, 4, 3, 0, 5], dtype=np.int32), None)
    assert (rows.numbers.tolist(), rows.first.tolist()) == ([0, 1, 0, 2, 3], [0, 1, 3, 4])


@pytest.mark.parametrize(
    ("cells", "how", "right"),
    [
        (["0.1", "0.2"], Kept.SUM, "0.3"),  # which doubles do not give
        (["9" * 30, "1"], Kept.SUM, "1" + "0" * 30),  # which 64 bits do not hold
        (["9" + "0" * 18] * 2, Kept.SUM, "18" + "0" * 18),  # each alone they do
        (["9" * 30, "1"], Kept.MEAN, "5" + "0" * 29),
        (["1", "1", "2"], Kept.MEAN, "1.333333"),
        (["0.000001", "0.000002"], Kept.MEAN, "0.000002"),  # half to even
        (["0.000002", "0.000003"], Kept.MEAN, "0.000002"),
        (["-0.000001", "-0.000002"], Kept.MEAN, "-0.000002"),
        (["0.00000001", "0.00000003"], Kept.MEAN, "0.00000002"),  # as many digits as the cells have
        (["-0.0", "0"], Kept.SUM, "0"),
    ],
)
def test_sums_are_exact_and_means_are_rounded_as_said(cells, how, right):
    assert made(how, PersonRows.of(np.zeros(len(cells), dtype=np.int32), None), cells) == ([right], 0)


def test_numbers_that_cannot_be_added_are_none():
    texts = ["1e3", "1,5", " 1", "", "NaN", "9" * 31, "0." + "1" * 31, ".5", "١"]
    assert not are_numbers(texts).any()
    assert are_numbers(["0", "-1.50", "+3", "9" * 30 + "." + "9" * 30]).all()


def test_rows_that_are_equal_in_the_order_stay_in_that_of_the_table():
    positions, ranks_of_rows = np.arange(3000, dtype=np.int32), np.arange(3000, dtype=np.int32) % 2
    rows = PersonRows.of(np.zeros(3000, dtype=np.int32), ranks_of_rows)
    assert [rows.at_end(positions, is_last=last).tolist() for last in (False, True)] == [[0], [2999]]
    assert rows.order.tolist() == [*range(0, 3000, 2), *range(1, 3000, 2)]


def test_order_is_by_value_and_by_time():
    assert ranks(["10", "9", "9.0", "-1"]).tolist() == [2, 1, 1, 0]
    assert ranks(["2026-01-31", "2026-01-05 13:30", "2026-01-31T00:00"]).tolist() == [1, 0, 1]
    assert ranks(["2026-02-30", "2026-02-03", "31.01.2026", "5"]).tolist() == [-1, 0, -1, -1]
