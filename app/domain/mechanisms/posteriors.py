"""What a reader believes after a published value, without writing all m × m beliefs out.

Of a prior p the belief in i after the published value v is p_i · PM[v][i] / s_v, with
s_v = Σ_j p_j · PM[v][j] (Cao and Karras (2012), section 5; Definitions: perturbation). With
PM = diag(α) + 1·Yᵀ the ratio of belief to prior is X_v / s_v for v itself and Y_i / s_v for any other i: a
product of two vectors, of which extremes and counts are found by sorting them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from app.domain.arrays import Bools, Floats, Longs
from app.domain.mechanisms.transition_matrix import TransitionMatrix


@dataclass(frozen=True, eq=False)
class Pairs:
    """Published values and true ones, one element each, with belief / prior."""

    published: Longs
    true: Longs
    ratios: Floats

    def of(self, chosen: Bools) -> Pairs:
        """Some of them."""
        return Pairs(self.published[chosen], self.true[chosen], self.ratios[chosen])

    def times(self, factors: Floats) -> Pairs:
        """With each ratio times the factor (m,) of the true value."""
        return Pairs(self.published, self.true, self.ratios * factors[self.true])


@dataclass(frozen=True, eq=False)
class Posteriors:
    """Beliefs after each published value.

    Parameters
    ----------
    prior
        p, (m,), 0 or more and not all 0. Values that a reader takes for impossible have no ratio, and are in
        no pair. It may sum to less than 1, where readers expect values that are never published.
    """

    matrix: TransitionMatrix
    prior: Floats

    @cached_property
    def shown(self) -> Floats:
        """s, (m,): the probability of each published value."""
        return float(self.prior @ self.matrix.elsewhere) + self.prior * self.matrix.retention

    @cached_property
    def is_known(self) -> Bools:
        """(m,) values that are possible to the reader."""
        return self.prior > 0

    def ratios(self, published: Longs, true: Longs) -> Floats:
        """Belief / prior of pairs."""
        entries = np.where(published == true, self.matrix.kept[true], self.matrix.elsewhere[true])
        return np.asarray(entries / self.shown[published])

    def greatest_of_values(self) -> Pairs:
        """Of each possible value the published one after which it is believed most, the first of equals."""
        return self._of_values(np.argsort(self.shown, kind="stable"), np.greater)

    def least_of_values(self) -> Pairs:
        """Of each possible value the published one after which it is believed least, the first of equals."""
        return self._of_values(np.argsort(-self.shown, kind="stable"), np.less)

    def _of_values(self, order: Longs, beats: np.ufunc) -> Pairs:
        """Itself, or the other published value that comes first in the order."""
        true = np.flatnonzero(self.is_known)
        published, ratios = true.copy(), self.ratios(true, true)
        if self.matrix.n_values > 1:
            first = np.where(order[0] == true, order[1], order[0])
            of_first = self.ratios(first, true)
            taken = beats(of_first, ratios)
            published[taken], ratios[taken] = first[taken], of_first[taken]
        return Pairs(published, true, ratios)

    def greatest_of_published(self, weights: Floats | None = None) -> Pairs:
        """Of each published value the possible one with the greatest ratio times weight (m,); see ``ratios``.

        The weights are 1 by default; with the prior as weights it is the value that is most probable.
        """
        own = np.ones(self.matrix.n_values) if weights is None else weights
        off = np.where(self.is_known, self.matrix.elsewhere * own, -np.inf)
        on = np.where(self.is_known, self.matrix.kept * own, -np.inf)
        published = np.arange(self.matrix.n_values)
        true = published.copy()
        if self.matrix.n_values > 1:
            order = np.argsort(-off, kind="stable")
            other = np.where(order[0] == published, order[1], order[0])
            taken = off[other] > on
            true[taken] = other[taken]
        return Pairs(published, true, self.ratios(published, true))

    def above(self, limits: Floats) -> PairsAbove:
        """The pairs whose ratio is above the limit (m,) of the true value."""
        with np.errstate(divide="ignore", invalid="ignore"):
            bounds = np.where(self.is_known, self.matrix.elsewhere / limits, -np.inf)
        own = self.is_known & (self.ratios(np.arange(len(limits)), np.arange(len(limits))) > limits)
        return PairsAbove(self, bounds, own)


@dataclass(frozen=True, eq=False)
class PairsAbove:
    """Pairs of a published value v and a true one i: i ≠ v with s_v below a bound of i, and some of i = v.

    Parameters
    ----------
    bounds
        (m,) of each true value.
    own
        (m,) whether the value is above its limit when it is published itself.
    """

    posteriors: Posteriors
    bounds: Floats
    own: Bools

    @cached_property
    def _order(self) -> Longs:
        return np.argsort(self.posteriors.shown, kind="stable")

    @cached_property
    def _below(self) -> Longs:
        """(m,) published values with s below the bound, itself among them if it is."""
        return np.searchsorted(self.posteriors.shown[self._order], self.bounds)

    @cached_property
    def _itself(self) -> Bools:
        return self.posteriors.shown < self.bounds

    def counts(self) -> Longs:
        """(m,) of each true value how many published ones."""
        return np.asarray(self._below - self._itself + self.own)

    def weights(self, of_published: Longs) -> Longs:
        """(m,) of each true value the sum of whole weights (m,) of those published ones."""
        sums = np.concatenate([[0], np.cumsum(of_published[self._order])])
        return np.asarray(sums[self._below] - of_published * self._itself + of_published * self.own)

    def published(self) -> Bools:
        """(m,) published values that are in some pair."""
        if len(self.bounds) == 1:
            return self.own
        first, second = np.partition(self.bounds, -2)[-2:][::-1]
        is_first = np.arange(len(self.bounds)) == int(self.bounds.argmax())
        return np.asarray(self.own | (self.posteriors.shown < np.where(is_first, second, first)))

    def greatest(self, top: int) -> Pairs:
        """The pairs of greatest ratio, at most ``top``, highest first.

        They are of those true values whose own greatest ratios in pairs are the greatest, and of the
        published ones with the least s.
        """
        least = self._order[: top + 1]
        values = np.flatnonzero(self.counts())
        best = np.full(len(self.bounds), -np.inf)
        for place in least[:2]:
            others = values[values != place]
            ratios = self.posteriors.ratios(np.full(len(others), place), others)
            inside = self.posteriors.shown[place] < self.bounds[others]
            best[others] = np.maximum(best[others], np.where(inside, ratios, -np.inf))
        on = np.flatnonzero(self.own)
        best[on] = np.maximum(best[on], self.posteriors.ratios(on, on))
        chosen = values[np.argsort(-best[values], kind="stable")[:top]]
        published, true = (own.ravel() for own in np.meshgrid(least, chosen))
        inside = (published != true) & (self.posteriors.shown[published] < self.bounds[true])
        own = chosen[self.own[chosen]]
        published, true = np.concatenate([published[inside], own]), np.concatenate([true[inside], own])
        ratios = self.posteriors.ratios(published, true)
        order = np.lexsort((true, published, -ratios))[:top]
        return Pairs(published[order], true[order], ratios[order])
