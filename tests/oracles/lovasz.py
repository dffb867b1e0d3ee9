"""The Lovász extension of a function, by its definition and for the number of entities in closed form."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from app.domain.arrays import Levels
from app.domain.search.aggregate.approximation import Point, outcomes
from app.domain.search.aggregate.chain_records import ChainRecord


def extension(function: Callable[[Levels], float], point: Point) -> float:
    """f̂(x̂), the mean of f over the level sets."""
    return sum(outcome.probability * function(outcome.levels) for outcome in outcomes(point))


def extended_count(record: ChainRecord, point: Point) -> float:
    """T̂(x̂) = Σ_t min(1, min over τ_i(t) > 0 of x̂_{i, τ_i(t)})."""
    least = np.ones(len(record.multiplicity))
    for part, thresholds in zip(point, record.thresholds.T, strict=True):
        np.minimum(least, np.concatenate([[1.0], part])[thresholds], out=least)
    return float(least @ record.multiplicity)
