"""How much less is lost if records have levels of their own, and how fast that is found.

The baseline is the best rule for the whole table under the same criteria, in the same run. The release is
checked by sorting its rows, apart from the search.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from app.domain.hierarchies.hierarchy import TOP
from app.domain.models.criterion import Criterion
from app.domain.models.distinct_l_diversity import DistinctLDiversity
from app.domain.models.k_anonymity import KAnonymity
from app.domain.models.t_closeness import TCloseness
from app.domain.rules.rule import Rule, apply
from app.domain.search.full_domain.problem import AnonymityOutcome, AnonymityProblem
from app.domain.search.least_loss import LeastLossPlan, least_loss_plan
from app.domain.tables.table import Table
from tests.benchmarks.anonymity import read_table
from tests.benchmarks.row import Report, Row, halted_after, timed

K = 5
LIMIT = 0.04
WIDTHS = (11, 15, 24)
STOP_AFTER = 10.0


@dataclass(frozen=True)
class Question:
    """Criteria beside k-anonymity, the attribute that they are about, and what is asked of local recoding."""

    name: str
    more: tuple[Criterion, ...] = ()
    sensitive: str | None = None
    local_recoding: bool = False


ADULT = (
    Question("local recoding", local_recoding=True),
    Question("levels per record"),
    Question("levels per record, distinct 3-diversity", (DistinctLDiversity(l=3),), "occupation"),
    Question("levels per record, 0.2-closeness", (TCloseness(t=0.2),), "salary-class"),
)


def rows(data: Path, report: Report) -> None:
    """All measurements on the folder of real data."""
    adult = read_table(data / "arx-adult", "adult.csv", "adult_hierarchy_")
    for question in ADULT:
        report(_row("Adult", adult, question, None))
    for width in WIDTHS:
        table = read_table(data / "creditcard-int", "creditcard_int.csv", "creditcard_int_hierarchy_", width)
        report(_row(f"credit cards, {width} attributes", table, Question("levels per record"), STOP_AFTER))


def _row(name: str, table: Table, question: Question, stop_after: float | None) -> Row:
    if question.sensitive is not None:
        table = replace(table, sensitive=frozenset({question.sensitive}))
    _ = table.reduced
    for_table = AnonymityProblem((KAnonymity(K), *question.more), LIMIT)
    asked = replace(for_table, scope="record_level")
    if question.local_recoding:
        asked = replace(for_table, local_recoding=True)
    baseline = timed(lambda: _solve(table, for_table, stop_after), repeats=1, warm_up=0)
    ours = timed(lambda: _solve(table, asked, stop_after), repeats=1, warm_up=0)
    found = ours.answer
    if found.rule is None or found.loss is None or found.bounds is None:
        raise AssertionError("suppressing everything is allowed")
    bar = "less lost than by the table-level rule; gap reported"
    return Row(
        f"{name}, {K}-anonymity with {LIMIT:.0%} suppressed: {question.name}"
        + ("" if stop_after is None else f", {stop_after:g} s"),
        bar=bar,
        aim="within seconds",
        ours_seconds=ours.seconds,
        baseline="the search for a rule of the whole table",
        baseline_seconds=baseline.seconds,
        peak_bytes=ours.peak_bytes,
        counters={
            "loss": found.loss,
            "loss_for_table": baseline.answer.loss or 1.0,
            "lower_bound": found.bounds.lower,
            "suppressed_records": found.suppressed_records or 0,
            "classes": found.classes or 0,
            "rounds": len(found.rounds),
        },
        same_result=_classes(table, found.rule) == (found.classes, found.smallest_class),
        detail=f"status {found.status}; the same means that its classes are those of sorting rows",
        bar_seconds=None if stop_after is None else stop_after + 1,
    )


def _solve(table: Table, problem: AnonymityProblem, stop_after: float | None) -> AnonymityOutcome:
    search: LeastLossPlan = least_loss_plan(table, problem)
    return search.combine({0: search.run_block(0, lambda _: None, halted_after(stop_after))})


def _classes(table: Table, rule: Rule) -> tuple[int, int | None]:
    """Classes of the records that are not suppressed and the size of the least, by sorting whole rows."""
    disclosed = apply(rule, table)[:, table.quasi_identifiers]
    kept = disclosed[(disclosed != TOP).any(axis=1)]
    sizes = np.unique(kept, axis=0, return_counts=True)[1]
    return len(sizes), int(sizes.min()) if len(sizes) else None
