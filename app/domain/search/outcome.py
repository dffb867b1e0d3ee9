"""What a search found, with what proves or bounds it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal

import numpy as np
from annotated_types import Ge

from app.domain.arrays import Floats
from app.domain.catalogue.catalogue_types import Example
from app.domain.counting.counter import Counter
from app.domain.risk.assessment import Assessment, assess
from app.domain.risk.attackers import SetAssessment, assess_set
from app.domain.risk.models import RiskModel
from app.domain.rules.rule import Rule, TableRule
from app.domain.search.context import SearchContext
from app.domain.search.problem import Problem
from app.domain.search.selection import INFEASIBLE, OPTIMAL, PROHIBITED, frontier
from app.domain.tables.numbers import tie_margin, to_json_number

Status = Literal["optimal", "infeasible", "prohibited", "heuristic"]

STATUSES: Final[dict[int, Status]] = {OPTIMAL: "optimal", INFEASIBLE: "infeasible", PROHIBITED: "prohibited"}
"""What each code of a choice says of the whole search, if it was not cut short."""

MAP_LIMIT = 2000


@dataclass(frozen=True)
class Counters:
    """How much work the search was, each counted on its own."""

    visited_nodes: int
    risk_evaluations: int
    utility_evaluations: int


@dataclass(frozen=True)
class Shortfall:
    """By how much a threshold is out of reach."""

    best: Annotated[float, Example(13)]
    """Best utility or risk that any rule attains."""
    by: Annotated[float, Example(1)]
    """Its distance from the threshold."""
    records: Annotated[int, Ge(0), Example(12)]
    """Records concerned."""


@dataclass(frozen=True)
class MapPoint:
    """Risk and utility of one table-level rule."""

    levels: tuple[int, ...]
    risk: float
    utility: float


@dataclass(frozen=True)
class RiskMap:
    """All rules of a search, or, above 2,000 of them, those that no other dominates."""

    kind: Literal["all", "frontier"]
    n_rules: int
    points: tuple[MapPoint, ...]


@dataclass(frozen=True)
class Bounds:
    """What proves the objective, or how far from the optimum it can be at most."""

    lower: float
    gap: float


@dataclass(frozen=True)
class Certificate:
    """What an approximation proves of this run; its printed guarantee is false (Definitions: approximation).

    ``ratio`` is the mean risk over its lower bound (+∞ over 0), ``promised`` what was published for it. Of
    the ``records``, ``exact`` were solved exactly where that was plain and ``fallback`` because they missed
    the promise; ``met`` is how many keep it. ``kept_floor`` is the utility that every record keeps at least.

    What was published is E[1/r] ≥ 1/(``promised`` · z*), with r the risk after rounding and z* the least one.
    Of the ``rounded`` records, those of the fallback included, the means of both sides are given,
    ``expected_inverse_risk`` and ``promised_inverse_risk``, and for how many the statement holds,
    ``expected_met``. E is exact, of the algorithm as printed, which draws until it accepts and polishes
    nothing. For z* stands its lower bound where the fallback did not find it: there less may have been
    published.
    """

    ratio: float
    promised: float
    kept_floor: float
    records: int
    met: int
    exact: int
    fallback: int
    linear_programmes: int
    rounding_trials: int
    rounded: int
    expected_inverse_risk: float | None
    promised_inverse_risk: float | None
    expected_met: int

    @property
    def guarantee_met(self) -> bool:
        """Whether every record keeps the published ratio."""
        return self.met == self.records

    def to_document(self) -> dict[str, Any]:
        """Plain JSON-able form."""
        return {
            **vars(self),
            "ratio": _number(self.ratio),
            "expected_inverse_risk": _number(self.expected_inverse_risk),
            "promised_inverse_risk": _number(self.promised_inverse_risk),
            "guarantee_met": self.guarantee_met,
        }


@dataclass(frozen=True, eq=False)
class Score:
    """Risk and utility of a rule as the problem sees them, from the path of any other assessment.

    ``assessment`` is that under a single dictionary, ``in_set`` that under each of a set; one is None.
    """

    assessment: Assessment | None
    in_set: SetAssessment | None
    risk: float
    utility: float


@dataclass(frozen=True, eq=False)
class Outcome:
    """The answer to a :class:`Problem`.

    Attributes
    ----------
    score
        Score of the rule, None without a rule.
    objective
        Value of what is minimised (risk, or risk − λ · utility) or maximised (utility, or the mean of
        λ/risk + utility^κ over records); None without a rule.
    optimal_rules
        Rules whose objective is within the tie margin of the optimum, the one that is answered included; None
        where the solver need not know, and where records are solved one by one.
    records_with_ties
        Where records are solved one by one: those whose optimum is shared by several nodes. None as above.
    bounds
        ``lower`` bounds what is minimised (minus the objective where that is maximised); gap 0 when proven.
    shortfall
        For ``infeasible``; None if the node budget was too small to find it.
    prohibited_records
        Record-level: records all of whose feasible nodes have infinite risk.
    absent
        Records without a consistent entity when disclosed as they are, in any dictionary that counts.
    not_monotone
        It is not proved that generalising never raises the risk of a record: every candidate was looked at.
    complete
        False if the search was halted from outside before its end, so that it would not end there again.
    certificate
        What an approximation can say of its distance from the optimum in this run; None for other searches.
    """

    problem: Problem
    solver: str
    status: Status
    absent: int
    n_rules: int
    counters: Counters
    attributes: tuple[str, ...]
    rule: Rule | None = None
    score: Score | None = None
    objective: float | None = None
    bounds: Bounds | None = None
    shortfall: Shortfall | None = None
    prohibited_records: int = 0
    risk_map: RiskMap | None = None
    not_monotone: bool = False
    complete: bool = True
    certificate: Certificate | None = None
    optimal_rules: int | None = None
    records_with_ties: int | None = None

    @classmethod
    def of(
        cls,
        context: SearchContext,
        asked: Problem,
        solver: str,
        status: Status,
        rule: Rule | None,
        *,
        absent: int,
        n_rules: int,
        counters: Counters,
    ) -> Outcome:
        """The outcome of a search that found this rule, or none: scored, and bounded as if it were proven."""
        found = cls(
            asked, solver, status, absent, n_rules, counters, context.table.attributes,
            not_monotone=not context.harm_is_monotone,
        )  # fmt: skip
        return found if rule is None else found.with_rule(context, rule)

    def with_rule(self, context: SearchContext, rule: Rule) -> Outcome:
        """The outcome with a rule, scored by the path of any other assessment, and bounded as if proven."""
        problem = self.problem.in_utility(context.utility)
        scored, objective = score(context, problem, rule)
        return replace(self, rule=rule, score=scored, objective=objective, bounds=proven(problem, objective))

    def bounded_by(self, lower: float) -> Outcome:
        """The outcome with what is minimised bounded from below by a search that proved no more."""
        reached = math.inf if self.bounds is None else self.bounds.lower
        return replace(self, bounds=Bounds(lower, max(0.0, reached - lower)))

    def unless_above(self, lower: float) -> Outcome:
        """The outcome, heuristic if it is further above a lower bound than a tie."""
        if self.bounds is None or self.objective is None:
            return self
        gap = self.bounds.lower - lower
        is_above = gap > tie_margin(self.objective)
        return replace(self, status="heuristic", bounds=Bounds(lower, gap)) if is_above else self

    @property
    def ties(self) -> int | None:
        """Rules or records that are tied, whichever the search knows of."""
        return self.records_with_ties if self.optimal_rules is None else self.optimal_rules

    @property
    def assessment(self) -> Assessment | None:
        """Score of the rule against a single dictionary."""
        return None if self.score is None else self.score.assessment

    @property
    def in_set(self) -> SetAssessment | None:
        """Score of the rule against a set of dictionaries."""
        return None if self.score is None else self.score.in_set

    @property
    def risk(self) -> float | None:
        """Risk of the rule in the problem's view and aggregate."""
        return None if self.score is None else self.score.risk

    @property
    def utility(self) -> float | None:
        """Mean utility of the rule."""
        return None if self.score is None else self.score.utility

    @property
    def relative_gap(self) -> float | None:
        """Gap as a share of the objective: 0 when proven, +∞ for an objective of 0 or +∞ that is not."""
        if self.bounds is None or self.objective is None:
            return None
        if self.bounds.gap == 0.0:
            return 0.0
        if math.isinf(self.bounds.gap):
            return math.inf
        return self.bounds.gap / abs(self.objective) if self.objective else math.inf

    def to_document(self) -> dict[str, Any]:
        """Plain JSON-able form without ids, times and the levels of single records."""
        levels = shortfall = None
        if isinstance(self.rule, TableRule):
            levels = dict(zip(self.attributes, self.rule.levels, strict=True))
        if self.shortfall is not None:
            shortfall = {
                "best": _number(self.shortfall.best),
                "by": _number(self.shortfall.by),
                "records": self.shortfall.records,
            }
        return {
            **self.problem.to_document(),
            "solver": self.solver,
            "status": self.status,
            "levels": levels,
            "objective_value": _number(self.objective),
            "risk": _number(self.risk),
            "utility": _number(self.utility),
            "ties": self.ties,
            "optimal_rules": self.optimal_rules,
            "records_with_ties": self.records_with_ties,
            "lower_bound": None if self.bounds is None else _number(self.bounds.lower),
            "gap": None if self.bounds is None else _number(self.bounds.gap),
            "infeasible_by": shortfall,
            "prohibited_records": self.prohibited_records,
            "absent": self.absent,
            "not_monotone": self.not_monotone,
            "n_rules": self.n_rules,
            "visited_nodes": self.counters.visited_nodes,
            "risk_evaluations": self.counters.risk_evaluations,
            "utility_evaluations": self.counters.utility_evaluations,
            "certificate": None if self.certificate is None else self.certificate.to_document(),
        }

    def map_document(self) -> dict[str, Any] | None:
        """The risk–utility map, None if the solver did not score all rules."""
        if self.risk_map is None:
            return None
        points = [
            {"levels": list(p.levels), "risk": _number(p.risk), "utility": _number(p.utility)}
            for p in self.risk_map.points
        ]
        return {
            "kind": self.risk_map.kind,
            "n_rules": self.risk_map.n_rules,
            "attributes": list(self.attributes),
            "points": points,
        }


