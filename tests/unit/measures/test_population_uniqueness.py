"""Uniqueness of a population: each estimator against its definition, the decision rule, Adult's figures."""

from __future__ import annotations

import csv
import itertools
import math
import os
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.classes.uniqueness import (
    Estimate,
    Sample,
    classes_of_population,
    decision_rule,
    pitman,
    sample_of,
    slide_negative_binomial,
    zayatz,
)
from app.domain.errors import InvalidInput
from app.domain.hierarchies.builders import flat
from app.domain.models.population_uniqueness import POPULATION_UNIQUENESS, PopulationUniquenessParameters
from app.domain.models.reidentification_risk import ATTACKER_MODELS
from app.domain.tables.table import Table
from tests.oracles.effort import examples
from tests.unit.measures.populations_by_hand import context_of, measured, population_of, table_of

DATA = os.environ.get("PRIVACY_RISK_DATA")

SIZES = [1] * 30 + [2] * 6 + [3] * 3 + [5, 9, 14]
TABLE = table_of(
    [("a", "f", "flu"), ("a", "f", "flu"), ("b", "f", "cold"), ("c", "m", "flu"), ("d", "m", "flu")]
)


def sample(sizes, population) -> Sample:
    return sample_of(np.array(sizes, dtype=np.int64), population)


@pytest.mark.spec("FM-4")
@given(st.lists(st.integers(1, 6), min_size=1, max_size=8), st.integers(0, 40))
@settings(max_examples=examples(40), deadline=None)
def test_zayatz_is_the_rule_of_bayes_with_hypergeometric_draws(sizes, others):
    n = sum(sizes)
    population = n + others

    def once(i):
        """P(one of i people is drawn into a sample of n)."""
        return Fraction(i * math.comb(population - i, n - 1), math.comb(population, n))

    unique = sizes.count(1)
    wanted = 0
    if unique:
        wanted = unique * unique * once(1) / sum(once(i) for i in sizes) * Fraction(population, n)
    assert zayatz(sample(sizes, population)).uniques == pytest.approx(float(wanted), rel=1e-12)


def log_likelihood(sizes, theta, alpha):
    """Pitman's sampling formula, by sums."""
    blocks = sum(math.log(theta + i * alpha) for i in range(1, len(sizes)))
    draws = sum(math.log(theta + i) for i in range(1, sum(sizes)))
    return blocks - draws + sum(math.log(i - alpha) for size in sizes for i in range(1, size))


@pytest.mark.spec("FM-4")
@pytest.mark.parametrize("sizes", [SIZES, [1] * 200 + [2] * 30 + [40], [1, 1, 1, 1, 2, 30], [1] * 9 + [400]])
def test_pitman_is_fitted_where_the_likelihood_is_greatest(sizes):
    found = pitman(sample(sizes, 100_000))
    theta, alpha = found.fitted["theta"], found.fitted["alpha"]
    best = log_likelihood(sizes, theta, alpha)
    for by_theta, by_alpha in itertools.product((-1e-3, 0, 1e-3), (-1e-4, 0, 1e-4)):
        near = theta + by_theta * (theta + alpha), alpha + by_alpha
        assert log_likelihood(sizes, *near) <= best
    for other in np.linspace(0.02, 0.98, 25):
        for log in np.linspace(-6, 8, 25):
            assert log_likelihood(sizes, math.exp(log) - other, other) <= best + 1e-9
    expected = math.gamma(theta + 1) / math.gamma(theta + alpha) * 100_000**alpha
    assert found.uniques == pytest.approx(expected, rel=1e-9)


@pytest.mark.spec("FM-4")
@pytest.mark.parametrize(
    ("alpha", "beta", "fraction"),
    [(0.5, 0.1, 0.3), (2, 0.5, 0.2), (0.8, 0.6, 0.5), (5, 0.7, 0.15), (1, 0.3, 0.9)],
)
def test_the_slide_negative_binomial_finds_the_parameters_of_expected_counts(
    alpha, beta, fraction, monkeypatch
):
    """With K and the expected c_1 and c_2 of a population of the model, summed over its class sizes."""
    total, expected = 1e9, [0.0, 0.0]
    for size in range(1, 2000):
        mass = math.exp(
            math.lgamma(alpha + size - 1)
            - math.lgamma(alpha)
            - math.lgamma(size)
            + (size - 1) * math.log1p(-beta)
            + alpha * math.log(beta)
        )
        expected[0] += total * mass * size * fraction * (1 - fraction) ** (size - 1)
        expected[1] += total * mass * math.comb(size, 2) * fraction**2 * (1 - fraction) ** (size - 2)
    c1, c2 = round(expected[0]), round(expected[1])
    monkeypatch.setattr("app.domain.classes.uniqueness.classes_of_population", lambda sample: total)
    drawn = Sample(np.array([1, 2]), np.array([c1, c2]), round((c1 + 2 * c2) / fraction))
    found = slide_negative_binomial(drawn)
    assert found.fitted["alpha"] == pytest.approx(alpha, rel=1e-4)
    assert found.fitted["beta"] == pytest.approx(beta, rel=1e-4)
    assert found.uniques == pytest.approx(total * beta**alpha, rel=1e-4)


