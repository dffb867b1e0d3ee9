"""The aggregate objective λ/r(x) + u(x)^κ of one record, maximised (Definitions: aggregate objective).

Fouad (2012) calls it a utility; here it is the aggregate objective f. It is polynomial in the chains' lengths
where the threshold problem is NP-hard: f(x) ≥ α iff g_α(x) = λT(x) + Φ(x)·u(x)^κ − αΦ(x) ≥ 0, and g_α is
supermodular. Each step of a parametric search maximises one g_α.

Where Φ is 0 or +∞ the printed formula has no use: the search is over boxes on which 0 < Φ < ∞.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from app.domain.arrays import Floats, Levels
from app.domain.errors import NotSupported
from app.domain.search.aggregate.chain_records import ChainRecord
from app.domain.search.budget import UNLIMITED, Budget, Halted, HaltedError, never
from app.domain.search.objectives import AggregateObjective
from app.domain.tables.numbers import tie_margin

PROVEN = 1e-9
"""What exact means of a parametric search in floating point, relative to the maximum."""


@dataclass(frozen=True)
class BoxObjective:
    """f and g_α on one box of a record's lattice, where 0 < Φ < ∞ unless λ = 0."""

    record: ChainRecord
    trade_off: float
    kappa: int

    def value(self, levels: Levels) -> float:
        """f(x) = λT(x)/Φ(x) + u(x)^κ; +∞ if it is greater than any number."""
        gained = power(self.record.utility(levels), self.kappa)
        if self.trade_off == 0.0:
            return gained
        return self.trade_off * self.record.count(levels) / self.record.phi(levels) + gained

    def lifted(self, levels: Levels, alpha: float) -> float:
        """g_α(x)."""
        phi = self.record.phi(levels)
        gained = power(self.record.utility(levels), self.kappa)
        return self.trade_off * self.record.count(levels) + phi * gained - alpha * phi

    @property
    def bound(self) -> float:
        """What f cannot exceed on the box: λT(top)/Φ(top) + u(0)^κ."""
        top, bottom = self.record.heights, (0,) * len(self.record.heights)
        gained = power(self.record.utility(bottom), self.kappa)
        return self.trade_off * self.record.count(top) / self.record.phi(top) + gained


def power(utility: float, kappa: int) -> float:
    """u^κ with 0⁰ = 1, +∞ if it is greater than any number."""
    try:
        return utility**kappa
    except OverflowError:
        return math.inf


Maximiser = Callable[[float], Levels]
"""The least of the nodes at which g_α is greatest, given α; half a tie of f counts as equal.

One that looks at ``halted`` itself raises HaltedError.
"""


@dataclass(frozen=True)
class Step:
    """One step of a parametric search: α, the greatest g_α, and where it is."""

    alpha: float
    greatest: float
    levels: Levels


@dataclass(frozen=True)
class BoxOptimum:
    """The best node of a box with f there; no node of the box has f above ``bound``."""

    levels: Levels
    value: float
    bound: float
    steps: tuple[Step, ...]


def dinkelbach(
    objective: BoxObjective, maximise: Maximiser, budget: Budget = UNLIMITED, halted: Halted = never
) -> BoxOptimum:
    """Maximise f: raise α to f of where g_α is greatest until that is no longer above α.

    α rises strictly over the values of f on a finite lattice, so it ends, at the maximum. ``budget`` limits
    the steps and the gap.
    """
    levels: Levels = (0,) * len(objective.record.heights)
    alpha, bound = objective.value(levels), max(objective.value(levels), objective.bound)
    least_phi = objective.record.phi(objective.record.heights)
    steps: list[Step] = []
    while not halted() and not budget.suffices(-alpha, -bound):
        if budget.max_nodes is not None and len(steps) >= budget.max_nodes:
            break
        try:
            found = maximise(alpha)
        except HaltedError:
            break
        greatest = objective.lifted(found, alpha)
        steps.append(Step(alpha, greatest, found))
        value = objective.value(found)
        if value <= alpha:
            # The maximiser prefers the least of equals; what it gives in for that is less than a tie.
            levels = found if value >= alpha - tie_margin(alpha) else levels
            bound = alpha
            break
        # f(x) − α = g_α(x)/Φ(x), and Φ is least at the top.
        bound = min(bound, alpha + max(greatest, 0.0) / least_phi) if least_phi > 0 else bound
        levels, alpha = found, value
    return BoxOptimum(levels, objective.value(levels), max(bound, alpha), tuple(steps))


def bisection(
    objective: BoxObjective, maximise: Maximiser, budget: Budget = UNLIMITED, halted: Halted = never
) -> BoxOptimum:
    """Maximise f by halving an interval of α that holds the maximum, until it is narrower than a tie."""
    levels: Levels = (0,) * len(objective.record.heights)
    low, high = objective.value(levels), max(objective.value(levels), objective.bound)
    steps: list[Step] = []

    def look(alpha: float) -> tuple[float, Levels]:
        found = maximise(alpha)
        steps.append(Step(alpha, objective.lifted(found, alpha), found))
        return objective.value(found), found

    while high - low > tie_margin(low) / 2:
        middle = low + (high - low) / 2
        spent = budget.max_nodes is not None and len(steps) >= budget.max_nodes
        if spent or halted() or budget.suffices(-low, -high) or not low < middle < high:
            return BoxOptimum(levels, low, high, tuple(steps))
        try:
            value, found = look(middle)
        except HaltedError:
            break
        if value > low:
            levels, low = found, value
        if value < middle:
            high = max(middle, low)
    try:
        value, found = look(low)
    except HaltedError:
        return BoxOptimum(levels, low, high, tuple(steps))
    if value >= low - tie_margin(low):
        levels, low = found, value
    return BoxOptimum(levels, low, max(high, low), tuple(steps))


