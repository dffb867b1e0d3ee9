"""Losses that are sums over cells: normalised loss, precision, non-uniform entropy, certainty, height.

The normalised loss (Definitions: losses of information): share_j(v) is leaves under v over those of hierarchy
j; a suppressed cell has share 1. With s_j the sum of the shares over all n records and m_j leaves the loss of
attribute j is L_j = (s_j − n/m_j) / (n − n/m_j), 0 if m_j = 1; the loss of a release is
Π_j (1 + L_j)^(1/m) − 1 (geometric) or the mean of the L_j (arithmetic). Attributes may have weights, and
suppressed cells may count otherwise (``counting``).

m_j · s_j is a whole number, so every L_j is one correctly rounded quotient of two integers: a loss depends
on nothing but the records.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, Literal

import numpy as np

from app.domain.arrays import Floats, Longs
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.losses.cell_costs import CategoryRange, CellCost, LeafShare, NumberRange, SquaredError
from app.domain.losses.counting import Counting
from app.domain.losses.loss import RANKED, LeafDomain, LossKind, SummedLoss, Sums
from app.domain.tables.table import Table

MakeCost = Callable[[str, Hierarchy, Longs], CellCost]
"""The cost of an attribute's cells, from its name, hierarchy and records per node."""


ALIKE: Final = Counting()


class CellLoss(SummedLoss):
    """The mean of what the attributes have lost, or what else is made of that.

    Attributes
    ----------
    costs
        Per attribute what a cell of it costs.
    unit
        What an attribute has lost of which the terms say 1.

    Raises NotSupported if a hierarchy with levels between is no tree.
    """

    def __init__(
        self,
        table: Table,
        attributes: Sequence[int],
        kind: LossKind,
        make: MakeCost,
        counting: Counting = ALIKE,
        *,
        unit: float = 1.0,
        is_monotone: bool = True,
    ) -> None:
        self.kind, self.unit, self.is_monotone = kind, unit, is_monotone
        self.aggregate = counting.aggregate_of(kind)
        self.counting = counting
        self.n_records = table.n_records
        self.nodes, self.records, self.uncovered = [], [], []
        self.costs: list[CellCost] = []
        self._totals: list[Sums] = []
        amounts = table.reduced.counts.astype(np.float64)
        for j in attributes:
            hierarchy = table.hierarchies[j]
            records = np.bincount(table.reduced.codes[:, j], amounts, hierarchy.n_nodes).astype(np.int64)
            cost = make(table.attributes[j], hierarchy, records)
            nodes = np.flatnonzero(records)
            # Suppressed cells are ⊥, whether or not rules have a level of it.
            levels = (*range(hierarchy.height + 1), hierarchy.level_of_top)
            shown = np.stack([hierarchy.ancestors_at(level)[nodes] for level in levels])
            of_level = np.broadcast_to(cost.of(nodes, shown), shown.shape)
            self.nodes.append(nodes)
            self.records.append(records[nodes])
            self.uncovered.append(counting.uncovered(of_level)[:-1])
            self.costs.append(cost)
            self._totals.append(counting.kept(of_level[:-1]) @ records[nodes])

    def terms(self, attribute: int, added: Sums | int = 0) -> Floats:
        """What the attribute contributes to the sum of terms on its first levels."""
        totals, cost = self._totals[attribute], self.costs[attribute]
        totals = totals[: added.size] + added if isinstance(added, np.ndarray) else totals + added
        offset, scale = self._ends(cost)
        if not scale:
            return np.zeros(len(totals))
        lost = (totals - offset) / scale
        if self.aggregate in RANKED:
            return self.counting.weighed(attribute, lost) * self.unit
        return self.counting.weighed(attribute, self._term(lost))

    def of_sums(self, totals: Floats) -> Floats:
        """The mean over the attributes, or their sum."""
        return self.unit * (totals if self.aggregate == "sum" else totals / self.n_attributes)

    def sums_of(self, losses: Floats) -> Floats:
        """Inverse of :meth:`of_sums`."""
        return (losses if self.aggregate == "sum" else losses * self.n_attributes) / self.unit

    def of(self, levels: Sequence[int], added: Sequence[Sums] | None = None) -> float:
        """Loss of a rule, from exact totals where costs are whole numbers."""
        return self.of_totals(self._totals_of(levels, added))

    def of_attributes(self, levels: Sequence[int], added: Sequence[Sums] | None = None) -> tuple[float, ...]:
        """Per attribute its loss times its weight, from exact totals where costs are whole numbers."""
        return tuple(self.unit * own for own in self._weighed(self._totals_of(levels, added)))

    def of_totals(self, totals: Sequence[float]) -> float:
        """The loss, from what the cells of each attribute cost in all; whole where costs are."""
        if self.aggregate in RANKED:
            return self.unit * max(self._weighed(totals))
        terms = self._term(np.array(self._lost(totals))).tolist()
        return self.of_sum(math.fsum(self.counting.all_weighed(terms)))

    def _totals_of(self, levels: Sequence[int], added: Sequence[Sums] | None) -> list[float]:
        """What the cells of each attribute cost in all, by a rule."""
        more = (
            [0] * len(self.nodes)
            if added is None
            else [a[v].item() for a, v in zip(added, levels, strict=True)]
        )
        return [t[v].item() + m for t, v, m in zip(self._totals, levels, more, strict=True)]

    def _weighed(self, totals: Sequence[float]) -> list[float]:
        return self.counting.all_weighed(self._lost(totals))

    def _lost(self, totals: Sequence[float]) -> list[float]:
        """What each attribute has lost, from what its cells cost in all."""
        if self.counting.counts_cells_alike:
            return [cost.lost(total) for cost, total in zip(self.costs, totals, strict=True)]
        found = []
        for cost, total in zip(self.costs, totals, strict=True):
            offset, scale = self._ends(cost)
            found.append(max(0.0, (total - offset) / scale) if scale else 0.0)
        return found

    def _ends(self, cost: CellCost) -> tuple[float, float]:
        """What the records cost as they are, and how much more if all are suppressed."""
        if self.counting.counts_cells_alike or not cost.scale:
            return cost.offset, cost.scale
        offset = self.counting.generalised * cost.offset
        return offset, cost.scale + cost.offset - offset

    def _term(self, lost: Floats) -> Floats:
        """An attribute's term, from what it has lost."""
        return lost


