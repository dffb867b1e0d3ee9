"""Losses of a finished release, whatever the rule: sums over its cells and over its classes.

Where a rule is one of levels for the whole table, these are the losses that searches minimise. Among
them is the divergence of :mod:`kl_divergence`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from app.domain.arrays import Bools, Ints, Longs
from app.domain.classes.grouping import EquivalenceClasses
from app.domain.classes.released import Release
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.losses.cell_costs import CellCost, NumberRange, leaves_under
from app.domain.losses.cells import cost_of_range
from app.domain.losses.kl_boxes import BoxDivergence, BoxSides, is_hidden
from app.domain.losses.loss import LeafDomain
from app.domain.rules.rule import TableRule
from app.domain.tables.distinct import group
from app.domain.tables.numbers import exact_sum
from app.domain.tables.table import Table

TOP_ALONE: Final = np.array([TOP])


@dataclass(frozen=True, eq=False)
class ShownCells:
    """The cells of one attribute, equal ones counted.

    Attributes
    ----------
    records
        (nodes,) records per node in the original table.
    original, shown, cells
        (c,) what a cell was, what is shown of it, and how many cells are of this kind.
    """

    hierarchy: Hierarchy
    records: Longs
    original: Ints
    shown: Ints
    cells: Longs

    def total(self, cost: CellCost) -> float:
        """What the cells cost in all; a whole number, exactly, where costs are whole."""
        costs = cost.of(self.original, self.shown)
        if costs.dtype.kind == "i":
            return int(costs @ self.cells)
        return exact_sum(costs * self.cells)

    def lost(self, cost: CellCost) -> float:
        """What the attribute has lost by a cost made for its hierarchy and records."""
        return cost.lost(self.total(cost))


def shown_cells(release: Release, attribute: int) -> ShownCells:
    """The cells of one attribute of a release."""
    table, hierarchy = release.table, release.table.hierarchies[attribute]
    original, shown = table.codes[:, attribute], release.codes[:, attribute]
    n_nodes = hierarchy.n_nodes
    keys = original.astype(np.int64) * n_nodes + shown
    first, inverse = group(keys, n_nodes * n_nodes)
    cells = np.bincount(inverse, minlength=len(first)).astype(np.int64)
    records = np.bincount(original, minlength=n_nodes).astype(np.int64)
    return ShownCells(hierarchy, records, original[first], shown[first], cells)


def cells_of_rows(table: Table, shown: Ints, attribute: int) -> ShownCells:
    """The cells of one attribute of as many rows, shown (n, m), of which nobody knows whose they are.

    As many cells of a node as records have it are taken for theirs, shown as they are. Which of the other
    originals became which of the other nodes makes no difference to a cost that is a sum of what is shown
    and of what was, or that only asks whether a cell is as it was.
    """
    hierarchy = table.hierarchies[attribute]
    before, after = (
        np.bincount(codes[:, attribute], minlength=hierarchy.n_nodes).astype(np.int64)
        for codes in (table.codes, shown)
    )
    same = np.minimum(before, after)
    ends = [np.cumsum(own - same) for own in (before, after)]
    cuts = np.union1d(*ends)
    cells = np.diff(cuts, prepend=0)
    changed = [np.searchsorted(own, cuts[cells > 0]).astype(np.int32) for own in ends]
    kept = np.flatnonzero(same).astype(np.int32)
    return ShownCells(
        hierarchy,
        before,
        np.concatenate([kept, changed[0]]),
        np.concatenate([kept, changed[1]]),
        np.concatenate([same[kept], cells[cells > 0]]),
    )


def greatest_levels(cells: Sequence[ShownCells]) -> int:
    """Sum over attributes of the greatest level of a cell that is not as it was."""
    height = 0
    for own in cells:
        changed = own.shown[own.shown != own.original]
        height += own.hierarchy.height - int(own.hierarchy.depth[changed].min()) if len(changed) else 0
    return height


def suppresses(release: Release, attribute: int) -> bool:
    """Whether the rule suppresses the attribute for all who are not suppressed."""
    if isinstance(release.rule, TableRule):
        return release.rule.levels[attribute] == release.table.heights[attribute]
    return is_hidden(release.codes[:, attribute], release.is_suppressed)


def generalisation_height(release: Release, attributes: Sequence[int]) -> int:
    """Sum over attributes of the rule's level; for other rules of the greatest level of a kept record."""
    if isinstance(release.rule, TableRule):
        return sum(release.rule.levels[j] for j in attributes)
    kept = ~release.is_suppressed
    height = 0
    for j in attributes:
        hierarchy = release.table.hierarchies[j]
        shown = release.codes[kept, j]
        changed = shown[shown != release.table.codes[kept, j]]
        height += hierarchy.height - int(hierarchy.depth[changed].min()) if len(changed) else 0
    return height


