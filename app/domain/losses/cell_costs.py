"""What one cell loses by what is shown of it: of its original node and the node shown, nothing else.

Every cost is 0 or more and, but for squared errors, never falls when the node shown rises. A cell of a
suppressed record shows ⊥.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction

import numpy as np

from app.domain.arrays import Floats, Integers, Longs
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.hierarchies.numbers import ends, number_labels, whole_numbers
from app.domain.losses.loss import LeafDomain, Sums
from app.domain.tables.masks import missing_cells

Nodes = Integers


def leaves_under(hierarchy: Hierarchy, records: Longs, domain: LeafDomain) -> Longs:
    """Per node how many values it may stand for.

    Parameters
    ----------
    records
        (nodes,) records with each node in the original table. ``active`` counts the values that occur; ⊥ is
        none of them, it stands for all.
    """
    if domain == "declared":
        return hierarchy.leaf_count.astype(np.int64)
    occurring = np.flatnonzero(records[1:]).astype(np.int32) + 1
    found = np.bincount(hierarchy.ancestors(occurring)[1], minlength=hierarchy.n_nodes).astype(np.int64)
    found[TOP] = max(1, len(occurring))
    return found


class CellCost(ABC):
    """Costs of one attribute's cells, and what they make of the attribute.

    An attribute that lost ``total`` over all records has lost (total − ``offset``) / ``scale``, or nothing if
    ``scale`` is 0. ``offset`` is what the records cost if nothing but single values is shown.
    """

    offset: int = 0
    scale: float

    @abstractmethod
    def of(self, original: Nodes, shown: Nodes) -> Sums:
        """Cost of each cell; the arrays broadcast."""

    def lost(self, total: float) -> float:
        """What the attribute has lost; of a whole number one correctly rounded quotient."""
        return (total - self.offset) / self.scale if self.scale else 0.0


class LeafShare(CellCost):
    """Leaves under the node shown; lost is the normalised loss (s − n/m) / (n − n/m)."""

    def __init__(self, hierarchy: Hierarchy, records: Longs, domain: LeafDomain) -> None:
        self._leaves = leaves_under(hierarchy, records, domain)
        self.offset = int(records.sum())
        self.scale = self.offset * (int(self._leaves[TOP]) - 1)

    def of(self, original: Nodes, shown: Nodes) -> Sums:
        """Leaves under the node shown."""
        return self._leaves[shown]


class LevelShare(CellCost):
    """The least level of the hierarchy that shows the node; lost is its mean as a share of the height.

    A value that is shown as it is has level 0, also if it is missing.
    """

    def __init__(self, hierarchy: Hierarchy, records: Longs) -> None:
        self._depth = hierarchy.depth.astype(np.int64)
        self._height = hierarchy.height
        self.scale = int(records.sum()) * self._height

    def of(self, original: Nodes, shown: Nodes) -> Sums:
        """Levels that the node shown is above the leaves, 0 for what is shown as it is."""
        return np.where(original == shown, 0, self._height - self._depth[shown])


class ConditionalBits(CellCost):
    """−log2 of the share that the original value has among the records at or below the node shown.

    Non-uniform entropy; a missing value has lost nothing. Lost is the mean per record.
    """

    def __init__(self, hierarchy: Hierarchy, records: Longs) -> None:
        occurring = np.flatnonzero(records).astype(np.int32)
        indices, nodes = hierarchy.ancestors(occurring)
        below = np.bincount(nodes, records[occurring][indices], hierarchy.n_nodes)
        self._bits = np.log2(np.maximum(below, 1.0))
        self.scale = int(records.sum())

    def of(self, original: Nodes, shown: Nodes) -> Sums:
        """Bits that are lost of each original value, ≥ 0."""
        return self._bits[shown] - self._bits[original]


class CategoryRange(CellCost):
    """Leaves under the node shown, 0 for one; lost: their mean share (Cao and Karras (2012), equation 3)."""

    def __init__(self, hierarchy: Hierarchy, records: Longs, domain: LeafDomain) -> None:
        leaves = leaves_under(hierarchy, records, domain)
        self._leaves = np.where(leaves > 1, leaves, 0)
        self.scale = int(records.sum()) * int(self._leaves[TOP])

    def of(self, original: Nodes, shown: Nodes) -> Sums:
        """Leaves under the node shown, 0 for a single one."""
        return self._leaves[shown]


class NumberRange(CellCost):
    """Greatest less least number under the node; lost: their mean share (Cao and Karras (2012), equation 2).

    Raises InvalidInput if a leaf is no number, NotSupported if the numbers have too many digits to be added
    exactly.
    """

    def __init__(self, attribute: str, hierarchy: Hierarchy, records: Longs, domain: LeafDomain) -> None:
        n = int(records.sum())
        numbers, _ = whole_numbers(attribute, hierarchy, n)
        leaves = np.arange(hierarchy.n_leaves, dtype=np.int64)
        if domain == "active":
            leaves = leaves[records[hierarchy.leaves] > 0]
        self._low, self._high = ends(hierarchy, numbers, leaves)
        self._range: Longs = np.maximum(self._high - self._low, 0)
        self.scale = n * int(self._range[TOP])

    def of(self, original: Nodes, shown: Nodes) -> Sums:
        """Greatest less least number under the node shown, in the whole units of :func:`whole_numbers`."""
        return self._range[shown]

    def within(self, nodes: Nodes, starts: Longs) -> Longs:
        """The same of each run of nodes; ⊥ may be any number of the domain."""
        if not len(starts):
            return np.zeros(0, dtype=np.int64)
        greatest: Longs = np.maximum.reduceat(self._high[nodes], starts)
        return np.maximum(greatest - np.minimum.reduceat(self._low[nodes], starts), 0)


class SquaredError(CellCost):
    """Squared difference of the number from the mean of those that may be shown so; lost is SSE / SST.

    A reader takes a node for the mean of the numbers of all records at or below it. An original above leaves
    has the mean of their numbers. What is shown as it is, or was missing, has lost nothing, and nothing
    missing counts in a mean. One cell may cost less as a more general node, whose mean happens to be nearer:
    hence suppressing it may lower the loss.

    Raises InvalidInput if a leaf is no number.
    """

    def __init__(self, attribute: str, hierarchy: Hierarchy, records: Longs) -> None:
        exact = number_labels(attribute, hierarchy)
        middle = sum(exact, Fraction(0)) / len(exact)
        # Their share of the greatest distance from the middle: squares of these are of the size of 1.
        width = max(abs(number - middle) for number in exact) or Fraction(1)
        indices, nodes = hierarchy.leaf_ancestors
        leaves = np.array([float((number - middle) / width) for number in exact])
        self._numbers = _means(leaves[indices], np.ones(len(indices)), nodes, hierarchy.n_nodes)
        occurring = np.flatnonzero(records[1:]).astype(np.int32) + 1
        indices, nodes = hierarchy.ancestors(occurring)
        own = occurring[indices]
        amounts = records[own].astype(np.float64)
        self._means = _means(self._numbers[own], amounts, nodes, hierarchy.n_nodes)
        originals = np.flatnonzero(records)
        self.scale = float(self.of(originals, np.full_like(originals, TOP)) @ records[originals])

    def of(self, original: Nodes, shown: Nodes) -> Sums:
        """Squared differences, in the square of the greatest distance from the middle."""
        errors = (self._numbers[original] - self._means[shown]) ** 2
        return np.where((original == shown) | missing_cells(original), 0.0, errors)


def _means(values: Floats, amounts: Floats, nodes: Nodes, n_nodes: int) -> Floats:
    """(nodes,) weighted means of the values of each node, 0 where there is none."""
    totals = np.bincount(nodes, amounts, n_nodes)
    sums = np.bincount(nodes, values * amounts, n_nodes)
    return np.asarray(np.divide(sums, totals, out=np.zeros(n_nodes), where=totals > 0))
