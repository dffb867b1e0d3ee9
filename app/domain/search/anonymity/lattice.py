"""Least loss under k-anonymity on lattices that are held in memory whole.

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
from app.domain.search.anonymity.pair_classes import pair_bounds
from app.domain.search.canonical import outer_sum

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


class _Open:
    """The rules not settled yet: levels (attributes, rules), and the bounds of their sums of terms."""

    def __init__(self, checks: Checks) -> None:
        terms = [checks.loss.terms(j) for j in range(checks.loss.n_attributes)]
        shape = tuple(len(term) for term in terms)
        self.levels: Numbers = np.indices(shape, dtype=np.int16).reshape(len(shape), -1)
        self.bounds: Floats = outer_sum(terms).reshape(-1)

    @property
    def size(self) -> int:
        return len(self.bounds)

    @property
    def least(self) -> float:
        return float(self.bounds.min()) if self.size else math.inf

    def keep(self, mask: npt.NDArray[np.bool_]) -> None:
        self.levels, self.bounds = self.levels[:, mask], self.bounds[mask]

    def below(self, levels: Levels) -> npt.NDArray[np.bool_]:
        """Which open rules have no greater level anywhere."""
        return np.asarray((self.levels <= np.array(levels, dtype=np.int16)[:, None]).all(axis=0))

    def places(self, lowest: list[int], shape: tuple[int, ...]) -> npt.NDArray[np.intp]:
        """Where the rules are in a box that begins at ``lowest``, flattened."""
        found = np.zeros(self.size, dtype=np.intp)
        for levels, lo, size in zip(self.levels, lowest, shape, strict=True):
            found *= size
            found += levels
            found -= lo
        return found

    @staticmethod
    def count_below(places: npt.NDArray[np.intp], shape: tuple[int, ...]) -> npt.NDArray[np.int32]:
        """How many rules at these places of a box lie below each rule of it, flattened."""
        counts = np.zeros(math.prod(shape), dtype=np.int32)
        counts[places] = 1
        before = 1
        for size in shape:
            # Adding slices is several times faster than a cumulative sum along a short axis.
            lines = counts.reshape(before, size, -1)
            for level in range(1, size):
                lines[:, level] += lines[:, level - 1]
            before *= size
        return counts


class LatticeSearch:
    """One search; after :meth:`run` ``least_open`` is the least bound still open, ∞ if none is."""

    def __init__(self, checks: Checks) -> None:
        self._checks = checks
        self._forecast = Forecast(checks.table, checks.loss, checks.k, checks.allowed)
        self._open = _Open(checks)
        self._unseen: npt.NDArray[np.bool_] = np.ones(
            [height + 1 for height in checks.table.heights], dtype=bool
        )
        self._powers = np.arange(self._open.size + 1, dtype=np.float64) ** POWER

    @property
    def least_open(self) -> float:
        return self._open.least

    def run(self) -> None:
        """Check rules until none is open or the budget ends."""
        if self._checks.allowed <= PAIRS_UP_TO * self._checks.table.n_records:
            self._prune_pairs()
        if self._open.size > DESCENT_FROM:
            self._descend()
        while self._open.size and self._checks.goes_on(self._open.least):
            self._check_some()

    def _prune_pairs(self) -> None:
        """Close what pairs of attributes refute; all rules are still open."""
        open_: npt.NDArray[np.bool_] = np.ones_like(self._unseen)
        for pair in pair_bounds(self._checks.classes, self._checks.table.heights, self._checks.k):
            allowed = pair.suppressed <= self._checks.allowed
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
        per_score = max(PER_SCORE, self._checks.table.reduced.size // 4)
        for _ in range(min(MOST_PER_SCORE, 1 + scores.size // per_score)):
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
            open_.count_below(places, shape).reshape(shape)
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
        forecast = least + (1.0 - least) * self._forecast.suppressed(log_odds)
        found = len(bounds) - np.searchsorted(np.sort(bounds), loss.sums_of(forecast))
        return np.where(loss.sums_of(forecast) <= self._checks.limit, found, 0)

    def _check(self, rule: Levels, chance: float) -> bool:
        """Check a rule and close what it settles; whether that is all below it."""
        checks, open_ = self._checks, self._open
        self._unseen[rule] = False
        suppressed = checks.suppressed(rule)
        self._forecast.learn(rule, suppressed)
        below = open_.below(rule)
        if suppressed > checks.allowed:
            open_.keep(~below)
            return True
        added = checks.evaluate(rule, suppressed)
        under = np.flatnonzero(below)
        levels = open_.levels[:, under]
        bounds = np.zeros(len(under))
        for j, level in enumerate(rule):
            bounds += checks.loss.terms(j, added[j][: level + 1])[levels[j]]
        open_.bounds[under] = np.maximum(open_.bounds[under], bounds)
        keep = open_.bounds <= checks.limit
        keep[under[(levels == np.array(rule, dtype=np.int16)[:, None]).all(axis=0)]] = False
        if len(under):
            self._forecast.learn_refuted(chance, 1.0 - np.count_nonzero(keep[under]) / len(under))
        open_.keep(keep)
        return False
