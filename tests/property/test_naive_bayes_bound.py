"""What naive Bayes can read from a β-like release of classes (Cao and Karras (2012), equations 15 to 19)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.attacks.population_inference import POPULATION_INFERENCE, _likelihoods
from app.domain.attacks.shown_values import shown_values
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.beta_likeness import BETA_LIKENESS
from app.domain.rules.rule import CellRule, TableRule, apply
from app.domain.tables.table import Table
from tests.oracles.effort import examples
from tests.unit.measures.diversity_tables import context_of, measured
from tests.unit.measures.ill_people import people


def covering(table, shown, j):
    """{value of the attribute: the rows whose cell covers it}."""
    tree = table.hierarchies[j]
    below = {node: set(tree.leaves_of(node).tolist()) for node in set(shown[:, j].tolist())}
    return {
        int(leaf): [r for r, node in enumerate(shown[:, j].tolist()) if index in below[node]]
        for index, leaf in enumerate(tree.leaves.tolist())
    }


@pytest.mark.spec("BL-T18")
def test_scores_of_two_overlapping_classes():
    """The vector's `uniform` scores; its `paper` ones count a cell for each of its values in full."""
    ages = {"0": ["0-2"], "1": ["0-2"], "2": ["0-2", "2-5"], **{v: ["2-5"] for v in "345"}}
    tree = Hierarchy.from_parents(ages | {"0-2": [None], "2-5": [None]})
    sexes = Hierarchy.from_parents({"m": ["mf"], "f": ["mf"], "x": [None], "mf": [None]})
    values = Hierarchy.from_parents({v: [None] for v in ("v0", "v1", "v2")})
    rows = [("0-2", "m", v) for v in ["v0"] * 3 + ["v1"]]
    rows += [("2-5", "mf", v) for v in ["v0"] + ["v1"] * 2 + ["v2"] * 3]
    trees = (tree, sexes, values)
    codes = np.array([[t.node_of(own) for t, own in zip(trees, row, strict=True)] for row in rows], np.int32)
    table = Table(("age", "sex", "v"), trees, codes, sensitive=frozenset({"v"}))
    shown = shown_values(context_of(table, CellRule(codes)), None, None)
    assert shown.prior.tolist() == [0.4, 0.3, 0.3]
    told = [_likelihoods(shown, trees[j], j, "inverse", 0).logs for j in range(2)]
    paper = [covering(table, codes, j) for j in range(2)]
    expected = {
        ("0", "m"): ([(3, 10), (1, 10), (0, 1)], [(7, 80), (1, 45), (0, 1)]),
        ("2", "m"): ([(2, 5), (3, 10), (3, 10)], [(7, 64), (1, 18), (3, 80)]),
        ("4", "f"): ([(1, 40), (2, 15), (3, 10)], [(1, 320), (1, 60), (3, 80)]),
    }
    for (age, sex), (by_paper, uniform) in expected.items():
        nodes = tree.node_of(age), sexes.node_of(sex)
        scores = shown.prior * np.exp(told[0][nodes[0]] + told[1][nodes[1]]) / 100
        assert scores == pytest.approx([a / b for a, b in uniform])
        for v, (a, b) in enumerate(by_paper):
            own = [r for r, row in enumerate(rows) if row[2] == f"v{v}"]
            parts = [
                Fraction(len(set(own) & set(cover[node])), len(own))
                for cover, node in zip(paper, nodes, strict=True)
            ]
            assert Fraction(len(own), 10) * parts[0] * parts[1] == Fraction(a, b)


@pytest.mark.spec("BL-11")
@given(st.integers(0, 10**6), st.sampled_from([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), (2, 1, 0)]))
@settings(deadline=None, max_examples=examples(40))
def test_each_attribute_by_itself_is_bounded_by_the_share_of_rows_that_cover_the_value(seed, levels):
    """Equation 18 with the β that is measured; erratum 16: the real share is at most W, not at least."""
    table, rule = people(seed, 24), TableRule(levels)
    found = measured(BETA_LIKENESS, table, rule)
    beta, shown = Fraction(found.beta_basic).limit_denominator(10**6), apply(rule, table)
    ill = table.codes[:, 2].tolist()
    for j in range(2):
        for leaf, rows in covering(table, shown, j).items():
            share = Fraction(len(rows), len(ill))
            assert Fraction(table.codes[:, j].tolist().count(leaf), len(ill)) <= share
            for value in set(ill):
                with_value = Fraction(sum(ill[r] == value for r in rows), ill.count(value))
                assert with_value <= (1 + beta) * share


