"""The searches of the catalogue on one question each: the Adult table's best rule at a utility floor."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from app.domain.search.objectives import MinRisk
from app.domain.search.outcome import Outcome
from app.domain.search.problem import Problem
from app.domain.search.solvers import AUTO, Aruba, BranchAndBound, Enumeration, Genetic, Solver, TopDown
from app.experiments.solving import solve
from tests.benchmarks.core import Adult
from tests.benchmarks.row import Report, Row, Timing, counters_of, timed

FLOORS: Final = (4.0, 8.0, 12.0)
SOLVERS: Final[tuple[Solver, ...]] = (AUTO, BranchAndBound(), TopDown(), Aruba(), Genetic(seed=0))
BASELINE: Final = "our own enumeration"


def rows(data: Path, report: Report) -> None:
    """Every search beside enumeration."""
    adult = Adult(data)
    for floor in FLOORS:
        everything = _solved(adult, floor, Enumeration())
        for solver in SOLVERS:
            report(_row(floor, solver, _solved(adult, floor, solver), everything))


def _solved(adult: Adult, floor: float, solver: Solver) -> Timing[Outcome]:
    return timed(lambda: solve(adult.context, Problem(MinRisk(floor)), solver), repeats=1)


def _row(floor: float, solver: Solver, ours: Timing[Outcome], everything: Timing[Outcome]) -> Row:
    found, best = ours.answer, everything.answer
    return Row(
        work=f"{solver.name}: table-level rule of least risk on Adult, utility at least {floor:g}",
        bar="the optimum" if found.status == "optimal" else "a feasible rule",
        ours_seconds=ours.seconds,
        baseline=BASELINE,
        baseline_seconds=everything.seconds,
        peak_bytes=ours.peak_bytes,
        counters=counters_of(found),
        same_result=found.rule == best.rule
        if found.status == "optimal"
        else _is_feasible(found, best, floor),
        detail=_detail(found, best),
    )


def _is_feasible(found: Outcome, best: Outcome, floor: float) -> bool | None:
    """False if a heuristic's rule misses the floor or beats the optimum; else None, it need not equal it."""
    if found.risk is None or found.utility is None or best.risk is None:
        return False
    return None if found.utility >= floor - 1e-9 and found.risk >= best.risk * (1 - 1e-9) else False


def _detail(found: Outcome, best: Outcome) -> str:
    if not found.risk or not best.risk:
        return ""
    return f"risk {found.risk:.6g}, {found.risk / best.risk - 1:.2%} above the least"
