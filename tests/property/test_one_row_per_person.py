"""One row per person against loops over each person's rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import InvalidInput
from app.services.datasets.one_row_uploads import Kept, OneRowPerPerson, one_row_table
from app.services.datasets.text_columns import TextColumn
from app.services.resources import Kind, Stored
from tests.oracles.effort import examples

CELLS = st.sampled_from([None, "0", "1", "2.5", "-3", "007", "1000000.125", "0.1"])
ROWS = st.integers(1, 25).flatmap(
    lambda n: st.lists(st.tuples(st.integers(0, 4), CELLS, st.integers(0, 3)), min_size=n, max_size=n)
)


def coded(cells: Sequence[str | None]) -> TextColumn:
    values = tuple(dict.fromkeys(cell for cell in cells if cell is not None))
    place = {value: own for own, value in enumerate(values)} | {None: -1}
    return TextColumn(values, np.array([place[cell] for cell in cells], dtype=np.int32))


def made(
    how: Kept,
    cells: Sequence[str | None],
    persons: Sequence[int] | None = None,
    order: Sequence[str] | None = None,
) -> list[str | None]:
    """What is kept of each person's cells, all being one person's if none are named."""
    table = {"cell": coded(cells), "pid": coded([f"p{own}" for own in persons or [0] * len(cells)])}
    if order is not None:
        table["rank"] = coded(order)
    upload = Stored("0", Kind.UPLOAD, "visits", "", datetime.now(UTC), {"columns": tuple(table)})
    asked = OneRowPerPerson("people", "pid", {"cell": how}, None if order is None else "rank")
    found, _ = one_row_table(upload, asked, table)
    assert found.column_names == list(table)
    assert found["pid"].to_pylist() == list(dict.fromkeys(table["pid"].cells()))
    texts: list[str | None] = found["cell"].to_pylist()
    return texts


def by_loops(how: Kept, cells: Sequence[tuple[str, int]]) -> str | None:
    """What one person's present cells, each with its place in the order, come to."""
    if not cells:
        return None
    in_order = [cell for cell, _ in sorted(cells, key=lambda own: own[1])]
    match how:
        case "first":
            return in_order[0]
        case "last":
            return in_order[-1]
        case "most_frequent":
            return Counter(cell for cell, _ in cells).most_common(1)[0][0]
    total = sum(Fraction(cell) for cell, _ in cells)
    if how == "mean":
        total = round(total / len(cells), 6)
    text = f"{Decimal(total.numerator) / Decimal(total.denominator):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


@given(rows=ROWS, by_rank=st.booleans())
@settings(deadline=None, max_examples=examples(300))
def test_every_way_is_what_loops_over_persons_find(rows, by_rank):
    order = [str(rank) for _, _, rank in rows] if by_rank else None
    of_persons: dict[int, list[tuple[str, int]]] = {}
    for person, cell, rank in rows:
        own = of_persons.setdefault(person, [])
        if cell is not None:
            own.append((cell, rank if by_rank else 0))
    for how in get_args(Kept):
        found = made(how, [cell for _, cell, _ in rows], [person for person, _, _ in rows], order)
        assert found == [by_loops(how, own) for own in of_persons.values()], how


@pytest.mark.parametrize(
    ("cells", "how", "right"),
    [
        (["0.1", "0.2"], "sum", "0.3"),  # which doubles do not give
        (["9" * 30, "1"], "sum", "1" + "0" * 30),  # which 64 bits do not hold
        (["9" + "0" * 18] * 2, "sum", "18" + "0" * 18),  # each alone they do
        (["9" * 30, "0." + "0" * 29 + "1"], "sum", "9" * 30 + "." + "0" * 29 + "1"),
        (["9" * 30, "1"], "mean", "5" + "0" * 29),
        (["1", "1", "2"], "mean", "1.333333"),
        (["0.000001", "0.000002"], "mean", "0.000002"),  # half to even
        (["0.000002", "0.000003"], "mean", "0.000002"),
        (["-0.000001", "-0.000002"], "mean", "-0.000002"),
        (["0.00000001", "0.00000003"], "mean", "0.00000002"),  # as many digits as the cells have
        (["-0.0", "0"], "sum", "0"),
        (["-0.0"], "sum", "0"),
        (["007"], "sum", "7"),
    ],
)
def test_sums_are_exact_and_means_are_rounded_as_said(cells, how, right):
    assert made(how, cells) == [right]


@pytest.mark.parametrize("how", ["sum", "mean"])
@pytest.mark.parametrize(
    "cell", ["1e3", "1,5", " 1", "", "NaN", "Infinity", "9" * 31, "0." + "1" * 31, ".5", "١"]
)
def test_numbers_that_cannot_be_added_are_refused_with_their_row(cell, how):
    with pytest.raises(InvalidInput, match="in row 2"):
        made(how, ["1", cell])


def test_rows_that_are_equal_in_the_order_stay_in_that_of_the_table():
    cells, order = [str(row) for row in range(3000)], [str(row % 2) for row in range(3000)]
    assert [made(how, cells, order=order) for how in ("first", "last")] == [["0"], ["2999"]]


@pytest.mark.parametrize(
    ("order", "first", "last"),
    [
        (["10", "9", "9.0", "-1"], "3", "0"),
        (["10", "9", "9.0"], "1", "0"),
        (["2026-01-31", "2026-01-05 13:30", "2026-01-31T00:00"], "1", "2"),
        (["2026-01-31", "2026-01-05 13:30", "2026-01-31T00:00+02:00"], "1", "0"),
        (["1066-10-14", "0844-07-02", "9999-12-31"], "1", "2"),
    ],
)
def test_order_is_by_value_and_by_time(order, first, last):
    cells = [str(row) for row in range(len(order))]
    assert [made(how, cells, order=order) for how in ("first", "last")] == [[first], [last]]


@pytest.mark.parametrize("text", ["2026-02-30", "31.01.2026", "5", "now", "today", "NaT", ""])
def test_what_is_neither_number_nor_date_orders_nothing(text):
    with pytest.raises(InvalidInput, match="in row 2"):
        made("first", ["a", "b"], order=["2026-02-03", text])