def bound_by_hand(table, shown, quasi_identifiers):
    """(basic β, whether no gain breaks the cap, greatest share of its bound that a ratio has), by loops."""
    ill, n = table.codes[:, -1].tolist(), table.n_records
    cells = [tuple(row) for row in shown[:, quasi_identifiers].tolist()]
    p = {v: ill.count(v) / n for v in set(ill)}
    gains = {}
    for cell in set(cells):
        own = [v for v, at in zip(ill, cells, strict=True) if at == cell]
        gains |= {(cell, v): own.count(v) / len(own) / p[v] - 1 for v in set(own)}
    beta = max(gains.values())
    is_like = all(gain <= -math.log(p[v]) + 1e-9 for (_, v), gain in gains.items())
    used = 0.0
    for j in quasi_identifiers:
        tree = table.hierarchies[j]
        spread = [0.0 if node == 0 else 1 / len(tree.leaves_of(node)) for node in shown[:, j].tolist()]
        for rows in covering(table, shown, j).values():
            of_all = sum(spread[r] for r in rows) / n
            for v, share in p.items():
                with_value = sum(spread[r] for r in rows if ill[r] == v) / ill.count(v)
                if of_all:
                    used = max(used, with_value / of_all / (1 + min(beta, -math.log(share))))
    return beta, is_like, used


@pytest.mark.spec("BL-11")
@given(st.integers(0, 10**6), st.sampled_from([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), (2, 1, 0)]))
@settings(deadline=None, max_examples=examples(40))
def test_the_measure_says_whether_equation_18_holds_and_it_does_of_what_is_like(seed, levels):
    table, rule = people(seed, 24), TableRule(levels)
    found = measured(POPULATION_INFERENCE, table, rule).likelihood_bound
    beta, is_like, used = bound_by_hand(table, apply(rule, table), [0, 1])
    assert found.beta == pytest.approx(beta, abs=1e-12)
    assert found.is_like == is_like
    if used:
        assert found.ratio / found.bound == pytest.approx(used)
    assert found.holds == (used <= 1 + 1e-9)
    assert found.holds or not is_like


def test_equation_18_fails_where_its_hypothesis_does():
    """Each town has one value: with the share 3/8 that gains 5/3, and −ln p allows 0.98."""
    tree = Hierarchy.from_parents({"1": [None], "2": [None]})
    values = Hierarchy.from_parents({"sick": [None], "well": [None]})
    rows = [("1", "sick")] * 5 + [("2", "well")] * 3
    codes = np.array([[tree.node_of(t), values.node_of(v)] for t, v in rows], np.int32)
    table = Table(("town", "ill"), (tree, values), codes, sensitive=frozenset({"ill"}))
    found = measured(POPULATION_INFERENCE, table, TableRule((0, 0))).likelihood_bound
    assert (found.beta, found.is_like, found.holds) == (pytest.approx(5 / 3), False, False)
    assert (found.attribute, found.ratio) == ("town", pytest.approx(8 / 3))
    assert found.bound == pytest.approx(1 + math.log(8 / 3))
    one_class = measured(POPULATION_INFERENCE, table, TableRule((1, 0))).likelihood_bound
    assert (one_class.beta, one_class.is_like, one_class.holds) == (0, True, True)


def test_the_real_share_of_a_value_bounds_nothing():
    """Equation 19 puts the share of records of 1 for W: of one with nine others that is a tenth of it."""
    tree = Hierarchy.from_parents({"1": ["all"], "2": ["all"], "3": [None], "all": [None]})
    values = Hierarchy.from_parents({"a": [None], "b": [None]})
    codes = np.array(
        [[tree.node_of("1" if i == 0 else "2"), values.leaves[i % 2]] for i in range(10)], np.int32
    )
    table, rule = Table(("q", "v"), (tree, values), codes, sensitive=frozenset({"v"})), TableRule((1, 0))
    assert measured(BETA_LIKENESS, table, rule).beta_basic == 0
    rows = covering(table, apply(rule, table), 0)[tree.node_of("1")]
    likely = Fraction(sum(codes[r, 1] == values.leaves[0] for r in rows), 5)
    assert likely == 1 > (1 + 0) * Fraction(1, 10)
