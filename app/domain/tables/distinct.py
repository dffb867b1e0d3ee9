"""Reducing rows of codes to their distinct combinations by mixed-radix keys.

Rows are ordered lexicographically by code, first column most significant: this is the canonical order of
everything that is reported.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Integers, Ints, Longs

KEY_LIMIT = 2**62
NARROW_LIMIT = 2**31 - 1
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
    if limit <= room_for_keys(len(keys)):
        bits = _position_bits(len(keys))
        packed = keys.copy()
        _pack_positions(packed, bits)
        packed.sort()
        order = packed & ((1 << bits) - 1)
        packed >>= bits
        return packed, order
    order = np.argsort(keys, kind="stable")
    return keys[order], order


def starts_of_runs(ordered: Integers) -> Longs:
    """Positions at which a sorted array takes a new value."""
    if not len(ordered):
        return np.empty(0, dtype=np.int64)
    changed = np.empty(len(ordered), dtype=bool)
    changed[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=changed[1:])
    return np.flatnonzero(changed)


def group(keys: Longs, limit: int) -> tuple[Longs, Ints]:
    """One representative position per distinct key (ascending key) and each row's group number."""
    if are_ascending(keys):
        return np.arange(len(keys), dtype=np.int64), np.arange(len(keys), dtype=np.int32)
    if limit <= DENSE_KEYS_PER_ROW * len(keys):
        distinct, inverse = _numbered(keys, limit)
        first = np.empty(len(distinct), dtype=np.int64)
        first[inverse[::-1]] = np.arange(len(keys) - 1, -1, -1)
        return first, inverse
    if limit <= room_for_keys(len(keys)):
        _, first, _, inverse = _sorted_groups(keys.copy())
        return first, inverse
    order = np.argsort(keys, kind="stable")
    starts = starts_of_runs(keys[order])
    inverse = np.empty(len(keys), dtype=np.int32)
    inverse[order] = np.repeat(np.arange(len(starts), dtype=np.int32), np.diff(starts, append=len(keys)))
    return order[starts], inverse


def are_ascending(keys: Longs) -> bool:
    """Whether every key is greater than the one before it; most that are not show it early."""
    head = keys[:MANY]
    return bool((head[1:] > head[:-1]).all()) and bool((keys[1:] > keys[:-1]).all())


def _numbered(keys: Longs, limit: int) -> tuple[Longs, Ints]:
    """The distinct keys, ascending, and the number of each row's, by a cell for every possible key."""
    present = np.zeros(limit, dtype=bool)
    present[keys] = True
    distinct = np.flatnonzero(present)
    number = np.empty(limit, dtype=np.int32)
    number[distinct] = np.arange(len(distinct), dtype=np.int32)
    return distinct, number.take(keys)


def group_numbers(keys: Longs, limit: int) -> tuple[Ints, int]:
    """Each row's group number, as :func:`group` gives it, and how many groups there are.

    Overwrites ``keys``, and where the positions fit below them takes little but what it answers.
    """
    if limit > room_for_keys(len(keys)):
        representatives, inverse = group(keys, limit)
        return inverse, len(representatives)
    inverse, n_groups = np.empty(len(keys), dtype=np.int32), 0
    for positions, is_new in _sorted_pieces(keys):
        inverse[positions], n_groups = _numbers_of(is_new, n_groups)
    return inverse, n_groups


def sorted_positions(keys: Longs, limit: int) -> tuple[Ints, int]:
    """The stable permutation that sorts the keys, and how many of them differ.

    Overwrites ``keys``, and where the positions fit below them takes little but what it answers.
    """
    if limit > room_for_keys(len(keys)):
        order = np.argsort(keys, kind="stable").astype(np.int32)
        return order, len(starts_of_runs(keys[order]))
    order, start, different = np.empty(len(keys), dtype=np.int32), 0, 0
    for positions, is_new in _sorted_pieces(keys):
        order[start : start + len(positions)] = positions
        start += len(positions)
        different += int(np.count_nonzero(is_new))
    return order, different


def room_for_keys(n_rows: int) -> int:
    """The greatest limit of keys that leaves room for the position of a row below each."""
    return KEY_LIMIT >> _position_bits(n_rows)


def _sorted_groups(keys: Longs) -> tuple[Longs, Longs, Longs, Ints]:
    """The distinct keys, ascending, of each its first row and how many it has, and each row's group number.

    Overwrites ``keys``, whose size must leave room for a position below them.
    """
    bits = _position_bits(len(keys))
    inverse = np.empty(len(keys), dtype=np.int32)
    starts, start, n_groups = [], 0, 0
    for positions, is_new in _sorted_pieces(keys):
        inverse[positions], n_groups = _numbers_of(is_new, n_groups)
        starts.append(np.flatnonzero(is_new) + start)
        start += len(positions)
    begun = np.concatenate(starts)
    heads = keys[begun]
    return heads >> bits, heads & ((1 << bits) - 1), np.diff(begun, append=len(keys)), inverse


