"""Which rows of a finished release file the records of a table can have been released as, each once.

One maximum matching between the distinct rows of the file and the distinct records of the table, counted with
their amounts: a row may be of a record if every cell that it shows lies above, or is, the record's value.
Pairs of a row and a record are found column by column, prefixes of records against prefixes of rows, so that
no more is looked at than what fits so far. Records that fit the same rows are one. What has one possible
partner is counted first, which is never worse than anything else; only the rest is a flow. Rows that show
nothing at all fit every record and are matched last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from app.domain.arrays import Bools, Ints, Longs, concatenated_ranges
from app.domain.classes.libraries import Library
from app.domain.errors import NotSupported
from app.domain.rules.release_alignment import ReleasedColumn, label_numbers, labels_meant
from app.domain.tables.distinct import DistinctRows, distinct_rows, one_of_each, starts_of_runs
from app.domain.tables.table import Table

if TYPE_CHECKING:
    import scipy
else:
    scipy = Library("scipy")

MOST_PAIRS: Final = 10_000_000
"""Pairs of a distinct row and a distinct record that are held; one takes about 100 bytes meanwhile."""
MOST_TRIED: Final = 400_000_000
"""Pairs of prefixes that are tried, some 10 million in a second."""
MOST_IN_FLOW: Final = 4_000_000
"""Pairs of a row and a group of records that are left to the flow, some 2 million in a second."""
TRIED_AT_ONCE: Final = 2**21
ROUNDS: Final = 64
"""How often it is looked for what has one possible partner, before all that is left goes to the flow."""


@dataclass(frozen=True, eq=False)
class RowMatching:
    """A matching of most rows.

    Attributes
    ----------
    unmatched
        Rows ascending, from 0, that are left over: no choice of records leaves fewer.
    silent
        (r,) rows that show nothing at all.
    left
        Records ascending that no row stands for which shows anything.
    """

    unmatched: Longs
    silent: Bools
    left: Longs


@dataclass(frozen=True, eq=False)
class _Column:
    """A column as what its cells may stand for.

    ``shown`` is int32 (r,), the number of what each row shows; that and that number of all, ``size``. Above
    each original node o are ``above[starts[o] : starts[o + 1]]`` of them; ``silent`` are those that stand
    for nothing.
    """

    shown: Ints
    size: int
    starts: Longs
    above: Longs
    silent: Bools


def match_rows(table: Table, columns: Mapping[str, ReleasedColumn]) -> RowMatching:
    """Match as many rows as possible with records of the table, each record with one row at most.

    NotSupported where more pairs fit than :data:`MOST_PAIRS`, more are tried than :data:`MOST_TRIED`, or more
    are left to the flow than :data:`MOST_IN_FLOW`.
    """
    # Few values first: their prefixes are few, and all that does not fit them is left out at once.
    places = sorted(map(table.position, columns), key=lambda j: (len(table.used_nodes[j]), j))
    read = [_column(table, table.attributes[j], columns[table.attributes[j]]) for j in places]
    silent: Bools = np.all([own.silent[own.shown] for own in read], axis=0)
    speaking = np.flatnonzero(~silent)
    tuples = distinct_rows([own.shown[speaking] for own in read], [own.size for own in read], len(speaking))
    records = table.distinct(places)
    rows, fitting = _pairs(tuples, records, read)
    group = _alike(rows, fitting, tuples.size, records.size)
    amounts = np.bincount(group[records.inverse] + 1, minlength=1)[1:]
    # One record stands for all of its group, whose pairs are the same.
    is_one = one_of_each(group, len(amounts))[group[fitting]] == fitting
    need, room = _matched(rows[is_one], group[fitting[is_one]], tuples.counts.copy(), amounts.copy())
    left = _last(group[records.inverse], room)
    unmatched = speaking[_last(tuples.inverse, need)]
    too_many = np.flatnonzero(silent)[len(left) :]
    return RowMatching(np.sort(np.concatenate([unmatched, too_many])), silent, left)


def _column(table: Table, name: str, column: ReleasedColumn) -> _Column:
    """What the cells of a column may stand for, and what of it lies above each original."""
    j = table.position(name)
    hierarchy, used = table.hierarchies[j], table.used_nodes[j]
    meant = [frozenset(own) for own in labels_meant(hierarchy, column)] + [frozenset({0})]
    number = {own: code for code, own in enumerate(dict.fromkeys(meant))}
    shown = np.array([number[own] for own in meant], dtype=np.int32)[column.positions]
    of_label = label_numbers(hierarchy)
    n_labels = int(of_label.max()) + 1
    told = np.array([(label, code) for own, code in number.items() for label in own], dtype=np.int64)
    told = told[np.argsort(told[:, 0], kind="stable")]
    begins = np.searchsorted(told[:, 0], np.arange(n_labels + 1))
    places, nodes = hierarchy.ancestors(used)
    labels, originals = of_label[nodes], used[places].astype(np.int64)
    lengths = np.diff(begins)[labels]
    codes = told[concatenated_ranges(begins[labels], lengths), 1]
    # A text of several readings may lie above an original by more than one of them.
    both = np.unique(np.repeat(originals, lengths) * len(number) + codes)
    starts = np.searchsorted(both, np.arange(hierarchy.n_nodes + 1) * len(number))
    silent = np.array([0 in own for own in number], dtype=bool)
    return _Column(shown, len(number), starts, both % len(number), silent)


def _pairs(tuples: DistinctRows, records: DistinctRows, columns: list[_Column]) -> tuple[Longs, Longs]:
    """All pairs of a distinct row and a distinct record that fits it, in no certain order."""
    rows = fitting = np.zeros(min(1, tuples.size), dtype=np.int64)
    tried, row_of, record_of = 0, *(np.zeros(own.size, dtype=np.int64) for own in (tuples, records))
    for j, column in enumerate(columns):
        row_of, keys = _longer(row_of, tuples.codes[:, j], column.size)
        record_of, of_records = _longer(record_of, records.codes[:, j], len(column.starts) - 1)
        before, node = np.divmod(of_records, len(column.starts) - 1)
        lengths = np.diff(column.starts)[node]
        begins = np.searchsorted(before, np.arange(before[-1] + 2))
        steps = np.concatenate([[0], np.cumsum(lengths)])[begins]
        tried += int(np.diff(steps)[fitting].sum())
        if tried > MOST_TRIED:
            raise _too_many(f"more than {MOST_TRIED:,} pairs of a row and a record have to be compared")
        found, kept = [], 0
        for part in _parts(np.diff(steps)[fitting]):
            own_rows, own_fitting = rows[part], fitting[part]
            several = np.diff(begins)[own_fitting]
            longer = concatenated_ranges(begins[own_fitting], several)
            above = column.above[concatenated_ranges(column.starts[node[longer]], lengths[longer])]
            wanted = np.repeat(np.repeat(own_rows, several), lengths[longer]) * column.size + above
            place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            hit = keys[place] == wanted
            found.append((place[hit], np.repeat(longer, lengths[longer])[hit]))
            kept += len(found[-1][0])
            if kept > MOST_PAIRS:
                raise _too_many(f"more than {MOST_PAIRS:,} pairs of a row and a record fit")
        rows, fitting = (np.concatenate([own[side] for own in found] or [rows]) for side in (0, 1))
    return rows, fitting


def _longer(prefix: Longs, codes: Ints, size: int) -> tuple[Longs, Longs]:
    """The number of each row's prefix with one more column, and for each number its key, ascending.

    Rows are in the order of their prefixes; a key is the shorter prefix and the new code, below ``size``.
    """
    keys = prefix * size + codes
    starts = starts_of_runs(keys)
    return np.repeat(np.arange(len(starts)), np.diff(starts, append=len(keys))), keys[starts]


def _parts(lengths: Longs) -> Iterator[slice]:
    """Slices that make at most so many steps together as are made at once, or are of one element."""
    ends, start = np.cumsum(lengths), 0
    while start < len(ends):
        limit = (ends[start - 1] if start else 0) + TRIED_AT_ONCE
        stop = max(start + 1, int(np.searchsorted(ends, limit, side="right")))
        yield slice(start, stop)
        start = stop


def _alike(rows: Longs, fitting: Longs, n_rows: int, n_records: int) -> Longs:
    """The group of each distinct record: those that fit the same rows are one, −1 for who fits none."""
    order = np.lexsort((rows, fitting))
    rows, amounts = rows[order], np.bincount(fitting, minlength=n_records)
    starts = np.cumsum(amounts) - amounts
    group, groups = np.full(n_records, -1, dtype=np.int64), 0
    for amount in np.unique(amounts[amounts > 0]).tolist():
        own = np.flatnonzero(amounts == amount)
        columns = [rows[starts[own] + place] for place in range(amount)]
        same = distinct_rows(columns, [n_rows] * amount, len(own))
        group[own] = same.inverse + groups
        groups += same.size
    return group


def _matched(rows: Longs, groups: Longs, need: Longs, room: Longs) -> tuple[Longs, Longs]:
    """What is left of the amounts of rows and of groups after a maximum matching along these pairs."""
    for _ in range(ROUNDS):
        before = len(rows)
        for ends, others, here, there in ((groups, rows, room, need), (rows, groups, need, room)):
            alive = (need[rows] > 0) & (room[groups] > 0)
            alone = alive & (np.bincount(ends[alive], minlength=len(here))[ends] == 1)
            poured = _poured(others[alone], here[ends[alone]], there)
            here[ends[alone]] -= poured
            there -= np.bincount(others[alone], poured, len(there)).astype(np.int64)
        alive = (need[rows] > 0) & (room[groups] > 0)
        rows, groups = rows[alive], groups[alive]
        if len(rows) in (0, before):
            break
    if len(rows) > MOST_IN_FLOW:
        raise _too_many(f"more than {MOST_IN_FLOW:,} pairs of rows and records of several choices are left")
    if len(rows):
        _let_flow(rows, groups, need, room)
    return need, room


def _poured(into: Longs, amounts: Longs, room: Longs) -> Longs:
    """How much of each amount goes into its vessel, one after another until that is full."""
    order = np.argsort(into, kind="stable")
    own, sums = into[order], np.cumsum(amounts[order])
    starts = starts_of_runs(own)
    before = np.repeat(np.concatenate([[0], sums])[starts], np.diff(starts, append=len(own)))
    poured = np.empty_like(amounts)
    poured[order] = np.diff(np.minimum(sums - before, room[own]), prepend=0)
    poured[order[starts]] = np.minimum(amounts[order[starts]], room[own[starts]])
    return poured


def _let_flow(rows: Longs, groups: Longs, need: Longs, room: Longs) -> None:
    """Take a maximum flow from what rows need to the room of groups off both, in place."""
    own, tails = np.unique(rows, return_inverse=True)
    to, heads = np.unique(groups, return_inverse=True)
    n, size = len(own), len(own) + len(to) + 2
    source, sink = size - 2, size - 1
    capacities = [need[own], room[to], np.minimum(need[rows], room[groups])]
    network = scipy.sparse.csr_array(
        (
            np.concatenate(capacities).astype(np.int32),
            (
                np.concatenate([np.full(n, source), n + np.arange(len(to)), tails]).astype(np.int32),
                np.concatenate([np.arange(n), np.full(len(to), sink), n + heads]).astype(np.int32),
            ),
        ),
        shape=(size, size),
    )
    flow = scipy.sparse.csgraph.maximum_flow(network, source, sink).flow
    need[own] -= flow[[source], :n].toarray()[0]
    room[to] += flow[[sink], n : size - 2].toarray()[0]


def _last(owners: Longs | Ints, left: Longs) -> Longs:
    """Positions ascending of the last so many of each owner, and of all whose owner is −1."""
    order = np.argsort(owners, kind="stable")
    own = owners[order]
    starts = starts_of_runs(own)
    lengths = np.diff(starts, append=len(own))
    rank = concatenated_ranges(np.zeros(len(starts), dtype=np.int64), lengths)
    keeps = np.append(left, len(own))[own]
    return np.sort(order[rank >= np.repeat(lengths, lengths) - keeps])


def _too_many(what: str) -> NotSupported:
    return NotSupported(
        f"Whether the file can be of the dataset was not found out: {what}.",
        "Name a key column that both have, or judge the rule or stored release that made the file.",
    )
