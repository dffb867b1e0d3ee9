"""How many values of an attribute are how rare, level by level: what estimates of classes rest on."""

from __future__ import annotations

from typing import Final

import numpy as np

from app.domain.arrays import Floats, Ints
from app.domain.hierarchies.hierarchy import Hierarchy

STEP: Final = 0.25
"""Logarithms of shares are told apart by so much."""


def rarities(hierarchy: Hierarchy, codes: Ints) -> tuple[Floats, ...]:
    """Per level, how many values have a share of exp(−i · STEP) of the records, at entry i.

    A value whose share is between two such counts in part for either, so that both the number of values and
    the sum of their shares are kept.
    """
    records = np.bincount(codes, minlength=hierarchy.n_nodes)
    used = np.flatnonzero(records)
    found = []
    for level in range(hierarchy.height + 1):
        at_level = np.bincount(hierarchy.ancestors_at(level)[used], records[used])
        shares = at_level[at_level > 0] / len(codes)
        steps = np.floor(-np.log(shares) / STEP).astype(np.int64)
        more, less = np.exp(-STEP * steps), np.exp(-STEP * (steps + 1))
        in_part = np.clip((more - shares) / (more - less), 0.0, 1.0)
        size = int(steps.max()) + 2
        found.append(np.bincount(steps, 1.0 - in_part, size) + np.bincount(steps + 1, in_part, size))
    return tuple(found)
