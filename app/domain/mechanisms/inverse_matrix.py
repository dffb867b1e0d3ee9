"""The inverse of a transition matrix, by which what was true is estimated from what was published.

PM = diag(α) + 1·Yᵀ is inverted in O(m) (Sherman and Morrison). The equation of the value k with the least |α|
is solved last, so that nothing is divided by α_k, which may be 0: with A = Σ_{i≠k} Y_i / α_i and the pivot
Y_k + α_k·(1 + A), PM·n = e has

    n_k = (e_k·(1 + A) − Σ_{i≠k} Y_i·e_i / α_i) / pivot,    s = e_k − α_k·n_k,    n_i = (e_i − s) / α_i.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final

import numpy as np

from app.domain.arrays import Floats
from app.domain.errors import NotSupported
from app.domain.mechanisms.transition_matrix import TransitionMatrix

GREATEST_CONDITION: Final = 1e12
"""Above it fewer than three digits of an estimate would be right."""


class InverseMatrix:
    """PM⁻¹ in vectors.

    NotSupported, with the condition number, for a matrix without a useful inverse: if two values or more have
    a retention of 0, or other retentions happen to be such.
    """

    def __init__(self, matrix: TransitionMatrix) -> None:
        self._last = int(np.abs(matrix.retention).argmin())
        self._retention = matrix.retention
        self._elsewhere = matrix.elsewhere
        others = np.delete(matrix.retention, self._last)
        self._is_singular = not others.all()
        with np.errstate(divide="ignore"):
            self._inverse = np.insert(1.0 / others, self._last, 0.0)
        if not self._is_singular:
            self._rest = 1.0 + float(self._elsewhere @ self._inverse)
            self._pivot = float(self._elsewhere[self._last] + self._retention[self._last] * self._rest)
            self._is_singular = self._pivot == 0
        if not self.condition <= GREATEST_CONDITION:
            raise NotSupported(
                f"The transition matrix has no useful inverse: its condition number is {self.condition:g}.",
                "Nothing can be counted with it. Perturb with a greater alpha_floor, or in the mode safe.",
            )

    @cached_property
    def condition(self) -> float:
        """‖PM‖₁·‖PM⁻¹‖₁, at least 1: how much a relative error grows at most; ∞ without an inverse."""
        if self._is_singular:
            return float("inf")
        k, inverse, alpha = self._last, self._inverse, self._retention[self._last]
        all_others = float(np.abs(inverse).sum())
        # Column j of the inverse is what PM·n = (1 at j) is solved by.
        own = -self._elsewhere * inverse / self._pivot
        shift = -alpha * own
        columns = np.abs(own) + np.abs((1 - shift) * inverse) + np.abs(shift) * (all_others - np.abs(inverse))
        last = self._rest / self._pivot
        columns[k] = abs(last) + abs(1 - alpha * last) * all_others
        return float(columns.max())

    def applied(self, published: Floats) -> Floats:
        """PM⁻¹·e for e along the last axis, (…, m): unbiased estimates of counts; they may be negative."""
        k = self._last
        rest = published @ (self._elsewhere * self._inverse)
        of_last = (published[..., k] * self._rest - rest) / self._pivot
        shift = published[..., k] - self._retention[k] * of_last
        found = (published - shift[..., None]) * self._inverse
        found[..., k] = of_last
        return np.asarray(found)

    def weights(self, chosen: Floats) -> Floats:
        """PM⁻ᵀ·b for b along the last axis, (…, m).

        For the indicator of a set of values: what one record with each published value adds to the estimate
        of how many have a value of the set.
        """
        k = self._last
        others = chosen @ self._inverse
        total = (chosen[..., k] + self._retention[k] * others) / self._pivot
        found = (chosen - self._elsewhere * total[..., None]) * self._inverse
        found[..., k] = total * self._rest - others
        return np.asarray(found)
