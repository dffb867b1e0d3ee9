"""Why an optimal rule is where it is: what holds it there, and what one more unit of utility would cost.

For a table-level rule all rules are scored, so that the next better and the next cheaper compromise are known
exactly. For rules per record the problem is solved again with one unit more and one unit less.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final, Literal

from annotated_types import Ge, Le, doc

from app.domain.analyses.rule_frontier import least_risk, trade_offs, undominated
from app.domain.analyses.scoring import cost_of_scores, difference, score_of, search_context
from app.domain.catalogue.meanings import HIGH, RISK, UTILITY
from app.domain.models.criterion import BY_ROWS
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick, given
from app.domain.risk.assessment import Assessment
from app.domain.rules.rule import TableRule, apply, identity
from app.domain.search.blocks import carry_out
from app.domain.search.objectives import Lagrangian, MaxUtility, MinRisk
from app.domain.search.outcome import MapPoint, Outcome
from app.domain.search.plans import RULES_LIMIT, plan
from app.domain.search.problem import Constraint, Problem
from app.domain.search.solvers import Enumeration
from app.domain.tables.masks import shows_nothing
from app.domain.tables.numbers import tie_margin, tie_margins

_NO_FLOOR: Final = MinRisk(-1e300)
"""Every rule is above its floor."""

_OBJECTIVES: Final = {own.kind: own for own in (MinRisk, MaxUtility, Lagrangian)}

UNITS: Final = 5
"""The score of the rule and four searches."""

Binding = Literal["utility_floor", "risk_cap", "lattice_edge", "nothing"]


@dataclass(frozen=True)
class OptimumParameters:
    """The problem that the rule is meant to solve."""

    objective: Annotated[Literal["min_risk", "max_utility", "lagrangian"], doc("What was optimised.")]
    threshold: Annotated[
        float,
        Ge(-1e12),
        Le(1e12),
        doc("The utility floor of min_risk, the risk cap of max_utility, or the trade-off of lagrangian."),
    ]
    constraint: Annotated[
        Constraint,
        doc("For record-level rules: whether the threshold holds for every record or for the mean."),
    ] = "per_record"


@dataclass(frozen=True)
class Neighbour:
    """A table-level rule next to the explained one among those that no other rule dominates."""

    levels: Annotated[Mapping[str, int], doc("Attribute → level.")]
    risk: Annotated[float, RISK, doc("Its risk.")]
    utility: Annotated[float, UTILITY, doc("Its mean utility.")]
    price: Annotated[
        float | None,
        doc(
            "Risk per unit of utility between the two rules; null if both risks are infinite, or the "
            "utilities equal: then the explained rule is not optimal."
        ),
    ]


@dataclass(frozen=True)
class OptimumExplanation:
    """What holds the rule where it is, and what moving it would cost."""

    risk: Annotated[float, RISK, doc("Risk of the rule.")]
    utility: Annotated[float, UTILITY, doc("Mean utility of the rule.")]
    is_feasible: Annotated[
        bool,
        HIGH,
        doc("Whether the rule keeps the threshold; for one per record, whether every record does."),
    ]
    optimum: Annotated[
        float | None,
        doc("Best value of the objective that any rule of this kind attains within the threshold (risk, "
            "utility, or risk − trade-off · utility); null if none keeps the threshold."),
    ]  # fmt: skip
    is_optimal: Annotated[bool, HIGH, doc("Whether the rule attains it, ties included.")]
    proven: Annotated[bool, HIGH, doc("Whether the searches behind this answer were exact.")]
    binding: Annotated[
        Binding,
        doc("What keeps the objective from being better: the `utility_floor` or the `risk_cap`, if dropping "
            "it would help; else `lattice_edge` if the rule discloses nothing or everything already; else "
            "`nothing`."),
    ]  # fmt: skip
    slack: Annotated[
        float | None,
        doc("What is left of the threshold: utility above the floor or risk below the cap, of the mean or of "
            "the worst record; negative if it is broken; null for lagrangian."),
    ]  # fmt: skip
    records_bound: Annotated[
        int | None,
        doc("For a floor under every record: records whose loss would be lower without it; else null."),
    ]
    one_more_unit: Annotated[
        float | None,
        doc("Price of one more unit of utility: the least risk at that utility, less the rule's risk; null "
            "if it cannot be had, or if both risks are infinite."),
    ]  # fmt: skip
    one_unit_less: Annotated[
        float | None,
        doc("What one unit of utility less would save: the rule's risk, less the least risk at that utility; "
            "null if both risks are infinite."),
    ]  # fmt: skip
    more_utility: Annotated[
        Neighbour | None, doc("The next rule with more utility, for table-level rules; null if none.")
    ]
    less_risk: Annotated[
        Neighbour | None, doc("The next table-level rule with less risk; null if there is none.")
    ]
    trade_off_from: Annotated[
        float | None,
        doc("Least trade-off of a lagrangian problem that the rule solves, for table-level rules; null if "
            "it solves none."),
    ]  # fmt: skip
    trade_off_to: Annotated[float | None, doc("Greatest such trade-off; null as above.")]


@dataclass(frozen=True)
class _Moves:
    """What the searches found: the part of the explanation that is not about the rule alone."""

    optimum: float | None
    proven: bool
    is_bound: bool
    records_bound: int | None
    one_more_unit: float | None
    one_unit_less: float | None
    more_utility: Neighbour | None = None
    less_risk: Neighbour | None = None
    trade_off_from: float | None = None
    trade_off_to: float | None = None


def _problem(context: MeasureContext, parameters: OptimumParameters) -> Problem:
    return Problem(
        objective=_OBJECTIVES[parameters.objective](parameters.threshold),
        scope="table_level" if isinstance(context.rule, TableRule) else "record_level",
        absent_policy=context.absent_policy,
        constraint=parameters.constraint,
    )


def _slack(problem: Problem, plain: Assessment) -> float | None:
    """What is left of the threshold, of the mean or of the worst record."""
    of_records = problem.holds_per_record
    if problem.objective.kind == "min_risk":
        utility = plain.utility_min if of_records else plain.utility_average
        return utility - problem.objective.threshold
    if problem.objective.kind == "max_utility":
        return problem.objective.threshold - (plain.risk_max if of_records else plain.risk_average)
    return None


def _is_kept(problem: Problem, slack: float | None) -> bool:
    if slack is None:
        return True
    if problem.objective.kind == "min_risk":
        return problem.objective.threshold + slack >= problem.objective.lowest_utility
    return problem.objective.threshold - slack <= problem.objective.highest_risk


def _compute(context: MeasureContext, parameters: OptimumParameters, tick: Tick) -> OptimumExplanation:
    problem, rule = _problem(context, parameters), given(context.rule)
    plain = score_of(context, rule)
    tick(1)
    explain = _among_all if isinstance(rule, TableRule) else _by_searches
    moves = explain(context, problem, plain, tick)
    disclosed = apply(rule, context.table)
    is_edge = bool(shows_nothing(disclosed).all() or (disclosed == context.table.codes).all())
    slack = _slack(problem, plain)
    value, _ = problem.objective.key(plain.risk_average, plain.utility_average)
    is_kept = _is_kept(problem, slack)
    binding: Binding = "lattice_edge" if is_edge else "nothing"
    if moves.is_bound:
        binding = "utility_floor" if problem.objective.kind == "min_risk" else "risk_cap"
    best = moves.optimum
    return OptimumExplanation(
        risk=plain.risk_average,
        utility=plain.utility_average,
        is_feasible=is_kept,
        optimum=-best if best is not None and problem.objective.is_maximised else best,
        is_optimal=is_kept and best is not None and value <= best + tie_margin(best),
        proven=moves.proven,
        binding=binding,
        slack=slack,
        records_bound=moves.records_bound,
        one_more_unit=moves.one_more_unit,
        one_unit_less=moves.one_unit_less,
        more_utility=moves.more_utility,
        less_risk=moves.less_risk,
        trade_off_from=moves.trade_off_from,
        trade_off_to=moves.trade_off_to,
    )


def _among_all(context: MeasureContext, problem: Problem, plain: Assessment, tick: Tick) -> _Moves:
    """Table-level rules: everything is read off those that no other dominates."""
    found = carry_out(
        plan(search_context(context), replace(problem, objective=_NO_FLOOR), Enumeration())
    ).risk_map
    tick(UNITS)
    points = undominated(given(found).points)
    risk, utility = plain.risk_average, plain.utility_average
    objective = problem.objective
    values = [objective.key(point.risk, point.utility)[0] for point in points]
    unbound = min(values)
    best = min(
        (
            value
            for point, value in zip(points, values, strict=True)
            if point.utility >= objective.lowest_utility and point.risk <= objective.highest_risk
        ),
        default=None,
    )
    attributes = context.table.attributes
    more = [point for point in points if point.utility > utility + tie_margin(utility)]
    less = [point for point in points if point.risk < risk - tie_margin(risk)]
    low, high = trade_offs(points, risk, utility)
    return _Moves(
        optimum=best,
        proven=True,
        is_bound=best is None or unbound < best - tie_margin(best),
        records_bound=None,
        one_more_unit=_rise(risk, least_risk(points, utility + 1.0)),
        one_unit_less=_rise(least_risk(points, utility - 1.0), risk),
        more_utility=_neighbour(attributes, more[0], risk, utility) if more else None,
        less_risk=_neighbour(attributes, less[-1], risk, utility) if less else None,
        trade_off_from=low,
        trade_off_to=high,
    )


def _rise(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else difference(after, before)


def _neighbour(attributes: Sequence[str], point: MapPoint, risk: float, utility: float) -> Neighbour:
    rise, gained = difference(point.risk, risk), point.utility - utility
    differs = abs(gained) > tie_margin(utility)
    return Neighbour(
        levels=dict(zip(attributes, point.levels, strict=True)),
        risk=point.risk,
        utility=point.utility,
        price=rise / gained if rise is not None and differs else None,
    )


def _by_searches(context: MeasureContext, problem: Problem, plain: Assessment, tick: Tick) -> _Moves:
    """Rules per record: the problem itself, without its threshold, with a unit of utility more and less."""
    rules = search_context(context)
    found: list[Outcome] = []
    if problem.objective.kind == "min_risk":
        floored, floor = problem, problem.objective.threshold
        unbound = [replace(problem, objective=_NO_FLOOR)]
    else:
        floored, floor = replace(problem, constraint="average"), plain.utility_average
        unbound = []
    floors = (floor + 1.0, floor - 1.0)
    for search in [problem, *(replace(floored, objective=MinRisk(own)) for own in floors), *unbound]:
        found.append(carry_out(plan(rules, search)))
        tick(len(found) + 1)
    asked, more, less, *rest = found
    tick(UNITS)
    best, risk = _best(problem, asked), plain.risk_average
    free = best
    if problem.objective.kind == "max_utility":
        free = -score_of(context, identity(context.table.n_attributes)).utility_average
    elif rest:
        free = _best(problem, rest[0])
    of_records = problem.objective.kind == "min_risk" and problem.constraint == "per_record"
    return _Moves(
        optimum=best,
        proven=all(outcome.status != "heuristic" for outcome in found),
        is_bound=best is None or (free is not None and free < best - tie_margin(best)),
        records_bound=_records_bound(plain, rest[0]) if of_records else None,
        one_more_unit=_rise(risk, _least(more)),
        one_unit_less=_rise(_least(less), risk),
    )


def _least(outcome: Outcome) -> float | None:
    """Least risk that was found; ∞ if every rule within the threshold has that, None if there is none."""
    return math.inf if outcome.status == "prohibited" else outcome.risk


def _best(problem: Problem, outcome: Outcome) -> float | None:
    if outcome.risk is None or outcome.utility is None:
        return math.inf if outcome.status == "prohibited" else None
    return problem.objective.key(outcome.risk, outcome.utility)[0]


def _records_bound(plain: Assessment, unbound: Outcome) -> int | None:
    """Records of which the loss is less where the floor is left out."""
    if unbound.assessment is None:
        return None
    loss, free = plain.records.loss, unbound.assessment.records.loss
    return int((free < loss - tie_margins(loss)).sum())


def _supports(context: MeasureContext, parameters: OptimumParameters) -> str | None:
    if parameters.objective != "min_risk" and parameters.threshold < 0:
        return "A risk cap and a trade-off are 0 or more; choose such a threshold."
    if not isinstance(context.rule, TableRule):
        return None
    others = [
        name
        for name, hierarchy in zip(context.table.attributes, context.table.hierarchies, strict=True)
        if not hierarchy.is_tree
    ]
    if others:
        return (
            f"The hierarchies of {', '.join(others)} are no trees, so that there are no table-level rules to "
            "compare with. Use trees."
        )
    n_rules = math.prod(height + 1 for height in context.table.heights)
    if n_rules > RULES_LIMIT:
        return (
            f"There are {n_rules} table-level rules; at most {RULES_LIMIT} are all scored. Leave attributes "
            "out of the dataset, or use hierarchies with fewer levels."
        )
    return None


def _cost(context: MeasureContext, parameters: OptimumParameters) -> Cost:
    problem, rules = _problem(context, parameters), search_context(context)
    one = cost_of_scores(context, 1)
    if problem.scope == "table_level":
        whole = plan(rules, replace(problem, objective=_NO_FLOOR), Enumeration())
        return Cost(one.seconds + whole.seconds, one.bytes + whole.n_bytes, UNITS, whole.solver)
    search = plan(rules, problem)
    seconds = one.seconds + (UNITS - 1) * (search.seconds + one.seconds)
    return Cost(seconds, one.bytes + search.n_bytes, UNITS, search.solver)


OPTIMUM_EXPLANATION: Final = Measure(
    name="optimum_explanation",
    title="What holds an optimal rule, and what one more unit of utility costs",
    source="Definitions: optimisation problems, exact searches",
    guarantee="exact",
    parameters=OptimumParameters,
    result=OptimumExplanation,
    needs=frozenset({"rule", "dictionary", "sensitivity"}),
    supports=_supports,
    cost=_cost,
    compute=_compute,
    protects=False,
    example=Example(
        "what holds the best rule, and what would more utility cost?",
        "optimum-explanation",
        rule="members-optimum",
        dictionary="census",
        sensitivity="members-harm",
        parameters={"objective": "min_risk", "threshold": 6},
    ),
    by_persons=BY_ROWS,
)
