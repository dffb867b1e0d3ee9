"""Optimal record-level rules under a constraint on means (Δ) or by the greatest risk, and their frontier.

Blocks reduce the lattice of every distinct record to the nodes that no other dominates. A constraint on the
means then couples the records: the price of utility that the relaxation finds bounds every rule, and a
dynamic programme over the total utility finds the best one where utilities are whole numbers of some unit.

For the risk–utility frontier one sweep over the price of utility visits the lower convex hull of all rules; a
dynamic programme over the total utility adds the points between where utilities are whole numbers of some
unit and the table is small enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from app.domain.arrays import Floats, Longs
from app.domain.counting.calibration import (
    BYTES_PER_CHOSEN_RECORD,
    SECONDS_PER_CHOSEN_RECORD,
    SECONDS_PER_SWEPT_RECORD,
)
from app.domain.search.budget import Halted, never
from app.domain.search.frontier import FrontierOutcome, FrontierPoint, PointKind, spread_over
from app.domain.search.objectives import MinRisk
from app.domain.search.outcome import Bounds, Counters, Outcome, proven, shortfall_of
from app.domain.search.problem import FrontierProblem, Problem
from app.domain.search.record_rules.blocks import block_of, bounds_of, cautious, hopeful, popular, try_on_all
from app.domain.search.record_rules.choices import Choices, Curves, Goal, chosen_by, items_of, relax, steps_of
from app.domain.search.record_rules.instance import RecordInstance
from app.domain.search.record_rules.knapsack import (
    MAX_BYTES,
    MAX_STEPS,
    front_bytes,
    front_steps,
    solve_by_lists,
    solve_exactly,
    unit_of,
    whole_front,
)
from app.domain.search.record_rules.undominated_nodes import curve_source, curves_of, curves_of_block
from app.domain.search.selection import proper_frontier
from app.domain.tables.numbers import tie_margin, tie_margins


@dataclass(frozen=True, eq=False)
class Answer:
    """What was chosen: the choice of each copy of each item, and a bound of the mean that is sought.

    ``bound`` is None if the choice is the best there is; ``chosen`` is None if nothing meets the threshold.
    """

    solver: str
    chosen: list[Longs] | None
    bound: float | None = None
    reach: float = math.nan


class CurveBlocks:
    """The undominated nodes of every distinct record; a block is a range of records."""

    seconds_per_choice = SECONDS_PER_CHOSEN_RECORD
    """What it takes to choose among them, per record."""

    def __init__(self, instance: RecordInstance, floor: float | None) -> None:
        self.instance = instance
        self._floor = floor
        self.units = instance.n_distinct
        self.n_blocks = max(1, math.ceil(self.units / instance.rows_per_block))

    @property
    def seconds(self) -> float:
        """Estimated time of all blocks, and of choosing among what they find."""
        found = self.units * curve_source(self.instance, self._floor).seconds_per_record
        counted = self.instance.counting_seconds(self.n_blocks)
        return counted + found + self.instance.context.table.n_records * self.seconds_per_choice

    @property
    def n_bytes(self) -> int:
        """Estimated memory: the instance and the points of all curves."""
        return self.instance.n_bytes + self.units * BYTES_PER_CHOSEN_RECORD

    def run_block(self, index: int, tick: Callable[[int], None], halted: Halted = never) -> bytes:
        """The undominated nodes of the block's records as packed rows."""
        rows = block_of(self.units, self.n_blocks, index)
        return curves_of_block(self.instance, rows, self._floor, tick, halted)

    def curves(self, blocks: Mapping[int, bytes]) -> tuple[Curves, Longs]:
        """The undominated nodes of all distinct records, and the records whose are missing."""
        return curves_of(blocks, [len(block_of(self.units, self.n_blocks, i)) for i in range(self.n_blocks)])

    @property
    def counters(self) -> Counters:
        """Every node of every lattice is evaluated."""
        return Counters(*[self.units * self.instance.n_nodes] * 3)


