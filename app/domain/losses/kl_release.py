"""The divergence of :mod:`kl_divergence` for releases of any rule.

Cells of records that are treated differently overlap, so that a value x may lie in many of the boxes that are
shown. Boxes of equal depths are disjoint: per combination of depths that occurs, x lies in at most one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.domain.classes.grouping import Bools
from app.domain.classes.released import Release
from app.domain.distinct import Ints, Longs, distinct_rows
from app.domain.hierarchies import TOP, Hierarchy
from app.domain.losses.kl_divergence import categories
from app.domain.losses.loss import Floats, LeafDomain
from app.domain.losses.released import withholds
from app.domain.numbers import exact_sum

FEW_BOXES = 64
"""So many boxes of equal depths are faster looked at one by one than sorted."""

KNOWN_MISSING = -1
"""In place of a depth: the cell is shown to be missing in the original."""


@dataclass(frozen=True, eq=False)
class _Axis:
    """One attribute: what contains what, and how large it is.

    ``ancestors`` (depths, nodes) is −1 where a node has none of that depth; ``areas`` (nodes,) is ln of the
    number of values at or below each node.
    """

    ancestors: Ints
    depth: Ints
    areas: Floats

    @property
    def size(self) -> int:
        return len(self.depth)


@dataclass(frozen=True, eq=False)
class Divergences:
    """In nats: suppressed records spread over everything, or dropped (∞ if a value vanishes with them)."""

    spread: float
    dropped: float


class ReleaseDivergence:
    """Reconstruction from a release over some attributes.

    Parameters
    ----------
    attributes, sensitive
        Positions of the quasi-identifiers, and of the sensitive attributes, which withheld records keep.
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
        self._axes = [
            _axis(table.hierarchies[j], table.codes[rows, j], domain) for j in (*attributes, *sensitive)
        ]
        self._sizes = [axis.size for axis in self._axes]
        suppressed = release.is_suppressed[rows]
        raw, shown, depths = [], [], []
        for j, axis in zip((*attributes, *sensitive), self._axes, strict=True):
            own, cell = table.codes[rows, j], release.codes[rows, j]
            known = (own == TOP) & (cell == TOP)
            if j in sensitive:
                cell = np.where(suppressed, own, cell)
                known = (own == TOP) & (cell == TOP)
            else:
                known &= ~suppressed
            if withholds(release, j):
                cell, known = np.zeros_like(own), np.zeros_like(known)
            raw.append(own)
            shown.append(cell)
            depths.append(np.where(known, KNOWN_MISSING, axis.depth[cell]).astype(np.int32))
        self._n = len(rows)
        self._raw = distinct_rows(raw, self._sizes, len(rows))
        columns = [*(d + 1 for d in depths), *shown, suppressed.astype(np.int32)]
        sizes = [*(len(axis.ancestors) + 1 for axis in self._axes), *self._sizes, 2]
        boxes = distinct_rows(columns, sizes, len(rows))
        width = len(self._axes)
        self._patterns = distinct_rows(
            [boxes.codes[:, i] for i in (*range(width), 2 * width)], [*sizes[:width], 2], boxes.size
        )
        self._nodes, self._amounts = boxes.codes[:, width : 2 * width], boxes.counts

    def divergences(self) -> Divergences:
        """Both readings."""
        kept = np.full(self._raw.size, -math.inf)
        withheld = kept.copy()
        flags = self._patterns.codes[:, -1] > 0
        for pattern in range(self._patterns.size):
            depths = [depth - 1 for depth in self._patterns.codes[pattern, :-1].tolist()]
            found = self._density(depths, np.flatnonzero(self._patterns.inverse == pattern))
            into = withheld if flags[pattern] else kept
            np.logaddexp(into, found, out=into)
        n_kept = int(self._amounts[~flags[self._patterns.inverse]].sum())
        return Divergences(
            spread=self._divergence(np.logaddexp(kept, withheld), self._n),
            dropped=self._divergence(kept, n_kept) if n_kept else math.inf,
        )

    def _divergence(self, density: Floats, n_shown: int) -> float:
        """KL of the original from ``density`` (ln of records per value), which adds up to ``n_shown``."""
        terms = np.log(self._raw.counts) - density
        if np.isposinf(terms).any():
            return math.inf
        return max(0.0, exact_sum(self._raw.counts * terms) / self._n + math.log(n_shown / self._n))

    def _density(self, depths: Sequence[int], boxes: Longs) -> Floats:
        """(x,) ln of the records per value that boxes of these depths put on each original combination."""
        if len(boxes) <= FEW_BOXES:
            return self._density_of_few(depths, boxes)
        inside = np.ones(self._raw.size, dtype=bool)
        columns, area = [], np.zeros(len(boxes))
        for i, (axis, depth) in enumerate(zip(self._axes, depths, strict=True)):
            own, cell = self._raw.codes[:, i], self._nodes[boxes, i]
            if depth == KNOWN_MISSING:
                inside &= own == TOP
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
                    rows = rows[own == TOP]
                    continue
                area += axis.areas[cell]
                if cell != TOP:
                    rows = rows[axis.ancestors[depth][own] == cell]
            found[rows] = math.log(self._amounts[box]) - area
        return found


def depth_patterns(release: Release, attributes: Sequence[int]) -> int:
    """Combinations of depths at which a release shows cells: so often each original value is looked up."""
    hierarchies = [release.table.hierarchies[j] for j in attributes]
    depths = [h.depth[release.codes[:, j]] for h, j in zip(hierarchies, attributes, strict=True)]
    return distinct_rows(depths, [h.height + 1 for h in hierarchies], release.table.n_records).size


def _axis(hierarchy: Hierarchy, own: Ints, domain: LeafDomain) -> _Axis:
    hierarchy.require_tree("A divergence")
    records = np.bincount(own, minlength=hierarchy.n_nodes).astype(np.int64)
    below = np.bincount(
        hierarchy.ancestors(categories(hierarchy, records, domain))[1], minlength=hierarchy.n_nodes
    )
    return _Axis(_ancestors_by_depth(hierarchy), hierarchy.depth, np.log(np.maximum(below, 1)))


def _ancestors_by_depth(hierarchy: Hierarchy) -> Ints:
    """(depths, nodes) the ancestor of each depth, −1 where a node has none."""
    depths = range(hierarchy.height + 1)
    return np.stack(
        [np.where(hierarchy.depth >= d, hierarchy.ancestors_at(hierarchy.height - d), -1) for d in depths]
    ).astype(np.int32)
