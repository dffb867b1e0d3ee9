"""Tables of other libraries as the service takes them."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from privacy_risk import InvalidArgument, WrongType
from privacy_risk.tables import table_of


def text_of(given):
    return table_of(given, "frame").content.decode().replace('"', "").splitlines()


def moments(*texts):
    return [pd.Timestamp(text) for text in texts]


@pytest.mark.parametrize(
    ("cells", "written"),
    [
        ([1.0, None, 17100.0], ["1", "", "17100"]),
        ([1.5, None, 2.0], ["1.5", "", "2.0"]),
        ([2.0**60, 1.0, 1.0], [f"{2.0**60}", "1.0", "1.0"]),
        (["a", None, "c"], ["a", "", "c"]),
        (["02139", "00501", "x"], ["02139", "00501", "x"]),
        (moments("2026-01-31", "1970-12-01", "NaT"), ["2026-01-31", "1970-12-01", ""]),
        (
            [pd.Timestamp("2026-01-31 23:30", tz="Europe/Berlin"), pd.NaT, pd.NaT],
            ["2026-01-31 23:30:00+01:00", "", ""],
        ),
        (
            [pd.Timestamp("2026-01-31", tz="Europe/Berlin"), pd.Timestamp("2026-07-31", tz="Europe/Berlin")],
            ["2026-01-31", "2026-07-31"],
        ),
        (moments("2026-01-31 08:07", "2026-01-31"), ["2026-01-31 08:07:00", "2026-01-31 00:00:00"]),
        (
            moments("2026-01-31 08:07:00.5", "2026-01-31 08:07:00.000000001", "2026-01-31 08:07"),
            ["2026-01-31 08:07:00.5", "2026-01-31 08:07:00.000000001", "2026-01-31 08:07:00"],
        ),
        (
            # In the night when summer time ends, an hour is there twice.
            pd.to_datetime(["2024-10-27 00:30", "2024-10-27 01:30"], utc=True).tz_convert("Europe/Berlin"),
            ["2024-10-27 02:30:00+02:00", "2024-10-27 02:30:00+01:00"],
        ),
        (
            pd.Series(
                [
                    dt.datetime(2026, 1, 31, 8, tzinfo=dt.timezone(dt.timedelta(hours=2))),
                    dt.datetime(2026, 1, 31, 6, tzinfo=dt.UTC),
                    None,
                ],
                dtype=object,
            ),
            ["2026-01-31 08:00:00+02:00", "2026-01-31 06:00:00Z", ""],
        ),
        (
            pd.Series(moments("2026-01-31", "1970-12-01", "NaT"), dtype=object),
            ["2026-01-31", "1970-12-01", ""],
        ),
        ([dt.date(2026, 1, 31), None, dt.date(1969, 1, 1)], ["2026-01-31", "", "1969-01-01"]),
        (pd.Categorical(["a", None, "b"]), ["a", "", "b"]),
        (pd.array([1, None, 3], dtype="Int64"), ["1", "", "3"]),
    ],
)
def test_cells_of_pandas_become_the_texts_that_people_mean(cells, written):
    frame = pd.DataFrame({"x": cells, "y": ["end"] * len(written)})
    assert text_of(frame) == ["x,y", *(f"{cell},end" for cell in written)]


@pytest.mark.parametrize(
    ("column", "written"),
    [
        (pa.array([1.0, None, 17100.0]), ["1", "", "17100"]),
        (pa.array([1.5, None, 2.0]), ["1.5", "", "2"]),
        (pa.array(["a", None, "c"]).dictionary_encode(), ["a", "", "c"]),
        (pa.array(["a", None, "c"], type=pa.string_view()), ["a", "", "c"]),
        (
            pa.DictionaryArray.from_arrays([1, None, 0], pa.array(["c", "a"], type=pa.string_view())),
            ["a", "", "c"],
        ),
        (
            pa.array([*moments("2026-01-31", "1970-12-01"), None], pa.timestamp("us")),
            ["2026-01-31", "1970-12-01", ""],
        ),
        (pa.array([dt.date(2026, 1, 31), None, dt.date(1969, 1, 1)]), ["2026-01-31", "", "1969-01-01"]),
        (
            pa.array([dt.datetime(2026, 1, 31, 22, 30), None, None], pa.timestamp("us", tz="UTC")).cast(
                pa.timestamp("us", tz="Europe/Berlin")
            ),
            ["2026-01-31 23:30:00+01:00", "", ""],
        ),
        (
            pa.array([dt.datetime(2026, 1, 31, 8, 7, 0, 500000), dt.datetime(2026, 1, 31, 8, 7)]),
            ["2026-01-31 08:07:00.5", "2026-01-31 08:07:00"],
        ),
        (
            pa.array([dt.datetime(2026, 1, 31, 8, 7, 10), None], pa.timestamp("ns", tz="UTC")),
            ["2026-01-31 08:07:10Z", ""],
        ),
    ],
)
def test_columns_of_arrow_become_the_same_texts(column, written):
    assert text_of(pa.table({"x": column, "y": ["end"] * len(written)})) == [
        "x,y",
        *(f"{cell},end" for cell in written),
    ]


@pytest.mark.parametrize("given", [pd.DataFrame({"x": [1.0, None]}), pa.table({"x": [1.0, None]})])
def test_a_missing_cell_alone_in_its_row_is_a_row(given):
    table = table_of(given, "frame")
    assert (list(table.cells()), table.range_of("x", None)) == ([["1"], [""]], (1.0, 1.0))
    assert "" not in table.content.decode().splitlines()


def test_whatever_exports_an_arrow_stream_is_taken():
    table = table_of(duckdb.sql("select 1 as a, date '2026-01-31' as b"), "frame")
    assert (table.columns, table.rows, table.library) == (("a", "b"), 1, "pyarrow")
    assert text_of(duckdb.sql("select 1 as a, date '2026-01-31' as b")) == ["a,b", "1,2026-01-31"]


def test_what_is_left_aside_is_told():
    frame = pd.DataFrame({"x": moments("2026-01-31 10:00", "2026-01-30")}, index=["p", "q"])
    told = ("The index is left aside: df.reset_index() makes it a column.",)
    assert table_of(frame, "frame").notes == told
    assert table_of(pd.DataFrame({"x": moments("2026-01-31")}), "frame").notes == ()


@pytest.mark.parametrize(
    ("given", "error", "fault"),
    [
        (pd.DataFrame(), InvalidArgument, "no columns"),
        (pd.DataFrame({"a": []}), InvalidArgument, "no rows"),
        (pa.table({"a": pa.array([], pa.string())}), InvalidArgument, "no rows"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), InvalidArgument, "Several columns are called 'a'"),
        (pa.table([[1], [2]], names=["a", "a"]), InvalidArgument, "Several columns are called 'a'"),
        (pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])), InvalidArgument, "MultiIndex"),
        (pd.DataFrame([[1]]), InvalidArgument, "column name 0 is not a text"),
        (pa.table({"a": [[1, 2]]}), InvalidArgument, "cells of 'a' hold several values"),
        ([{"a": 1}], WrongType, "A list is not a table"),
        (np.zeros((2, 2)), WrongType, "A numpy.ndarray is not a table"),
        ("table.csv", WrongType, "A str is not a table"),
        (None, WrongType, "A NoneType is not a table"),
    ],
)  # fmt: skip
def test_what_is_no_table_is_refused_by_the_argument_with_a_remedy(given, error, fault):
    with pytest.raises(error) as raised:
        table_of(given, "original")
    assert str(raised.value).startswith("original: ")
    assert fault in raised.value.fault
    assert raised.value.remedy
    assert isinstance(raised.value, ValueError if error is InvalidArgument else TypeError)


def test_tables_are_given_back_in_the_library_that_they_came_in():
    sink = pa.BufferOutputStream()
    pa.parquet.write_table(pa.table({"a": ["x", "*"]}), sink)
    parquet = sink.getvalue().to_pybytes()
    in_pandas = table_of(pd.DataFrame({"a": ["x"]}), "frame").given_back(parquet)
    in_arrow = table_of(pa.table({"a": ["x"]}), "frame").given_back(parquet)
    assert isinstance(in_pandas, pd.DataFrame)
    assert isinstance(in_arrow, pa.Table)
    assert list(in_pandas["a"]) == in_arrow["a"].to_pylist() == ["x", "*"]


def test_neither_the_functions_nor_a_library_of_tables_are_loaded_by_the_client():
    code = (
        "import privacy_risk, sys; print({'pandas', 'pyarrow', 'yaml', 'app'} & {*sys.modules}); "
        "print(privacy_risk.gate.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\ngate\n"


def test_a_range_is_read_as_the_cells_are_written():
    table = table_of(pa.table({"x": ["1.234,50", "17,25", None]}), "frame")
    assert table.range_of("x", "1.234,56") == (17.25, 1234.5)
    assert table.range_of("x", None) is None
