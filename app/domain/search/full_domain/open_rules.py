"""The rules that a search has not settled yet, and a guess of how many records each suppresses.

The guess is learnt while rules are checked. It only chooses which rule is checked next and decides nothing.
The log-odds of being suppressed are taken as linear in the entropies of the attributes at their levels (more
entropy, smaller classes), fitted by ridge regression to the rules checked so far.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Bools, Floats, Indices, Levels
from app.domain.search.answers import Arrays, packed_state, unpacked_state
from app.domain.search.full_domain.checks import Asks, Progress
from app.domain.search.full_domain.class_sizes import numbered, summed
from app.domain.search.record_risk import outer_sum
from app.domain.tables.table import Table

RIDGE: Final = 0.1
SPREAD: Final = 0.3
"""Log-odds by which forecasts tend to be wrong."""
RATE: Final = 0.1
STEEPEST: Final = 30.0
"""Forecast log-odds stay within this size, so that no chance is 0."""

POWER: Final = 0.8
"""Forecasts of much are less sure: what would be closed counts with this power."""
PER_SCORE: Final = 10_000
"""Rules are scored anew once a check was made per so many of those that are scored: scoring should take no
longer than checking."""
MOST_PER_SCORE: Final = 24

Numbers = npt.NDArray[np.int16]
Place = tuple[int, ...]
"""Of a rule in a box of levels: its levels above the box's lowest."""
P = TypeVar("P", bound=Progress)


class _Ridge:
    """A number that is taken as linear in the entropies of the attributes, fitted by ridge regression.

    ``prior`` (1 + q) are the weights before anything is learnt, that of the constant first.
    """

    def __init__(self, entropies: Sequence[Floats], prior: Floats) -> None:
        self._entropies = entropies
        self._matrix = RIDGE * np.eye(len(prior))
        self._vector = RIDGE * prior

    @property
    def learnt(self) -> Floats:
        """What was learnt so far."""
        return np.column_stack([self._matrix, self._vector])

    @learnt.setter
    def learnt(self, learnt: Floats) -> None:
        """Go on from what was learnt."""
        self._matrix, self._vector = learnt[:, :-1].copy(), learnt[:, -1].copy()

    def learn(self, levels: Levels, found: float) -> None:
        """Take in the number of a rule."""
        features = np.array([1.0, *(h[level] for h, level in zip(self._entropies, levels, strict=True))])
        self._matrix += np.outer(features, features)
        self._vector += features * found

    def of(self, lowest: Sequence[int], highest: Sequence[int]) -> Floats:
        """The numbers forecast for the rules of a box of levels."""
        weights = np.asarray(np.linalg.solve(self._matrix, self._vector), dtype=np.float64)
        terms = [
            weight * entropy[lo : hi + 1]
            for weight, entropy, lo, hi in zip(weights[1:], self._entropies, lowest, highest, strict=True)
        ]
        terms[0] = terms[0] + weights[0]
        half = len(terms) // 2
        # Two halves make one sum with a long inner axis instead of many with short ones.
        return np.asarray(np.add.outer(outer_sum(terms[:half]), outer_sum(terms[half:])))


