"""Criteria of the whole table, weights and aggregates on the credit cards and on Adult with missing values.

What a search finds is measured again by the measures, and held against every rule judged by hand.
"""

from __future__ import annotations

import os
from functools import cache

import numpy as np
import pytest

from app.domain.classes.released import Release
from app.domain.gates.optima import loss_of_release
from app.domain.losses.loss import LossChoice
from app.domain.models.class_suppression import ClassSuppression, suppress_failing, suppress_records
from app.domain.models.journalist_risk import AverageJournalistRisk, MarketerRisk
from app.domain.models.k_anonymity import EQUIVALENCE_CLASSES, KAnonymity
from app.domain.models.population_uniqueness import (
    POPULATION_UNIQUENESS,
    PopulationUniqueness,
    SampleUniqueness,
)
from app.domain.models.prosecutor_risk import AverageRisk
from app.domain.models.reidentification_risk import ATTACKER_MODELS
from app.domain.risk.utility import build_utility
from app.domain.search.full_domain.plan import suppressed_by_population
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.search.least_loss import least_loss_plan
from tests.oracles.real_tables_by_hand import adult_with_missing_values, best_and_worst, credit_cards
from tests.oracles.weighed_losses import best_by_hand, value_of
from tests.unit.measures.populations_by_hand import context_of, measured

pytestmark = [
    pytest.mark.real_data,
    pytest.mark.skipif(
        os.environ.get("PRIVACY_RISK_DATA") is None,
        reason="PRIVACY_RISK_DATA does not name the folder of real data",
    ),
]
CARDS = ("SEX", "EDUCATION", "MARRIAGE", "AGE")
TIE = 1e-9


def by_size(records, people):
    return (records,)


def by_people(records, people):
    return (people, records)


def uniques_within(share):
    return lambda records, people: (records == 1).sum() <= share * records.sum() + TIE


def mean_within(risk):
    return lambda records, people: len(records) <= risk * records.sum() + TIE


def marketer_within(risk):
    return lambda records, people: (records / people).sum() <= risk * records.sum() + TIE


def journalist_within(risk):
    def enough(records, people):
        least = risk * people.sum() + TIE
        return len(records) <= least and marketer_within(risk)(records, people)

    return enough


def searched(hand, criterion, limit, choice, dictionary=None):
    """The outcome, the table, and whose records its rule suppresses: as many as it says and as may be."""
    table = hand.table()
    plan = least_loss_plan(table, AnonymityProblem((criterion,), limit, choice), dictionary=dictionary)
    found = plan.combine({0: plan.run_block(0, lambda _: None)})
    gone = plan.suppressed_records(found.rule.levels)
    assert gone.sum() == found.suppressed_records <= limit * hand.n
    assert found.bounds.lower <= found.loss
    assert (found.status == "optimal") == (found.bounds.gap <= 1e-12 * max(1.0, found.loss))
    stated = ClassSuppression((criterion,), order="class_by_class")
    if dictionary is None:
        assert (suppress_failing(table, found.rule, stated)[1] == gone).all()
    else:
        assert (suppressed_by_population(table, found.rule, stated, dictionary) == gone).all()
    return found, table, gone


def attained_by(criterion, context):
    """What the measure of the criterion says of a release."""
    match criterion:
        case SampleUniqueness():
            return measured(EQUIVALENCE_CLASSES, context).unique_share
        case PopulationUniqueness():
            return measured(POPULATION_UNIQUENESS, context, population=criterion.population).decision.share
        case AverageRisk():
            return measured(ATTACKER_MODELS, context).prosecutor.average_per_record
        case MarketerRisk():
            return measured(ATTACKER_MODELS, context).marketer.share_re_identified
    return measured(ATTACKER_MODELS, context).journalist.average


def check_measured(hand, criterion, limit, choice, dictionary=None):
    """What is found is what the measures say of its release, and within the threshold; the outcome."""
    found, table, gone = searched(hand, criterion, limit, choice, dictionary)
    rule = suppress_records(table, found.rule, gone) if gone.any() else found.rule
    context = context_of(table, rule, dictionary)
    attained = attained_by(criterion, context)
    assert attained <= criterion.threshold + TIE
    assert found.privacy[0].value == pytest.approx(attained, rel=1e-12)
    lost = loss_of_release(Release(table, rule), choice, build_utility(table))
    assert found.loss == pytest.approx(lost, rel=1e-12)
    return found


def check_every_rule(hand, criterion, limit, weights, order, enough, dictionary=None):
    named = dict(zip(hand.names, weights, strict=True))
    choice = LossChoice("arithmetic", weights=named)
    found = check_measured(hand, criterion, limit, choice, dictionary)
    best, worst = best_and_worst(hand, weights, int(limit * hand.n), order, enough)
    assert found.bounds.lower <= best + TIE
    assert best - TIE <= found.loss <= worst + TIE


OF_SAMPLES = pytest.mark.parametrize(
    ("criterion", "enough"),
    [
        (SampleUniqueness(0.001), uniques_within(0.001)),
        (SampleUniqueness(0.0), uniques_within(0.0)),
        (AverageRisk(0.02), mean_within(0.02)),
    ],
    ids=["few uniques", "no uniques", "average risk"],
)


@pytest.mark.deep
@pytest.mark.parametrize("limit", [0.02, 0.1])
@OF_SAMPLES
def test_criteria_of_the_sample_are_met_by_the_rule_of_least_loss(criterion, enough, limit):
    hand = credit_cards(*CARDS, n=5_000)
    check_every_rule(hand, criterion, limit, (0.5, 1.0, 2.0, 3.0), by_size, enough)


