"""Least loss under any criteria and by any loss, against trying every rule."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.classes.released import Release
from app.domain.dictionaries.dictionary import Dictionary, link_nodes
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.losses.catalogue import loss_of
from app.domain.losses.loss import LossChoice
from app.domain.losses.released import ReleaseDivergence
from app.domain.models.beta_likeness import BetaLikeness
from app.domain.models.class_suppression import ClassSuppression, suppress_failing
from app.domain.models.delta_presence import DeltaPresence
from app.domain.models.k_anonymity import KAnonymity
from app.domain.models.prosecutor_risk import AverageRisk
from app.domain.search.budget import UNLIMITED, Budget
from app.domain.search.full_domain.class_losses import ClassProgress
from app.domain.search.full_domain.plan import AnonymityPlan
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.search.full_domain.verdicts import Judge
from app.domain.tables.table import Table
from tests.oracles.effort import examples
from tests.oracles.engines import ENGINES, searched_by, take
from tests.oracles.least_loss import (
    FLAT,
    LOSSES,
    best_by_hand,
    criteria_of,
    populations,
    questions,
    same_as_by_hand,
    solved,
    tables,
)


@given(questions())
@settings(deadline=None, max_examples=examples(60))
def test_the_rule_of_least_loss_is_that_of_trying_them_all(question):
    same_as_by_hand(*question)


GROUPED = Hierarchy.from_parents({"a": ["g"], "b": ["g"], "c": ["h"], "d": ["h"], "g": [None], "h": [None]})


@given(
    tables(most_sensitive=1),
    st.data(),
    st.sampled_from([("g",), ("g", "h")]),
    st.sampled_from(["bounded", "free"]),
    st.sampled_from([None, 0.5]),
)
@settings(deadline=None, max_examples=examples(40))
def test_groups_of_values_are_searched_right(table, data, groups, values_in_groups, beta_negative):
    own = table.position("s0")
    codes, trees = table.codes.copy(), list(table.hierarchies)
    nodes = st.sampled_from(GROUPED.leaves.tolist())
    codes[:, own] = data.draw(st.lists(nodes, min_size=len(codes), max_size=len(codes)))
    trees[own] = GROUPED
    criterion = BetaLikeness(
        data.draw(st.sampled_from([0.3, 1.0, 2.0])),
        data.draw(st.sampled_from(["enhanced", "basic"])),
        groups=groups,
        values_in_groups=values_in_groups,
        beta_negative=beta_negative,
    )
    problem = AnonymityProblem((criterion,), data.draw(st.sampled_from([0.0, 0.3, 0.7])))
    same_as_by_hand(replace(table, codes=codes, hierarchies=tuple(trees)), problem)


@pytest.mark.deep
@pytest.mark.parametrize("kind", sorted(set(criteria_of("s0", "apart")) - {"k_map", "delta_presence"}))
def test_every_criterion_is_searched_right(kind):
    @given(questions((kind, "k_anonymity")))
    @settings(deadline=None, max_examples=examples(30))
    def compare(question):
        same_as_by_hand(*question)

    compare()


@given(populations())
@settings(deadline=None, max_examples=examples(40))
def test_classes_are_compared_with_the_people_of_a_dictionary(question):
    same_as_by_hand(*question)


@pytest.mark.deep
@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_finds_the_same(engine):
    @given(questions(losses=LOSSES, most_attributes=4))
    @settings(deadline=None, max_examples=examples(25))
    def compare(question):
        table, problem = question
        with searched_by(engine):
            found = solved(table, problem)
        expected = best_by_hand(table, problem)
        if expected is None:
            assert found.rule is None
            assert found.status == "infeasible" or any(own.table_wide for own in problem.privacy)
        elif found.status == "optimal":
            assert tuple(found.rule.levels[j] for j in table.quasi_identifiers) == expected[0]
        else:
            # Losses of classes have no bound that a search by boxes could prove them by.
            assert engine.startswith("boxes") or any(own.table_wide for own in problem.privacy)
            assert found.bounds.lower <= expected[1] + 1e-9

    compare()


@given(questions(), st.integers(1, 30), st.integers(0, 20))
@settings(deadline=None, max_examples=examples(30))
def test_a_search_that_is_stopped_never_claims_too_much(question, most_nodes, steps):
    table, problem = question
    expected = best_by_hand(table, problem)
    left = iter(range(steps))
    for found in (
        solved(table, problem, Budget(max_nodes=most_nodes)),
        solved(table, problem, halted=lambda: next(left, None) is None),
        AnonymityPlan(table, problem).combine({}),
    ):
        if expected is None:
            assert found.rule is None
            continue
        assert found.status != "infeasible"
        assert found.bounds.lower <= expected[1] + 1e-9 * max(1.0, abs(expected[1]))
        if found.rule is not None:
            assert found.loss >= expected[1] - 1e-9 * max(1.0, abs(expected[1]))
            assert found.suppressed_records <= found.suppression_allowed
        if found.status == "optimal":
            assert tuple(found.rule.levels[j] for j in table.quasi_identifiers) == expected[0]


CLASS_LOSSES = ("discernibility", "average_class_size", "ambiguity", "kl_divergence")


@given(
    tables(),
    st.sampled_from(CLASS_LOSSES),
    st.sampled_from(["declared", "active"]),
    st.integers(1, 3),
    st.sampled_from(["excluded", "own_category"]),
)
@settings(deadline=None, max_examples=examples(80))
def test_no_rule_above_loses_less_than_a_bound_of_classes(table, kind, domain, k, missing):
    """Whoever is left out for a missing value may be shown like others, and is in no class of theirs."""
    choice = LossChoice(kind, domain)
    problem = AnonymityProblem((KAnonymity(k),), 1.0, choice, missing)
    search = ClassProgress(Judge(table, problem), loss_of(table, choice), table, UNLIMITED, lambda _: None)
    lattice = list(itertools.product(*(range(height + 1) for height in search.table.heights)))
    least = {levels: search.least(levels) for levels in lattice}
    for levels in lattice:
        search.best = float("inf")
        take(search, levels)
        for below in lattice:
            if all(a <= b for a, b in zip(below, levels, strict=True)):
                assert least[below] <= search.best + 1e-9 * max(1.0, search.best), (below, levels)


@given(
    tables(most_sensitive=1, trees=st.sampled_from(FLAT)),
    st.sampled_from(["declared", "active"]),
    st.integers(1, 3),
)
@settings(deadline=None, max_examples=examples(60))
def test_the_divergence_that_is_searched_is_that_of_the_release(table, domain, k):
    sensitive = [table.position(name) for name in table.sensitive]
    codes = table.codes.copy()
    codes[:, sensitive] = np.maximum(1, codes[:, sensitive])
    table = replace(table, codes=codes)
    problem = AnonymityProblem((KAnonymity(k),), 1.0, LossChoice("kl_divergence", domain), "excluded")
    found = solved(table, problem)
    rule, _ = suppress_failing(table, found.rule, ClassSuppression(problem.privacy, "excluded", "own_block"))
    release = ReleaseDivergence(Release(table, rule), table.quasi_identifiers, sensitive, domain)
    assert found.loss == pytest.approx(release.divergences().spread, abs=1e-9)


def test_people_like_suppressed_records_are_not_outside_the_table():
    """However many classes the block of suppressed records is made of."""
    tree = Hierarchy.from_parents({"a": [None], "b": [None], "c": [None]})
    table = Table(("q",), (tree,), np.array([[1], [1], [2], [3]], dtype=np.int32))
    people = np.array([1, 1, 1, 1, 2, 3], dtype=np.int32)
    dictionary = Dictionary(len(people), (link_nodes("q", tree, people),))
    problem = AnonymityProblem((DeltaPresence(0.25, 0.5),), 0.5, suppressed="own_block")
    found = solved(table, problem, dictionary=dictionary)
    assert (found.status, found.rule.levels, found.suppressed_records) == ("optimal", (0,), 2)


@pytest.mark.parametrize("kind", CLASS_LOSSES)
@pytest.mark.parametrize("engine", ENGINES)
def test_that_no_rule_is_allowed_is_found_whatever_the_loss(kind, engine):
    tree = Hierarchy.from_rows([("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*")])
    table = Table(("q", "r"), (tree, tree), np.array([[2, 3], [3, 5], [5, 2]], dtype=np.int32))
    problem = AnonymityProblem((AverageRisk(0.3),), 1.0, LossChoice(kind), suppressed="own_block")
    with searched_by(engine):
        found = solved(table, problem)
        assert (found.status, found.counters.visited_nodes) == ("infeasible", 0)
        assert found.refusals[0].reason.startswith("There are 3 records: together as one class")
