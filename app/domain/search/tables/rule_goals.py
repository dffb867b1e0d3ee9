"""What a search of table-level rules is after: which rules can still matter, given those rated so far.

A rule matters as long as it may be the optimum or tie with it. Bounds and risks are rounded differently,
so rules are only given up where they miss by twice the tie margin; the choice among the rated is then exact.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
import numpy.typing as npt

from app.domain.numbers import highest_accepted, lowest_accepted, tie_margin
from app.domain.search.problem import Problem
from app.domain.search.tables.open_rules import OpenRules

Floats = npt.NDArray[np.float64]

MARGINS = 2.0


class Goal(Protocol):
    """What decides about open rules. ``best`` is the objective of the best rule so far, to be minimised."""

    best: float
    slack: float

    def begin(self, rules: OpenRules) -> None:
        """Close what no rating is needed to give up, and set the caps."""

    def learn(self, rules: OpenRules, utility: float, risk: float) -> None:
        """Lower caps by a rule that was rated."""

    def urgency(self, rules: OpenRules) -> Floats:
        """Per rule held, a number that is least for the open rule to settle next."""

    def bound(self, rules: OpenRules) -> float:
        """What no open rule's objective is below."""

    def is_reached(self, utility: float, risk: float) -> bool:
        """Whether going on to finer rules cannot help a first rule."""


def _beyond(value: float) -> float:
    return value + MARGINS * tie_margin(value)


class LeastRisk:
    """Least risk with at least some utility."""

    slack = 0.0

    def __init__(self, floor: float) -> None:
        self._least = lowest_accepted(floor)
        self.best = math.inf

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

    def bound(self, rules: OpenRules) -> float:
        """Risk that no open rule is below."""
        return float(rules.lower[rules.is_open].min())

    def is_reached(self, utility: float, risk: float) -> bool:
        """Whether the floor is kept: finer rules only risk more."""
        return utility >= self._least


class GreatestUtility:
    """Greatest utility with at most some risk, then least risk."""

    slack = 0.0

    def __init__(self, cap: float) -> None:
        self._most = highest_accepted(cap)
        self.best = math.inf

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

    def bound(self, rules: OpenRules) -> float:
        """Utility, its sign turned, that no open rule exceeds."""
        return -float(rules.utility[rules.is_open].max())

    def is_reached(self, utility: float, risk: float) -> bool:
        """Whether the cap is exceeded: finer rules only risk more."""
        return risk > self._most


class LeastBalance:
    """Least risk − λ · utility."""

    slack = 0.0

    def __init__(self, trade_off: float) -> None:
        self._trade_off = trade_off
        self.best = math.inf

    def begin(self, rules: OpenRules) -> None:
        """Every rule may be the best."""

    def learn(self, rules: OpenRules, utility: float, risk: float) -> None:
        """Cap the risk of each open rule by what would make up for its utility."""
        value = risk - self._trade_off * utility
        if value < self.best:
            self.best = value
            rules.lower_caps(_beyond(value) + self._trade_off * rules.utility)

    def urgency(self, rules: OpenRules) -> Floats:
        """Least balance that is still possible."""
        return rules.lower - self._trade_off * rules.utility

    def bound(self, rules: OpenRules) -> float:
        """Balance that no open rule is below."""
        return float(self.urgency(rules)[rules.is_open].min())

    def is_reached(self, utility: float, risk: float) -> bool:
        """Never: more risk may come with more utility."""
        return False


class EveryFloor:
    """Least risk for every floor under the utility: all rules that no other dominates."""

    slack = 0.6

    def __init__(self) -> None:
        self.best = math.inf

    def begin(self, rules: OpenRules) -> None:
        """Every rule may be on the frontier."""

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

    def is_reached(self, utility: float, risk: float) -> bool:
        """Never: every rule on the way may be on the frontier."""
        return False


def goal_of(problem: Problem) -> Goal:
    """The goal of a problem whose threshold is in utility as it is."""
    if problem.objective == "min_risk":
        return LeastRisk(problem.threshold)
    if problem.objective == "max_utility":
        return GreatestUtility(problem.threshold)
    return LeastBalance(problem.threshold)
