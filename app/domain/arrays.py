"""The kinds of arrays and of level vectors that the domain calculates with."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Indices = npt.NDArray[np.intp]
Integers = npt.NDArray[np.integer]
Floats = npt.NDArray[np.float64]
Levels = tuple[int, ...]
"""One level per attribute: a rule for the whole table, or a node of one record's lattice."""


def concatenated_ranges(first: Integers, lengths: Integers) -> Longs:
    """The ranges [first, first + length) one after another."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    places: Longs = np.arange(total, dtype=np.int64) - np.repeat(ends - lengths - first, lengths)
    return places
