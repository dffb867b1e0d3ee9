"""A rule's disclosed records when only some attributes are shown as the rule says, the others suppressed.

What attribution needs: the loss of every record for any set of shown attributes. Records with equal disclosed
values, weight groups and consistency of their own entity are one row, whatever is shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Floats, Ints, Longs
from app.domain.counting.counter import Counter, Engine
from app.domain.hierarchies.hierarchy import TOP
from app.domain.models.entry import MeasureContext, given
from app.domain.risk.loss import with_self
from app.domain.rules.rule import apply
from app.domain.sensitivity.sensitivity import Sensitivity
from app.domain.tables.distinct import DistinctRows, distinct_rows
from app.domain.tables.masks import shows_nothing
from app.domain.tables.numbers import exact_sum


@dataclass(frozen=True, eq=False)
class _OwnEntity:
    """Per row: whether its entity is in the dictionary, and on which linked attributes it is consistent."""

    present: npt.NDArray[np.bool_]
    consistent: npt.NDArray[np.bool_]


class PartialDisclosure:
    """The distinct disclosed rows of a context's rule, and their losses when attributes are suppressed.

    Attributes
    ----------
    codes
        Disclosed nodes, int32 (d, m).
    records
        Records per row, int64 (d,).
    weights
        What each row counts for in the mean over records, float64 (d,); ``total`` is their sum.
    disclosed
        Positions of the attributes that the rule discloses of at least one record; suppressing the others
        changes nothing.
    """

    def __init__(self, context: MeasureContext) -> None:
        self._context = context
        self.counter: Counter = context.counter
        table, m = context.table, context.table.n_attributes
        codes = apply(given(context.rule), table)
        splits = self._splits(codes)
        columns = [codes[:, j] for j in range(m)] + [column for column, _ in splits]
        rows = distinct_rows(columns, [*table.sizes, *(size for _, size in splits)], table.n_records)
        self.codes: Ints = rows.codes[:, :m]
        self.records: Longs = rows.counts
        self.weights: Floats = self._weights(rows)
        self.total = exact_sum(self.weights)
        self._read_splits(rows.codes[:, m:])
        self.disclosed = tuple(np.flatnonzero(~shows_nothing(self.codes).all(axis=0)).tolist())
        self._engine: Engine | None = None

    def expect(self, n_rules: int) -> None:
        """Choose the engine that is best for counting this many sets of attributes."""
        self._engine = self.counter.choose(len(self.records), n_rules).engine

    def counts(self, shown: Iterable[int]) -> Longs:
        """Consistent entities per row, int64 (d,), when only the attributes ``shown`` are disclosed."""
        visible = frozenset(shown)
        linked = np.zeros((len(self.records), len(self.counter.linked)), dtype=np.int32, order="F")
        for i, j in enumerate(self.counter.linked):
            if j in visible:
                linked[:, i] = self.codes[:, j]
        counts = self.counter.count(linked, engine=self._engine).values
        if self._own is None:
            return counts
        agreed = self._own.present.copy()
        for i, j in enumerate(self.counter.linked):
            if j in visible:
                agreed &= self._own.consistent[:, i]
        return with_self(counts, agreed)

    def losses(self, shown: Iterable[int], counts: Longs) -> Floats:
        """Loss per row, float64 (d,), when only ``shown`` are disclosed; ``counts`` as of :meth:`counts`."""
        visible = frozenset(shown)
        codes = self.codes.copy(order="F")
        for j in range(codes.shape[1]):
            if j not in visible:
                codes[:, j] = TOP
        context = self._context
        phi = given(context.sensitivity).phi(codes, self._groups)
        failure = context.failure
        psi = None if failure is None else failure.phi(codes, self._failure_groups)
        return context.model.of(counts, phi, psi, self._n_entities)

    def mean(self, values: Floats, rows: npt.NDArray[np.bool_] | None = None) -> float:
        """What some rows (default: all) add to the mean over records; +∞ if one that counts has +∞."""
        held = self.weights > 0 if rows is None else rows & (self.weights > 0)
        return exact_sum(self.weights[held] * values[held]) / self.total

    def _splits(self, codes: Ints) -> list[tuple[npt.NDArray[np.integer], int]]:
        """What splits rows of equal codes: weight groups, and the consistency of the own entity."""
        context, n = self._context, self._context.table.n_records
        splits: list[tuple[npt.NDArray[np.integer], int]] = []
        for sensitivity in (given(context.sensitivity), context.failure):
            if _is_split(sensitivity) and sensitivity is not None and sensitivity.groups is not None:
                splits.append((sensitivity.groups, sensitivity.n_groups))
        if context.absent_policy == "add_self":
            row = self.counter.own_rows.row
            present = row >= 0
            splits.append((present.astype(np.int32), 2))
            for j, compatibility in zip(self.counter.linked, self.counter.compatibilities, strict=True):
                agrees = np.zeros(n, dtype=np.int32)
                cells = compatibility.link.column[row[present]]
                agrees[present] = compatibility.consistent(codes[present, j], cells)
                splits.append((agrees, 2))
        return splits

    def _read_splits(self, found: Ints) -> None:
        context, at = self._context, 0
        groups: list[Ints | None] = []
        for sensitivity in (given(context.sensitivity), context.failure):
            groups.append(found[:, at] if _is_split(sensitivity) else None)
            at += _is_split(sensitivity)
        self._groups, self._failure_groups = groups
        self._own: _OwnEntity | None = None
        self._n_entities: Longs | int = given(context.dictionary).n_entities
        if context.absent_policy == "add_self":
            self._own = _OwnEntity(found[:, at].astype(bool), found[:, at + 1 :].astype(bool))
            # The dictionary with the record's own entity, which it may have to be given.
            self._n_entities = self._n_entities + (~self._own.present).astype(np.int64)

    def _weights(self, rows: DistinctRows) -> Floats:
        given_weights = self._context.table.weights
        if given_weights is None:
            return rows.counts.astype(np.float64)
        return np.bincount(rows.inverse, given_weights, minlength=rows.size).astype(np.float64)


def _is_split(sensitivity: Sensitivity | None) -> bool:
    return sensitivity is not None and sensitivity.is_personal