def _number(value: float | None) -> float | str | None:
    return None if value is None else to_json_number(float(value))


def score(context: SearchContext, problem: Problem, rule: Rule) -> tuple[Score, float]:
    """Score of the rule that a search found, and the value of the problem's objective."""
    found = _score(context, problem, rule)
    least, _ = problem.objective.key(found.risk, found.utility)
    return found, -least if problem.objective.is_maximised else least


def _score(context: SearchContext, problem: Problem, rule: Rule) -> Score:
    table, harm, utility = context.table, context.sensitivity, context.utility
    policy, model = problem.absent_policy, context.model
    if context.dictionaries is None:
        counter = Counter(table, context.dictionary, threads=context.threads)
        found = assess(
            table, rule, context.dictionary, harm, utility, policy,
            failure=context.failure, model=model, counter=counter,
        )  # fmt: skip
        risk = found.risk_average if problem.aggregate == "average" else found.risk_max
        return Score(found, None, risk, found.utility_average)
    in_set = assess_set(
        table, rule, context.dictionaries, harm, utility, policy, failure=context.failure, model=model
    )
    view = in_set.view(problem.view)
    risk = view.risk_average if problem.aggregate == "average" else view.risk_max
    return Score(None, in_set, risk, in_set.assessments[0].utility_average)


