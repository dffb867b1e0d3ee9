"""How fast sensitive values are perturbed and counted again: draws, matrices, COUNT queries."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Final

import numpy as np

from app.domain.arrays import Floats, Ints, Longs
from app.domain.catalogue.catalogue_types import CellValue
from app.domain.hierarchies.predicates import AskedAttribute, Predicate
from app.domain.losses.count_queries import Interval, LeafScale, Workload
from app.domain.mechanisms.count_estimates import CountEstimator, CountQuery, EstimateOptions
from app.domain.mechanisms.counted_release import CountedRelease
from app.domain.mechanisms.drawing import replaced
from app.domain.mechanisms.drawn_release import DrawnRelease
from app.domain.mechanisms.inverse_matrix import InverseMatrix
from app.domain.mechanisms.likeness_matrix import excess_amplification, safe_matrix
from app.domain.mechanisms.perturbation import PublishedPerturbation
from app.domain.mechanisms.published_records import PublishedRecords
from app.domain.mechanisms.transition_matrix import TransitionMatrix
from app.domain.tables.table import Table
from app.experiments.census import ATTRIBUTES, SALARY, SIZES, Census, census, hierarchy_of
from tests.benchmarks.row import Report, Row, timed

RECORDS: Final = 500_000
BETA: Final = Fraction(4)
DRAW_SECONDS: Final = 0.15
MATRIX_SECONDS: Final = 0.2
QUERIES_SECONDS: Final = 1.0
VALUES: Final = 10_000
DENSE_VALUES: Final = 2_000
QUERIES: Final = 5_000
CHECKED: Final = 50
REPEATS: Final = 5


def rows(data: Path | None, report: Report) -> None:
    """All measurements, on the surrogate census; no real data are needed."""
    people = census(1, RECORDS)
    matrix = _matrix(np.bincount(people.salaries, minlength=SIZES[SALARY]))
    report(draw(people, matrix))
    report(matrix_of_many_values())
    for predicates in (3, 5):
        report(count_queries(people, matrix, predicates))
    for is_kept in (False, True):
        report(asked_queries(people, matrix, is_kept))


def _matrix(totals: Longs) -> TransitionMatrix:
    return safe_matrix(excess_amplification(totals, BETA), totals / totals.sum()).matrix


def draw(people: Census, matrix: TransitionMatrix) -> Row:
    """Half a million values from the operating system's random bytes."""
    ours = timed(lambda: replaced(people.salaries, matrix, os.urandom), repeats=REPEATS)
    columns = matrix.dense().T.tolist()
    values = people.salaries.tolist()

    def one_by_one() -> list[int]:
        everything, system = range(matrix.n_values), random.SystemRandom()
        return [system.choices(everything, columns[value])[0] for value in values[: RECORDS // 10]]

    baseline = timed(one_by_one, repeats=1, warm_up=0)
    published = np.bincount(ours.answer, minlength=matrix.n_values)
    expected = matrix.published(np.bincount(people.salaries, minlength=matrix.n_values).astype(np.float64))
    return Row(
        f"perturb {RECORDS:,} records of {matrix.n_values} values",
        bar=f"{DRAW_SECONDS:g} s",
        ours_seconds=ours.least,
        baseline="random.SystemRandom.choices for every record",
        baseline_seconds=10 * baseline.least,
        peak_bytes=ours.peak_bytes,
        same_result=bool((np.abs(published - expected) < 6 * np.sqrt(expected)).all()),
        detail=f"least of {REPEATS} runs; the baseline by a tenth of the records; frequencies are compared",
        bar_seconds=DRAW_SECONDS,
    )


def matrix_of_many_values() -> Row:
    """The safe matrix of 10,000 values, checked and inverted, beside a dense one."""
    totals = np.random.default_rng(1).integers(1, 1000, VALUES)

    def checked(own: Longs) -> tuple[TransitionMatrix, Floats]:
        matrix = _matrix(own)
        InverseMatrix(matrix)
        return matrix, matrix.greatest_posteriors(own / own.sum())

    def dense(own: Longs) -> Floats:
        matrix = _matrix(own)
        rows = np.diag(matrix.retention) + matrix.elsewhere
        prior = own / own.sum()
        joint = rows * prior
        np.linalg.inv(rows)
        return np.asarray((joint / joint.sum(axis=1, keepdims=True)).max(axis=0))

    ours = timed(lambda: checked(totals), repeats=REPEATS)
    few = totals[:DENSE_VALUES]
    baseline = timed(lambda: dense(few), repeats=1, warm_up=0)
    return Row(
        f"safe matrix of {VALUES:,} values with all posteriors and its inverse",
        bar=f"{MATRIX_SECONDS:g} s",
        ours_seconds=ours.least,
        baseline="numpy: all entries, and the inverse by LU",
        baseline_seconds=baseline.least * (VALUES / DENSE_VALUES) ** 3,
        peak_bytes=ours.peak_bytes,
        same_result=bool(np.allclose(checked(few)[1], baseline.answer, rtol=1e-9)),
        detail=f"least of {REPEATS} runs; the baseline by {DENSE_VALUES:,} values, scaled by the cube",
        bar_seconds=MATRIX_SECONDS,
    )


def count_queries(people: Census, matrix: TransitionMatrix, predicates: int) -> Row:
    """COUNT queries with standard errors, from the columns of a release."""
    columns = dict(enumerate(people.columns[:SALARY]))
    sizes = {j: hierarchy_of(j).n_nodes for j in columns}
    published = replaced(people.salaries, matrix, os.urandom)
    queries = _queries(predicates)

    def answered() -> Floats:
        records = PublishedRecords.of(columns, sizes, published, matrix.n_values)
        found = CountEstimator(records, matrix).estimates(queries)
        return np.stack([found.estimates, found.standard_errors])

    ours = timed(answered, repeats=REPEATS)
    dense = np.linalg.inv(matrix.dense())

    def scanned() -> Floats:
        return np.array([_scanned(columns, published, query, dense) for query in queries[:CHECKED]])

    baseline = timed(scanned, repeats=1, warm_up=0)
    return Row(
        f"{QUERIES:,} COUNT queries on {predicates} of 5 quasi-identifiers of {RECORDS:,} records",
        bar=f"{QUERIES_SECONDS:g} s",
        ours_seconds=ours.least,
        baseline="numpy: a scan of the records for every query, without standard errors",
        baseline_seconds=baseline.least * QUERIES / CHECKED,
        peak_bytes=ours.peak_bytes,
        same_result=bool(np.allclose(ours.answer[0, :CHECKED], baseline.answer, rtol=1e-6, atol=1e-6)),
        detail=f"least of {REPEATS} runs, records reduced in each; the baseline by {CHECKED} queries",
        bar_seconds=QUERIES_SECONDS,
    )


def asked_queries(people: Census, matrix: TransitionMatrix, is_kept: bool) -> Row:
    """COUNT queries as they are asked of a release that was read: predicates in, estimates out."""
    published = replaced(people.salaries, matrix, os.urandom)
    hierarchies = tuple(hierarchy_of(j) for j in range(len(SIZES)))
    codes = np.stack([*people.columns[:SALARY], published + 1], axis=1).astype(np.int32)
    table = Table(ATTRIBUTES, hierarchies, codes, sensitive=frozenset({ATTRIBUTES[SALARY]}))
    values = tuple(CellValue(own) for own in hierarchies[SALARY].labels[1:])
    told = (tuple(own.tolist()) for own in (matrix.retention, matrix.elsewhere))
    prior = tuple([1 / len(values)] * len(values))
    release = DrawnRelease(
        table, "perturbation", PublishedPerturbation(ATTRIBUTES[SALARY], values, prior, *told)
    )
    attributes = [
        AskedAttribute(name, hierarchy, "number", top_is_missing=True)
        for name, hierarchy in zip(ATTRIBUTES, hierarchies, strict=True)
    ]
    asked, same = _asked(3), _queries(3)
    kept = CountedRelease.drawn(release, attributes)

    def answered() -> Floats:
        counted = kept if is_kept else CountedRelease.drawn(release, attributes)
        found = counted.estimates(counted.read(asked), EstimateOptions())
        return np.stack([found.estimates, found.standard_errors])

    ours = timed(answered, repeats=REPEATS)
    dense, columns = np.linalg.inv(matrix.dense()), dict(enumerate(people.columns[:SALARY]))

    def scanned() -> Floats:
        return np.array([_scanned(columns, published, query, dense) for query in same[:CHECKED]])

    baseline = timed(scanned, repeats=1, warm_up=0)
    return Row(
        f"{QUERIES:,} COUNT queries asked of a release of {RECORDS:,} rows"
        + (" that is in memory" if is_kept else ""),
        bar=f"{QUERIES_SECONDS:g} s",
        ours_seconds=ours.least,
        baseline="numpy: a scan of the records for every query, without standard errors",
        baseline_seconds=baseline.least * QUERIES / CHECKED,
        peak_bytes=ours.peak_bytes,
        counters={"estimated_seconds": kept.seconds(kept.read(asked))},
        same_result=bool(np.allclose(ours.answer[0, :CHECKED], baseline.answer, rtol=1e-6, atol=1e-6)),
        detail=f"least of {REPEATS} runs; 3 of 5 quasi-identifiers; the baseline by {CHECKED} queries",
        bar_seconds=QUERIES_SECONDS,
    )


def _asked(predicates: int) -> list[list[Predicate]]:
    """The queries below as they are asked: intervals of whole numbers."""
    return [
        [Predicate(ATTRIBUTES[j], None, int(first), int(last)) for j, (first, last) in own.items()]
        for own in _intervals(predicates)
    ]


def _intervals(predicates: int) -> Iterator[Mapping[int, Interval]]:
    scales = {j: LeafScale(hierarchy_of(j)) for j in range(len(SIZES))}
    workload = Workload(scales, range(SALARY), SALARY, predicates, 0.1, 1)
    return (workload.draw() for _ in range(QUERIES))


def _queries(predicates: int) -> list[CountQuery]:
    scales = {j: LeafScale(hierarchy_of(j)) for j in range(len(SIZES))}
    found = []
    for intervals in _intervals(predicates):
        asked = {j: scales[j].shares(own) for j, own in intervals.items()}
        found.append(CountQuery(asked, asked.pop(SALARY)[1:] > 0))
    return found


def _scanned(columns: Mapping[int, Ints], values: Ints, query: CountQuery, inverse: Floats) -> float:
    selected = np.ones(len(values), dtype=bool)
    for j, shares in query.shares.items():
        selected &= (shares > 0)[columns[j]]
    counts = np.bincount(values[selected], minlength=len(inverse))
    return float((inverse @ counts)[query.values].sum())
