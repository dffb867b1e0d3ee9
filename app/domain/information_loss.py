"""How much a table loses by generalisation and by suppressed records, in the field's domain variant.

share_j(v) is the number of leaves under v over all leaves of hierarchy j, those that no record has included;
a suppressed cell has share 1. With s_j the sum of the shares over all n records and m_j leaves the normalised
loss of attribute j is L_j = (s_j − n/m_j) / (n − n/m_j), 0 if m_j = 1; the loss of a release is
Π_j (1 + L_j)^(1/m) − 1 (geometric) or the mean of the L_j (arithmetic).

m_j · s_j is a whole number, so every L_j is one correctly rounded quotient of two integers: a loss depends
on nothing but the records. Records count alike: their weights are for means of risk and utility.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from app.domain.tables import Table

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]

LossKind = Literal["geometric", "arithmetic"]


class DomainLoss:
    """Losses of the table-level rules of one table.

    Attributes
    ----------
    nodes
        Per attribute the nodes that occur in the table, ascending.
    records
        Per attribute how many records have each of the ``nodes``.
    uncovered
        Per attribute (levels, nodes): the leaves that a value does not cover on a level, which is what its
        suppression adds to m_j · s_j.

    Raises NotSupported if a hierarchy with levels between is no tree.
    """

    def __init__(self, table: Table, kind: LossKind = "geometric") -> None:
        self.kind = kind
        self.n_records = table.n_records
        self.n_leaves = tuple(hierarchy.n_leaves for hierarchy in table.hierarchies)
        self.nodes: list[Longs] = []
        self.records: list[Longs] = []
        self.uncovered: list[Longs] = []
        self._covered: list[Longs] = []
        records = table.reduced.counts.astype(np.float64)
        for column, hierarchy in zip(table.reduced.codes.T, table.hierarchies, strict=True):
            counts = np.bincount(column, records, hierarchy.n_nodes).astype(np.int64)
            nodes = np.flatnonzero(counts)
            levels = range(hierarchy.height + 1)
            covered = np.stack([hierarchy.leaf_count[hierarchy.ancestors_at(v)[nodes]] for v in levels])
            self.nodes.append(nodes)
            self.records.append(counts[nodes])
            self.uncovered.append(hierarchy.n_leaves - covered.astype(np.int64))
            self._covered.append(covered @ counts[nodes])

    @property
    def n_attributes(self) -> int:
        return len(self.nodes)

    def added(self, suppressed: Sequence[Longs]) -> list[Longs]:
        """What suppression adds to m_j · s_j on each level, from the records suppressed per node."""
        return [per_level @ records for per_level, records in zip(self.uncovered, suppressed, strict=True)]

    def terms(self, attribute: int, added: Longs | int = 0) -> Floats:
        """What an attribute contributes to :meth:`of_sum` on its first levels, as many as ``added`` has."""
        covered = self._covered[attribute]
        covered = covered[: added.size] + added if isinstance(added, np.ndarray) else covered + added
        leaves = self.n_leaves[attribute]
        if leaves == 1:
            return np.zeros(len(covered))
        lost: Floats = (covered - self.n_records) / (self.n_records * (leaves - 1))
        return np.log1p(lost) if self.kind == "geometric" else lost

    def of_sum(self, total: float) -> float:
        """The loss whose terms add up to ``total``."""
        mean = total / self.n_attributes
        return math.expm1(mean) if self.kind == "geometric" else mean

    def sum_of(self, loss: float) -> float:
        """Inverse of :meth:`of_sum`."""
        return self.n_attributes * (math.log1p(loss) if self.kind == "geometric" else loss)

    def of_sums(self, totals: Floats) -> Floats:
        """:meth:`of_sum` of each."""
        means = totals / self.n_attributes
        return np.expm1(means) if self.kind == "geometric" else means

    def sums_of(self, losses: Floats) -> Floats:
        """:meth:`sum_of` of each."""
        return self.n_attributes * (np.log1p(losses) if self.kind == "geometric" else losses)

    def of(self, levels: Sequence[int], added: Sequence[Longs] | None = None) -> float:
        """Loss of a rule; ``added`` as :meth:`added` gives it for the records that the rule suppresses."""
        terms = []
        for j, level in enumerate(levels):
            more = 0 if added is None else int(added[j][level])
            leaves, covered = self.n_leaves[j], int(self._covered[j][level]) + more
            if leaves > 1:
                lost = (covered - self.n_records) / (self.n_records * (leaves - 1))
                terms.append(math.log1p(lost) if self.kind == "geometric" else lost)
        return self.of_sum(math.fsum(terms))
