"""Random k-anonymous rules against the rules of least risk at the same utility."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final

import numpy as np
from annotated_types import Ge, Le, Len, doc

from app.domain.analyses.scoring import difference, score_of, search_context
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick, blocks_of, given
from app.domain.risk.assessment import Assessment, estimate_cost
from app.domain.rules.anonymous import random_anonymous_rule
from app.domain.rules.rule import TableRule, identity
from app.domain.search.blocks import SearchPlan, carry_out
from app.domain.search.context import SearchContext
from app.domain.search.objectives import MinRisk
from app.domain.search.outcome import MapPoint
from app.domain.search.plans import RULES_LIMIT, plan
from app.domain.search.problem import Problem
from app.domain.search.record_rules.blocks import block_of
from app.domain.search.solvers import Enumeration
from app.domain.sensitivity.sensitivity import Sensitivity
from app.domain.tables.numbers import exact_sum, highest_accepted, lowest_accepted, tie_margin
from app.domain.tables.table import Table


@dataclass(frozen=True)
class ComparisonParameters:
    """How many random rules are drawn for which k."""

    k: Annotated[
        tuple[Annotated[int, Ge(1), Le(1_000_000)], ...],
        Len(1, 100),
        doc("Values of k to compare at, each at least 1 and at most the number of records."),
    ] = (2, 5, 10)
    rules: Annotated[int, Ge(1), Le(100), doc("Random k-anonymous rules per k.")] = 10
    seed: Annotated[int, Ge(0), Le(2**63 - 1), doc("Seed of the draws; the same for the same result.")] = 0


@dataclass(frozen=True)
class ComparedAtK:
    """Random k-anonymous rules of one k, means over the rules drawn."""

    k: Annotated[int, doc("The k that the rules were made for.")]
    distinct_rules: Annotated[int, doc("How many different rules were drawn.")]
    risk: Annotated[float, doc("Mean risk of the k-anonymous rules.")]
    risk_max: Annotated[float, doc("Greatest risk of a record under any of them.")]
    utility: Annotated[float, doc("Their mean utility.")]
    table_level_risk: Annotated[
        float, doc("Mean of the least risk that a table-level rule has at the mean utility of each.")
    ]
    table_level_risk_max: Annotated[float, doc("Greatest risk of a record under any of these rules.")]
    table_level_gap: Annotated[
        float | None, doc("risk − table_level_risk; null if both are infinite. Need not grow with k.")
    ]
    record_level_risk: Annotated[
        float,
        doc("Mean of the least risk of record-level rules that leave every record at least the least utility "
            "of a record under the k-anonymous rule."),
    ]  # fmt: skip
    record_level_risk_max: Annotated[float, doc("Greatest risk of a record under any of these rules.")]
    record_level_gap: Annotated[float | None, doc("risk − record_level_risk; null if both are infinite.")]
    k_equivalence: Annotated[
        int, doc("Least class of identical records under any of the k-anonymous rules: the usual k.")
    ]
    k_matching: Annotated[int, doc("Least number of originals that a record disclosed by them matches.")]
    table_level_k: Annotated[
        int, doc("Least class under any of the table-level rules of least risk: it may be below k.")
    ]
    never_worse: Annotated[
        bool,
        doc(
            "Whether no rule of least risk has more risk than the k-anonymous rule that it is compared with."
        ),
    ]


@dataclass(frozen=True)
class Comparison:
    """Per k what k-anonymity costs against rules that minimise the risk itself."""

    rules_searched: Annotated[int, doc("Table-level rules that there are.")]
    by_k: Annotated[tuple[ComparedAtK, ...], doc("One entry per k, in the order asked for.")]
    never_worse: Annotated[
        bool, doc("Whether that held for every rule drawn; it is proved, so false would be a defect.")
    ]


class _Optima:
    """The rules of least risk at given utilities, each found once."""

    def __init__(self, context: MeasureContext) -> None:
        self._context = context
        self._table_level, self._counted = search_context(context), search_context(_counted(context))
        self._by_rule: dict[TableRule, Assessment] = {}
        self._by_floor: dict[float, tuple[float, float]] = {}
        self._map: tuple[MapPoint, ...] | None = None

    def score(self, rule: TableRule) -> Assessment:
        """Risk and utility of a table-level rule."""
        if rule not in self._by_rule:
            self._by_rule[rule] = score_of(self._context, rule)
        return self._by_rule[rule]

    def table_level(self, floor: float) -> Assessment:
        """The score of the table-level rule of least risk among those of mean utility ≥ ``floor``."""
        if self._map is None:
            found = carry_out(_table_plan(self._context, self._table_level)).risk_map
            if found is None:
                raise ValueError("enumeration scores every rule")
            self._map = found.points
        reached = [point for point in self._map if point.utility >= lowest_accepted(floor)]
        least = min(point.risk for point in reached)
        tied = [point for point in reached if point.risk <= least + tie_margin(least)]
        return self.score(TableRule(min(tied, key=lambda point: (-point.utility, point.levels)).levels))

    def record_level(self, rule: TableRule, tick: Tick = lambda done: None) -> tuple[float, float]:
        """Least mean risk with the rule's least utility for every record, and the greatest risk of one."""
        floor = self.score(rule).utility_min
        if floor not in self._by_floor:
            found = carry_out(_record_plan(self._context, self._counted, floor), tick).assessment
            # No rule: every admissible one, the k-anonymous one among them, has infinite risk.
            self._by_floor[floor] = (
                (math.inf, math.inf) if found is None else (found.risk_average, found.risk_max)
            )
        return self._by_floor[floor]

    def know(self, rule: TableRule, record_level: tuple[float, float]) -> None:
        """What was found elsewhere for a rule."""
        self._by_floor[self.score(rule).utility_min] = record_level


