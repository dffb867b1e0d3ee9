"""What work was estimated to take beside the processor time that it then took: what ``dry_run`` is worth.

Estimated by the same plans and costs that the service asks. Measured as the least processor time of a few
repetitions by one thread, warm: tables encoded and reduced, the code loaded, no count of an earlier call
kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from app.domain.analyses.singling_out import SINGLING_OUT
from app.domain.counting.counter import Counter
from app.domain.models.entry import Measure, MeasureContext
from app.domain.models.k_anonymity import KAnonymity
from app.domain.risk.assessment import assess, estimate_cost
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import TableRule
from app.domain.search.blocks import BlockedSearch
from app.domain.search.context import SearchContext
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.search.least_loss import least_loss_plan
from app.domain.search.objectives import Lagrangian, MinRisk
from app.domain.search.plans import plan, plan_frontier
from app.domain.search.problem import FrontierProblem, Problem
from app.domain.search.solvers import BranchAndBound, Enumeration
from app.domain.sensitivity.sensitivity import build_sensitivity
from app.domain.sensitivity.weights import LeafWeights
from app.domain.tables.table import Table
from app.experiments.synthetic import generate
from tests.benchmarks.anonymity import K, read_table, replicated
from tests.benchmarks.case_study import case_study
from tests.benchmarks.core import Adult
from tests.benchmarks.item_table import item_context, item_table
from tests.benchmarks.many import floor_of
from tests.benchmarks.measurement import Measurement
from tests.benchmarks.models import NEEDED, SENSITIVE, class_based
from tests.benchmarks.scale import FLOOR, RULES, reduced_context
from tests.benchmarks.service.asked import Asked

BAR: Final = 0.5
AIM: Final = 0.25
REPEATS: Final = 3
LONG_SECONDS: Final = 3.0
"""Work that takes longer is not repeated."""


@dataclass(frozen=True)
class Case:
    """Work with its estimate in seconds, which is made anew: planning is part of what is estimated."""

    name: str
    estimate: Callable[[], float]
    work: Callable[[], object]


def measure(asked: Asked) -> Iterator[Measurement]:
    """Every estimate beside its measurement; those of Adult only where there are real data."""
    yield from measured(every_case(asked.data))


def measured(cases: Iterator[Case]) -> Iterator[Measurement]:
    """Estimates beside measurements, one after the other."""
    for case in cases:
        estimated, seconds = case.estimate(), processor_seconds(case.work)
        ratio = estimated / seconds
        yield Measurement(
            part="estimates",
            work=f"estimate of {case.name}",
            bar="0.5 to 1.5 times",
            aim="0.75 to 1.25 times",
            unit="times",
            ours=ratio,
            bar_met=abs(ratio - 1.0) <= BAR,
            aim_met=abs(ratio - 1.0) <= AIM,
            counters={"estimated_seconds": estimated, "cpu_seconds": seconds},
        )


def processor_seconds(work: Callable[[], object]) -> float:
    """The least processor time of all threads, after a first time that loads the code."""
    least = float("inf")
    for _ in range(1 + REPEATS):
        start = time.process_time()
        work()
        least = min(least, time.process_time() - start)
        if least > LONG_SECONDS:
            break
    return least


def every_case(data: Path | None) -> Iterator[Case]:
    """All cases; what one holds is let go before the next is made."""
    yield from _small()
    if data is not None:
        yield from _adult(Adult(data))
        adult = read_table(data / "arx-adult", "adult.csv", "adult_hierarchy_")
        yield from _least_loss("Adult", adult)
        yield from _models("Adult", replace(adult, sensitive=frozenset({SENSITIVE})))
        million = replicated(adult)
        _ = million.reduced
        yield from _least_loss("Adult × 33", million)
        yield from _models("Adult × 33", replace(million, sensitive=frozenset({SENSITIVE})))
    yield from _many()
    yield from _floors()
    yield from _case_study()


def _small() -> Iterator[Case]:
    made = generate(1, 10_000, ((3, 4, 4), (2, 3), (4, 3, 5), (3, 3, 2)))
    table, dictionary = made.table(10_000), made.dictionary(0, 10_000)
    sensitivity = build_sensitivity(table, "linear", {name: LeafWeights(1.0) for name in table.attributes})
    context = SearchContext(table, dictionary, sensitivity, build_utility(table))
    _ = table.reduced, dictionary.reduced
    for levels in ((1, 1, 1, 1), (0, 1, 2, 0)):
        yield _assessment(f"a rule of 10,000 × 10,000, {levels}", context, levels)
    problem = Problem(MinRisk(4.0))
    yield _search("the best rule of 10,000 × 10,000", lambda: plan(context, problem))
    by_record = Problem(MinRisk(4.0), "record_level")
    yield _search("record-level rules of 10,000 × 10,000", lambda: plan(context, by_record))


def _adult(adult: Adult) -> Iterator[Case]:
    context = adult.context
    for levels in adult.some_rules(3):
        yield _assessment(f"a rule of Adult, {levels}", context, levels)
    for floor in (4.0, 8.0, 12.0):
        problem = Problem(MinRisk(floor))
        yield _search(f"the best rule of Adult, utility at least {floor:g}", partial(plan, context, problem))
    every = Problem(Lagrangian(0.0))
    yield _search("the best rule of Adult, all scored", lambda: plan(context, every, Enumeration()))
    for floor in (4.0, 8.0, 12.0):
        name = f"the best rule of Adult by branch and bound, utility at least {floor:g}"
        yield _search(name, partial(plan, context, Problem(MinRisk(floor)), BranchAndBound()))
    for price in (0.0, 0.01):
        name = f"the best rule of Adult at a price of {price:g}"
        yield _search(name, partial(plan, context, Problem(Lagrangian(price))))
    yield _search("the frontier of Adult", lambda: plan_frontier(context, FrontierProblem()))


def _least_loss(name: str, table: Table) -> Iterator[Case]:
    for share in (0.0, 0.04, 1.0):
        problem = AnonymityProblem((KAnonymity(K),), share)
        yield _search(
            f"{K}-anonymity of {name}, {share:.0%} suppressed at most",
            partial(least_loss_plan, table, problem),
        )


def _models(name: str, table: Table) -> Iterator[Case]:
    prepared = MeasureContext(
        table, None, None, None, None, build_utility(table, "depth_sum"), MODEL_I, "zero"
    )
    for measure in (*class_based(table), SINGLING_OUT):
        parameters = measure.parameters(**NEEDED.get(measure.name, {}))
        yield _measurement(f"{measure.name} of {name}", measure, parameters, prepared)


def _measurement(name: str, measure: Measure[Any, Any], parameters: object, prepared: MeasureContext) -> Case:
    """On contexts that keep nothing of an earlier one."""
    return Case(
        name,
        lambda: measure.cost(replace(prepared), parameters).seconds,
        lambda: measure.compute(replace(prepared), parameters, lambda units: None),
    )


def _many() -> Iterator[Case]:
    context = item_context(item_table(), 30)
    for share in (0.5, 0.1):
        problem = floor_of(context, share)
        yield _search(
            f"record-level rules of 30 records, 70 attributes, {share:.0%} of the utility",
            partial(plan, context, problem),
        )


def _floors() -> Iterator[Case]:
    study = case_study(200_000, 400_000, 3_000)
    context = reduced_context(study, study.years)
    every = FrontierProblem("record_level")
    yield _search("all floors of 200,000 × 400,000", lambda: plan_frontier(context, every))
    mean = Problem(MinRisk(FLOOR), "record_level", constraint="average")
    yield _search("a floor of the mean of 200,000 × 400,000", lambda: plan(context, mean))


def _case_study() -> Iterator[Case]:
    study = case_study()
    context = reduced_context(study, study.years)
    for levels in RULES:
        yield _assessment(f"a rule of the case study, {levels}", context, levels)
    yield _search("all rules of the case study", lambda: plan(context, Problem(MinRisk(FLOOR))))
    by_record = Problem(MinRisk(FLOOR), "record_level")
    yield _search("record-level rules of the case study", lambda: plan(context, by_record))
    dates = reduced_context(study, study.dates)
    yield _search("record-level rules of the case study, full dates", lambda: plan(dates, by_record))


def _assessment(name: str, context: SearchContext, levels: Sequence[int]) -> Case:
    rule = TableRule(tuple(levels))

    def counter() -> Counter:
        return Counter(context.table, context.dictionary)

    return Case(
        name,
        lambda: estimate_cost(counter(), rule, context.sensitivity).seconds,
        lambda: assess(
            context.table, rule, context.dictionary, context.sensitivity, context.utility, counter=counter()
        ),
    )


def _search(name: str, planned: Callable[[], BlockedSearch[object]]) -> Case:
    def work() -> object:
        search = planned()
        return search.combine({i: search.run_block(i, lambda units: None) for i in range(search.n_blocks)})

    return Case(name, lambda: planned().seconds, work)
