"""Least loss under privacy criteria on lattices that are held in memory whole.

Every rule has a lower bound, at first the loss of its levels without suppression. Only rules whose bound is
not above the best loss are open. The next rule to check is the one that is expected to close most open ones:
those below it if it turns out to suppress too many records, or if its bounds refute them, else those whose
bounds are above the loss that it is expected to have. Few checks then refute all rules but the best.

Where the losses of attributes are compared and not added up, a rule's *key* are its attributes' losses times
their weights in descending order; of ``maximum`` the first alone. Keys are compared lexicographically,
numbers that differ by rounding being equal.

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

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Bools, Floats, Levels
from app.domain.losses.loss import SummedLoss
from app.domain.search.answers import Arrays
from app.domain.search.full_domain.boxes import Descent, pair_bounds
from app.domain.search.full_domain.checks import ROUNDING, Checks
from app.domain.search.full_domain.open_rules import (
    MOST_PER_SCORE,
    PER_SCORE,
    LatticeSearch,
    Numbers,
    OpenRules,
    Place,
    count_below,
    rules_below,
)
from app.domain.search.full_domain.verdict import Told
from app.domain.tables.numbers import tie_margin

DESCENT_FROM: Final = 50_000
"""Open rules from which on a good rule is looked for before any is scored."""
PAIRS_UP_TO: Final = 1e-3
"""Pairs of attributes refute much only if at most this share of the records may be suppressed."""
OF_BETTER: Final = 0.3
"""What a better rule closes counts by this factor, since its loss is guessed from below."""
WORTH: Final = 2.0
"""Bounding the rules below one takes as long as checking so many of them."""
MEMORY: Final = 0.05
"""What the last rule's bounds closed counts so much in what bounds are expected to close."""
SELDOM: Final = 12
"""Where bounds close too few, they are tried again at one in so many rules."""

Key = tuple[float, ...]