@pytest.mark.parametrize("limit", [0.02, pytest.param(0.1, marks=pytest.mark.deep)])
@OF_SAMPLES
def test_missing_values_are_a_category_of_their_own(criterion, enough, limit):
    hand = adult_with_missing_values()
    check_every_rule(hand, criterion, limit, (3.0, 1.0, 1.0, 1.0, 2.0), by_size, enough)


@pytest.mark.deep
@OF_SAMPLES
def test_criteria_of_the_sample_are_met_by_the_best_of_360_rules(criterion, enough):
    hand = credit_cards("LIMIT_BAL", *CARDS)
    check_every_rule(hand, criterion, 0.04, (1.0, 0.5, 1.0, 2.0, 3.0), by_size, enough)


@pytest.mark.deep
@pytest.mark.parametrize("limit", [0.02, 0.1])
@pytest.mark.parametrize(
    ("criterion", "enough"),
    [
        (MarketerRisk(0.005), marketer_within(0.005)),
        (AverageJournalistRisk(0.005), journalist_within(0.005)),
    ],
    ids=["marketer", "journalist"],
)
def test_criteria_of_a_population_are_met_by_the_rule_of_least_loss(criterion, enough, limit):
    """The first 3,000 cards among all of them."""
    hand = credit_cards(*CARDS, n=3_000)
    check_every_rule(hand, criterion, limit, (0.5, 1.0, 2.0, 3.0), by_people, enough, hand.dictionary())


OF_TABLES = pytest.mark.parametrize(
    "criterion",
    [SampleUniqueness(0.001), AverageRisk(0.02), PopulationUniqueness(0.0005, population=600_000)],
    ids=lambda criterion: criterion.kind,
)


@pytest.mark.deep
@OF_TABLES
@pytest.mark.parametrize("aggregate", ["sum", "mean"])
def test_what_is_found_is_what_the_measures_say(criterion, aggregate):
    """Of population uniqueness by the estimate that the decision rule takes."""
    choice = LossChoice("arithmetic", weights={"AGE": 3.0}, aggregate=aggregate)
    check_measured(credit_cards(*CARDS), criterion, 0.04, choice)


@OF_TABLES
@pytest.mark.parametrize(
    "choice",
    [
        LossChoice("arithmetic", weights={"AGE": 3.0}, aggregate="maximum"),
        LossChoice("squared_error", numeric=("AGE",)),
    ],
    ids=["maximum", "squared error"],
)
def test_without_suppression_it_is_for_the_greatest_loss_and_squared_errors_too(criterion, choice):
    found = check_measured(credit_cards(*CARDS), criterion, 0.0, choice)
    assert (found.status, found.suppressed_records) == ("optimal", 0)


CHOICES = (
    LossChoice("arithmetic", weights={"AGE": 3.0, "SEX": 0.5}, aggregate="sum"),
    LossChoice("arithmetic", weights={"AGE": 3.0}, suppression_factor=0.25),
    LossChoice("arithmetic", aggregate="maximum", suppression_factor=0.75),
    LossChoice("arithmetic", aggregate="rank", weights={"EDUCATION": 2.0}),
    LossChoice("squared_error", numeric=("AGE",), suppression_factor=0.75),
    LossChoice("squared_error", numeric=("AGE",), aggregate="rank"),
)


@cache
def rated(names, n, k, limit):
    """Per choice (levels, value, suppressed) of every rule after which all classes have k records."""
    hand = credit_cards(*names, n=n)
    found = [[] for _ in CHOICES]
    for levels in hand.rules():
        of, records, _ = hand.classes(levels)
        gone = (records < k)[of]
        if gone.sum() <= int(limit * hand.n):
            for place, choice in enumerate(CHOICES):
                value = value_of(choice, losses(hand, choice, levels, gone), hand.names)
                found[place].append((levels, value, int(gone.sum())))
    return found


def losses(hand, choice, levels, gone):
    """The loss of each attribute, 0 for what is shown as it is and 1 where all records are suppressed."""
    kept, lost = min(1.0, 2 - 2 * choice.suppression_factor), min(1.0, 2 * choice.suppression_factor)
    shown, most = hand.leaves(levels)
    for j, name in enumerate(hand.names):
        if name in choice.numeric:
            cost, whole, least = hand.squares(name, levels[j]), hand.squares(name, hand.heights[j]), 0
        else:
            cost, whole, least = shown[j], np.full(hand.n, most[j]), 1
        total = np.where(gone, cost + lost * (whole - cost), kept * cost).sum()
        yield float((total - kept * least * hand.n) / (whole.sum() - kept * least * hand.n))


def check_choice(names, n, place, limit):
    choice, of_all = CHOICES[place], rated(names, n, 5, limit)
    levels, value, suppressed = best_by_hand(of_all[place])
    found, _, _ = searched(credit_cards(*names, n=n), KAnonymity(5), limit, choice)
    assert (found.status, found.rule.levels, found.suppressed_records) == ("optimal", levels, suppressed)
    assert found.loss == pytest.approx(value[0], abs=1e-10)


@pytest.mark.parametrize("place", range(len(CHOICES)))
def test_weighed_optima_are_those_of_trying_every_rule(place):
    check_choice(CARDS, 3_000, place, 0.04)


@pytest.mark.deep
@pytest.mark.parametrize("limit", [0.0, 0.04])
@pytest.mark.parametrize("place", range(len(CHOICES)))
def test_weighed_optima_of_all_cards_are_those_of_trying_360_rules(place, limit):
    check_choice(("LIMIT_BAL", *CARDS), None, place, limit)
