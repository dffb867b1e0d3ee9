"""A lower bound of the least loss of all recodings, from what records cost at least.

A loss is a growing function of Σ_j T_j(x_j), with x_j what the cells of attribute j cost over all records and
T_j growing and concave: a logarithm for the geometric loss, linear for the others. A recoding that is better
than the best known has x_j ≤ u_j for some u_j, at first for all of them what withholding everything costs.
Between x_j as the records are and u_j the chord of T_j is below it, so that

    Σ_j T_j(x_j) ≥ Σ_j T_j(as they are) + Σ_j slope_j · (x_j − as they are),

and the last sum is one over records of weighted costs of their cells: at least that of the cheapest cells of
each alone (``alone``), and at least that of prices (``prices``), which are no lower and take more work. With
attribute j weighing nothing the former bounds what all others contribute, hence T_j(x_j) and u_j: chords
over smaller ranges are steeper.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, Literal

import numpy as np

from app.domain.losses.loss import Floats
from app.domain.search.recoding.alone import GoesOn, cheapest_alone
from app.domain.search.recoding.cells import Cells
from app.domain.search.recoding.demands import Demands
from app.domain.search.recoding.prices import record_prices

Work = Literal["little", "some", "much"]

ROUNDS: Final[Mapping[Work, int]] = {"little": 40, "some": 400, "much": 20_000}
"""Levels of a group of attributes at most."""
MOST_WORK: Final = 4e8
"""Levels of a group times distinct records at most."""
SLACK: Final = 1e-10
"""More than sums of costs in another order differ by, as a share: bounds are lowered by it."""
HALVINGS: Final = 60


class LossBound:
    """What no recoding loses less than, narrowed step by step.

    Attributes
    ----------
    least
        The bound found so far.
    """

    def __init__(self, cells: Cells, demands: Demands) -> None:
        self._cells = cells
        self._demands = demands
        q = range(cells.n_attributes)
        self._from = [cells.least_total(i) for i in q]
        self._to = [cells.greatest_total(i) for i in q]
        self._terms = [cells.term(i, total) for i, total in zip(q, self._from, strict=True)]
        self.least = cells.of_terms(self._terms)

    def raise_by(self, work: Work, best: float, goes_on: GoesOn) -> None:
        """Bound the loss with so much work; ``best`` is the loss of a known recoding, ∞ if none is.

        Work that was done before makes what follows bound better.
        """
        if self._demands.necessary and goes_on():
            groups = groups_of_attributes(self._cells, most_levels(self._cells, work))
            if work == "much":
                self._price(groups, goes_on)
            else:
                # Only where terms bend do ranges matter, and rounds that narrow them.
                self._narrow(groups, best if self._cells.loss.kind == "geometric" else None, goes_on)
        self.least = min(self.least, best)

    def _price(self, groups: Sequence[Sequence[int]], goes_on: GoesOn) -> None:
        """Bound the loss by the prices of records in groups of attributes."""
        slopes = self._slopes()
        prices = [
            record_prices(self._cells, self._demands, own, slopes[list(own)], goes_on) for own in groups
        ]
        self._raise_to([float(own @ self._cells.amounts) * (1 - SLACK) for own in prices])

    def _narrow(self, groups: Sequence[Sequence[int]], best: float | None, goes_on: GoesOn) -> None:
        """Bound the loss by the records alone in groups of attributes; with a best loss ranges, too."""
        slopes, added = self._slopes(), []
        for own in groups:
            weights = slopes[list(own)][None, :]
            if best is not None:
                # All rows but the first leave out an attribute each.
                weights = np.tile(weights, (len(own) + 1, 1))
                weights[1:][np.diag_indices(len(own))] = 0.0
            least = cheapest_alone(self._cells, self._demands, own, weights, goes_on)
            added.append((least @ self._cells.amounts) * (1 - SLACK))
        terms = math.fsum(self._terms)
        total = self._raise_to([float(bounds[0]) for bounds in added])
        if best is None or math.isinf(best):
            return
        for own, bounds in zip(groups, added, strict=True):
            for place, i in enumerate(own):
                others = terms - self._terms[i] + total - float(bounds[0]) + float(bounds[place + 1])
                self._lower(i, self._cells.loss.sum_of(best) - others)

    def _raise_to(self, added: Sequence[float]) -> float:
        """Bound the loss by what groups of attributes add at least to the terms; the sum of that."""
        total = math.fsum(added)
        found = math.fsum(self._terms) + total
        self.least = max(self.least, self._cells.loss.of_sum(found - SLACK * abs(found)))
        return total

    def _slopes(self) -> Floats:
        return np.array([self._slope(i) for i in range(self._cells.n_attributes)])

    def _slope(self, i: int) -> float:
        width = self._to[i] - self._from[i]
        return (self._cells.term(i, self._to[i]) - self._terms[i]) / width if width > 0 else 0.0

    def _lower(self, i: int, most: float) -> None:
        """Attribute i contributes at most so much to the sum of terms."""
        most += SLACK * max(1.0, abs(most))
        low, high = self._from[i], self._to[i]
        if self._cells.term(i, high) <= most:
            return
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            if self._cells.term(i, middle) <= most:
                low = middle
            else:
                high = middle
        self._to[i] = high


def most_levels(cells: Cells, work: Work) -> int:
    """Levels that a group of attributes may have for so much work."""
    return min(ROUNDS[work], int(MOST_WORK / cells.size))


def groups_of_attributes(cells: Cells, most: int) -> list[list[int]]:
    """The attributes in groups of at most so many levels together (or one alone), the most telling first."""
    heights = [cells.table.heights[j] for j in cells.attributes]
    telling = [
        len(np.unique(column)) if height else 0 for column, height in zip(cells.raw.T, heights, strict=True)
    ]
    found: list[list[int]] = []
    rules: list[int] = []
    for i in sorted(range(len(heights)), key=lambda i: (-telling[i], i)):
        if found and rules[-1] * (heights[i] + 1) <= most:
            found[-1].append(i)
            rules[-1] *= heights[i] + 1
        else:
            found.append([i])
            rules.append(heights[i] + 1)
    return found
