"""The divergence of :mod:`kl_divergence` where the boxes that are shown overlap.

A cell of which no level of a rule is known may stand for every value at or below the node that it shows, and
so may one that held this node to begin with: nobody can tell them apart. Cells of records that are treated
differently overlap, so that a value x may lie in many of the boxes that are shown. Boxes of equal depths are
disjoint: per combination of depths that occurs, x lies in at most one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from app.domain.arrays import Bools, Floats, Integers, Ints, Longs
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.losses.loss import LeafDomain
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.masks import missing_cells, shows_nothing
from app.domain.tables.numbers import exact_sum

FEW_BOXES = 64
"""So many boxes of equal depths are faster looked at one by one than sorted."""
SECONDS_PER_BOX_LOOKED_UP: Final = 7e-8


KNOWN_MISSING = -1
"""In place of a depth: the cell is shown to be missing in the original."""


def categories(hierarchy: Hierarchy, records: Longs, domain: LeafDomain) -> Ints:
    """The values that an attribute can have: its leaves, or those that occur; originals in any case."""
    found = records > 0
    if domain == "declared":
        found = found | hierarchy.is_leaf
    return np.flatnonzero(found).astype(np.int32)


def log_areas(hierarchy: Hierarchy, records: Longs, domain: LeafDomain) -> Floats:
    """(nodes,) ln of the number of values at or below each node, or of 1 where there is none.

    ``records`` (nodes,) have each node in the original table.
    """
    above = hierarchy.ancestors(categories(hierarchy, records, domain))[1]
    return np.asarray(np.log(np.maximum(np.bincount(above, minlength=hierarchy.n_nodes), 1)))


def is_hidden(shown: Integers, suppressed: Bools) -> bool:
    """Whether a cell (r,) shows nothing of any record that is not suppressed, and there are some."""
    return not suppressed.all() and bool(shows_nothing(shown[~suppressed]).all())


@dataclass(frozen=True, eq=False)
class BoxSides:
    """One attribute of the records (r,): what their cells were, and what is shown of them.

    Attributes
    ----------
    is_suppressed
        The attribute is suppressed: ⊥ says of no cell that it was missing.
    is_sensitive
        Suppressed records are known to have had their value; of other attributes they show ⊥.
    """

    hierarchy: Hierarchy
    original: Ints
    shown: Ints
    is_suppressed: bool = False
    is_sensitive: bool = False


@dataclass(frozen=True, eq=False)
class _Axis:
    """One attribute: what contains what, and how large it is.

    ``ancestors`` (depths, nodes) is −1 where a node has none of that depth; ``areas`` (nodes,) is ln of the
    number of values at or below each node; ``original``, ``shown`` and ``depths`` are of the records (r,).
    """

    ancestors: Ints
    areas: Floats
    original: Ints
    shown: Ints
    depths: Ints

    @property
    def size(self) -> int:
        return len(self.areas)


@dataclass(frozen=True, eq=False)
class Divergences:
    """In nats: suppressed records spread over everything, or dropped (∞ if a value vanishes with them)."""

    spread: float
    dropped: float


class BoxDivergence:
    """Reconstruction from boxes.

    Parameters
    ----------
    sides
        The quasi-identifiers and the sensitive attributes.
    suppressed, amounts
        (r,) which records are suppressed, and how many there are of each.

    Raises NotSupported if a hierarchy is no tree.
    """

    def __init__(
        self, sides: Sequence[BoxSides], suppressed: Bools, amounts: Longs, domain: LeafDomain
    ) -> None:
        self._axes = [_axis(side, suppressed, amounts, domain) for side in sides]
        self._n, width = int(amounts.sum()), len(self._axes)
        sizes = [axis.size for axis in self._axes]
        raw = distinct_rows([axis.original for axis in self._axes], sizes, len(amounts))
        self._raw, self._counts = raw, _amounts(raw.inverse, amounts, raw.size)
        columns = [
            *(axis.depths + 1 for axis in self._axes),
            *(axis.shown for axis in self._axes),
            suppressed.astype(np.int32),
        ]
        depths = [len(axis.ancestors) + 1 for axis in self._axes]
        boxes = distinct_rows(columns, [*depths, *sizes, 2], len(amounts))
        self._patterns = distinct_rows(
            [boxes.codes[:, i] for i in (*range(width), 2 * width)], [*depths, 2], boxes.size
        )
        self._nodes = boxes.codes[:, width : 2 * width]
        self._amounts = _amounts(boxes.inverse, amounts, boxes.size)

    def divergences(self) -> Divergences:
        """Both readings."""
        kept = np.full(self._raw.size, -math.inf)
        suppressed = kept.copy()
        flags = self._patterns.codes[:, -1] > 0
        for pattern in range(self._patterns.size):
            depths = [depth - 1 for depth in self._patterns.codes[pattern, :-1].tolist()]
            found = self._density(depths, np.flatnonzero(self._patterns.inverse == pattern))
            into = suppressed if flags[pattern] else kept
            np.logaddexp(into, found, out=into)
        n_kept = int(self._amounts[~flags[self._patterns.inverse]].sum())
        return Divergences(
            spread=self._divergence(np.logaddexp(kept, suppressed), self._n),
            dropped=self._divergence(kept, n_kept) if n_kept else math.inf,
        )

    def _divergence(self, density: Floats, n_shown: int) -> float:
        """KL of the original from ``density`` (ln of records per value), which adds up to ``n_shown``."""
        terms = np.log(self._counts) - density
        if np.isposinf(terms).any():
            return math.inf
        return max(0.0, exact_sum(self._counts * terms) / self._n + math.log(n_shown / self._n))

    def _density(self, depths: Sequence[int], boxes: Longs) -> Floats:
        """(x,) ln of the records per value that boxes of these depths put on each original combination."""
        if len(boxes) <= FEW_BOXES:
            return self._density_of_few(depths, boxes)
        inside = np.ones(self._raw.size, dtype=bool)
        columns, area = [], np.zeros(len(boxes))
        for i, (axis, depth) in enumerate(zip(self._axes, depths, strict=True)):
            own, cell = self._raw.codes[:, i], self._nodes[boxes, i]
            if depth == KNOWN_MISSING:
                inside &= missing_cells(own)
                continue
            above = axis.ancestors[depth][own]
            inside &= above >= 0
            area += axis.areas[cell]
            columns.append((np.concatenate([cell, np.maximum(above, 0)]), axis.size))
        rows = distinct_rows([c for c, _ in columns], [s for _, s in columns], len(boxes) + len(inside))
        held = np.bincount(rows.inverse[: len(boxes)], self._amounts[boxes], rows.size)
        areas = np.zeros(rows.size)
        areas[rows.inverse[: len(boxes)]] = area
        with np.errstate(divide="ignore"):
            densities = np.log(held) - areas
        return np.where(inside, densities[rows.inverse[len(boxes) :]], -math.inf)

    def _density_of_few(self, depths: Sequence[int], boxes: Longs) -> Floats:
        """The same box by box: most combinations are outside by the first attributes."""
        found, everything = np.full(self._raw.size, -math.inf), np.arange(self._raw.size)
        for box in boxes.tolist():
            rows, area = everything, 0.0
            for i, (axis, depth) in enumerate(zip(self._axes, depths, strict=True)):
                own, cell = self._raw.codes[rows, i], self._nodes[box, i]
                if depth == KNOWN_MISSING:
                    rows = rows[missing_cells(own)]
                    continue
                area += axis.areas[cell]
                if cell != TOP:
                    rows = rows[axis.ancestors[depth][own] == cell]
            found[rows] = math.log(self._amounts[box]) - area
        return found


def seconds_of_boxes(trees: Sequence[Hierarchy], shown: Sequence[Ints], n_values: int) -> float:
    """Estimated time of a divergence from boxes.

    Each of ``n_values`` different originals is looked up once per combination of depths among the cells
    ``shown``, (r,) of each attribute.
    """
    depths = [tree.depth[cells] for tree, cells in zip(trees, shown, strict=True)]
    patterns = distinct_rows(depths, [tree.height + 1 for tree in trees], len(depths[0])).size
    return patterns * n_values * len(trees) * SECONDS_PER_BOX_LOOKED_UP


def _axis(side: BoxSides, suppressed: Bools, amounts: Longs, domain: LeafDomain) -> _Axis:
    hierarchy, own = side.hierarchy, side.original
    hierarchy.require_tree("A divergence")
    shown, known = side.shown, missing_cells(own) & ~suppressed
    if side.is_suppressed:
        shown, known = np.zeros_like(own), np.zeros_like(known)
    elif side.is_sensitive:
        shown, known = np.where(suppressed, own, shown), missing_cells(own)
    depths = np.where(known, KNOWN_MISSING, hierarchy.depth[shown]).astype(np.int32)
    areas = log_areas(hierarchy, _amounts(own, amounts, hierarchy.n_nodes), domain)
    # (depths, nodes) the ancestor of each depth, −1 where a node has none.
    ancestors = [
        np.where(hierarchy.depth >= d, hierarchy.ancestors_at(hierarchy.height - d), -1)
        for d in range(hierarchy.height + 1)
    ]
    return _Axis(np.stack(ancestors).astype(np.int32), areas, own, shown, depths)


def _amounts(of: Integers, amounts: Longs, n: int) -> Longs:
    """(n,) the amounts added up by what they are of."""
    return np.bincount(of, amounts, n).astype(np.int64)
