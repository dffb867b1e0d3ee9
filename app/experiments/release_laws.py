"""Exact laws of what samples of small tables show, of one attribute."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.domain.arrays import Floats
from app.domain.mechanisms.histogram_laws import Counts, Law


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
