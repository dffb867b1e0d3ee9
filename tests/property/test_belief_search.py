"""Criteria that cannot prune, breaches and estimates of uniqueness, against trying every rule."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.attacks.posterior_beliefs import POSTERIOR_BELIEFS
from app.domain.errors import InvalidInput, NotSupported
from app.domain.losses.loss import LossChoice
from app.domain.models.class_suppression import suppress_records
from app.domain.models.k_anonymity import KAnonymity
from app.domain.models.population_uniqueness import POPULATION_UNIQUENESS, PopulationUniqueness
from app.domain.models.rho_privacy import RhoPrivacy
from app.domain.search.budget import Budget
from app.domain.search.full_domain.plan import AnonymityPlan
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.tables.table import Table
from tests.oracles.beliefs_by_hand import Believed, with_values
from tests.oracles.effort import examples
from tests.oracles.least_loss import FLAT, tables
from tests.oracles.pairs_of_records import (
    Shown,
    best_by_hand,
    criteria_of,
    dictionary_of,
    exact,
    same_as_by_hand,
)
from tests.oracles.populations import context_of

LOSSES = ("geometric", "discernibility", "kl_divergence")


@st.composite
def informed(draw, most_attributes=2, missing=("own_category", "matches_everything", "excluded")):
    """A table, a problem with a bound on beliefs, and people with a sensitive value."""
    table = draw(tables(most_attributes=most_attributes, most_records=10, most_sensitive=1))
    (name,) = table.sensitive
    j = table.position(name)
    rho = draw(st.sampled_from([(0.2, 0.8), (0.34, 0.5), (0.5, 0.75), (0.6, 0.7), (0.4, 0.9)]))
    own = st.sampled_from([KAnonymity(2), *(RhoPrivacy(*rho, attribute=name) for _ in range(3))])
    privacy = [RhoPrivacy(*rho, attribute=name), *draw(st.lists(own, max_size=1))]
    reading = draw(st.sampled_from(missing))
    problem = AnonymityProblem(
        tuple(privacy),
        draw(st.sampled_from([0.0, 0.3, 0.5, 0.8])),
        LossChoice(draw(st.sampled_from(LOSSES if reading != "matches_everything" else ("geometric",)))),
        reading,
        "excluded" if reading != "matches_everything" else draw(st.sampled_from(["excluded", "own_block"])),
    )
    leaves = [table.hierarchies[i].leaves for i in (*table.quasi_identifiers, j)]
    listed = [
        tuple(int(own[code % len(own)]) for own, code in zip(leaves, row, strict=True))
        for row in table.codes[:, [*table.quasi_identifiers, j]].tolist()
    ]
    others = st.tuples(*(st.sampled_from(own.tolist()) for own in leaves))
    people = listed * draw(st.integers(0, 1)) + draw(st.lists(others, min_size=1, max_size=10))
    return table, problem, people


def plan_of(table, problem, people, budget=None):
    known = dictionary_of(table, people, with_values(table))
    return AnonymityPlan(table, problem, budget or Budget(), known)


def solved(table, problem, people, budget=None):
    plan = plan_of(table, problem, people, budget)
    return plan, plan.combine({0: plan.run_block(0, lambda _: None, lambda: False)})


def compare(question):
    table, problem, people = question
    expected = best_by_hand(table, problem, people, Believed)
    plan, found = solved(*question)
    if expected is None:
        assert (found.status, found.rule) == ("infeasible", None)
        return
    levels, loss, suppressed = expected
    assert found.status == "optimal"
    assert tuple(found.rule.levels[j] for j in table.quasi_identifiers) == levels
    assert found.loss == pytest.approx(loss, abs=1e-12, rel=1e-12)
    assert (
        found.suppressed_records == suppressed == np.count_nonzero(plan.suppressed_records(found.rule.levels))
    )


@given(informed())
@settings(deadline=None, max_examples=examples(40))
def test_rules_without_breaches_are_found_by_trying_them(question):
    compare(question)


@pytest.mark.deep
@given(informed(most_attributes=3))
@settings(deadline=None, max_examples=examples(400))
def test_rules_without_breaches_are_found_in_many_tables(question):
    compare(question)


@given(informed())
@settings(deadline=None, max_examples=examples(30))
def test_a_rule_without_breaches_is_private_when_it_is_measured(question):
    table, problem, people = question
    if problem.suppressed == "own_block":
        return
    plan, found = solved(*question)
    if found.rule is None:
        return
    rule = found.rule
    if found.suppressed_records:
        rule = suppress_records(table, rule, plan.suppressed_records(rule.levels))
    known = dictionary_of(table, people, with_values(table))
    own = problem.privacy[0]
    asked = POSTERIOR_BELIEFS.parameters(
        rho_1=own.rho_1, rho_2=own.rho_2, missing=problem.missing, attribute=own.attribute
    )
    said = POSTERIOR_BELIEFS.compute(context_of(table, rule, known), asked, lambda done: None)
    assert said.is_private
    if said.judged.records_judged:
        assert found.privacy[0].value <= own.rho_2 + 1e-9
        again = POSTERIOR_BELIEFS.parameters(
            rho_1=own.rho_1,
            rho_2=max(own.rho_1 + 1e-6, min(1 - 1e-6, found.privacy[0].value - 1e-6)),
            missing=problem.missing,
        )
        tighter = POSTERIOR_BELIEFS.compute(context_of(table, rule, known), again, lambda done: None)
        # What is said to be attained is the least that would do.
        assert found.privacy[0].value <= own.rho_1 + 1e-5 or not tighter.is_private


def test_a_population_that_does_not_say_the_value_is_refused_before_searching():
    question = AnonymityProblem((RhoPrivacy(attribute="s"),))
    table = small_table()
    with pytest.raises(NotSupported, match="does not say the 's'"):
        AnonymityPlan(table, question, Budget(), dictionary_of(table, [(1,), (2,)]))
    with pytest.raises(InvalidInput, match="none is given"):
        AnonymityPlan(table, question)


def small_table(n=6, missing=False):
    codes = [[1 + i % 4, 1 + i % 2] for i in range(n)]
    codes[0][0] = 0 if missing else codes[0][0]
    return Table(("q", "s"), (FLAT[2], FLAT[0]), np.array(codes, dtype=np.int32), sensitive=frozenset({"s"}))


ESTIMATORS = ("decision_rule", "pitman", "zayatz", "slide_negative_binomial")


def measured_share(table, rule, missing, own):
    """The estimate of the measure; infinite without a solution, 0 of no records."""
    asked = POPULATION_UNIQUENESS.parameters(
        sampling_fraction=own.sampling_fraction, population=own.population, missing=missing
    )
    said = POPULATION_UNIQUENESS.compute(context_of(table, rule, None), asked, lambda done: None)
    if own.estimator == "decision_rule":
        return 0.0 if said.decision is None else said.decision.share
    share = getattr(said, own.estimator).share
    return math.inf if share is None and said.judged.records_judged else share or 0.0


def zayatz_by_hand(sizes, people):
    """Sample uniques times the chance that one is unique altogether, over the fraction; in fractions."""
    n, classes = sum(sizes), Counter(sizes)
    if not classes[1] or people == n:
        return Fraction(classes[1])
    once = sum(
        count * Fraction(size * math.comb(people - size, n - 1), math.comb(people, n))
        for size, count in classes.items()
    )
    fraction = Fraction(n, people)
    return classes[1] * (classes[1] * fraction / once) / fraction


@dataclass
class Estimated(Shown):
    """Zayatz's estimate by hand."""

    def meets_together(self, criterion):
        if not isinstance(criterion, PopulationUniqueness):
            return super().meets_together(criterion)
        if not self.judged:
            return True
        n, total = len(self.judged), self.table.n_records
        people = criterion.population or max(total, round(total / criterion.sampling_fraction))
        people = max(1, round(people * n / total))
        sizes = [len(own) for own in {tuple(self.own(record)) for record in self.judged}]
        return zayatz_by_hand(sizes, people) / people <= exact(criterion.threshold)


