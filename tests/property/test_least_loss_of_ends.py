"""Least loss where values have several parents, against every rule of the two end levels tried by hand."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.dictionaries.dictionary import Dictionary, link_nodes
from app.domain.errors import NotSupported
from app.domain.gates.optima import gap_of_loss, loss_of_release
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.losses.loss import LossChoice
from app.domain.models.k_anonymity import KAnonymity
from app.domain.models.k_map import KMap
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import TableRule, apply
from app.domain.search.blocks import carry_out
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.search.least_loss import least_loss_plan
from app.domain.tables.table import Table
from tests.oracles.effort import examples
from tests.oracles.least_loss import released
from tests.oracles.search_instances import hierarchies
from tests.oracles.trees import ByHand
from tests.oracles.weighed_losses import check_found, choices, rules_by_hand

DAG = Hierarchy.from_parents({"p": [None], "q": [None], "a": ["p", "q"], "b": ["p"], "c": ["q"]})


class EndsByHand:
    """A hierarchy that is no tree: a node stays as it is or becomes ⊥."""

    def __init__(self, hierarchy):
        self.parents = hierarchy.parents
        inner = {parent for own in self.parents for parent in own}
        self.leaves = [node for node in range(len(self.parents)) if node not in inner]
        self.depth = [0]
        for own in self.parents[1:]:
            self.depth.append(1 + max(self.depth[parent] for parent in own))
        self.height = max(self.depth)
        self.levels = (0, self.height)

    def at(self, node, level):
        return 0 if level else node

    def is_below(self, node, other):
        return node == other or any(self.is_below(parent, other) for parent in self.parents[node])

    def share(self, node):
        return sum(self.is_below(leaf, node) for leaf in self.leaves) / len(self.leaves)


def by_hand(table):
    return [ByHand(own) if own.is_tree else EndsByHand(own) for own in table.hierarchies]


@st.composite
def overlapping(draw):
    """At most 8 nodes; one of them has two parents, others may."""
    parents = {"p": [None], "q": [None], "a": ["p", "q"]}
    for i in range(draw(st.integers(0, 4))):
        above = draw(st.lists(st.sampled_from(list(parents)), min_size=1, max_size=2, unique=True))
        parents[f"v{i}"] = list(above)
    return Hierarchy.from_parents(parents)


@st.composite
def tables(draw, most_records=12):
    """One to three attributes of which the first has no tree; missing and inner values."""
    others = st.one_of(overlapping(), hierarchies())
    shapes = [draw(overlapping()), *draw(st.lists(others, max_size=2))]
    n = draw(st.integers(1, most_records))
    codes = [[draw(st.integers(0, own.n_nodes - 1)) for own in shapes] for _ in range(n)]
    return Table(tuple(f"a{j}" for j in range(len(shapes))), tuple(shapes), np.array(codes, dtype=np.int32))


@st.composite
def problems(draw, table, choice=None):
    limit = draw(st.sampled_from([0.0, 0.29, 0.5, 1.0]))
    loss = draw(choices(list(table.attributes))) if choice is None else choice
    return AnonymityProblem((KAnonymity(draw(st.integers(1, 4))),), limit, loss)


@given(st.data(), tables())
@settings(deadline=None, max_examples=examples(200))
def test_the_rule_of_least_loss_is_that_of_trying_both_end_levels(data, table):
    problem = data.draw(problems(table))
    found = carry_out(least_loss_plan(table, problem))
    trees = by_hand(table)
    assert found.n_rules == np.prod([len(own.levels) for own in trees])
    check_found(found, list(rules_by_hand(table, problem, trees)), problem)


def class_loss(kind, table, trees, rows, gone):
    """A loss of classes from what the records show."""
    n, sizes = len(rows), Counter(row for row, lost in zip(rows, gone, strict=True) if not lost)
    if kind == "discernibility":
        return sum(size * size for size in sizes.values()) + n * sum(gone)
    if kind == "average_class_size":
        return n / (len(sizes) + any(gone))
    total = 0
    for row, lost in zip(rows, gone, strict=True):
        shown = (0,) * len(row) if lost else row
        total += np.prod([round(own.share(v) * len(own.leaves)) for own, v in zip(trees, shown, strict=True)])
    return total


@pytest.mark.parametrize("kind", ["discernibility", "average_class_size", "ambiguity"])
@given(st.data(), tables())
@settings(deadline=None, max_examples=examples(60))
def test_losses_of_classes_are_least_among_both_end_levels(kind, data, table):
    problem = data.draw(problems(table, LossChoice(kind)))
    trees, k = by_hand(table), problem.privacy[0].k
    rated = {}
    for levels in itertools.product(*(own.levels for own in trees)):
        rows = [
            tuple(own.at(code, level) for own, code, level in zip(trees, row, levels, strict=True))
            for row in table.codes.tolist()
        ]
        sizes = Counter(rows)
        if min(sizes.values()) < k:
            sizes.pop((0,) * len(trees), None)
        gone = [sizes[row] < k for row in rows]
        if sum(gone) <= int(problem.suppression_limit * len(rows) + 1e-9):
            rated[levels] = class_loss(kind, table, trees, rows, gone)
    found = carry_out(least_loss_plan(table, problem))
    if not rated:
        assert found.status == "infeasible"
        return
    least = min(rated.values())
    if found.status == "optimal":
        assert found.rule.levels == min(own for own, loss in rated.items() if loss <= least * (1 + 1e-12))
    assert found.bounds.lower <= least * (1 + 1e-12)
    assert found.loss == pytest.approx(rated[found.rule.levels], rel=1e-12)
    assert found.loss >= least * (1 - 1e-12)


@given(st.data(), tables())
@settings(deadline=None, max_examples=examples(60))
def test_a_rule_of_end_levels_loses_at_the_gate_what_its_search_said(data, table):
    weighed = choices(list(table.attributes), aggregates=("sum", "mean", "maximum"), factors=(0.5,))
    problem = data.draw(problems(table, data.draw(weighed)))
    release, outcome = released(table, problem)
    if release is None:
        return
    utility = build_utility(table, "depth_sum", {}, {})
    assert gap_of_loss(release, problem, utility, outcome.bounds.lower) <= 1e-9
    if problem.loss.kind != "height":
        assert loss_of_release(release, problem.loss, utility) == pytest.approx(outcome.loss, abs=1e-9)


@given(st.data(), tables(), st.integers(1, 3))
@settings(deadline=None, max_examples=examples(60))
def test_minimal_rules_and_suppressed_records_speak_of_the_levels_of_the_hierarchies(data, table, k):
    limit = data.draw(st.sampled_from([0.0, 0.29, 0.5]))
    problem = AnonymityProblem((KAnonymity(k),), limit, minimal_rules=True)
    trees, search = by_hand(table), least_loss_plan(table, problem)
    found = carry_out(search)
    allowed = {levels: gone for levels, _, gone in rules_by_hand(table, problem, trees)}

    def is_minimal(levels):
        below = [own for own in allowed if own != levels and all(map(int.__le__, own, levels))]
        return not below

    assert {rule.levels for rule in found.minimal} == set(filter(is_minimal, allowed))
    for levels, gone in allowed.items():
        assert search.suppressed_records(levels).sum() == gone


@pytest.mark.parametrize(
    ("loss", "levels", "least"),
    [
        # Both of the first attribute's levels that there are, 0 and 2, or 1 of the second one.
        (LossChoice("height"), (0, 1), 1.0),
        (LossChoice("height", weights={"x": 1.0, "y": 5.0}), (2, 0), 2 / 3),
        (LossChoice("height", weights={"x": 1.0, "y": 7.0}, aggregate="maximum"), (2, 0), 0.5),
    ],
)
def test_a_level_that_suppresses_counts_as_many_as_the_hierarchy_has(loss, levels, least):
    flat = Hierarchy.from_parents({"0": [None], "1": [None]})
    codes = np.stack([DAG.encode(["a", "a", "b", "b"])[0], flat.encode(["0", "1", "0", "1"])[0]], axis=1)
    table = Table(("x", "y"), (DAG, flat), codes)
    found = carry_out(least_loss_plan(table, AnonymityProblem((KAnonymity(2),), loss=loss)))
    assert found.rule == TableRule(levels)
    assert found.loss == pytest.approx(least)


def test_a_population_is_compared_at_both_end_levels():
    """Of x as it is the people are 2 with a and 1 with b; one b is suppressed, or nothing of x is shown."""
    codes = DAG.encode(["a", "a", "b"])[0]
    table = Table(("x",), (DAG,), codes[:, None])
    people = Dictionary(3, (link_nodes("x", DAG, codes),))
    for limit, levels, gone in ((0.0, (2,), 0), (0.34, (0,), 1)):
        problem = AnonymityProblem((KMap(2),), limit)
        search = least_loss_plan(table, problem, dictionary=people)
        found = carry_out(search)
        assert (found.status, found.rule, found.suppressed_records) == ("optimal", TableRule(levels), gone)
        assert search.suppressed_records(levels).tolist() == [False, False, bool(gone)]
        assert apply(found.rule, table)[0, 0] == (0 if levels[0] else codes[0])


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        ({"scope": "record_level"}, "table_level"),
        ({"local_recoding": True}, "without local_recoding"),
        ({"loss": LossChoice("kl_divergence")}, "choose another loss"),
    ],
)
def test_what_has_no_levels_of_single_records_is_refused_with_what_has(options, remedy):
    table = Table(("x",), (DAG,), DAG.encode(["a", "b", "c"])[0][:, None])
    with pytest.raises(NotSupported, match="several parents") as refused:
        least_loss_plan(table, AnonymityProblem((KAnonymity(2),), **options))
    assert remedy in refused.value.remedy
