"""Exact laws of what samples of small tables show, of one attribute."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from app.domain.arrays import Floats
from app.domain.mechanisms.histogram_laws import Counts, Law, Outcome
from app.domain.mechanisms.noise_law import NoiseLaw


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