class Forecast:
    """Chances that checking a rule refutes the rules below it.

    Too many records are suppressed if their log-odds are above those of what is allowed; from which log-odds
    on the bounds of an allowed rule refute those below it is learnt. Classes are lost whole, so the least
    number above what is allowed is up to k greater. ``entropies`` are per attribute those of its levels.
    """

    def __init__(self, table: Table, k: int, allowed: int) -> None:
        n = table.n_records
        self._n = n
        self.entropies = [_entropies(table, j) for j in range(table.n_attributes)]
        prior = np.ones(len(self.entropies) + 1)
        prior[0] = -math.log(max(1.0, n / (4 * k)))
        self._ridge = _Ridge(self.entropies, prior)
        self._allowed = allowed
        self._forbidding = math.inf if allowed >= n else _log_odds(min(n, allowed + k), n)
        self._refuting = _log_odds(min(allowed, n // 20), n)

    def kept(self) -> Arrays:
        """What was learnt so far."""
        return {"records": self._ridge.learnt, "thresholds": np.array([self._forbidding, self._refuting])}

    def restore(self, kept: Arrays) -> None:
        """Go on from what was learnt."""
        self._ridge.learnt = kept["records"]
        self._forbidding, self._refuting = map(float, kept["thresholds"])

    def log_odds(self, lowest: Sequence[int], highest: Sequence[int]) -> Floats:
        """Forecast log-odds of being suppressed, for the rules of a box of levels."""
        return np.clip(self._ridge.of(lowest, highest), -STEEPEST, STEEPEST)

    def chances(self, log_odds: Floats) -> tuple[Floats | float, Floats | float]:
        """Chances that a rule suppresses too many records, and else that its bounds refute a rule below."""
        odds = np.exp(log_odds / SPREAD)
        forbidden = 0.0 if math.isinf(self._forbidding) else _chance(odds, self._forbidding)
        refuting = 0.0 if self._allowed == 0 else _chance(odds, self._refuting)
        return forbidden, refuting

    def suppressed(self, log_odds: Floats) -> Floats:
        """Forecast share of the records that an allowed rule suppresses."""
        return np.minimum(1.0 / (1.0 + np.exp(-log_odds)), self._allowed / self._n)

    def learn(self, levels: Levels, suppressed: int) -> None:
        """Take in that a rule suppresses so many records."""
        self._ridge.learn(levels, _log_odds(suppressed, self._n))

    def learn_forbidden(self, suppressed: int) -> None:
        """Take in that the rules below one are worse than others because all of them suppress so many."""
        self._forbidding = min(self._forbidding, _log_odds(suppressed, self._n))

    def learn_refuted(self, chance: float, share: float) -> None:
        """Take in that the bounds of an allowed rule refuted a share of the rules below it."""
        self._refuting -= RATE * (share - chance)


class LossForecast:
    """A guess of the logarithm of a loss without suppression, linear in the entropies of the attributes."""

    def __init__(self, entropies: list[Floats]) -> None:
        self._ridge = _Ridge(entropies, np.zeros(len(entropies) + 1))

    @property
    def learnt(self) -> Floats:
        """What was learnt so far."""
        return self._ridge.learnt

    @learnt.setter
    def learnt(self, learnt: Floats) -> None:
        """Go on from what was learnt."""
        self._ridge.learnt = learnt

    def learn(self, levels: Levels, loss: float) -> None:
        """Take in the loss of a rule."""
        self._ridge.learn(levels, _logarithm(loss))

    def chances_above(self, loss: float, lowest: Sequence[int], highest: Sequence[int]) -> Floats:
        """Chances that the rules of a box of levels lose more than ``loss`` without suppression."""
        found = self._ridge.of(lowest, highest) - _logarithm(loss)
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(found / SPREAD, -STEEPEST, STEEPEST))))


def _logarithm(loss: float) -> float:
    return math.log(max(loss, 1e-9))


def _chance(odds: Floats, threshold: float) -> Floats:
    return np.asarray(odds / (odds + math.exp(threshold / SPREAD)))


def _log_odds(records: int, of: int) -> float:
    return math.log((records + 0.5) / (of - records + 0.5))


def _entropies(table: Table, attribute: int) -> Floats:
    """Entropy of an attribute's values at each of its levels, in nats."""
    hierarchy = table.hierarchies[attribute]
    records = summed(
        table.reduced.codes[:, attribute].astype(np.intp),
        table.reduced.counts.astype(np.float64),
        hierarchy.n_nodes,
    )
    nodes = np.flatnonzero(records)
    found = []
    for level in range(hierarchy.height + 1):
        groups = numbered(hierarchy.ancestors_at(level)[nodes].astype(np.intp), hierarchy.n_nodes)
        shares = summed(groups.of, records[nodes], groups.size) / table.n_records
        found.append(-float(shares @ np.log(shares)))
    return np.array(found)


class OpenRules:
    """Rules by their levels (attributes, rules), with a lower bound of what each loses."""

    def __init__(self, levels: Numbers, bounds: Floats) -> None:
        self.levels = levels
        self.bounds = bounds

    @classmethod
    def of_terms(cls, terms: Sequence[Floats]) -> OpenRules:
        """All rules of a lattice, bounded by the sum of one term per attribute and level."""
        shape = tuple(len(term) for term in terms)
        levels = np.indices(shape, dtype=np.int16).reshape(len(shape), -1)
        return cls(levels, outer_sum(terms).reshape(-1))

    @property
    def size(self) -> int:
        """Rules that are open."""
        return len(self.bounds)

    @property
    def least(self) -> float:
        """The least bound of an open rule, ∞ if none is open."""
        return float(self.bounds.min()) if self.size else math.inf

    @property
    def all_bounds(self) -> Floats:
        """All that the rules are bounded by, (rules,) last."""
        return self.bounds

    @all_bounds.setter
    def all_bounds(self, bounds: Floats) -> None:
        """Bound the rules by these instead."""
        self.bounds = bounds

    def keep(self, mask: Bools) -> None:
        """Close all rules that the mask (rules,) leaves out."""
        self.levels, self.bounds = self.levels[:, mask], self.bounds[mask]

    def below(self, levels: Levels) -> Bools:
        """Which open rules have no greater level anywhere."""
        return np.asarray((self.levels <= np.array(levels, dtype=np.int16)[:, None]).all(axis=0))

    def above(self, levels: Levels) -> Bools:
        """Which open rules have no smaller level anywhere."""
        return np.asarray((self.levels >= np.array(levels, dtype=np.int16)[:, None]).all(axis=0))

    def at(self, levels: Levels) -> Bools:
        """Which open rule is the one of these levels, if it is open."""
        return np.asarray((self.levels == np.array(levels, dtype=np.int16)[:, None]).all(axis=0))

    def places(self, lowest: list[int], shape: tuple[int, ...]) -> Indices:
        """Where the rules are in a box that begins at ``lowest``, flattened."""
        found = np.zeros(self.size, dtype=np.intp)
        for levels, lo, size in zip(self.levels, lowest, shape, strict=True):
            found *= size
            found += levels
            found -= lo
        return found


