"""How fast persons are counted: the arrays of the classes, and a search by persons beside one by records.

A million records of 250,000 persons in 20,000 classes beside sorting as many numbers (``numpy.unique``) and
pandas; 5-anonymity of Adult with three rows of each person, of different quasi-identifiers, beside the same
search that takes each row for a person.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from app.domain.classes.persons import class_persons
from app.domain.models.k_anonymity import KAnonymity
from app.domain.search.full_domain.plan import AnonymityPlan
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.tables.table import Table
from tests.benchmarks.anonymity import read_table
from tests.benchmarks.row import Report, Row, Timing, timed

RECORDS, PERSONS, CLASSES = 1_000_000, 250_000, 20_000
LIMITS = (0.0, 0.04, 0.2)
ROWS_EACH = 3


def rows(data: Path | None, report: Report) -> None:
    """All measurements; the searches need the folder of real data."""
    rng = np.random.default_rng(1)
    person = np.concatenate([np.arange(PERSONS), rng.integers(0, PERSONS, RECORDS - PERSONS)])
    of_record = np.concatenate([np.arange(CLASSES), rng.integers(0, CLASSES, RECORDS - CLASSES)])
    rng.shuffle(person)
    frame = pd.DataFrame({"class": of_record, "person": person})
    keys = rng.integers(0, 2**40, RECORDS)

    def arrays() -> tuple[np.ndarray, np.ndarray]:
        found = class_persons(of_record, person, CLASSES, PERSONS)
        return found.persons, found.largest_share

    ours = timed(arrays, repeats=5)
    grouped = timed(lambda: frame.groupby("class")["person"].nunique(), repeats=5)
    sorted_ = timed(lambda: np.unique(keys), repeats=5)
    work = f"persons and largest shares of {CLASSES:,} classes, {RECORDS:,} records of {PERSONS:,} persons"
    same = bool((ours.answer[0] == grouped.answer.to_numpy()).all())
    report(_arrays(work, ours.least, "≥ 2.5 × faster", "pandas groupby(…).nunique()", grouped.least, same))
    report(
        _arrays(f"{work}, again", ours.least, "≤ 1.5 × its time", "numpy.unique of as many", sorted_.least)
    )
    if data is None:
        return
    adult = read_table(data / "arx-adult", "adult.csv", "adult_hierarchy_")
    n = adult.n_records
    order = np.concatenate([np.arange(n), rng.permutation(n), rng.permutation(n)])
    by_rows = Table(adult.attributes, adult.hierarchies, adult.codes[order])
    by_persons = replace(by_rows, persons=np.tile(np.arange(n, dtype=np.int32), ROWS_EACH))
    for limit in LIMITS:
        report(_search(by_rows, by_persons, limit))


def _arrays(work: str, ours: float, bar: str, baseline: str, seconds: float, same: bool | None = None) -> Row:
    return Row(
        work, bar, ours, baseline=baseline, baseline_seconds=seconds, same_result=same, detail="least of 5"
    )


def _search(by_rows: Table, by_persons: Table, limit: float) -> Row:
    """The search by persons beside that by records; tables are reduced before."""
    for table in (by_rows, by_persons):
        _ = table.reduced

    def solved(table: Table) -> Timing[float | None]:
        def once() -> float | None:
            plan = AnonymityPlan(table, AnonymityProblem((KAnonymity(5),), limit))
            return plan.combine({0: plan.run_block(0, lambda _: None)}).loss

        return timed(once, repeats=5)

    ours, baseline = solved(by_persons), solved(by_rows)
    return Row(
        f"5-anonymity of Adult by persons with {ROWS_EACH} records each, at most {limit:.0%} suppressed",
        "≤ 3 × its time",
        ours.least,
        baseline="the same search by records",
        baseline_seconds=baseline.least,
        detail="least of 5",
    )
