"""The risk–utility frontier of an instance: the rules that no other dominates.

A rule dominates another if it has at most its risk and at least its utility, one of them strictly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Floats
from app.domain.search.outcome import Counters
from app.domain.search.problem import FrontierProblem
from app.domain.tables.numbers import to_json_number

PointKind = Literal["proven", "hull", "heuristic"]


@dataclass(frozen=True)
class FrontierPoint:
    """One rule of the frontier.

    ``kind``: ``proven`` – no rule dominates it, and between it and its neighbours in the full frontier there
    is no other point; ``hull`` – no rule dominates it, but there may be points of the frontier between it and
    its neighbours, all of them above the line that joins the two; ``heuristic`` – a rule whose distance from
    the frontier is at most ``gap`` (a risk). ``levels`` are those of a table-level rule.
    """

    risk: float
    utility: float
    kind: PointKind
    levels: tuple[int, ...] | None = None
    gap: float = 0.0


@dataclass(frozen=True)
class FrontierOutcome:
    """The frontier, by ascending utility.

    ``n_points`` counts the points found before ``max_points`` thinned them. ``complete`` says that those are
    all points of the frontier. ``prices`` are the risks that one more unit of utility costs between
    neighbouring points shown.
    """

    problem: FrontierProblem
    solver: str
    points: tuple[FrontierPoint, ...]
    n_points: int
    complete: bool
    absent: int
    n_rules: int
    counters: Counters
    attributes: tuple[str, ...]

    @property
    def prices(self) -> tuple[float, ...]:
        """Risk per unit of utility from each point to the next, one less than there are points."""
        pairs = zip(self.points, self.points[1:], strict=False)
        return tuple((b.risk - a.risk) / (b.utility - a.utility) for a, b in pairs)

    def to_document(self) -> dict[str, Any]:
        """Plain JSON-able form without ids and times."""
        prices: list[float | str | None] = [to_json_number(price) for price in self.prices]
        if self.points:
            prices.append(None)
        return {
            **self.problem.to_document(),
            "solver": self.solver,
            "n_points": self.n_points,
            "complete": self.complete,
            "absent": self.absent,
            "rules": self.n_rules,
            "visited_nodes": self.counters.visited_nodes,
            "risk_evaluations": self.counters.risk_evaluations,
            "utility_evaluations": self.counters.utility_evaluations,
            "points": [
                {
                    "risk": to_json_number(point.risk),
                    "utility": point.utility,
                    "kind": point.kind,
                    "gap": point.gap,
                    "price_of_utility": price,
                    "levels": None
                    if point.levels is None
                    else dict(zip(self.attributes, point.levels, strict=True)),
                }
                for point, price in zip(self.points, prices, strict=True)
            ],
        }


def spread_over(utility: Floats, n_points: int) -> npt.NDArray[np.int64]:
    """At most so many positions of ascending utilities, both ends kept, evenly over the utility."""
    if len(utility) <= n_points:
        return np.arange(len(utility))
    wanted = np.linspace(utility[0], utility[-1], n_points)
    after = np.clip(np.searchsorted(utility, wanted), 1, len(utility) - 1)
    nearer = wanted - utility[after - 1] < utility[after] - wanted
    return np.unique(np.where(nearer, after - 1, after))
