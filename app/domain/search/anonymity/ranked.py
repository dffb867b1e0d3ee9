"""Least loss under privacy criteria where the losses of attributes are compared and not added up.

A rule's *key* are its attributes' losses times their weights in descending order; of ``maximum`` the first
alone. Keys are compared lexicographically, numbers that differ by rounding being equal.

Every attribute's loss is at least its term without suppression, and at least its term with the cells of
those suppressed that every rule at or below a checked one suppresses. If x_j ≥ t_j for all j, then the i-th
greatest x is at least the i-th greatest t: the i greatest t have i numbers x that are no less. So keys of
terms bound keys of losses place by place, and a key is no less than its bound. Two bounds of one rule are
both below it place by place, hence so is the greater one of each place.

Of ties the rule of lexicographically smaller levels is taken. So a rule whose levels come after those of the
best one known, and whose bound is not below its key, is no better answer. Many rules tie, of a maximum most
of all; this is what settles them.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from app.domain.losses.loss import SummedLoss
from app.domain.numbers import tie_margin
from app.domain.search.anonymity.checks import ROUNDING, Checks
from app.domain.search.anonymity.class_sizes import Levels
from app.domain.search.anonymity.forecast import Forecast
from app.domain.search.anonymity.open_rules import Numbers, OpenRules, count_below
from app.domain.search.anonymity.verdict import Verdict

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Key = tuple[float, ...]

POWER: Final = 0.8
"""Forecasts of much are less sure: what would be closed counts with this power."""
PER_SCORE: Final = 10_000
MOST_PER_SCORE: Final = 24


def places_of(loss: SummedLoss) -> int:
    """How many places the key of a rule has: all attributes' of a rank, else one."""
    return loss.n_attributes if loss.aggregate == "rank" else 1


class RankedRules(OpenRules):
    """Open rules in the order of their levels, with a lower bound (places, rules) of each one's key.

    ``bounds`` are the first places.
    """

    def __init__(self, levels: Numbers, keys: Floats) -> None:
        super().__init__(levels, keys[0])
        self.keys = keys

    def keep(self, mask: Bools) -> None:
        """Close all rules that the mask (rules,) leaves out."""
        self.keys = self.keys[:, mask]
        self.levels, self.bounds = self.levels[:, mask], self.keys[0]

    def raise_to(self, rules: npt.NDArray[np.intp], keys: Floats) -> None:
        """Take in another lower bound (places, r) of some rules (r,)."""
        self.keys[:, rules] = np.maximum(self.keys[:, rules], keys)
        self.bounds = self.keys[0]

    def after(self, levels: Levels) -> Bools:
        """Which open rules have lexicographically greater levels."""
        found: Bools = np.zeros(self.size, dtype=bool)
        tied: Bools = np.ones(self.size, dtype=bool)
        for own, level in zip(self.levels, levels, strict=True):
            found |= tied & (own > level)
            tied &= own == level
        return found

    def compared(self, key: Key) -> npt.NDArray[np.int8]:
        """(rules,) −1 where the bound is below a key, 1 where it is above, 0 where they tie."""
        found = np.zeros(self.size, dtype=np.int8)
        for own, limit in zip(self.keys, key, strict=True):
            margin = tie_margin(limit) + ROUNDING
            found[(found == 0) & (own > limit + margin)] = 1
            found[(found == 0) & (own < limit - margin)] = -1
        return found


class RankedChecks(Checks):
    """Progress of a search for the least key; ``best`` is the first place of it.

    Attributes
    ----------
    key
        The least key, None before a rule is found.
    """

    key: Key | None = None

    @property
    def places(self) -> int:
        """How many places a key has."""
        return places_of(self.loss)

    def evaluate(self, levels: Levels, verdict: Verdict) -> None:
        """Take an allowed rule as a candidate."""
        self.evaluated += 1
        losses = self.loss.of_attributes(levels, self.added_by(levels, verdict))
        key = tuple(sorted(losses, reverse=True)[: self.places])
        order = -1 if self.key is None else _order(key, self.key)
        if order < 0:
            self.key, self.best, self._good = key, key[0], {}
        if order <= 0 and (not self._good or levels < min(self._good)):
            self._good = {levels: (key[0], verdict.suppressed)}