def _sorted_pieces(keys: Longs) -> Iterator[tuple[Longs, npt.NDArray[np.bool_]]]:
    """Sort keys with their positions below them, in place; the positions, and which keys are new, in pieces.

    The pieces stay in the processor's cache.
    """
    bits, last = _position_bits(len(keys)), -1
    _pack_positions(keys, bits)
    keys.sort()
    for start in range(0, len(keys), ROWS_AT_ONCE):
        piece = keys[start : start + ROWS_AT_ONCE]
        own = piece >> bits
        is_new = np.empty(len(own), dtype=bool)
        is_new[0] = own[0] != last
        np.not_equal(own[1:], own[:-1], out=is_new[1:])
        last = own[-1]
        yield piece & ((1 << bits) - 1), is_new


def _numbers_of(is_new: npt.NDArray[np.bool_], n_groups: int) -> tuple[Ints, int]:
    """The group number of each key of a piece after so many groups, and how many there are by its end."""
    numbers = np.cumsum(is_new, dtype=np.int32)
    numbers += n_groups - 1
    return numbers, int(numbers[-1]) + 1


def _position_bits(n_rows: int) -> int:
    """How many bits the position of a row takes."""
    return max(1, (n_rows - 1).bit_length())


def _pack_positions(keys: Longs, bits: int) -> None:
    """Move the keys up by ``bits``, each with its position below it, in place."""
    keys <<= bits
    for start in range(0, len(keys), ROWS_AT_ONCE):
        piece = keys[start : start + ROWS_AT_ONCE]
        piece |= np.arange(start, start + len(piece), dtype=np.int64)


def row_keys(columns: Sequence[Integers], sizes: Sequence[int], n_rows: int) -> tuple[Longs, int]:
    """One int64 per row, ordered as the rows are lexicographically, and an exclusive upper limit.

    Prefixes whose key space outgrows 62 bits are replaced by their dense rank, so any width is exact.
    """
    keys = np.zeros(n_rows, dtype=np.int64)
    limit = 1
    waiting: list[tuple[Integers, int]] = []
    for column, size in zip(columns, sizes, strict=True):
        if limit * size > KEY_LIMIT:
            _append(keys, waiting)
            waiting = []
            representatives, inverse = group(keys, limit)
            keys, limit = inverse.astype(np.int64), max(1, len(representatives))
        if size > 1:
            waiting.append((column, size))
            limit *= size
    _append(keys, waiting)
    return keys, limit


