"""The Pareto-optimal nodes of every distinct record: those of its lattice that no other dominates."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import takewhile

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Floats, Levels, Longs
from app.domain.counting.calibration import (
    SECONDS_PER_SIFTED_NODE,
    SECONDS_PER_SORTED_CELL,
    SECONDS_PER_TAKEN_NODE,
)
from app.domain.counting.threads import in_order
from app.domain.search.budget import Halted, HaltedError, never, stop_if
from app.domain.search.record_rules.blocks import block_of
from app.domain.search.record_rules.choices import Curves
from app.domain.search.record_rules.instance import RecordInstance
from app.domain.search.record_rules.optima import Companion, Terms, are_separable
from app.domain.search.selection import MOST_NODES, SLACK, LeastTwo
from app.domain.tables.numbers import tie_margins

UNSOLVED = -1
SCANNED_AT_ONCE = 2**14

POINT = np.dtype([("utility", "<f8"), ("risk", "<f8"), ("node", "<i4")])
RECORD = np.dtype([("points", "<i4"), ("reach", "<f8")])


def curves_of_block(
    instance: RecordInstance,
    rows: range,
    floor: float | None,
    tick: Callable[[int], None],
    halted: Halted = never,
) -> bytes:
    """The curves of some distinct records as packed rows, of nodes of at least the utility ``floor``.

    The records that a halt leaves out have :data:`UNSOLVED` points.
    """
    heads = np.zeros(len(rows), dtype=RECORD)
    heads["points"] = UNSOLVED
    points: list[npt.NDArray[np.void]] = []

    def visit() -> None:
        tick(0)
        stop_if(halted)

    try:
        instance.prepare(rows, visit)
    except HaltedError:
        return heads.tobytes()
    source = curve_source(instance, floor)
    n_pieces = math.ceil(len(rows) / source.rows_at_once)

    def curves_of_some(piece: range) -> tuple[int, npt.NDArray[np.void]]:
        """Where a piece of the rows ends, and the points of their curves; fills in their heads."""
        some = np.arange(rows.start + piece.start, rows.start + piece.stop)
        part = heads[piece.start : piece.stop]
        part["reach"], part["points"], found = source.of(some)
        return piece.stop, found

    pieces = takewhile(lambda _: not halted(), (block_of(len(rows), n_pieces, i) for i in range(n_pieces)))
    for done, found in in_order(curves_of_some, pieces, instance.context.threads):
        points.append(found)
        tick(done)
    return b"".join([heads.data, *(found.data for found in points)])


def curves_of(blocks: Mapping[int, bytes], rows: Sequence[int]) -> tuple[Curves, Longs]:
    """The curves of all distinct records from blocks of ``rows`` records each, and the records without one.

    Those are the records of missing blocks and those that a halt has left out; their curves have no points,
    and NaN for their reach.
    """
    heads, points = [], []
    for index, n in enumerate(rows):
        block = blocks.get(index)
        if block is None:
            heads.append(np.array([(UNSOLVED, np.nan)] * n, dtype=RECORD))
            continue
        heads.append(np.frombuffer(block, dtype=RECORD, count=n))
        points.append(np.frombuffer(block, dtype=POINT, offset=n * RECORD.itemsize))
    head = np.concatenate(heads)
    starts = np.zeros(len(head) + 1, dtype=np.int64)
    np.cumsum(np.maximum(head["points"], 0), out=starts[1:])
    total = int(starts[-1])
    curves = Curves(
        starts, np.empty(total), np.empty(total), np.empty(total, dtype=np.int64), head["reach"].copy()
    )
    at = 0
    for point in points:
        part = slice(at, at + len(point))
        curves.utility[part], curves.risk[part] = point["utility"], point["risk"]
        curves.node[part] = point["node"]
        at += len(point)
    return curves, np.flatnonzero(head["points"] == UNSOLVED)


def curve_source(instance: RecordInstance, floor: float | None) -> LatticeCurves:
    """The cheapest way to the curves of an instance; the curves are the same."""
    varied = instance.context.sensitivity.family != "constant"
    few = instance.n_nodes <= MOST_NODES
    if varied and few and are_separable(instance) and instance.common_utilities is not None:
        return ScannedCurves(instance, floor)
    return LatticeCurves(instance, floor)


class LatticeCurves:
    """The curves of distinct records, from all nodes of their lattices."""

    def __init__(self, instance: RecordInstance, floor: float | None) -> None:
        self._instance = instance
        self._floor = floor

    @property
    def rows_at_once(self) -> int:
        """Distinct records to ask for at once."""
        return self._instance.rows_at_once

    @property
    def seconds_per_record(self) -> float:
        """Estimated time to find the curve of one record that is counted for."""
        return self._instance.seconds_per_record + self._instance.n_nodes * SECONDS_PER_SORTED_CELL

    def of(self, rows: Longs) -> tuple[Floats, Longs, npt.NDArray[np.void]]:
        """Reach and number of points of some distinct records, whose counts were prepared, and the points."""
        reach, curves = self._of_lattices(rows)
        return reach, np.array([len(curve) for curve in curves], dtype=np.int64), np.concatenate(curves)

    def _of_lattices(self, rows: Longs) -> tuple[Floats, list[npt.NDArray[np.void]]]:
        lattices = self._instance.evaluate(rows)
        risk, utility = lattices.risk, lattices.utility
        beyond = self._instance.beyond_top(rows)
        if beyond is not None:
            risk[beyond] = np.inf
        reach: Floats = utility.max(axis=0)
        if self._floor is not None:
            risk[utility < self._floor] = np.inf
        # The curve of each column of (nodes, rows); columns of the same utilities are reduced
        # together
        kinds: dict[bytes, list[int]] = {}
        for column, values in enumerate(np.ascontiguousarray(utility.T)):
            kinds.setdefault(values.tobytes(), []).append(column)
        found: dict[int, npt.NDArray[np.void]] = {}
        for columns in kinds.values():
            whole = len(columns) == risk.shape[1]
            found.update(
                zip(
                    columns,
                    _curves_of_kind(risk if whole else risk[:, columns], utility[:, columns[0]]),
                    strict=True,
                )
            )
        return reach, [found[column] for column in range(risk.shape[1])]


class ScannedCurves(LatticeCurves):
    """The same where all records have the same utilities, mostly by scans; rows are ranges.

    Per utility the least two risks are found as for single optima (:mod:`record_optima`). Where each least
    risk lies apart from the second, and from the least one of any greater utility, by more than ties and
    rounding, the curve is known; the other records are left to an exact evaluation.
    """

    @property
    def rows_at_once(self) -> int:
        """Distinct records to ask for at once."""
        return SCANNED_AT_ONCE

    @property
    def seconds_per_record(self) -> float:
        """Estimated time to scan the lattice of one record and to take the points of its curve."""
        instance = self._instance
        scanned = instance.n_linked_nodes * SECONDS_PER_SIFTED_NODE
        return scanned + instance.n_nodes * SECONDS_PER_TAKEN_NODE

    @cached_property
    def _kinds(self) -> tuple[Longs, Floats]:
        """The kind of each node, by ascending utility, and the utilities of the kinds."""
        utility = self._instance.common_utilities
        if utility is None:
            raise ValueError("these records have utilities of their own")
        order, first = kinds_of_utility(utility)
        kind = np.zeros(len(utility), dtype=np.int64)
        kind[order[first[1:]]] = 1
        kind[order] = np.cumsum(kind[order])
        if self._floor is not None:
            kind[utility < self._floor] = -1
        return kind, utility[order][first]

    def of(self, rows: Longs) -> tuple[Floats, Longs, npt.NDArray[np.void]]:
        """As of :class:`LatticeCurves`; ``rows`` must be consecutive."""
        terms = Terms(self._instance, slice(int(rows[0]), int(rows[-1]) + 1))
        values = self._kinds[1]
        least, second, node = self._scanned(terms)
        above = np.full(least.shape, np.inf)
        above[:-1] = np.minimum.accumulate(least[::-1], axis=0)[::-1][1:]
        kept = least < above
        finite = np.where(np.isinf(least), 0.0, least)
        slack = SLACK * (1.0 + finite)
        near = np.abs(finite - above) <= slack
        unsure = (kept & (second - finite <= slack)) | (near & ~np.isinf(least))
        # A record that nobody is consistent with risks nothing as it is, and nothing is more useful.
        absent = terms.is_absent() & (self._kinds[0][0] >= 0)
        kept[:, absent], unsure[:, absent] = False, False
        kept[-1, absent], node[-1, absent] = True, 0
        left = np.flatnonzero(unsure.any(axis=0))
        kept[:, left] = False
        record, kind = np.nonzero(kept.T)
        points = np.empty(len(record), dtype=POINT)
        points["utility"], points["node"] = values[kind], node[kind, record]
        points["risk"] = terms.exact_risks(record, node[kind, record])
        reach = terms.utility_at([0] * len(terms.shape))
        # With the curves of the records that are left, from their lattices
        counts = np.bincount(record, minlength=len(rows))
        parts = [points]
        owners = [record]
        at_once = self._instance.rows_at_once
        for start in range(0, len(left), at_once):
            some = left[start : start + at_once]
            curves = self._of_lattices(rows[some])[1]
            sizes = np.array([len(curve) for curve in curves], dtype=np.int64)
            counts[some] = sizes
            owners.append(np.repeat(some, sizes))
            parts += curves
        if not len(left):
            return reach, counts, points
        order = np.argsort(np.concatenate(owners), kind="stable")
        return reach, counts, np.concatenate(parts)[order]

    def _scanned(self, terms: Terms) -> tuple[Floats, Floats, Longs]:
        """Least and second least risk per kind of utility and record, and the node of the least."""
        kind, values = self._kinds
        risk = np.empty(terms.n_rows)
        found = [LeastTwo(risk, self._instance.n_nodes) for _ in values]
        companions = terms.companions()

        def wanted(linked: Levels) -> list[Companion]:
            return [one for one in companions if kind[terms.number(linked, one[0])] >= 0]

        for linked, unlinked in terms.scan(risk, wanted):
            number = terms.number(linked, unlinked)
            found[kind[number]].take(number)
        least, second, node = zip(*(of_kind.found() for of_kind in found), strict=True)
        return np.stack(least), np.stack(second), np.stack(node)


def kinds_of_utility(utility: Floats) -> tuple[Longs, Longs]:
    """Nodes by ascending utility, and the positions at which a greater one begins.

    Sums that were taken in another order differ by rounding: they are one utility.
    """
    order = np.argsort(utility, kind="stable")
    values = utility[order]
    greater = np.concatenate([[True], values[1:] - values[:-1] > tie_margins(values[:-1])])
    return order, np.flatnonzero(greater)


def _curves_of_kind(risk: Floats, utility: Floats) -> list[npt.NDArray[np.void]]:
    """The curves of columns that share their utilities (nodes,)."""
    order, first = kinds_of_utility(utility)
    values = utility[order]
    ordered = risk[order]
    least = np.minimum.reduceat(ordered, first, axis=0)
    sizes = np.diff(np.append(first, len(order)))
    accepted = ordered <= np.repeat(least + tie_margins(least), sizes, axis=0)
    nodes = np.minimum.reduceat(np.where(accepted, order[:, None], len(order)), first, axis=0)
    above = np.full(least.shape, np.inf)
    above[:-1] = np.minimum.accumulate(least[::-1], axis=0)[::-1][1:]
    kept = np.isfinite(least) & (least < above)
    curves = []
    for column in range(risk.shape[1]):
        held = np.flatnonzero(kept[:, column])
        curve = np.empty(len(held), dtype=POINT)
        curve["utility"], curve["risk"] = values[first][held], least[held, column]
        curve["node"] = nodes[held, column]
        curves.append(curve)
    return curves