class SumSearch(LatticeSearch[Checks]):
    """Search for the least loss that is a sum of terms; bounds of open rules are of these sums."""

    def __init__(self, checks: Checks) -> None:
        super().__init__(
            checks, OpenRules.of_terms([checks.terms(j) for j in range(checks.loss.n_attributes)])
        )
        self._greatest = float(checks.loss.of_sums(self._open.bounds.max(keepdims=True))[0])
        self._closed, self._last_bounded = 8 * WORTH, 0
        self._refuting: Floats | float = 0.0

    @property
    def least_open(self) -> float:
        """The least loss that an open rule may have, ∞ if none is open."""
        least = self._open.least
        return least if math.isinf(least) else self.progress.loss.of_sum(least)

    def _begin(self) -> None:
        """Close what little work refutes, and find a good rule where many are open."""
        is_strict = self.progress.allowed <= PAIRS_UP_TO * self.progress.table.n_records
        # Small classes of two attributes may be like others that lack a value.
        if is_strict and not self.progress.judge.overlaps:
            # Close what pairs of attributes refute; all rules are still open
            open_: Bools = np.ones_like(self._unseen)
            judge = self.progress.judge
            for pair in pair_bounds(judge.classes, judge.table.heights, judge.k):
                allowed = pair.suppressed <= judge.allowed - judge.left_out
                if not allowed.all():
                    shape = [1] * open_.ndim
                    shape[pair.first], shape[pair.second] = allowed.shape
                    open_ &= allowed.reshape(shape)
            self._open.keep(open_.reshape(-1))
        if self._open.size > DESCENT_FROM:
            # Find a good rule first: scoring rules is dear while many are open
            descent = Descent(self.progress, self._goes_on)
            descent.run()
            self._open.keep(self._open.bounds <= self.progress.limit)
            for conflict in descent.conflicts.rows.tolist():
                self._open.keep(~self._open.below(tuple(conflict)))

    def _kept(self) -> tuple[dict[str, Any], Arrays]:
        numbers, arrays = super()._kept()
        return {**numbers, "closed": self._closed, "last_bounded": self._last_bounded}, arrays

    def _restore(self, numbers: Mapping[str, Any], arrays: Arrays) -> None:
        super()._restore(numbers, arrays)
        self._closed, self._last_bounded = numbers["closed"], numbers["last_bounded"]

    def _goes_on(self) -> bool:
        return self.progress.goes_on(self._open.least)

    def _checks_per_score(self, scored: int) -> int:
        """Of few distinct records rules are checked quickly, and scored anew less often."""
        if self._bounds_little:
            return MOST_PER_SCORE
        return 1 + scored // max(PER_SCORE, self.progress.table.reduced.size // 4)

    def _scores(self, lowest: list[int], highest: list[int]) -> Floats:
        """How much checking each rule of a box promises, 0 for those that are not worth it.

        Kept with the scores are the chances that the bounds of an allowed rule refute a rule below it.
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
        # Per open rule, how many open ones have a bound above the loss that is forecast for it
        odds_of_open = log_odds.reshape(-1)[places]
        loss, bounds = self.progress.loss, self._open.bounds
        least = loss.of_sums(bounds)
        forecast = least + (self._greatest - least) * self._forecast.suppressed(odds_of_open)
        found = len(bounds) - np.searchsorted(np.sort(bounds), loss.sums_of(forecast))
        better = self._powers[np.where(loss.sums_of(forecast) <= self.progress.limit, found, 0)]
        scores.reshape(-1)[places] += OF_BETTER * allowed * better
        self._refuting = refuting
        if self._bounds_little:
            open_rules = np.zeros(scores.size, dtype=bool)
            open_rules[places] = True
            scores *= open_rules.reshape(shape)
        return scores

    def _check(self, rule: Levels, place: Place, scores: Floats) -> None:
        checks, open_ = self.progress, self._open
        checks.bounds_others = not self._bounds_little or checks.counted >= self._last_bounded + SELDOM
        verdict = checks.check(rule)
        below, before = open_.below(rule), open_.size
        if verdict.unavoidable > checks.allowed:
            open_.keep(~below)
            self._forecast.learn(rule, verdict.unavoidable)
            self._expect(before - open_.size)
            scores[rules_below(place)] = 0.0
            return
        if verdict.allowed:
            checks.evaluate(rule, verdict)
        if not checks.bounds_others:
            open_.keep((open_.bounds <= checks.limit) & ~open_.at(rule))
            return
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
            refuting = self._refuting
            chance = refuting if isinstance(refuting, float) else float(refuting[place])
            self._forecast.learn_refuted(chance, 1.0 - left / len(under))
            self._expect(len(under) - left - 1)
        open_.keep(keep)

    @property
    def _bounds_little(self) -> bool:
        """Whether rules are rather checked one by one, since bounding others takes longer than it saves."""
        return self.progress.judge.bounds_are_dear and self._closed < WORTH

    def _expect(self, closed: int) -> None:
        """Take in how many other rules the bounds of a rule closed."""
        self._last_bounded = self.progress.counted
        self._closed += MEMORY * (closed - self._closed)


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

    @property
    def all_bounds(self) -> Floats:
        """The keys."""
        return self.keys

    @all_bounds.setter
    def all_bounds(self, bounds: Floats) -> None:
        """Bound the rules by these keys instead."""
        self.keys, self.bounds = bounds, bounds[0]

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
    _kept_names = (*Checks._kept_names, "key")

    def restore(self, kept: Mapping[str, Any]) -> None:
        """Be as something else of the kind was when it kept that."""
        super().restore(kept)
        self.key = None if self.key is None else tuple(self.key)

    @property
    def places(self) -> int:
        """How many places a key has."""
        return places_of(self.loss)

    def evaluate(self, levels: Levels, told: Told) -> None:
        """Take an allowed rule as a candidate."""
        self.evaluated += 1
        losses = self.loss.of_attributes(levels, self.added_by(levels, told))
        key = tuple(sorted(losses, reverse=True)[: self.places])
        order = -1 if self.key is None else _order(key, self.key)
        if order < 0:
            self.key, self.best, self._good = key, key[0], {}
        if order <= 0 and (not self._good or levels < min(self._good)):
            self._good = {levels: (key[0], told.suppressed)}


class RankedSearch(LatticeSearch[RankedChecks]):
    """Search for the least key; ``least_open`` bounds the first places of open rules' keys."""

    _open: RankedRules

    def __init__(self, checks: RankedChecks) -> None:
        terms = [checks.terms(j) for j in range(checks.loss.n_attributes)]
        shape = tuple(len(own) for own in terms)
        levels = np.indices(shape, dtype=np.int16).reshape(len(shape), -1)
        super().__init__(checks, RankedRules(levels, _keys(terms, levels, checks.places)))

    def _scores(self, lowest: list[int], highest: list[int]) -> Floats:
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
        return scores

    def _check(self, rule: Levels, place: Place, scores: Floats) -> None:
        checks, open_ = self.progress, self._open
        verdict = checks.check(rule)
        self._forecast.learn(rule, verdict.unavoidable)
        below = open_.below(rule)
        if verdict.unavoidable > checks.allowed:
            open_.keep(~below)
            scores[rules_below(place)] = 0.0
            return
        keep = ~open_.at(rule)
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
