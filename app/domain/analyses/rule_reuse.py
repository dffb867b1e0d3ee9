"""A rule applied to the next delivery of its table: what has changed in the data, and in its score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from annotated_types import doc

from app.domain.analyses.scoring import cost_of_scores, difference, score_of
from app.domain.arrays import Ints, Longs
from app.domain.catalogue.catalogue_types import DatasetRef
from app.domain.catalogue.meanings import ASIDE, HIDING, HIGH, LOW_ASIDE, RISK, UTILITY
from app.domain.hierarchies.hierarchy import TOP, UNKNOWN, Hierarchy
from app.domain.models.criterion import BY_ROWS
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick, given
from app.domain.risk.assessment import Assessment
from app.domain.rules.rule import TableRule
from app.domain.rules.transfer import Transfer, Unmatched, corresponding_nodes, positions_of, transfer

POINTER: Final = "/measure/next_dataset"
GROUPS_SHOWN: Final = 10


@dataclass(frozen=True)
class ReuseParameters:
    """Which delivery the rule is for now."""

    next_dataset: Annotated[
        DatasetRef, doc("The next delivery: a dataset with the same disclosed attributes.")
    ]
    unmatched: Annotated[
        Unmatched,
        doc("For record-level rules, what becomes of records whose entity the rule does not know: all is "
            "suppressed (`suppress`), or they get the levels that most records have (`modal_rule`)."),
    ] = "suppress"  # fmt: skip


@dataclass(frozen=True)
class DeliveryScore:
    """A delivery under the rule."""

    records: Annotated[int, doc("Records of the delivery.")]
    risk: Annotated[float, RISK, doc("Mean loss over records.")]
    risk_max: Annotated[float, RISK, doc("Greatest loss of a record.")]
    infinite: Annotated[int, LOW_ASIDE, doc("Records with infinite loss.")]
    absent: Annotated[int, LOW_ASIDE, doc("Records that no entity of the dictionary is consistent with.")]
    add_self_risk: Annotated[
        float | None, RISK,
        doc("Risk if the dictionary held the absent records' entities; null without any, or if that cannot "
            "be told."),
    ]  # fmt: skip
    min_consistent: Annotated[int, HIDING, doc("Least number of consistent entities of a record.")]
    utility: Annotated[float, UTILITY, doc("Mean utility.")]
    row_of_risk_max: Annotated[
        int | None,
        doc("The record of risk_max, the first of equals, as a row of the delivery from 1; null: measured "
            "before it was told."),
    ] = None  # fmt: skip
    row_of_min_consistent: Annotated[int | None, doc("The same of min_consistent.")] = None


@dataclass(frozen=True)
class GroupShift:
    """A node above the values, and how its part of the records has changed."""

    value: Annotated[str, doc("Label of the node, from the hierarchy.")]
    share_before: Annotated[float, doc("Part of the records below it in the dataset of the rule.")]
    share_now: Annotated[float, doc("Part of the records below it in the next delivery.")]


@dataclass(frozen=True)
class AttributeDrift:
    """How the values of one attribute have changed. Values are counted, never named: they are data."""

    attribute: Annotated[str, doc("The attribute.")]
    total_variation: Annotated[
        float, doc("Half the sum of the changes of the values' shares, from 0 (the same) to 1 (none shared).")
    ]
    new_values: Annotated[int, doc("Distinct values that only the next delivery holds.")]
    new_value_records: Annotated[int, doc("Records that hold them.")]
    outside_values: Annotated[
        int, doc("Those of them that the hierarchy did not hold when the rule was made.")
    ]
    outside_records: Annotated[int, doc("Records that hold those.")]
    vanished_values: Annotated[int, doc("Distinct values that the next delivery holds no more.")]
    missing_before: Annotated[int, doc("Missing values in the dataset of the rule.")]
    missing_now: Annotated[int, doc("Missing values in the next delivery.")]
    level_before: Annotated[int | None, doc("Level of a table-level rule; null for others.")]
    level_now: Annotated[
        int | None, doc("The level that cuts the next delivery's hierarchy at the same depth; null as above.")
    ]
    nodes_gone: Annotated[int, doc("Nodes of the hierarchy that the next delivery's hierarchy lacks.")]
    shifts: Annotated[
        tuple[GroupShift, ...],
        doc("Up to 10 nodes between the values and the top whose part of the records has changed most."),
    ]


@dataclass(frozen=True)
class RuleReuse:
    """The rule on the next delivery beside the one that it was made for."""

    before: Annotated[DeliveryScore, doc("The dataset that the rule was made for.")]
    now: Annotated[DeliveryScore, doc("The next delivery under the same rule.")]
    risk_change: Annotated[
        float | None,
        LOW_ASIDE,
        doc("Rise of the risk, negative if it falls; null if both risks are infinite."),
    ]
    utility_change: Annotated[float, HIGH, ASIDE, doc("Rise of the utility, negative if it falls.")]
    matched_records: Annotated[
        int | None, doc("Records of the next delivery with a rule of their own; null if all share one.")
    ]
    records_without_rule: Annotated[
        int | None, doc("Records of the next delivery that `unmatched` decides on; null as above.")
    ]
    cells_withheld: Annotated[
        int,
        LOW_ASIDE,
        doc("Cells of matched records suppressed: their value has changed, in a hierarchy that is no tree."),
    ]
    attributes: Annotated[tuple[AttributeDrift, ...], doc("All attributes in the schema order of the rule.")]


def _below(hierarchy: Hierarchy, counts: Longs) -> Longs:
    """Records at or below every node, each once, also where nodes have several parents."""
    total = np.zeros(hierarchy.n_nodes, dtype=np.int64)
    for node in np.flatnonzero(counts).tolist():
        total[list(hierarchy.up(node))] += counts[node]
    return total


def _drift(
    name: str,
    hierarchies: tuple[Hierarchy, Hierarchy],
    columns: tuple[Ints, Ints],
    levels: tuple[int | None, int | None],
) -> AttributeDrift:
    """How one attribute has changed; pairs are of the rule's dataset and the next one."""
    there = corresponding_nodes(*hierarchies)
    before, now = (np.bincount(c, minlength=h.n_nodes) for h, c in zip(hierarchies, columns, strict=True))
    share_before, share_now = before / before.sum(), now / now.sum()
    kept = there != UNKNOWN
    carried = np.zeros(len(now))
    carried[there[kept]] = share_before[kept]
    known = np.zeros(len(now), dtype=bool)
    known[there[kept]] = True
    new = (now > 0) & (carried == 0)
    new[TOP] = False
    still = np.zeros(len(before), dtype=bool)
    still[kept] = now[there[kept]] > 0
    vanished = (before > 0) & ~still
    vanished[TOP] = False
    return AttributeDrift(
        attribute=name,
        total_variation=float(np.abs(carried - share_now).sum() + share_before[~kept].sum()) / 2,
        new_values=int(new.sum()),
        new_value_records=int(now[new].sum()),
        outside_values=int((new & ~known).sum()),
        outside_records=int(now[new & ~known].sum()),
        vanished_values=int(vanished.sum()),
        missing_before=int(before[TOP]),
        missing_now=int(now[TOP]),
        level_before=levels[0],
        level_now=levels[1],
        nodes_gone=int((~kept).sum()),
        shifts=_shifts(hierarchies, there, before, now),
    )


