"""The order of a release's lines: one that says nothing of the records' order, and how files are checked.

A table that leaves in the order of its records tells whose line is whose to everybody who knows that order,
however alike the lines of an equivalence class are. Lines are therefore sorted by what they show, and those
of a class are then permuted by a secret seed: the outcome is a function of the multiset of released lines and
of the seed, and of nothing else.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from app.domain.arrays import Integers, Ints, Longs
from app.domain.tables.distinct import distinct_rows

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
    per line.
    """
    if len(seed) != SEED_BYTES:
        raise ValueError("a seed has 32 bytes")
    attempt = 0
    while True:
        stream = hashlib.shake_256(seed + attempt.to_bytes(_KEY_BYTES, "little"))
        keys = np.frombuffer(stream.digest(_KEY_BYTES * len(groups)), dtype="<u8")
        order: Longs = np.lexsort((keys, groups)).astype(np.int64, copy=False)
        drawn, group = keys[order], groups[order]
        if not bool(((drawn[1:] == drawn[:-1]) & (group[1:] == group[:-1])).any()):
            return order
        attempt += 1


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


def _ranks(labels: Sequence[str]) -> Ints:
    """Of each code the place of its text among all; equal texts have one place."""
    place = {text: rank for rank, text in enumerate(sorted(set(labels)))}
    return np.array([place[text] for text in labels], dtype=np.int32)


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
