"""Class sizes of table-level rules, counted on two packed halves of the attributes.

The attributes are halved again and again. Of every part the distinct combinations of values are numbered
once; what they become at the levels of a rule is a table from these numbers to dense group numbers, made
from those of the part's two halves and kept per level vector. Counting the classes of a rule is then one
gather, one addition and one ``bincount`` over the distinct records. The distinct records are kept per level
vector of the left half as well, rolled up from the smallest finer one, since many rules share it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Floats, Indices, Levels
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.tables.distinct import group, one_of_each
from app.domain.tables.table import Table

SPARSE: Final = 8
"""Keys are numbered by marking them while there are at most this many possible ones per row, else sorted."""
SPARSE_CLASSES: Final = 30
"""The same for counting classes, which marks only once."""
KEPT_ROWS: Final = 12
"""Rolled-up rows that are kept, as a multiple of the distinct records."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Group number of each combination of a part, numbers in [0, ``size``)."""

    of: Indices
    size: int


def numbered(keys: Indices, limit: int) -> Groups:
    """Dense numbers of keys in [0, limit), ascending with the keys."""
    if limit > SPARSE * len(keys) + 1024:
        representatives, inverse = group(keys.astype(np.int64, copy=False), limit)
        return Groups(inverse.astype(np.intp), len(representatives))
    numbers = np.zeros(limit, dtype=np.intp)
    numbers[keys] = 1
    np.cumsum(numbers, out=numbers)
    size = int(numbers[-1])
    numbers -= 1
    return Groups(numbers[keys], size)


def summed(keys: Indices, amounts: Floats, size: int = 0) -> Floats:
    """The amounts per key; whole numbers stay exact below 2^53."""
    return np.asarray(np.bincount(keys, amounts, size), dtype=np.float64)


class Single:
    """One attribute; its distinct combinations are the nodes that occur, numbered ascending.

    ``positions`` (d,) are the combinations of the distinct records.
    """

    attributes: tuple[int, ...]

    def __init__(self, attribute: int, hierarchy: Hierarchy, column: npt.NDArray[np.integer]) -> None:
        self.attributes = (attribute,)
        self._hierarchy = hierarchy
        known = numbered(column.astype(np.intp), hierarchy.n_nodes)
        self.positions, self.size = known.of, known.size
        self._nodes = np.empty(self.size, dtype=np.intp)
        self._nodes[self.positions] = column
        self._kept: dict[int, Groups] = {}

    def groups(self, levels: Levels) -> Groups:
        """What the combinations become at the levels, given for all attributes of the table."""
        return self.at(levels[self.attributes[0]])

    def at(self, level: int) -> Groups:
        """What the values become at a level."""
        if level not in self._kept:
            nodes = self._hierarchy.ancestors_at(level)[self._nodes]
            self._kept[level] = numbered(nodes.astype(np.intp), self._hierarchy.n_nodes)
        return self._kept[level]

    def spread(self, mass: Floats, found: dict[int, Floats]) -> None:
        """Put the mass of each combination on each attribute's values: here they are the same."""
        found[self.attributes[0]] = mass


