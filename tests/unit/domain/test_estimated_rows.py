"""What is estimated before anything is computed: positive, no less for more, near what is known of it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from app.domain.counting.counter import Counter
from app.domain.counting.disclosed_rows import kinds_of_rows, rows_disclosed
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.risk.assessment import estimate_cost
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import TableRule
from app.domain.search.context import SearchContext
from app.domain.search.objectives import MinRisk
from app.domain.search.plans import plan
from app.domain.search.problem import Problem
from app.domain.search.solvers import BranchAndBound
from app.domain.search.table_rules import portfolio
from app.domain.sensitivity.sensitivity import build_sensitivity
from app.domain.sensitivity.weights import LeafWeights
from app.domain.tables.distinct import recoded_rows
from app.domain.tables.rarity import STEP
from app.domain.tables.table import Table
from app.experiments.synthetic import generate

BRANCHING = ((3, 4, 4), (2, 3), (4, 3, 5), (3, 3, 2))


def context(n_records=3_000, n_entities=5_000):
    made = generate(1, 5_000, BRANCHING)
    table = made.table(n_records)
    sensitivity = build_sensitivity(table, "linear", {name: LeafWeights(1.0) for name in table.attributes})
    return SearchContext(table, made.dictionary(0, n_entities), sensitivity, build_utility(table))


def rules_of(table):
    return list(itertools.product(*(range(height + 1) for height in table.heights)))


def disclosed(table, levels):
    """Distinct rows that there are under the rule."""
    recodings = [tree.ancestors_at(level) for tree, level in zip(table.hierarchies, levels, strict=True)]
    columns = list(table.reduced.codes.T)
    return recoded_rows(columns, recodings, table.used_nodes, table.reduced.size).size


def cost(context, levels):
    counter = Counter(context.table, context.dictionary)
    return estimate_cost(counter, TableRule(levels), context.sensitivity).seconds


@pytest.mark.parametrize("n_records", [1, 50, 3_000])
def test_rows_are_estimated_within_what_there_can_be_and_a_small_factor(n_records):
    table = context(n_records).table
    for levels in rules_of(table):
        estimated, found = rows_disclosed(table, levels), disclosed(table, levels)
        assert 1 <= estimated <= min(table.reduced.size, kinds_of_rows(table, levels))
        assert found / 3 <= estimated <= 3 * found


def test_rows_of_attributes_that_have_nothing_to_do_with_each_other_are_known_within_a_tenth():
    tree = Hierarchy.from_rows([[f"v{i}", f"g{i // 10}"] for i in range(100)])
    rng = np.random.default_rng(7)
    codes = np.minimum(99, rng.exponential(20.0, (4_000, 3))).astype(np.int64)
    table = Table(("a", "b", "c"), (tree,) * 3, tree.leaves[codes])
    for levels in rules_of(table):
        assert rows_disclosed(table, levels) == pytest.approx(disclosed(table, levels), rel=0.1)


def test_values_are_counted_by_how_rare_they_are_and_none_is_lost():
    table = context().table
    for tree, column, rarities in zip(table.hierarchies, table.codes.T, table.rarities, strict=True):
        for level, values in enumerate(rarities.of_all_levels()):
            shares = np.exp(-STEP * np.arange(len(values)))
            assert values.sum() == pytest.approx(len(np.unique(tree.ancestors_at(level)[column])))
            assert values @ shares == pytest.approx(1.0)


def test_no_rule_discloses_more_rows_than_a_finer_one():
    table = context().table
    for levels in rules_of(table):
        for j, height in enumerate(table.heights):
            if levels[j] < height:
                above = (*levels[:j], levels[j] + 1, *levels[j + 1 :])
                assert rows_disclosed(table, above) <= rows_disclosed(table, levels)


def test_rules_that_a_dag_has_are_estimated_too():
    dag = Hierarchy.from_parents({"p": [None], "q": [None], "a": ["p", "q"], "b": ["p"], "c": ["q"]})
    tree = Hierarchy.from_rows([[f"v{i}", f"g{i // 2}"] for i in range(4)])
    columns = [dag.encode(["a", "b", "c", "a"])[0], tree.leaves]
    table = Table(("a", "b"), (dag, tree), np.column_stack(columns))
    assert rows_disclosed(table, (0, 0)) <= 4
    assert rows_disclosed(table, (dag.height, 1)) <= 2


def test_uneven_tables_disclose_fewer_rows_than_even_ones():
    tree = Hierarchy.from_rows([[f"v{i}", f"g{i // 10}"] for i in range(100)])
    rng = np.random.default_rng(3)
    spread = rng.integers(0, 100, (2_000, 3))
    crowded = np.minimum(99, rng.exponential(4.0, (2_000, 3))).astype(np.int64)
    crowded[:100] = np.arange(100)[:, None]
    even, uneven = (Table(("a", "b", "c"), (tree,) * 3, tree.leaves[codes]) for codes in (spread, crowded))
    assert kinds_of_rows(even, (1, 1, 1)) == kinds_of_rows(uneven, (1, 1, 1)) == 1_000
    assert rows_disclosed(uneven, (1, 1, 1)) < rows_disclosed(even, (1, 1, 1)) / 1.5


def test_an_assessment_costs_more_the_more_it_discloses_and_the_more_there_are():
    large, small = context(), context(300)
    others = context(3_000, 1_000)
    for levels in rules_of(large.table):
        assert 0 < cost(small, levels) <= cost(large, levels)
        assert cost(others, levels) <= cost(large, levels)
        assert cost(large, large.table.heights) <= cost(large, levels) <= cost(large, (0,) * 4)
    assert cost(large, (0,) * 4) > 2 * cost(large, large.table.heights)


def test_floors_near_either_end_take_less_than_one_between(monkeypatch):
    monkeypatch.setattr(portfolio, "MAP_LIMIT", 0)
    own = context()
    most = float(sum(own.table.heights))
    seconds = [plan(own, Problem(MinRisk(share * most))).seconds for share in (0.0, 0.2, 0.5, 0.8, 1.0)]
    assert 0 < seconds[0] <= seconds[1] <= seconds[2] >= max(seconds[3:])


def test_a_search_takes_at_least_what_preparing_it_takes():
    own = context()
    for search in (plan(own, Problem(MinRisk(3.0))), plan(own, Problem(MinRisk(3.0)), BranchAndBound())):
        assert search.seconds > own.preparing_seconds > 0
