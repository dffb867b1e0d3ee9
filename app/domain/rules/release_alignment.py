"""A finished release beside the table that it was made of: which rule discloses just that.

A released text is a label of the hierarchy, or stands for nothing (⊥). Where a label occurs several times, a
node above every original that is shown as this text is meant, the lowest of these: readers of the release
cannot tell such records apart by it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.domain.arrays import Ints, Longs
from app.domain.hierarchies.hierarchy import TOP, UNKNOWN, Hierarchy
from app.domain.rules.rule import CellRule
from app.domain.tables.distinct import distinct_rows, starts_of_runs
from app.domain.tables.table import Table

DROPPED = -1

Readings = tuple[str | None, ...]
"""Labels that a text may stand for, the likeliest first; None is ⊥."""


@dataclass(frozen=True, eq=False)
class ReleasedColumn:
    """One column of a release of r rows.

    Attributes
    ----------
    readings
        Of each distinct text.
    positions
        int32 (r,): which of them each cell is, −1 where it is empty: suppressed.
    """

    readings: tuple[Readings, ...]
    positions: Ints


@dataclass(frozen=True, eq=False)
class Misfit:
    """Rows of the release, ascending from 0, where what is shown does not lie above the original."""

    attribute: str
    rows: Longs


@dataclass(frozen=True, eq=False)
class Alignment:
    """The rule that discloses what the release does, None if there are misfits, and these."""

    rule: CellRule | None
    misfits: tuple[Misfit, ...]


def align(table: Table, columns: Mapping[str, ReleasedColumn], row_of_record: Longs) -> Alignment:
    """Find the disclosed node of every cell.

    Parameters
    ----------
    columns
        By attribute; those that are not released are suppressed.
    row_of_record
        (n,) the row of the release that each record is, −1 for those that it leaves out: they are suppressed.
    """
    kept = np.flatnonzero(row_of_record != DROPPED)
    rows = row_of_record[kept]
    codes = np.zeros(table.codes.shape, dtype=np.int32, order="F")
    misfits = []
    for name, column in columns.items():
        j = table.position(name)
        nodes = _nodes(table.hierarchies[j], table.codes[kept, j], column.readings, column.positions[rows])
        wrong = nodes == UNKNOWN
        if wrong.any():
            misfits.append(Misfit(name, np.sort(rows[wrong])))
        codes[kept, j] = nodes
    return Alignment(None if misfits else CellRule(codes), tuple(misfits))


def rows_of_whole_classes(table: Table, columns: Mapping[str, ReleasedColumn]) -> Longs | None:
    """(n,) the row of each record, −1 for none, of a release under one level per attribute; None of others.

    Every class is released as a whole or suppressed as a whole, so that each record has one possible class.
    Records of a class that show the same of all attributes are told apart by nothing: any of them has any of
    their rows.
    """
    if not all(own.is_tree for own in table.hierarchies):
        return None
    rows = {name: _numbers(table, name, own) for name, own in columns.items()}
    quasi = [name for name in columns if name not in table.sensitive]
    hidden = ~np.stack([rows[name] for name in quasi], axis=1).any(axis=1) if quasi else None
    if hidden is None or hidden.all():
        return None
    records = {}
    for name in columns:
        hierarchy, shown = table.hierarchies[table.position(name)], np.unique(rows[name][~hidden])
        levels = (hierarchy.ancestors_at(level) for level in range(hierarchy.height + 1))
        of_node = label_numbers(hierarchy)
        meant = (of_node[nodes[table.codes[:, table.position(name)]]] for nodes in levels)
        fits = next((own for own in meant if np.isin(shown, own).all()), None)
        if fits is None:
            return None
        records[name] = fits
    n = len(hidden)
    both = {name: np.concatenate([rows[name], records[name]]) for name in columns}
    classes, alike = (
        distinct_rows(
            [both[name] for name in names], [int(both[name].max()) + 1 for name in names], n + table.n_records
        )
        for names in (quasi, list(columns))
    )
    is_kept = np.isin(classes.inverse[n:], classes.inverse[:n][~hidden])
    kept, suppressed = np.flatnonzero(is_kept), np.flatnonzero(~is_kept)
    shown_rows, hidden_rows = np.flatnonzero(~hidden), np.flatnonzero(hidden)
    of_rows, of_records = alike.inverse[shown_rows], alike.inverse[n + kept]
    if not np.array_equal(np.sort(of_rows), np.sort(of_records)) or len(hidden_rows) not in (
        0,
        len(suppressed),
    ):
        return None
    found = np.full(table.n_records, DROPPED, dtype=np.int64)
    found[kept[np.argsort(of_records, kind="stable")]] = shown_rows[np.argsort(of_rows, kind="stable")]
    if len(hidden_rows):
        found[suppressed] = hidden_rows
    return found


def fewest_persons(table: Table, columns: Mapping[str, ReleasedColumn]) -> Ints | None:
    """(r,) persons of rows that are nobody's known, numbered from 0 in each class: as few as they can be.

    Of a class of s rows let m_p be the records of person p that are at or below what it shows of every
    quasi-identifier. Who has most of them fills it first: so many persons are a lower bound of its π, and the
    share of number 0, min(s, max m_p) / s, is an upper bound of its λ (Definitions: several records per
    person). None where the file or a class has more rows than there are records for.
    """
    quasi = sorted(columns.keys() - table.sensitive, key=lambda own: (len(columns[own].readings), own))
    if table.persons is None or not quasi or len(columns[quasi[0]].positions) > table.n_records:
        return None
    rows, places = [_numbers(table, name, columns[name]) for name in quasi], list(map(table.position, quasi))
    classes = distinct_rows(rows, [int(own.max()) + 1 for own in rows], len(rows[0]))
    originals, sizes = [table.codes[:, j] for j in places], [table.sizes[j] for j in places]
    records = distinct_rows([table.persons, *originals], [table.n_persons, *sizes], table.n_records)
    below = [_originals_below(table, name, columns[name]) for name in quasi]
    rows_of = np.split(np.argsort(classes.inverse, kind="stable"), np.cumsum(classes.counts)[:-1])
    found, last = np.empty(len(rows[0]), dtype=np.int32), np.full(len(quasi), UNKNOWN)
    # Classes are ascending: those that show the same of their first attributes share the records below these.
    fitting = [np.arange(records.size)]
    for shown, own in zip(classes.codes, rows_of, strict=True):
        first, last = int(np.argmax(shown != last)), shown
        del fitting[first + 1 :]
        for j in range(first, len(quasi)):
            fits = np.zeros(sizes[j], dtype=bool)
            fits[below[j][int(shown[j])]] = True
            fitting.append(fitting[-1][fits[records.codes[fitting[-1], j + 1]]])
        amounts, starts = records.counts[fitting[-1]], starts_of_runs(records.codes[fitting[-1], 0])
        if amounts.sum() < len(own):
            return None
        most = np.cumsum(np.sort(np.add.reduceat(amounts, starts))[::-1])
        found[own] = np.searchsorted(most, np.arange(len(own)), side="right")
    return found


def _originals_below(table: Table, name: str, column: ReleasedColumn) -> dict[int, Longs]:
    """By the number of each label that is shown the originals below it, in all readings of its texts."""
    hierarchy, below = table.hierarchies[table.position(name)], defaultdict[int, list[int]](list)
    of_node, found = label_numbers(hierarchy).tolist(), defaultdict[int, set[int]](set)
    for original in table.used_nodes[table.position(name)].tolist():
        for number in {of_node[node] for node in hierarchy.up(original)}:
            below[number].append(original)
    for numbers in [[0], *labels_meant(hierarchy, column)]:
        found[numbers[0]].update(*(below[number] for number in numbers))
    return {number: np.array(sorted(own), dtype=np.int64) for number, own in found.items()}


def label_numbers(hierarchy: Hierarchy) -> Longs:
    """(nodes,) number of each node's label, equal for equal labels; 0 of ⊥."""
    number = {hierarchy.labels[TOP]: 0}
    return np.array([number.setdefault(own, len(number)) for own in hierarchy.labels], dtype=np.int64)


