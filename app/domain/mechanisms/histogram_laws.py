"""Exact laws of the histograms of small tables, and the least δ by which two of them are told apart.

An outcome is how often each cell is published. Of noise what is beyond the enumerated has less than 10⁻¹³ of
the probability of a cell.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from app.domain.arrays import Longs
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


def out_of_reach(noise: NoiseLaw) -> tuple[int, float]:
    """How far noise is enumerated, and the probability of what is beyond on either side together."""
    reach = next(k for k in itertools.count(1) if 2 * noise.tail(k + 1) < BEYOND)
    return reach, float(2 * noise.tail(reach + 1))


def _with_noise(counts: Sequence[int], noise: NoiseLaw, shown: Callable[[Longs, Longs], Longs]) -> Law:
    """The law of counts that are published one by one."""
    reach, _ = out_of_reach(noise)
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
