"""How much of a rule's risk each attribute carries: suppressed alone, and on average over all orders.

A *coalition* is a set of attributes that is disclosed as the rule says, the others suppressed; its value is
the risk. The Shapley value of an attribute is its mean addition to the value over all orders in which
attributes are disclosed (Shapley (1953)): the values add up to the risk of the rule less that of a table
suppressed altogether.

Infinite losses have no shares. Records whose loss is infinite for some coalition are therefore taken apart:
among them the Shapley value divides the *share of records with infinite loss*, among the others the risk.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from annotated_types import doc

from app.domain.analyses.scoring import (
    cost_of_scores,
    difference,
    distinct_rows_at_most,
    explainable,
    score_of,
)
from app.domain.arrays import Bools, Floats, Integers, Ints, Longs
from app.domain.catalogue.meanings import LOSS, LOW_ASIDE, RISK
from app.domain.counting.counter import Counter, Engine
from app.domain.hierarchies.hierarchy import TOP
from app.domain.models.criterion import BY_ROWS
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick, given
from app.domain.risk.assessment import Assessment
from app.domain.risk.loss import with_self
from app.domain.rules.rule import TableRule, apply
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.masks import shows_nothing
from app.domain.tables.numbers import exact_sum, tie_margin

MOST_ATTRIBUTES: Final = 12
"""Shapley values are exact over all coalitions, 2^12 of them at most."""

SECONDS_PER_CELL: Final = 2e-8


class PartialDisclosure:
    """The distinct disclosed rows of a context's rule, and their losses when attributes are suppressed.

    Records with equal disclosed values, weight groups and consistency of their own entity are one row,
    whatever is shown.

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
        self.weights = np.bincount(rows.inverse, table.weights, rows.size).astype(np.float64)
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
        agreed = self._own[:, 0].copy()
        for i, j in enumerate(self.counter.linked, start=1):
            if j in visible:
                agreed &= self._own[:, i]
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

    def mean(self, values: Floats, rows: Bools | None = None) -> float:
        """What some rows (default: all) add to the mean over records; +∞ if one that counts has +∞."""
        held = self.weights > 0 if rows is None else rows & (self.weights > 0)
        return exact_sum(self.weights[held] * values[held]) / self.total

    def _splits(self, codes: Ints) -> list[tuple[Integers, int]]:
        """What splits rows of equal codes: weight groups, and the consistency of the own entity."""
        context, n = self._context, self._context.table.n_records
        splits: list[tuple[Integers, int]] = []
        for sensitivity in (given(context.sensitivity), context.failure):
            if sensitivity is not None and sensitivity.personal_groups is not None:
                splits.append((sensitivity.personal_groups, sensitivity.n_groups))
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
            is_split = sensitivity is not None and sensitivity.is_personal
            groups.append(found[:, at] if is_split else None)
            at += is_split
        self._groups, self._failure_groups = groups
        # Whether a row's entity is in the dictionary, and on which linked attributes it is consistent.
        self._own: Bools | None = None
        self._n_entities: Longs | int = given(context.dictionary).n_entities
        if context.absent_policy == "add_self":
            self._own = found[:, at:].astype(bool)
            # The dictionary with the record's own entity, which it may have to be given.
            self._n_entities = self._n_entities + (~self._own[:, 0]).astype(np.int64)


@dataclass(frozen=True)
class AttributionParameters:
    """Nothing to choose: the rule is explained as it is."""


@dataclass(frozen=True)
class AttributeShare:
    """What one attribute has to do with the risk."""

    attribute: Annotated[str, doc("The attribute.")]
    risk_if_withheld: Annotated[float, doc("Risk if the rule suppressed this attribute as well.")]
    decrease: Annotated[
        float | None,
        doc("By how much that lowers the risk; negative if it raises it, null if both risks are infinite."),
    ]
    infinite_if_withheld: Annotated[int, doc("Records whose loss would still be infinite.")]
    shapley: Annotated[
        float | None,
        doc("Its part of `explained`, by Shapley; null if more than 12 attributes are disclosed."),
    ]
    share: Annotated[float | None, doc("`shapley` as a part of `explained`; null where that is 0.")]
    shapley_infinite: Annotated[
        float | None, doc("Its part of the share of records with infinite loss, by Shapley; null as above.")
    ]


