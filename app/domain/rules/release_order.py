"""The order of a release's lines: one that says nothing of the records' order, and how files are checked.

A table that leaves in the order of its records tells whose line is whose to everybody who knows that order,
however alike the lines of an equivalence class are. Lines are therefore sorted by what they show, and those
of a class are then permuted by a secret seed: the outcome is a function of the multiset of released lines and
of the seed, and of nothing else.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Integers, Ints, Longs
from app.domain.tables.distinct import (
    ROWS_AT_ONCE,
    distinct_rows,
    group_numbers,
    room_for_keys,
    sorted_positions,
)

SEED_BYTES: Final = 32
_KEY_BYTES: Final = 8


def secret_order(groups: Integers, seed: bytes) -> Longs:
    """A uniformly random order within each group, groups ascending.

    Parameters
    ----------
    groups
        (n,) the group of each line.
    seed
        32 secret bytes; ValueError for another number.

    Returns the (n,) positions of the lines in their new order. Each line draws 64 bits of SHAKE256 (FIPS 202)
    of the seed and lines are sorted by what they drew; where two of a group drew the same, all draw again,
    so that no order is likelier than another. SHAKE256 and sorting are the same on every platform and in
    every version of numpy, which the streams of its generators are not. Takes O(n log n) time and 40 bytes
    per line, or 16 where the groups ascend and none is large.
    """
    if len(seed) != SEED_BYTES:
        raise ValueError("a seed has 32 bytes")
    attempt = 0
    while True:
        stream = hashlib.shake_256(seed + attempt.to_bytes(_KEY_BYTES, "little"))
        keys = np.frombuffer(stream.digest(_KEY_BYTES * len(groups)), dtype="<u8")
        order = np.empty(len(groups), dtype=np.int64)
        if all(_sort(keys, groups, piece, order) for piece in _pieces(groups)):
            return order
        attempt += 1


def _sort(keys: npt.NDArray[np.uint64], groups: Integers, piece: slice, order: Longs) -> bool:
    """Write the order of a piece of lines into ``order``; whether no two of a group have one key."""
    drawn, group_of_line = keys[piece], groups[piece]
    found = np.lexsort((drawn, group_of_line))
    order[piece] = found
    order[piece] += piece.start
    drawn, group_of_line = drawn[found], group_of_line[found]
    return not bool(((drawn[1:] == drawn[:-1]) & (group_of_line[1:] == group_of_line[:-1])).any())


def _pieces(groups: Integers) -> Iterator[slice]:
    """Pieces that each hold groups as a whole, where these ascend; else one piece."""
    start, n = 0, len(groups)
    if bool((groups[1:] < groups[:-1]).any()):
        yield slice(0, n)
        return
    while start < n:
        end = min(start + ROWS_AT_ONCE, n)
        if end < n:
            end = int(np.searchsorted(groups, groups[end - 1], side="right"))
        yield slice(start, end)
        start = end


def shuffled_rows(
    labels: Sequence[Sequence[str]],
    codes: Ints,
    row_of_line: Ints,
    quasi_identifiers: Sequence[int],
    seed: bytes,
) -> Ints:
    """The rows of a release in an order that says nothing of the order that they came in.

    Parameters
    ----------
    labels
        Per column the text of every code.
    codes
        The distinct rows, (d, m).
    row_of_line
        (n,) which of them each line is.
    quasi_identifiers
        Columns that make the equivalence classes.
    seed
        32 secret bytes.

    Returns (n,) which row each line is now. Classes are sorted by the texts of their quasi-identifiers,
    column by column, by code point: neither by codes, which may follow the order of the records, nor by first
    occurrence. Within a class every arrangement of its lines is as likely as any other. The texts that the
    answer leads to depend on the seed and on how often each line occurs, and on nothing else: permuted
    ``row_of_line``, renumbered codes and several codes of one text give the very same.
    """
    quasi = list(quasi_identifiers)
    others = [j for j in range(codes.shape[1]) if j not in set(quasi)]
    ranks = {j: _ranks(labels[j]) for j in range(codes.shape[1])}
    columns = [ranks[j][codes[:, j]] for j in (*quasi, *others)]
    sizes = [len(ranks[j]) for j in (*quasi, *others)]
    texts = distinct_rows(columns, sizes, len(codes))
    classes = distinct_rows([texts.codes[:, j] for j in range(len(quasi))], sizes[: len(quasi)], texts.size)
    times = np.bincount(texts.inverse[row_of_line], minlength=texts.size)
    sorted_lines = np.repeat(np.arange(texts.size, dtype=np.int32), times)
    order = secret_order(classes.inverse[sorted_lines], seed)
    one_of_text = np.zeros(texts.size, dtype=np.int32)
    one_of_text[texts.inverse] = np.arange(len(codes), dtype=np.int32)
    shuffled: Ints = one_of_text[sorted_lines[order]]
    return shuffled


@dataclass(frozen=True, eq=False)
class ShuffledLines:
    """Lines in an order that says nothing of the order that they came in.

    Attributes
    ----------
    order
        (n,) which line comes where.
    different
        How many different lines there are, by their texts.
    """

    order: Ints
    different: int


def shuffled_lines(
    labels: Sequence[Sequence[str]], columns: Sequence[Ints], quasi_identifiers: Sequence[int], seed: bytes
) -> ShuffledLines:
    """The lines of a release of which most differ, in the order that :func:`shuffled_rows` gives them.

    Parameters
    ----------
    labels
        Per column the text of every code.
    columns
        Per column the code of each line, (n,).
    quasi_identifiers
        Columns that make the equivalence classes.
    seed
        32 secret bytes.

    Takes 24 bytes per line beside the answer, however many columns there are, and 45 where a class is large.
    """
    if not len(columns[0]):
        return ShuffledLines(np.empty(0, dtype=np.int32), 0)
    quasi = list(quasi_identifiers)
    others = [j for j in range(len(columns)) if j not in set(quasi)]
    ranks = [_ranks_of_used(*own) for own in zip(labels, columns, strict=True)]
    keys, limit = np.zeros(len(columns[0]), dtype=np.int64), 1
    for j in quasi:
        limit = _with_column(keys, limit, columns[j], ranks[j])
    classes, limit = group_numbers(keys, limit)
    keys[:] = classes
    for j in others:
        limit = _with_column(keys, limit, columns[j], ranks[j])
    by_text, different = sorted_positions(keys, limit)
    del keys
    groups = classes[by_text]
    del classes
    order = secret_order(groups, seed)
    return ShuffledLines(by_text[order], different)


def _with_column(keys: Longs, limit: int, column: Ints, ranks: Ints) -> int:
    """Make the texts of a column the least significant digit of keys below ``limit``; the new limit.

    In place. Keys that would grow too large are numbered by their order first.
    """
    size = int(ranks.max()) + 1
    if limit * size > room_for_keys(len(keys)):
        keys[:], limit = group_numbers(keys, limit)
    for start in range(0, len(keys), ROWS_AT_ONCE):
        piece = keys[start : start + ROWS_AT_ONCE]
        piece *= size
        piece += ranks.take(column[start : start + ROWS_AT_ONCE])
    return limit * size


def _ranks(labels: Sequence[str]) -> Ints:
    """Of each code the place of its text among all; equal texts have one place."""
    place = {text: rank for rank, text in enumerate(sorted(set(labels)))}
    return np.array([place[text] for text in labels], dtype=np.int32)


def _ranks_of_used(labels: Sequence[str], column: Ints) -> Ints:
    """The same among the texts of the codes that the column holds; 0 for others."""
    used = np.zeros(len(labels), dtype=bool)
    used[column] = True
    ranks = np.zeros(len(labels), dtype=np.int32)
    ranks[used] = _ranks([labels[code] for code in np.flatnonzero(used).tolist()])
    return ranks


@dataclass(frozen=True)
class KeptOrder:
    """That a file's lines stand in the order of the records.

    Attributes
    ----------
    within_classes
        Whether only within every equivalence class; else throughout the file.
    log10_chance
        Decimal logarithm of the probability that a random order of the lines does the same.
    """

    within_classes: bool
    log10_chance: float


def kept_order(records: Longs, rows: Ints, classes: Ints) -> KeptOrder | None:
    """Whether the lines of a file read as they would in the order of the dataset's records.

    Parameters
    ----------
    records
        (r,) the record of each line.
    rows
        (r,) equal where lines are equal throughout: which of these comes first says nothing.
    classes
        (r,) the equivalence class of each line.

    None where neither the file nor every class of it reads so, or no two different lines could tell.
    """
    everything = np.zeros(len(records), dtype=np.int32)
    for within_classes, groups in ((False, everything), (True, classes)):
        as_written = rows[np.argsort(groups, kind="stable")]
        by_record = rows[np.lexsort((records, groups))]
        if np.array_equal(as_written, by_record):
            different = np.unique(np.stack([groups, rows], axis=1), axis=0, return_counts=True)[1]
            sizes = np.unique(groups, return_counts=True)[1]
            if len(different) > len(sizes):
                return KeptOrder(within_classes, _log10_factorials(different) - _log10_factorials(sizes))
    return None


def _log10_factorials(numbers: Integers) -> float:
    """Decimal logarithm of the product of the factorials."""
    return math.fsum(math.lgamma(n + 1) for n in numbers.tolist()) / math.log(10)
