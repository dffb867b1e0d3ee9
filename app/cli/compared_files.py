"""Files of an original table, a synthetic one and records held out, as codes over one set of columns."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

import numpy as np

from app.cli.journey import format_of
from app.cli.table_pieces import proposed_dialect
from app.domain.analyses.compared_tables import ComparedColumn, ComparedTables
from app.domain.arrays import Ints
from app.domain.errors import Fault, InvalidInput, counted, refuse
from privacy_risk.doubts import require_decided

LEAST_SYNTHETIC: Final = 50
_READ: Final = ("csv", "parquet")

Columns = dict[str, list[str | None]]
"""Name → the cells as texts; None is a missing one."""


def compared_tables(
    original: Path,
    synthetic: Path,
    holdout: Path | None = None,
    *,
    missing: Sequence[str] = (),
    categorical: Sequence[str] = (),
    dialect: Mapping[str, str] = MappingProxyType({}),
) -> ComparedTables:
    """The tables of files; a column is of numbers if all known values of the original are.

    Texts that are ``missing`` mean a missing value, besides empty cells. Columns that are ``categorical`` are
    no numbers, whatever they look like. The ``dialect`` of files of text is proposed where it is not said.

    Raises
    ------
    InvalidInput
        A table without rows, with columns of one name or other columns or types than the original; fewer
        than 50 synthetic rows; rows held out that are rows of the original.
    """
    paths = {"original": original, "synthetic": synthetic}
    if holdout is not None:
        paths["holdout"] = holdout
    read = {name: _cells(path, frozenset(("", *missing)), dialect) for name, path in paths.items()}
    known = read["original"]
    _require_same_columns(known, {name: own for name, own in read.items() if name != "original"})
    refuse(
        [
            Fault("--categorical", "unknown-attribute", f"{name!r} is not a column of the original.",
                  "Name one of its columns.", tuple(known))
            for name in categorical
            if name not in known
        ]
    )  # fmt: skip
    rows = len(next(iter(read["synthetic"].values())))
    if rows < LEAST_SYNTHETIC:
        raise InvalidInput.of(
            "synthetic", "too-few-records",
            f"The synthetic table has {counted(rows, 'row')}; judging needs at least {LEAST_SYNTHETIC}.",
            "Judge a larger synthetic table.",
        )  # fmt: skip
    columns, codes, faults = [], [], []
    for name in known:
        cells = {table: own[name] for table, own in read.items()}
        is_numeric = name not in categorical and _are_numbers(known[name])
        if is_numeric:
            faults += [_other_type(table, name) for table, own in cells.items() if not _are_numbers(own, 0)]
        column, own_codes = _coded(name, list(cells.values()), is_numeric=is_numeric and not faults)
        columns.append(column)
        codes.append(own_codes)
    refuse(faults)
    tables = [np.stack(own, axis=1) for own in zip(*codes, strict=True)]
    compared = ComparedTables(tuple(columns), tables[0], tables[1], tables[2] if len(tables) > 2 else None)
    _require_held_out(compared)
    return compared


def _cells(path: Path, missing: frozenset[str], said: Mapping[str, str]) -> Columns:
    format_ = format_of(path)
    if not path.is_file():
        raise InvalidInput.of(str(path), "unreadable", f"There is no file {path}.")
    if format_ not in _READ:
        raise InvalidInput.of(
            str(path), "unknown-format", f"Files of the format {format_} are not compared.",
            "Save it as CSV or Parquet.",
        )  # fmt: skip
    if path.stat().st_size == 0:
        raise InvalidInput.of(str(path), "empty", "The file is empty.", "Give a table with rows.")
    if format_ == "parquet":
        import pyarrow.parquet as pq

        table = pq.read_table(path)
        names: list[str] = list(table.column_names)
        columns = [[None if own is None else str(own) for own in part.to_pylist()] for part in table.columns]
    else:
        proposal = proposed_dialect(path, format_, {**said, "header": True})
        require_decided(map(vars, proposal.doubts))
        dialect = proposal.dialect
        quoting = {"quoting": csv.QUOTE_NONE} if dialect.quote is None else {"quotechar": dialect.quote}
        with path.open(encoding=dialect.encoding, newline="") as file:
            reader = csv.reader(file, delimiter=dialect.delimiter, **quoting)
            names, rows = [own.strip().removeprefix("\ufeff") for own in next(reader)], []
            for number, row in enumerate(reader, start=2):
                if row and len(row) != len(names):
                    raise InvalidInput.of(
                        str(path), "ragged",
                        f"Row {number} has {counted(len(row), 'cell')}, the header {len(names)}.",
                        "Give every row a cell for each column.",
                    )  # fmt: skip
                if row:
                    rows.append(row)
        columns = [list(own) for own in zip(*rows, strict=True)] or [[] for _ in names]
    twice = [name for name, number in Counter(names).items() if number > 1]
    if twice:
        raise InvalidInput.of(
            str(path), "duplicate-columns", f"Several columns are called {twice[0]!r}.",
            "Rename them, or leave all but one out.",
        )  # fmt: skip
    if not columns or not columns[0]:
        raise InvalidInput.of(str(path), "empty", "The table has no rows.", "Give a table with rows.")
    return {
        name: [None if cell is None or cell in missing else cell for cell in own]
        for name, own in zip(names, columns, strict=True)
    }


def _require_same_columns(known: Columns, others: dict[str, Columns]) -> None:
    faults = []
    for table, columns in others.items():
        lacking = [name for name in known if name not in columns]
        further = [name for name in columns if name not in known]
        if lacking or further:
            parts = [f"lacks {', '.join(map(repr, lacking))}"] if lacking else []
            parts += [f"has {', '.join(map(repr, further))}, which the original lacks"] if further else []
            message = f"The {table} table {' and '.join(parts)}."
            remedy = "Give all tables the same columns; leave out those that only one has."
            faults.append(Fault(table, "other-columns", message, remedy))
    refuse(faults)


def _are_numbers(cells: Sequence[str | None], least: int = 1) -> bool:
    """Whether all known cells, at least so many, are finite numbers."""
    known = {cell for cell in cells if cell is not None}
    try:
        return len(known) >= least and all(math.isfinite(float(own)) for own in known)
    except ValueError:
        return False


def _other_type(table: str, name: str) -> Fault:
    return Fault(
        f"{table}/{name}", "other-type",
        f"The original has numbers in {name!r}, the {table} table has texts there.",
        f"Write numbers in both, name the text that means a missing value by --missing-marker, or say "
        f"--categorical {name}.",
    )  # fmt: skip


def _coded(
    name: str, tables: Sequence[Sequence[str | None]], *, is_numeric: bool
) -> tuple[ComparedColumn, list[Ints]]:
    """Codes by first occurrence; equal numbers have one code however they are written."""
    codes: dict[str | float | None, int] = {None: 0}
    texts = [""]
    found = []
    for cells in tables:
        own = np.empty(len(cells), dtype=np.int32)
        for i, cell in enumerate(cells):
            key = float(cell) if is_numeric and cell is not None else cell
            code = codes.setdefault(key, len(codes))
            if code == len(texts):
                texts.append(cell or "")
            own[i] = code
        found.append(own)
    numbers = np.array([math.nan, *list(codes)[1:]], dtype=np.float64) if is_numeric else None
    return ComparedColumn(name, texts, numbers), found


def _require_held_out(tables: ComparedTables) -> None:
    """Refuse records of which most equal a record of the original that no other one there equals.

    Of independent records at most a share of about λ·e^−λ ≤ 0.37 is expected to do so, whatever the values.
    """
    if tables.holdout is None:
        return
    times = Counter(own.tobytes() for own in np.ascontiguousarray(tables.original))
    held = [times[own.tobytes()] for own in np.ascontiguousarray(tables.holdout)]
    same = sum(own == 1 for own in held)
    if 2 * same > len(held):
        raise InvalidInput.of(
            "holdout", "overlapping",
            f"{same:,} of {len(held):,} rows held out equal one row of the original: they were not held out.",
            "Give records of the same population from which the synthetic table was not made.",
        )  # fmt: skip
