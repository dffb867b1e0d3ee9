"""What an attacker believes of a target's sensitive value, and what statements about the target add to it.

The targets that an attacker cannot tell apart are a *unit*: the records of a class, or those among them that
share what the attacker's dictionary tells apart. For each unit every possible value has a weight; the belief
in a value is its share of the unit's weights (Machanavajjhala (2008), sections 3.3 and 3.7).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Bools, Floats, Ints, Longs
from app.domain.classes.ratios import as_written, is_below
from app.domain.tables.numbers import lowest_accepted

Weights = npt.NDArray[np.int64] | npt.NDArray[np.float64]

NEVER = -1


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Weights of the values that are possible for the targets of U units, compressed by unit.

    Attributes
    ----------
    starts
        (U + 1,): the entries of unit u are those from ``starts[u]`` to ``starts[u + 1]``.
    values
        (E,) number of the value of each entry, ascending in each unit.
    weights
        (E,) ≥ 0: counts of records as int64, for which everything below is exact; or real numbers.
    targets
        (E,) how many records of the unit really have the value.
    """

    starts: Longs
    values: Ints
    weights: Weights
    targets: Longs

    @property
    def n_units(self) -> int:
        """U, the units that beliefs are held of."""
        return len(self.starts) - 1

    @cached_property
    def of_entry(self) -> Longs:
        """(E,) the unit of each entry."""
        return np.repeat(np.arange(self.n_units, dtype=np.int64), np.diff(self.starts))

    @cached_property
    def posteriors(self) -> Floats:
        """(E,) belief in each value without further statements; 0 where all weights of the unit are 0."""
        return self.after(0)

    @cached_property
    def is_inconsistent(self) -> Bools:
        """(U,) units with no value possible: what the attacker knows contradicts itself."""
        possible = np.zeros(self.n_units, dtype=bool)
        possible[self.of_entry[self.weights > 0]] = True
        return ~possible

    def after(self, negations: int) -> Floats:
        """(E,) the strongest belief in each value after so many true statements "the target has not …".

        The worst statements rule out the most probable other values (Machanavajjhala (2008), section 3.7).
        """
        found = np.zeros(len(self.weights))
        for entries, ranked in self._ranked:
            left = ranked.left(np.full(entries.shape, negations, dtype=np.int64))
            own = ranked.weights
            belief = np.divide(own, left, out=np.zeros(own.shape), where=own > 0)
            found[entries] = np.take_along_axis(belief, ranked.rank, axis=1)
        return found

    def negations_needed(self, confidence: float) -> Longs:
        """(E,) fewest such statements that make the belief in each value reach the confidence.

        −1 for values of weight 0, which no statement makes probable.
        """
        found = np.full(len(self.weights), NEVER, dtype=np.int64)
        for entries, ranked in self._ranked:
            low = np.zeros(entries.shape, dtype=np.int64)
            high = np.full(entries.shape, entries.shape[1] - 1, dtype=np.int64)
            while (low < high).any():
                middle = (low + high) // 2
                passed = reach(ranked.weights, ranked.left(middle), confidence)
                high = np.where(passed, middle, high)
                low = np.where(passed, low, np.minimum(middle + 1, high))
            needed = np.where(ranked.weights > 0, high, NEVER)
            found[entries] = np.take_along_axis(needed, ranked.rank, axis=1)
        return found

    @cached_property
    def _ranked(self) -> tuple[tuple[Longs, _Ranked], ...]:
        """Units with equally many values at a time: their entries (u, d), and these by descending weight."""
        distinct, found = np.diff(self.starts), []
        for d in np.unique(distinct[distinct > 0]).tolist():
            entries = self.starts[:-1][distinct == d][:, None] + np.arange(d)
            order = np.argsort(-self.weights[entries], axis=1, kind="stable")
            rank = np.empty_like(order)
            np.put_along_axis(rank, order, np.arange(d)[None, :], axis=1)
            ranked = _Ranked(np.take_along_axis(self.weights[entries], order, axis=1), rank)
            found.append((entries, ranked))
        return tuple(found)


@dataclass(frozen=True, eq=False)
class _Ranked:
    """Weights (u, d) of units by descending weight, and where in that order each entry is."""

    weights: Weights
    rank: npt.NDArray[np.int64]

    @cached_property
    def _tails(self) -> Weights:
        """(u, d + 1) sums of the weights from each place to the end: no cancellation."""
        u, d = self.weights.shape
        tails = np.zeros((u, d + 1), dtype=self.weights.dtype)
        tails[:, :d] = np.cumsum(self.weights[:, ::-1], axis=1)[:, ::-1]
        return tails

    def left(self, negations: Longs) -> Weights:
        """(u, d) what stays of the unit's weight when the heaviest others of each value are ruled out."""
        d = self.weights.shape[1]
        place = np.arange(d)[None, :]
        behind = np.take_along_axis(self._tails, np.minimum(negations, d), axis=1)
        ahead = np.take_along_axis(self._tails, np.minimum(negations + 1, d), axis=1)
        # A value among the heaviest keeps its own weight, and one more of the others goes.
        return np.where(place >= negations, behind, self.weights + ahead)


def reach(parts: Weights, wholes: Weights, confidence: float) -> Bools:
    """Whether each part is at least that share of its whole, counts exactly."""
    if parts.dtype.kind == "i":
        return ~is_below(parts.astype(np.int64), as_written(confidence), wholes.astype(np.int64))
    beliefs = np.divide(parts, wholes, out=np.zeros(parts.shape), where=parts > 0)
    return np.asarray(beliefs >= lowest_accepted(confidence))
