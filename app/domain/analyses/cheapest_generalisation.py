"""Every single step of generalisation from a rule: what it does to the risk and what utility it costs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Final, Literal

import numpy as np
from annotated_types import doc

from app.domain.analyses.scoring import cost_of_scores, difference, explainable, score_of
from app.domain.arrays import Ints
from app.domain.catalogue.meanings import LOW_ASIDE, RISK, UTILITY
from app.domain.hierarchies.hierarchy import TOP
from app.domain.models.criterion import BY_ROWS
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick, given
from app.domain.risk.assessment import Assessment
from app.domain.rules.rule import CellRule, Rule, TableRule, apply
from app.domain.tables.masks import shows_nothing
from app.domain.tables.numbers import tie_margin
from app.domain.tables.table import Table

SECONDS_PER_CELL: Final = 1e-8


@dataclass(frozen=True)
class GeneralisationParameters:
    """Nothing to choose: every step is tried."""


Step = Literal["one_level", "withhold"]


@dataclass(frozen=True)
class Change:
    """One attribute, one step further for all records."""

    attribute: Annotated[str, doc("The attribute.")]
    step: Annotated[
        Step, doc("`one_level` up; `withhold` where the hierarchy is no tree and so has no levels between.")
    ]
    level: Annotated[int | None, doc("Its level afterwards, for table-level rules.")]
    records: Annotated[int, doc("Records whose disclosed value changes.")]
    risk: Annotated[float, doc("Risk afterwards.")]
    risk_max: Annotated[float, doc("Greatest loss of a record afterwards.")]
    infinite: Annotated[int, doc("Records with infinite loss afterwards.")]
    utility: Annotated[float, doc("Mean utility afterwards.")]
    risk_decrease: Annotated[
        float | None,
        doc("By how much the risk falls; negative if it rises, as it may for absent records; null if both "
            "risks are infinite."),
    ]  # fmt: skip
    utility_lost: Annotated[float, doc("By how much the utility falls.")]
    decrease_per_utility: Annotated[
        float | None,
        doc(
            "Fall of the risk per unit of utility lost; infinite if it costs nothing; null where the fall is."
        ),
    ]


@dataclass(frozen=True)
class CheapestGeneralisation:
    """All single steps, and the best of them in two senses."""

    risk: Annotated[float, RISK, doc("Risk of the rule.")]
    utility: Annotated[float, UTILITY, doc("Mean utility of the rule.")]
    infinite: Annotated[int, LOW_ASIDE, doc("Records with infinite loss under the rule.")]
    changes: Annotated[tuple[Change, ...], doc("One per attribute that is not suppressed already.")]
    greatest_decrease: Annotated[
        str | None,
        doc("Attribute whose step lowers the risk most (or, while it stays infinite, leaves the fewest "
            "infinite losses); null if no step lowers it."),
    ]  # fmt: skip
    cheapest: Annotated[
        str | None, doc("Attribute whose step lowers the risk most per unit of utility lost; null as above.")
    ]


def _raised(table: Table, rule: Rule, disclosed: Ints, j: int) -> Rule:
    """The rule with one attribute one step further."""
    hierarchy = table.hierarchies[j]
    if isinstance(rule, TableRule):
        levels = list(rule.levels)
        levels[j] = levels[j] + 1 if hierarchy.is_tree else hierarchy.height
        return TableRule(tuple(levels))
    codes = disclosed.copy(order="F")
    # Where values have several parents, ⊥ is the next step.
    codes[:, j] = hierarchy.parent[codes[:, j]] if hierarchy.is_tree else TOP
    return CellRule(codes)


def _change(context: MeasureContext, before: Assessment, disclosed: Ints, j: int) -> Change:
    table, rule = context.table, given(context.rule)
    raised = _raised(table, rule, disclosed, j)
    after = score_of(context, raised)
    fall = difference(before.risk_average, after.risk_average)
    lost = before.utility_average - after.utility_average
    if abs(lost) <= tie_margin(before.utility_average):
        lost = 0.0
    return Change(
        attribute=table.attributes[j],
        step="one_level" if table.hierarchies[j].is_tree else "withhold",
        level=raised.levels[j] if isinstance(raised, TableRule) else None,
        records=int(np.count_nonzero(apply(raised, table)[:, j] != disclosed[:, j])),
        risk=after.risk_average,
        risk_max=after.risk_max,
        infinite=after.infinite,
        utility=after.utility_average,
        risk_decrease=fall,
        utility_lost=lost,
        decrease_per_utility=None if fall is None else _rate(fall, lost),
    )


def _rate(fall: float, lost: float) -> float:
    if lost == 0.0:
        return math.copysign(math.inf, fall) if fall else 0.0
    return fall / lost


def _narrowed(changes: list[Change], value: Callable[[Change], float]) -> list[Change]:
    """The changes whose value ties with the least (Definitions: order of ties)."""
    if not changes:
        return changes
    least = min(value(change) for change in changes)
    return [change for change in changes if value(change) <= least + tie_margin(least)]


def _first(tied: list[Change]) -> str | None:
    """Of tied changes the one that keeps most utility, then the one of lexicographically smallest levels.

    Raising a later attribute gives the smaller levels.
    """
    tied = _narrowed(tied, lambda change: -change.utility)
    return tied[-1].attribute if tied else None


def _compute(
    context: MeasureContext, parameters: GeneralisationParameters, tick: Tick
) -> CheapestGeneralisation:
    table, rule = context.table, given(context.rule)
    before = score_of(context, rule)
    disclosed = apply(rule, table)
    changes = []
    for j in range(table.n_attributes):
        if not shows_nothing(disclosed[:, j]).all():
            changes.append(_change(context, before, disclosed, j))
        tick(j + 1)
    least = before.risk_average - tie_margin(before.risk_average)
    lowering = [
        change
        for change in changes
        if change.risk < least or (math.isinf(change.risk) and change.infinite < before.infinite)
    ]
    greatest = _narrowed(_narrowed(lowering, lambda own: own.risk), lambda own: own.infinite)
    rated = [change for change in lowering if change.decrease_per_utility is not None]
    return CheapestGeneralisation(
        risk=before.risk_average,
        utility=before.utility_average,
        infinite=before.infinite,
        changes=tuple(changes),
        greatest_decrease=_first(greatest),
        cheapest=_first(_narrowed(rated, lambda own: -(own.decrease_per_utility or 0.0))),
    )


def _cost(context: MeasureContext, parameters: GeneralisationParameters) -> Cost:
    m = context.table.n_attributes
    scores, cells = cost_of_scores(context, m + 1), context.table.codes.size
    seconds = scores.seconds + (m + 1) * cells * SECONDS_PER_CELL
    return Cost(seconds, scores.bytes + 12 * cells, m, scores.engine)


CHEAPEST_GENERALISATION: Final = Measure(
    name="cheapest_generalisation",
    title="What one more step of generalisation does",
    source="Definitions: lattice of a record, risk, utility, order of ties",
    guarantee="exact",
    parameters=GeneralisationParameters,
    result=CheapestGeneralisation,
    needs=frozenset({"rule", "dictionary", "sensitivity"}),
    supports=explainable,
    cost=_cost,
    compute=_compute,
    protects=False,
    example=Example(
        "which single step lowers the risk most?",
        "proposal-next-step",
        rule="proposal",
        dictionary="census",
        sensitivity="members-harm",
    ),
    by_persons=BY_ROWS,
)
