"""Kullback–Leibler divergence of a table from what a release lets an analyst reconstruct.

Source: Machanavajjhala (2008), section 3.6.

F(x) is the share of the records equal to x, x over the quasi-identifiers and the sensitive attributes. F* is
what remains if every shown record is spread evenly over the values that it may stand for. In nats:
KL = Σ_x F(x) ln(F(x) / F*(x)), 0 iff F* = F.

A value missing in the original is a category of its own, shown as such until the attribute is suppressed.
Suppressed records are spread over all values of the quasi-identifiers; what they add to F* elsewhere counts.

An original may be a node that has values below it. A rule of levels alone tells which values a node that is
shown stands for: those that its level makes this node, at level 0 the node itself. A release in which records
are suppressed shows nodes and no levels: there a node stands for all values at or below it (``kl_boxes``).

F* is then even inside every class of every more specific rule, and of such distributions the one with the
classes' own masses is nearest to F: hence the divergence never falls when a rule at or above suppresses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from app.domain.arrays import Bools, Floats, Integers, Longs
from app.domain.hierarchies.hierarchy import TOP
from app.domain.losses.kl_boxes import BoxDivergence, BoxSides, categories, is_hidden, seconds_of_boxes
from app.domain.losses.loss import ClassLoss, LeafDomain, LossKind, RuleClasses
from app.domain.tables.distinct import group, row_keys
from app.domain.tables.numbers import exact_sum
from app.domain.tables.table import Table

SLACK: Final = 1e-9
"""Nats by which bounds stay below what sums in other orders may differ by."""


class KLDivergenceLoss(ClassLoss):
    """The divergence for table-level rules; sensitive attributes are shown as they are.

    Raises NotSupported if a hierarchy is no tree.
    """

    kind: LossKind = "kl_divergence"

    def __init__(self, table: Table, attributes: Sequence[int], domain: LeafDomain = "active") -> None:
        reduced = table.reduced
        # A sensitive attribute among the quasi-identifiers is one of these and no second time itself.
        sensitive = sorted(set(map(table.position, table.sensitive)) - set(attributes))
        self._n = table.n_records
        self._amounts = reduced.counts
        self._value, self._n_values = _numbers_of(table, sensitive)
        raw, n_raw = _numbers_of(table, [*attributes, *sensitive])
        self._raw = np.bincount(raw, self._amounts, n_raw)[raw]
        self._columns = [reduced.codes[:, j] for j in attributes]
        self._trees = [table.hierarchies[j] for j in attributes]
        self._sensitive = [(table.hierarchies[j], reduced.codes[:, j]) for j in sensitive]
        self._domain: LeafDomain = domain
        missing = table.reduced_missing
        lacking = np.flatnonzero(missing.any(axis=0)).tolist()
        self._lacks_values = any(j in lacking for j in attributes)
        originals = [*zip(self._trees, self._columns, strict=True), *self._sensitive]
        self._lacking = [reduced.codes[:, j] for j in (*attributes, *sensitive) if j in lacking]
        self._has_inner_nodes = False
        for j, (tree, column) in zip((*attributes, *sensitive), originals, strict=True):
            tree.require_tree("A divergence", "choose another loss")
            self._has_inner_nodes |= bool((~tree.is_leaf[column] & ~missing[:, j]).any())
        if self._has_inner_nodes:
            trees, columns = [tree for tree, _ in originals], [column for _, column in originals]
            self.more_seconds = seconds_of_boxes(trees, columns, reduced.size)
        # Per attribute and level, ln of how many values that stands for which each node becomes.
        self._areas: list[Floats] = []
        for hierarchy, column in zip(self._trees, self._columns, strict=True):
            records = np.bincount(column, self._amounts, hierarchy.n_nodes).astype(np.int64)
            values = categories(hierarchy, records, domain)
            of_level = []
            for level in range(hierarchy.height + 1):
                becomes = hierarchy.ancestors_at(level)
                counts = np.bincount(becomes[values], minlength=hierarchy.n_nodes)
                of_level.append(np.log(np.maximum(counts, 1))[becomes])
            self._areas.append(np.stack(of_level))
        self._everything = math.fsum(float(areas[-1][TOP]) for areas in self._areas)

    def of(self, levels: Sequence[int], classes: RuleClasses, suppressed: Bools | None = None) -> float:
        """Nats from the table to what can be reconstructed from the release, ≥ 0."""
        of_row, n_classes = classes.of_row, len(classes.sizes)
        if suppressed is None or not suppressed.any():
            return self._divergence(np.log(self._counted(of_row, n_classes, self._amounts)), levels)
        suppressed_rows = suppressed[of_row]
        if self._has_inner_nodes or any(is_hidden(column, suppressed_rows) for column in self._lacking):
            # The same from the boxes of what each row's cells show, whatever the levels that show it
            sides = [
                BoxSides(tree, own, own, is_hidden(own, suppressed_rows), is_sensitive=True)
                for tree, own in self._sensitive
            ]
            for tree, own, level in zip(self._trees, self._columns, levels, strict=True):
                shown = np.where(suppressed_rows, TOP, tree.ancestors_at(level)[own])
                sides.append(BoxSides(tree, own, shown, is_hidden(shown, suppressed_rows)))
            return BoxDivergence(sides, suppressed_rows, self._amounts, self._domain).divergences().spread
        if self._lacks_values:
            # Who is suppressed for a missing value may match records that are shown, and counts among these.
            of_row, n_classes = self._shown_classes(levels)
        kept = self._counted(of_row, n_classes, np.where(suppressed_rows, 0, self._amounts))
        amounts = np.bincount(self._value[suppressed_rows], self._amounts[suppressed_rows], self._n_values)
        with np.errstate(divide="ignore"):
            spread = np.log(amounts[self._value]) - self._everything + self._area(levels)
            return self._divergence(np.logaddexp(np.log(kept), spread), levels)

    def least(self, levels: Sequence[int], classes: RuleClasses, suppressed: Bools | None = None) -> float:
        """Nats that no rule at or above the levels falls below, whoever of the classes is suppressed."""
        if suppressed is None or not suppressed.any():
            return self.of(levels, classes)
        counted = self._counted(*self._shown_classes(levels), self._amounts)
        return self._divergence(np.log(counted), levels)

    def least_below(self, classes: RuleClasses, suppressed: Bools | None, k: int) -> float:
        """Who is suppressed is spread over everything, and all others are disclosed as they are.

        No box that is shown holds the values x of those that all the rules suppress, the share p of all. So
        F*(x) is no more than the share of x's sensitive value over the number of all values of the
        quasi-identifiers, and by the log-sum inequality Σ F ln(F / F*) over the other values is no less than
        (1 − p) ln(1 − p).
        """
        if suppressed is None or self._has_inner_nodes or self._lacking:
            return 0.0
        lost = suppressed[classes.of_row]
        share = float(self._amounts[lost].sum()) / self._n
        of_value = np.bincount(self._value, self._amounts, self._n_values)[self._value[lost]]
        terms = self._amounts[lost] * (np.log(self._raw[lost] / of_value) + self._everything)
        others = (1 - share) * math.log(1 - share) if share < 1 else 0.0
        return float(terms.sum()) / self._n + others - SLACK

    def _divergence(self, shown: Floats, levels: Sequence[int]) -> float:
        """The divergence, from ln of the records (R,) that stand for as many values as each row's own."""
        terms = np.log(self._raw) - shown + self._area(levels)
        return max(0.0, exact_sum(self._amounts * terms) / self._n)

    def _shown_classes(self, levels: Sequence[int]) -> tuple[Longs, int]:
        """(R,) number of what each row is shown as, suppressed or not, and how many numbers there are."""
        pairs = zip(self._trees, self._columns, levels, strict=True)
        shown = [tree.ancestors_at(level)[column] for tree, column, level in pairs]
        keys, limit = row_keys(shown, [tree.n_nodes for tree in self._trees], len(self._amounts))
        first, inverse = group(keys, limit)
        return inverse.astype(np.int64), len(first)

    def _area(self, levels: Sequence[int]) -> Floats:
        """(R,) ln of how many combinations of values each row may stand for."""
        area = np.zeros(len(self._amounts))
        for column, areas, level in zip(self._columns, self._areas, levels, strict=True):
            area += areas[level][column]
        return area

    def _counted(self, of_row: Integers, n_classes: int, amounts: Integers) -> Floats:
        """(R,) the amounts of the rows of each row's class with its sensitive values."""
        limit = n_classes * self._n_values
        keys = of_row.astype(np.int64) * self._n_values + self._value
        if limit > 8 * len(keys) + 1024:
            first, inverse = group(keys, limit)
            keys, limit = inverse.astype(np.int64), len(first)
        return np.asarray(np.bincount(keys, amounts, limit)[keys], dtype=np.float64)


def _numbers_of(table: Table, attributes: Sequence[int]) -> tuple[Longs, int]:
    """Number of each distinct record's combination of some attributes, and how many there are."""
    reduced = table.reduced
    columns, sizes = [reduced.codes[:, j] for j in attributes], [table.sizes[j] for j in attributes]
    keys, limit = row_keys(columns, sizes, reduced.size)
    first, inverse = group(keys, limit)
    return inverse.astype(np.int64), len(first)
