"""The case study at the papers' full size: 5.7 million members, 9.9 million entities, 300 rules for each.

Warm: both tables are encoded and reduced to distinct rows, and the code is loaded by the same work on a small
case study; no count of an earlier call is kept. The entities are known by their year of birth, where the text
does not say full dates. Searches use all processors, as runs do; so does the database.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from app.composition.database import processors
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.risk.assessment import assess
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import TableRule
from app.domain.search.context import SearchContext
from app.domain.search.objectives import MinRisk
from app.domain.search.outcome import Outcome
from app.domain.search.plans import plan
from app.domain.search.problem import FrontierProblem, Problem
from app.domain.search.record_rules.instance import RecordInstance
from app.domain.search.record_rules.means import RecordFrontier
from app.domain.search.record_rules.optima import Optima, optima_of
from app.domain.search.record_rules.plan import RecordPlan
from app.domain.search.record_rules.undominated_nodes import LatticeCurves
from app.domain.search.table_rules.table_level import TableEnumeration
from app.domain.sensitivity.sensitivity import build_sensitivity
from app.domain.sensitivity.weights import LeafWeights
from tests.benchmarks.case_study import CaseStudy, case_study
from tests.benchmarks.case_study_baselines import Database, Frames
from tests.benchmarks.row import Report, Row, Timing, timed

Levels = tuple[int, ...]

FLOOR = 6.0
RULES = ((1, 1, 2, 1), (0, 1, 2, 2), (2, 0, 1, 3), (1, 0, 3, 1), (3, 1, 2, 2))
IDENTITY = (0, 0, 0, 0)
SEED = 300
DATABASE_RULES, FRAME_RULES = 12, 3
CHECKED = 2_000
TOLERANCE = 1e-9

T = TypeVar("T")


def rows(data: Path | None, report: Report) -> None:
    """All measurements; the data are generated."""
    measure(case_study(), case_study(3_000, 9_000, 60), report)


def measure(study: CaseStudy, small: CaseStudy, report: Report) -> None:
    """All measurements on a case study; a small one loads the code."""
    for known in ("years", "dates"):
        _warm_up(_context(small, getattr(small, known)))
    context = replace(reduced_context(study, study.years), threads=processors())
    report(one_rule(context))
    for row in all_rules(context):
        report(row)
    report(one_floor(context, "8 s", "3 s", 8.0, 3.0))
    report(all_floors(context))
    dates = replace(reduced_context(study, study.dates), threads=processors())
    report(one_floor(dates, "30 s", "12 s", 30.0, 12.0, ", full dates"))


def _context(study: CaseStudy, dictionary: Dictionary) -> SearchContext:
    weights = {name: LeafWeights(weight) for name, weight in study.weights.items()}
    sensitivity = build_sensitivity(study.table, "multiplicative", weights)
    return SearchContext(study.table, dictionary, sensitivity, build_utility(study.table))


def reduced_context(study: CaseStudy, dictionary: Dictionary) -> SearchContext:
    """The instance with one of its dictionaries, both sides reduced to distinct rows."""
    context = _context(study, dictionary)
    _ = context.table.reduced, context.table.used_nodes, context.dictionary.reduced
    return context


def _warm_up(context: SearchContext) -> None:
    _score(context, RULES[0])
    _best_rule(context)
    _record_optima(context)
    _curves(context)


def _rules_of(context: SearchContext) -> list[Levels]:
    return list(itertools.product(*(range(height + 1) for height in context.table.heights)))


# --- one rule ------------------------------------------------------------------------------------------


def one_rule(context: SearchContext) -> Row:
    """The whole assessment of single rules: risk, utility, quantiles, histograms, k."""
    timings = [timed(lambda rule=rule: _score(context, rule), warm_up=0) for rule in RULES]  # type: ignore[misc]
    original = timed(lambda: _score(context, IDENTITY), repeats=1, warm_up=0)
    seconds = sorted(timing.seconds for timing in timings)
    return Row(
        f"one rule scored, {_size(context)}",
        bar="0.6 s",
        aim="0.3 s",
        ours_seconds=seconds[len(seconds) // 2],
        peak_bytes=max(timing.peak_bytes for timing in timings),
        counters={
            "cpu_seconds": sorted(timing.cpu_seconds for timing in timings)[len(timings) // 2],
            "slowest_seconds": seconds[-1],
            "original_seconds": original.seconds,
        },
        detail=f"median of {len(RULES)} rules; original_seconds is that of disclosing all as it is, whose "
        "classes are nearly as many as the members",
        bar_seconds=0.6,
        aim_seconds=0.3,
    )


def _score(context: SearchContext, levels: Levels) -> float:
    rule = TableRule(levels)
    found = assess(context.table, rule, context.dictionary, context.sensitivity, context.utility)
    return found.risk_average


# --- all table-level rules -----------------------------------------------------------------------------


def all_rules(context: SearchContext) -> list[Row]:
    """Every table-level rule scored and the best chosen, beside a database and data frames."""
    ours = timed(lambda: _best_rule(context), repeats=3, warm_up=0)
    points = ours.answer.risk_map.points if ours.answer.risk_map is not None else ()
    risks = {point.levels: point.risk for point in points}
    rules = _rules_of(context)
    found = []
    baselines: tuple[tuple[str, str, type[Database] | type[Frames], int], ...] = (
        ("duckdb", "≥ 5 × faster", Database, DATABASE_RULES),
        ("pandas", "≥ 50 × faster", Frames, FRAME_RULES),
    )
    for name, bar, make, n in baselines:
        row = Row(
            f"all {len(rules)} table-level rules, {_size(context)}",
            bar=f"4 s; {bar} than {name}",
            aim="2 s",
            ours_seconds=ours.seconds,
            peak_bytes=ours.peak_bytes,
            counters=_spent(ours),
            detail=f"{name} is not installed",
            bar_seconds=4.0,
            aim_seconds=2.0,
        )
        some = [rules[i] for i in np.random.default_rng(SEED).permutation(len(rules))[:n].tolist()]
        try:
            seconds, scored = _each(make(context).risk, some)
        except ModuleNotFoundError:
            found.append(row)
            continue
        found.append(
            replace(
                row,
                baseline=name,
                baseline_seconds=seconds / n * len(rules),
                same_result=_equal([risks[rule] for rule in some], scored),
                detail=f"{name} finds the risk alone, of {n} rules drawn at random, from distinct rows; its "
                f"time for all is extrapolated from {seconds:.1f} s",
            )
        )
    return found


def _best_rule(context: SearchContext) -> Outcome:
    search = plan(context, Problem(MinRisk(FLOOR)))
    if not isinstance(search, TableEnumeration):
        raise TypeError("few rules are all scored")
    return search.combine({i: search.run_block(i, _quiet) for i in range(search.n_blocks)})


# --- single records ------------------------------------------------------------------------------------


def one_floor(
    context: SearchContext, bar: str, aim: str, bar_seconds: float, aim_seconds: float, known: str = ""
) -> Row:
    """The best way to disclose each record within a utility floor, as a rule that is scored."""
    problem = Problem(MinRisk(FLOOR), "record_level")
    ours = timed(lambda: _record_optima(context), repeats=2, warm_up=0)
    outcome, estimates = ours.answer
    return Row(
        f"per-record optimum with its rule, one utility floor, {_size(context)}{known}",
        bar=bar,
        aim=aim,
        ours_seconds=ours.seconds,
        peak_bytes=ours.peak_bytes,
        counters={
            **ours.spent,
            **estimates,
        },
        same_result=outcome.status == "optimal" and _optima_are_exact(context, problem),
        detail=f"compared with an exact evaluation of {CHECKED} whole lattices, bit by bit",
        bar_seconds=bar_seconds,
        aim_seconds=aim_seconds,
    )


def _record_optima(context: SearchContext) -> tuple[Outcome, dict[str, int | float]]:
    search = plan(context, Problem(MinRisk(FLOOR), "record_level"))
    if not isinstance(search, RecordPlan):
        raise TypeError("records are solved one by one")
    estimates = {
        "distinct_records": search.units,
        "estimated_seconds": search.seconds,
        "estimated_bytes": search.n_bytes,
    }
    return search.combine({i: search.run_block(i, _quiet) for i in range(search.n_blocks)}), estimates


def _optima_are_exact(context: SearchContext, problem: Problem) -> bool:
    instance = _prepared(context)
    first = max(0, instance.n_distinct // 2 - CHECKED)
    rows = np.arange(first, min(instance.n_distinct, first + CHECKED))
    (found, risk), (expected, expected_risk) = (
        source.of(rows) for source in (optima_of(instance, problem), Optima(instance, problem))
    )
    return bool(np.array_equal(found.node, expected.node) and np.array_equal(risk, expected_risk))


def all_floors(context: SearchContext) -> Row:
    """The best way to disclose each record at every utility floor that there is."""
    ours = timed(lambda: _curves(context), repeats=1, warm_up=0)
    search, blocks = ours.answer
    found = sum(len(block) for block in blocks.values())
    return Row(
        f"per-record optima with their rules, all utility floors, {_size(context)}",
        bar="15 s",
        aim="7 s",
        ours_seconds=ours.seconds,
        peak_bytes=ours.peak_bytes,
        counters={**ours.spent, "distinct_records": search.units, "bytes_of_optima": found},
        same_result=_curves_are_exact(context, search, blocks),
        detail=f"compared with an exact evaluation of {CHECKED} whole lattices, bit by bit; without choosing "
        "among the optima of several records",
        bar_seconds=15.0,
        aim_seconds=7.0,
    )


def _curves(context: SearchContext) -> tuple[RecordFrontier, dict[int, bytes]]:
    instance = RecordInstance(context, "zero", "known")
    search = RecordFrontier(instance, FrontierProblem("record_level"))
    return search, {i: search.run_block(i, _quiet) for i in range(search.n_blocks)}


def _curves_are_exact(context: SearchContext, search: RecordFrontier, blocks: dict[int, bytes]) -> bool:
    middle = search.n_blocks // 2
    curves, _ = search.curves({middle: blocks[middle]})
    first = int(np.flatnonzero(np.diff(curves.starts))[0])
    rows = np.arange(first, min(search.units, first + CHECKED))
    _, sizes, points = LatticeCurves(_prepared(context), None).of(rows)
    held = slice(int(curves.starts[first]), int(curves.starts[rows[-1] + 1]))
    sizes_found = np.diff(curves.starts)[rows]
    return bool(
        np.array_equal(sizes_found[sizes_found > 0], sizes[sizes_found > 0])
        and np.array_equal(curves.node[held], points["node"][: held.stop - held.start])
        and np.array_equal(curves.risk[held], points["risk"][: held.stop - held.start])
    )


def _prepared(context: SearchContext) -> RecordInstance:
    instance = RecordInstance(context, "zero", "known")
    instance.prepare(range(instance.n_distinct), lambda: None)
    return instance


# --- figures -------------------------------------------------------------------------------------------


def _each(score: Callable[[Levels], float], rules: Sequence[Levels]) -> tuple[float, list[float]]:
    start = time.perf_counter()
    scored = [score(rule) for rule in rules]
    return time.perf_counter() - start, scored


def _equal(ours: Sequence[float], theirs: Sequence[float]) -> bool:
    return all(math.isclose(a, b, rel_tol=TOLERANCE) for a, b in zip(ours, theirs, strict=True))


def _spent(timing: Timing[T]) -> dict[str, int | float]:
    return {"cpu_seconds": timing.cpu_seconds, "least_seconds": timing.least}


def _size(context: SearchContext) -> str:
    return f"{context.table.n_records:,} × 4 records, {context.dictionary.n_entities:,} entities"


def _quiet(units: int) -> None:
    """Nobody waits for the units."""
