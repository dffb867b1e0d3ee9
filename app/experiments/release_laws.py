"""Exact laws of what small tables release, and the least δ by which two of them are told apart.

An outcome is how often each cell is published. Of noise what is beyond the enumerated has less than 10⁻¹³ of
the probability of a cell.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from app.domain.arrays import Floats, Longs
from app.domain.mechanisms.laplace_histogram import clipped
from app.domain.mechanisms.noise_law import NoiseLaw
from app.domain.mechanisms.stability_histogram import published_counts

Outcome = tuple[int, ...]
Law = Mapping[Outcome, float]
Counts = tuple[int, ...]
"""How many records each cell has."""

BEYOND: Final = 1e-13


def least_delta(one: Law, other: Law, epsilon: float) -> float:
    """Σ max(0, P(o) − e^ε·Q(o)): the hockey-stick divergence of P over Q."""
    factor = math.exp(epsilon)
    return math.fsum(max(0.0, p - factor * other.get(outcome, 0.0)) for outcome, p in one.items())


def both_orders(more: Law, less: Law, epsilon: float) -> tuple[float, float]:
    """Of the table with a record more over the other, and the other way round."""
    return least_delta(more, less, epsilon), least_delta(less, more, epsilon)


def neighbours(most: int, cells: int) -> Iterator[tuple[Counts, Counts]]:
    """All tables of so many records a cell at most, each with all that have one record less and any."""
    for counts in itertools.product(range(most + 1), repeat=cells):
        for cell, n in enumerate(counts):
            if n and sum(counts) > 1:
                yield counts, (*counts[:cell], n - 1, *counts[cell + 1 :])


def greatest_delta(law_of: Callable[[Counts], Law], most: int, cells: int, epsilon: float) -> float:
    """The greatest δ that any of these neighbours need, in either order."""
    laws = {
        counts: law_of(counts)
        for counts in itertools.product(range(most + 1), repeat=cells)
        if sum(counts) > 0
    }
    return max(max(both_orders(laws[more], laws[less], epsilon)) for more, less in neighbours(most, cells))


def _with_noise(counts: Sequence[int], noise: NoiseLaw, shown: Callable[[Longs, Longs], Longs]) -> Law:
    """The law of counts that are published one by one."""
    reach = next(k for k in itertools.count(1) if 2 * noise.tail(k + 1) < BEYOND)
    drawn = np.arange(-reach, reach + 1)
    chances = np.array([float(noise.probability(int(z))) for z in drawn])
    laws = []
    for count in counts:
        found = shown(np.full(len(drawn), count), drawn)
        total: dict[int, float] = {}
        for value, chance in zip(found.tolist(), chances.tolist(), strict=True):
            total[value] = total.get(value, 0.0) + chance
        laws.append(total)
    return {
        outcome: math.prod(own[value] for own, value in zip(laws, outcome, strict=True))
        for outcome in itertools.product(*laws)
    }


def stability_law(counts: Counts, noise: NoiseLaw, threshold: int) -> Law:
    """Of the stability histogram; a cell without a record is never looked at."""
    occurring = [cell for cell, n in enumerate(counts) if n]
    law = _with_noise(
        [counts[cell] for cell in occurring], noise, lambda n, z: published_counts(n, z, threshold)
    )
    found: dict[Outcome, float] = {}
    for outcome, chance in law.items():
        whole = [0] * len(counts)
        for cell, value in zip(occurring, outcome, strict=True):
            whole[cell] = value
        found[tuple(whole)] = found.get(tuple(whole), 0.0) + chance
    return found


def laplace_law(counts: Counts, noise: NoiseLaw) -> Law:
    """Of the Laplace histogram."""
    return _with_noise(counts, noise, clipped)


@dataclass(frozen=True)
class OneAttribute:
    """Records of one attribute with leaves directly below ⊥: the least that generalises at all.

    Parameters
    ----------
    rate
        s.
    exponent
        Of f / m.
    trade_off, root_weight, leaf_weight, root_use, leaf_use
        The objective, with κ = 1.
    """

    rate: float
    exponent: float
    trade_off: float = 1.0
    root_weight: float = 0.5
    leaf_weight: float = 1.0
    root_use: float = 0.0
    leaf_use: float = 1.0

    def leaf_share(self, count: int, records: int) -> float:
        """q(leaf) of a record whose leaf has so many records and is frequent."""
        leaf = self.trade_off * count / self.leaf_weight + self.leaf_use
        root = self.trade_off * records / self.root_weight + self.root_use
        return 1.0 / (1.0 + math.exp(self.exponent / records * (root - leaf)))

    def law(self, counts: Counts, frequent: Sequence[bool]) -> Law:
        """(⊥, leaves …) of a fixed set of frequent leaves, by the law of each record's coin and draw."""
        records = sum(counts)
        law = np.zeros((records + 1, *(n + 1 for n in counts)))
        law.flat[0] = 1.0
        for leaf, count in enumerate(counts):
            share = self.leaf_share(count, records) if frequent[leaf] else 0.0
            for _ in range(count):
                law = (
                    (1.0 - self.rate) * law
                    + self.rate * (1.0 - share) * _one_more(law, 0)
                    + self.rate * share * _one_more(law, leaf + 1)
                )
        return {tuple(map(int, at)): float(law[tuple(at)]) for at in np.argwhere(law > 0)}

    def noisy_law(self, counts: Counts, scale: int, threshold: int) -> Law:
        """The same with frequent leaves by noisy counts, as the certified mechanism decides them."""
        noise = NoiseLaw(Fraction(1, scale))
        chances = [float(noise.tail(threshold - n)) if n else 0.0 for n in counts]
        return self._mixed(
            counts,
            (
                (frequent, math.prod(p if own else 1 - p for own, p in zip(frequent, chances, strict=True)))
                for frequent in itertools.product((False, True), repeat=len(counts))
            ),
        )

    def drawn_share_law(self, counts: Counts, least_share: float) -> Law:
        """The same with leaves that have a share θ of the records, θ drawn between least_share and 1."""
        records = sum(counts)
        cuts = sorted({least_share, 1.0, *(n / records for n in counts if least_share < n / records < 1)})
        return self._mixed(
            counts,
            (
                (tuple(n / records >= high for n in counts), (high - low) / (1.0 - least_share))
                for low, high in itertools.pairwise(cuts)
            ),
        )

    def _mixed(self, counts: Counts, sets: Iterator[tuple[tuple[bool, ...], float]]) -> Law:
        found: dict[Outcome, float] = {}
        for frequent, chance in sets:
            if chance > 0:
                for outcome, p in self.law(counts, frequent).items():
                    found[outcome] = found.get(outcome, 0.0) + chance * p
        return found


def _one_more(law: Floats, axis: int) -> Floats:
    """The law of one more of what an axis counts."""
    moved = np.roll(law, 1, axis=axis)
    moved[(slice(None),) * axis + (0,)] = 0.0
    return np.asarray(moved)


def binomial(n: int, p: float) -> Floats:
    """(n + 1,) the probabilities of a sum of coins."""
    logs = [math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in range(n + 1)]
    at = np.arange(n + 1)
    return np.asarray(np.exp(np.array(logs) + at * math.log(p) + (n - at) * math.log1p(-p)))
