"""Figures of many measured values."""

from __future__ import annotations

import math
from collections.abc import Sequence


def percentile(values: Sequence[float], share: float) -> float:
    """The least value that at least this share (0 < share ≤ 1) of the values does not exceed; NaN of none."""
    if not values:
        return math.nan
    return sorted(values)[max(math.ceil(share * len(values)), 1) - 1]


def slope(points: Sequence[tuple[float, float]]) -> float:
    """How much y grows with x by least squares; 0 where fewer than two different x were seen."""
    n = len(points)
    if len({x for x, _ in points}) < 2:
        return 0.0
    mean_x = sum(x for x, _ in points) / n
    mean_y = sum(y for _, y in points) / n
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
