"""Where values of a quasi-identifier are on an axis: numbers by their size, others in their leaves' order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.domain.arrays import Floats, Ints, Longs
from app.domain.hierarchies.cell_formats import is_number
from app.domain.hierarchies.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False)
class Axis:
    """The places of records on one axis.

    Attributes
    ----------
    ranks
        (n,) of each record's place among those that occur, ascending.
    places
        (r,) the places that occur, ascending.
    low, high
        The ends of the domain.
    """

    ranks: Longs
    places: Floats
    low: float
    high: float

    @classmethod
    def of(cls, hierarchy: Hierarchy, codes: Ints) -> Axis:
        """The places of nodes (n,) of a tree; a node that is no leaf is where its first leaf is."""
        labels = [hierarchy.labels[leaf] for leaf in hierarchy.leaves.tolist()]
        by_leaf = np.arange(len(labels), dtype=np.float64)
        if all(map(is_number, labels)):
            by_leaf = np.array(labels, dtype=np.float64)
        used = np.flatnonzero(np.bincount(codes, minlength=hierarchy.n_nodes))
        places, of_used = np.unique(by_leaf[hierarchy.leaf_lo[used]], return_inverse=True)
        ranks = np.zeros(hierarchy.n_nodes, dtype=np.int64)
        ranks[used] = of_used.reshape(-1)
        return cls(ranks[codes], places, float(by_leaf.min()), float(by_leaf.max()))

    @property
    def relative(self) -> Floats:
        """(r,) the places as shares of the way from one end of the domain to the other, 0 without width."""
        if self.high == self.low:
            return np.zeros(len(self.places))
        return (self.places - self.low) / (self.high - self.low)
