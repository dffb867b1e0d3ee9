"""Rows of codes in the order of their classes, by one sort of packed keys."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from app.domain.arrays import Bools, Ints, Longs
from app.domain.tables.distinct import KEY_LIMIT, group, row_keys, sort_with_positions

ROWS_AT_ONCE = 2**15


class Column(NamedTuple):
    """One attribute of some rows: their codes in pieces, the class of each code, how many classes."""

    codes: Sequence[Ints]
    classes: Ints
    size: int


class Runs(NamedTuple):
    """Rows of equal classes side by side: the ``last`` row of each run, and the run ``of`` some rows."""

    last: Longs
    of: Longs


@dataclass(frozen=True, eq=False)
class OrderedRows:
    """Entities and then parts, in the order of their classes: the last attribute's least significant.

    ``order`` are the rows, ``codes`` those of the last attribute, and after which rows (all but the last) the
    classes of the others change, is ``ends``.
    """

    order: Longs | Ints
    codes: Ints
    ends: Bools

    @classmethod
    def of(cls, others: Sequence[Column], last: Column) -> OrderedRows:
        """Order rows by the classes of their columns; ``codes`` are the classes of the last one."""
        n = sum(map(len, last.codes))
        limit = math.prod(column.size for column in others)
        own_bits, row_bits = (last.size - 1).bit_length(), (n - 1).bit_length()
        if limit << (own_bits + row_bits) <= KEY_LIMIT:
            return cls._of_packed(others, last, own_bits, row_bits)
        columns = [column.classes[np.concatenate(column.codes)] for column in (*others, last)]
        keys, limit = row_keys(columns[:-1], [column.size for column in others], n)
        first, numbers = group(keys, limit)
        ordered, order = sort_with_positions(
            numbers.astype(np.int64) * last.size + columns[-1], max(1, len(first)) * last.size
        )
        above = ordered // last.size
        return cls(order, (ordered - above * last.size).astype(np.int32), above[1:] != above[:-1])

    def runs(self, classes: Ints | None, at: Longs) -> Runs:
        """The runs of rows of equal classes of all attributes; ``at`` are rows, ascending.

        ``classes`` are those of the last attribute's codes, None: each code is one.
        """
        n = len(self.codes)
        last, of, done = [], np.empty(len(at), dtype=np.int64), 0
        bounds = np.searchsorted(at, np.arange(0, n + ROWS_AT_ONCE, ROWS_AT_ONCE))
        for piece, first in enumerate(range(0, n, ROWS_AT_ONCE)):
            codes = self.codes[first : first + ROWS_AT_ONCE + 1]
            own = codes if classes is None else classes[codes]
            ends = self.ends[first : first + len(own) - 1] | (own[1:] != own[:-1])
            here = slice(int(bounds[piece]), int(bounds[piece + 1]))
            before = np.zeros(ROWS_AT_ONCE + 1, dtype=np.int64)
            np.cumsum(ends, out=before[1 : len(ends) + 1])
            of[here] = before[at[here] - first] + done
            last.append(np.flatnonzero(ends) + first)
            done += len(last[-1])
        return Runs(np.concatenate([*last, [n - 1]]), of)

    @classmethod
    def _of_packed(cls, others: Sequence[Column], last: Column, own_bits: int, row_bits: int) -> OrderedRows:
        """Classes, the last code and the row in the bits of one number each, made and read in pieces."""
        packed = _packed(others, last, own_bits, row_bits)
        packed.sort()
        n = len(packed)
        order, codes = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
        ends = np.empty(max(0, n - 1), dtype=bool)
        for first in range(0, n, ROWS_AT_ONCE):
            keys = packed[first : first + ROWS_AT_ONCE + 1]
            here = slice(first, min(n, first + ROWS_AT_ONCE))
            order[here] = (keys & ((1 << row_bits) - 1))[:ROWS_AT_ONCE]
            keys = keys >> row_bits
            codes[here] = (keys & ((1 << own_bits) - 1))[:ROWS_AT_ONCE]
            keys >>= own_bits
            np.not_equal(keys[1:], keys[:-1], out=ends[first : first + len(keys) - 1])
        return cls(order, codes, ends)


def _packed(others: Sequence[Column], last: Column, own_bits: int, row_bits: int) -> Longs:
    packed = np.empty(sum(map(len, last.codes)), dtype=np.int64)
    # As wide as a key, so that adding to one makes no copy.
    wide = [column.classes.astype(np.int64) for column in (*others, last)]
    start = 0
    for piece in range(len(last.codes)):
        for first in range(0, len(last.codes[piece]), ROWS_AT_ONCE):
            here = slice(first, first + ROWS_AT_ONCE)
            own = wide[-1][last.codes[piece][here]]
            keys = np.zeros(len(own), dtype=np.int64)
            for column, classes in zip(others, wide, strict=False):
                keys *= column.size
                keys += classes[column.codes[piece][here]]
            keys <<= own_bits
            keys |= own
            keys <<= row_bits
            keys |= np.arange(start, start + len(keys))
            packed[start : start + len(keys)] = keys
            start += len(keys)
    return packed
