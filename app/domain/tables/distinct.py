"""Reducing rows of codes to their distinct combinations by mixed-radix keys.

Rows are ordered lexicographically by code, first column most significant: this is the canonical order of
everything that is reported.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.domain.arrays import Integers, Ints, Longs

KEY_LIMIT = 2**62
DENSE_KEYS_PER_ROW = 8
ROWS_AT_ONCE = 2**15
MANY = 10_000


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """The distinct rows of a matrix of codes: ``codes`` (d, m), ``counts`` (d,), ``inverse`` (n,)."""

    codes: Ints
    counts: Longs
    inverse: Ints

    @property
    def size(self) -> int:
        """d, the number of distinct rows."""
        return len(self.counts)


def one_of_each(numbers: Integers, size: int) -> Longs:
    """(size,) the last row that has each number below ``size``, 0 if none has; rows of −1 have no number."""
    found = np.zeros(size + 1, dtype=np.int64)
    found[numbers] = np.arange(len(numbers))
    return found[:size]


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


def group(keys: Longs, limit: int) -> tuple[Longs, Ints]:
    """One representative position per distinct key (ascending key) and each row's group number."""
    if not len(keys):
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)
    if bool((keys[1:] > keys[:-1]).all()):
        return np.arange(len(keys), dtype=np.int64), np.arange(len(keys), dtype=np.int32)
    if limit <= DENSE_KEYS_PER_ROW * len(keys):
        distinct, inverse = _numbered(keys, limit)
        first = np.empty(len(distinct), dtype=np.int64)
        first[inverse[::-1]] = np.arange(len(keys) - 1, -1, -1)
        return first, inverse
    ordered, order = sort_with_positions(keys, limit)
    starts = starts_of_runs(ordered)
    numbers = np.zeros(len(keys), dtype=np.int32)
    numbers[starts[1:]] = 1
    inverse = np.empty(len(keys), dtype=np.int32)
    inverse[order] = np.cumsum(numbers, dtype=np.int32)
    return order[starts], inverse


def _numbered(keys: Longs, limit: int) -> tuple[Longs, Ints]:
    """The distinct keys, ascending, and the number of each row's, by a cell for every possible key."""
    present = np.zeros(limit, dtype=bool)
    present[keys] = True
    distinct = np.flatnonzero(present)
    number = np.empty(limit, dtype=np.int32)
    number[distinct] = np.arange(len(distinct), dtype=np.int32)
    return distinct, number[keys]


def row_keys(columns: Sequence[Integers], sizes: Sequence[int], n_rows: int) -> tuple[Longs, int]:
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


def distinct_rows(columns: Sequence[Integers], sizes: Sequence[int], n_rows: int) -> DistinctRows:
    """Reduce rows, given as columns with codes in [0, size), to the distinct ones in canonical order."""
    if math.prod(sizes) > KEY_LIMIT >> max(1, n_rows.bit_length()) and n_rows >= MANY:
        # Numbers of the values in use make keys that can be sorted with their positions.
        compact = [_compacted(column, size) for column, size in zip(columns, sizes, strict=True)]
        keys, limit = row_keys([c for c, _ in compact], [size for _, size in compact], n_rows)
    else:
        keys, limit = row_keys(columns, sizes, n_rows)
    representatives, inverse = group(keys, limit)
    codes = np.empty((len(representatives), len(columns)), dtype=np.int32, order="F")
    for j, column in enumerate(columns):
        codes[:, j] = column[representatives]
    counts = np.bincount(inverse, minlength=len(representatives)).astype(np.int64)
    return DistinctRows(codes, counts, inverse)


def _compacted(column: Integers, size: int) -> tuple[Ints, int]:
    """The column with its values numbered in their order, and how many there are."""
    number = np.zeros(size, dtype=np.int32)
    number[column] = 1
    used = np.flatnonzero(number)
    number[used] = np.arange(len(used), dtype=np.int32)
    return number[column], max(1, len(used))


def recoded_rows(
    columns: Sequence[Integers],
    recodings: Sequence[Ints],
    used: Sequence[Ints],
    n_rows: int,
) -> DistinctRows:
    """Reduce rows after each column's values were replaced by those that its recoding holds at them.

    The same as :func:`distinct_rows` of the recoded columns, without making them. ``used`` are the values
    that each column has.
    """
    values = [np.unique(recoding[own]) for recoding, own in zip(recodings, used, strict=True)]
    sizes = [len(own) for own in values]
    limit = math.prod(sizes)
    if limit > KEY_LIMIT:
        recoded = [recoding[column] for recoding, column in zip(recodings, columns, strict=True)]
        return distinct_rows(recoded, [int(own[-1]) + 1 for own in values], n_rows)
    keys = _recoded_keys(columns, recodings, values, n_rows)
    if bool((keys[1:] > keys[:-1]).all()):
        same = [recoding[column] for recoding, column in zip(recodings, columns, strict=True)]
        codes = np.asfortranarray(np.stack(same, axis=1), dtype=np.int32)
        return DistinctRows(codes, np.ones(n_rows, dtype=np.int64), np.arange(n_rows, dtype=np.int32))
    if limit <= DENSE_KEYS_PER_ROW * n_rows:
        distinct, inverse = _numbered(keys, limit)
    else:
        first, inverse = group(keys, limit)
        distinct = keys[first]
    codes = np.empty((len(distinct), len(columns)), dtype=np.int32, order="F")
    for j in range(len(columns) - 1, -1, -1):
        above = distinct // sizes[j]
        codes[:, j] = values[j][distinct - above * sizes[j]]
        distinct = above
    counts = np.bincount(inverse, minlength=len(codes)).astype(np.int64)
    return DistinctRows(codes, counts, inverse)


def _recoded_keys(
    columns: Sequence[Integers],
    recodings: Sequence[Ints],
    values: Sequence[Ints],
    n_rows: int,
) -> Longs:
    """One key per row, ordered as the recoded rows are lexicographically."""
    radix, parts = math.prod(map(len, values)), []
    for column, recoding, own in zip(columns, recodings, values, strict=True):
        radix //= len(own)
        if len(own) > 1:
            parts.append((column, np.searchsorted(own, recoding) * radix))
    keys = np.zeros(n_rows, dtype=np.int64)
    # In pieces that stay in the processor's cache.
    for start in range(0, n_rows, ROWS_AT_ONCE):
        piece = keys[start : start + ROWS_AT_ONCE]
        for column, part in parts:
            piece += part[column[start : start + ROWS_AT_ONCE]]
    return keys
