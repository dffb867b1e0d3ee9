"""What a release shows of every column and whom it leaves out, and which of several is suggested."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from annotated_types import doc

from app.domain.arrays import Bools
from app.domain.catalogue.catalogue_types import CellValue
from app.domain.classes.grouping import Grouping
from app.domain.classes.released import Release
from app.domain.losses.cell_costs import LeafShare
from app.domain.losses.released import shown_cells
from app.domain.tables.masks import shows_nothing
from app.domain.tables.numbers import exact_sum

MOSTLY: Final = 0.5
"""The share of the released records that a suggestion shows every column of, if any alternative does."""


@dataclass(frozen=True)
class ShownLevel:
    """How many of the released records show a column at a level."""

    level: Annotated[int, doc("0 is as it is; at the highest, and of a missing value, nothing is shown.")]
    records: Annotated[int, doc("Records that are not suppressed.")]
    example: Annotated[
        CellValue | None, doc("The value that most of them show; null where nothing is shown.")
    ]


@dataclass(frozen=True)
class ShownColumn:
    """What a release shows of a column."""

    attribute: Annotated[str, doc("The attribute.")]
    loss: Annotated[float, doc("What is lost of it: 0 to 1.")]
    height: Annotated[int, doc("Highest level of its hierarchy.")]
    shown_share: Annotated[
        float | None,
        doc(
            "The share of the released records of which something is shown, at any level below the highest; "
            "null where the table has nothing to show, or nobody is left."
        ),
    ]
    levels: Annotated[tuple[ShownLevel, ...], doc("The levels that occur, from the lowest.")]


@dataclass(frozen=True)
class ShownRelease:
    """What a release shows, whom it leaves out, and how well those who are in it are hidden."""

    columns: Annotated[tuple[ShownColumn, ...], doc("What is shown of every quasi-identifier.")]
    sensitive: Annotated[tuple[ShownColumn, ...], doc("What is shown of every sensitive attribute.")]
    loss: Annotated[
        float,
        doc("Geometric loss, no column weighed, all leaves of hierarchies counted: releases compare by it."),
    ]
    suppressed_records: Annotated[int, doc("Records suppressed.")]
    persons: Annotated[int | None, doc("Persons of the table; null where no column names them.")]
    persons_suppressed: Annotated[int | None, doc("Of them those who lose all their records.")]
    classes: Annotated[int, doc("Equivalence classes of those that remain.")]
    smallest_class: Annotated[
        int | None, doc("k: records, or persons, of the smallest class; null if nobody remains.")
    ]
    highest_risk: Annotated[
        float | None,
        doc("Greatest probability of finding whose a released record is, for who knows that it is there."),
    ]
    mean_risk: Annotated[float | None, doc("The mean of it.")]

    @property
    def least_shown(self) -> float:
        """The share of the records that show the column which is shown least."""
        return min((own.shown_share for own in self.columns if own.shown_share is not None), default=0.0)


def shown_release(release: Release) -> ShownRelease:
    """The figures of a release."""
    table, kept = release.table, ~release.is_suppressed
    columns = tuple(_column(release, j, kept) for j in table.quasi_identifiers)
    sensitive = [j for j, name in enumerate(table.attributes) if name in table.sensitive]
    classes = release.classes(Grouping())
    is_any = classes.n_classes > 0
    persons = None if table.persons is None else table.n_persons
    left = 0 if table.persons is None else len(np.unique(table.persons[kept]))
    return ShownRelease(
        columns,
        tuple(_column(release, j, kept) for j in sensitive),
        math.expm1(math.fsum(math.log1p(own.loss) for own in columns) / len(columns)),
        int(np.count_nonzero(release.is_suppressed)),
        persons,
        None if persons is None else persons - left,
        classes.n_classes,
        int(classes.sizes.min()) if is_any else None,
        float(classes.largest_share.max()) if is_any else None,
        exact_sum(classes.expected_matches) / int(classes.records.sum()) if is_any else None,
    )


def _column(release: Release, j: int, kept: Bools) -> ShownColumn:
    hierarchy, original = release.table.hierarchies[j], release.table.codes[:, j]
    cells = shown_cells(release, j)
    loss = cells.lost(LeafShare(hierarchy, cells.records, "declared"))
    shown, before = release.codes[kept, j], original[kept]
    levels = np.where(shown == before, 0, hierarchy.height - hierarchy.depth[shown])
    hidden = shows_nothing(shown)
    levels[hidden] = hierarchy.height
    found = []
    for level in np.unique(levels).tolist():
        at = levels == level
        records = np.bincount(shown[at & ~hidden], minlength=hierarchy.n_nodes)
        most = int(records.argmax())
        example = CellValue(hierarchy.labels[most]) if records[most] else None
        found.append(ShownLevel(level, int(np.count_nonzero(at)), example))
    is_there = len(shown) > 0 and not shows_nothing(original).all()
    share = 1.0 - float(hidden.mean()) if is_there else None
    return ShownColumn(release.table.attributes[j], loss, hierarchy.height, share, tuple(found))


def suggested(shown: Sequence[ShownRelease]) -> int | None:
    """The place of the release to take if nothing else is known; None where there is none.

    Of those that show every column to half of the records at least; if there is none, of those that show
    every column to some; else of all: the one of least loss.
    """
    if not shown:
        return None
    most = max(own.least_shown for own in shown)
    least = MOSTLY if most >= MOSTLY else math.nextafter(0.0, 1.0) if most > 0 else 0.0
    places = [place for place, own in enumerate(shown) if own.least_shown >= least]
    return min(places, key=lambda place: shown[place].loss)