def _append(keys: Longs, columns: Sequence[tuple[Integers, int]]) -> None:
    """Make columns of a size each the least significant digits of the keys, in place.

    Columns are joined to numbers of 32 bits as long as these hold them: that is half the work.
    """
    runs: list[tuple[int, list[tuple[Integers, int]]]] = []
    for column, size in columns:
        if runs and runs[-1][0] * size <= NARROW_LIMIT:
            runs[-1] = (runs[-1][0] * size, [*runs[-1][1], (column, size)])
        else:
            runs.append((size, [(column, size)]))
    for start in range(0, len(keys), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        piece = keys[rows]
        for radix, ((head, _), *others) in runs:
            digits = head[rows]
            if others:
                digits = digits.astype(np.int32)
                for column, size in others:
                    digits *= size
                    digits += column[rows]
            piece *= radix
            piece += digits


def distinct_rows(columns: Sequence[Integers], sizes: Sequence[int], n_rows: int) -> DistinctRows:
    """Reduce rows, given as columns with codes in [0, size), to the distinct ones in canonical order."""
    values: list[Ints] | None = None
    if math.prod(sizes) > KEY_LIMIT >> max(1, n_rows.bit_length()) and n_rows >= MANY:
        # Numbers of the values in use make keys that can be sorted with their positions.
        columns, values = compacted(columns, sizes)
        sizes = [len(own) for own in values]
    keys, limit = row_keys(columns, sizes, n_rows)
    if math.prod(sizes) <= KEY_LIMIT:
        distinct, counts, inverse = _distinct_keys(keys, limit)
        return DistinctRows(_codes_of(distinct, sizes, values), counts, inverse)
    representatives, inverse = group(keys, limit)
    codes = np.empty((len(representatives), len(columns)), dtype=np.int32, order="F")
    for j, column in enumerate(columns):
        codes[:, j] = column[representatives] if values is None else values[j][column[representatives]]
    return DistinctRows(codes, np.bincount(inverse).astype(np.int64), inverse)


def amounts_of_rows(columns: Sequence[Integers], sizes: Sequence[int], amounts: Longs) -> Longs:
    """(d,) what the amounts (n,) of equal rows come to, for the distinct rows in canonical order.

    The same as counting :func:`distinct_rows`, without making the rows or numbering them.
    """
    keys, limit = row_keys(columns, sizes, len(amounts))
    if limit <= DENSE_KEYS_PER_ROW * len(keys):
        present = np.zeros(limit, dtype=bool)
        present[keys] = True
        sums: Longs = np.bincount(keys, amounts, limit).astype(np.int64)  # below 2⁵³ doubles are exact
        return sums[present]
    if (amounts == 1).all():
        keys.sort()
        return np.diff(starts_of_runs(keys), append=len(keys))
    keys, order = sort_with_positions(keys, limit)
    return np.add.reduceat(amounts[order], starts_of_runs(keys))


def compacted(columns: Sequence[Integers], sizes: Sequence[int]) -> tuple[list[Ints], list[Ints]]:
    """The columns with their values numbered in their order, and the values of each."""
    found, values = [], []
    for column, size in zip(columns, sizes, strict=True):
        number = np.zeros(size, dtype=np.int32)
        number[column] = 1
        used = np.flatnonzero(number).astype(np.int32)
        number[used] = np.arange(len(used), dtype=np.int32)
        found.append(number.take(column))
        values.append(used)
    return found, values


def _distinct_keys(keys: Longs, limit: int) -> tuple[Longs, Longs, Ints]:
    """The distinct keys, ascending, how many rows each has, and each row's number; overwrites ``keys``."""
    n = len(keys)
    if are_ascending(keys):
        return keys, np.ones(n, dtype=np.int64), np.arange(n, dtype=np.int32)
    if DENSE_KEYS_PER_ROW * n < limit <= room_for_keys(n):
        distinct, _, counts, inverse = _sorted_groups(keys)
        return distinct, counts, inverse
    if limit <= DENSE_KEYS_PER_ROW * n:
        distinct, inverse = _numbered(keys, limit)
    else:
        first, inverse = group(keys, limit)
        distinct = keys[first]
    return distinct, np.bincount(inverse).astype(np.int64), inverse


def _codes_of(keys: Longs, sizes: Sequence[int], values: Sequence[Ints] | None) -> Ints:
    """The digits of keys that are numbers of these radices, or the values that these are the numbers of."""
    codes = np.empty((len(keys), len(sizes)), dtype=np.int32, order="F")
    for j in range(len(sizes) - 1, -1, -1):
        above = keys // sizes[j]
        digits = keys - above * sizes[j]
        codes[:, j] = digits if values is None else values[j].take(digits)
        keys = above
    return codes


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
    values = [_present(recoding.take(own)) for recoding, own in zip(recodings, used, strict=True)]
    sizes = [len(own) for own in values]
    limit = math.prod(sizes)
    if limit > KEY_LIMIT:
        recoded = [recoding[column] for recoding, column in zip(recodings, columns, strict=True)]
        return distinct_rows(recoded, [int(own[-1]) + 1 for own in values], n_rows)
    numbers = [_numbers(recoding, own) for recoding, own in zip(recodings, values, strict=True)]
    keys = keys_of_numbers(columns, numbers, sizes, n_rows)
    distinct, counts, inverse = _distinct_keys(keys, limit)
    return DistinctRows(_codes_of(distinct, sizes, values), counts, inverse)


def _present(codes: Ints) -> Ints:
    """The distinct codes, ascending: a mark for each is less work than sorting them."""
    found = np.zeros(int(codes.max()) + 1, dtype=bool)
    found[codes] = True
    return np.flatnonzero(found).astype(np.int32)


def _numbers(recoding: Ints, own: Ints) -> Longs:
    """The number among these distinct codes of each code of the recoding that is one of them."""
    numbers = np.zeros(int(recoding.max()) + 1, dtype=np.int64)
    numbers[own] = np.arange(len(own))
    return numbers.take(recoding)


def keys_of_numbers(
    columns: Sequence[Integers], numbers: Sequence[Integers], sizes: Sequence[int], n_rows: int
) -> Longs:
    """The keys that :func:`row_keys` makes of columns whose values were replaced by numbers, without these.

    ``numbers`` holds for each column those of its values, in [0, size); the product of the sizes is at most
    KEY_LIMIT.
    """
    radix, parts = math.prod(sizes), []
    for column, number, size in zip(columns, numbers, sizes, strict=True):
        radix //= size
        if size > 1:
            parts.append((column, number.astype(np.int64) * radix))
    keys = np.zeros(n_rows, dtype=np.int64)
    # In pieces that stay in the processor's cache.
    for start in range(0, n_rows, ROWS_AT_ONCE):
        piece = keys[start : start + ROWS_AT_ONCE]
        for column, part in parts:
            piece += part.take(column[start : start + ROWS_AT_ONCE])
    return keys
