"""Least loss with weights, aggregates and a suppression factor against every rule tried by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.classes.released import Release
from app.domain.errors import NotSupported
from app.domain.gates.optima import gap_of_loss, loss_of_release
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.losses.loss import RANKED, LossChoice
from app.domain.models.k_anonymity import KAnonymity
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import TableRule
from app.domain.search.budget import Budget
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.search.local_recoding.plan import RecodingPlan
from app.domain.tables.table import Table
from tests.oracles.effort import examples
from tests.oracles.engines import ENGINES, searched_by
from tests.oracles.k_anonymity_by_hand import solved, tables
from tests.oracles.least_loss import released
from tests.oracles.weighed_losses import check_found, choices, rules_by_hand

NUMBERS = ("0", "10", "11", "-7", "2.5", "100", "3", "20")


@st.composite
def numeric_questions(draw, most_attributes=3, most_records=10):
    """Squared errors of some attributes; trees of numbers, unbalanced, with missing and inner originals."""
    trees = []
    for _ in range(draw(st.integers(1, most_attributes))):
        above = [draw(st.integers(-1, i - 1)) for i in range(draw(st.integers(2, 8)))]
        trees.append(
            Hierarchy.from_parents(
                {NUMBERS[i]: [None if own < 0 else NUMBERS[own]] for i, own in enumerate(above)}
            )
        )
    codes = [
        [draw(st.integers(0, tree.n_nodes - 1)) for tree in trees]
        for _ in range(draw(st.integers(1, most_records)))
    ]
    names = tuple(f"a{j}" for j in range(len(trees)))
    table = Table(names, tuple(trees), np.array(codes, dtype=np.int32))
    numeric = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    choice = replace(
        draw(choices(list(names), kinds=("arithmetic",))), kind="squared_error", numeric=tuple(numeric)
    )
    limit = draw(st.sampled_from([0.0, 0.29, 0.5, 1.0]))
    return table, AnonymityProblem((KAnonymity(draw(st.integers(1, 4))),), limit, choice)


@st.composite
def questions(draw, most_attributes=4, most_records=14, **options):
    table = draw(tables(most_attributes, most_records))
    limit = draw(st.sampled_from([0.0, 0.29, 0.5, 1.0]))
    choice = draw(choices(list(table.attributes), **options))
    return table, AnonymityProblem((KAnonymity(draw(st.integers(1, 5))),), limit, choice)


def check_optimum(table, problem):
    check_found(solved(table, problem), list(rules_by_hand(table, problem)), problem)


@pytest.mark.deep
@given(questions())
@settings(deadline=None, max_examples=examples(200))
def test_the_optimum_is_that_of_trying_all_rules_whatever_counts_how(question):
    check_optimum(*question)


@pytest.mark.parametrize("engine", ENGINES)
@given(questions(aggregates=("sum", "mean")))
@settings(deadline=None, max_examples=examples(60))
def test_every_search_for_a_sum_finds_the_optimum_with_weights_and_a_factor(engine, question):
    with searched_by(engine):
        check_optimum(*question)


@pytest.mark.parametrize("engine", ENGINES)
@given(numeric_questions())
@settings(deadline=None, max_examples=examples(100))
def test_the_optimum_of_squared_errors_is_that_of_trying_all_rules(engine, question):
    table, problem = question
    with searched_by("lattice" if problem.loss.is_ranked else engine):
        check_optimum(table, problem)


def line_table(records, *groups):
    """Records of numbers; per attribute which numbers are under a and which under b."""
    trees = tuple(
        Hierarchy.from_rows(
            [[number, name, "*"] for name, own in zip("ab", group, strict=True) for number in own]
        )
        for group in groups
    )
    codes = [
        tree.encode(list(column))[0] for tree, column in zip(trees, zip(*records, strict=True), strict=True)
    ]
    return Table(("a", "b"), trees, np.stack(codes, axis=1))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "table",
    [
        line_table(
            [("49", "0"), ("50", "50"), ("100", "48"), ("90", "90")],
            (("49",), ("90", "100", "0", "50")),
            (("48", "90"), ("50", "0")),
        ),
        line_table(
            [("49", "48"), ("90", "48"), ("90", "50"), ("51", "50"), ("0", "10")],
            (("90", "0", "49"), ("10", "51")),
            (("10", "49", "50"), ("51", "48")),
        ),
    ],
)
def test_an_optimum_is_found_that_loses_less_because_it_suppresses(engine, table):
    """The rule loses more as long as nobody is suppressed than another one does that is allowed."""
    choice = LossChoice("squared_error", numeric=("a", "b"))
    with searched_by(engine):
        check_optimum(table, AnonymityProblem((KAnonymity(2),), 0.5, choice))


@pytest.mark.deep
@given(numeric_questions(4, 30))
@settings(deadline=None, max_examples=examples(600))
def test_the_optimum_of_squared_errors_is_that_of_trying_all_rules_at_length(question):
    check_optimum(*question)


@given(numeric_questions())
@settings(deadline=None, max_examples=examples(60))
def test_squared_errors_are_the_same_at_the_gate(question):
    table, problem = question
    if problem.loss.aggregate == "rank":
        return
    problem = replace(problem, loss=replace(problem.loss, suppression_factor=0.5))
    release, outcome = released(table, problem)
    if release is not None:
        told = loss_of_release(release, problem.loss, build_utility(table, "depth_sum", {}, {}))
        assert told == pytest.approx(outcome.loss, abs=1e-9)


@pytest.mark.deep
@given(questions(5, 40))
@settings(deadline=None, max_examples=examples(600))
def test_the_optimum_is_that_of_trying_all_rules_at_length(question):
    check_optimum(*question)


@given(questions(kinds=("arithmetic", "height", "precision"), aggregates=tuple(RANKED)), st.integers(1, 30))
@settings(deadline=None, max_examples=examples(100))
def test_a_ranked_search_that_is_stopped_gives_an_allowed_rule_and_a_true_bound(question, most_nodes):
    table, problem = question
    rated = {levels: value for levels, value, _ in rules_by_hand(table, problem)}
    found = solved(table, problem, Budget(max_nodes=most_nodes))
    if not rated:
        assert found.status in ("infeasible", "heuristic")
        return
    least = min(value[0] for value in rated.values())
    assert found.bounds.lower <= least + 1e-11
    if found.rule is not None:
        assert found.loss == pytest.approx(rated[found.rule.levels][0], abs=1e-11)
        assert found.loss == pytest.approx(found.bounds.lower + found.bounds.gap, abs=1e-12)


@given(questions(aggregates=("sum", "mean", "maximum"), factors=(0.5,)))
@settings(deadline=None, max_examples=examples(100))
def test_a_rule_for_the_table_loses_at_the_gate_what_its_search_said(question):
    table, problem = question
    release, outcome = released(table, problem)
    if release is None:
        return
    utility = build_utility(table, "depth_sum", {}, {})
    assert gap_of_loss(release, problem, utility, outcome.bounds.lower) <= 1e-9
    if problem.loss.kind != "height":
        assert loss_of_release(release, problem.loss, utility) == pytest.approx(outcome.loss, abs=1e-9)


@given(questions(aggregates=("sum", "mean"), factors=(0.5,)))
@settings(deadline=None, max_examples=examples(100))
def test_a_rule_of_single_records_loses_at_the_gate_what_its_search_said(question):
    table, problem = question
    asked = replace(problem, scope="record_level")
    plan = RecodingPlan(table, asked)
    found = plan.combine({0: plan.run_block(0, lambda _: None)})
    if found.loss is None:
        return
    assert found.bounds.lower <= found.loss
    best = min((value[0] for _, value, _ in rules_by_hand(table, problem)), default=math.inf)
    assert found.loss <= best + 1e-9
    if not isinstance(found.rule, TableRule):
        assert found.attribute_losses is None
        told = loss_of_release(
            Release(table, found.rule), problem.loss, build_utility(table, "depth_sum", {}, {})
        )
        assert found.loss == pytest.approx(told, abs=1e-9)


@pytest.mark.parametrize("option", [{"aggregate": "rank"}, {"suppression_factor": 0.4}])
def test_what_is_no_figure_of_a_release_is_not_judged_at_the_gate(option):
    tree = Hierarchy.from_parents({"x": [None], "y": [None]})
    table = Table(("a", "b"), (tree, tree), np.array([[1, 1], [2, 2]], dtype=np.int32))
    with pytest.raises(NotSupported):
        loss_of_release(
            Release(table, TableRule((0, 0))),
            LossChoice("precision", **option),
            build_utility(table, "depth_sum", {}, {}),
        )
