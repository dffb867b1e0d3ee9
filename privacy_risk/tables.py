"""Tables of pandas, polars and pyarrow as the service takes them: texts, times as ``2026-01-31 22:30:00``.

No library is loaded but the one that the table comes from, and pyarrow for all but pandas.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from privacy_risk.arguments import InvalidArgument, WrongType, type_name
from privacy_risk.frames import frame_of
from privacy_risk.parquet_reading import arrow_table
from privacy_risk.sources import Source

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Library = Literal["pandas", "polars", "pyarrow"]
_WHOLE: Final = re.compile(r"0|-?[1-9]\d{0,14}")
_WHOLE_BELOW: Final = 2**53
"""Whole numbers below this are floats exactly."""
_CLOCK_AND_ZONE: Final = r"(.{10} [\d:.]+)(.*)"
_MIDNIGHT: Final = r".{10} 00:00:00(Z|[+-].*)?"
"""Moments of which all are so are days."""


@dataclass(frozen=True)
class Table:
    """A table as it is sent: CSV with a header, in UTF-8, its missing cells empty.

    ``notes`` are sentences on what was left aside. ``library`` is whose table it was. ``upload`` is its name
    on the service, if it was made there. ``missing`` are the texts that mean a missing cell; ``file`` is how
    the file that it was read from is to be read, as the schema of a policy has it.
    """

    content: bytes
    columns: tuple[str, ...]
    rows: int
    notes: tuple[str, ...]
    library: Library
    upload: str | None = None
    missing: tuple[str, ...] = ("",)
    file: Mapping[str, Any] = field(default_factory=dict)

    def cells(self) -> Iterator[list[str]]:
        """The rows as texts, without the header."""
        reader = csv.reader(io.StringIO(self.content.decode(), newline=""))
        next(reader)
        return reader

    def range_of(self, column: str, written: str | None) -> tuple[float, float] | None:
        """The least and the greatest number of a column; None if a cell is none.

        ``written`` is the format that the service proposes, such as ``1.234,56``; None for plain numbers.
        """
        place = self.columns.index(column)
        try:
            numbers = [_number(row[place], written) for row in self.cells() if row[place] not in self.missing]
        except ValueError:
            return None
        return (min(numbers), max(numbers)) if numbers else None

    def rows_alone(self, column: str, person: str | None) -> int:
        """Rows with a value of a column that the rows of no other person have."""
        place, whose = self.columns.index(column), None if person is None else self.columns.index(person)
        owners: dict[str, str | None] = {}  # None: several
        rows: Counter[str] = Counter()
        for number, row in enumerate(self.cells()):
            value, owner = row[place], str(number) if whose is None else row[whose]
            rows[value] += 1
            if owners.setdefault(value, owner) != owner:
                owners[value] = None
        return sum(
            rows[own] for own, owner in owners.items() if owner is not None and own not in self.missing
        )

    def is_of_whole_numbers(self, column: str) -> bool:
        """Whether all cells that are not empty are whole numbers, each in the one way to write it."""
        place = self.columns.index(column)
        return all(_WHOLE.fullmatch(row[place]) for row in self.cells() if row[place])

    def repeats(self, column: str) -> bool:
        """Whether two rows have the same text in a column that is not missing."""
        place = self.columns.index(column)
        known = [row[place] for row in self.cells() if row[place] not in self.missing]
        return len(set(known)) < len(known)

    def given_back(self, parquet: bytes) -> Any:  # noqa: ANN401 - a table of the library
        """A table in Parquet as one of the library that this one came from."""
        if self.library == "pandas":
            return frame_of(parquet)
        if self.library == "polars":
            return sys.modules["polars"].read_parquet(io.BytesIO(parquet))
        return arrow_table(parquet)


def _number(text: str, written: str | None) -> float:
    """What a cell in this format means; ValueError if it is no number."""
    if written is None:
        return float(text)
    # Each format ends with it and two digits, but for a currency; before them it separates thousands.
    decimal = written.strip("$£€ ")[-3]
    left_out = set(" .,'’$£€\u00a0\u202f") - {decimal}
    return float("".join(own for own in text if own not in left_out).replace(decimal, "."))


def table_of(given: object, argument: str, missing: Sequence[str] = ()) -> Table:
    """The table that an argument is; WrongType if it is none, InvalidArgument if it cannot be read.

    Texts that are ``missing`` mean that, beside cells that are.
    """
    if missing:
        return replace(table_of(given, argument), missing=("", *missing))
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(given, pandas.DataFrame):
        return _of_pandas(given, argument)
    if isinstance(given, Source):
        import pyarrow as pa

        return _of_table(pa.Table.from_batches(given.batches()), argument, "pyarrow")
    if not hasattr(given, "__arrow_c_stream__"):
        raise WrongType(
            argument,
            f"A {type_name(given)} is not a table.",
            "Give a DataFrame of pandas or polars, a table of pyarrow, or a query.",
        )
    return _of_arrow(given, argument)


def _check(argument: str, names: Sequence[Hashable], rows: int) -> tuple[str, ...]:
    """The names of the columns; InvalidArgument for a table that has no rows or no proper names."""
    if not names or not rows:
        raise InvalidArgument(
            argument, "The table has no " + ("rows." if names else "columns."), "Give one with both."
        )
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise InvalidArgument(
                argument,
                f"The column name {name!r} is not a text.",
                "Name every column: df.columns = [...].",
            )
    twice = [name for name, number in Counter(names).items() if number > 1]
    if twice:
        raise InvalidArgument(
            argument, f"Several columns are called {twice[0]!r}.", "Rename them, or leave all but one out."
        )
    return tuple(str(name) for name in names)


def _of_pandas(frame: pd.DataFrame, argument: str) -> Table:
    if frame.columns.nlevels > 1:
        raise InvalidArgument(
            argument,
            "The columns have several levels of names (MultiIndex).",
            "Make them one: df.columns = ['_'.join(map(str, c)) for c in df.columns].",
        )
    names = _check(argument, list(frame.columns), len(frame))
    notes = []
    if type(frame.index).__name__ != "RangeIndex":
        notes.append("The index is left aside: df.reset_index() makes it a column.")
    for name in names:
        if sys.modules["pandas"].api.types.infer_dtype(frame[name].head(100), skipna=True) == "bytes":
            raise _of_bytes(name, argument)
    written = {name: _pandas_column(frame[name]) for name in names}
    content = type(frame)(written).to_csv(index=False, lineterminator="\n").encode()
    return Table(content, names, len(frame), tuple(notes), "pandas")


def _pandas_column(column: pd.Series[Any]) -> pd.Series[Any]:
    """The column with texts for points in time, and whole numbers without a decimal point."""
    pandas = sys.modules["pandas"]
    types = pandas.api.types
    if types.is_datetime64_any_dtype(column.dtype):
        local = column.dt.tz_localize(None)
        clock = local.astype(str).where(column.notna())
        if column.dt.tz is None:
            return _moments(clock)
        zone = column.dt.strftime("%z").str.replace(r"(..)$", r":\1", regex=True)
        return _moments(clock, zone)
    if types.is_object_dtype(column.dtype) and types.infer_dtype(column, skipna=True) in (
        "datetime",
        "datetime64",
    ):
        # Each by itself, for they may be of several zones.
        parts = column.map(lambda own: own.isoformat(" "), na_action="ignore").str.extract(_CLOCK_AND_ZONE)
        return _moments(parts[0], parts[1])
    if types.is_float_dtype(column.dtype):
        present = column.dropna()
        if ((present % 1 == 0) & (present.abs() < _WHOLE_BELOW)).all():
            return column.astype("Int64")
    return column


def _moments(clock: pd.Series[Any], zone: pd.Series[Any] | None = None) -> pd.Series[Any]:
    """The texts of points in time, without zeros that end parts of a second; days if that is all they are."""
    if clock.str.contains(".", regex=False).any():
        clock = clock.str.replace(r"(\.\d*?)0+$", r"\1", regex=True).str.rstrip(".")
    days = clock.str[:10]
    texts = clock if zone is None else clock + zone.replace("+00:00", "Z")
    is_of_days = clock.str[10:].dropna().isin(["", " 00:00:00"]).all()
    return days if is_of_days and days.nunique() == texts.nunique() else texts


def _of_arrow(given: object, argument: str) -> Table:
    import pyarrow as pa

    try:
        # Not by pa.table, which loads pandas to see whether it is a frame of that.
        table = pa.RecordBatchReader.from_stream(given).read_all()
    except (TypeError, pa.ArrowException) as error:
        raise WrongType(
            argument, f"A {type_name(given)} is not a table of columns.", "Give a DataFrame or a table."
        ) from error
    library: Library = "polars" if type(given).__module__.startswith("polars.") else "pyarrow"
    return _of_table(table, argument, library)


def _of_table(table: pa.Table, argument: str, library: Library) -> Table:
    import pyarrow as pa
    import pyarrow.csv

    names = _check(argument, table.column_names, table.num_rows)
    columns = [_arrow_column(name, table.column(name), argument) for name in names]
    if len(columns) == 1:
        # A missing cell alone in its row has to be written as an empty text: an empty line is no row.
        columns = [columns[0].cast(pa.large_string()).fill_null("")]
    sink = io.BytesIO()
    pyarrow.csv.write_csv(pa.table(columns, names=list(names)), sink)
    return Table(sink.getvalue(), names, table.num_rows, (), library)


def _arrow_column(name: str, column: Any, argument: str) -> Any:  # noqa: ANN401 - of pyarrow
    """The column with texts for points in time, and whole numbers without a decimal point."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        # Dictionaries of some kinds of text are not decoded by a cast.
        chunks = [own.dictionary.cast(pa.large_string()).take(own.indices) for own in column.chunks]
        return pa.chunked_array(chunks, pa.large_string())
    kind = column.type
    if pa.types.is_nested(kind):
        raise InvalidArgument(
            argument, f"The cells of {name!r} hold several values ({kind}).", "Give one value per cell."
        )
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        raise _of_bytes(name, argument)
    if pa.types.is_timestamp(kind):
        texts = pc.replace_substring_regex(
            column.cast(pa.large_string()), r"\.(\d*?)0+(Z|[+-]\d+)?$", r".\1\2"
        )
        texts = pc.replace_substring_regex(texts, r"\.(Z|[+-]\d+)?$", r"\1")
        texts = pc.replace_substring_regex(texts, r"([+-]\d{2})(\d{2})$", r"\1:\2")
        days = pc.utf8_slice_codeunits(texts, 0, 10)
        is_of_days = pc.all(pc.match_substring_regex(texts, f"^{_MIDNIGHT}$")).as_py() is not False
        merges_none = pc.count_distinct(days).as_py() == pc.count_distinct(texts).as_py()
        return days if is_of_days and merges_none else texts
    if pa.types.is_floating(kind):
        whole = pc.all(pc.equal(pc.floor(column), column)).as_py() is not False
        extremes = pc.min_max(pc.abs(column)).as_py()["max"]
        return column.cast(pa.int64()) if whole and (extremes or 0) < _WHOLE_BELOW else column
    if pa.types.is_integer(kind) or pa.types.is_date(kind) or pa.types.is_boolean(kind):
        return column
    return column.cast(pa.large_string())


def _of_bytes(name: str, argument: str) -> InvalidArgument:
    return InvalidArgument(
        argument,
        f"The cells of {name!r} are bytes, which say no text.",
        "Decode them, or leave the column out.",
    )
