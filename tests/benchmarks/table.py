"""How fast the best table-level rules against a dictionary are found, beside scoring every rule.

Both in the same run. Adult is its own dictionary, every leaf weighs 1. All utility floors at once is the
frontier: the rule of least risk for every floor that there is.
"""

from __future__ import annotations

import math
from pathlib import Path

from app.domain.search.blocks import carry_out
from app.domain.search.frontier import FrontierOutcome
from app.domain.search.objectives import Lagrangian, MinRisk
from app.domain.search.plans import plan, plan_frontier
from app.domain.search.problem import FrontierProblem, Problem
from app.domain.search.solvers import Enumeration
from app.domain.search.table_rules.table_frontier import EnumeratedFrontier
from app.domain.search.table_rules.table_level import TableInstance
from tests.benchmarks.core import Adult
from tests.benchmarks.row import Report, Row, timed

FLOORS = (4.0, 8.0, 12.0)
SCORED = "every rule scored by one walk that shares counts between neighbours"
DETAIL = "The table is its own dictionary; the optimum includes ties, all of them rated or proved to miss."


def rows(data: Path, report: Report) -> None:
    """All measurements on the Adult table in the folder of real data."""
    adult = Adult(data)
    report(_all_floors(adult))
    for floor in FLOORS:
        report(_one_floor(adult, floor))


def _all_floors(adult: Adult) -> Row:
    problem = FrontierProblem()
    ours = timed(lambda: _frontier(adult, problem), repeats=5)
    theirs = timed(lambda: _scored_frontier(adult, problem))
    found, expected = ours.answer, theirs.answer
    same = [p.levels for p in found.points] == [p.levels for p in expected.points] and all(
        math.isclose(p.risk, q.risk, rel_tol=1e-12)
        for p, q in zip(found.points, expected.points, strict=True)
    )
    return Row(
        f"Adult, least risk against a dictionary: all {len(found.points)} utility floors, "
        f"{found.n_rules} rules",
        bar="1 s",
        aim="0.2 s",
        ours_seconds=ours.seconds,
        baseline=SCORED,
        baseline_seconds=theirs.seconds,
        peak_bytes=ours.peak_bytes,
        counters={**ours.spent, "rated_rules": found.counters.risk_evaluations},
        same_result=same,
        detail=DETAIL,
        bar_seconds=1.0,
        aim_seconds=0.2,
    )


def _one_floor(adult: Adult, floor: float) -> Row:
    problem = Problem(MinRisk(floor))
    ours = timed(lambda: carry_out(plan(adult.context, problem)), repeats=5)
    theirs = timed(lambda: carry_out(plan(adult.context, problem, Enumeration())))
    found, expected = ours.answer, theirs.answer
    return Row(
        f"Adult, least risk against a dictionary: utility floor {floor:g}, {found.n_rules} rules",
        bar="",
        ours_seconds=ours.seconds,
        baseline=SCORED,
        baseline_seconds=theirs.seconds,
        peak_bytes=ours.peak_bytes,
        counters={**ours.spent, "rated_rules": found.counters.risk_evaluations},
        same_result=(found.status, found.rule, found.ties) == ("optimal", expected.rule, expected.ties),
        detail=DETAIL,
    )


def _frontier(adult: Adult, problem: FrontierProblem) -> FrontierOutcome:
    search = plan_frontier(adult.context, problem)
    return search.combine({i: search.run_block(i, lambda units: None) for i in range(search.n_blocks)})


def _scored_frontier(adult: Adult, problem: FrontierProblem) -> FrontierOutcome:
    search = EnumeratedFrontier(TableInstance(adult.context, Problem(Lagrangian(0.0))), problem)
    return search.combine({i: search.run_block(i, lambda units: None) for i in range(search.n_blocks)})