@st.composite
def sampled(draw, estimators=("zayatz",)):
    table = draw(tables(most_records=12))
    own = draw(criteria_of(sorted(table.sensitive)[0], "apart")["k_anonymity"])
    size = draw(st.sampled_from([(0.5, None), (0.05, None), (1.0, None), (None, 12), (None, 500)]))
    unique = PopulationUniqueness(
        draw(st.sampled_from([0.0, 0.01, 0.1, 0.3, 0.6])), *size, draw(st.sampled_from(estimators))
    )
    return table, AnonymityProblem(
        (unique, own)[: draw(st.integers(1, 2))],
        draw(st.sampled_from([0.0, 0.25, 0.5, 0.9])),
        LossChoice(draw(st.sampled_from(LOSSES))),
        draw(st.sampled_from(["own_category", "excluded"])),
    )


@given(sampled())
@settings(deadline=None, max_examples=examples(40))
def test_estimates_of_uniqueness_are_searched_rule_by_rule(question):
    table, problem = question
    leaves = [table.hierarchies[j].leaves.tolist() for j in table.quasi_identifiers]
    same_as_by_hand(table, problem, [tuple(own[0] for own in leaves)], Estimated)


@given(sampled(ESTIMATORS))
@settings(deadline=None, max_examples=examples(30))
def test_what_is_found_has_so_few_uniques_when_it_is_measured(question):
    table, problem = question
    plan = AnonymityPlan(table, problem)
    found = plan.combine({0: plan.run_block(0, lambda _: None)})
    assert all(own.to_document()["guarantee"] == own.criterion.guarantee for own in found.privacy)
    if found.rule is None:
        return
    rule = found.rule
    if found.suppressed_records:
        rule = suppress_records(table, rule, plan.suppressed_records(rule.levels))
    share = measured_share(table, rule, problem.missing, problem.privacy[0])
    assert share <= problem.privacy[0].threshold + 1e-9
    if found.privacy[0].value is not None and found.classes:
        assert found.privacy[0].value == pytest.approx(share, rel=1e-12)
        assert found.privacy[0].to_document()["guarantee"] == "heuristic"