def least_objective(problem: Problem, model: RiskModel, most_utility: float) -> float:
    """What the objective, as it is minimised, cannot fall below if nothing is known but the utilities."""
    least_risk = -math.inf if model.name == "III_raw" else 0.0
    return problem.objective.key(least_risk, most_utility)[0]


def proven(problem: Problem, objective: float) -> Bounds:
    """The bounds of an objective that is proven optimal."""
    return Bounds(-objective if problem.objective.is_maximised else objective, 0.0)


def shortfall_of(context: SearchContext, asked: Problem, best: float, records: int) -> Shortfall | None:
    """By how much ``best``, a utility or a risk, misses what was asked; None if ``best`` is unknown (NaN)."""
    if math.isnan(best):
        return None
    if asked.objective.kind != "min_risk":
        return Shortfall(best, best - asked.objective.threshold, records)
    by = asked.in_utility(context.utility).objective.threshold - best
    if asked.objective.threshold_name == "loss_cap":
        best = asked.objective.threshold + by
    return Shortfall(best, by, records)


def map_of(shape: Sequence[int], risk: Floats, utility: Floats) -> RiskMap:
    """The risk–utility map of all rules, in lexicographic order of their levels."""
    few = len(risk) <= MAP_LIMIT
    chosen = np.arange(len(risk)) if few else frontier(risk, utility)
    levels = np.stack(np.unravel_index(chosen, tuple(shape)), axis=1).tolist()
    points = tuple(
        MapPoint(tuple(row), r, u)
        for row, r, u in zip(levels, risk[chosen].tolist(), utility[chosen].tolist(), strict=True)
    )
    return RiskMap("all" if few else "frontier", len(risk), points)
