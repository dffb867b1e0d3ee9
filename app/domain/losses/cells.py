"""Losses that are sums over cells: normalised loss, precision, non-uniform entropy, certainty, height.

The normalised loss (field models 2): share_j(v) is the number of leaves under v over all leaves of hierarchy
j; a suppressed cell has share 1. With s_j the sum of the shares over all n records and m_j leaves the loss of
attribute j is L_j = (s_j − n/m_j) / (n − n/m_j), 0 if m_j = 1; the loss of a release is
Π_j (1 + L_j)^(1/m) − 1 (geometric) or the mean of the L_j (arithmetic).

m_j · s_j is a whole number, so every L_j is one correctly rounded quotient of two integers: a loss depends
on nothing but the records.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from app.domain.distinct import Longs
from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.losses.cell_costs import (
    CategoryRange,
    CellCost,
    ConditionalBits,
    LeafShare,
    LevelShare,
    NumberRange,
)
from app.domain.losses.loss import Floats, LeafDomain, LossKind, SummedLoss, Sums
from app.domain.tables import Table

MakeCost = Callable[[str, Hierarchy, Longs], CellCost]
"""The cost of an attribute's cells, from its name, hierarchy and records per node."""


class CellLoss(SummedLoss):
    """The mean of what the attributes have lost.

    Attributes
    ----------
    costs
        Per attribute what a cell of it costs.

    Raises NotSupported if a hierarchy with levels between is no tree.
    """

    def __init__(self, table: Table, attributes: Sequence[int], kind: LossKind, make: MakeCost) -> None:
        self.kind = kind
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
            shown = np.stack([hierarchy.ancestors_at(level)[nodes] for level in range(hierarchy.height + 1)])
            of_level = np.broadcast_to(cost.of(nodes, shown), shown.shape)
            self.nodes.append(nodes)
            self.records.append(records[nodes])
            self.uncovered.append(of_level[-1] - of_level)
            self.costs.append(cost)
            self._totals.append(of_level @ records[nodes])

    def terms(self, attribute: int, added: Sums | int = 0) -> Floats:
        """What the attribute contributes to the sum of terms on its first levels."""
        totals, cost = self._totals[attribute], self.costs[attribute]
        totals = totals[: added.size] + added if isinstance(added, np.ndarray) else totals + added
        if not cost.scale:
            return np.zeros(len(totals))
        return self._term((totals - cost.offset) / cost.scale)

    def of_sums(self, totals: Floats) -> Floats:
        """The mean over the attributes."""
        return totals / self.n_attributes

    def sums_of(self, losses: Floats) -> Floats:
        """Inverse of :meth:`of_sums`."""
        return losses * self.n_attributes

    def of(self, levels: Sequence[int], added: Sequence[Sums] | None = None) -> float:
        """Loss of a rule, from exact totals where costs are whole numbers."""
        more = (
            [0] * len(self.nodes)
            if added is None
            else [a[v].item() for a, v in zip(added, levels, strict=True)]
        )
        totals = [t[v].item() + m for t, v, m in zip(self._totals, levels, more, strict=True)]
        return self.of_totals(totals)

    def of_totals(self, totals: Sequence[float]) -> float:
        """The loss, from what the cells of each attribute cost in all; whole where costs are."""
        lost = [cost.lost(total) for cost, total in zip(self.costs, totals, strict=True)]
        return self.of_sum(math.fsum(self._term(np.array(lost)).tolist()))

    def _term(self, lost: Floats) -> Floats:
        """An attribute's term, from what it has lost."""
        return lost


