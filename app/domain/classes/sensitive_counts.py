"""How often each sensitive value occurs in each class: all that ℓ-diversity and its kin look at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from app.domain.classes.grouping import EquivalenceClasses
from app.domain.distinct import Ints, Longs


@dataclass(frozen=True, eq=False)
class SensitiveCounts:
    """Counts of the m values of one sensitive attribute in G classes, compressed by class.

    Attributes
    ----------
    starts
        (G + 1,): the entries of class g are those from ``starts[g]`` to ``starts[g + 1]``.
    values
        (E,) number of the value of each entry, ascending in each class.
    counts
        (E,) how often it occurs there, at least 1.
    totals
        (m,) how often each value occurs in the whole table, records without a class included, at least 1: the
        reference that a reader is taken to know.
    nodes
        (m,) node of each value in the attribute's hierarchy, ascending; ⊥ stands for a missing value.
    """

    starts: Longs
    values: Ints
    counts: Longs
    totals: Longs
    nodes: Ints

    @property
    def n_classes(self) -> int:
        return len(self.starts) - 1

    @property
    def n_values(self) -> int:
        return len(self.totals)

    @cached_property
    def distinct(self) -> Longs:
        """(G,) different values in each class."""
        return np.diff(self.starts)

    @cached_property
    def of_entry(self) -> Longs:
        """(E,) the class of each entry."""
        return np.repeat(np.arange(self.n_classes, dtype=np.int64), self.distinct)

    @cached_property
    def sizes(self) -> Longs:
        """(G,) records of each class that have a value here."""
        return np.add.reduceat(np.append(self.counts, 0), self.starts[:-1]) * (self.distinct > 0)


def count_values(
    of_class: Longs, values: Longs, amounts: Longs, n_classes: int, n_values: int
) -> tuple[Longs, Ints, Longs]:
    """Starts, values and counts of :class:`SensitiveCounts`.

    Parameters
    ----------
    of_class, values, amounts
        (r,) class in [0, ``n_classes``), value in [0, ``n_values``) and records of each row.
    """
    keys = of_class.astype(np.int64) * n_values + values
    if n_classes * n_values <= 16 * len(keys) + 4096:
        table = np.bincount(keys, amounts, n_classes * n_values)
        occurring = np.flatnonzero(table)
        counts = table[occurring].astype(np.int64)
    else:
        occurring, inverse = np.unique(keys, return_inverse=True)
        counts = np.bincount(inverse, amounts, len(occurring)).astype(np.int64)
    owners, found = np.divmod(occurring, n_values)
    starts = np.searchsorted(owners, np.arange(n_classes + 1))
    return starts.astype(np.int64), found.astype(np.int32), counts


def sensitive_counts(
    classes: EquivalenceClasses, shown: Ints, reference: Ints, n_nodes: int
) -> SensitiveCounts:
    """Counts of one attribute per class.

    Parameters
    ----------
    shown
        (n,) disclosed node of each record, −1 for a value that is left out of the counts.
    reference
        (n,) the same for the reference, records without a class included.
    n_nodes
        Nodes of the attribute's hierarchy.
    """
    totals = np.bincount(reference[reference >= 0], minlength=n_nodes)
    nodes = np.flatnonzero(totals)
    number = np.full(n_nodes, -1, dtype=np.int64)
    number[nodes] = np.arange(len(nodes))
    counted = np.flatnonzero((classes.of_record >= 0) & (shown >= 0))
    starts, values, counts = count_values(
        classes.of_record[counted].astype(np.int64),
        number[shown[counted]],
        np.ones(len(counted), dtype=np.int64),
        classes.n_classes,
        len(nodes),
    )
    return SensitiveCounts(starts, values, counts, totals[nodes].astype(np.int64), nodes.astype(np.int32))
