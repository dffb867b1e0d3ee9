"""Least loss under privacy criteria on lattices that are held in memory whole.

Every rule has a lower bound, at first the loss of its levels without suppression. Only rules whose bound is
not above the best loss are open. The next rule to check is the one that is expected to close most open ones:
those below it if it turns out to suppress too many records, or if its bounds refute them, else those whose
bounds are above the loss that it is expected to have. Few checks then refute all rules but the best.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from app.domain.search.anonymity.checks import Checks
from app.domain.search.anonymity.class_sizes import Levels
from app.domain.search.anonymity.descent import Descent
from app.domain.search.anonymity.forecast import Forecast
from app.domain.search.anonymity.open_rules import OpenRules, count_below
from app.domain.search.anonymity.pair_classes import pair_bounds

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int16]

PER_SCORE: Final = 10_000
"""Rules are scored anew once a check was made per so many of those that are scored, or per a quarter of the
distinct records if that is more: scoring should take no longer than checking."""
MOST_PER_SCORE: Final = 24
DESCENT_FROM: Final = 50_000
"""Open rules from which on a good rule is looked for before any is scored."""
PAIRS_UP_TO: Final = 1e-3
"""Pairs of attributes refute much only if at most this share of the records may be suppressed."""
POWER: Final = 0.8
"""Forecasts of much are less sure: what would be closed counts with this power."""
OF_BETTER: Final = 0.3
"""What a better rule closes counts by this factor, since its loss is guessed from below."""
WORTH: Final = 2.0
"""Bounding the rules below one takes as long as checking so many of them."""
MEMORY: Final = 0.05
"""What the last rule's bounds closed counts so much in what bounds are expected to close."""
SELDOM: Final = 12
"""Where bounds close too few, they are tried again at one in so many rules."""


