"""A finished release file as it was matched with the records of its dataset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from app.domain.arrays import Bools, Longs
from app.domain.classes.released import Release
from app.domain.classes.row_matching import RowMatching, match_rows
from app.domain.errors import Fault
from app.domain.hierarchies.hierarchy import TOP
from app.domain.rules.release_alignment import ReleasedColumn
from app.domain.rules.release_order import KeptOrder
from app.domain.rules.rule import CellRule
from app.domain.tables.table import Table
from app.services.datasets.spellings import Spelling, spellings_of
from app.services.datasets.text_columns import TextColumn


@dataclass(frozen=True, eq=False)
class AlignedRelease:
    """A release file and what it says of the dataset's records.

    Attributes
    ----------
    rule
        What the file discloses of each record; None if nobody knows whose row is whose.
    aligned_by
        How that was found out.
    row_of_record
        (n,) the row of each record, −1 for one that is not in the file; None if nobody knows.
    reason
        Why there is no rule, as one sentence.
    table
        The file alone: classes are of equal texts, sensitive values are those of the dataset's hierarchies.
        Its persons, of a file that is not aligned, are the fewest that each class can have; None: not known.
    records, original
        Rows of the file, and the dataset's table.
    texts, columns
        Disclosed attribute → its column of the file as it is written, and what its texts may stand for.
    kept
        How far a file that was aligned by a key keeps the order of the records; None if it does not.
    fits_in_place
        Of a file that nobody said how to align: each row is above the record in its place, but not each
        above the next one, so that it seems to keep their order.
    doubt
        Why nothing can be judged: the order that was asked for does not fit.
    """

    rule: CellRule | None
    aligned_by: Literal["key", "order", "classes"] | None
    row_of_record: Longs | None
    reason: str | None
    table: Table
    records: int
    original: Table
    texts: Mapping[str, TextColumn]
    columns: Mapping[str, ReleasedColumn]
    kept: KeptOrder | None = None
    fits_in_place: bool = False
    doubt: Fault | None = None

    def spellings(self, table: Table) -> dict[str, tuple[Spelling, ...]]:
        """Column → what the file writes in several ways that the dataset takes for one value."""
        found = {}
        for name, column in self.texts.items():
            top, *known = table.hierarchies[table.position(name)].labels
            labels = {*known, None} - {top}
            means = (next((one for one in own if one in labels), None) for own in self.columns[name].readings)
            spellings = spellings_of(column.merged(means))
            several = sum(own.value is None for own in spellings) + (column.n_missing > 0) > 1
            found[name] = tuple(own for own in spellings if own.value is not None or several)
        return found

    @property
    def order(self) -> Literal["records", "other", "unknown"]:
        """Whether the rows stand in the order of the records; ``unknown`` if that was not found out."""
        if self.aligned_by is None:
            return "unknown"
        return "records" if self.aligned_by == "order" or self.kept is not None else "other"

    @cached_property
    def matching(self) -> RowMatching | None:
        """Which rows can be of the dataset's records; None where whose they are is known.

        Found out when it is first asked for; NotSupported where that takes too much.
        """
        return match_rows(self.original, self.columns) if self.rule is None else None

    @property
    def unmatched(self) -> Longs:
        """Rows ascending, from 0, that the dataset cannot have produced beside the others."""
        return np.empty(0, dtype=np.int64) if self.matching is None else self.matching.unmatched

    @cached_property
    def absent(self) -> Bools:
        """Records without a row, which count as suppressed and are in no class of the file.

        (n,) of the dataset's where it is known whose the rows are, else of those of :attr:`by_itself`.
        """
        if self.row_of_record is not None:
            return self.row_of_record < 0
        return np.arange(max(self.records, self.original.n_records)) >= self.records

    @cached_property
    def suppressed(self) -> int:
        """Records of which no row shows a quasi-identifier.

        Where no row shows any, those without a row: the columns are left out, or generalised to the top.
        """
        named = [j for j in self.table.quasi_identifiers if self.table.attributes[j] in self.columns]
        shown = int(np.count_nonzero(self.table.codes[:, named].any(axis=1)))
        return max(0, self.original.n_records - (shown or self.records))

    @cached_property
    def by_itself(self) -> Release:
        """The file alone, with one empty row more for each record that it has no row for.

        Rows that show nothing have the sensitive values of the records that no other row stands for: the
        whole table, suppressed records included, is what distributions are compared with.
        """
        if self.matching is None:
            raise ValueError("whose the rows are is known")
        table, more = self.table, np.count_nonzero(self.absent)
        shown = np.vstack([table.codes, np.full((more, table.n_attributes), TOP)])
        codes, hidden = (
            shown.copy(),
            np.flatnonzero(np.append(self.matching.silent, np.ones(more, dtype=bool))),
        )
        left = self.matching.left[: len(hidden)]
        for j in map(table.position, table.sensitive & self.columns.keys()):
            codes[hidden[: len(left)], j] = self.original.codes[left, j]
        # Who is in no class is nobody whom classes count.
        persons = None if table.persons is None else np.append(table.persons, np.zeros(more, dtype=np.int32))
        return Release(replace(table, codes=codes, persons=persons), CellRule(shown))