Box = tuple[Levels, Levels]


@dataclass(frozen=True)
class AggregateOptimum:
    """What a record is best disclosed as.

    Attributes
    ----------
    levels
        None if every disclosure has an infinite sensitivity.
    value
        f there; u^κ alone where nothing is at stake, because no disclosure has any sensitivity.
    bound
        What f cannot exceed: ``value`` unless the search ended early.
    steps
        Those of each box that was searched, in its own levels.
    evaluations
        Nodes at which g_α was maximal or f was looked at.
    """

    levels: Levels | None
    value: float
    bound: float
    boxes: tuple[Box, ...] = ()
    steps: tuple[tuple[Step, ...], ...] = ()

    @property
    def evaluations(self) -> int:
        """Nodes at which g_α was maximised or f was looked at: all steps, and one per box."""
        return sum(map(len, self.steps)) + len(self.boxes)

    @property
    def proven(self) -> bool:
        """Whether the bound is the value, up to what the greatest g_α is rounded by."""
        return self.bound <= self.value or self.bound - self.value <= PROVEN * max(1.0, abs(self.value))


def maximise_aggregate(
    record: ChainRecord,
    asked: AggregateObjective,
    maximiser: Callable[[BoxObjective], Maximiser],
    budget: Budget = UNLIMITED,
    halted: Halted = never,
) -> AggregateOptimum:
    """The best of the nodes that the policy admits, of equals the one of highest utility, then least levels.

    ``maximiser`` says how g_α is maximised on a box. Somebody must be consistent with the record as it is:
    then T ≥ 1 everywhere. A budget of nodes is shared by the boxes, each of which takes at least one step.
    NotSupported where u^κ outgrows all numbers.
    """
    record = record.with_base(record.base + (asked.phi_offset or 0.0))
    least = record.least_finite
    if least is None:
        return AggregateOptimum(None, -math.inf, -math.inf)
    harmless = record.least_harmless
    gained = power(record.utility(least), asked.kappa)
    if not math.isfinite(gained):
        raise NotSupported(
            f"The utility to the power of {asked.kappa} is greater than any number.",
            "Choose a smaller kappa, or weigh the utility less.",
        )
    if asked.threshold > 0.0 and harmless is not None and asked.phi_zero_policy == "unbounded":
        return AggregateOptimum(harmless, math.inf, math.inf)
    if asked.threshold == 0.0 or record.phi(least) == 0.0:
        return AggregateOptimum(least, gained, gained)
    search = dinkelbach if asked.parametric_search == "dinkelbach" else bisection
    boxes = admitted_boxes(record, least, harmless)
    found: list[tuple[Levels, BoxOptimum]] = []
    for lo, hi in boxes:
        objective = BoxObjective(record.box(lo, hi), asked.threshold, asked.kappa)
        best = search(objective, _made_when_used(maximiser, objective), budget.shared_by(len(boxes)), halted)
        found.append((tuple(a + b for a, b in zip(lo, best.levels, strict=True)), best))
    value = max(best.value for _, best in found)
    tied = [(at, best) for at, best in found if best.value >= value - tie_margin(value)]
    utility = max(record.utility(at) for at, _ in tied)
    levels = min(at for at, _ in tied if record.utility(at) >= utility - tie_margin(utility))
    return AggregateOptimum(
        levels, value, max(best.bound for _, best in found), boxes, tuple(best.steps for _, best in found)
    )


def _made_when_used(maximiser: Callable[[BoxObjective], Maximiser], objective: BoxObjective) -> Maximiser:
    """A maximiser that is made at its first use: a halted search should not prepare what it will not do."""
    made: list[Maximiser] = []

    def maximise(alpha: float) -> Levels:
        if not made:
            made.append(maximiser(objective))
        return made[0](alpha)

    return maximise


def admitted_boxes(record: ChainRecord, least: Levels, harmless: Levels | None) -> tuple[Box, ...]:
    """Boxes that hold the nodes with 0 < Φ < ∞, and no others.

    The whole box above the least finite node, unless Φ is 0 somewhere: then one box per attribute, on which
    that attribute keeps some weight.
    """
    top = record.heights
    if harmless is None:
        return ((least, top),)
    return tuple(
        (least, (*top[:i], harmless[i] - 1, *top[i + 1 :])) for i in range(len(top)) if harmless[i] > least[i]
    )


def aggregate_values(counts: Floats, phi: Floats, utility: Floats, asked: AggregateObjective) -> Floats:
    """Values of f at nodes (nodes, lattices), −∞ where they are not admitted.

    Any Φ will do. Where no node of a lattice has any sensitivity, all are admitted with u^κ alone.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        phi = phi + (asked.phi_offset or 0.0)
        gained = np.power(utility, asked.kappa)
        safety = asked.threshold * (counts / phi)
    finite = np.isfinite(phi)
    at_stake = (finite & (phi > 0)).any(axis=0)
    if asked.threshold == 0.0:
        return np.where(finite, gained, -np.inf)
    values = np.where(finite & (phi > 0), safety + gained, -np.inf)
    if asked.phi_zero_policy == "unbounded":
        values[phi == 0] = np.inf
        return values
    harmless = np.where(finite, gained, -np.inf)
    return np.where(at_stake, values, harmless)
