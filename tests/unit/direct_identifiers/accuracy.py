"""Precision and recall per kind on the columns: ``python -m tests.unit.direct_identifiers.accuracy``."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from app.domain.direct_identifiers.recognition import RECOGNISERS, RecognisedKind, recognised_kinds
from tests.unit.direct_identifiers.columns import Column, columns


@dataclass
class Tally:
    """Right and wrong answers about one kind; every cell of a column is of its kind or none is."""

    rightly: float = 0.0
    wrongly: float = 0.0
    missed: float = 0.0

    @property
    def precision(self) -> float:
        """Share of what was taken for the kind that is."""
        return self.rightly / (self.rightly + self.wrongly)

    @property
    def recall(self) -> float:
        """Share of what is of the kind that was taken for it."""
        return self.rightly / (self.rightly + self.missed)

    def add(self, *, is_kind: bool, taken: float, of: float) -> None:
        """Count ``taken`` of so many, all of which are of the kind or none is."""
        self.rightly += taken if is_kind else 0.0
        self.wrongly += 0.0 if is_kind else taken
        self.missed += of - taken if is_kind else 0.0


@dataclass(frozen=True)
class Accuracy:
    """How often the recogniser is right about one kind."""

    columns: int
    by_cell: Tally
    by_column: Tally


def found_in(cells: Iterable[str]) -> tuple[RecognisedKind, ...]:
    """What is recognised in the cells of a column."""
    counts = Counter(cells)
    return recognised_kinds(list(counts), np.array(list(counts.values()), dtype=np.int64))


def accuracy(found: Mapping[Column, tuple[RecognisedKind, ...]]) -> dict[str, Accuracy]:
    """Per kind, over all columns."""
    by_cell: dict[str, Tally] = defaultdict(Tally)
    by_column: dict[str, Tally] = defaultdict(Tally)
    for column, findings in found.items():
        shares = {own.kind: own.share for own in findings}
        direct = {own.kind for own in findings if own.is_direct_identifier}
        for kind in (own.kind for own in RECOGNISERS):
            is_kind, size = kind == column.kind, len(column.cells)
            by_cell[kind].add(is_kind=is_kind, taken=size * shares.get(kind, 0.0), of=size)
            by_column[kind].add(is_kind=is_kind, taken=float(kind in direct), of=1.0)
    numbers = Counter(column.kind for column in found)
    return {kind: Accuracy(numbers[kind], tally, by_column[kind]) for kind, tally in by_cell.items()}


def table(measured: Mapping[str, Accuracy]) -> list[str]:
    """The lines of the table, as the documentation shows them."""
    lines = [
        "| Kind | Columns | Precision, cells | Recall, cells | Precision, columns | Recall, columns |",
        "|---|---|---|---|---|---|",
    ]
    for kind, own in measured.items():
        tallies = (own.by_cell, own.by_column)
        numbers = [number for tally in tallies for number in (tally.precision, tally.recall)]
        lines.append(
            f"| `{kind}` | {own.columns} | " + " | ".join(f"{number:.3f}" for number in numbers) + " |"
        )
    return lines


if __name__ == "__main__":
    print(*table(accuracy({column: found_in(column.cells) for column in columns()})), sep="\n")
