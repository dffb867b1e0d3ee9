"""All generalisations of a table's records, counted, and those of them that are frequent.

In a tree a record has one ancestor at each depth that its value reaches. So a generalisation of a record is
named by a depth per attribute, 0 for ⊥, and all that have the same depths are counted at once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Bools, Floats, Integers, Ints, Levels, Longs
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.tables.distinct import compacted, group, row_keys

Decide = Callable[[Longs], Bools]
"""Which of several generalisations are frequent, from how many records are below each."""
Score = Callable[[Sequence[Ints], Longs], Floats]
"""What each generalisation is worth: its nodes, and how many records are below it."""
NARROW: Final = 2**16
"""Numbers below need less than 32 bits."""


@dataclass(frozen=True, eq=False)
class GeneralisedRecords:
    """Distinct records with how many there are of each.

    Parameters
    ----------
    hierarchies
        Trees, one per attribute.
    depths
        Greatest depth per attribute that is looked at: 0 shows nothing of it.
    codes
        int32 (d, k), no deeper than that.
    counts
        int64 (d,).
    """

    hierarchies: tuple[Hierarchy, ...]
    depths: Levels
    codes: Ints
    counts: Longs

    @property
    def generalisations(self) -> int:
        """H: no record has more."""
        return generalisations_of(self.depths)

    def vectors(self) -> Iterator[Levels]:
        """All depth vectors; what generalises another comes before it."""
        return itertools.product(*(range(own + 1) for own in self.depths))

    def nodes(self, vector: Levels, rows: Longs) -> list[Ints]:
        """Per attribute the ancestor at this depth of the rows, which all reach it."""
        return [
            own.ancestors_at(own.height - depth)[self.codes[rows, j]]
            for j, (own, depth) in enumerate(zip(self.hierarchies, vector, strict=True))
        ]

    def reaching(self, vector: Levels) -> Bools:
        """(d,) which records are as deep everywhere."""
        found = np.ones(len(self.codes), dtype=bool)
        for j, (own, depth) in enumerate(zip(self.hierarchies, vector, strict=True)):
            if depth:
                found &= own.depth[self.codes[:, j]] >= depth
        return found

    def frequent(self, decide: Decide) -> Iterator[Frequent]:
        """Frequent generalisations, by depths in the order of :meth:`vectors`; ⊥ is one whatever is decided.

        Top-down: one is looked at only if all that are one step more general are frequent. ``decide`` is
        asked once for each. Takes 12 bytes a record for each attribute while it counts, beside the numbers
        of all ancestors, and for each combination of depths of which some are not frequent a bit a record.
        """
        every = Cut(np.arange(len(self.codes), dtype=np.int32), self.counts)
        suppressed = (0,) * len(self.depths)
        yield Frequent(self, suppressed, every.records[:1], np.full(len(every.records[:1]), every.size))
        yield from self._under((), every, decide, {suppressed: None})

    def _under(self, prefix: Levels, cut: Cut, decide: Decide, kept: _Kept) -> Iterator[Frequent]:
        """Of all depths that begin with the prefix, but what suppresses all other attributes.

        ``cut`` are the records, generalised to the prefix alone, that this leaves frequent. They are counted
        from one attribute to the next: there are fewer and fewer.
        """
        j, k = len(prefix), len(self.depths)
        if j == k:
            return
        for depth in range(self.depths[j] + 1):
            own = (*prefix, depth)
            is_cut = depth < self.depths[j] and j + 1 < k
            part = self._grouped((*own, *self.depths[j + 1 :]), cut)[0] if is_cut else cut
            if depth:
                visited = self._visited((*own, *(0,) * (k - j - 1)), part, decide, kept)
                if visited is None:
                    return
                found, is_frequent = visited
                yield found
                part = part.of(is_frequent)
            yield from self._under(own, part, decide, kept)

    def _visited(
        self, vector: Levels, cut: Cut, decide: Decide, kept: _Kept
    ) -> tuple[Frequent, Bools] | None:
        """What is frequent at these depths, and which rows of ``cut`` have such a one; None if nothing is."""
        above = [(*vector[:j], depth - 1, *vector[j + 1 :]) for j, depth in enumerate(vector) if depth]
        if any(own not in kept for own in above):
            return None
        members = [bits for bits in map(kept.__getitem__, above) if bits is not None]
        is_frequent = np.ones(len(cut.records), dtype=bool)
        for by_depth, depth in zip(self._numbered, vector, strict=True):
            numbers = by_depth[depth]
            if numbers.is_deep is not None:
                is_frequent &= numbers.is_deep[numbers.of_record.take(cut.records)]
        for bits in members:
            own = bits[cut.records >> 3] >> (7 - (cut.records & 7)).astype(np.uint8)
            is_frequent &= (own & 1).astype(bool)
        groups, of_row = self._grouped(vector, cut if is_frequent.all() else cut.of(is_frequent))
        if not len(groups.records):
            return None
        decided = decide(groups.counts)
        if not decided.any():
            return None
        is_frequent[is_frequent] = decided[of_row]
        shown = groups if decided.all() else groups.of(decided)
        found = Frequent(self, vector, shown.records, shown.counts)
        everywhere = decided.all() and not members
        kept[vector] = None if everywhere else np.packbits(found.counts_of(self._all) > 0)
        return found, is_frequent

    def _grouped(self, vector: Levels, cut: Cut) -> tuple[Cut, Ints]:
        """The rows' generalisations at these depths, or as near as a row reaches, and the number of each."""
        first, of_row = group(*self._keys(vector, cut.records))
        total = np.bincount(of_row, cut.counts, minlength=len(first))
        return Cut(cut.records[first], np.rint(total).astype(np.int64)), of_row

    def _keys(self, vector: Levels, rows: Integers) -> tuple[Longs, int]:
        numbered = [own[depth] for own, depth in zip(self._numbered, vector, strict=True)]
        return row_keys(
            [own.of_record.take(rows) for own in numbered], [own.size for own in numbered], len(rows)
        )

    @cached_property
    def _all(self) -> Ints:
        return np.arange(len(self.codes), dtype=np.int32)

    @cached_property
    def _numbered(self) -> tuple[tuple[_Numbers, ...], ...]:
        """Per attribute and depth the numbers of the records' ancestors.

        Numbers from 0 make keys that are small enough to be counted without sorting.
        """
        return tuple(
            tuple(_numbers_at(own, depth, self.codes[:, j]) for depth in range(most + 1))
            for j, (own, most) in enumerate(zip(self.hierarchies, self.depths, strict=True))
        )

    def of_rows(self, rows: Longs) -> GeneralisedRecords:
        """Some of the records."""
        return GeneralisedRecords(self.hierarchies, self.depths, self.codes[rows], self.counts[rows])


