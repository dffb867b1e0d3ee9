"""The table that a command is given: a file, or what is written to one for the length of the command.

Rows of a query and of a folder of pieces are read here, batch by batch, and never by the service.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from app.cli.embedded import claimed_folder
from app.domain.errors import InvalidInput
from privacy_risk import InvalidArgument
from privacy_risk.sources import Source

if TYPE_CHECKING:
    from app.cli.gate_tables import Tables

_OPTIONS: Final = {"sql": "--query", "address": "--from"}


@dataclass(frozen=True)
class GivenTable:
    """The file that is read, what it is called for people, and what a description says of it, if one does."""

    path: Path
    shown: str
    tables: Tables | None = None


@contextmanager
def given_table(
    arguments: argparse.Namespace, table: Path | None, tables: Path | None, option: str = "TABLE"
) -> Iterator[GivenTable]:
    """The table that is named by itself, by a query, or else by its description.

    Raises InvalidInput, by the option that says it, for none, two, and what cannot be read.
    """
    if table is not None and arguments.query is not None:
        raise InvalidInput.of("--query", "two-tables", f"There is {option} already.", "Give one of the two.")
    if arguments.query is None and arguments.address is not None:
        raise InvalidInput.of("--from", "needs-query", "--from belongs to a query.", "Add --query.")
    if table is None and arguments.query is None:
        if tables is None:
            raise InvalidInput.of(
                option, "missing", "Nothing says which table.", "Name a file, or give --query."
            )
        # Imported here and below: a file that nothing describes needs nothing of it.
        from app.cli.gate_tables import load_tables

        table = load_tables(tables).dataset.path
    if table is not None and table.is_file():
        yield GivenTable(table, str(table), _described(tables, table))
        return
    with _told_by_option(option if table is None else str(table)):
        source = _source(arguments, table)
    with claimed_folder() as folder:
        shown = "query" if table is None else str(table)
        path = folder / f"{Path(shown).resolve().name}.parquet"
        with _told_by_option(option if table is None else str(table)):
            _write(source, path)
        yield GivenTable(path, shown, _described(tables, path))


def _described(tables: Path | None, path: Path) -> Tables | None:
    if tables is None:
        return None
    from app.cli.gate_tables import load_tables

    return load_tables(tables, path)


def _source(arguments: argparse.Namespace, table: Path | None) -> Source:
    # Loaded where one is used: most commands are given a file.
    if table is None:
        from privacy_risk.queries import query

        return query(arguments.query, arguments.address)
    if not table.is_dir():
        raise InvalidInput.of(str(table), "unreadable", f"There is no file {table}.")
    from privacy_risk.parquet_folders import parquet_folder

    return parquet_folder(table)


def _write(source: Source, path: Path) -> None:
    """The rows as one Parquet file; one batch is in memory at a time."""
    import pyarrow.parquet as pq

    batches = source.batches()
    first = next(batches)
    with pq.ParquetWriter(path, first.schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


@contextmanager
def _told_by_option(place: str) -> Iterator[None]:
    try:
        yield
    except InvalidArgument as error:
        pointer = _OPTIONS.get(error.argument, place)
        raise InvalidInput.of(pointer, "invalid-table", error.fault, error.remedy) from error