class DomainLoss(CellLoss):
    """The normalised loss of field models 2."""

    def __init__(
        self,
        table: Table,
        kind: Literal["geometric", "arithmetic"] = "geometric",
        attributes: Sequence[int] | None = None,
        domain: LeafDomain = "declared",
    ) -> None:
        chosen = range(table.n_attributes) if attributes is None else attributes
        super().__init__(
            table, chosen, kind, lambda _, hierarchy, records: LeafShare(hierarchy, records, domain)
        )

    def of_sums(self, totals: Floats) -> Floats:
        """The mean over the attributes; of the geometric loss e to the power of it, less one."""
        means = totals / self.n_attributes
        return np.expm1(means) if self.kind == "geometric" else means

    def sums_of(self, losses: Floats) -> Floats:
        """Inverse of :meth:`of_sums`."""
        return self.n_attributes * (np.log1p(losses) if self.kind == "geometric" else losses)

    def _term(self, lost: Floats) -> Floats:
        return np.log1p(lost) if self.kind == "geometric" else lost


class PrecisionLoss(CellLoss):
    """The mean over cells of the level shown as a share of the height (Sweeney 2002)."""

    def __init__(self, table: Table, attributes: Sequence[int]) -> None:
        super().__init__(table, attributes, "precision", lambda _, h, records: LevelShare(h, records))


class EntropyLoss(CellLoss):
    """Non-uniform entropy in bits over all cells (Gionis and Tassa 2009)."""

    def __init__(self, table: Table, attributes: Sequence[int]) -> None:
        super().__init__(
            table, attributes, "non_uniform_entropy", lambda _, h, records: ConditionalBits(h, records)
        )

    # Terms are bits per record, so that they are of the size for which searches round.
    def of_sums(self, totals: Floats) -> Floats:
        """Bits of all records, from bits per record."""
        return totals * self.n_records

    def sums_of(self, losses: Floats) -> Floats:
        """Bits per record, from bits of all records."""
        return losses / self.n_records


class CertaintyLoss(CellLoss):
    """Average information loss of the cells as they are shown, attributes alike (β-likeness 4; NCP).

    Parameters
    ----------
    numeric
        Names of attributes whose cells are measured by the range of the numbers under them.
    """

    def __init__(
        self,
        table: Table,
        attributes: Sequence[int],
        numeric: Sequence[str] = (),
        domain: LeafDomain = "declared",
    ) -> None:
        strangers = set(numeric) - {table.attributes[j] for j in attributes}
        if strangers:
            raise InvalidInput.of(
                "/objective/loss/numeric",
                "unknown-attribute",
                f"{min(strangers)!r} is none of the attributes that are generalised.",
                f"These are: {', '.join(table.attributes[j] for j in attributes)}.",
            )

        def cost(attribute: str, hierarchy: Hierarchy, records: Longs) -> CellCost:
            if attribute in numeric:
                return NumberRange(attribute, hierarchy, records, domain)
            return CategoryRange(hierarchy, records, domain)

        super().__init__(table, attributes, "ail", cost)


class HeightLoss(SummedLoss):
    """The sum of the levels, whoever is suppressed."""

    kind: LossKind = "height"

    def __init__(self, table: Table, attributes: Sequence[int]) -> None:
        self.nodes, self.records, self.uncovered = [], [], []
        for j in attributes:
            height = table.heights[j]
            counts = np.bincount(table.reduced.codes[:, j], table.reduced.counts, table.sizes[j])
            nodes = np.flatnonzero(counts)
            self.nodes.append(nodes)
            self.records.append(counts[nodes].astype(np.int64))
            self.uncovered.append(np.zeros((height + 1, len(nodes)), dtype=np.int64))

    def terms(self, attribute: int, added: Sums | int = 0) -> Floats:
        """The levels themselves."""
        levels = added.size if isinstance(added, np.ndarray) else len(self.uncovered[attribute])
        return np.arange(levels, dtype=np.float64)

    def of_sums(self, totals: Floats) -> Floats:
        """The sum of the levels as it is."""
        return totals

    def sums_of(self, losses: Floats) -> Floats:
        """The loss as it is."""
        return losses

    def of(self, levels: Sequence[int], added: Sequence[Sums] | None = None) -> float:
        """The sum of the levels; ``added`` changes nothing."""
        return float(sum(levels))