@dataclass(frozen=True, eq=False)
class Cut:
    """Records generalised alike, each kind by the place of one of them, and how many there are of each."""

    records: Ints
    counts: Longs

    @property
    def size(self) -> int:
        """Records together."""
        return int(self.counts.sum())

    def of(self, is_kept: Bools) -> Cut:
        """Some of the kinds."""
        return Cut(self.records[is_kept], self.counts[is_kept])


@dataclass(frozen=True, eq=False)
class Frequent:
    """The frequent generalisations at one depth per attribute.

    ``rows`` (g,) is the place of a record below each of them, ``counts`` (g,) how many records are.
    """

    records: GeneralisedRecords
    vector: Levels
    rows: Ints
    counts: Longs

    def counts_of(self, rows: Integers) -> Longs:
        """How many records are below the generalisation of each row; 0 where it is not frequent."""
        if not any(self.vector):
            return np.full(len(rows), self.counts.sum())
        first, of_row = group(*self.records._keys(self.vector, np.concatenate([self.rows, rows])))
        counts = np.zeros(len(first), dtype=np.int64)
        counts[of_row[: len(self.rows)]] = self.counts
        return counts[of_row[len(self.rows) :]]

    def of_records(self) -> tuple[Longs, Longs]:
        """The places of all records that have one of them, ascending, and how many are below that."""
        counts = self.counts_of(self.records._all)
        rows = np.flatnonzero(counts)
        return rows, counts[rows]


@dataclass(frozen=True, eq=False)
class _Numbers:
    """The number of each record's ancestor at a depth, or of its value where that is not as deep.

    ``is_deep`` (size,) tells which of them are at the depth; None if all are.
    """

    of_record: Integers
    size: int
    is_deep: Bools | None


_Kept = dict[Levels, npt.NDArray[np.uint8] | None]
"""Depths at which something is frequent: a bit for each record that has it, None if all that reach do."""


def _numbers_at(hierarchy: Hierarchy, depth: int, nodes: Ints) -> _Numbers:
    (numbers,), (used,) = compacted(
        [hierarchy.ancestors_at(hierarchy.height - depth)[nodes]], [hierarchy.n_nodes]
    )
    is_deep = hierarchy.depth[used] == depth
    narrow = numbers.astype(np.min_scalar_type(len(used))) if len(used) < NARROW else numbers
    return _Numbers(narrow, len(used), None if is_deep.all() else is_deep)


def generalisations_of(depths: Levels) -> int:
    """H = ∏ (depth + 1)."""
    return math.prod(own + 1 for own in depths)


@dataclass(frozen=True, eq=False)
class Candidates:
    """The frequent generalisations of some records, with what each is worth.

    ``scores`` is float64 (rows, vectors), −∞ where a record has none at these depths.
    """

    records: GeneralisedRecords
    vectors: tuple[Levels, ...]
    scores: Floats

    @classmethod
    def of(cls, records: GeneralisedRecords, wanted: Longs, decide: Decide, score: Score) -> Candidates:
        """Of the records at the places ``wanted``, ascending; all are counted."""
        vectors, columns = [], []
        for found in records.frequent(decide):
            counts = found.counts_of(wanted)
            has_one = counts > 0
            if not has_one.any():
                continue
            column = np.full(len(wanted), -math.inf)
            column[has_one] = score(records.nodes(found.vector, wanted[has_one]), counts[has_one])
            vectors.append(found.vector)
            columns.append(column)
        scores = np.stack(columns, axis=1) if columns else np.empty((len(wanted), 0))
        return cls(records.of_rows(wanted), tuple(vectors), scores)

    def nodes(self, rows: Longs, choices: Ints) -> tuple[Ints, ...]:
        """Per attribute the node that is shown of each row, by the vector that was drawn for it."""
        found = [np.zeros(len(rows), dtype=np.int32) for _ in self.records.hierarchies]
        for number in np.unique(choices).tolist():
            here = np.flatnonzero(choices == number)
            for column, nodes in zip(
                found, self.records.nodes(self.vectors[number], rows[here]), strict=True
            ):
                column[here] = nodes
        return tuple(found)