@dataclass(frozen=True)
class Attribution:
    """The risk of a rule divided among its attributes."""

    risk: Annotated[float, RISK, doc("Risk of the rule: mean loss over records.")]
    risk_if_all_withheld: Annotated[float, LOSS, doc("Risk if nothing were disclosed: no attribute's doing.")]
    explained: Annotated[
        float | None,
        doc("What the attributes divide among them: the risk of the records whose loss is finite whatever "
            "is disclosed, less their risk if all were suppressed; null without Shapley values."),
    ]  # fmt: skip
    infinite_records: Annotated[int, LOW_ASIDE, doc("Records whose loss is infinite under the rule.")]
    records_apart: Annotated[
        int | None, doc("Records left out of `explained`: their loss is infinite for some set of attributes.")
    ]
    responsible: Annotated[
        tuple[str, ...],
        doc("Attributes that are responsible for infinite losses: suppressed alone, each leaves fewer."),
    ]
    attributes: Annotated[tuple[AttributeShare, ...], doc("All attributes in schema order.")]
    left_out: Annotated[str | None, doc("Why there are no Shapley values, if there are none.")]


def shapley(values: Floats) -> list[float]:
    """Shapley values of the n players of a game with finite ``values`` (2^n,) by mask of members."""
    n = len(values).bit_length() - 1
    masks = np.arange(len(values))
    sizes = np.array([int(mask).bit_count() for mask in masks])
    weight = np.array([1.0 / (n * math.comb(n - 1, s)) if s < n else 0.0 for s in range(n + 1)])
    found = []
    for player in range(n):
        without = masks[masks >> player & 1 == 0]
        added = weight[sizes[without]] * (values[without | 1 << player] - values[without])
        found.append(math.fsum(added.tolist()))
    return found


def _losses_of_coalitions(partial: PartialDisclosure) -> Iterator[tuple[int, Floats]]:
    """Mask (bit i: the i-th disclosed attribute) and losses of every coalition; counts are shared."""
    bit = {j: 1 << i for i, j in enumerate(partial.disclosed)}
    linked = [j for j in partial.disclosed if j in partial.counter.linked]
    free = [j for j in partial.disclosed if j not in partial.counter.linked]
    partial.expect(1 << len(linked))
    for known in _subsets(linked):
        counts = partial.counts(known)
        for others in _subsets(free):
            shown = known + others
            yield sum(bit[j] for j in shown), partial.losses(shown, counts)


def _subsets(members: list[int]) -> Iterator[tuple[int, ...]]:
    for mask in range(1 << len(members)):
        yield tuple(j for i, j in enumerate(members) if mask >> i & 1)


@dataclass(frozen=True, eq=False)
class _Division:
    """Shapley values by position of the attribute, of the risk and of the share of infinite losses."""

    of_risk: Mapping[int, float]
    of_infinite: Mapping[int, float]
    explained: float
    scale: float
    records_apart: int

    def share(self, j: int) -> float | None:
        """The attribute's part of what is explained; None where that is no more than rounding."""
        if abs(self.explained) <= tie_margin(self.scale):
            return None
        return self.of_risk.get(j, 0.0) / self.explained


def _divide(partial: PartialDisclosure, tick: Tick) -> _Division:
    size = 1 << len(partial.disclosed)
    finite, infinite = np.zeros(size), np.zeros(size)
    ever = np.zeros(len(partial.records), dtype=bool)
    for done, (mask, losses) in enumerate(_losses_of_coalitions(partial), start=1):
        here = np.isposinf(losses)
        ever |= here
        finite[mask], infinite[mask] = partial.mean(losses, ~here), partial.mean(here.astype(np.float64))
        tick(done)
    if ever.any():
        # Only now is it known which rows the game of finite losses is played without.
        for mask, losses in _losses_of_coalitions(partial):
            finite[mask] = partial.mean(losses, ~ever)
    return _Division(
        dict(zip(partial.disclosed, shapley(finite), strict=True)),
        dict(zip(partial.disclosed, shapley(infinite), strict=True)),
        float(finite[-1] - finite[0]),
        float(finite.max()),
        int(partial.records[ever].sum()),
    )


