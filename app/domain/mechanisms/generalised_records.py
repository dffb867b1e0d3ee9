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

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Bools, Floats, Ints, Levels, Longs
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.tables.distinct import group, row_keys

Decide = Callable[[Longs], Bools]
"""Which of several generalisations are frequent, from how many records are below each."""
Score = Callable[[Sequence[Ints], Longs], Floats]
"""What each generalisation is worth: its nodes, and how many records are below it."""


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

    def below(self, vector: Levels, rows: Longs) -> tuple[Longs, Ints]:
        """How many records are below each generalisation of the rows, and which of these a row has.

        ``rows`` are all that have any of these generalisations.
        """
        numbered = [own[depth] for own, depth in zip(self._numbered, vector, strict=True)]
        columns = [own.take(rows) for own, _ in numbered]
        keys, limit = row_keys(columns, [size for _, size in numbered], len(rows))
        first, of_row = group(keys, limit)
        total = np.bincount(of_row, self.counts[rows], minlength=len(first))
        return np.rint(total).astype(np.int64), of_row

    @cached_property
    def _numbered(self) -> tuple[tuple[tuple[Ints, int], ...], ...]:
        """Per attribute and depth: (d,) the number of each record's ancestor among those there, and how many.

        Numbers from 0 make keys that are small enough to be counted without sorting; records that do not
        reach the depth have any.
        """
        return tuple(
            tuple(_numbers_at(own, depth, self.codes[:, j]) for depth in range(most + 1))
            for j, (own, most) in enumerate(zip(self.hierarchies, self.depths, strict=True))
        )

    def frequent(self, decide: Decide) -> Iterator[tuple[Levels, Longs, Longs]]:
        """Depths, rows and counts of frequent generalisations; ⊥ is one whatever is decided.

        Top-down: one is looked at only if all that are one step more general are frequent. ``decide`` is
        asked once for each.
        """
        kept: dict[Levels, npt.NDArray[np.uint8]] = {}
        for vector in self.vectors():
            if not any(vector):
                rows = np.arange(len(self.codes))
                kept[vector] = np.packbits(np.ones(len(rows), dtype=bool))
                yield vector, rows, np.full(len(rows), self.counts.sum())
                continue
            above = [
                kept.get((*vector[:j], depth - 1, *vector[j + 1 :]))
                for j, depth in enumerate(vector)
                if depth
            ]
            if any(own is None for own in above):
                continue
            all_above = np.bitwise_and.reduce([own for own in above if own is not None])
            possible = np.unpackbits(all_above, count=len(self.codes)).astype(bool) & self.reaching(vector)
            rows = np.flatnonzero(possible)
            if not len(rows):
                continue
            counts, of_row = self.below(vector, rows)
            is_kept = decide(counts)[of_row]
            if is_kept.any():
                member = np.zeros(len(self.codes), dtype=bool)
                member[rows[is_kept]] = True
                kept[vector] = np.packbits(member)
                yield vector, rows[is_kept], counts[of_row[is_kept]]

    def best(self, worth: Callable[[Sequence[Ints]], Floats]) -> tuple[Ints, ...]:
        """Per attribute (d,) the nodes of each record's generalisation of most worth; of equals the first.

        All of a record are looked at, ⊥ first, then in the order of their depths: of equals the one that
        shows less of the first attribute in which they differ. ``worth`` says of each generalisation the
        same wherever it stands; then each choice is a function of its record alone. ValueError for a worth
        that is no finite number.
        """
        greatest = np.full(len(self.codes), -math.inf)
        found = tuple(np.zeros(len(self.codes), dtype=np.int32) for _ in self.hierarchies)
        for vector in self.vectors():
            rows = np.flatnonzero(self.reaching(vector))
            if not len(rows):
                continue
            nodes = self.nodes(vector, rows)
            own = worth(nodes)
            if not np.isfinite(own).all():
                raise ValueError("the worth of a generalisation is no finite number")
            better = own > greatest[rows]
            greatest[rows[better]] = own[better]
            for column, at in zip(found, nodes, strict=True):
                column[rows[better]] = at[better]
        return found

    def of_rows(self, rows: Longs) -> GeneralisedRecords:
        """Some of the records."""
        return GeneralisedRecords(self.hierarchies, self.depths, self.codes[rows], self.counts[rows])


def _numbers_at(hierarchy: Hierarchy, depth: int, nodes: Ints) -> tuple[Ints, int]:
    at = np.flatnonzero(hierarchy.depth == depth)
    numbers = np.zeros(hierarchy.n_nodes, dtype=np.int32)
    numbers[at] = np.arange(len(at), dtype=np.int32)
    return numbers[hierarchy.ancestors_at(hierarchy.height - depth)[nodes]], len(at)


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
        for vector, rows, counts in records.frequent(decide):
            places = np.searchsorted(wanted, rows)
            is_wanted = places < len(wanted)
            is_wanted[is_wanted] = wanted[places[is_wanted]] == rows[is_wanted]
            if not is_wanted.any():
                continue
            column = np.full(len(wanted), -math.inf)
            column[places[is_wanted]] = score(records.nodes(vector, rows[is_wanted]), counts[is_wanted])
            vectors.append(vector)
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