def _counted(context: MeasureContext) -> MeasureContext:
    """The context without records of weight 0: no mean knows them, but a floor for every record would."""
    table = context.table
    if table.weights is None or (table.weights > 0).all():
        return context
    kept = np.flatnonzero(table.weights > 0)

    def of_kept(harm: Sensitivity) -> Sensitivity:
        return harm if harm.groups is None else replace(harm, groups=harm.groups[kept])

    return replace(
        context,
        table=Table(
            table.attributes, table.hierarchies, table.codes[kept], table.own_ids[kept], table.weights[kept]
        ),
        sensitivity=of_kept(given(context.sensitivity)),
        failure=None if context.failure is None else of_kept(context.failure),
    )


def _table_plan(context: MeasureContext, search: SearchContext) -> SearchPlan:
    lowest = float(sum(values.min() for values in context.utility.values))
    return plan(search, Problem(MinRisk(lowest), "table_level", context.absent_policy), Enumeration())


def _record_plan(context: MeasureContext, search: SearchContext, floor: float) -> SearchPlan:
    return plan(search, Problem(MinRisk(floor), "record_level", context.absent_policy))


class _ComparisonPlan:
    """The draws, several a block: each has a seed of its own."""

    def __init__(self, context: MeasureContext, parameters: ComparisonParameters, seconds: float) -> None:
        self._context, self._parameters = context, parameters
        self._draws = [(k, number) for k in parameters.k for number in range(parameters.rules)]
        self.n_blocks = blocks_of(seconds, len(self._draws))
        self._optima = _Optima(context)

    def run_block(self, index: int, tick: Tick) -> bytes:
        """Of each draw the levels, and what record-level rules reach."""
        found: list[tuple[Sequence[int], float, float]] = []
        for draw in block_of(len(self._draws), self.n_blocks, index):
            k, number = self._draws[draw]
            rng = np.random.default_rng([self._parameters.seed, k, number])
            rule = random_anonymous_rule(self._context.table, k, rng)
            average, greatest = self._optima.record_level(rule, lambda done: tick(len(found)))
            found.append((list(map(int, rule.levels)), float(average), float(greatest)))
            tick(len(found))
        return json.dumps(found).encode()

    def combine(self, blocks: Mapping[int, bytes]) -> Comparison:
        """The draws compared, k by k."""
        drawn = []
        for index in range(self.n_blocks):
            for levels, average, greatest in json.loads(blocks[index]):
                drawn.append(TableRule(tuple(levels)))
                self._optima.know(drawn[-1], (average, greatest))
        each = self._parameters.rules
        by_k = tuple(
            _compared(k, drawn[i * each : (i + 1) * each], self._optima)
            for i, k in enumerate(self._parameters.k)
        )
        return Comparison(
            rules_searched=math.prod(height + 1 for height in self._context.table.heights),
            by_k=by_k,
            never_worse=all(entry.never_worse for entry in by_k),
        )