def count_below(places: Indices, shape: tuple[int, ...]) -> npt.NDArray[np.int32]:
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


def count_above(places: Indices, shape: tuple[int, ...]) -> npt.NDArray[np.int32]:
    """How many rules at these places of a box lie above each rule of it, flattened."""
    last = math.prod(shape) - 1
    return count_below(last - places, shape)[::-1]


class LatticeSearch(Generic[P], ABC):
    """Search of a lattice that is held in memory: the open rules are scored, and the best of them checked.

    ``least_open`` bounds what open rules lose, ∞ if none is open.
    """

    def __init__(self, progress: P, rules: OpenRules) -> None:
        self.progress = progress
        self._open = rules
        self._unseen: Bools = np.ones([height + 1 for height in progress.table.heights], dtype=bool)
        self._forecast = Forecast(progress.table, progress.judge.k, progress.allowed)
        self._powers = np.arange(rules.size + 1, dtype=np.float64) ** POWER

    @property
    def least_open(self) -> float:
        """The least loss that an open rule may have, ∞ if none is open."""
        return self._open.least

    def run(self) -> None:
        """Check rules until none is open or the budget ends, from where an interrupted search was."""
        answers = self.progress.answers
        kept = answers.state((Asks.STATE,))
        if kept is None:
            self._begin()
        else:
            self._restore(*unpacked_state(kept))
        while self._open.size and self._goes_on():
            # Score the rules of the open ones' box, and check the best while the scores hold
            lowest = self._open.levels.min(axis=1).tolist()
            scores = self._scores(lowest, self._open.levels.max(axis=1).tolist())
            scores *= self._unseen[
                tuple(slice(lo, lo + size) for lo, size in zip(lowest, scores.shape, strict=True))
            ]
            for _ in range(min(MOST_PER_SCORE, self._checks_per_score(scores.size))):
                place = tuple(int(at) for at in np.unravel_index(int(scores.argmax()), scores.shape))
                if scores[place] <= 0 or not self._open.size or not self._goes_on():
                    break
                rule = tuple(at + lo for at, lo in zip(place, lowest, strict=True))
                self._unseen[rule] = False
                self._check(rule, place, scores)
                scores[place] = 0.0
            if not self.progress.halted:
                answers.offer((Asks.STATE,), lambda: packed_state(*self._kept()))

    def _begin(self) -> None:
        """What is done before rules are scored."""

    def _kept(self) -> tuple[dict[str, Any], Arrays]:
        """Numbers and arrays that the search goes on from, between two scores."""
        n_rules = self._unseen.size
        open_ = np.zeros(n_rules, dtype=bool)
        open_[self._open.places([0] * self._unseen.ndim, self._unseen.shape)] = True
        arrays: dict[str, npt.NDArray[Any]] = {
            "open": np.packbits(open_),
            "bounds": self._open.all_bounds,
            "unseen": np.packbits(self._unseen),
        }
        return {"progress": self.progress.kept()}, {**arrays, **self._forecast.kept()}

    def _restore(self, numbers: Mapping[str, Any], arrays: Arrays) -> None:
        """Be as a search of the same question was when it kept that; all rules are open."""
        n_rules = self._unseen.size
        self._open.keep(np.unpackbits(arrays["open"], count=n_rules).astype(bool))
        self._open.all_bounds = arrays["bounds"]
        self._unseen = np.unpackbits(arrays["unseen"], count=n_rules).astype(bool).reshape(self._unseen.shape)
        self._forecast.restore(arrays)
        self.progress.restore(numbers["progress"])

    def _goes_on(self) -> bool:
        return self.progress.may_go_on(self._open.least)

    def _checks_per_score(self, scored: int) -> int:
        """How many rules are checked before so many are scored again."""
        return 1 + scored // PER_SCORE

    @abstractmethod
    def _scores(self, lowest: list[int], highest: list[int]) -> Floats:
        """How many rules checking each one of a box is expected to close, 0 for those not worth it."""

    @abstractmethod
    def _check(self, rule: Levels, place: Place, scores: Floats) -> None:
        """Check a rule, close what it settles, and lower the scores of those that it says much about."""


def rules_below(place: Place) -> tuple[slice, ...]:
    """The rules of a box at or below one."""
    return tuple(slice(0, at + 1) for at in place)
