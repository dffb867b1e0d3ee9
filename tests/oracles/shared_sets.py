"""What a share of the records that is drawn once makes frequent, as the mechanism was published."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from app.domain.arrays import Bools, Longs
from app.domain.mechanisms.sample_laws import (
    Candidates,
    FrequentSet,
    GeneralisedRecords,
    Score,
    counts_below,
    members_of,
)


def shared_sets(records: GeneralisedRecords, score: Score, least_share: Fraction) -> Iterator[FrequentSet]:
    """All that can be frequent by a share of the records that is drawn once, between this and 1."""
    size, every = int(records.counts.sum()), np.arange(len(records.codes))
    shares = {Fraction(n, size) for n in counts_below(records).values()}
    cuts = sorted({least_share, Fraction(1), *(own for own in shares if own > least_share)})
    for low, high in itertools.pairwise(cuts):
        least = math.ceil(high * size)

        def decide(counts: Longs, least: int = least) -> Bools:
            return np.asarray(counts >= least)

        candidates = Candidates.of(records, every, decide, score)
        yield FrequentSet(float((high - low) / (1 - least_share)), candidates, members_of(candidates))