class RankedSearch:
    """Search of a lattice that is held in memory; ``least_open`` bounds what is open, ∞ if nothing is."""

    def __init__(self, checks: RankedChecks) -> None:
        self.progress = self._checks = checks
        terms = [checks.terms(j) for j in range(checks.loss.n_attributes)]
        shape = tuple(len(own) for own in terms)
        levels = np.indices(shape, dtype=np.int16).reshape(len(shape), -1)
        self._open = RankedRules(levels, _keys(terms, levels, checks.places))
        self._unseen: Bools = np.ones(shape, dtype=bool)
        self._forecast = Forecast(checks.table, checks.judge.k, checks.allowed)
        self._powers = np.arange(self._open.size + 1, dtype=np.float64) ** POWER

    @property
    def least_open(self) -> float:
        """The least first place that an open rule's key may have, ∞ if none is open."""
        return self._open.least

    def take(self, levels: Levels) -> None:
        """Check one rule and take it as a candidate if it is allowed."""
        self.progress.take(levels)

    def run(self) -> None:
        """Check rules until none is open or the budget ends."""
        while self._open.size and self._checks.may_go_on(self._open.least):
            self._check_some()

    def _check_some(self) -> None:
        """Score the open rules, and check the best while the scores hold."""
        lowest = self._open.levels.min(axis=1).tolist()
        scores = self._scores(lowest, self._open.levels.max(axis=1).tolist())
        for _ in range(min(MOST_PER_SCORE, 1 + scores.size // PER_SCORE)):
            place = tuple(int(at) for at in np.unravel_index(int(scores.argmax()), scores.shape))
            if scores[place] <= 0 or not self._open.size or not self._checks.may_go_on(self._open.least):
                break
            rule = tuple(at + lo for at, lo in zip(place, lowest, strict=True))
            if self._check(rule):
                scores[tuple(slice(0, at + 1) for at in place)] = 0.0
            scores[place] = 0.0

    def _scores(
        self, lowest: list[int], highest: list[int]
    ) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        """How many rules checking each one of a box is expected to close; 0 for those that are not open.

        One that may not be taken closes those below it, another one those of greater bounds and later ties.
        """
        open_ = self._open
        log_odds = self._forecast.log_odds(lowest, highest)
        shape = log_odds.shape
        places = open_.places(lowest, shape)
        forbidden = np.broadcast_to(self._forecast.chances(log_odds)[0], shape).reshape(-1)[places]
        below = self._powers[count_below(places, shape)[places]]
        position = np.empty(open_.size, dtype=np.intp)
        position[np.argsort(open_.bounds, kind="stable")] = np.arange(open_.size)
        dearer = self._powers[open_.size - position]
        scores = np.zeros(shape)
        # Whatever is open has to be settled in the end, if only by checking it.
        scores.reshape(-1)[places] = forbidden * below + (1.0 - forbidden) * dearer + 1e-3
        box = tuple(slice(lo, hi + 1) for lo, hi in zip(lowest, highest, strict=True))
        scores *= self._unseen[box]
        return scores

    def _check(self, rule: Levels) -> bool:
        """Check a rule and close what it settles; whether that is all below it."""
        checks, open_ = self._checks, self._open
        self._unseen[rule] = False
        verdict = checks.check(rule)
        self._forecast.learn(rule, verdict.unavoidable)
        below = open_.below(rule)
        if verdict.unavoidable > checks.allowed:
            open_.keep(~below)
            return True
        keep = ~(open_.levels == np.array(rule, dtype=np.int16)[:, None]).all(axis=0)
        if verdict.allowed:
            checks.evaluate(rule, verdict)
        under = np.flatnonzero(below)
        added = checks.added_below(rule, verdict)
        terms = [checks.terms(j, added[j][: level + 1]) for j, level in enumerate(rule)]
        open_.raise_to(under, _keys(terms, open_.levels[:, under], checks.places))
        found = checks.found()
        if checks.key is not None and found is not None:
            order = open_.compared(checks.key)
            keep &= (order < 0) | ((order == 0) & ~open_.after(found[0]))
        open_.keep(keep)
        return False


def _keys(terms: list[Floats], levels: Numbers, places: int) -> Floats:
    """(places, rules) the greatest terms of each rule, in descending order."""
    found = np.stack([own[at] for own, at in zip(terms, levels, strict=True)])
    if places == 1:
        return np.asarray(found.max(axis=0, keepdims=True))
    return np.asarray(-np.sort(-found, axis=0)[:places])


def _order(key: Key, other: Key) -> int:
    """−1 if a key is below another one, 1 if it is above it, 0 if they tie."""
    for own, theirs in zip(key, other, strict=True):
        if abs(own - theirs) > tie_margin(theirs):
            return -1 if own < theirs else 1
    return 0