class LatticeSearch:
    """One search; after :meth:`run` ``least_open`` is the least loss that is still open, ∞ if none is."""

    def __init__(self, checks: Checks) -> None:
        self.progress = self._checks = checks
        self._forecast = Forecast(checks.table, checks.judge.k, checks.allowed)
        self._open = OpenRules.of_terms([checks.terms(j) for j in range(checks.loss.n_attributes)])
        self._unseen: npt.NDArray[np.bool_] = np.ones(
            [height + 1 for height in checks.table.heights], dtype=bool
        )
        self._greatest = float(checks.loss.of_sums(self._open.bounds.max(keepdims=True))[0])
        self._powers = np.arange(self._open.size + 1, dtype=np.float64) ** POWER
        self._closed, self._last_bounded = 8 * WORTH, 0

    @property
    def least_open(self) -> float:
        """The least loss that an open rule may have, ∞ if none is open."""
        least = self._open.least
        return least if math.isinf(least) else self.progress.loss.of_sum(least)

    def take(self, levels: Levels) -> None:
        """Check one rule and take it as a candidate if it is allowed."""
        self.progress.take(levels)

    def run(self) -> None:
        """Check rules until none is open or the budget ends."""
        is_strict = self._checks.allowed <= PAIRS_UP_TO * self._checks.table.n_records
        # Small classes of two attributes may be like others that lack a value.
        if is_strict and not self._checks.judge.overlaps:
            self._prune_pairs()
        if self._open.size > DESCENT_FROM:
            self._descend()
        while self._open.size and self._checks.goes_on(self._open.least):
            self._check_some()

    def _prune_pairs(self) -> None:
        """Close what pairs of attributes refute; all rules are still open."""
        open_: npt.NDArray[np.bool_] = np.ones_like(self._unseen)
        judge = self._checks.judge
        for pair in pair_bounds(judge.classes, judge.table.heights, judge.k):
            allowed = pair.suppressed <= judge.allowed - judge.left_out
            if not allowed.all():
                shape = [1] * open_.ndim
                shape[pair.first], shape[pair.second] = allowed.shape
                open_ &= allowed.reshape(shape)
        self._open.keep(open_.reshape(-1))

    def _descend(self) -> None:
        """Find a good rule first: scoring rules is dear while many are open."""
        descent = Descent(self._checks, lambda: self._checks.goes_on(self._open.least))
        descent.run()
        self._open.keep(self._open.bounds <= self._checks.limit)
        for conflict in descent.conflicts.rows.tolist():
            self._open.keep(~self._open.below(tuple(conflict)))

    def _check_some(self) -> None:
        """Score the rules of the open ones' box, and check the best while the scores hold."""
        lowest = self._open.levels.min(axis=1).tolist()
        scores, refuting = self._scores(lowest, self._open.levels.max(axis=1).tolist())
        if self._bounds_little:
            open_ = np.zeros(scores.size, dtype=bool)
            open_[self._open.places(lowest, scores.shape)] = True
            scores *= open_.reshape(scores.shape)
        per_score = max(PER_SCORE, self._checks.table.reduced.size // 4)
        most = MOST_PER_SCORE if self._bounds_little else 1 + scores.size // per_score
        for _ in range(min(MOST_PER_SCORE, most)):
            place = tuple(int(at) for at in np.unravel_index(int(scores.argmax()), scores.shape))
            if scores[place] <= 0 or not self._open.size or not self._checks.goes_on(self._open.least):
                break
            rule = tuple(at + lo for at, lo in zip(place, lowest, strict=True))
            chance = refuting if isinstance(refuting, float) else float(refuting[place])
            if self._check(rule, chance):
                scores[tuple(slice(0, at + 1) for at in place)] = 0.0
            scores[place] = 0.0

    def _scores(self, lowest: list[int], highest: list[int]) -> tuple[Floats, Floats | float]:
        """How much checking each rule of a box promises, 0 for checked ones, and the chances of its bounds.

        These are the chances that the bounds of an allowed rule refute a rule below it.
        """
        open_ = self._open
        log_odds = self._forecast.log_odds(lowest, highest)
        shape = log_odds.shape
        places = open_.places(lowest, shape)
        forbidden, refuting = self._forecast.chances(log_odds)
        scores = (forbidden + (1.0 - forbidden) * refuting) * self._powers[
            count_below(places, shape).reshape(shape)
        ]
        allowed = 1.0 - (forbidden if isinstance(forbidden, float) else forbidden.reshape(-1)[places])
        better = self._powers[self._above(log_odds.reshape(-1)[places])]
        scores.reshape(-1)[places] += OF_BETTER * allowed * better
        box = tuple(slice(lo, hi + 1) for lo, hi in zip(lowest, highest, strict=True))
        scores *= self._unseen[box]
        return scores, refuting

    def _above(self, log_odds: Floats) -> npt.NDArray[np.intp]:
        """Per open rule, how many open ones have a bound above the loss that is forecast for it."""
        loss, bounds = self._checks.loss, self._open.bounds
        least = loss.of_sums(bounds)
        forecast = least + (self._greatest - least) * self._forecast.suppressed(log_odds)
        found = len(bounds) - np.searchsorted(np.sort(bounds), loss.sums_of(forecast))
        return np.where(loss.sums_of(forecast) <= self._checks.limit, found, 0)

    def _check(self, rule: Levels, chance: float) -> bool:
        """Check a rule and close what it settles; whether that is all below it."""
        checks, open_ = self._checks, self._open
        self._unseen[rule] = False
        checks.bounds_others = not self._bounds_little or checks.counted >= self._last_bounded + SELDOM
        verdict = checks.check(rule)
        below, before = open_.below(rule), open_.size
        if verdict.unavoidable > checks.allowed:
            open_.keep(~below)
            self._forecast.learn(rule, verdict.unavoidable)
            self._expect(before - open_.size)
            return True
        if verdict.allowed:
            checks.evaluate(rule, verdict)
        if not checks.bounds_others:
            open_.keep((open_.bounds <= checks.limit) & ~open_.at(rule))
            return False
        self._forecast.learn(rule, verdict.unavoidable)
        added = checks.added_below(rule, verdict)
        under = np.flatnonzero(below)
        levels = open_.levels[:, under]
        bounds = np.zeros(len(under))
        for j, level in enumerate(rule):
            bounds += checks.terms(j, added[j][: level + 1])[levels[j]]
        open_.bounds[under] = np.maximum(open_.bounds[under], bounds)
        keep = (open_.bounds <= checks.limit) & ~open_.at(rule)
        if len(under):
            left = int(np.count_nonzero(keep[under]))
            self._forecast.learn_refuted(chance, 1.0 - left / len(under))
            self._expect(len(under) - left - 1)
        open_.keep(keep)
        return False

    @property
    def _bounds_little(self) -> bool:
        """Whether rules are rather checked one by one, since bounding others takes longer than it saves."""
        return self._checks.judge.bounds_are_dear and self._closed < WORTH

    def _expect(self, closed: int) -> None:
        """Take in how many other rules the bounds of a rule closed."""
        self._last_bounded = self._checks.counted
        self._closed += MEMORY * (closed - self._closed)