class Halves:
    """Two parts together."""

    attributes: tuple[int, ...]
    size: int
    positions: Indices

    def __init__(self, left: Part, right: Part) -> None:
        self.attributes = left.attributes + right.attributes
        self._left, self._right = left, right
        known = numbered(left.positions + left.size * right.positions, left.size * right.size)
        self.positions, self.size = known.of, known.size
        self._in_left = np.empty(self.size, dtype=np.intp)
        self._in_right = np.empty(self.size, dtype=np.intp)
        self._in_left[self.positions] = left.positions
        self._in_right[self.positions] = right.positions
        self._kept: dict[Levels, Groups] = {}
        self._most_kept = max(16, KEPT_ROWS * len(self.positions) // self.size)

    def groups(self, levels: Levels) -> Groups:
        """The pairs of what the two halves become, kept per level vector."""
        key = tuple(levels[j] for j in self.attributes)
        found = self._kept.get(key)
        if found is None:
            left, right = self._left.groups(levels), self._right.groups(levels)
            keys = (right.of * left.size)[self._in_right]
            keys += left.of[self._in_left]
            found = numbered(keys, left.size * right.size)
            if len(self._kept) >= self._most_kept:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = found
        return found

    def spread(self, mass: Floats, found: dict[int, Floats]) -> None:
        """Add the mass up on the combinations of each half, and let these spread it."""
        self._left.spread(summed(self._in_left, mass, self._left.size), found)
        self._right.spread(summed(self._in_right, mass, self._right.size), found)


class Everything:
    """No attributes: one combination."""

    attributes: tuple[int, ...] = ()
    size = 1

    def __init__(self, n_rows: int) -> None:
        self.positions = np.zeros(n_rows, dtype=np.intp)

    def groups(self, levels: Levels) -> Groups:
        """One group at any levels."""
        return Groups(np.zeros(1, dtype=np.intp), 1)

    def spread(self, mass: Floats, found: dict[int, Floats]) -> None:
        """There is nothing to spread over."""


Part = Single | Halves | Everything
"""Some attributes, with their distinct combinations in the table numbered from 0."""


@dataclass(frozen=True, eq=False)
class _Rows:
    """Distinct records at the levels of the left half: their left group, right combination and number.

    ``members`` has one combination of the left half per left group.
    """

    left: Indices
    right: Indices
    counts: Floats
    members: Indices

    @property
    def size(self) -> int:
        return len(self.left)


class ClassSizes:
    """Counts the classes of a table's rules: records whose disclosed forms are equal, ⊥ equal to ⊥.

    ``left_out`` (d,) are distinct records that are in no class.
    """

    def __init__(self, table: Table, left_out: npt.NDArray[np.bool_] | None = None) -> None:
        reduced = table.reduced
        self._counts = reduced.counts.astype(np.float64)
        if left_out is not None:
            self._counts[left_out] = 0.0
        self._all = reduced.counts
        parts = [Single(j, hierarchy, reduced.codes[:, j]) for j, hierarchy in enumerate(table.hierarchies)]
        middle = len(parts) // 2
        self._values = parts
        self._left = _packed(parts[:middle], reduced.size)
        self._right = _packed(parts[middle:], reduced.size)
        lowest = tuple(0 for _ in parts)
        self._snapshots = {self._key(lowest): self._rows(self._left.groups(lowest), None)}
        self._room = KEPT_ROWS * reduced.size
        self._last: tuple[Levels, Groups] | None = None

    def below(self, levels: Levels, k: int) -> int:
        """Records in classes of fewer than ``k``; never more of them at more general levels."""
        # Records per class; zeros between them mean nothing. Doubles, but whole numbers
        left, right = self._left.groups(levels), self._right.groups(levels)
        rows = self._snapshot(self._key(levels), left)
        keys = (right.of * left.size)[rows.right]
        keys += rows.left
        if left.size * right.size > SPARSE_CLASSES * rows.size:
            keys = numbered(keys, left.size * right.size).of
        sizes = summed(keys, rows.counts)
        return int(sizes[sizes < k].sum())

    def values_below(self, levels: Levels, k: int) -> list[npt.NDArray[np.int64]]:
        """Per attribute, how many of the records of classes below ``k`` have each value that occurs."""
        keys, size = self._keys(levels)
        if size > SPARSE_CLASSES * len(keys):
            keys = numbered(keys, size).of
        return self.values_of((summed(keys, self._counts) < k)[keys])

    def classes(self, levels: Levels) -> Groups:
        """The class of every distinct record; that of the last rule is kept."""
        if self._last is None or self._last[0] != levels:
            self._last = levels, numbered(*self._keys(levels))
        return self._last[1]

    def halves(self, rows: Indices) -> tuple[Indices, Indices]:
        """Of some distinct records the combinations of the left and of the right half."""
        return self._left.positions[rows], self._right.positions[rows]

    def merged(
        self, levels: Levels, finer: Groups, halves: tuple[Indices, Indices]
    ) -> tuple[Groups, Indices]:
        """The class of every distinct record, and the class that each of the ``finer`` ones is part of.

        The same as of :meth:`classes`; ``halves`` are those of one distinct record of each finer class.
        """
        if self._last is None or self._last[0] != levels:
            left, right = self._left.groups(levels), self._right.groups(levels)
            keys = (right.of * left.size)[halves[1]]
            keys += left.of[halves[0]]
            parts = numbered(keys, left.size * right.size)
            self._last = levels, Groups(parts.of[finer.of], parts.size)
            return self._last[1], parts.of
        becomes = np.empty(finer.size, dtype=np.intp)
        becomes[finer.of] = self._last[1].of
        return self._last[1], becomes

    def values_of(self, chosen: npt.NDArray[np.bool_]) -> list[npt.NDArray[np.int64]]:
        """Per attribute, how many of the records of the distinct ones chosen (d,) have each value."""
        rows = np.flatnonzero(chosen)
        counts = self._all[rows].astype(np.float64)
        found: dict[int, Floats] = {}
        for part in (self._left, self._right):
            part.spread(summed(part.positions[rows], counts, part.size), found)
        return [found[j].astype(np.int64) for j in range(len(found))]

    def _keys(self, levels: Levels) -> tuple[Indices, int]:
        """A number per distinct record, equal in a class, and what they are all below."""
        left, right = self._left.groups(levels), self._right.groups(levels)
        keys = (right.of * left.size)[self._right.positions]
        keys += left.of[self._left.positions]
        return keys, left.size * right.size

    def values(self, attribute: int, level: int) -> Groups:
        """What an attribute's values, those that occur, become at a level."""
        return self._values[attribute].at(level)

    def pair_counts(self, levels: Levels) -> Iterator[tuple[int, int, Floats]]:
        """For each two attributes i < j how many records have each pair of groups at the levels."""
        for part in (self._left, self._right):
            counts = summed(part.positions, self._counts, part.size)
            inner = {}
            for j in part.attributes:
                inner[j] = np.empty(part.size, dtype=np.intp)
                inner[j][part.positions] = self._values[j].positions
            for i, j in itertools.combinations(part.attributes, 2):
                yield i, j, self._pairs((i, inner[i]), (j, inner[j]), levels, counts)
        for i, j in itertools.product(self._left.attributes, self._right.attributes):
            first, second = self._values[i].positions, self._values[j].positions
            yield i, j, self._pairs((i, first), (j, second), levels, self._counts)

    def _pairs(
        self, first: tuple[int, Indices], second: tuple[int, Indices], levels: Levels, counts: Floats
    ) -> Floats:
        rows, columns = (self.values(j, levels[j]) for j, _ in (first, second))
        keys = (rows.of * columns.size)[first[1]]
        keys += columns.of[second[1]]
        return summed(keys, counts, rows.size * columns.size).reshape(rows.size, columns.size)

    def _key(self, levels: Levels) -> Levels:
        return tuple(levels[j] for j in self._left.attributes)

    def _snapshot(self, key: Levels, left: Groups) -> _Rows:
        found = self._snapshots.get(key)
        if found is None:
            finer = [
                rows
                for levels, rows in self._snapshots.items()
                if all(a <= b for a, b in zip(levels, key, strict=True))
            ]
            found = self._rows(left, min(finer, key=lambda rows: rows.size))
            # Keep a snapshot, and drop the oldest but the finest if they grow too many
            self._snapshots[key] = found
            self._room -= found.size
            while self._room < 0 and len(self._snapshots) > 2:
                oldest = list(self._snapshots)[1]
                self._room += self._snapshots.pop(oldest).size
        return found

    def _rows(self, left: Groups, finer: _Rows | None) -> _Rows:
        """The distinct records with the left half in more general groups, from more specific ones."""
        members = one_of_each(left.of, left.size)
        if finer is None:
            return _Rows(left.of[self._left.positions], self._right.positions, self._counts, members)
        keys = left.of[finer.members][finer.left]
        keys *= self._right.size
        keys += finer.right
        groups = numbered(keys, left.size * self._right.size)
        ours = np.empty(groups.size, dtype=np.intp)
        ours[groups.of] = keys
        in_left, in_right = np.divmod(ours, self._right.size)
        return _Rows(in_left, in_right, summed(groups.of, finer.counts, groups.size), members)


def _packed(parts: list[Single], n_rows: int) -> Part:
    """A balanced tree of the parts in their order."""
    if not parts:
        return Everything(n_rows)
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return Halves(_packed(parts[:middle], n_rows), _packed(parts[middle:], n_rows))