class DomainLoss(CellLoss):
    """The normalised loss (Definitions: losses of information)."""

    def __init__(
        self,
        table: Table,
        kind: Literal["geometric", "arithmetic"] = "geometric",
        attributes: Sequence[int] | None = None,
        domain: LeafDomain = "declared",
        counting: Counting = ALIKE,
    ) -> None:
        chosen = range(table.n_attributes) if attributes is None else attributes
        super().__init__(
            table, chosen, kind, lambda _, hierarchy, records: LeafShare(hierarchy, records, domain), counting
        )

    def of_sums(self, totals: Floats) -> Floats:
        """As of any cells; of the geometric loss e to the power of the mean, less one."""
        return np.expm1(totals / self.n_attributes) if self.kind == "geometric" else super().of_sums(totals)

    def sums_of(self, losses: Floats) -> Floats:
        """Inverse of :meth:`of_sums`."""
        if self.kind == "geometric":
            return np.asarray(self.n_attributes * np.log1p(losses))
        return super().sums_of(losses)

    def _term(self, lost: Floats) -> Floats:
        return np.log1p(lost) if self.kind == "geometric" else lost


def cost_of_error(
    attribute: str, hierarchy: Hierarchy, records: Longs, numeric: Sequence[str], domain: LeafDomain
) -> CellCost:
    """The cost of an attribute's cells by which ``squared_error`` is computed."""
    if attribute in numeric:
        return SquaredError(attribute, hierarchy, records)
    return LeafShare(hierarchy, records, domain)


def cost_of_range(
    attribute: str, hierarchy: Hierarchy, records: Longs, numeric: Sequence[str], domain: LeafDomain
) -> CellCost:
    """The cost of an attribute's cells by which ``ail`` is computed: of numbers their range, else leaves."""
    if attribute in numeric:
        return NumberRange(attribute, hierarchy, records, domain)
    return CategoryRange(hierarchy, records, domain)


class HeightLoss(SummedLoss):
    """The sum of the levels, or what else is made of them, whoever is suppressed."""

    kind: LossKind = "height"

    def __init__(self, table: Table, attributes: Sequence[int], counting: Counting = ALIKE) -> None:
        self.aggregate = counting.aggregate_of("height")
        self.counting = counting
        self.nodes, self.records, self.uncovered = [], [], []
        self._levels = [
            np.array(table.hierarchies[j].numbers_of_levels, dtype=np.float64) for j in attributes
        ]
        for j in attributes:
            height = table.heights[j]
            counts = np.bincount(table.reduced.codes[:, j], table.reduced.counts, table.sizes[j])
            nodes = np.flatnonzero(counts)
            self.nodes.append(nodes)
            self.records.append(counts[nodes].astype(np.int64))
            self.uncovered.append(np.zeros((height + 1, len(nodes)), dtype=np.int64))

    def terms(self, attribute: int, added: Sums | int = 0) -> Floats:
        """The levels themselves, times the attribute's weight."""
        levels = self._levels[attribute]
        chosen = levels[: added.size] if isinstance(added, np.ndarray) else levels
        return self.counting.weighed(attribute, chosen)

    def of_sums(self, totals: Floats) -> Floats:
        """The sum of the levels as it is, or their mean."""
        return totals / self.n_attributes if self.aggregate == "mean" else totals

    def sums_of(self, losses: Floats) -> Floats:
        """Inverse of :meth:`of_sums`."""
        return losses * self.n_attributes if self.aggregate == "mean" else losses

    def of(self, levels: Sequence[int], added: Sequence[Sums] | None = None) -> float:
        """The sum of the levels; ``added`` changes nothing."""
        return self.counting.combined("height", self._named(levels))

    def of_attributes(self, levels: Sequence[int], added: Sequence[Sums] | None = None) -> tuple[float, ...]:
        """The levels, times the attributes' weights."""
        return tuple(self.counting.all_weighed(self._named(levels)))

    def _named(self, levels: Sequence[int]) -> list[float]:
        return [float(own[level]) for own, level in zip(self._levels, levels, strict=True)]
