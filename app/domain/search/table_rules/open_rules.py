"""The table-level rules that may still matter to a search, and what each rated rule says about finer ones.

Let x be finer than y. Every count at x is at most that at y, so, where 6.3 holds, the risk at x is at least
the mean of Φ(x) / |ρ(y)| over the records with somebody consistent. Φ(x) exceeds Φ(y) by what is disclosed in
addition, at least the least difference of the weights of any value: Φ(x) ≥ Φ(y) + δ for sums of weights,
Φ(x) ≥ e^δ Φ(y) for their exponential, Φ(x) ≥ e^δ Φ(y) + e^δ − 1 for that minus one; δ ≥ 0. Hence, with s the
mean of 1 / |ρ(y)| over those records,

    risk(x) ≥ bound(y) + slope · g

with g = δ and slope = s for sums, else g = e^δ − 1 and slope = bound(y), plus s where one is taken off.

A rule that was rated bounds every finer one; a rule is closed once its bound exceeds its cap, the risk above
which it cannot matter. Rules are held by ascending utility, so that what a good rule makes hopeless are the
first ones.

A rule matters as long as it may be the optimum or tie with it. Bounds and risks are rounded differently,
so rules are only given up where they miss by twice the tie margin; the choice among the rated is then exact.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Bools, Floats, Longs
from app.domain.search.answers import Arrays
from app.domain.search.context import SearchContext
from app.domain.search.problem import Problem
from app.domain.search.record_risk import outer_sum
from app.domain.tables.numbers import highest_accepted, lowest_accepted, tie_margin

LARGEST_EXPONENT = 500.0

SHARE_TO_KEEP = 0.75

MARGINS = 2.0


class RuleRisk(NamedTuple):
    """Risk of a rule; no finer rule is below ``bound`` + ``slope`` · g, with g of :class:`Growth`."""

    risk: float
    bound: float
    slope: float


@dataclass(frozen=True, eq=False)
class Growth:
    """The least that Φ grows by: between rules, the difference of the sums of ``terms`` (levels,).

    One array per attribute of the table, 0 at ⊥. ``multiplies`` if e to the power of it is a factor of Φ.
    """

    terms: tuple[Floats, ...]
    multiplies: bool

    @classmethod
    def none(cls, shape: Sequence[int]) -> Growth:
        """Nothing is known of it."""
        return cls(tuple(np.zeros(size) for size in shape), False)

    def sizes(self) -> Floats:
        """A number per rule, in lexicographic order of the levels, from which :meth:`between` is found."""
        total = outer_sum(self.terms).reshape(-1)
        return np.exp(total) if self.multiplies else total

    def between(self, more_specific: Floats, more_general: float) -> Floats:
        """What is called g above, of more specific rules and a more general one, from their sizes."""
        return more_specific / more_general - 1.0 if self.multiplies else more_specific - more_general


def least_growth(context: SearchContext) -> Growth:
    """The growth of an instance's Φ; nothing where a weight is infinite or the factors would overflow."""
    sensitivity, table = context.sensitivity, context.table
    shape = [height + 1 for height in table.heights]
    if sensitivity.family == "constant" or sensitivity.interactions:
        return Growth.none(shape)
    terms = []
    for j, hierarchy in enumerate(table.hierarchies):
        own, unit = sensitivity.shapes[j]
        nodes = np.stack([hierarchy.ancestors_at(level) for level in range(shape[j])])[:, table.used_nodes[j]]
        factors = np.unique(sensitivity.factors[:, j])
        weights = [own[nodes]] if np.isnan(factors).any() else []
        weights += [factor * unit[nodes] for factor in factors[np.isfinite(factors)]]
        steps = [_steps(of_factor) for of_factor in weights]
        total = np.zeros(shape[j])
        if steps:
            total[:-1] = np.minimum.reduce(steps)[::-1].cumsum()[::-1]
        terms.append(total)
    multiplies = sensitivity.is_exponential
    if multiplies and sum(float(term[0]) for term in terms) > LARGEST_EXPONENT:
        return Growth.none(shape)
    return Growth(tuple(terms), multiplies)


def _steps(weights: Floats) -> Floats:
    """By how much at least each level outweighs the next more general one, from weights (levels, values)."""
    with np.errstate(invalid="ignore"):
        steps = (weights[:-1] - weights[1:]).min(axis=1, initial=np.inf)
    return np.where(np.isfinite(steps), np.maximum(steps, 0.0), 0.0)


