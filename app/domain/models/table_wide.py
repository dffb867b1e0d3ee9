"""Criteria about all remaining classes together, and what they take at least to be met."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Bools, Floats
from app.domain.models.criterion import Criterion, Merging
from app.domain.models.judging import JudgedClasses
from app.domain.tables.numbers import highest_accepted

SAME_SUM: Final = 1e-12
"""More than sums of surpluses in other orders differ by, as a share of the records."""


Indices = npt.NDArray[np.intp]


def fewest_in_order(surpluses: Sequence[Floats], order: Indices) -> int:
    """How many classes of an order have to go at least so that no sum over the others is above 0.

    Up to rounding: never one more, perhaps one less.

    *Lemma.* Let the classes whose surpluses are above 0 come first in the order, those of greater surpluses
    earlier (in all of ``surpluses``), and let no class cost less than one before it. Then no set of classes
    that may go costs less than the first ones of the order, as many as this function says.

    *Proof.* A class whose surplus is not above 0 is left out of the set, and what is left of it still may
    go. If it has m classes, the first m of the order have no smaller surpluses in sum, so that they may go,
    and cost no more: the i-th of them costs no more than the i-th of the set in the order. The fewest first
    ones cost least of these. ∎
    """
    fewest = 0
    for surplus in surpluses:
        taken = np.cumsum(np.maximum(surplus[order], 0.0))
        above = float(surplus.sum()) - SAME_SUM * (len(order) + float(np.abs(surplus).sum()))
        if above > 0:
            fewest = max(fewest, int(np.searchsorted(taken, above)) + 1)
    return min(fewest, len(order))


@dataclass(frozen=True)
class AtMost(Criterion):
    """A number of all remaining classes together that may be no greater than a threshold."""

    merging: ClassVar[Merging] = "none"
    table_wide: ClassVar[bool] = True

    threshold: float

    def failing(self, judged: JudgedClasses) -> Bools:
        """No single class."""
        return np.zeros(len(judged.sizes), dtype=bool)

    def satisfied(self, judged: JudgedClasses) -> bool:
        """Whether the number is low enough; without classes it is."""
        attained = self.attained(judged)
        return attained is None or attained <= highest_accepted(self.threshold)