def test_the_classes_of_the_population_are_those_of_haas_and_stokes():
    p = Fraction(1, 5)
    counts = Counter(SIZES)
    first = sum(i * p**2 * (1 - p**2) ** (i - 1) * c for i, c in counts.items())
    second = sum((1 - p) ** i * ((1 + p) ** i - 1) * c for i, c in counts.items())
    third = sum((1 - p) ** i * c for i, c in counts.items())
    fourth = sum(i * p * (1 - p) ** (i - 1) * c for i, c in counts.items())
    wanted = len(SIZES) + counts[1] * first / second * (third / fourth) ** 2
    assert classes_of_population(sample(SIZES, 5 * sum(SIZES))) == pytest.approx(float(wanted), rel=1e-12)


@pytest.mark.spec("FM-4")
@pytest.mark.parametrize(
    ("sizes", "estimator", "reason"),
    [
        ([1, 1, 1, 1], pitman, "all are alike"),
        ([1] * 50 + [2], pitman, "α between 0 and 1"),
        ([1, 3, 3], slide_negative_binomial, "no classes of two"),
        ([1, 2], slide_negative_binomial, "no solution"),
    ],
)
def test_an_estimator_without_a_solution_says_so(sizes, estimator, reason):
    found = estimator(sample(sizes, 3 * sum(sizes)))
    assert found.uniques is None
    assert reason in found.failure


@pytest.mark.spec("FM-4")
def test_nothing_is_estimated_that_is_known():
    for estimator in (pitman, zayatz, slide_negative_binomial):
        assert estimator(sample([2, 3, 9], 1000)).uniques == 0
        assert estimator(sample(SIZES, sum(SIZES))).uniques == 30


@pytest.mark.spec("FM-4")
@pytest.mark.parametrize(
    ("population", "estimates", "wanted"),
    [
        (1000, (7.0, 8.0, 9.0), ("pitman", 7.0)),
        (1000, (None, 8.0, 7.0), ("zayatz", 8.0)),
        (999, (1.0, 8.0, 9.0), ("zayatz", 8.0)),
        (999, (1.0, 8.0, 7.0), ("slide_negative_binomial", 7.0)),
        (999, (1.0, 8.0, 8.0), ("slide_negative_binomial", 8.0)),
        (999, (1.0, 8.0, None), ("zayatz", 8.0)),
    ],
)
def test_the_decision_rule(population, estimates, wanted):
    choice = decision_rule(sample([1] * 100, population), *map(Estimate, estimates))
    assert (choice.estimator, choice.uniques) == wanted


def test_the_measure_says_how_large_the_population_is():
    context = context_of(TABLE)
    found = measured(POPULATION_UNIQUENESS, context, sampling_fraction=0.1)
    assert (found.population, found.sampling_fraction) == (50, 0.1)
    assert (found.sample_uniques, found.share_sample_uniques) == (3, 0.6)
    assert found.decision.share == found.decision.uniques / 50
    assert measured(POPULATION_UNIQUENESS, context, population=70).population == 70
    counted = context_of(TABLE, dictionary=population_of([("a", "f")] * 12))
    assert measured(POPULATION_UNIQUENESS, counted).population == 12


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"population": 4},
        {"population": 9, "sampling_fraction": 0.5},
        {"sampling_fraction": 1e-300},
        {"sampling_fraction": 5e-324},
    ],
)
def test_a_population_that_cannot_be_is_refused(parameters):
    with pytest.raises(InvalidInput):
        POPULATION_UNIQUENESS.cost(context_of(TABLE), PopulationUniquenessParameters(**parameters))


def test_records_left_out_stand_for_people_of_their_own():
    table = table_of([("a", "f", "flu"), ("b", "f", "flu"), ("c", "m", "flu"), (None, "m", "flu")])
    found = measured(POPULATION_UNIQUENESS, context_of(table), population=40, missing="excluded")
    assert (found.judged.records_missing, found.population, found.sampling_fraction) == (1, 30, 0.1)
    said = POPULATION_UNIQUENESS.supports(
        context_of(table), PopulationUniquenessParameters(missing="matches_everything", population=40)
    )
    assert "classes that no record shares" in said


@pytest.mark.real_data
@pytest.mark.skipif(not DATA, reason="PRIVACY_RISK_DATA does not point at the public data sets")
@pytest.mark.spec("FM-4")
@pytest.mark.spec("FM-3")
@pytest.mark.spec("FM-5.1")
def test_adult_has_its_published_figures():
    with Path(DATA or "", "arx-adult/adult.csv").open(encoding="utf-8") as lines:
        header, *rows = csv.reader(lines, delimiter=";")
    columns = list(zip(*rows, strict=True))
    hierarchies = [flat(sorted(set(column))) for column in columns]
    codes = [hierarchy.encode(column)[0] for hierarchy, column in zip(hierarchies, columns, strict=True)]
    context = context_of(Table(tuple(header), tuple(hierarchies), np.stack(codes, axis=1)))
    found = measured(POPULATION_UNIQUENESS, context, sampling_fraction=0.1)
    assert round(100 * found.share_sample_uniques, 2) == 51.43
    assert round(100 * found.pitman.share, 2) == 27.68
    assert (found.decision.estimator, found.decision.share) == ("pitman", found.pitman.share)
    prosecutor = measured(ATTACKER_MODELS, context).prosecutor
    assert round(prosecutor.average_per_record, 4) == 0.6466
    assert round(prosecutor.average_per_class, 4) == 0.8723
