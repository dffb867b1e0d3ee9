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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from annotated_types import doc

from app.domain.analyses.partial_disclosure import PartialDisclosure
from app.domain.analyses.scoring import (
    cost_of_scores,
    difference,
    distinct_rows_at_most,
    explainable,
    score_of,
)
from app.domain.arrays import Floats
from app.domain.catalogue.meanings import LOSS, LOW_ASIDE, RISK
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick, given
from app.domain.risk.assessment import Assessment
from app.domain.rules.rule import TableRule, apply
from app.domain.tables.masks import shows_nothing
from app.domain.tables.numbers import tie_margin

MOST_ATTRIBUTES: Final = 12
"""Shapley values are exact over all coalitions, 2^12 of them at most."""

SECONDS_PER_CELL: Final = 2e-8


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
)
