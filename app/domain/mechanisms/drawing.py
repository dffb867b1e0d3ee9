"""Random replacement of values, from random bytes that nobody can foresee.

A generator of NumPy is none of cryptography: from enough of its output the rest can be computed. All bytes
therefore come from outside, 16 for every record.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Ints
from app.domain.errors import InvalidInput, having
from app.domain.mechanisms.mechanism import Bits
from app.domain.mechanisms.transition_matrix import TransitionMatrix
from app.domain.tables.table import Table

MOST_VALUES: Final = 100_000
"""Of the attribute that is drawn."""

ROWS_NAMED: Final = 10
"""Of those that have no value."""

RECORDS_AT_ONCE: Final = 2**15
BYTES_PER_RECORD: Final = 16
_Words = npt.NDArray[np.uint64]
_HALF: Final = np.uint64(32)
_LOW: Final = np.uint64(2**32 - 1)


def replaced(values: Ints, matrix: TransitionMatrix, bits: Bits) -> Ints:
    """What is published of each value, (n,), numbers below ``matrix.n_values`` as the values are.

    Each record takes two words of 64 bits, little end first. It keeps its value if the first is below
    X · 2^64; otherwise the second, u, chooses the one of the m − 1 others of number ⌊u · (m − 1) / 2^64⌋.
    Every value is published with the probability that the matrix's numbers give it to within 2⁻⁶⁴: the first
    is rounded to a multiple of that, and the words for each of the others differ in number by at most one.

    Takes memory for 32,768 records at once beside the answer; the bytes that a record takes do not depend on
    how many are taken at once.
    """
    published = np.array(values, dtype=np.int32)
    if matrix.n_values == 1:
        return published
    # X · 2^64, rounded; below 2^64 also where X rounds to 1.
    thresholds = np.minimum(np.rint(np.ldexp(matrix.kept, 64)), np.nextafter(2.0**64, 0.0))
    keeps, others = thresholds.astype(np.uint64), np.uint64(matrix.n_values - 1)
    for start in range(0, len(values), RECORDS_AT_ONCE):
        own = published[start : start + RECORDS_AT_ONCE]
        words = np.frombuffer(bits(BYTES_PER_RECORD * len(own)), dtype="<u8").reshape(-1, 2)
        changes = np.flatnonzero(words[:, 0] >= keeps.take(own))
        chosen = _scaled(words[:, 1].take(changes), others).astype(np.int32)
        before = own.take(changes)
        own[changes] = chosen + (chosen >= before)
    return published


def _scaled(words: _Words, below: np.uint64) -> _Words:
    """⌊word · below / 2^64⌋ for a ``below`` of less than 2^32, exactly."""
    carried = ((words & _LOW) * below) >> _HALF
    return np.asarray(((words >> _HALF) * below + carried) >> _HALF)


def require_values(table: Table, column: int) -> None:
    """InvalidInput, which names the first rows, if records have no value that could be replaced."""
    # Of an attribute with one value only no cell is told apart from a missing one.
    rows = np.flatnonzero(table.is_missing(column)) + 1 if table.sizes[column] > 1 else ()
    if not len(rows):
        return
    shown = ", ".join(map(str, rows[:ROWS_NAMED]))
    raise InvalidInput.of(
        "/mechanism/attribute",
        "missing-sensitive-values",
        f"{having(len(rows), 'record')} no value of {table.attributes[column]!r} that could be replaced: "
        f"rows {shown}{' and more' if len(rows) > ROWS_NAMED else ''}.",
        "Leave these records out, or map missing values to a category of their own in the data.",
    )
