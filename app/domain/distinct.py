"""Reducing rows of codes to their distinct combinations by mixed-radix keys.

Rows are ordered lexicographically by code, first column most significant: this is the canonical order of
everything that is reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

KEY_LIMIT = 2**62


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """The distinct rows of a matrix of codes: ``codes`` (d, m), ``counts`` (d,), ``inverse`` (n,)."""

    codes: Ints
    counts: Longs
    inverse: Ints

    @property
    def size(self) -> int:
        return len(self.counts)


def sort_with_positions(keys: Longs, limit: int) -> tuple[Longs, Longs]:
    """Sorted keys (0 ≤ key < limit) and the stable permutation that sorts them.

    Packs the position into the key's low bits where both fit: sorting values is several times faster than
    sorting by index.
    """
    bits = max(1, (len(keys) - 1).bit_length())
    if limit <= KEY_LIMIT >> bits:
        packed = (keys << bits) | np.arange(len(keys), dtype=np.int64)
        packed.sort()
        return packed >> bits, packed & ((1 << bits) - 1)
    order = np.argsort(keys, kind="stable")
    return keys[order], order


def starts_of_runs(ordered: Longs) -> Longs:
    """Positions at which a sorted array takes a new value."""
    if not len(ordered):
        return np.empty(0, dtype=np.int64)
    changed = np.empty(len(ordered), dtype=bool)
    changed[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=changed[1:])
    return np.flatnonzero(changed)


def concatenated_ranges(first: npt.NDArray[np.integer], lengths: npt.NDArray[np.integer]) -> Longs:
    """The ranges [first, first + length) one after another."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    places: Longs = np.arange(total, dtype=np.int64) - np.repeat(ends - lengths - first, lengths)
    return places


def group(keys: Longs, limit: int) -> tuple[Longs, Ints]:
    """One representative position per distinct key (ascending key) and each row's group number."""
    if not len(keys):
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)
    ordered, order = sort_with_positions(keys, limit)
    starts = starts_of_runs(ordered)
    numbers = np.zeros(len(keys), dtype=np.int32)
    numbers[starts[1:]] = 1
    inverse = np.empty(len(keys), dtype=np.int32)
    inverse[order] = np.cumsum(numbers, dtype=np.int32)
    return order[starts], inverse


def row_keys(
    columns: Sequence[npt.NDArray[np.integer]], sizes: Sequence[int], n_rows: int
) -> tuple[Longs, int]:
    """One int64 per row, ordered as the rows are lexicographically, and an exclusive upper limit.

    Prefixes whose key space outgrows 62 bits are replaced by their dense rank, so any width is exact.
    """
    keys = np.zeros(n_rows, dtype=np.int64)
    limit = 1
    for column, size in zip(columns, sizes, strict=True):
        if limit * size > KEY_LIMIT:
            representatives, inverse = group(keys, limit)
            keys, limit = inverse.astype(np.int64), max(1, len(representatives))
        if size > 1:
            keys *= size
            keys += column
            limit *= size
    return keys, limit


def distinct_rows(
    columns: Sequence[npt.NDArray[np.integer]], sizes: Sequence[int], n_rows: int
) -> DistinctRows:
    """Reduce rows, given as columns with codes in [0, size), to the distinct ones in canonical order."""
    keys, limit = row_keys(columns, sizes, n_rows)
    representatives, inverse = group(keys, limit)
    codes = np.empty((len(representatives), len(columns)), dtype=np.int32, order="F")
    for j, column in enumerate(columns):
        codes[:, j] = column[representatives]
    counts = np.bincount(inverse, minlength=len(representatives)).astype(np.int64)
    return DistinctRows(codes, counts, inverse)
