"""The table-level rules that no other rule dominates: what utility costs, and what a trade-off picks."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from app.domain.search.outcome import MapPoint
from app.domain.search.selection import frontier
from app.domain.tables.numbers import lowest_accepted, tie_margin


def undominated(points: Sequence[MapPoint]) -> list[MapPoint]:
    """Rules that no other dominates, by ascending utility, of rules within the tie margin the better one."""
    risk, utility = (np.array([getattr(p, name) for p in points]) for name in ("risk", "utility"))
    kept: list[MapPoint] = []
    for i in reversed(frontier(risk, utility).tolist()):
        point = points[i]
        if kept and point.risk >= kept[-1].risk - tie_margin(kept[-1].risk):
            continue
        if kept and point.utility >= kept[-1].utility - tie_margin(kept[-1].utility):
            kept.pop()
        kept.append(point)
    return kept[::-1]


def least_risk(points: Sequence[MapPoint], floor: float) -> float | None:
    """Least risk of a rule of at least some utility; None if there is no such rule."""
    return min((point.risk for point in points if point.utility >= lowest_accepted(floor)), default=None)


def trade_offs(
    points: Sequence[MapPoint], risk: float, utility: float
) -> tuple[float, float] | tuple[None, None]:
    """The trade-offs λ ≥ 0 for which no rule has a smaller risk − λ · utility."""
    if math.isinf(risk):
        return None, None
    low, high = 0.0, math.inf
    for point in points:
        if point.utility > utility + tie_margin(utility):
            high = min(high, (point.risk - risk) / (point.utility - utility))
        elif point.utility < utility - tie_margin(utility):
            low = max(low, (risk - point.risk) / (utility - point.utility))
        elif point.risk < risk - tie_margin(risk):
            return None, None
    return (low, max(low, high)) if low <= high + tie_margin(high) else (None, None)