def _shifts(
    hierarchies: tuple[Hierarchy, Hierarchy], there: Ints, before: Longs, now: Longs
) -> tuple[GroupShift, ...]:
    """The inner nodes that both hierarchies have, by how much their share has changed."""
    old, new = hierarchies
    nodes = np.flatnonzero((there > TOP) & ~old.is_leaf)
    share_before = _below(old, before)[nodes] / before.sum()
    share_now = _below(new, now)[there[nodes]] / now.sum()
    change = np.abs(share_now - share_before)
    order = np.argsort(-change, kind="stable")[:GROUPS_SHOWN]
    return tuple(
        GroupShift(old.labels[nodes[i]], float(share_before[i]), float(share_now[i]))
        for i in order.tolist()
        if change[i] > 0
    )


def _compute(context: MeasureContext, parameters: ReuseParameters, tick: Tick) -> RuleReuse:
    table, following = context.table, context.others[parameters.next_dataset]
    there = np.argsort(positions_of(table, following.table, POINTER)).tolist()
    rule = given(context.rule)
    # A rule of conditions is stated anew, any other one carried over.
    reused = (
        transfer(rule, table, following.table, parameters.unmatched, POINTER)
        if following.rule is None
        else Transfer(following.rule, None, 0)
    )
    before = score_of(context, rule)
    tick(1)
    now = score_of(following, reused.rule)
    tick(2)
    return RuleReuse(
        before=_score(before),
        now=_score(now),
        risk_change=difference(now.risk_average, before.risk_average),
        utility_change=now.utility_average - before.utility_average,
        matched_records=reused.matched,
        records_without_rule=None if reused.matched is None else now.n_records - reused.matched,
        cells_withheld=reused.cells_withheld,
        attributes=tuple(
            _drift(
                name,
                (table.hierarchies[j], following.table.hierarchies[i]),
                (table.codes[:, j], following.table.codes[:, i]),
                (_level(context.rule, j), _level(reused.rule, i)),
            )
            for j, (name, i) in enumerate(zip(table.attributes, there, strict=True))
        ),
    )


def _level(rule: object, j: int) -> int | None:
    return rule.levels[j] if isinstance(rule, TableRule) else None


def _score(found: Assessment) -> DeliveryScore:
    return DeliveryScore(
        records=found.n_records,
        risk=found.risk_average,
        risk_max=found.risk_max,
        infinite=found.infinite,
        absent=found.absent,
        add_self_risk=found.add_self_risk_average,
        min_consistent=found.min_consistent,
        utility=found.utility_average,
        row_of_risk_max=found.extremes.risk_max + 1,
        row_of_min_consistent=found.extremes.min_consistent + 1,
    )


def _cost(context: MeasureContext, parameters: ReuseParameters) -> Cost:
    return cost_of_scores(context, 2)


RULE_REUSE: Final = Measure(
    name="rule_reuse",
    title="A rule on the next delivery of its table",
    source="Definitions: risk, utility; on both deliveries; total variation distance of values",
    guarantee="exact",
    parameters=ReuseParameters,
    result=RuleReuse,
    needs=frozenset({"rule", "dictionary", "sensitivity"}),
    cost=_cost,
    compute=_compute,
    protects=False,
    example=Example(
        "does the rule fit the next delivery as well?",
        "proposal-reuse",
        rule="proposal",
        dictionary="census",
        sensitivity="members-harm",
        parameters={"next_dataset": "members"},
    ),
    by_persons=BY_ROWS,
)
