"""Which classes match each other if a missing value matches everything.

Two classes match if they show the same wherever neither misses the value. That is no equivalence: a class
that misses a value may match two that do not match each other. Classes that miss the same attributes (a
pattern) match only themselves, and those of two patterns match where they agree on what both show, so that
two patterns are joined at once, however many classes they have. Where there are nearly as many patterns as
classes, classes are compared one by one instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from app.domain.arrays import Bools, Ints, Longs
from app.domain.tables.distinct import distinct_rows, row_keys

SECONDS_PER_JOIN: Final = 1e-4
SECONDS_PER_JOINED_CELL: Final = 2e-8
SECONDS_PER_COMPARED_CELL: Final = 1.5e-9
COMPARED_AT_ONCE: Final = 1 << 22
DENSE: Final = 8


@dataclass(frozen=True, eq=False)
class Matches:
    """Classes ``one`` (a,) match those of ``other`` (b,) that are of the same group in [0, ``n_groups``).

    A class may occur in several groups.
    """

    one: Longs
    group_of_one: Longs
    other: Longs
    group_of_other: Longs
    n_groups: int

    def both_ways(self) -> Iterator[tuple[Longs, Longs, Longs, Longs]]:
        """Receivers, their groups, givers and theirs, one way and the other."""
        yield self.one, self.group_of_one, self.other, self.group_of_other
        yield self.other, self.group_of_other, self.one, self.group_of_one


def matching_records(codes: Ints, is_wildcard: Bools, records: Longs) -> Longs:
    """(G,) records of each class and of those that match it.

    Parameters
    ----------
    codes, is_wildcard
        (G, q) what the classes show, and whether it matches everything; no two classes are alike in both.
    records
        (G,) records of each class.
    """
    found = records.copy()
    for matches in matches_between(codes, is_wildcard):
        for receivers, groups, givers, groups_of_givers in matches.both_ways():
            # Sums of whole numbers below 2⁵³ are exact.
            given = np.bincount(groups_of_givers, records[givers], matches.n_groups)
            np.add.at(found, receivers, given[groups].astype(np.int64))
    return found


def seconds_of_matching(n_patterns: int, n_classes: int, width: int) -> float:
    """Estimated time of finding all matches of classes with so many patterns of missing values."""
    joining = n_patterns**2 / 2 * SECONDS_PER_JOIN + n_patterns * n_classes * width * SECONDS_PER_JOINED_CELL
    return min(joining, _seconds_of_comparing(n_classes, width))


def _seconds_of_comparing(n_classes: int, width: int) -> float:
    return n_classes**2 / 2 * width * SECONDS_PER_COMPARED_CELL


def matches_between(codes: Ints, is_wildcard: Bools) -> Iterator[Matches]:
    """Every two different classes that match, once."""
    n_classes, width = codes.shape
    patterns = distinct_rows(list(is_wildcard.T.astype(np.int8)), (2,) * width, n_classes)
    if seconds_of_matching(patterns.size, n_classes, width) < _seconds_of_comparing(n_classes, width):
        return _joined(codes, patterns.codes.astype(bool), patterns.inverse)
    return _compared(codes, is_wildcard)


def _joined(codes: Ints, patterns: Bools, of_class: Ints) -> Iterator[Matches]:
    """Matches between the classes of every two patterns."""
    order = np.argsort(of_class, kind="stable")
    ends = np.cumsum(np.bincount(of_class, minlength=len(patterns)))[:-1]
    members = np.split(order, ends)
    shown = [np.asfortranarray(codes[own]) for own in members]
    sizes = (codes.max(axis=0, initial=0) + 1).tolist()
    for a in range(len(patterns)):
        for b in range(a):
            common = np.flatnonzero(~(patterns[a] | patterns[b]))
            columns = [np.concatenate([shown[a][:, j], shown[b][:, j]]) for j in common]
            keys, limit = row_keys(columns, [sizes[j] for j in common], len(members[a]) + len(members[b]))
            few, many = (a, b) if len(members[a]) < len(members[b]) else (b, a)
            keys_of_a, keys_of_b = keys[: len(members[a])], keys[len(members[a]) :]
            keys_of_few, keys_of_many = (keys_of_a, keys_of_b) if few == a else (keys_of_b, keys_of_a)
            groups, of_few = np.unique(keys_of_few, return_inverse=True)
            of_many = _place_in(groups, keys_of_many, limit)
            hit = of_many >= 0
            if hit.any():
                yield Matches(members[many][hit], of_many[hit], members[few], of_few, len(groups))


def _place_in(groups: Longs, keys: Longs, limit: int) -> Longs:
    """Place of each key among the ascending groups, −1 if it is none of them."""
    if limit <= DENSE * len(keys):
        place = np.full(limit, -1, dtype=np.int64)
        place[groups] = np.arange(len(groups))
        return place[keys]
    found = np.minimum(np.searchsorted(groups, keys), len(groups) - 1)
    return np.where(groups[found] == keys, found, -1)


def _compared(codes: Ints, is_wildcard: Bools) -> Iterator[Matches]:
    """Matches found by comparing every two classes."""
    n_classes, width = codes.shape
    at_once = max(1, COMPARED_AT_ONCE // n_classes)
    for first in range(0, n_classes, at_once):
        block = slice(first, min(first + at_once, n_classes))
        match = np.ones((block.stop - first, n_classes - first), dtype=bool)
        for j in range(width):
            same = codes[block, j][:, None] == codes[first:, j]
            same |= is_wildcard[block, j][:, None]
            same |= is_wildcard[first:, j]
            match &= same
        one, other = np.nonzero(np.triu(match, 1))
        pairs = np.arange(len(one))
        yield Matches(one + first, pairs, other + first, pairs, len(pairs))
