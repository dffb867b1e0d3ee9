"""Lower bounds of the losses of all recodings that are no sums over cells.

Discernibility and average class size follow from the least records of a class. Ambiguity is bounded by each
record alone, as losses of cells are (``alone``): its product over attributes is a sum of logarithms. Then
each group of attributes is priced for what it multiplies the least product of all others with (``prices``).
The height of a recoding is bounded by that of the best rule for the table under the criteria that stay met
when classes are joined, for the rule of the recoding's greatest levels joins its classes and withholds nobody
whom the recoding discloses. For the divergence see ``divergence_bound``.
"""

from __future__ import annotations

import math
from typing import Final, Protocol

import numpy as np

from app.domain.distinct import Longs
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.losses.cell_costs import CellCost, Nodes, leaves_under
from app.domain.losses.cells import CellLoss
from app.domain.losses.loss import Floats, LeafDomain, Sums
from app.domain.search.recoding.alone import GoesOn, cheapest_alone
from app.domain.search.recoding.bound import SLACK, Work, groups_of_attributes, most_levels
from app.domain.search.recoding.cells import Cells
from app.domain.search.recoding.demands import Demands
from app.domain.search.recoding.prices import record_prices
from app.domain.tables import Table

MOST_EXACT: Final = 2.0**52
"""Whole numbers below it are doubles."""


class Bound(Protocol):
    """What no recoding loses less than; ``least`` is the bound found so far."""

    least: float

    def raise_by(self, work: Work, best: float, goes_on: GoesOn) -> None:
        """Bound the loss with so much work; ``best`` is the loss of a known recoding, ∞ if none is."""


class KnownBound:
    """A bound that is known beforehand."""

    def __init__(self, least: float) -> None:
        self.least = least

    def raise_by(self, work: Work, best: float, goes_on: GoesOn) -> None:
        """Nothing is left to do."""


class AmbiguityBound:
    """Σ over records of the least product of leaves that each may show alone."""

    def __init__(self, cells: Cells, demands: Demands, domain: LeafDomain) -> None:
        self._cells = cells
        self._demands = demands
        self._as_they_are = np.zeros(cells.size)
        for i, j in enumerate(cells.attributes):
            hierarchy = cells.table.hierarchies[j]
            records = np.bincount(cells.raw[:, i], cells.amounts, hierarchy.n_nodes).astype(np.int64)
            self._as_they_are += np.log(leaves_under(hierarchy, records, domain)[cells.raw[:, i]])
        self.least = self._of(np.exp(self._as_they_are))

    def raise_by(self, work: Work, best: float, goes_on: GoesOn) -> None:
        """Take the attributes in greater groups the more work may be done."""
        if not self._demands.necessary or not goes_on():
            return
        cells = self._cells
        groups = groups_of_attributes(cells, most_levels(cells, work))
        added = [
            cheapest_alone(cells, self._demands, own, np.ones((1, len(own))), goes_on)[0] for own in groups
        ]
        alone = self._as_they_are + sum(added)
        self._raise_to(np.exp(alone))
        if work == "much":
            for own, of_group in zip(groups, added, strict=True):
                weights = np.ones(len(own))
                self._raise_to(record_prices(cells, self._demands, own, weights, goes_on, alone - of_group))

    def _raise_to(self, of_records: Floats) -> None:
        self.least = max(self.least, self._of(of_records))

    def _of(self, of_records: Floats) -> float:
        found = float(of_records @ self._cells.amounts) * (1 - SLACK)
        # Products of leaves are whole numbers.
        return float(math.ceil(found)) if found < MOST_EXACT else found


class LeafLogarithms(CellLoss):
    """Mean logarithm of the leaves under cells: the ambiguity of a record is a product of these leaves."""

    def __init__(self, table: Table, attributes: tuple[int, ...], domain: LeafDomain) -> None:
        super().__init__(
            table, attributes, "ambiguity", lambda _, h, records: _Logarithms(h, records, domain)
        )


class _Logarithms(CellCost):
    """ln of the leaves under the node shown."""

    def __init__(self, hierarchy: Hierarchy, records: Longs, domain: LeafDomain) -> None:
        self._logarithms = np.log(leaves_under(hierarchy, records, domain).clip(1))
        self.scale = int(records.sum())

    def of(self, original: Nodes, shown: Nodes) -> Sums:
        return np.asarray(self._logarithms[shown])


def least_discernibility(cells: Cells, demands: Demands) -> float:
    """Records in as many classes as may be, all about as large, whoever else is withheld."""
    n, withheld, classes = _classes_at_most(cells, demands)
    small, larger = np.divmod(n - withheld, np.maximum(classes, 1))
    squares = larger * (small + 1) ** 2 + (classes - larger) * small**2
    return float((squares + n * withheld)[_possible(n, withheld, classes)].min(initial=n * n))


def least_average_class_size(cells: Cells, demands: Demands) -> float:
    """Records over the most classes that there can be, those withheld being one."""
    n, withheld, classes = _classes_at_most(cells, demands)
    most = (classes + (withheld > 0))[_possible(n, withheld, classes)].max(initial=1)
    return n / int(most)


def _classes_at_most(cells: Cells, demands: Demands) -> tuple[int, Longs, Longs]:
    """Records, how many may be withheld (w,), and how many classes the others make then at most (w,)."""
    n = int(cells.amounts.sum())
    withheld = np.arange(int(cells.amounts[demands.left_out].sum()), max(demands.allowed, 0) + 1)
    return n, withheld, (n - withheld) // demands.least


def _possible(n: int, withheld: Longs, classes: Longs) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """(w,) whether whoever is not withheld makes a class, if there is anybody."""
    return np.asarray((classes > 0) | (withheld == n))
