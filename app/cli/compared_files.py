"""Files of an original table, a synthetic one and records held out, as codes over one set of columns."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from app.cli.journey import format_of
from app.cli.table_pieces import proposed_dialect, table_pieces
from app.domain.analyses.compared_tables import ComparedColumn, ComparedTables, require_held_out
from app.domain.arrays import Ints
from app.domain.errors import Fault, InvalidInput, counted, refuse
from app.services.datasets.ingest.faults import only_a_header
from app.services.datasets.ingest.pieces import read_piece
from app.services.datasets.text_columns import TextColumn, columns_of
from privacy_risk.doubts import require_decided

LEAST_SYNTHETIC: Final = 50

Columns = Mapping[str, TextColumn]


def compared_tables(
    original: Path,
    synthetic: Path,
    holdout: Path | None = None,
    *,
    categorical: Sequence[str] = (),
    dialect: Mapping[str, Any] = MappingProxyType({}),
) -> ComparedTables:
    """The tables of files; a column is of numbers if all known values of the original are.

    Columns that are ``categorical`` are no numbers, whatever they look like. What is not said of the
    ``dialect`` is proposed for each file; missing values are written in all as in the original.

    Raises
    ------
    InvalidInput
        What an upload is refused for; a table without rows, or with other columns or types than the
        original; fewer than 50 synthetic rows; rows held out that are rows of the original.
    """
    paths = {"synthetic": synthetic} | ({} if holdout is None else {"holdout": holdout})
    known, missing = _read(original, dialect)
    others = {name: _read(path, {**dialect, "missing": missing})[0] for name, path in paths.items()}
    _require_same_columns(known, others)
    refuse(
        [
            Fault("--categorical", "unknown-attribute", f"{name!r} is not a column of the original.",
                  "Name one of its columns.", tuple(known))
            for name in categorical
            if name not in known
        ]
    )  # fmt: skip
    rows = next(iter(others["synthetic"].values())).n_rows
    if rows < LEAST_SYNTHETIC:
        raise InvalidInput.of(
            "synthetic", "too-few-records",
            f"The synthetic table has {counted(rows, 'row')}; judging needs at least {LEAST_SYNTHETIC}.",
            "Judge a larger synthetic table.",
        )  # fmt: skip
    columns, codes, faults = [], [], []
    for name, own in known.items():
        is_numeric = name not in categorical and bool(own.values) and _are_numbers(own)
        if is_numeric:
            faults += [
                _other_type(table, name) for table, read in others.items() if not _are_numbers(read[name])
            ]
        cells = [own, *(read[name] for read in others.values())]
        column, own_codes = _coded(name, cells, is_numeric=is_numeric and not faults)
        columns.append(column)
        codes.append(own_codes)
    refuse(faults)
    tables = [np.stack(own, axis=1) for own in zip(*codes, strict=True)]
    compared = ComparedTables(tuple(columns), tables[0], tables[1], tables[2] if len(tables) > 2 else None)
    require_held_out(compared, "holdout")
    return compared


def texts_of(path: Path, dialect: Mapping[str, Any]) -> dict[str, list[str]]:
    """The cells of each column of a file, empty where a value is missing."""
    columns, _ = _read(path, dialect)
    return {name: [(*own.values, "")[i] for i in own.positions.tolist()] for name, own in columns.items()}


def _read(path: Path, said: Mapping[str, Any]) -> tuple[Columns, tuple[str, ...]]:
    """The columns of a file as the service would read it, and the texts that mean a missing value."""
    format_ = format_of(path)
    if not path.is_file():
        raise InvalidInput.of(str(path), "unreadable", f"There is no file {path}.")
    proposal = proposed_dialect(path, format_, {"header": True, **said})
    require_decided(map(vars, proposal.doubts))

    async def tables() -> list[Any]:
        async with aclosing(table_pieces(path, proposal.dialect)) as pieces:
            return [read_piece(own) async for own in pieces]

    try:
        columns = columns_of(asyncio.run(tables()), proposal.dialect)
        if not next(iter(columns.values())).n_rows:
            raise only_a_header()
    except InvalidInput as error:
        raise InvalidInput([replace(own, pointer=str(path)) for own in error.faults]) from None
    return columns, proposal.dialect.missing


def _require_same_columns(known: Columns, others: Mapping[str, Columns]) -> None:
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


def _are_numbers(column: TextColumn) -> bool:
    """Whether all known cells are finite numbers."""
    try:
        return all(math.isfinite(float(own)) for own in column.values)
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
    name: str, columns: Sequence[TextColumn], *, is_numeric: bool
) -> tuple[ComparedColumn, list[Ints]]:
    """Codes from 1 by first occurrence; equal numbers have one code however they are written."""
    keys = [[float(own) if is_numeric else own for own in column.values] for column in columns]
    texts: dict[str | float, str] = {}
    for column, own in zip(columns, keys, strict=True):
        for key, text in zip(own, column.values, strict=True):
            texts.setdefault(key, text)
    codes = {key: code for code, key in enumerate(texts, start=1)}
    # The position of a missing cell is -1, which is the last place.
    found = [
        np.array([*map(codes.__getitem__, own), 0], dtype=np.int32)[column.positions]
        for column, own in zip(columns, keys, strict=True)
    ]
    numbers = np.array([math.nan, *texts], dtype=np.float64) if is_numeric else None
    return ComparedColumn(name, ["", *texts.values()], numbers), found
