"""The page on figures that differ: every figure twice, and as it stands there.

The second way has the expected counts of a sample from scipy's negative binomial, thinned person by person,
fractions for sums, and loops over people for δ-presence.
"""

from __future__ import annotations

import itertools
import math
import os
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import root
from scipy.stats import hypergeom, nbinom

from app.domain.analyses.information_loss import INFORMATION_LOSS
from app.domain.classes.grouping import Grouping
from app.domain.classes.uniqueness import (
    classes_of_population,
    decision_rule,
    pitman,
    sample_of,
    slide_negative_binomial,
    zayatz,
)
from app.domain.dictionaries.dictionary import Dictionary, link_identity
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.losses.loss import LossChoice
from app.domain.models.class_suppression import ClassSuppression, suppress_classes, suppress_failing
from app.domain.models.delta_presence import DELTA_PRESENCE, DeltaPresence
from app.domain.models.k_anonymity import KAnonymity
from app.domain.models.population_uniqueness import PopulationUniqueness, SampleUniqueness
from app.domain.rules.rule import TableRule
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.search.least_loss import least_loss_plan
from app.domain.tables.table import Table
from tests.oracles.adult_by_hand import read_rows
from tests.unit.measures.populations_by_hand import context_of, measured
from tests.unit.search.least_loss_tables import read, solve

PAGE = (Path(__file__).parents[2] / "docs" / "other-tools.md").read_text()
WORDS = " ".join(PAGE.split())
DATA = os.environ.get("PRIVACY_RISK_DATA")
real_data = [
    pytest.mark.real_data,
    pytest.mark.skipif(not DATA, reason="PRIVACY_RISK_DATA does not point at the public data sets"),
]
SIZES = Counter({1: 30, 2: 6, 3: 3, 5: 1, 9: 1, 14: 1})
AMERICANS = 317_238_626
MOST = (1 + math.sqrt(2)) * math.exp(-math.sqrt(2))
"""The greatest s (1 + s/2) exp(−s)."""


def sample(sizes, people):
    return sample_of(np.array(sorted(sizes.elements()), dtype=np.int64), people)


def classes_by_hand(sizes, f, *, as_written=False):
    """K: the modified estimator of Shlosser, or with 1 taken off for each size."""
    seen = sum((1 - f) ** i * c for i, c in sizes.items())
    second = sum(
        ((1 - f) * (1 + f)) ** i * c - (1 if as_written else (1 - f) ** i * c) for i, c in sizes.items()
    )
    first = sum(i * f * f * (1 - f * f) ** (i - 1) * c for i, c in sizes.items())
    once = sum(i * f * (1 - f) ** (i - 1) * c for i, c in sizes.items())
    return float(sizes.total() + sizes[1] * first / second * (seen / once) ** 2)


def expected(total, f, alpha, beta):
    """E c_1 and E c_2 from the one person and the thinned others of every class."""
    p = nbinom.pmf([0, 1, 2], alpha, beta / (beta + f * (1 - beta)))
    return [total * (f * p[j - 1] + (1 - f) * p[j]) for j in (1, 2)]


def second_as_written(total, f, alpha, beta):
    q = (1 - f) * (1 - beta)
    return (
        total * f * f * alpha * (1 - beta) * beta**alpha * (1 - q) ** (alpha + 2) * (2 - (1 - alpha) * q) / 2
    )


def fitted_by_scipy(total, f, ones, twos):
    """All solutions (α, β) found from many beginnings."""

    def off(logs):
        alpha, beta = math.exp(logs[0]), 1 / (1 + math.exp(-logs[1]))
        return [
            math.log(own / seen)
            for own, seen in zip(expected(total, f, alpha, beta), (ones, twos), strict=True)
        ]

    found = []
    for begin in itertools.product((-3.0, -1.5, 0.0), (-36.0, -20.0, -8.0, -2.0, 0.0)):
        with np.errstate(all="ignore"):
            try:
                end = root(off, begin, tol=1e-14)
            except (OverflowError, ValueError):
                continue
        if max(map(abs, end.fun)) < 1e-10:
            found.append((math.exp(end.x[0]), 1 / (1 + math.exp(-end.x[1]))))
    return found


@pytest.mark.spec("FM-4")
def test_the_parameters_are_those_of_the_equations_as_published():
    f, drawn = Fraction(1, 5), sample(SIZES, 395)
    total = classes_by_hand(SIZES, f)
    ours = slide_negative_binomial(drawn)
    solutions = fitted_by_scipy(total, 0.2, 30, 6)
    assert solutions
    for alpha, beta in solutions:
        assert ours.fitted["alpha"] == pytest.approx(alpha, rel=1e-9)
        assert ours.fitted["beta"] == pytest.approx(beta, rel=1e-9)
        assert ours.uniques == pytest.approx(total * beta**alpha, rel=1e-9)
    assert classes_of_population(drawn) == pytest.approx(total, rel=1e-12)
    alpha, beta = solutions[0]
    row = f"| {total:.3f} | | {alpha:.6f} | {beta:.6g}"
    assert f"| as published, and here {row} | {ours.uniques:.3f} |" in PAGE


