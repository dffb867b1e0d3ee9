"""Finding optimal table-level rules by rating few of them: every rating prunes all finer rules.

The utility of a rule is a sum over attributes, hence known for all rules at once; only risks cost time. The
search picks an open rule, climbs from it towards ⊥ as far as a forecast says that the risk still exceeds what
matters, where most open rules are below, and rates the rule it arrives at: if the forecast was right, the
picked rule and all others below are settled by one rating, else it goes back a step. Wrong forecasts cost
ratings, never the optimum. For them the logarithm of the risk is taken for a sum of one term per attribute
and level, fitted to the rules that were rated by a few rounds of averaging the residuals per attribute.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul
from typing import Final

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Floats, Longs
from app.domain.search.answers import Arrays, packed_state, unpacked_state
from app.domain.search.budget import UNLIMITED, Budget, EndedError, Halted, never
from app.domain.search.record_risk import outer_sum
from app.domain.search.table_rules.open_rules import Goal, OpenRules
from app.domain.search.table_rules.scores import RuleScores, Tick

ROUNDS = 3
RIDGE = 0.5

LEAST_GAIN = 1e-300
_STATE: Final = (-1,)
"""Nothing that is asked of a rule: levels are not below 0."""
RATINGS_BETWEEN_FITS = 100
RATINGS_BETWEEN_GAPS = 10
RULES_PER_RATING_BETWEEN_FITS = 10_000
RATINGS_PER_RATING_BETWEEN_FITS = 10


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

    def kept(self) -> Arrays:
        """The fit."""
        return {"fit": np.concatenate([[self._mean], *self._terms])}

    def restore(self, kept: Arrays) -> None:
        """Go on from a fit."""
        self._mean = float(kept["fit"][0])
        ends = np.cumsum([1, *map(len, self._terms)])
        self._terms = [kept["fit"][first:last] for first, last in itertools.pairwise(ends)]

    def log_risks(self) -> Floats:
        """Of every rule, in lexicographic order of the levels."""
        return self._mean + outer_sum(self._terms).reshape(-1)


@dataclass(frozen=True, eq=False)
class Ratings:
    """The rules that a search rated, by number in lexicographic order of the levels.

    ``is_complete`` if no other rule can matter, else no other rule's objective is below ``bound``, and
    ``halted`` says that a callback ended the search. ``open_utility`` and ``open_bounds`` are of the open
    rules, by ascending utility: their utilities, and what their risks are not below.
    """

    rules: Longs
    risk: Floats
    is_complete: bool
    bound: float
    halted: bool
    open_utility: Floats
    open_bounds: Floats


class RuleSearch:
    """One search for one goal.

    Parameters
    ----------
    scores
        Rates rules; generalising must be proved never to raise a risk above the bound that comes with it.
    terms
        Mean utility per attribute (in the table's order) and level.
    keeps_state
        Whether it goes on from the state of an interrupted search: of several one after another only the
        first can, for one state is kept.
    """

    def __init__(
        self,
        scores: RuleScores,
        terms: Sequence[Floats],
        goal: Goal,
        budget: Budget = UNLIMITED,
        tick: Tick | None = None,
        halted: Halted = never,
        *,
        keeps_state: bool = True,
    ) -> None:
        self._scores = scores
        self._answers = scores.answers if keeps_state else None
        self._shape = tuple(len(term) for term in terms)
        self._strides = [math.prod(self._shape[j + 1 :]) for j in range(len(self._shape))]
        self._utility = outer_sum(terms).reshape(-1)
        self._goal = goal
        self._budget = budget
        self._tick = tick
        self._halted = halted
        self._known = bytearray(len(self._utility))
        self._rated: list[int] = []
        self._risks: list[float] = []
        self._open = OpenRules(self._shape, self._utility, scores.growth)
        self._forecast = RiskForecast(self._shape)
        self._next_fit = 0
        self._queue: list[int] = []

    def run(self) -> Ratings:
        """Rate rules until no open one can matter, or the budget is spent, or it is halted."""
        ended = None
        self._goal.begin(self._open)
        try:
            self._begin()
            while self._open.n_open:
                position = self._next()
                picked = int(self._open.ids[position])
                levels = tuple(int(level) for level in np.unravel_index(picked, self._shape))
                for one in reversed(self._climb(levels, picked, float(self._open.cap[position]))):
                    if not self._open.is_open[position]:
                        break
                    self._rate(one)
                if self._tick is not None:
                    self._tick(len(self._utility) - self._open.n_open)
                if self._answers is not None:
                    self._answers.offer(_STATE, self._kept)
        except EndedError as error:
            ended = error
        rules = np.array(self._rated, dtype=np.int64)
        order = np.argsort(rules)
        left = self._open.is_open
        return Ratings(
            rules[order],
            np.array(self._risks)[order],
            ended is None,
            min(self._goal.best, self._goal.bound(self._open)) if left.any() else self._goal.best,
            ended is not None and ended.halted,
            self._open.utility[left],
            self._open.lower[left],
        )

    def _begin(self) -> None:
        """Find a first rule, or be where an interrupted search was."""
        kept = None if self._answers is None else self._answers.state(_STATE)
        if kept is None:
            self._dive()
            return
        (self._goal.best, self._next_fit), arrays = unpacked_state(kept)
        self._rated, self._risks = arrays["rated"].tolist(), arrays["risks"].tolist()
        for number in self._rated:
            self._known[number] = 1
        self._open.restore(arrays)
        self._forecast.restore(arrays)
        self._expected = self._forecast.log_risks()
        self._queue, self._below = arrays["queue"].tolist(), arrays["below"]

    def _kept(self) -> bytes:
        own = {
            "rated": np.array(self._rated), "risks": np.array(self._risks), "queue": np.array(self._queue),
            "below": self._below,
        }  # fmt: skip
        arrays = {**own, **self._open.kept(), **self._forecast.kept()}
        return packed_state((self._goal.best, self._next_fit), arrays)

    def _rate(self, levels: tuple[int, ...]) -> float:
        if self._halted():
            raise EndedError(halted=True)
        budget = self._budget
        if budget.max_nodes is not None and len(self._rated) >= budget.max_nodes:
            raise EndedError
        if (
            budget.relative_gap is not None
            and len(self._rated) % RATINGS_BETWEEN_GAPS == 0
            and math.isfinite(self._goal.best)
            and self._open.n_open
            and budget.suffices(self._goal.best, self._goal.bound(self._open))
        ):
            raise EndedError
        number = self._number(levels)
        rated = self._scores.rate(levels)
        self._known[number] = 1
        self._rated.append(number)
        self._risks.append(rated.risk)
        self._open.rated(number, levels, rated)
        self._goal.learn(self._open, float(self._utility[number]), rated.risk)
        return rated.risk

    # --- moves ---------------------------------------------------------------------------------------

    def _dive(self) -> None:
        """From ⊥ to finer rules, each time to the neighbour where utility costs the least risk."""
        levels = tuple(size - 1 for size in self._shape)
        risk, utility = self._rate(levels), self._utility_of(levels)
        while not self._goal.is_reached(utility, risk):
            prices = []
            for j, level in enumerate(levels):
                if level:
                    finer = (*levels[:j], level - 1, *levels[j + 1 :])
                    gain = max(self._utility_of(finer) - utility, LEAST_GAIN)
                    found = self._rate(finer)
                    prices.append(((found - risk) / gain, found, finer))
            if not prices:
                return
            _, risk, levels = min(prices)
            utility = self._utility_of(levels)

    def _number(self, levels: Sequence[int]) -> int:
        return sum(map(mul, levels, self._strides))

    def _utility_of(self, levels: Sequence[int]) -> float:
        return float(self._utility[self._number(levels)])

    def _next(self) -> int:
        """Position of the most urgent open rule, as of the last look at all of them."""
        while True:
            if len(self._rated) >= self._next_fit or not self._queue:
                self._open.forget_closed()
                levels = np.stack(np.unravel_index(self._rated, self._shape), axis=1)
                self._forecast.fit(levels, np.array(self._risks))
                self._expected = self._forecast.log_risks()
                open_now = np.flatnonzero(self._open.is_open)
                urgency = self._goal.urgency(self._open)[open_now]
                order = np.lexsort((self._expected[self._open.ids[open_now]], urgency))
                self._queue = open_now[order[::-1]].tolist()
                self._below = self._open.open_below()
                pause = RATINGS_BETWEEN_FITS + len(self._utility) // RULES_PER_RATING_BETWEEN_FITS
                self._next_fit = (
                    len(self._rated) + pause + len(self._rated) // RATINGS_PER_RATING_BETWEEN_FITS
                )
            position = self._queue.pop()
            if self._open.is_open[position]:
                return position

    def _climb(self, levels: tuple[int, ...], number: int, cap: float) -> list[tuple[int, ...]]:
        """The way from a rule to the last more general one whose risk is expected to exceed the cap."""
        way = [levels]
        if not math.isfinite(cap):
            return way
        least = math.log(cap) + self._goal.slack if cap > 0 else -math.inf
        at = list(levels)
        while True:
            most, axis = -1, -1
            for j, size in enumerate(self._shape):
                if at[j] + 1 < size:
                    more_general = number + self._strides[j]
                    if not self._known[more_general] and self._expected[more_general] > least:
                        below = int(self._below[more_general])
                        if below > most:
                            most, axis = below, j
            if axis < 0:
                return way
            at[axis] += 1
            number += self._strides[axis]
            way.append(tuple(at))
