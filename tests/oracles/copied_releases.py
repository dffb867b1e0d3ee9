"""Many independent releases of one group, in copies of samples, by the mechanism's own steps."""

from __future__ import annotations

import numpy as np

from app.domain.arrays import Longs
from app.domain.classes.sensitive_counts import SensitiveCounts
from app.domain.mechanisms.balanced_samples import copies, expanded, sampled_counts
from app.domain.mechanisms.drawing import replaced
from app.domain.mechanisms.transition_matrix import TransitionMatrix
from tests.oracles.perturbation_by_hand import stream


def many(group, times, samples, p):
    """(times, m) published counts of so many independent releases of a group."""
    m = len(group)
    starts = np.arange(times + 1) * m
    values = np.tile(np.arange(m, dtype=np.int32), times)
    counts: Longs = np.tile(np.array(group, dtype=np.int64), times)
    whole = SensitiveCounts(starts, values, counts, counts[:m], values[:m])
    bits, sizes = stream("monte carlo"), np.full(times, samples)
    owners, drawn = expanded(whole, sampled_counts(whole, sizes, bits))
    shown = replaced(drawn, TransitionMatrix(np.full(m, p)), bits)
    often = copies(owners, whole.sizes, sizes, bits)
    return np.bincount(owners * m + shown, often, times * m).reshape(times, m)