class OpenRules:
    """Rules of a lattice, each open or closed; closed ones are forgotten from time to time.

    Parameters
    ----------
    shape
        Levels per attribute, in the table's order.
    utility
        Of every rule, in lexicographic order of the levels.
    growth
        By how much Φ grows at least from rule to finer rule.

    Attributes
    ----------
    ids, utility, lower, cap, is_open
        Per rule held, by ascending utility: its number in lexicographic order, its utility, what its risk
        cannot be below, its cap and whether it is open.
    """

    def __init__(self, shape: Sequence[int], utility: Floats, growth: Growth) -> None:
        self._shape = tuple(shape)
        self._growth = growth
        self.ids: Longs = np.argsort(utility, kind="stable")
        self.utility = utility[self.ids]
        self.lower = np.zeros(len(utility))
        self.cap = np.full(len(utility), np.inf)
        self.is_open: Bools = np.ones(len(utility), dtype=bool)
        self._all_sizes = growth.sizes()
        self._sizes = self._all_sizes[self.ids]
        kind = np.min_scalar_type(max(self._shape))
        self._levels = [codes.astype(kind) for codes in np.unravel_index(self.ids, self._shape)]

    @property
    def n_open(self) -> int:
        """How many rules are open."""
        return int(np.count_nonzero(self.is_open))

    def rated(self, number: int, levels: Sequence[int], risk: RuleRisk) -> None:
        """Close a rule whose risk is known, and raise the bounds of the finer ones."""
        below = self.is_open.copy()
        for held, level, size in zip(self._levels, levels, self._shape, strict=True):
            if level + 1 < size:
                below &= held <= level
        at = np.flatnonzero(below)
        if not len(at):
            return
        lower = self.lower.take(at)
        if 0 < risk.slope < math.inf:
            bounds = self._growth.between(self._sizes.take(at), float(self._all_sizes[number]))
            bounds *= risk.slope
            bounds += risk.bound
            np.maximum(lower, bounds, out=lower)
        else:
            np.maximum(lower, risk.bound, out=lower)
        self.lower[at] = lower
        # A bound of +∞ leaves nothing to look for.
        closed = (lower > self.cap.take(at)) | (lower == math.inf) | (self.ids.take(at) == number)
        self.is_open[at[closed]] = False

    def lower_caps(self, caps: Floats | float, n_rules: int | None = None) -> None:
        """Lower the caps of the ``n_rules`` first rules (None: all), and close those that exceed them."""
        some = slice(0, n_rules)
        np.minimum(self.cap[some], caps, out=self.cap[some])
        self.is_open[some] &= self.lower[some] <= self.cap[some]

    def close_up_to(self, n_rules: int) -> None:
        """Close the ``n_rules`` first rules."""
        self.is_open[:n_rules] = False

    def forget_closed(self) -> None:
        """Hold open rules only, if that is much less."""
        if self.n_open > SHARE_TO_KEEP * len(self.ids):
            return
        self._hold(self.is_open)
        self.is_open = np.ones(len(self.ids), dtype=bool)

    def kept(self) -> Arrays:
        """What was found of the rules."""
        is_held = np.zeros(len(self._all_sizes), dtype=bool)
        is_held[self.ids] = True
        masks = {"held": np.packbits(is_held), "open": np.packbits(self.is_open)}
        return {**masks, "lower": self.lower, "cap": self.cap}

    def restore(self, kept: Arrays) -> None:
        """Be as others of the same rules were when they kept that; all rules are held."""
        self._hold(np.unpackbits(kept["held"], count=len(self._all_sizes)).astype(bool)[self.ids])
        self.lower, self.cap = kept["lower"], kept["cap"]
        self.is_open = np.unpackbits(kept["open"], count=len(self.ids)).astype(bool)

    def _hold(self, kept: Bools) -> None:
        self.ids, self.utility, self.lower = self.ids[kept], self.utility[kept], self.lower[kept]
        self.cap, self._sizes = self.cap[kept], self._sizes[kept]
        self._levels = [held[kept] for held in self._levels]

    def open_below(self) -> npt.NDArray[np.int32]:
        """For every rule of the lattice, how many open rules are as fine or finer."""
        counts = np.zeros(int(np.prod(self._shape)), dtype=np.int32)
        counts[self.ids[self.is_open]] = 1
        lattice = counts.reshape(self._shape)
        for axis in range(len(self._shape)):
            np.cumsum(lattice, axis=axis, out=lattice)
        return counts


