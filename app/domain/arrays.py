"""The kinds of arrays and of level vectors that the domain calculates with."""

from __future__ import annotations

from typing import Any

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


def greatest_first(scores: npt.NDArray[Any], top: int) -> Indices:
    """Positions of the ``top`` greatest scores, none of which is NaN, the first of equals first.

    The same as a stable sort that is cut off, without sorting the others.
    """
    if not 0 < top < len(scores):
        return np.argsort(-scores, kind="stable")[:top]
    least = np.partition(scores, len(scores) - top)[len(scores) - top]
    above = np.flatnonzero(scores > least)
    order: Indices = above[np.argsort(-scores[above], kind="stable")]
    return np.concatenate([order, np.flatnonzero(scores == least)[: top - len(above)]])


def firsts_of_greatest(owners: Integers, n_owners: int, *scores: npt.NDArray[Any]) -> Indices:
    """Per owner that has elements, ascending, its element of the greatest score; none of them is NaN.

    Of equals that with the greatest second score and so on, then the first. ``owners`` are below
    ``n_owners``; all arrays have one value per element.
    """
    left: Indices = np.arange(len(owners))
    for own in scores:
        of, found = owners[left], own[left]
        greatest = np.full(n_owners, -np.inf)
        np.maximum.at(greatest, of, found)
        left = left[found == greatest[of]]
    # Written last to first, so that the first of equals stays.
    first = np.full(n_owners, -1, dtype=np.intp)
    first[owners[left[::-1]]] = left[::-1]
    return first[first >= 0]