def test_the_closed_forms_are_those_of_thinned_people():
    for f, alpha, beta in itertools.product((0.05, 0.5, 0.9), (0.2, 1.0, 3.0), (0.1, 0.6)):
        q = (1 - f) * (1 - beta)
        first = 100 * f * beta**alpha * (1 - q) ** -alpha * (1 + alpha * q / (1 - q))
        second = (
            100
            * f
            * f
            * alpha
            * (1 - beta)
            * beta**alpha
            * (2 - (1 - alpha) * q)
            / 2
            / (1 - q) ** (alpha + 2)
        )
        assert [first, second] == pytest.approx(expected(100, f, alpha, beta), rel=1e-12)


def test_as_written_the_equations_have_no_solution():
    for f, s, beta in itertools.product(
        (1e-4, 0.2, 0.9), np.linspace(0.01, 8, 200), np.linspace(0.001, 0.999, 200)
    ):
        assert second_as_written(1, f, s / (1 - beta), beta) <= MOST * f * f
    assert MOST < 0.587
    f = Fraction(1, 5)
    written = classes_by_hand(SIZES, f, as_written=True)
    greatest = MOST * written * 0.04
    assert greatest < 6
    assert f"| as ARX writes it | {written:.3f} | {greatest:.3f} | none | none | none |" in PAGE
    three = Counter((1, 2, 3))
    few, enough = (classes_by_hand(three, Fraction(1, 2), as_written=own) for own in (True, False))
    assert few < 3 < enough
    assert f"makes K = {few:.3f}: fewer classes in the population than in the sample." in WORDS
    assert f"As published it is {enough:.3f}" in WORDS
    assert classes_of_population(sample(three, 12)) == pytest.approx(enough, rel=1e-12)


@pytest.mark.spec("FM-4")
def test_the_decision_rule_takes_the_lesser_estimate():
    drawn = sample(SIZES, 395)
    once = {i: hypergeom.pmf(1, 395, i, 79) for i in SIZES}
    by_bayes = 30 * 30 * once[1] / sum(c * once[i] for i, c in SIZES.items()) / 0.2
    by_zayatz, by_snb = zayatz(drawn), slide_negative_binomial(drawn)
    assert by_zayatz.uniques == pytest.approx(by_bayes, rel=1e-9)
    ours = decision_rule(drawn, pitman(drawn), by_zayatz, by_snb)
    assert (ours.estimator, ours.uniques) == ("slide_negative_binomial", by_snb.uniques)
    assert f"That is {by_bayes:.3f} by both tools" in WORDS
    assert f"is {ours.uniques:.3f}, and ARX's is {by_bayes:.3f}" in WORDS


CITIES = Hierarchy.from_parents({"Oslo": [None], "Bergen": [None], "Tromsø": [None]})
PEOPLE = {"Oslo": 10, "Bergen": 10, "Tromsø": 5}


def northerners(released):
    """The released as a table, and everybody as a dictionary."""
    rows = CITIES.encode([city for city, number in released.items() for _ in range(number)])[0]
    everybody = [city for city, number in PEOPLE.items() for _ in range(number)]
    return Table(("city",), (CITIES,), rows[:, None]), Dictionary(
        25, (link_identity("city", CITIES, everybody),)
    )


def by_arx(released, lower, upper, k):
    """The rule as read: what is too small is asked nothing else, and suppressed; so no record may be."""
    lost, present = 0, True
    for city, people in PEOPLE.items():
        records = released.get(city, 0)
        if records < k:
            lost += records
        elif not lower <= records / people <= upper:
            lost, present = lost + records, present and records > 0
    return present and not lost


@pytest.mark.spec("FM-4")
@pytest.mark.parametrize(("lower", "k"), [(0.1, 0), (0.1, 2), (0.0, 2)])
def test_delta_presence_asks_for_tuples_without_records(lower, k):
    released = {"Oslo": 4, "Bergen": 5}
    table, everybody = northerners(released)
    shares = [released.get(city, 0) / people for city, people in PEOPLE.items()]
    holds = all(lower <= share <= 1 for share in shares) and all(own >= k for own in released.values())
    criteria = (DeltaPresence(lower, 1.0), *([KAnonymity(k)] if k else []))
    plan = least_loss_plan(table, AnonymityProblem(criteria), dictionary=everybody)
    found = plan.combine({0: plan.run_block(0, lambda _: None)})
    assert (found.rule.levels == (0,)) == holds
    ours = measured(DELTA_PRESENCE, context_of(table, dictionary=everybody), lower=lower, upper=1.0)
    assert (ours.least, ours.is_delta_present) == (min(shares), holds)
    asked = f"({lower:g}, 1)-presence" + (f" and {k}-anonymity" if k else "")
    said = ["passes" if own else "fails" for own in (holds, by_arx(released, lower, 1.0, k))]
    assert f"| {asked} | {ours.least:g} | {said[0]} | {said[1]} |" in PAGE


