"""Criteria of the whole table, against every rule with every set of suppressed classes."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.dictionaries.dictionary import Dictionary, link_nodes
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.losses.catalogue import loss_of
from app.domain.losses.loss import LossChoice
from app.domain.models.distinct_l_diversity import DistinctLDiversity
from app.domain.models.journalist_risk import AverageJournalistRisk, MarketerRisk
from app.domain.models.k_anonymity import KAnonymity
from app.domain.models.population_uniqueness import PopulationUniqueness, SampleUniqueness
from app.domain.models.prosecutor_risk import AverageRisk
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.tables.table import Table
from tests.oracles.effort import examples
from tests.oracles.least_loss import LOSSES, classes_by_hand, judged, loss_by_rows, solved
from tests.oracles.trees import ByHand

TREES = [
    Hierarchy.from_parents({"a": [None], "b": [None], "c": [None]}),
    Hierarchy.from_rows([("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*"), ("d", "y", "*")]),
    Hierarchy.from_parents({"x": [None], "a": ["x"], "b": ["x"], "c": [None], "d": [None]}),
]
VALUES = Hierarchy.from_parents({"s": [None], "t": [None]})


@st.composite
def questions(draw):
    """A table of few classes, people of a population, and at least one criterion of the whole table."""
    trees = draw(st.lists(st.sampled_from(TREES), min_size=1, max_size=2))
    lacking = draw(st.booleans())
    values = [[TOP, *tree.leaves.tolist()] if lacking else tree.leaves.tolist() for tree in trees]
    row = st.tuples(*map(st.sampled_from, values), st.sampled_from(VALUES.leaves.tolist()))
    rows = draw(st.lists(row, min_size=1, max_size=12))
    names = [f"q{j}" for j in range(len(trees))]
    table = Table((*names, "s"), (*trees, VALUES), np.array(rows, dtype=np.int32), sensitive=frozenset({"s"}))
    people = draw(
        st.lists(
            st.tuples(*(st.sampled_from(tree.leaves.tolist()) for tree in trees)), min_size=1, max_size=12
        )
    )
    share = st.sampled_from([0.1, 0.2, 0.25, 0.34, 0.5, 0.6, 0.75, 0.9])
    of_records = st.one_of(
        st.builds(SampleUniqueness, st.sampled_from([0.0, 0.1, 0.2, 0.34, 0.5])),
        st.builds(AverageRisk, share),
        st.builds(
            PopulationUniqueness, st.sampled_from([0.0, 0.05, 0.2]), st.just(0.5), estimator=st.just("zayatz")
        ),
    )
    together = st.one_of(of_records, st.builds(MarketerRisk, share), st.builds(AverageJournalistRisk, share))
    # Who might be somebody with a missing value is counted elsewhere.
    offered = of_records if lacking else together
    alone = st.one_of(st.builds(KAnonymity, st.integers(1, 3)), st.just(DistinctLDiversity(2, "s")))
    privacy = [*draw(st.lists(offered, min_size=1, max_size=2)), *draw(st.lists(alone, max_size=1))]
    missing = draw(st.sampled_from(["own_category", "own_category", "excluded"]))
    problem = AnonymityProblem(
        tuple(draw(st.permutations(privacy))),
        draw(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])),
        LossChoice(draw(st.sampled_from(LOSSES))),
        missing,
        draw(st.sampled_from(["excluded", "excluded", "own_block"])),
    )
    return table, problem, people


def every_choice(table, problem, people):
    """The loss of every rule with every set of suppressed classes that it may suppress."""
    trees = [ByHand(table.hierarchies[j]) for j in table.quasi_identifiers]
    allowed = int(problem.suppression_limit * table.n_records + 1e-9)
    nothing = tuple(0 for _ in trees)
    loss = loss_of(table, problem.loss)
    lacks = [
        problem.missing == "excluded" and any(row[j] == TOP for j in table.quasi_identifiers)
        for row in table.codes.tolist()
    ]
    for levels in itertools.product(*(range(tree.height + 1) for tree in trees)):
        rows = classes_by_hand(table, levels, trees)
        kept = [None if lack else row for row, lack in zip(rows, lacks, strict=True)]
        sizes = Counter(row for row in kept if row is not None)
        for m in range(len(sizes) + 1):
            for chosen in map(set, itertools.combinations(sizes, m)):
                left = [None if row in chosen else row for row in kept]
                gone = [row is None for row in left]
                if sum(gone) > allowed or (any(gone) and nothing in sizes and nothing not in chosen):
                    continue
                readings = [left]
                if problem.suppressed == "own_block" and chosen:
                    readings.append([nothing if row in chosen else row for row in kept])
                found = [judged(table, own, people, levels)[1] for own in readings]
                if all(not len(one.sizes) or c.satisfied(one) for one in found for c in problem.privacy):
                    yield loss_by_rows(loss, table, levels, rows, gone)


@pytest.mark.deep
@given(questions())
@settings(deadline=None, max_examples=examples(120))
def test_the_bound_is_below_every_choice_and_the_answer_above_the_best(question):
    table, problem, people = question
    links = [
        link_nodes(table.attributes[j], table.hierarchies[j], np.array(column, dtype=np.int32))
        for j, column in zip(table.quasi_identifiers, zip(*people, strict=True), strict=True)
    ]
    found = solved(table, problem, dictionary=Dictionary(len(people), tuple(links)))
    optimum = min(every_choice(table, problem, people), default=None)
    if optimum is None:
        assert found.rule is None
        return
    assert found.status != "infeasible"
    margin = 1e-9 * max(1.0, abs(optimum))
    assert found.bounds.lower <= optimum + margin
    if found.rule is not None:
        assert found.loss >= optimum - margin
    if found.status == "optimal":
        assert found.loss == pytest.approx(optimum, abs=1e-9, rel=1e-9)
        assert found.bounds.lower == found.loss


def test_no_optimum_is_claimed_where_suppressing_one_who_is_like_all_loses_less():
    """Alike of a, a, a, b and ⊥ are 3 · 4 + 2 + 5; without ⊥ 3 · 3 + 1, and 5 for it."""
    tree = Hierarchy.from_parents({"a": [None], "b": [None]})
    codes = np.array([[1], [1], [1], [2], [TOP]], dtype=np.int32)
    table = Table(("q",), (tree,), codes)
    problem = AnonymityProblem(
        (AverageRisk(0.9),), 0.5, LossChoice("discernibility"), missing="matches_everything"
    )
    found = solved(table, problem)
    assert (found.loss, found.suppressed_records) == (19, 0)
    assert found.status == "heuristic"
    assert found.bounds.lower <= 15