def ambiguity(table: Table, shown: Ints, attributes: Sequence[int], domain: LeafDomain) -> float:
    """Σ over rows of the nodes shown (rows, m) of Π_j (leaves under the cell), in doubles."""
    product = np.ones(len(shown))
    for j in attributes:
        hierarchy = table.hierarchies[j]
        records = np.bincount(table.codes[:, j], minlength=hierarchy.n_nodes).astype(np.int64)
        product *= leaves_under(hierarchy, records, domain)[shown[:, j]]
    return exact_sum(product)


def losses_within_classes(
    release: Release, classes: EquivalenceClasses, numeric: Sequence[str], domain: LeafDomain
) -> list[float] | None:
    """Per quasi-identifier the average information loss of the values in each class (Cao and Karras (2012)).

    A class is measured by the range of its own numbers, or by the least common ancestor of its own values,
    which may be less than what is shown of it. Suppressed records count 1. None if a hierarchy of categories
    is no tree.
    """
    table = release.table
    starts, single = np.cumsum(classes.records) - classes.records, np.arange(classes.n_classes)
    order: Longs | None = None
    n = classes.n_judged + classes.n_suppressed
    found = []
    for i, j in enumerate(classes.attributes):
        hierarchy, own, at = table.hierarchies[j], classes.codes[:, i], single
        if not np.array_equal(release.codes[:, j], table.codes[:, j]):
            if order is None:
                # The records that are in a class, class by class.
                order = np.argsort(classes.of_record, kind="stable")[len(table.codes) - classes.n_judged :]
            own, at = table.codes[order, j], starts
        records = np.bincount(table.codes[:, j], minlength=hierarchy.n_nodes).astype(np.int64)
        cost = cost_of_range(table.attributes[j], hierarchy, records, numeric, domain)
        if isinstance(cost, NumberRange):
            costs = cost.within(own, at)
        elif hierarchy.is_tree:
            nodes = common_ancestors(hierarchy, own, at)
            costs = cost.of(nodes, nodes)
        else:
            return None
        whole = int(cost.of(TOP_ALONE, TOP_ALONE)[0])
        total = int(costs @ classes.records) + whole * classes.n_suppressed
        found.append(total / (n * whole) if n and whole else 0.0)
    return found


def common_ancestors(hierarchy: Hierarchy, own: Ints, starts: Longs) -> Ints:
    """Per class the least common ancestor of its values in a tree.

    Nodes are in depth-first order: what is above the first and the last is above all between.
    """
    if not len(starts):
        return np.zeros(0, dtype=np.int32)
    first, last = np.minimum.reduceat(own, starts), np.maximum.reduceat(own, starts)
    found = np.where(first == last, first, TOP).astype(np.int32)
    open_ = first != last
    for level in range(1, hierarchy.height):
        above = hierarchy.ancestors_at(level)
        meets = open_ & (above[first] == above[last])
        found[meets] = above[first[meets]]
        open_ &= ~meets
    return found


def weighted_mean(values: Sequence[float], weights: Sequence[float] | None) -> float:
    """Mean of the values, by weights that add up to 1."""
    if weights is None:
        return math.fsum(values) / len(values)
    return math.fsum(value * weight for value, weight in zip(values, weights, strict=True))


class ReleaseDivergence(BoxDivergence):
    """Reconstruction from a release over some attributes.

    Parameters
    ----------
    attributes, sensitive
        Positions of the quasi-identifiers, and of the sensitive attributes, which suppressed records keep.
    counted
        (n,) records that are looked at; None: all.

    Raises NotSupported if a hierarchy is no tree.
    """

    def __init__(
        self,
        release: Release,
        attributes: Sequence[int],
        sensitive: Sequence[int],
        domain: LeafDomain,
        counted: Bools | None = None,
    ) -> None:
        table = release.table
        rows = np.arange(table.n_records) if counted is None else np.flatnonzero(counted)
        sides = [
            BoxSides(
                table.hierarchies[j],
                table.codes[rows, j],
                release.codes[rows, j],
                is_suppressed=suppresses(release, j),
                is_sensitive=j in sensitive,
            )
            for j in (*attributes, *sensitive)
        ]
        super().__init__(sides, release.is_suppressed[rows], np.ones(len(rows), dtype=np.int64), domain)