def test_a_suppressed_record_is_not_taken_for_absent():
    table, everybody = northerners({"Oslo": 4, "Bergen": 5, "Tromsø": 1})
    rule, suppressed = suppress_classes(table, TableRule((0,)), 2)
    assert suppressed.sum() == 1
    ours = measured(DELTA_PRESENCE, context_of(table, rule, everybody), lower=0.1, upper=1.0)
    assert (ours.is_delta_present, ours.entities_without_records, ours.classes_failing) == (True, 0, 0)


@pytest.fixture(scope="module")
def adult() -> Table:
    return read("arx-adult", "adult.csv", "adult_hierarchy_")


class TestOnAdult:
    pytestmark = real_data

    def test_the_criterion_as_written_is_that_nobody_is_unique_in_the_sample(self, adult):
        found = solve(adult, AnonymityProblem((SampleUniqueness(0.0),), 0.04))
        assert (found.status, found.rule.levels) == ("optimal", (0, 3, 0, 0, 2, 1, 1, 1, 0))
        assert found.loss == pytest.approx(0.17599055898432758, abs=1e-9)
        assert found.suppressed_records == 1009
        assert "a loss of 0.17599055898 at the levels 0,3,0,0,2,1,1,1,0" in WORDS
        assert "with all 1,009 unique records suppressed" in WORDS
        shown = measured_classes(adult, found.rule)
        f = adult.n_records / AMERICANS
        assert shown[2] > 0
        assert MOST * classes_by_hand(shown, f, as_written=True) * f * f < 1

    def test_with_the_equations_as_published_less_is_lost(self, adult):
        asked = PopulationUniqueness(1e-4, population=AMERICANS, estimator="slide_negative_binomial")
        rule, gone = suppress_failing(
            adult, TableRule((0, 3, 0, 0, 1, 1, 0, 1, 0)), ClassSuppression((asked,), order="class_by_class")
        )
        context = context_of(adult, rule)
        left = Counter(context.release.classes(Grouping()).records.tolist())
        people = round(AMERICANS * (~gone).sum() / adult.n_records)
        f = (~gone).sum() / people
        total = classes_by_hand(left, f)
        solutions = fitted_by_scipy(total, f, left[1], left[2])
        assert solutions
        drawn = sample(left, people)
        ours = slide_negative_binomial(drawn).uniques
        for alpha, beta in solutions:
            assert ours == pytest.approx(total * beta**alpha, rel=1e-6)
        assert ours / people <= 1e-4
        lost = measured(INFORMATION_LOSS, context).geometric
        row = f"| {lost:.10f} | {gone.sum():,} | {left[1]:,} | {ours / people:.7f} |"
        assert f"| 0,3,0,0,1,1,0,1,0 {row}" in PAGE
        shares = pitman(drawn).uniques / people, zayatz(drawn).uniques / people
        assert f"estimate is {shares[0]:.7f} and that of Zayatz {shares[1]:.7f}" in WORDS

    @pytest.mark.deep
    @pytest.mark.parametrize(
        ("lower", "upper", "levels", "size"),
        [(0.0, 0.2, (1, 4, 1, 1, 0, 2, 2, 0), 52.0), (0.05, 0.15, (0, 4, 0, 1, 3, 2, 2, 1), 150.8)],
    )
    def test_delta_presence_alone_has_the_published_optima(self, lower, upper, levels, size):
        part = read("arx-adult", "adult_subset.csv", "adult_hierarchy_")
        part = replace(part, sensitive=frozenset({"occupation"}))
        header, *rows = read_rows(Path(DATA or "") / "arx-adult" / "adult.csv")
        links = tuple(
            link_identity(name, part.hierarchies[j], [row[header.index(name)] for row in rows])
            for j, name in enumerate(part.attributes)
            if name != "occupation"
        )
        problem = AnonymityProblem((DeltaPresence(lower, upper),), loss=LossChoice("average_class_size"))
        plan = least_loss_plan(part, problem, dictionary=Dictionary(len(rows), links))
        found = plan.combine({0: plan.run_block(0, lambda _: None)})
        others = tuple(found.rule.levels[j] for j in part.quasi_identifiers)
        assert (found.status, others, found.loss) == ("optimal", levels, pytest.approx(size, abs=1e-9))
        assert f"| {lower:g}, {upper:g} | {','.join(map(str, levels))} | {size} |" in PAGE


def measured_classes(table, rule):
    """How many classes of each size there are before anybody is suppressed."""
    return Counter(context_of(table, rule).release.classes(Grouping()).records.tolist())
