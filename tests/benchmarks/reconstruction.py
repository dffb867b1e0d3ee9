"""How fast groups are tested for reconstruction privacy, released in copies, and counted in expectation."""

from __future__ import annotations

import itertools
import os
import random
import tracemalloc
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
from scipy import stats

from app.domain.arrays import Floats, Ints
from app.domain.classes.reconstruction import UniformReplacement
from app.domain.classes.reconstruction_groups import GroupsUnderTest, ReconstructionQuestion
from app.domain.classes.reconstruction_tails import exact_tails
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.mechanisms.expected_errors import PooledCounts, sample_sizes
from app.domain.mechanisms.mechanism import MechanismContext
from app.domain.mechanisms.query_pool import GroupedValues, PoolQuestion, QueryPool, query_pool
from app.domain.mechanisms.sample_perturb_scale import SAMPLE_PERTURB_SCALE, SamplePerturbScale
from app.domain.tables.table import Table
from app.experiments.catalogue import chosen
from app.experiments.census import Census, flat_hierarchy
from app.experiments.reconstruction_grid import SETTINGS
from app.experiments.report import Effort
from app.experiments.stand_in_census import (
    ATTRIBUTES,
    EDUCATION,
    SIZES,
    base_table,
    base_tables,
    stand_in,
    words_of_pool,
)
from tests.benchmarks.row import Report, Row, timed

RECORDS: Final = 300_000
ROWS: Final = 500_000
REPEATS: Final = 5
CHECKED: Final = 50
MOST_BYTES: Final = 150 * 10**6
GROUPS_SECONDS: Final = 0.3
TEST_SECONDS: Final = 0.02
TAILS_SECONDS: Final = 1.0
RELEASE_SECONDS: Final = 2.0
RELEASE_RATIO: Final = 20
POOL_SECONDS: Final = 1.0
SETTINGS_SECONDS: Final = 60.0
EXPERIMENTS: Final = ("R1", "R2", "R3", "R4")
EXPERIMENTS_SECONDS: Final = 600.0
QUESTION: Final = ReconstructionQuestion(UniformReplacement(0.5, SIZES[EDUCATION]), 0.5, 0.3)
EXPECTED: Final = {
    "p": (0.270445, 0.086938, 0.048634, 0.029496, 0.015043),
    "epsilon": (0.045838, 0.046135, 0.048634, 0.053227, 0.059468),
    "delta": (0.046979, 0.047660, 0.048634, 0.049758, 0.051089),
    "table": (0.081764, 0.058459, 0.048634, 0.043390, 0.040103),
}
"""Errors in copies by what is varied, which an independent script computed."""


def rows(data: Path | None, report: Report) -> None:
    """All measurements, on the stand-in census; no real data are needed."""
    people = stand_in(RECORDS)
    table = base_table(people, EDUCATION, np.arange(RECORDS, dtype=np.int32))
    report(group_table(people))
    report(chernoff_test(table))
    report(tails(table))
    report(release())
    report(pool(people, table))
    report(all_settings())
    report(experiments())


def group_table(people: Census) -> Row:
    """How often each value occurs in each group of six attributes."""
    order = np.arange(RECORDS, dtype=np.int32)
    frame = pd.DataFrame(dict(zip(ATTRIBUTES, people.columns, strict=True)))
    known = [name for name in ATTRIBUTES if name != ATTRIBUTES[EDUCATION]]

    def ours_made() -> GroupedValues:
        return base_table(people, EDUCATION, order)

    ours = timed(ours_made, repeats=REPEATS)
    baseline = timed(lambda: frame.groupby([*known, ATTRIBUTES[EDUCATION]]).size(), repeats=REPEATS)
    counts = ours.answer.counts
    same = Counter(counts.counts.tolist()) == Counter(baseline.answer.tolist())
    allocated = _allocated(ours_made)
    return Row(
        f"group table of {RECORDS:,} records by six attributes",
        bar=f"{GROUPS_SECONDS:g} s, {MOST_BYTES // 10**6} MB of memory beside the records",
        ours_seconds=ours.least,
        baseline="pandas: groupby of all attributes, size",
        baseline_seconds=baseline.least,
        peak_bytes=ours.peak_bytes,
        counters={"allocated_mb": round(allocated / 1e6, 1), "groups": counts.n_classes},
        same_result=same and allocated <= MOST_BYTES,
        detail=f"least of {REPEATS} runs; how often each count occurs is compared",
        bar_seconds=GROUPS_SECONDS,
    )


