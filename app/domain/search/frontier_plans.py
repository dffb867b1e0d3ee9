"""Finding the risk–utility frontier of record-level rules in blocks, like any other search.

One sweep over the price of utility visits the lower convex hull of all rules; a dynamic programme over the
total utility adds the points between where utilities are whole numbers of some unit and the table is small
enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from app.domain.numbers import tie_margins
from app.domain.search.frontier import FrontierOutcome, FrontierPoint, PointKind, spread_over
from app.domain.search.problem import FrontierProblem
from app.domain.search.records.choices import Choices, Floats, items_of, steps_of
from app.domain.search.records.knapsack import (
    MAX_BYTES,
    MAX_STEPS,
    front_bytes,
    front_steps,
    unit_of,
    whole_front,
)
from app.domain.search.records.record_instance import RecordInstance
from app.domain.search.records.record_means import CurveBlocks, greatest_risks
from app.domain.search.records.relaxation import relax
from app.domain.search.selection import proper_frontier


@dataclass(frozen=True, eq=False)
class _Front:
    """Points by ascending utility; ``gap`` is how far each may be above the frontier, in risk."""

    solver: str
    is_whole: bool
    risk: Floats
    utility: Floats
    gap: Floats

    @classmethod
    def whole(cls, solver: str, risk: Floats, utility: Floats) -> _Front:
        """All points of a frontier."""
        return cls(solver, True, risk, utility, np.zeros(len(risk)))

    def point(self, i: int) -> FrontierPoint:
        """One of them, with its kind."""
        gap = float(self.gap[i])
        kind: PointKind = "heuristic" if gap else "hull"
        return FrontierPoint(
            float(self.risk[i]), float(self.utility[i]), "proven" if self.is_whole else kind, gap=gap
        )


class RecordFrontier(CurveBlocks):
    """The frontier of the record-level rules: all of it, or its lower convex hull and rules near it."""

    def __init__(self, instance: RecordInstance, problem: FrontierProblem) -> None:
        super().__init__(instance, None)
        self._problem = problem
        self.solver = "lagrangian_sweep" if problem.aggregate == "average" else "enumeration"

    def combine(self, blocks: Mapping[int, bytes]) -> FrontierOutcome:
        """The points; none if every rule has infinite risk."""
        instance, (curves, _) = self.instance, self.curves(blocks)
        front = _Front.whole(self.solver, np.empty(0), np.empty(0))
        if not ((np.diff(curves.starts) == 0) & (instance.mass > 0)).any():
            choices, _ = items_of(curves, instance.of_record, instance.context.table.weights)
            front = self._front(choices)
        shown = spread_over(front.utility, self._problem.max_points)
        return FrontierOutcome(
            problem=self._problem,
            solver=front.solver,
            points=tuple(front.point(i) for i in shown.tolist()),
            n_points=len(front.risk),
            complete=front.is_whole,
            absent=instance.n_absent,
            n_rules=instance.n_nodes,
            counters=self.counters,
            attributes=instance.context.table.attributes,
        )

    def _front(self, choices: Choices) -> _Front:
        total = self.instance.context.total_weight
        if self._problem.aggregate == "max":
            risk, utility = greatest_risks(choices, total)
            kept = proper_frontier(risk, utility)
            return _Front.whole(self.solver, risk[kept], utility[kept])
        unit = unit_of(choices.gain)
        if unit is None or front_steps(choices, unit) > MAX_STEPS or front_bytes(choices, unit) > MAX_BYTES:
            risk, utility, gap = (part / total for part in near_hull(choices, self._problem.max_points))
            kept = proper_frontier(risk, utility)
            gap = np.where(gap > tie_margins(risk), gap, 0.0)
            return _Front(self.solver, False, risk[kept], utility[kept], gap[kept])
        utility, risk = whole_front(choices, unit)
        kept = proper_frontier(risk / total, utility / total)
        return _Front.whole("dynamic_programme", risk[kept] / total, utility[kept] / total)


def near_hull(choices: Choices, n_points: int) -> tuple[Floats, Floats, Floats]:
    """Total risk and utility of the vertices of the lower convex hull of all rules, and their gaps: 0.

    Where there are fewer than ``n_points``, also of rules between them, found by the relaxation, with how far
    each is above the hull.
    """
    steps = steps_of(choices)
    copies = choices.copies.astype(np.float64)
    added = np.stack([steps.harm, steps.gain]) * copies[steps.item]
    start = np.array([[(part[choices.least] * copies).sum()] for part in (choices.harm, choices.gain)])
    passed = np.concatenate([start, start + np.cumsum(added, axis=1)], axis=1)
    # Only after the last of several steps of one price there is a vertex.
    prices = np.append(steps.price, np.inf)
    is_vertex = np.append(True, prices[1:] != prices[:-1])
    harms, gains = passed[:, is_vertex]
    gaps = np.zeros(len(harms))
    if len(harms) >= n_points or not len(steps.item):
        return harms, gains, gaps
    between = []
    for wanted in np.linspace(gains[0], gains[-1], n_points)[1:-1].tolist():
        found = relax(choices, steps, "min_risk", wanted)
        if found is not None:
            between.append((found.harm, found.gain, found.harm - found.value - found.price * found.gain))
    more = np.array(between).reshape(-1, 3).T
    return (
        np.concatenate([harms, more[0]]),
        np.concatenate([gains, more[1]]),
        np.concatenate([gaps, np.maximum(more[2], 0.0)]),
    )
