"""The bound of the divergence against all recodings, tried by hand."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.losses.loss import LossChoice
from app.domain.search.full_domain.plan import AnonymityPlan
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.search.local_recoding import bounds as bound
from app.domain.search.local_recoding.bounds import DivergenceBound
from app.domain.search.local_recoding.cells import Cells, cell_loss_of
from app.domain.search.local_recoding.class_criteria import ClassCriteria
from app.domain.search.local_recoding.course import Course
from app.domain.tables.table import Table
from tests.oracles.effort import examples
from tests.oracles.recodings import ILLNESS, SMALL, above, meets, solved
from tests.oracles.record_prices import CRITERIA, LADDER, LONG, table_of


@st.composite
def worlds(draw, most_records, sets_of_trees):
    """A table mostly of leaves, crowded, and a question."""
    trees = draw(st.sampled_from(sets_of_trees))
    nodes = [
        draw(st.sampled_from([tree.leaves.tolist()] * 3 + [list(range(tree.n_nodes))])) for tree in trees
    ]
    n = draw(st.integers(2, most_records))
    codes = [[*(draw(st.sampled_from(own)) for own in nodes), draw(st.integers(1, 2))] for _ in range(n)]
    names = (*(f"a{j}" for j in range(len(trees))), "illness")
    array = np.array(codes, dtype=np.int32)
    table = Table(names, (*trees, ILLNESS), array, sensitive=frozenset({"illness"}))
    problem = AnonymityProblem(
        draw(st.sampled_from(CRITERIA)),
        draw(st.sampled_from([0.0, 0.3, 1.0])),
        LossChoice("kl_divergence", draw(st.sampled_from(["declared", "active"]))),
        draw(st.sampled_from(["own_category", "excluded"])),
        draw(st.sampled_from(["excluded", "own_block"])),
        scope="record_level",
    )
    return table, problem


def divergence_by_hand(table, shown, domain):
    """From the values with the illness to what the boxes that are shown put there; by its definition.

    Cells whose value was missing and that show ⊥ are known to be missing, unless all of their attribute or
    record is suppressed.
    """
    trees, raw = table.hierarchies[:-1], [tuple(row) for row in table.codes.tolist()]
    n = len(raw)
    inner = [{parent for own in tree.parents for parent in own} for tree in trees]
    values = [
        {row[j] for row in raw}
        | ({node for node in range(tree.n_nodes) if node not in inner[j]} if domain == "declared" else set())
        for j, tree in enumerate(trees)
    ]
    suppressed = [not any(row) for row in shown]
    hidden = [
        not all(suppressed) and all(gone or not row[j] for row, gone in zip(shown, suppressed, strict=True))
        for j in range(len(trees))
    ]

    def inside(j, row, own, gone):
        if not row[j] and not own[j] and not gone and not hidden[j]:
            return {0}
        return {value for value in values[j] if row[j] in above(trees[j], value)}

    density = Counter()
    for row, own, gone in zip(shown, raw, suppressed, strict=True):
        box = [inside(j, row, own, gone) for j in range(len(trees))]
        for x in set(raw):
            if x[-1] == own[-1] and all(value in part for value, part in zip(x[:-1], box, strict=True)):
                density[x] += 1 / math.prod(map(len, box)) / n
    counts = Counter(raw)
    return sum(count / n * math.log(count / n / density[x]) for x, count in counts.items())


def is_divergence_bounded(table, problem, levels_at_once):
    trees, rows = table.hierarchies[:-1], table.codes[:, :-1].tolist()
    choices = [
        list(itertools.product(*(above(tree, node) for tree, node in zip(trees, row, strict=True))))
        for row in rows
    ]
    least = min(
        (
            divergence_by_hand(table, shown, problem.loss.leaves)
            for shown in itertools.product(*choices)
            if meets(problem, table, shown)
        ),
        default=None,
    )
    cells = Cells(table, cell_loss_of(table, problem.loss))
    found = DivergenceBound(cells, ClassCriteria(table, problem), problem.loss.leaves)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(bound.ROUNDS, "much", levels_at_once)
        found.raise_by("much", math.inf, Course())
    if least is not None:
        assert found.least <= least + 1e-9
    # A rule of levels for the whole table may be the answer, and is read by its levels.
    for_table = solved(AnonymityPlan, table, problem).loss
    if for_table is not None:
        assert found.least <= for_table + 1e-9
    return found.least, least


@given(worlds(5, [(LADDER,), (SMALL,), (LONG,)]), st.sampled_from([1, 20_000]))
@settings(deadline=None, max_examples=examples(60))
def test_no_recoding_diverges_less_than_the_bound(asked, levels_at_once):
    is_divergence_bounded(*asked, levels_at_once)


@pytest.mark.deep
@given(
    st.one_of(worlds(6, [(LADDER,), (SMALL,), (LONG,)]), worlds(4, [(SMALL, SMALL), (SMALL, LONG)])),
    st.sampled_from([1, 20_000]),
)
@settings(deadline=None, max_examples=examples(1000))
def test_no_recoding_diverges_less_than_the_bound_at_length(asked, levels_at_once):
    is_divergence_bounded(*asked, levels_at_once)


def test_whoever_has_no_company_but_by_fours_is_as_likely_to_have_any_of_the_four_values():
    table = table_of(*"000" + "46")
    loss = LossChoice("kl_divergence", "declared")
    problem = AnonymityProblem(CRITERIA[0], loss=loss, scope="record_level")
    # 0 keeps its value; 4 and 6 could be 5 and 7.
    expected = 2 / 5 * math.log(1 / 5 / (2 / 5 / 4))
    assert is_divergence_bounded(table, problem, 20_000) == pytest.approx((expected, expected))


def test_originals_above_leaves_that_a_level_tells_apart_are_not_spread_over_what_is_below_them():
    tree = Hierarchy.from_rows([["i", "u", "*"], ["j", "u", "*"], ["k", "v", "*"]])
    u, k = (tree.node_of(text) for text in "uk")
    codes = np.array([[u, 1], [u, 1], [k, 1], [k, 1]], dtype=np.int32)
    table = Table(("place", "illness"), (tree, ILLNESS), codes, sensitive=frozenset({"illness"}))
    loss = LossChoice("kl_divergence", "declared")
    problem = AnonymityProblem(CRITERIA[0], loss=loss, scope="record_level")
    # Shown by single records u stands for i, j and itself; at level 0 of a rule for the table for u alone.
    assert solved(AnonymityPlan, table, problem).loss == 0
    assert is_divergence_bounded(table, problem, 20_000) == pytest.approx((0, math.log(3) / 2))