class MeanPlan(CurveBlocks):
    """Solves for the mean risk under a mean constraint, or for the greatest risk under any."""

    def __init__(self, instance: RecordInstance, asked: Problem) -> None:
        self._asked = asked
        self._problem = asked.in_utility(instance.context.utility)
        each = self._problem.objective.kind == "min_risk" and self._problem.constraint == "per_record"
        super().__init__(instance, self._problem.objective.lowest_utility if each else None)
        self.solver = "enumeration" if asked.aggregate == "max" else "dynamic_programme"

    def combine(self, blocks: Mapping[int, bytes]) -> Outcome:
        """The rule of all records, or what keeps them from having one."""
        curves, missing = self.curves(blocks)
        return self._solved(curves) if not len(missing) else self._so_far(curves, missing)

    def _so_far(self, curves: Curves, missing: Longs) -> Outcome:
        """A rule from the curves there are; its bound from points that the others cannot be better than."""
        instance = self.instance
        tried = try_on_all(
            instance, self._problem, popular(curves.node, np.ones(len(curves.node), dtype=np.int64))
        )
        bounds = bounds_of(instance, replace(self._problem, objective=MinRisk(0.0)), tried)
        best = self._solved(hopeful(curves, missing, tried, bounds), is_scored=False)
        if best.status == "infeasible":
            return replace(best, complete=False)
        found = self._solved(cautious(curves, missing, tried, self._floor))
        lower = -math.inf if best.bounds is None else best.bounds.lower
        found = replace(found, status="heuristic", complete=False, shortfall=None, prohibited_records=0)
        if found.objective is None:
            return replace(found, bounds=Bounds(lower, math.inf))
        gap = proven(self._problem, found.objective).lower - lower
        return replace(found, bounds=Bounds(lower, max(0.0, gap)))

    def _solved(self, curves: Curves, is_scored: bool = True) -> Outcome:
        """The answer from the curves of all records, or only its bounds."""
        instance, problem = self.instance, self._problem
        outcome = Outcome.of(
            instance.context, self._asked, self.solver, "optimal", None,
            absent=instance.n_absent, n_rules=instance.n_nodes, counters=self.counters,
        )  # fmt: skip
        reach = float((curves.reach * instance.mass).sum()) / instance.context.total_weight
        without = np.diff(curves.starts) == 0
        if self._floor is None:
            without &= instance.mass > 0
        else:
            short = without & (curves.reach < self._floor)
            if short.any():
                records = int(instance.multiplicity[short].sum())
                return self._infeasible(outcome, float(curves.reach[short].min()), records)
        if reach < problem.objective.lowest_utility:
            return self._infeasible(outcome, reach)
        if without.any() and problem.objective.kind != "max_utility":
            return replace(
                outcome, status="prohibited", prohibited_records=int(instance.multiplicity[without].sum())
            )
        if without.any():
            return self._infeasible(outcome, math.inf)
        choices, item_of = items_of(curves, instance.of_record, instance.context.table.weights)
        choose = choose_by_greatest if problem.aggregate == "max" else choose_by_mean
        answer = choose(choices, problem, instance.context.total_weight)
        if answer.chosen is not None and not is_scored:
            value = value_of(choices, answer, problem, instance.context.total_weight)
            return replace(outcome, bounds=Bounds(value, 0.0))
        if answer.chosen is not None:
            # Node per record (n,): copies of an item take their choices in the order of the table.
            # Records of weight 0 change no mean; they take their least risk, ⊥ if all of it is
            # infinite
            held = np.diff(curves.starts) > 0
            least = np.full(len(held), instance.n_nodes - 1, dtype=np.int64)
            least[held] = curves.node[curves.starts[:-1][held]]
            nodes = least[instance.of_record]
            order = np.argsort(item_of, kind="stable")
            order = order[item_of[order] >= 0]
            nodes[order] = choices.node[np.concatenate(answer.chosen)]
            found = replace(outcome, solver=answer.solver)
            found = found.with_rule(instance.context, instance.rule_of(nodes))
            return found if answer.bound is None else found.unless_above(answer.bound)
        if problem.objective.kind == "min_risk":
            # Only rules of infinite risk reach the floor.
            return replace(outcome, status="prohibited")
        return self._infeasible(outcome, answer.reach)

    def _infeasible(self, outcome: Outcome, reach: float, records: int | None = None) -> Outcome:
        context = self.instance.context
        n = context.table.n_records if records is None else records
        return replace(outcome, status="infeasible", shortfall=shortfall_of(context, self._asked, reach, n))


