"""COUNT queries on a table and their answers from a release (Cao and Karras (2012), section 6.2).

A query counts the records whose values lie in an interval of some quasi-identifiers and, if there is one, of
the sensitive attribute. Who has only the release takes a record as evenly spread over the values that its
cells may stand for, and adds up the shares.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.domain.arrays import Floats, Ints, Longs
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.tables.distinct import DistinctRows

Interval = tuple[float, float]


class Scale(ABC):
    """The domain of an attribute, on which intervals lie."""

    @abstractmethod
    def length(self, share: float) -> float:
        """Length of the intervals that have this share of the domain."""

    @abstractmethod
    def draw(self, length: float, generator: np.random.Generator) -> Interval:
        """An interval of this length, its place uniform."""

    @abstractmethod
    def shares(self, interval: Interval) -> Floats:
        """(nodes,) the share of what each node may stand for that lies in the interval."""


def whole_length(n_values: int, share: float) -> int:
    """Values that make up a share of a domain: rounded half up, at least 1."""
    return min(n_values, max(1, math.floor(n_values * share + 0.5)))


class LeafScale(Scale):
    """The leaves of a hierarchy in their order; intervals are [first, last] by index."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        self._hierarchy = hierarchy
        self._count = hierarchy.leaf_count.astype(np.float64)
        self._pairs = None if hierarchy.is_tree else hierarchy.leaf_ancestors

    def length(self, share: float) -> float:
        """Leaves that make up the share, see :func:`whole_length`."""
        return whole_length(self._hierarchy.n_leaves, share)

    def draw(self, length: float, generator: np.random.Generator) -> Interval:
        """Indexes of the first and last of as many neighbouring leaves."""
        first = int(generator.integers(self._hierarchy.n_leaves - int(length) + 1))
        return first, first + length - 1

    def shares(self, interval: Interval) -> Floats:
        """(nodes,) the share of the leaves below each node that are among those of the interval."""
        first, last = interval
        if self._pairs is None:
            h = self._hierarchy
            inside = np.minimum(h.leaf_hi, last + 1) - np.maximum(h.leaf_lo, first)
            return np.asarray(np.maximum(inside, 0) / self._count)
        leaves, nodes = self._pairs
        found = np.bincount(nodes[(first <= leaves) & (leaves <= last)], minlength=self._hierarchy.n_nodes)
        return np.asarray(found / self._count)


class WholeNumbers(Scale):
    """Whole numbers from the least to the greatest of the leaves; a node stands for all from end to end.

    Parameters
    ----------
    low, high
        (nodes,) least and greatest number under each node, node 0 the whole domain.
    """

    def __init__(self, low: Longs, high: Longs) -> None:
        self._low, self._high = low, high
        self._first, self._n = int(low[0]), int(high[0] - low[0]) + 1

    def length(self, share: float) -> float:
        """Numbers that make up the share, see :func:`whole_length`."""
        return whole_length(self._n, share)

    def draw(self, length: float, generator: np.random.Generator) -> Interval:
        """The least and the greatest of as many neighbouring numbers."""
        first = self._first + int(generator.integers(self._n - int(length) + 1))
        return first, first + length - 1

    def shares(self, interval: Interval) -> Floats:
        """(nodes,) the share of each node's numbers that lie in the interval, both ends included."""
        first, last = interval
        inside = np.minimum(self._high, last) - np.maximum(self._low, first) + 1
        return np.asarray(np.maximum(inside, 0) / (self._high - self._low + 1))


class RealNumbers(Scale):
    """Real numbers from the least to the greatest of the leaves; a node stands for all from end to end.

    A node of a single number lies in an interval or not. Parameters as of :class:`WholeNumbers`.
    """

    def __init__(self, low: Floats, high: Floats) -> None:
        self._low, self._high = low, high

    def length(self, share: float) -> float:
        """The share of the distance between the ends of the domain."""
        return float(self._high[0] - self._low[0]) * share

    def draw(self, length: float, generator: np.random.Generator) -> Interval:
        """Two ends this far apart, both in the domain."""
        first = float(generator.uniform(self._low[0], self._high[0] - length))
        return first, first + length

    def shares(self, interval: Interval) -> Floats:
        """(nodes,) the share of each node's length in the interval; 1 or 0 for a single number."""
        first, last = interval
        width = self._high - self._low
        inside = np.minimum(self._high, last) - np.maximum(self._low, first)
        spread = np.maximum(inside, 0.0) / np.where(width > 0, width, 1.0)
        return np.where(width > 0, spread, (first <= self._low) & (self._low <= last))


@dataclass(frozen=True, eq=False)
class CountedRows:
    """Distinct rows with how many records they are.

    Parameters
    ----------
    columns
        Per attribute the node of each row; the number of nodes stands for a value that lies in no interval.
    """

    columns: Mapping[int, Ints]
    counts: Longs

    @classmethod
    def of(cls, attributes: Sequence[int], rows: DistinctRows) -> CountedRows:
        """Distinct rows whose columns are the attributes."""
        columns = {j: np.ascontiguousarray(rows.codes[:, i]) for i, j in enumerate(attributes)}
        return cls(columns, rows.counts)

    def count(self, shares: Mapping[int, Floats]) -> float:
        """Sum over records of the product of the shares, per attribute (nodes,), that their values have."""
        rows: Longs | None = None
        amounts = self.counts.astype(np.float64)
        for j, of_node in shares.items():
            own = np.append(of_node, 0.0)[self.columns[j] if rows is None else self.columns[j][rows]]
            inside = np.flatnonzero(own)
            amounts = amounts[inside] * own[inside]
            rows = inside if rows is None else rows[inside]
        return float(amounts.sum())


class Workload:
    """Queries drawn at random.

    Every query has predicates on ``n_predicates`` quasi-identifiers, each set of them as likely as any other,
    and on the sensitive attribute if there is one. Each interval has the share
    selectivity^(1 / number of predicates) of its domain.
    """

    def __init__(
        self,
        scales: Mapping[int, Scale],
        attributes: Sequence[int],
        sensitive: int | None,
        n_predicates: int,
        selectivity: float,
        seed: int,
    ) -> None:
        self._scales, self._attributes, self._sensitive = scales, list(attributes), sensitive
        self._n = n_predicates
        share = selectivity ** (1 / (n_predicates + (sensitive is not None)))
        self.lengths = {j: scale.length(share) for j, scale in scales.items()}
        self._generator = np.random.Generator(np.random.PCG64(seed))

    def draw(self) -> dict[int, Interval]:
        """The intervals of the next query: first its attributes are drawn, then intervals in schema order."""
        chosen = self._generator.permutation(len(self._attributes))[: self._n]
        attributes = [self._attributes[i] for i in sorted(chosen.tolist())]
        if self._sensitive is not None:
            attributes.append(self._sensitive)
        return {j: self._scales[j].draw(self.lengths[j], self._generator) for j in attributes}