def _allocated(work: Callable[[], object]) -> int:
    """The most bytes that NumPy and Python held for it at once."""
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def chernoff_test(table: GroupedValues) -> Row:
    """The verdict on every group, by its most frequent value."""
    counts = table.counts
    ours = timed(lambda: GroupsUnderTest(counts, QUESTION).failing("chernoff_simple"), repeats=REPEATS)
    starts, amounts = counts.starts.tolist(), counts.counts.tolist()
    own = QUESTION.replacement

    def one_by_one() -> list[bool]:
        found = []
        needed = -2 * np.log(QUESTION.delta)
        for first, last in itertools.pairwise(starts):
            group = amounts[first:last]
            f = max(group) / sum(group)
            found.append(
                sum(group) > needed * (f * own.p + own.elsewhere) / (QUESTION.epsilon * own.p * f) ** 2
            )
        return found

    baseline = timed(one_by_one, repeats=1)
    return Row(
        f"Chernoff test of {counts.n_classes:,} groups",
        bar=f"{TEST_SECONDS:g} s",
        ours_seconds=ours.least,
        baseline="Python: the formula of every group",
        baseline_seconds=baseline.least,
        peak_bytes=ours.peak_bytes,
        counters={"failing": int(ours.answer.sum())},
        same_result=ours.answer.tolist() == baseline.answer,
        detail=f"least of {REPEATS} runs",
        bar_seconds=TEST_SECONDS,
    )


def tails(table: GroupedValues) -> Row:
    """Exact probabilities of a bad estimate, of every value that occurs in a group."""
    counts, own = table.counts, QUESTION.replacement
    sizes = counts.sizes[counts.of_entry]
    ours = timed(lambda: exact_tails(counts.counts, sizes, own, QUESTION.epsilon), repeats=REPEATS)
    some = np.random.default_rng(1).choice(len(sizes), CHECKED * 20, replace=False)

    def scipy_tails() -> Floats:
        return np.array([_low(int(counts.counts[i]), int(sizes[i])) for i in some])

    baseline = timed(scipy_tails, repeats=1, warm_up=0)
    return Row(
        f"exact tails of {len(sizes):,} values in groups",
        bar=f"{TAILS_SECONDS:g} s",
        ours_seconds=ours.least,
        baseline="SciPy: two binomial laws, value by value",
        baseline_seconds=baseline.least * len(sizes) / len(some),
        peak_bytes=ours.peak_bytes,
        same_result=bool(np.allclose(ours.answer.low[some], baseline.answer, rtol=1e-9, atol=1e-15)),
        detail=f"least of {REPEATS} runs; the baseline by {len(some):,} values, lower tails only",
        bar_seconds=TAILS_SECONDS,
    )


def _low(amount: int, size: int) -> float:
    own = QUESTION.replacement
    tie = 1e-9 * max(1, size)
    below = int(np.ceil(size * own.elsewhere + amount * own.p * (1 - QUESTION.epsilon) - tie)) - 1
    kept = np.arange(amount + 1)
    others = stats.binom.cdf(below - kept, size - amount, own.elsewhere)
    return float(stats.binom.pmf(kept, amount, own.kept) @ others)


def release() -> Row:
    """Half a million rows, of which large groups are drawn from samples, in copies."""
    people = stand_in(ROWS)
    order = [*(j for j in range(len(SIZES)) if j != EDUCATION), EDUCATION]
    hierarchies: tuple[Hierarchy, ...] = tuple(flat_hierarchy(SIZES[j]) for j in order)
    codes: Ints = np.stack([people.columns[j] for j in order], axis=1)
    names = tuple(ATTRIBUTES[j] for j in order)
    table = Table(names, hierarchies, codes, sensitive=frozenset({ATTRIBUTES[EDUCATION]}))
    asked = SamplePerturbScale(p=0.5, p_cap=0.5, epsilon=0.5, delta=0.3, mode="balanced")
    context = MechanismContext(table)
    ours = timed(lambda: SAMPLE_PERTURB_SCALE.draw(context, asked, os.urandom), repeats=3)
    sizes = _sample_sizes(people)
    records = list(zip(*(people.columns[j].tolist() for j in order), strict=True))
    baseline = timed(lambda: _row_by_row(records, sizes, SIZES[EDUCATION]), repeats=1, warm_up=0)
    shown = np.bincount(ours.answer.columns[-1], minlength=SIZES[EDUCATION] + 1)[1:]
    own = np.bincount([row[-1] for row in baseline.answer], minlength=SIZES[EDUCATION] + 1)[1:]
    return Row(
        f"release of {ROWS:,} rows, large groups in copies of balanced samples",
        bar=f"{RELEASE_SECONDS:g} s and {RELEASE_RATIO} times as fast",
        ours_seconds=ours.least,
        baseline="Python: every record by random.SystemRandom",
        baseline_seconds=baseline.least,
        peak_bytes=ours.peak_bytes,
        same_result=bool(
            len(baseline.answer) == ROWS == shown.sum() and (np.abs(shown - own) < 0.05 * own + 500).all()
        ),
        detail="least of 3 runs; what is published is compared by value",
        bar_seconds=RELEASE_SECONDS,
    )


def _sample_sizes(people: Census) -> dict[tuple[int, ...], int]:
    """How many records are drawn of each group, as nodes of its six attributes."""
    table = base_table(people, EDUCATION, np.arange(ROWS, dtype=np.int32))
    samples = sample_sizes(table.counts, QUESTION, "chernoff_simple", "balanced")
    rows = table.by(tuple(range(len(table.sizes))))
    return {
        tuple(place + 1 for place in row): size
        for row, size in zip(rows.codes.tolist(), samples[np.argsort(rows.inverse)].tolist(), strict=True)
    }