def _compute(context: MeasureContext, parameters: AttributionParameters, tick: Tick) -> Attribution:
    plain = score_of(context, given(context.rule))
    partial = PartialDisclosure(context)
    few = len(partial.disclosed) <= MOST_ATTRIBUTES
    division = _divide(partial, tick) if few else None
    attributes = tuple(
        _share(partial, j, name, plain, division) for j, name in enumerate(context.table.attributes)
    )
    tick(_sets(context))
    return Attribution(
        risk=plain.risk_average,
        risk_if_all_withheld=partial.mean(_losses(partial, [])),
        explained=None if division is None else division.explained,
        infinite_records=plain.infinite,
        records_apart=None if division is None else division.records_apart,
        responsible=tuple(a.attribute for a in attributes if a.infinite_if_withheld < plain.infinite),
        attributes=attributes,
        left_out=None
        if few
        else f"The rule discloses {len(partial.disclosed)} attributes; there are Shapley values for at most "
        f"{MOST_ATTRIBUTES}, over all sets of which they are exact.",
    )


def _share(
    partial: PartialDisclosure, j: int, name: str, plain: Assessment, division: _Division | None
) -> AttributeShare:
    risk, infinite = plain.risk_average, plain.infinite
    if j in partial.disclosed:
        losses = _losses(partial, [i for i in partial.disclosed if i != j])
        risk, infinite = partial.mean(losses), int(partial.records[np.isposinf(losses)].sum())
    return AttributeShare(
        attribute=name,
        risk_if_withheld=risk,
        decrease=difference(plain.risk_average, risk),
        infinite_if_withheld=infinite,
        shapley=None if division is None else division.of_risk.get(j, 0.0),
        share=None if division is None else division.share(j),
        shapley_infinite=None if division is None else division.of_infinite.get(j, 0.0),
    )


def _losses(partial: PartialDisclosure, shown: list[int]) -> Floats:
    return partial.losses(shown, partial.counts(shown))


def _sets(context: MeasureContext) -> int:
    """How many sets of attributes are valued."""
    table, rule = context.table, given(context.rule)
    if isinstance(rule, TableRule):
        columns = zip(table.hierarchies, rule.levels, table.used_nodes, strict=True)
        n = sum(not shows_nothing(h.ancestors_at(level)[used]).all() for h, level, used in columns)
    else:
        n = int((~shows_nothing(apply(rule, table)).all(axis=0)).sum())
    return 1 << n if n <= MOST_ATTRIBUTES else n + 1


def _cost(context: MeasureContext, parameters: AttributionParameters) -> Cost:
    plain, table, sets = cost_of_scores(context, 1), context.table, _sets(context)
    rows = distinct_rows_at_most(context)
    counting = context.counter.choose(rows, sets)
    seconds = plain.seconds + counting.seconds + sets * rows * (table.n_attributes + 4) * SECONDS_PER_CELL
    return Cost(seconds, plain.bytes + counting.bytes, sets, counting.engine)


RISK_ATTRIBUTION: Final = Measure(
    name="risk_attribution",
    title="Share of each attribute in the risk",
    source="Shapley (1953); Definitions: risk",
    guarantee="exact",
    parameters=AttributionParameters,
    result=Attribution,
    needs=frozenset({"rule", "dictionary", "sensitivity"}),
    supports=explainable,
    cost=_cost,
    compute=_compute,
    example=Example(
        "which attribute carries how much of the risk?",
        "proposal-attribution",
        rule="proposal",
        dictionary="census",
        sensitivity="members-harm",
    ),
    by_persons=BY_ROWS,
)
