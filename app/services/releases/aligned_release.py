"""A finished release file as it was matched with the records of its dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from app.domain.arrays import Bools, Longs
from app.domain.rules.release_alignment import Readings
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
    records
        Rows of the file.
    absent
        (n,) records of the dataset that are not in it: they count as suppressed, and are in no class of it.
    reason
        Why there is no rule, as one sentence.
    table
        The file alone: classes are of equal texts, sensitive values are those of the dataset's hierarchies.
        Its persons, of a file that is not aligned, are the fewest that each class can have; None: not known.
    texts
        Disclosed attribute → its column of the file as it is written.
    kept
        How far a file that was aligned by a key keeps the order of the records; None if it does not.
    fits_in_place
        Of a file that nobody said how to align: each row is above the record in its place, but not each
        above the next one, so that it seems to keep their order.
    row_of_record
        (n,) the row of each record, −1 for one that is not in the file; None if nobody knows.
    readings
        Of each text of a column what it may stand for.
    """

    rule: CellRule | None
    aligned_by: Literal["key", "order", "classes"] | None
    records: int
    absent: Bools
    reason: str | None
    table: Table
    texts: Mapping[str, TextColumn]
    kept: KeptOrder | None = None
    fits_in_place: bool = False
    row_of_record: Longs | None = None
    readings: Mapping[str, Sequence[Readings]] = field(default_factory=dict)

    def spellings(self, table: Table) -> dict[str, tuple[Spelling, ...]]:
        """Column → what the file writes in several ways that the dataset takes for one value."""
        found = {}
        for name, column in self.texts.items():
            top, *known = table.hierarchies[table.position(name)].labels
            labels = {*known, None} - {top}
            means = (next((one for one in own if one in labels), None) for own in self.readings[name])
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