def _row_by_row(
    records: list[tuple[int, ...]], sizes: dict[tuple[int, ...], int], m: int
) -> list[tuple[int, ...]]:
    system, groups = random.SystemRandom(), defaultdict(list)
    for record in records:
        groups[record[:-1]].append(record[-1])
    found = []
    for group, values in groups.items():
        n, n1 = len(values), sizes[group]
        values.sort()
        start = system.random()
        taken = [values[min(n - 1, int((i + start) * n / n1))] for i in range(n1)]
        drawn = [own if system.random() < 0.5 else system.randrange(m) + 1 for own in taken]
        extra = set(system.sample(range(n1), n % n1))
        for i, own in enumerate(drawn):
            found += [(*group, own)] * (n // n1 + (i in extra))
    return found


def pool(people: Census, table: GroupedValues) -> Row:
    """A pool of 5,000 queries with true answers, and their errors in expectation, plain and in copies."""

    def made() -> tuple[QueryPool, float, float]:
        drawn = query_pool(table, PoolQuestion(), words_of_pool())
        pooled = PooledCounts(table, drawn)
        samples = sample_sizes(table.counts, QUESTION, "chernoff_simple", "balanced")
        return drawn, pooled.error(QUESTION, table.counts.sizes), pooled.error(QUESTION, samples)

    ours = timed(made, repeats=REPEATS)
    drawn, *errors = ours.answer
    known = [column - 1 for j, column in enumerate(people.columns) if j != EDUCATION]
    education = people.columns[EDUCATION] - 1

    def scanned() -> list[int]:
        found = []
        for columns, places, value in drawn.queries[:CHECKED]:
            inside = education == value
            for j, place in zip(columns, places, strict=True):
                inside &= known[j] == place
            found.append(int(np.count_nonzero(inside)))
        return found

    baseline = timed(scanned, repeats=1)
    right = [drawn.answers[own] for own in drawn.queries[:CHECKED]] == baseline.answer
    return Row(
        f"pool of {len(drawn.queries):,} queries on {RECORDS:,} records, with expected errors",
        bar=f"{POOL_SECONDS:g} s",
        ours_seconds=ours.least,
        baseline="numpy: a scan of the records for the true answer of every query drawn",
        baseline_seconds=baseline.least * drawn.draws / CHECKED,
        peak_bytes=ours.peak_bytes,
        counters={"draws": drawn.draws, "plain": errors[0], "balanced": errors[1]},
        same_result=right and bool(np.allclose(errors, [0.045838, 0.048634], atol=1e-6)),
        detail=f"least of {REPEATS} runs; the baseline by {CHECKED} queries, and without errors",
        bar_seconds=POOL_SECONDS,
    )


def all_settings() -> Row:
    """The 17 settings, from the records on."""

    def found() -> dict[str, tuple[float, ...]]:
        tables = base_tables(Effort(), EDUCATION)
        pooled = [PooledCounts(own, query_pool(own, PoolQuestion(), words_of_pool())) for own in tables]
        errors = {}
        for varied, settings in SETTINGS.items():
            own = []
            for setting in settings:
                table, question = tables[setting.table], setting.question(tables[setting.table].n_values)
                failing = GroupsUnderTest(table.counts, question).failing("chernoff_simple")
                samples = sample_sizes(table.counts, question, "chernoff_simple", "balanced")
                plain = pooled[setting.table].error(question, table.counts.sizes)
                copied = pooled[setting.table].error(question, samples)
                own.append(copied if failing.any() else plain)
            errors[varied] = tuple(own)
        return errors

    ours = timed(found, repeats=1, warm_up=0)
    same = all(np.allclose(ours.answer[varied], own, atol=1e-6) for varied, own in EXPECTED.items())
    return Row(
        "groups that violate and expected errors of 17 settings, up to 500,000 records",
        bar=f"{SETTINGS_SECONDS:g} s",
        ours_seconds=ours.least,
        peak_bytes=ours.peak_bytes,
        same_result=same,
        detail="one run, the census made in it; errors are compared with those of an independent script",
        bar_seconds=SETTINGS_SECONDS,
    )


def experiments() -> Row:
    """R1 to R4 as the command runs them, all that they draw included, and nothing kept from before."""
    ours = timed(lambda: [own.run(Effort()) for own in chosen(EXPERIMENTS)], repeats=1, warm_up=0)
    claims = [claim for report in ours.answer for claim in report.claims if claim.grade == "exact"]
    return Row(
        f"experiments {EXPERIMENTS[0]} to {EXPERIMENTS[-1]} complete, up to {ROWS:,} records",
        bar=f"{EXPERIMENTS_SECONDS:g} s",
        ours_seconds=ours.least,
        peak_bytes=ours.peak_bytes,
        counters={"claims": len(claims), "seeds": Effort().seeds},
        same_result=all(claim.holds for claim in claims),
        detail="one run, ten releases a point; every exact claim holds",
        bar_seconds=EXPERIMENTS_SECONDS,
    )
