"""A table as it leaves.

Of one under a rule only distinct disclosed records are held, and for every line which of them it shows. Lines
stand in the order of the records until they are shuffled.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import pyarrow as pa

from app.domain.arrays import Ints
from app.domain.rules.release_order import shuffled_lines, shuffled_rows
from app.domain.rules.rule import Rule, TableRule, apply, apply_to_codes
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.masks import shows_nothing
from app.domain.tables.table import Table
from app.services.datasets.arrow_arrays import int_array, text_array
from app.services.datasets.csv_text import csv_fields, csv_header, csv_lines
from app.services.datasets.table_streams import BLOCK_ROWS, blocks, parquet_chunks

BLOCK_BYTES: Final = 16 * 1024**2
"""Of the texts of a block of lines, which are there several times while it is written."""


def rows_of_a_block(longest: Iterable[int]) -> int:
    """How many lines are written at once, by the bytes of the longest label of each column."""
    return max(1, min(BLOCK_ROWS, BLOCK_BYTES // max(1, sum(longest))))


@dataclass(frozen=True, eq=False)
class ReleasedLines(ABC):
    """Released records, one after another.

    Parameters
    ----------
    columns
        The disclosed attributes.
    labels
        Per column the label of every node; ⊥ has the hierarchy's own top label.
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]

    @property
    @abstractmethod
    def n_records(self) -> int:
        """How many records are released."""

    @abstractmethod
    def codes_of(self, block: slice) -> Sequence[Ints]:
        """Per column the nodes of some lines."""

    @cached_property
    def _blocks(self) -> Sequence[slice]:
        longest = (max(len(label.encode()) for label in own) for own in self.labels)
        return tuple(blocks(self.n_records, rows_of_a_block(longest)))

    def csv_chunks(self, *, neutralise_formulas: bool) -> Iterator[bytes]:
        """The table as CSV (UTF-8, commas, line feeds), header first.

        With ``neutralise_formulas`` every cell and name that a spreadsheet might take for a formula starts
        with an apostrophe.
        """
        labels = [text_array(own) for own in self.labels]
        fields = csv_fields(labels, neutralise_formulas=neutralise_formulas)
        yield csv_header(self.columns, neutralise_formulas=neutralise_formulas)
        for block in self._blocks:
            codes = self.codes_of(block)
            yield csv_lines([own.take(int_array(column)) for own, column in zip(fields, codes, strict=True)])

    def csv_sha256(self, *, neutralise_formulas: bool) -> str:
        """Hexadecimal sha256 of the CSV form."""
        digest = hashlib.sha256()
        for chunk in self.csv_chunks(neutralise_formulas=neutralise_formulas):
            digest.update(chunk)
        return digest.hexdigest()

    def parquet_chunks(self, metadata: dict[str | bytes, str | bytes]) -> Iterator[bytes]:
        """The table as Parquet with columns of text; ``metadata`` is kept in the file."""
        schema = pa.schema([(name, pa.string()) for name in self.columns], metadata=metadata)
        labels = [text_array(own).cast(pa.string()) for own in self.labels]

        def batch(codes: Sequence[Ints]) -> pa.RecordBatch:
            columns = [own.take(int_array(column)) for own, column in zip(labels, codes, strict=True)]
            return pa.RecordBatch.from_arrays(columns, schema=schema)

        return parquet_chunks(schema, (batch(self.codes_of(block)) for block in self._blocks))


@dataclass(frozen=True, eq=False)
class ReleasedTable(ReleasedLines):
    """Records that a rule disclosed.

    Parameters
    ----------
    codes
        Distinct disclosed rows, int32 (d, m).
    row_of_line
        Which of them each line shows, (n,).
    quasi_identifiers
        Positions of the columns that make the equivalence classes.
    """

    codes: Ints
    row_of_line: Ints
    quasi_identifiers: tuple[int, ...]

    @property
    def n_records(self) -> int:
        """How many records are released."""
        return len(self.row_of_line)

    @property
    def n_classes(self) -> int:
        """How many distinct ones."""
        return len(self.codes)

    def shuffled(self, seed: bytes) -> ReleasedTable:
        """The same lines in an order that says nothing of the records' order; see :func:`shuffled_rows`.

        ``seed`` is 32 secret bytes; the same seed gives the same order. Takes 45 bytes per line meanwhile,
        and 15 per cell of the distinct rows.
        """
        lines = shuffled_rows(self.labels, self.codes, self.row_of_line, self.quasi_identifiers, seed)
        return replace(self, row_of_line=lines)

    def suppressed(self) -> tuple[int, int]:
        """Cells that are ⊥, and records of which all cells are."""
        records = np.bincount(self.row_of_line, minlength=self.n_classes)
        hidden = shows_nothing(self.codes)
        return int((records * hidden.sum(axis=1)).sum()), int(records[hidden.all(axis=1)].sum())

    def codes_of(self, block: slice) -> Sequence[Ints]:
        """Per column the nodes of some lines."""
        rows = self.codes[self.row_of_line[block]]
        return [rows[:, j] for j in range(rows.shape[1])]


@dataclass(frozen=True, eq=False)
class DrawnLines(ReleasedLines):
    """Records that were drawn, in an order of their own: the columns are not copied.

    Parameters
    ----------
    codes
        Per column the node of each record, (n,).
    order
        (n,) which record comes where.
    n_classes
        How many different ones there are.
    """

    codes: tuple[Ints, ...]
    order: Ints
    n_classes: int

    @property
    def n_records(self) -> int:
        """How many records are released."""
        return len(self.order)

    def codes_of(self, block: slice) -> Sequence[Ints]:
        """Per column the nodes of some lines."""
        return [column.take(self.order[block]) for column in self.codes]

    def suppressed(self) -> tuple[int, int]:
        """Cells that are ⊥, and records of which all cells are."""
        cells, records = 0, np.ones(self.n_records, dtype=bool)
        for column in self.codes:
            hidden = shows_nothing(column)
            cells += int(np.count_nonzero(hidden))
            records &= hidden
        return cells, int(np.count_nonzero(records))


def drawn_lines(table: Table, columns: Sequence[Ints], seed: bytes) -> DrawnLines:
    """Columns of nodes, one per attribute of the table, as a release whose order says nothing of theirs.

    ``seed`` is 32 secret bytes; see :func:`shuffled_lines`.
    """
    labels = tuple(hierarchy.labels for hierarchy in table.hierarchies)
    lines = shuffled_lines(labels, columns, table.quasi_identifiers, seed)
    return DrawnLines(table.attributes, labels, tuple(columns), lines.order, lines.different)


def release_of(table: Table, rule: Rule) -> ReleasedTable:
    """The table under the rule, in the order of the records."""
    if isinstance(rule, TableRule):
        disclosed, place = apply_to_codes(rule, table, table.reduced.codes), table.reduced.inverse
    else:
        disclosed, place = apply(rule, table), None
    released = released_columns(table, [disclosed[:, j] for j in range(table.n_attributes)])
    return released if place is None else replace(released, row_of_line=released.row_of_line[place])


def released_columns(table: Table, columns: Sequence[Ints]) -> ReleasedTable:
    """Columns of nodes, one per attribute of the table, as a release in the order of their rows."""
    rows = distinct_rows(columns, table.sizes, len(columns[0]))
    return ReleasedTable(
        table.attributes,
        tuple(hierarchy.labels for hierarchy in table.hierarchies),
        rows.codes,
        rows.inverse,
        table.quasi_identifiers,
    )