def _plan(context: MeasureContext, parameters: ComparisonParameters) -> _ComparisonPlan:
    return _ComparisonPlan(context, parameters, _cost(context, parameters).seconds)


def _compute(context: MeasureContext, parameters: ComparisonParameters, tick: Tick) -> Comparison:
    plan = _ComparisonPlan(context, parameters, seconds=0.0)
    return plan.combine({0: plan.run_block(0, tick)})


def _compared(k: int, drawn: list[TableRule], optima: _Optima) -> ComparedAtK:
    scores = [optima.score(rule) for rule in drawn]
    table_level = [optima.table_level(score.utility_average) for score in scores]
    record_level = [optima.record_level(rule) for rule in drawn]
    risk = _mean([score.risk_average for score in scores])
    table_risk = _mean([score.risk_average for score in table_level])
    record_risk = _mean([average for average, _ in record_level])
    return ComparedAtK(
        k=k,
        distinct_rules=len(set(drawn)),
        risk=risk,
        risk_max=max(score.risk_max for score in scores),
        utility=_mean([score.utility_average for score in scores]),
        table_level_risk=table_risk,
        table_level_risk_max=max(score.risk_max for score in table_level),
        table_level_gap=difference(risk, table_risk),
        record_level_risk=record_risk,
        record_level_risk_max=max(greatest for _, greatest in record_level),
        record_level_gap=difference(risk, record_risk),
        k_equivalence=min(score.k_equivalence for score in scores),
        k_matching=min(score.k_matching for score in scores),
        table_level_k=min(score.k_equivalence for score in table_level),
        never_worse=all(
            max(best.risk_average, average) <= highest_accepted(score.risk_average)
            for score, best, (average, _) in zip(scores, table_level, record_level, strict=True)
        ),
    )


def _mean(values: list[float]) -> float:
    return exact_sum(values) / len(values)


def _supports(context: MeasureContext, parameters: ComparisonParameters) -> str | None:
    table = context.table
    if max(parameters.k) > table.n_records:
        return f"No rule makes {table.n_records} records {max(parameters.k)}-anonymous; choose smaller k."
    rules = math.prod(height + 1 for height in table.heights)
    if rules > RULES_LIMIT:
        return (
            f"There are {rules} table-level rules, at most {RULES_LIMIT} are compared; leave attributes out "
            "or use hierarchies with fewer levels."
        )
    if context.model.name == "III_raw":
        return "The model III_raw is for evaluation only and has no rule of least risk; choose III."
    return None


def _cost(context: MeasureContext, parameters: ComparisonParameters) -> Cost:
    search = search_context(context)
    table_level = _table_plan(context, search)
    lowest = float(sum(values.min() for values in context.utility.values))
    record_level = _record_plan(context, search, lowest)
    one = estimate_cost(context.counter, identity(context.table.n_attributes), given(context.sensitivity))
    draws = len(parameters.k) * parameters.rules
    return Cost(
        table_level.seconds + draws * (record_level.seconds + 2 * one.seconds),
        max(table_level.n_bytes, record_level.n_bytes, one.bytes),
        draws,
        one.engine,
    )


K_ANONYMITY_COMPARISON: Final = Measure(
    name="k_anonymity_comparison",
    title="Random k-anonymous rules against rules of least risk",
    source="Lebanon et al. (2009), figure 7b; Definitions: random k-anonymous rules, gap to k-anonymity",
    guarantee="exact",
    parameters=ComparisonParameters,
    result=Comparison,
    needs=frozenset({"dictionary", "sensitivity", "trees"}),
    supports=_supports,
    cost=_cost,
    compute=_compute,
    plan=_plan,
    protects=False,
    example=Example(
        "what does k-anonymity cost against rules of least risk?",
        "members-against-k-anonymity",
        dictionary="census",
        sensitivity="members-harm",
        parameters={"k": [2, 4], "rules": 5},
    ),
)