def _numbers(table: Table, name: str, column: ReleasedColumn) -> Longs:
    """(r,) number of the label that each row shows, 0 where it shows nothing."""
    meant = labels_meant(table.hierarchies[table.position(name)], column)
    return np.array([*(numbers[0] for numbers in meant), 0], dtype=np.int64)[column.positions]


def labels_meant(hierarchy: Hierarchy, column: ReleasedColumn) -> list[list[int]]:
    """Of each text the numbers of the labels that it may stand for, the likeliest first."""
    number = dict(zip(hierarchy.labels, label_numbers(hierarchy).tolist(), strict=True)) | {None: 0}
    return [[number[own] for own in readings if own in number] for readings in column.readings]


def _nodes(hierarchy: Hierarchy, originals: Ints, readings: Sequence[Readings], positions: Ints) -> Ints:
    """The node that each cell shows, −1 where none of its readings lies above its original."""
    pairs = distinct_rows([positions + 1, originals], [len(readings) + 1, hierarchy.n_nodes], len(originals))
    texts, nodes = pairs.codes[:, 0] - 1, pairs.codes[:, 1]
    found = np.zeros(pairs.size, dtype=np.int32)
    above = _LabelsAbove(hierarchy)
    starts = np.flatnonzero(np.diff(texts, prepend=-2))
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), pairs.size], strict=True):
        if texts[start] >= 0:
            found[start:end] = above.shown(nodes[start:end].tolist(), readings[texts[start]])
    shown: Ints = found[pairs.inverse]
    return shown


class _LabelsAbove:
    """Finds nodes by label among a node and all above it; remembers what it found."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        self._hierarchy = hierarchy
        self._found: dict[int, dict[str | None, frozenset[int]]] = {}

    def shown(self, originals: Sequence[int], readings: Readings) -> list[int]:
        """What each original is shown as, −1 where that is nothing above it."""
        for reading in readings:
            common = frozenset.intersection(*(self._above(node, reading) for node in originals))
            if common:
                # Parents precede their children, so that no node of the greatest code's is below it.
                return [max(common)] * len(originals)
        return [
            next((max(own) for reading in readings if (own := self._above(node, reading))), UNKNOWN)
            for node in originals
        ]

    def _above(self, node: int, label: str | None) -> frozenset[int]:
        if node not in self._found:
            labels: dict[str | None, frozenset[int]] = {None: frozenset({TOP})}
            for upper in self._hierarchy.up(node):
                own = self._hierarchy.labels[upper]
                labels[own] = labels.get(own, frozenset()) | {upper}
            self._found[node] = labels
        return self._found[node].get(label, frozenset())
