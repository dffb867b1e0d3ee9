"""What people who are drawn from urns show on average, and what drawn ones tell: for the owner alone.

Counts are over cells, of one partition of n people; floating point is right to some nine digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

import numpy as np
from annotated_types import doc

from app.domain.arrays import Floats, Longs
from app.domain.mechanisms.dirichlet_disclosure import MOST_OUTPUTS


@dataclass(frozen=True)
class PartitionsOfSize:
    """Partitions of as many people, which have one prior."""

    people: Annotated[int, doc("People in each.")]
    partitions: Annotated[int, doc("How many partitions have so many people.")]
    alpha: Annotated[float, doc("α: the least prior of a cell.")]
    noise_share: Annotated[float, doc("The share of drawn people expected to be of the prior, at most.")]
    total_variation: Annotated[
        float | None, doc("The mean over them of the expected Σ|drawn − there| / 2n over cells.")
    ]


@dataclass(frozen=True)
class ExpectedPeople:
    """What is expected of a draw, and what one that was made tells; null where cells are kept by chance."""

    sizes: Annotated[tuple[PartitionsOfSize, ...], doc("By size of the partition, ascending.")]
    total_variation: Annotated[float | None, doc("The mean of `total_variation` over people.")] = None
    disclosure: Annotated[
        float | None,
        doc(
            "The exact probability that a draw tells more than e^ε of somebody, in the worst partition; null "
            f"where all partitions together have more than {MOST_OUTPUTS:,} outputs."
        ),
    ] = None
    worst_loss: Annotated[
        float | None,
        doc(
            "By the release, if one was drawn: the greatest ln of a ratio of its probabilities under two "
            "tables within one record of the data. Drawing until it is small would break the guarantee."
        ),
    ] = None
    above_caps: Annotated[int | None, doc("Cells of it that have more than γ(α + [n − 1]⁺) people.")] = None


def expected_total_variation(counts: Longs, priors: Floats, total: float) -> float:
    """E Σ|drawn − counts| / 2n, by the counts and priors of cells where somebody is, and the prior of all."""
    n = int(counts.sum())
    cells = zip(counts.tolist(), priors.tolist(), strict=True)
    apart = math.fsum(_deviation(n, k, prior, total) for k, prior in cells)
    return (apart + n * (total - float(priors.sum())) / (n + total)) / (2 * n)


@lru_cache(maxsize=2**16)
def _deviation(n: int, k: int, prior: float, total: float) -> float:
    """E|Y − k| = E Y − k + 2·Σ_{j<k} (k − j)·Pr[Y = j] of a cell of k people."""
    a, b, j, log = k + prior, n - k + total - prior, np.arange(k), math.lgamma
    steps = np.log((j[:-1] + a) * (n - j[:-1]) / ((j[:-1] + 1) * (n - j[:-1] - 1 + b)))
    first = log(n + b) - log(b) + log(a + b) - log(a + b + n)
    return float(
        n * a / (a + b) - k + 2 * (k - j) @ np.exp(first + np.concatenate([[0.0], np.cumsum(steps)]))
    )
