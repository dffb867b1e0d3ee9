"""The risk of one table-level rule, and what it says about finer rules.

Let x be finer than y. Every count at x is at most that at y, so, where 6.3 holds, the risk at x is at least
the mean of Φ(x) / |ρ(y)| over the records with somebody consistent. Φ(x) exceeds Φ(y) by what is disclosed in
addition, at least the least difference of the weights of any value: Φ(x) ≥ Φ(y) + δ for sums of weights,
Φ(x) ≥ e^δ Φ(y) for their exponential, Φ(x) ≥ e^δ Φ(y) + e^δ − 1 for that minus one; δ ≥ 0. Hence, with s the
mean of 1 / |ρ(y)| over those records,

    risk(x) ≥ bound(y) + slope · g

with g = δ and slope = s for sums, else g = e^δ − 1 and slope = bound(y), plus s where one is taken off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from app.domain.search.canonical import outer_sum
from app.domain.search.context import SearchContext

Floats = npt.NDArray[np.float64]

EXPONENTIAL = ("multiplicative", "multiplicative_centered")
LARGEST_EXPONENT = 500.0


class RuleRisk(NamedTuple):
    """Risk of a rule; no finer rule is below ``bound`` + ``slope`` · g, with g of :class:`Growth`."""

    risk: float
    bound: float
    slope: float


@dataclass(frozen=True, eq=False)
class Growth:
    """The least that Φ grows by: between rules, the difference of the sums of ``terms`` (levels,).

    One array per attribute of the table, 0 at ⊥. ``multiplies`` if e to the power of it is a factor of Φ.
    """

    terms: tuple[Floats, ...]
    multiplies: bool

    @classmethod
    def none(cls, shape: Sequence[int]) -> Growth:
        """Nothing is known of it."""
        return cls(tuple(np.zeros(size) for size in shape), False)

    def sizes(self) -> Floats:
        """A number per rule, in lexicographic order of the levels, from which :meth:`between` is found."""
        total = outer_sum(self.terms).reshape(-1)
        return np.exp(total) if self.multiplies else total

    def between(self, finer: Floats, coarser: float) -> Floats:
        """What is called g above, of finer rules and a coarser one, from their sizes."""
        return finer / coarser - 1.0 if self.multiplies else finer - coarser


def least_growth(context: SearchContext) -> Growth:
    """The growth of an instance's Φ; nothing where a weight is infinite or the factors would overflow."""
    sensitivity, table = context.sensitivity, context.table
    shape = [height + 1 for height in table.heights]
    if sensitivity.family == "constant" or sensitivity.interactions:
        return Growth.none(shape)
    terms = []
    for j, hierarchy in enumerate(table.hierarchies):
        own, unit = sensitivity.shapes[j]
        nodes = np.stack([hierarchy.ancestors_at(level) for level in range(shape[j])])[:, table.used_nodes[j]]
        factors = np.unique(sensitivity.factors[:, j])
        weights = [own[nodes]] if np.isnan(factors).any() else []
        weights += [factor * unit[nodes] for factor in factors[np.isfinite(factors)]]
        terms.append(_from_the_top([_steps(of_factor) for of_factor in weights], shape[j]))
    multiplies = sensitivity.family in EXPONENTIAL
    if multiplies and sum(float(term[0]) for term in terms) > LARGEST_EXPONENT:
        return Growth.none(shape)
    return Growth(tuple(terms), multiplies)


def _steps(weights: Floats) -> Floats:
    """By how much at least each level outweighs the next coarser one, from weights (levels, values)."""
    with np.errstate(invalid="ignore"):
        steps = (weights[:-1] - weights[1:]).min(axis=1, initial=np.inf)
    return np.where(np.isfinite(steps), np.maximum(steps, 0.0), 0.0)


def _from_the_top(steps: Sequence[Floats], n_levels: int) -> Floats:
    total = np.zeros(n_levels)
    if steps:
        total[:-1] = np.minimum.reduce(steps)[::-1].cumsum()[::-1]
    return total
