"""Losses of classes: discernibility, class size and ambiguity (Definitions: losses of information)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from app.domain.arrays import Bools, Floats
from app.domain.losses.cell_costs import leaves_under
from app.domain.losses.loss import ClassLoss, LeafDomain, LossKind, RuleClasses
from app.domain.tables.numbers import exact_sum
from app.domain.tables.table import Table

SLACK: Final = 1e-12
"""Share by which bounds stay below what sums in other orders may differ by."""


class DiscernibilityLoss(ClassLoss):
    """Σ f² over kept classes + n · (suppressed records) (Bayardo and Agrawal (2005))."""

    kind: LossKind = "discernibility"

    def of(self, levels: Sequence[int], classes: RuleClasses, suppressed: Bools | None = None) -> float:
        """Pairs of records that a reader cannot tell apart, n for each record that is suppressed."""
        sizes = classes.sizes
        # Whoever is suppressed is told from nobody: n is no less than any class.
        against = sizes if suppressed is None else np.where(suppressed, int(sizes.sum()), sizes)
        return float(int(sizes @ against))

    def least_below(self, classes: RuleClasses, suppressed: Bools | None, k: int) -> float:
        """Classes split into as many as may be, and n for each record that is suppressed.

        Of a class of f records m are kept in no more than q = ⌊f/k⌋ classes, which costs m²/q + n (f − m) at
        least: that is least at m = min(f, n q / 2).
        """
        n, lost = int(classes.sizes.sum()), 0
        sizes = classes.sizes
        if suppressed is not None:
            lost, sizes = int(sizes[suppressed].sum()), sizes[~suppressed]
        sizes = sizes[sizes > 0].astype(np.float64)
        parts = np.maximum(sizes // k, 1.0)
        kept = np.minimum(sizes, n * parts / 2)
        return float((kept * kept / parts + n * (sizes - kept)).sum() + float(n) * lost) * (1 - SLACK)


class AverageClassSizeLoss(ClassLoss):
    """n / (kept classes + 1 if anything is suppressed); 0 of no records."""

    kind: LossKind = "average_class_size"

    def of(self, levels: Sequence[int], classes: RuleClasses, suppressed: Bools | None = None) -> float:
        """Records per class, the suppressed ones being one class; 0 of no records."""
        sizes = classes.sizes
        occupied = sizes > 0
        kept = int(np.count_nonzero(occupied))
        if suppressed is not None:
            suppressed_classes = int(np.count_nonzero(occupied & suppressed))
            kept += (suppressed_classes > 0) - suppressed_classes
        return int(sizes.sum()) / kept if kept else 0.0

    def least_below(self, classes: RuleClasses, suppressed: Bools | None, k: int) -> float:
        """Classes split into as many as may be, and one of the suppressed records."""
        kept = classes.sizes if suppressed is None else classes.sizes[~suppressed]
        return int(classes.sizes.sum()) / (int((kept // k).sum()) + 1) * (1 - SLACK)


class AmbiguityLoss(ClassLoss):
    """Σ over records of Π_j (leaves under the cell): the original records that a shown one may stand for.

    Products and sums are those of doubles: exact while they are below 2⁵³, else right to 1e-12 of their size.
    """

    kind: LossKind = "ambiguity"

    def __init__(self, table: Table, attributes: Sequence[int], domain: LeafDomain = "declared") -> None:
        reduced = table.reduced
        self._amounts = reduced.counts.astype(np.float64)
        self._columns = [reduced.codes[:, j] for j in attributes]
        self._leaves: list[Floats] = []
        for j, column in zip(attributes, self._columns, strict=True):
            hierarchy = table.hierarchies[j]
            records = np.bincount(column, self._amounts, hierarchy.n_nodes).astype(np.int64)
            leaves = leaves_under(hierarchy, records, domain).astype(np.float64)
            self._leaves.append(
                np.stack([leaves[hierarchy.ancestors_at(v)] for v in range(hierarchy.height + 1)])
            )
        self._whole = math.prod(float(leaves[-1][0]) for leaves in self._leaves)
        self._as_they_are = self._products([0] * len(self._leaves)) * self._amounts

    def of(self, levels: Sequence[int], classes: RuleClasses, suppressed: Bools | None = None) -> float:
        """Combinations of leaves that all records together may stand for."""
        product = self._products(levels)
        if suppressed is not None:
            product[suppressed[classes.of_row]] = self._whole
        return exact_sum(product * self._amounts)

    def least_below(self, classes: RuleClasses, suppressed: Bools | None, k: int) -> float:
        """Nobody is generalised, but who is suppressed may stand for everything."""
        if suppressed is None:
            return 0.0
        lost = suppressed[classes.of_row]
        if not lost.any():
            return 0.0
        found = float(self._as_they_are[~lost].sum()) + self._whole * float(self._amounts[lost].sum())
        return found * (1 - SLACK)

    def _products(self, levels: Sequence[int]) -> Floats:
        """(R,) leaves that each distinct record may stand for."""
        product = np.ones(len(self._amounts))
        for column, leaves, level in zip(self._columns, self._leaves, levels, strict=True):
            product *= leaves[level][column]
        return product
