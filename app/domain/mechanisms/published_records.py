"""The records of a perturbed release, as COUNT queries look at them.

A query selects records by quasi-identifiers, which are released as they are or as a rule generalises them;
what is then needed is how many of the selected records have which published value. Queries on the same
attributes share the records reduced to those. The reduced rows are sorted, the attribute with the most nodes
last, so that what a query asks of it selects a few runs of rows under each combination of the others; those
of one run are added up by two look-ups in running sums.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from app.domain.arrays import Bools, Floats, Integers, Ints, Longs, concatenated_ranges
from app.domain.tables.distinct import distinct_rows, starts_of_runs

DENSE_CELLS: Final = 2**23
"""Up to so many counts, of rows × values, running sums are kept, in 64 MiB."""


@dataclass(frozen=True, eq=False)
class Runs:
    """Stretches of sorted rows, from ``starts`` to before ``ends``, and how often a record of each counts."""

    starts: Longs
    ends: Longs
    weights: Floats

    @property
    def are_whole(self) -> bool:
        """Whether all records count once."""
        return bool((self.weights == 1.0).all())


@dataclass(frozen=True, eq=False)
class SortedRows:
    """Distinct rows of some attributes, of which the last is asked about by runs.

    Parameters
    ----------
    columns
        Of the attributes before the last: the node of each combination that occurs.
    last, nodes
        The last attribute, and its nodes that occur, ascending.
    keys
        Ascending, per row: the number of its combination times the number of nodes, and the place of its node
        among these.
    """

    columns: Mapping[int, Ints]
    last: int
    nodes: Ints
    keys: Longs

    def runs(self, shares: Mapping[int, Floats]) -> Runs:
        """The rows of a query: their weights are products of the shares (nodes,) that their nodes have."""
        combinations = np.arange(int(self.keys[-1]) // len(self.nodes) + 1)
        weights = np.ones(len(combinations))
        for j, column in self.columns.items():
            own = shares[j].take(column.take(combinations))
            inside = np.flatnonzero(own)
            combinations = combinations.take(inside)
            weights = weights.take(inside) * own.take(inside)
        of_last = shares[self.last].take(self.nodes)
        first = np.flatnonzero(np.diff(of_last, prepend=np.nan) != 0)
        after = np.append(first[1:], len(of_last))
        asked = np.flatnonzero(of_last.take(first))
        base = combinations * len(self.nodes)
        starts = np.searchsorted(self.keys, np.add.outer(base, first[asked]).ravel())
        ends = np.searchsorted(self.keys, np.add.outer(base, after[asked]).ravel())
        weights = np.multiply.outer(weights, of_last.take(first[asked])).ravel()
        occur = np.flatnonzero(starts < ends)
        return Runs(starts.take(occur), ends.take(occur), weights.take(occur))


class Counts(ABC):
    """How many records of each row have which published value."""

    @abstractmethod
    def totals(self, runs: Runs, *, squared: bool = False) -> Floats:
        """(m,) records of the runs by published value, or by the squares of their weights."""


class RunningCounts(Counts):
    """Sums over all rows before each one, (rows + 1, m)."""

    def __init__(self, counts: Floats) -> None:
        self._before = np.zeros((len(counts) + 1, counts.shape[1]))
        np.cumsum(counts, axis=0, out=self._before[1:])

    def totals(self, runs: Runs, *, squared: bool = False) -> Floats:
        """Differences of sums."""
        found = self._before.take(runs.ends, axis=0)
        found -= self._before.take(runs.starts, axis=0)
        if not runs.are_whole:
            found *= (runs.weights**2 if squared else runs.weights)[:, None]
        return np.asarray(found.sum(axis=0))


class SparseCounts(Counts):
    """Counts above 0 only: those of row i are ``counts[begins[i]:begins[i + 1]]``, of as many ``values``."""

    def __init__(self, begins: Longs, values: Ints, counts: Floats, n_values: int) -> None:
        self._begins, self._values, self._counts, self._n_values = begins, values, counts, n_values

    def totals(self, runs: Runs, *, squared: bool = False) -> Floats:
        """The counts of the runs, added up by value."""
        first = self._begins[runs.starts]
        lengths = self._begins[runs.ends] - first
        places = concatenated_ranges(first, lengths)
        counts = self._counts[places]
        if not runs.are_whole:
            counts = counts * np.repeat(runs.weights**2 if squared else runs.weights, lengths)
        return np.asarray(np.bincount(self._values[places], counts, self._n_values), dtype=np.float64)


class RowGroups:
    """Which group the records of each row are of.

    Parameters
    ----------
    of_record, row_of_record
        The group of each record, and the row that it has.
    n_rows
        Rows, in the order that runs go through them.
    """

    def __init__(self, of_record: Ints, row_of_record: Ints, n_rows: int) -> None:
        self._group: Ints = np.zeros(n_rows, dtype=np.int32)
        self._group[row_of_record] = of_record
        several: Bools = np.zeros(n_rows, dtype=bool)
        several[row_of_record[self._group[row_of_record] != of_record]] = True
        self._several_before = np.append(0, np.cumsum(several))
        self._changes_up_to = np.append(0, np.cumsum(np.diff(self._group) != 0))

    def are_one(self, runs: Runs) -> bool:
        """Whether the runs have records, and all of these are of one group."""
        own = self._group[runs.starts]
        return len(own) > 0 and bool(
            (own == own[0]).all()
            and (self._several_before[runs.ends] == self._several_before[runs.starts]).all()
            and (self._changes_up_to[runs.ends - 1] == self._changes_up_to[runs.starts]).all()
        )


@dataclass(frozen=True, eq=False)
class Reduced:
    """Records reduced to some attributes: rows, their counts, and their groups if these are asked for."""

    rows: SortedRows
    counts: Counts
    groups: RowGroups | None


@dataclass(frozen=True, eq=False)
class PublishedRecords:
    """Distinct records with how many there are of each.

    Parameters
    ----------
    columns, sizes
        Per attribute the node of each, and how many nodes the attribute has.
    values, n_values
        The number of the published value of each, and how many values there are.
    counts
        Records.
    of_group
        Which group of records alike each is of, if that is asked for.
    """

    columns: Mapping[int, Ints]
    sizes: Mapping[int, int]
    values: Ints
    n_values: int
    counts: Floats
    of_group: Ints | None = None

    @classmethod
    def of(
        cls, columns: Mapping[int, Integers], sizes: Mapping[int, int], values: Integers, n_values: int
    ) -> PublishedRecords:
        """Of records with these nodes, which are less than the sizes, and published values."""
        n = len(values)
        rows = distinct_rows([*columns.values(), values], [*(sizes[j] for j in columns), n_values], n)
        own = {j: np.ascontiguousarray(rows.codes[:, i]) for i, j in enumerate(columns)}
        numbers = np.ascontiguousarray(rows.codes[:, -1])
        return cls(own, sizes, numbers, n_values, rows.counts.astype(np.float64))

    @property
    def n_bytes(self) -> int:
        """Memory that they take."""
        columns = sum(own.nbytes for own in self.columns.values())
        groups = 0 if self.of_group is None else self.of_group.nbytes
        return columns + self.values.nbytes + self.counts.nbytes + groups

    def total(self) -> Floats:
        """(m,) all records by published value."""
        return np.asarray(np.bincount(self.values, self.counts, self.n_values), dtype=np.float64)

    def groups_by(self, attributes: Sequence[int]) -> Ints:
        """(records,) groups of records that agree in these attributes; all are one group without any."""
        if not attributes:
            return np.zeros(len(self.values), dtype=np.int32)
        columns, sizes = [self.columns[j] for j in attributes], [self.sizes[j] for j in attributes]
        return distinct_rows(columns, sizes, len(self.values)).inverse

    def on(self, attributes: Sequence[int]) -> Reduced:
        """The records reduced to some attributes, at least one."""
        last = max(attributes, key=self.sizes.__getitem__)
        before = [j for j in attributes if j != last]
        rows = distinct_rows(
            [self.columns[j] for j in (*before, last)],
            [self.sizes[j] for j in (*before, last)],
            len(self.values),
        )
        is_new = np.ones(rows.size, dtype=bool)
        is_new[1:] = (rows.codes[1:, :-1] != rows.codes[:-1, :-1]).any(axis=1)
        nodes, places = np.unique(rows.codes[:, -1], return_inverse=True)
        keys = (np.cumsum(is_new) - 1) * len(nodes) + places
        heads = np.flatnonzero(is_new)
        columns = {j: rows.codes[:, i].take(heads) for i, j in enumerate(before)}
        groups = None if self.of_group is None else RowGroups(self.of_group, rows.inverse, rows.size)
        return Reduced(
            SortedRows(columns, last, nodes, keys), self._counts_of(rows.inverse, rows.size), groups
        )

    def _counts_of(self, row: Ints, n_rows: int) -> Counts:
        """The counts of rows, of which each record has one."""
        if n_rows * self.n_values <= DENSE_CELLS:
            cells = row.astype(np.int64) * self.n_values + self.values
            counts = np.bincount(cells, self.counts, n_rows * self.n_values)
            return RunningCounts(counts.reshape(n_rows, self.n_values))
        order = np.argsort(row, kind="stable")
        begins = np.append(starts_of_runs(row[order]), len(order))
        return SparseCounts(begins, self.values[order], self.counts[order], self.n_values)
