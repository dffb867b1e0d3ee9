"""How fast the deFinetti attack hands values out, beside SciPy's assignment class by class in a loop."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Final

import numpy as np
from scipy.optimize import linear_sum_assignment

from app.domain.arrays import Floats, Longs
from app.domain.attacks.definetti_attack import DEFINETTI_ATTACK, DefinettiAttack, DefinettiParameters
from app.domain.hierarchies.hierarchy import TOP
from app.domain.models.entry import MeasureContext
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import CellRule
from app.domain.tables.table import Table
from app.experiments.census import ATTRIBUTES, SALARY, SIZES, Census, census, flat_hierarchy, hierarchy_of
from tests.benchmarks.row import Report, Row, timed

RECORDS: Final = 20_000
ROUNDS: Final = 50
SECONDS: Final = 30.0
REPEATS: Final = 5
KNOWN: Final = (0, 1, 2)
"""Age, gender and education."""


def rows(data: Path | None, report: Report) -> None:
    """All measurements, on the surrogate census; no real data are needed."""
    people = census(1, RECORDS, 0.8)
    for size in (2, 5, 100):
        report(handed_out(people, size))


def handed_out(people: Census, size: int) -> Row:
    """Two starts of at most 50 rounds each in random classes of one size."""
    of_record = np.random.default_rng(size).permutation(RECORDS) // size
    context = _released(people, of_record)
    asked = DefinettiParameters(rounds=ROUNDS, starts=2)
    ours = timed(lambda: DEFINETTI_ATTACK.compute(context, asked, lambda _: None), repeats=REPEATS)
    found: DefinettiAttack = ours.answer
    rounds = sum(found.rounds)
    baseline = timed(lambda: _by_class(people, of_record, rounds), repeats=1, warm_up=0)
    return Row(
        f"deFinetti attack on {RECORDS:,} records in classes of {size}, {rounds} rounds",
        bar=f"{SECONDS:g} s for {ROUNDS} rounds",
        ours_seconds=ours.least,
        baseline="SciPy: fitted likewise, an assignment of records for each class in a loop",
        baseline_seconds=baseline.least,
        peak_bytes=ours.peak_bytes,
        counters={"success_rate": found.success_rate, "success_random": found.success_random},
        same_result=math.isclose(found.success_rate, baseline.answer, abs_tol=0.05),
        detail=f"least of {REPEATS} runs; the baseline has one start, its success may differ by ties",
        bar_seconds=SECONDS * rounds / ROUNDS,
    )


def _released(people: Census, of_record: Longs) -> MeasureContext:
    """Every class shows its number and nothing else of its records."""
    columns = [people.columns[j] for j in (*KNOWN, SALARY)]
    codes = np.stack([*columns, of_record + 1], axis=1).astype(np.int32)
    trees = (*(hierarchy_of(j) for j in (*KNOWN, SALARY)), flat_hierarchy(int(of_record.max()) + 1))
    names = (*(ATTRIBUTES[j] for j in (*KNOWN, SALARY)), "class")
    table = Table(names, trees, codes, sensitive=frozenset({ATTRIBUTES[SALARY]}))
    shown = codes.copy()
    shown[:, : len(KNOWN)] = TOP
    utility = build_utility(table, "depth_sum")
    return MeasureContext(table, CellRule(shown), None, None, None, utility, MODEL_I, "zero")


def _by_class(people: Census, of_record: Longs, rounds: int) -> float:
    """The success of one start after so many rounds."""
    order = np.argsort(of_record, kind="stable")
    classes = np.split(order, np.flatnonzero(np.diff(of_record[order])) + 1)
    truths = people.salaries.astype(np.int64)
    rng, assigned = np.random.default_rng(0), truths.copy()
    for own in classes:
        assigned[own] = rng.permutation(truths[own])
    for _ in range(rounds):
        scores = _scores(people, assigned)
        for own in classes:
            values = np.sort(truths[own])
            assigned[own] = values[linear_sum_assignment(scores[own][:, values], maximize=True)[1]]
    return float((assigned == truths).mean())


def _scores(people: Census, assigned: Longs) -> Floats:
    m = SIZES[SALARY]
    found, totals = np.zeros((RECORDS, m)), np.bincount(assigned, minlength=m)
    for j in KNOWN:
        column = people.columns[j].astype(np.int64) - 1
        counts = np.bincount(column * m + assigned, minlength=SIZES[j] * m).reshape(-1, m)
        found += np.log((counts + 0.5) / (totals + 0.5 * len(np.unique(column))))[column]
    return found
