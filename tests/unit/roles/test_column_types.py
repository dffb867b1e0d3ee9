"""Types proposed for columns as offices export them."""

from __future__ import annotations

import pytest

from app.domain.hierarchies.cell_formats import CellFormat
from app.services.datasets.ingest.column_types import propose_type, shape_of

GERMAN = [f"{1 + i % 28:02d}.{1 + i % 12:02d}.{1950 + i % 50}" for i in range(99)]


def test_one_stray_cell_does_not_turn_dates_into_texts_and_is_told_by_row_and_shape():
    found = propose_type([*GERMAN, "31.02.1975", None])
    assert (found.type, found.format) == ("date", CellFormat.DAY_FIRST_DOTS)
    assert (found.unreadable, found.unreadable_rows, found.unreadable_shapes) == (1, (100,), ("99.99.9999",))


@pytest.mark.parametrize(("strays", "type_"), [(5, "date"), (6, "categorical")])
def test_the_type_is_that_of_nineteen_in_twenty_cells(strays, type_):
    assert propose_type([*GERMAN[: 100 - strays], *["unknown"] * strays]).type == type_


@pytest.mark.parametrize(
    ("cells", "type_", "format_", "has_note"),
    [
        (["1975-05-10", "1980-12-31"], "date", None, False),
        (["1975-05-10 00:00:00", "1980-12-31 00:00:00"], "date", "yyyy-mm-dd hh:mm:ss", False),
        (["1975-05-10"] * 99 + ["1975-05-10T08:07:00Z"], "date", "yyyy-mm-dd hh:mm:ss", False),
        (["31.12.1980 8:07", "10.05.1975 23:59:30"], "date", "dd.mm.yyyy hh:mm:ss", False),
        (["31/12/1980 08:07"], "date", "dd/mm/yyyy hh:mm:ss", False),
        (["11/12/1980 08:07"], "date", "dd/mm/yyyy hh:mm:ss", True),
        (["1980-12-31 08:07+02:00", "1980-12-31 08:07Z"], "date", "yyyy-mm-dd hh:mm:ss", True),
        (["12/31/1980", "05/10/1975"], "date", "mm/dd/yyyy", False),
        (["31/12/1980", "10/05/1975"], "date", "dd/mm/yyyy", False),
        (["11/12/1980", "10/05/1975"], "date", "dd/mm/yyyy", True),
        (["31/12/1980"] + ["12/31/1980"] * 2 + ["11/12/1980"] * 97, "date", "mm/dd/yyyy", True),
        (["31-12-1980"] * 2 + ["12-31-1980"] + ["11-12-1980"] * 97, "date", "dd-mm-yyyy", True),
        (["31/12/1980"] * 97 + ["unknown"] * 3, "date", "dd/mm/yyyy", False),
        (["11.12.1980", "10.05.1975"], "date", "dd.mm.yyyy", False),
        (["1980/12/31"], "date", "yyyy/mm/dd", False),
        (["19801231", "19750510"], "date", "yyyymmdd", False),
        (["98012312", "87505101"], "number", None, False),
        (["17100", "12.5"], "number", None, False),
        (["17100", "17100.0"], "number", "1234.56", False),
        (["17100,00", "5"], "number", "1234,56", False),
        (["1.234,56", "12,00"], "number", "1.234,56", False),
        (["1,234.56", "12.00"], "number", "1,234.56", False),
        (["1'234.50", "12"], "number", "1'234.56", False),
        (["1\u202f234,50", "12"], "number", "1 234,56", False),
        (["1,234", "12,500"], "number", "1,234.56", True),
        (["1.234", "12.500"], "number", None, True),
        (["0.123", "1.500"], "number", None, False),
        (["02139", "10115"], "categorical", None, False),
        (["a", "1"], "categorical", None, False),
        ([None, None], "categorical", None, False),
    ],
)
def test_formats_are_told_and_what_cannot_be_told_is_said(cells, type_, format_, has_note):
    found = propose_type(cells)
    assert (found.type, found.format and found.format.value) == (type_, format_)
    assert bool(found.note) == has_note


def test_shapes_show_how_a_cell_is_built_and_not_what_it_says():
    assert shape_of("Ann Lee, 12 Mai") == "a a, 99 a"
    assert len(shape_of("-" * 500)) < 30


@pytest.mark.parametrize(
    ("numbers", "apart"),
    [
        ([-8, *range(0, 9)], ("-8",)),
        ([-9, -8, -1, *range(1, 9)], ("-9", "-8", "-1")),
        ([-99, *range(1, 9)], ("-99",)),
        ([-998, *range(1, 9)], ("-998",)),
        ([-1, *range(0, 9)], ()),
        ([-2, -1, *range(0, 9)], ()),
        ([-17, *range(0, 9)], ()),
        ([-8, 1, 2], ()),
        (list(range(-50, 50, 7)), ()),
    ],
)
def test_negative_codes_far_below_all_other_numbers_may_mean_missing_values(numbers, apart):
    found = propose_type([str(own) for own in numbers])
    assert all(own in found.note for own in apart)
    assert ("missing" in found.note) == bool(apart)