def test_overlapping_classes_are_refused_for_the_reason_of_the_measure():
    question = AnonymityProblem((PopulationUniqueness(0.1, 0.5),), missing="matches_everything")
    with pytest.raises(NotSupported, match="no record shares with another class"):
        AnonymityPlan(small_table(missing=True), question)
    assert AnonymityPlan(small_table(), question).units


@pytest.mark.parametrize(
    ("more", "pointer"),
    [
        ({}, "/sampling_fraction"),
        ({"sampling_fraction": 0.5, "population": 10}, "/sampling_fraction"),
        ({"sampling_fraction": 1.5}, "/sampling_fraction"),
        ({"population": 0}, "/population"),
    ],
)
def test_the_size_of_the_population_is_given_once(more, pointer):
    with pytest.raises(InvalidInput) as caught:
        PopulationUniqueness(0.1, **more)
    assert caught.value.faults[0].pointer == pointer


def test_a_population_smaller_than_the_table_is_refused_before_searching():
    with pytest.raises(InvalidInput) as caught:
        AnonymityPlan(small_table(), AnonymityProblem((PopulationUniqueness(0.1, population=5),)))
    assert caught.value.faults[0].pointer == "/objective/privacy/0/population"


@given(sampled(), st.integers(1, 12))
@settings(deadline=None, max_examples=examples(30))
def test_a_search_that_tries_every_rule_ends_with_an_honest_gap(question, most_nodes):
    table, problem = question
    leaves = [table.hierarchies[j].leaves.tolist() for j in table.quasi_identifiers]
    expected = best_by_hand(table, problem, [tuple(own[0] for own in leaves)], Estimated)
    plan = AnonymityPlan(table, problem, Budget(max_nodes=most_nodes))
    found = plan.combine({0: plan.run_block(0, lambda _: None)})
    if expected is None:
        assert found.rule is None
        return
    assert found.status != "infeasible"
    assert found.bounds.lower <= expected[1] + 1e-9 * max(1.0, expected[1])
    if found.status == "optimal":
        assert found.loss == pytest.approx(expected[1], abs=1e-12, rel=1e-12)


def test_trying_many_rules_is_estimated_to_take_long():
    quick = AnonymityPlan(small_table(), AnonymityProblem((KAnonymity(2),)))
    slow = AnonymityPlan(small_table(), AnonymityProblem((PopulationUniqueness(0.1, 0.5),)))
    assert slow.units == quick.units
    assert slow.seconds > quick.seconds
