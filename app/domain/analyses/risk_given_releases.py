"""The risk of a release to an attacker who holds earlier releases of the same dataset.

Somebody who can tell which records of several releases are the same one knows of it what any of them shows:
an entity stays consistent only if it is consistent with all of its disclosed forms. Per cell the disclosed
nodes all lie above the original; in a tree they form a chain, and since consistency never ends on the way up
(Definitions: consistency), being consistent with all is being consistent with the lowest. So the risk is
that of one record-level release of the lowest nodes, scored as any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from annotated_types import MaxLen, doc

from app.domain.analyses.scoring import cost_of_scores, difference, score_of
from app.domain.arrays import Ints, Longs
from app.domain.catalogue.catalogue_types import RuleRef
from app.domain.catalogue.meanings import HIDING, LOW_ASIDE, RISK, UTILITY
from app.domain.models.criterion import BY_ROWS
from app.domain.models.entry import RELEASED_RULES, Cost, Example, Measure, MeasureContext, Tick, given
from app.domain.risk.assessment import Assessment, estimate_cost
from app.domain.rules.rule import CellRule, Rule, TableRule, apply

ROWS_NAMED: Final = 10
SECONDS_PER_CELL: Final = 1e-8


@dataclass(frozen=True)
class GivenReleasesParameters:
    """Which releases the attacker holds already."""

    earlier: Annotated[
        tuple[RuleRef, ...] | None,
        MaxLen(1000),
        RELEASED_RULES,
        doc("Rules of the earlier releases; null for those of all recorded releases of the dataset."),
    ] = None


@dataclass(frozen=True)
class NarrowedAttribute:
    """What earlier releases say more about one attribute."""

    attribute: Annotated[str, doc("The attribute.")]
    records: Annotated[int, doc("Records of which an earlier release shows a more exact value.")]


@dataclass(frozen=True)
class ReleaseScore:
    """Risk and utility of what the attacker sees."""

    risk: Annotated[float, RISK, doc("Mean loss over records.")]
    risk_max: Annotated[float, RISK, doc("Greatest loss of a record.")]
    infinite: Annotated[int, LOW_ASIDE, doc("Records with infinite loss.")]
    min_consistent: Annotated[int, HIDING, doc("Least number of consistent entities of a record.")]
    absent: Annotated[int, LOW_ASIDE, doc("Records that no entity of the dictionary is consistent with.")]
    utility: Annotated[float, UTILITY, doc("Mean utility of what is known of the records.")]
    row_of_risk_max: Annotated[
        int | None,
        doc("The record of risk_max, the first of equals, as a row of the dataset from 1; null: measured "
            "before it was told."),
    ] = None  # fmt: skip
    row_of_min_consistent: Annotated[int | None, doc("The same of min_consistent.")] = None


@dataclass(frozen=True)
class RiskGivenReleases:
    """The release alone, and together with the earlier ones."""

    releases: Annotated[int, doc("How many earlier releases were taken into account.")]
    alone: Annotated[ReleaseScore, doc("The release by itself.")]
    given: Annotated[ReleaseScore, doc("All releases together; its utility is that of their union.")]
    increase: Annotated[
        float | None,
        LOW_ASIDE,
        doc("By how much the earlier releases raise the risk; null if both risks are infinite."),
    ]
    never_negative: Annotated[
        bool,
        doc("Whether the hypotheses hold under which more releases never lower the risk: every record has a "
            "consistent entity, weights and model are monotone, failure harms no more than success."),
    ]  # fmt: skip
    records_narrowed: Annotated[int, doc("Records of which an earlier release shows more than this one.")]
    attributes: Annotated[tuple[NarrowedAttribute, ...], doc("All attributes in schema order.")]


def _meet(context: MeasureContext, rules: Sequence[Rule]) -> tuple[Ints, dict[str, Longs]]:
    """The lowest disclosed nodes (n, m), and per attribute the rows at which there is no lowest one."""
    table = context.table
    shown = [apply(rule, table) for rule in rules]
    codes = np.empty_like(shown[0])
    clashes: dict[str, Longs] = {}
    for j, (name, hierarchy) in enumerate(zip(table.attributes, table.hierarchies, strict=True)):
        columns = [nodes[:, j] for nodes in shown]
        lowest = columns[0]
        for other in columns[1:]:
            if hierarchy.is_tree:
                # Nodes above one value are on one path, so that depth orders them.
                is_lower = hierarchy.depth[other] > hierarchy.depth[lowest]
            else:
                is_lower = hierarchy.are_above(lowest, other)
            lowest = np.where(is_lower, other, lowest)
        codes[:, j] = lowest
        if not hierarchy.is_tree:
            apart = ~np.all([hierarchy.are_above(column, codes[:, j]) for column in columns], axis=0)
            if apart.any():
                clashes[name] = np.flatnonzero(apart)
    return codes, clashes


def _rules(context: MeasureContext, parameters: GivenReleasesParameters) -> list[Rule]:
    return [given(context.rule), *(context.rules[ref] for ref in parameters.earlier or ())]


def _supports(context: MeasureContext, parameters: GivenReleasesParameters) -> str | None:
    if all(hierarchy.is_tree for hierarchy in context.table.hierarchies):
        return None
    clashes = _meet(context, _rules(context, parameters))[1]
    if not clashes:
        return None
    found = "; ".join(
        f"{name} (rows {', '.join(str(row + 1) for row in rows[:ROWS_NAMED])})"
        for name, rows in clashes.items()
    )
    return (
        "The releases show values of which none is above the other, so that no value says what they say "
        f"together: {found}. Use a tree for these attributes, or leave one of the releases out."
    )


def _compute(context: MeasureContext, parameters: GivenReleasesParameters, tick: Tick) -> RiskGivenReleases:
    table, rules = context.table, _rules(context, parameters)
    # One rule that discloses what all of them together do.
    levels = [rule.levels for rule in rules if isinstance(rule, TableRule)]
    joint: Rule = (
        TableRule(tuple(map(min, zip(*levels, strict=True))))
        if len(levels) == len(rules)
        else CellRule(_meet(context, rules)[0])
    )
    alone = score_of(context, rules[0])
    tick(1)
    together = score_of(context, joint)
    tick(2)
    differs = apply(joint, table) != apply(rules[0], table)
    return RiskGivenReleases(
        releases=len(rules) - 1,
        alone=_score(alone),
        given=_score(together),
        increase=difference(together.risk_average, alone.risk_average),
        never_negative=together.monotone.holds,
        records_narrowed=int(differs.any(axis=1).sum()),
        attributes=tuple(
            NarrowedAttribute(name, int(differs[:, j].sum())) for j, name in enumerate(table.attributes)
        ),
    )


def _score(found: Assessment) -> ReleaseScore:
    return ReleaseScore(
        risk=found.risk_average,
        risk_max=found.risk_max,
        infinite=found.infinite,
        min_consistent=found.min_consistent,
        absent=found.absent,
        utility=found.utility_average,
        row_of_risk_max=found.extremes.risk_max + 1,
        row_of_min_consistent=found.extremes.min_consistent + 1,
    )


def _cost(context: MeasureContext, parameters: GivenReleasesParameters) -> Cost:
    alone = cost_of_scores(context, 1)
    rules, cells = _rules(context, parameters), context.table.codes.size
    # One rule per record makes the joint rule one per record.
    whole = next((rule for rule in rules if not isinstance(rule, TableRule)), rules[0])
    joint = estimate_cost(context.counter, whole, given(context.sensitivity))
    seconds = alone.seconds + joint.seconds + len(rules) * cells * SECONDS_PER_CELL
    return Cost(seconds, alone.bytes + joint.bytes + 12 * cells, 2, joint.engine)


RISK_GIVEN_RELEASES: Final = Measure(
    name="risk_given_releases",
    title="Risk given earlier releases of the same dataset",
    source="Definitions: consistency, loss; consistent with every release at once",
    guarantee="exact",
    parameters=GivenReleasesParameters,
    result=RiskGivenReleases,
    needs=frozenset({"rule", "dictionary", "sensitivity"}),
    supports=_supports,
    cost=_cost,
    compute=_compute,
    example=Example(
        "what if the attacker holds what was released before?",
        "proposal-after-release",
        rule="proposal",
        dictionary="census",
        sensitivity="members-harm",
    ),
    by_persons=BY_ROWS,
)
