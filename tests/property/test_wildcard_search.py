"""Least loss where a missing value matches everything, against trying every rule on pairs of records."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.class_suppression import ClassSuppression, suppress_failing
from app.domain.models.entropy_l_diversity import EntropyLDiversity
from app.domain.rules.rule import TableRule
from app.domain.search.budget import Budget
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.tables.table import Table
from tests.oracles.effort import examples
from tests.oracles.engines import ENGINES, searched_by
from tests.oracles.pairs_of_records import (
    OF_PEOPLE,
    best_by_hand,
    criteria_of,
    questions,
    same_as_by_hand,
    solved,
    suppressed_by_hand,
)


@given(questions())
@settings(deadline=None, max_examples=examples(40))
def test_the_rule_of_least_loss_is_that_of_trying_them_all(question):
    same_as_by_hand(*question)


@given(questions(kinds=[*OF_PEOPLE, "k_anonymity", "distinct_l_diversity"]))
@settings(deadline=None, max_examples=examples(20))
def test_people_of_a_population_are_counted_per_class(question):
    same_as_by_hand(*question)


@given(questions(kinds=[*OF_PEOPLE, "k_anonymity"], missing="own_category"))
@settings(deadline=None, max_examples=examples(20))
def test_attackers_with_a_population_are_searched_right_in_partitions(question):
    table, problem, people = question
    codes = table.codes.copy()
    for j in table.quasi_identifiers:
        leaves = table.hierarchies[j].leaves
        codes[:, j] = leaves[codes[:, j] % len(leaves)]
    complete = Table(table.attributes, table.hierarchies, codes, sensitive=table.sensitive)
    # A table without missing values is the same under every reading of them.
    same_as_by_hand(complete, problem, people)


@pytest.mark.deep
@pytest.mark.parametrize("kind", sorted(criteria_of("s0", "apart")))
def test_every_criterion_is_searched_right(kind):
    @given(questions((kind, "k_anonymity")))
    @settings(deadline=None, max_examples=examples(30))
    def compare(question):
        same_as_by_hand(*question)

    compare()


@pytest.mark.deep
@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_finds_the_same(engine):
    @given(questions(most_attributes=4))
    @settings(deadline=None, max_examples=examples(25))
    def compare(question):
        with searched_by(engine):
            _, found = solved(*question)
        expected = best_by_hand(*question)
        if expected is None:
            assert found.rule is None
        elif found.status == "optimal":
            table = question[0]
            assert tuple(found.rule.levels[j] for j in table.quasi_identifiers) == expected[0]
        else:
            assert engine.startswith("boxes") or any(own.table_wide for own in question[1].privacy)
            assert found.bounds.lower <= expected[1] + 1e-9

    compare()


@given(questions(), st.integers(1, 20))
@settings(deadline=None, max_examples=examples(20))
def test_a_search_with_a_budget_never_claims_too_much(question, most_nodes):
    _, found = solved(*question, Budget(max_nodes=most_nodes))
    expected = best_by_hand(*question)
    if expected is None:
        assert found.rule is None
        return
    assert found.status != "infeasible"
    assert found.bounds.lower <= expected[1] + 1e-9 * max(1.0, abs(expected[1]))
    if found.status == "optimal":
        assert found.loss == pytest.approx(expected[1], abs=1e-9, rel=1e-9)


@given(questions(), st.data())
@settings(deadline=None, max_examples=examples(30))
def test_a_rule_suppresses_what_fails_again_and_again(question, data):
    table, problem, people = question
    levels = tuple(data.draw(st.integers(0, table.heights[j])) for j in table.quasi_identifiers)
    rule = TableRule(
        tuple(
            levels[table.quasi_identifiers.index(j)] if j in table.quasi_identifiers else 0
            for j in range(table.n_attributes)
        )
    )
    suppression = ClassSuppression(
        problem.privacy, "matches_everything", problem.suppressed, order="class_by_class"
    )
    _, suppressed = suppress_failing(table, rule, suppression)
    expected = suppressed_by_hand(table, problem, levels, people, table.n_records, by_rule=True)
    assert set(np.flatnonzero(suppressed).tolist()) == expected


@pytest.mark.parametrize("engine", ENGINES)
def test_overlapping_classes_may_be_diverse_while_their_records_together_are_not(engine):
    """Two records with B lack a value each and hide two with A each; of all six only two have B."""
    tree = Hierarchy.from_parents({name: [None] for name in ("1", "2", "3")})
    value = Hierarchy.from_parents({"A": [None], "B": [None]})
    rows = [(1, 1, 1), (1, 2, 1), (1, 0, 2), (0, 3, 2), (2, 3, 1), (3, 3, 1)]
    table = Table(
        ("x", "y", "s"), (tree, tree, value), np.array(rows, dtype=np.int32), sensitive=frozenset({"s"})
    )
    problem = AnonymityProblem((EntropyLDiversity(2.0, "s"),), missing="matches_everything")
    people = [(1, 1)]
    assert best_by_hand(table, problem, people)[0] == (0, 0)
    with searched_by(engine):
        _, found = solved(table, problem, people)
    assert (found.rule, found.suppressed_records) == (TableRule((0, 0, 0)), 0)
