"""A guess of how many records a rule suppresses, learnt while rules are checked.

It only chooses which rule is checked next and decides nothing. The log-odds of being suppressed are taken as
linear in the entropies of the attributes at their levels (more entropy, smaller classes), fitted by ridge
regression to the rules checked so far.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from app.domain.search.anonymity.class_sizes import Levels, numbered, summed
from app.domain.search.canonical import outer_sum
from app.domain.tables import Table

Floats = npt.NDArray[np.float64]

RIDGE: Final = 0.1
SPREAD: Final = 0.3
"""Log-odds by which forecasts tend to be wrong."""
RATE: Final = 0.1
STEEPEST: Final = 30.0
"""Forecast log-odds stay within this size, so that no chance is 0."""


class Forecast:
    """Chances that checking a rule refutes the rules below it.

    Too many records are suppressed if their log-odds are above those of what is allowed; from which log-odds
    on the bounds of an allowed rule refute those below it is learnt. Classes are lost whole, so the least
    number above what is allowed is up to k greater.
    """

    def __init__(self, table: Table, k: int, allowed: int) -> None:
        n = table.n_records
        self._n = n
        self._entropies = [_entropies(table, j) for j in range(table.n_attributes)]
        prior = np.ones(len(self._entropies) + 1)
        prior[0] = -math.log(max(1.0, n / (4 * k)))
        self._matrix = RIDGE * np.eye(len(prior))
        self._vector = RIDGE * prior
        self._allowed = allowed
        self._forbidding = math.inf if allowed >= n else _log_odds(min(n, allowed + k), n)
        self._refuting = _log_odds(min(allowed, n // 20), n)

    def log_odds(self, lowest: Sequence[int], highest: Sequence[int]) -> Floats:
        """Forecast log-odds of being suppressed, for the rules of a box of levels."""
        weights = _solved(self._matrix, self._vector)
        return np.clip(_linear(weights, self._entropies, lowest, highest), -STEEPEST, STEEPEST)

    def chances(self, log_odds: Floats) -> tuple[Floats | float, Floats | float]:
        """Chances that a rule suppresses too many records, and else that its bounds refute a rule below."""
        odds = np.exp(log_odds / SPREAD)
        forbidden = 0.0 if math.isinf(self._forbidding) else _chance(odds, self._forbidding)
        refuting = 0.0 if self._allowed == 0 else _chance(odds, self._refuting)
        return forbidden, refuting

    def suppressed(self, log_odds: Floats) -> Floats:
        """Forecast share of the records that an allowed rule suppresses."""
        return np.minimum(1.0 / (1.0 + np.exp(-log_odds)), self._allowed / self._n)

    @property
    def entropies(self) -> list[Floats]:
        """Per attribute the entropy of its values at each level."""
        return self._entropies

    def learn(self, levels: Levels, suppressed: int) -> None:
        """Take in that a rule suppresses so many records."""
        features = np.array([1.0, *(h[level] for h, level in zip(self._entropies, levels, strict=True))])
        self._matrix += np.outer(features, features)
        self._vector += features * _log_odds(suppressed, self._n)

    def learn_forbidden(self, suppressed: int) -> None:
        """Take in that the rules below one are worse than others because all of them suppress so many."""
        self._forbidding = min(self._forbidding, _log_odds(suppressed, self._n))

    def learn_refuted(self, chance: float, share: float) -> None:
        """Take in that the bounds of an allowed rule refuted a share of the rules below it."""
        self._refuting -= RATE * (share - chance)


class LossForecast:
    """A guess of the logarithm of a loss without suppression, linear in the entropies of the attributes."""

    def __init__(self, entropies: list[Floats]) -> None:
        self._entropies = entropies
        self._matrix = RIDGE * np.eye(len(entropies) + 1)
        self._vector = np.zeros(len(entropies) + 1)

    def learn(self, levels: Levels, loss: float) -> None:
        """Take in the loss of a rule."""
        features = np.array([1.0, *(h[level] for h, level in zip(self._entropies, levels, strict=True))])
        self._matrix += np.outer(features, features)
        self._vector += features * _logarithm(loss)

    def chances_above(self, loss: float, lowest: Sequence[int], highest: Sequence[int]) -> Floats:
        """Chances that the rules of a box of levels lose more than ``loss`` without suppression."""
        weights = _solved(self._matrix, self._vector)
        found = _linear(weights, self._entropies, lowest, highest) - _logarithm(loss)
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(found / SPREAD, -STEEPEST, STEEPEST))))


def _solved(matrix: Floats, vector: Floats) -> Floats:
    return np.asarray(np.linalg.solve(matrix, vector), dtype=np.float64)


def _logarithm(loss: float) -> float:
    return math.log(max(loss, 1e-9))


def _linear(
    weights: Floats, entropies: Sequence[Floats], lowest: Sequence[int], highest: Sequence[int]
) -> Floats:
    """A constant and weighted entropies summed up for the rules of a box of levels."""
    terms = [
        weight * entropy[lo : hi + 1]
        for weight, entropy, lo, hi in zip(weights[1:], entropies, lowest, highest, strict=True)
    ]
    terms[0] = terms[0] + weights[0]
    half = len(terms) // 2
    # Two halves make one sum with a long inner axis instead of many with short ones.
    return np.asarray(np.add.outer(outer_sum(terms[:half]), outer_sum(terms[half:])))


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
