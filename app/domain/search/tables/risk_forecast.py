"""A guess of the risks of rules that were not rated: it steers a search and decides nothing.

The logarithm of the risk is taken for a sum of one term per attribute and level, fitted to the rules that
were rated by a few rounds of averaging the residuals per attribute.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from app.domain.search.canonical import outer_sum

Floats = npt.NDArray[np.float64]

ROUNDS = 3
RIDGE = 0.5


class RiskForecast:
    """The terms, kept between fits so that a new one starts from the last."""

    def __init__(self, shape: Sequence[int]) -> None:
        self._mean = 0.0
        self._terms = [np.zeros(size) for size in shape]

    def fit(self, levels: npt.NDArray[np.integer], risks: Floats) -> None:
        """Fit to rules (rules, m) with their risks; those of risk 0 or infinite say nothing."""
        used = (risks > 0) & np.isfinite(risks)
        if not used.any():
            return
        levels, logs = levels[used], np.log(risks[used])
        self._mean = float(logs.mean())
        residuals = logs - self._mean
        for term, held in zip(self._terms, levels.T, strict=True):
            residuals = residuals - term[held]
        for _ in range(ROUNDS):
            for term, held in zip(self._terms, levels.T, strict=True):
                counts = np.bincount(held, minlength=len(term))
                change = np.bincount(held, residuals, len(term)) / (counts + RIDGE)
                term += change
                residuals = residuals - change[held]

    def log_risks(self) -> Floats:
        """Of every rule, in lexicographic order of the levels."""
        return self._mean + outer_sum(self._terms).reshape(-1)