class Goal(ABC):
    """What decides about open rules. ``best`` is the objective of the best rule so far, to be minimised."""

    best: float = math.inf
    slack: float = 0.0

    def begin(self, rules: OpenRules) -> None:  # noqa: B027 - at first any rule may matter
        """Close what no rating is needed to give up, and set the caps."""

    @abstractmethod
    def learn(self, rules: OpenRules, utility: float, risk: float) -> None:
        """Lower caps by a rule that was rated."""

    @abstractmethod
    def urgency(self, rules: OpenRules) -> Floats:
        """Per rule held, a number that is least for the open rule to settle next."""

    def bound(self, rules: OpenRules) -> float:
        """What no open rule's objective is below."""
        return float(self.urgency(rules)[rules.is_open].min())

    def is_reached(self, utility: float, risk: float) -> bool:
        """Whether going on to finer rules cannot help a first rule; never, unless a threshold says so."""
        return False


def _beyond(value: float) -> float:
    return value + MARGINS * tie_margin(value)


class LeastRisk(Goal):
    """Least risk with at least some utility."""

    def __init__(self, floor: float) -> None:
        self._least = lowest_accepted(floor)

    def begin(self, rules: OpenRules) -> None:
        """Close the rules below the floor."""
        rules.close_up_to(int(np.searchsorted(rules.utility, self._least)))

    def learn(self, rules: OpenRules, utility: float, risk: float) -> None:
        """Cap the risk of all open rules by that of one that keeps the floor."""
        if utility >= self._least and risk < self.best:
            self.best = risk
            rules.lower_caps(_beyond(risk))

    def urgency(self, rules: OpenRules) -> Floats:
        """Least risk that is still possible."""
        return rules.lower

    def is_reached(self, utility: float, risk: float) -> bool:
        """Whether the floor is kept: finer rules only risk more."""
        return utility >= self._least


class GreatestUtility(Goal):
    """Greatest utility with at most some risk, then least risk."""

    def __init__(self, cap: float) -> None:
        self._most = highest_accepted(cap)

    def begin(self, rules: OpenRules) -> None:
        """Cap the risk of all rules."""
        rules.lower_caps(_beyond(self._most))

    def learn(self, rules: OpenRules, utility: float, risk: float) -> None:
        """Close what is less useful than a rule within the cap, and cap the risk of no more useful ones."""
        if risk > self._most:
            return
        if -utility < self.best:
            self.best = -utility
            given_up = utility - MARGINS * tie_margin(utility)
            rules.close_up_to(int(np.searchsorted(rules.utility, given_up)))
        # A rule of no more utility and more risk loses to this one.
        rules.lower_caps(_beyond(risk), int(np.searchsorted(rules.utility, utility, side="right")))

    def urgency(self, rules: OpenRules) -> Floats:
        """Utility with its sign turned: the most useful rule comes first."""
        return -rules.utility

    def is_reached(self, utility: float, risk: float) -> bool:
        """Whether the cap is exceeded: finer rules only risk more."""
        return risk > self._most


class LeastBalance(Goal):
    """Least risk − λ · utility."""

    def __init__(self, trade_off: float) -> None:
        self._trade_off = trade_off

    def learn(self, rules: OpenRules, utility: float, risk: float) -> None:
        """Cap the risk of each open rule by what would make up for its utility."""
        value = risk - self._trade_off * utility
        if value < self.best:
            self.best = value
            rules.lower_caps(_beyond(value) + self._trade_off * rules.utility)

    def urgency(self, rules: OpenRules) -> Floats:
        """Least balance that is still possible."""
        return rules.lower - self._trade_off * rules.utility


class EveryFloor(Goal):
    """Least risk for every floor under the utility: all rules that no other dominates."""

    slack = 0.6

    def learn(self, rules: OpenRules, utility: float, risk: float) -> None:
        """Cap the risk of all rules of no more utility."""
        if math.isfinite(risk):
            rules.lower_caps(_beyond(risk), int(np.searchsorted(rules.utility, utility, side="right")))

    def urgency(self, rules: OpenRules) -> Floats:
        """Utility: the least useful rule comes first."""
        return rules.utility

    def bound(self, rules: OpenRules) -> float:
        """Risk that no open rule is below."""
        return float(rules.lower[rules.is_open].min())


def goal_of(problem: Problem) -> Goal:
    """The goal of a problem whose threshold is in utility as it is."""
    if problem.objective.kind == "min_risk":
        return LeastRisk(problem.objective.threshold)
    if problem.objective.kind == "max_utility":
        return GreatestUtility(problem.objective.threshold)
    return LeastBalance(problem.objective.threshold)
