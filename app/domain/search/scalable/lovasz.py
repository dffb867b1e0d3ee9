"""The Lovász extension on chains, and its rounding (Definitions: Lovász extension).

A point gives each step (i, s), s = 1..h_i, a number in [0, 1], non-increasing in s: per attribute an array of
length h_i. Its level sets are nodes; the extension of a function is its mean over them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.domain.search.boxes import Levels
from app.domain.search.scalable.chain_records import ChainRecord

Floats = npt.NDArray[np.float64]
Point = tuple[Floats, ...]


@dataclass(frozen=True)
class Outcome:
    """A node that rounding gives with a probability above 0."""

    levels: Levels
    probability: float


def point_of(values: Floats, heights: Levels) -> Point:
    """A point from the numbers of all steps, forced into [0, 1] and to fall along each chain."""
    parts = np.split(np.clip(values, 0.0, 1.0), np.cumsum(heights)[:-1])
    return tuple(np.minimum.accumulate(part) for part in parts)


def outcomes(point: Point) -> tuple[Outcome, ...]:
    """The level sets of a point from the most specific to the most general, each with its probability.

    The steps above a uniformly drawn number are taken: each node of the chain of level sets is met with the
    probability of the interval between two numbers.
    """
    cuts = sorted({0.0, 1.0, *(float(v) for part in point for v in part)}, reverse=True)
    found = []
    for above, below in itertools.pairwise(cuts):
        levels = tuple(int((part >= above).sum()) for part in point)
        found.append(Outcome(levels, above - below))
    return tuple(found)


def extension(function: Callable[[Levels], float], point: Point) -> float:
    """f̂(x̂), the mean of f over the level sets."""
    return sum(outcome.probability * function(outcome.levels) for outcome in outcomes(point))


def extended_count(record: ChainRecord, point: Point) -> float:
    """T̂(x̂) = Σ_t min(1, min over τ_i(t) > 0 of x̂_{i, τ_i(t)})."""
    least = np.ones(len(record.multiplicity))
    for part, thresholds in zip(point, record.thresholds.T, strict=True):
        np.minimum(least, np.concatenate([[1.0], part])[thresholds], out=least)
    return float(least @ record.multiplicity)


def draw(chances: Sequence[Outcome], random: np.random.Generator) -> Levels:
    """One of the outcomes, with its probability."""
    number = random.random()
    for outcome in chances:
        number -= outcome.probability
        if number < 0:
            return outcome.levels
    return chances[-1].levels