def value_of(choices: Choices, answer: Answer, problem: Problem, total_weight: float) -> float:
    """What the objective, as it is minimised, cannot fall below by an answer that chose something."""
    if answer.bound is not None:
        return answer.bound
    chosen = np.concatenate(answer.chosen or [])
    utility = float(choices.gain[chosen].sum()) / total_weight
    is_mean = problem.aggregate == "average"
    risk = float(choices.harm[chosen].sum()) / total_weight if is_mean else float(choices.risk[chosen].max())
    return problem.objective.key(risk, utility)[0]


def choose_by_mean(choices: Choices, problem: Problem, total_weight: float) -> Answer:
    """Least mean risk of at least a mean utility, or greatest mean utility of at most a mean risk."""
    steps = steps_of(choices)
    objective = problem.objective
    goal: Goal = "min_risk" if objective.kind == "min_risk" else "max_utility"
    limit = (objective.lowest_utility if goal == "min_risk" else objective.highest_risk) * total_weight
    relaxed = relax(choices, steps, goal, limit)
    if relaxed is None:
        ends = choices.gain[choices.most] if goal == "min_risk" else choices.harm[choices.least]
        return Answer(
            "lagrangian_relaxation", None, reach=float((ends * choices.copies).sum()) / total_weight
        )
    if relaxed.price == 0.0:
        return Answer("lagrangian_relaxation", chosen_by(choices, steps, relaxed))
    unit = unit_of(choices.gain)
    if unit is None:
        exact = solve_by_lists(choices, relaxed, goal, limit, total_weight)
    else:
        exact = solve_exactly(choices, relaxed, goal, limit, total_weight, unit)
    if exact is not None:
        return Answer("dynamic_programme", exact)
    bound = relaxed.bound / total_weight
    return Answer(
        "lagrangian_relaxation", chosen_by(choices, steps, relaxed), bound if goal == "min_risk" else -bound
    )


def choose_by_greatest(choices: Choices, problem: Problem, total_weight: float) -> Answer:
    """The same with the greatest risk of any record in place of the mean.

    Every record takes its choice of most utility within that risk.
    """
    risks, utilities = greatest_risks(choices, total_weight)
    if problem.objective.kind == "max_utility":
        if risks[0] > problem.objective.highest_risk:
            return Answer("enumeration", None, reach=float(risks[0]))
        at = int(np.flatnonzero(risks <= problem.objective.highest_risk)[-1])
    elif problem.objective.kind == "lagrangian":
        values, _ = problem.objective.key(risks, utilities)
        best = float(values.min())
        at = int(np.flatnonzero(values <= best + tie_margin(best))[-1])
    elif problem.constraint == "per_record":
        at = 0
    else:
        enough = utilities >= problem.objective.lowest_utility
        if not enough.any():
            return Answer("enumeration", None, reach=float(utilities[-1]))
        at = int(enough.argmax())
    most = float(risks[at])
    if problem.objective.kind != "max_utility":
        most += tie_margin(most)
    within = np.add.reduceat((choices.risk <= most).astype(np.int64), choices.starts[:-1])
    last = choices.starts[:-1] + within - 1
    return Answer(
        "enumeration", [np.full(n, k) for n, k in zip(choices.copies.tolist(), last.tolist(), strict=True)]
    )


def greatest_risks(choices: Choices, total_weight: float) -> tuple[Floats, Floats]:
    """Every greatest risk that some record may have, ascending, and the most mean utility within each."""
    start = float(choices.risk[choices.least].max())
    gain = choices.gain * choices.copies[choices.item_of]
    added = gain.copy()
    added[1:] -= gain[:-1]
    added[choices.least] = gain[choices.least]
    order = np.argsort(choices.risk, kind="stable")
    risk, total = choices.risk[order], np.cumsum(added[order]) / total_weight
    last = np.append(risk[1:] != risk[:-1], True) & (risk >= start)
    return risk[last], total[last]


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

    seconds_per_choice = SECONDS_PER_SWEPT_RECORD

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
