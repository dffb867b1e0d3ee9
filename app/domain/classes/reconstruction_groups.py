"""Which groups of records are too large, or too uniform, to be published by uniform replacement alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

import numpy as np

from app.domain.arrays import Bools, Floats, Ints, Longs
from app.domain.classes.reconstruction import (
    Bound,
    Estimates,
    UniformReplacement,
    greatest_retention,
)
from app.domain.classes.reconstruction_tails import Tails, exact_tails, terms_to_sum
from app.domain.classes.sensitive_counts import SensitiveCounts, greatest_by_class, least_by_class
from app.domain.tables.distinct import distinct_rows

Test = Literal["chernoff_simple", "chernoff_full", "exact_min", "exact_total"]
BOUNDS: Final[tuple[Bound, ...]] = ("chernoff_simple", "chernoff_full")
"""Tests of upper bounds, which guarantee no error."""
TESTS: Final[tuple[Test, ...]] = (*BOUNDS, "exact_min", "exact_total")
SECONDS_PER_ENTRY: Final = 3.5e-7
SECONDS_PER_TERM: Final = 4.5e-8
EQUAL: Final = 1e-9
"""Share of δ that a probability may be below it: what rounding makes of an equality."""


@dataclass(frozen=True)
class ReconstructionQuestion:
    """How records would be replaced, and how far off estimates have to be how probably.

    Parameters
    ----------
    replacement
        p and m.
    epsilon
        ε ≥ 0, relative to the share that is estimated.
    delta
        δ in [0, 1].
    releases
        How many independent releases of the same records a reader has, neither more nor fewer: r of them
        are like groups r times as large. Probabilities of errors need not fall as r grows.
    """

    replacement: UniformReplacement
    epsilon: float
    delta: float
    releases: int = 1


class GroupsUnderTest:
    """The G groups of some counts under every test; a group without values passes all.

    The Chernoff tests look at the most frequent value of each group, which decides them; the exact ones at
    all.
    """

    def __init__(self, counts: SensitiveCounts, question: ReconstructionQuestion) -> None:
        self._counts, self._question = counts, question

    @cached_property
    def _occupied(self) -> Longs:
        return np.flatnonzero(self._counts.distinct).astype(np.int64)

    @cached_property
    def tops(self) -> Longs:
        """(G,) records with the most frequent value of each group."""
        return greatest_by_class(self._counts, self._counts.counts, 0)

    @cached_property
    def _of_tops(self) -> Estimates:
        """The most frequent value of each occupied group."""
        return self.estimates(self.tops[self._occupied], self._counts.sizes[self._occupied])

    def estimates(self, amounts: Longs, sizes: Longs) -> Estimates:
        """Estimates of these amounts in groups of these sizes, in all releases together."""
        own = self._question
        return Estimates(own.releases * amounts, own.releases * sizes, own.replacement, own.epsilon)

    @cached_property
    def tails(self) -> Tails:
        """(E,) exact tails of every entry."""
        counts, own = self._counts, self._question
        amounts, sizes = counts.counts, counts.sizes[counts.of_entry]
        return exact_tails(own.releases * amounts, own.releases * sizes, own.replacement, own.epsilon)

    @property
    def seconds(self) -> float:
        """Estimated time of all tests: what the exact ones sum, and what every entry takes."""
        counts, own = self._counts, self._question
        amounts, sizes = own.releases * counts.counts, own.releases * counts.sizes[counts.of_entry]
        terms = terms_to_sum(amounts, sizes, own.replacement)
        return SECONDS_PER_ENTRY * len(amounts) + SECONDS_PER_TERM * terms

    def failing(self, test: Test) -> Bools:
        """(G,) which groups fail."""
        delta = self._question.delta
        if test == "chernoff_simple" or test == "chernoff_full":
            found: Bools = np.zeros(self._counts.n_classes, dtype=bool)
            found[self._occupied] = ~self._of_tops.within(test, delta)
            return found
        return np.asarray(self._levels(test) < delta * (1 - EQUAL))

    def log_levels(self, test: Test) -> Floats:
        """(G,) ln of the greatest δ with which each group passes, −∞ for 0."""
        if test == "chernoff_simple" or test == "chernoff_full":
            found = np.zeros(self._counts.n_classes)
            found[self._occupied] = self._of_tops.log_low(test)
            return found
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self._levels(test)))

    def _levels(self, test: Test) -> Floats:
        tails = self.tails.least if test == "exact_min" else self.tails.total
        return np.asarray(least_by_class(self._counts, tails, 1.0))

    def deciding(self, test: Test, group: int) -> int:
        """The entry of a group that decides: the most frequent value, or that of the least tail."""
        entries = slice(*self._counts.starts[group : group + 2].tolist())
        if test == "chernoff_simple" or test == "chernoff_full":
            return int(entries.start + np.argmax(self._counts.counts[entries]))
        tails = self.tails.least if test == "exact_min" else self.tails.total
        return int(entries.start + np.argmin(tails[entries]))

    def greatest_epsilon(self, bound: Bound) -> float | None:
        """The greatest ε with which all groups pass; None without groups."""
        if not len(self._occupied):
            return None
        return float(self._of_tops.greatest_epsilons(bound, self._question.delta).min())

    def greatest_p(self, bound: Bound) -> float | None:
        """The greatest p with which all groups pass, 1 if they do for every one; None without groups."""
        if not len(self._occupied):
            return None
        own = self._question
        tops, sizes = self.tops[self._occupied], self._counts.sizes[self._occupied]
        first = np.unique(sizes * (int(tops.max()) + 1) + tops, return_index=True)[1]
        return greatest_retention(
            bound, tops[first], sizes[first], own.replacement.m, own.epsilon, own.delta, own.releases
        )


def told_by_fewer(codes: Ints, sizes: tuple[int, ...]) -> Bools:
    """(G, q) whether a group is alone with what it shows when one attribute is left out.

    Then the records that agree on the others are that very group: an aggregate that coincides with it.
    ``codes`` (G, q) are distinct rows; ``sizes`` the number of nodes of each attribute.
    """
    found = np.zeros(codes.shape, dtype=bool)
    n_groups, q = codes.shape
    for left_out in range(q):
        others = [j for j in range(q) if j != left_out]
        if not others:
            found[:, left_out] = n_groups == 1
            continue
        rows = distinct_rows([codes[:, j] for j in others], [sizes[j] for j in others], n_groups)
        found[:, left_out] = rows.counts[rows.inverse] == 1
    return found
