"""Levels of their own for every record, against all recodings tried by hand, on tables of random trees."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.classes.released import Release
from app.domain.losses.catalogue import loss_of
from app.domain.losses.loss import LossChoice
from app.domain.models.beta_likeness import BetaLikeness
from app.domain.models.distinct_l_diversity import DistinctLDiversity
from app.domain.models.entropy_l_diversity import EntropyLDiversity
from app.domain.models.k_anonymity import KAnonymity
from app.domain.models.prosecutor_risk import AverageRisk
from app.domain.models.t_closeness import TCloseness
from app.domain.rules.rule import TableRule
from app.domain.search.budget import UNLIMITED, Budget
from app.domain.search.full_domain.plan import AnonymityPlan
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.search.local_recoding.bounds import LossBound
from app.domain.search.local_recoding.cells import Cells
from app.domain.search.local_recoding.class_criteria import ClassCriteria
from app.domain.search.local_recoding.course import Course
from app.domain.search.local_recoding.plan import RecodingPlan
from app.domain.tables.table import Table
from tests.oracles.effort import examples
from tests.oracles.recodings import ILLNESS, SMALL, above, leaves_under, meets, shown_by, solved, tables

CRITERIA = (
    KAnonymity(1),
    KAnonymity(2),
    KAnonymity(3),
    DistinctLDiversity(l=2),
    EntropyLDiversity(l=1.5),
    TCloseness(t=0.4),
    BetaLikeness(1, "basic"),
    BetaLikeness(1, "basic", beta_negative=0.75),
    AverageRisk(threshold=0.5),
)
KINDS = ("geometric", "arithmetic", "precision", "non_uniform_entropy", "ail")


@st.composite
def problems(draw, kinds=KINDS, **fixed):
    privacy = draw(st.lists(st.sampled_from(CRITERIA), min_size=1, max_size=3, unique=True))
    fixed.setdefault("scope", draw(st.sampled_from(["record_level", "table_level"])))
    return AnonymityProblem(
        tuple(privacy),
        draw(st.sampled_from([0.0, 0.2, 0.5, 1.0])),
        LossChoice(draw(st.sampled_from(kinds))),
        draw(st.sampled_from(["own_category", "excluded"])),
        draw(st.sampled_from(["excluded", "own_block"])),
        local_recoding=fixed["scope"] == "table_level",
        **fixed,
    )


def is_sound(table, problem):
    """What is disclosed meets what was asked, loses what is said, and no more than a rule for the table."""
    found, for_table = solved(RecodingPlan, table, problem), solved(AnonymityPlan, table, problem)
    assert found.table_level_loss in (None, for_table.loss)
    if for_table.loss is not None:
        assert found.loss is not None
        assert found.loss <= for_table.loss
    if found.rule is None or isinstance(found.rule, TableRule):
        assert found.loss == for_table.loss
        return
    shown = shown_by(found.rule, table)
    assert meets(problem, table, shown)
    n_suppressed = sum(not any(row) for row in shown)
    assert found.suppressed_records == n_suppressed
    sizes = Counter(row for row in shown if any(row))
    assert found.classes == len(sizes)
    assert found.smallest_class == min(sizes.values(), default=None)
    if found.rounds:
        # Records of which a rule for the table shows nothing are as if it suppressed them.
        nothing = sum(not any(row) for row in shown_by(for_table.rule, table))
        assert sum(records for _, records in found.rounds) <= for_table.suppressed_records + nothing
    release = Release(table, found.rule)
    assert np.count_nonzero(release.is_suppressed) == n_suppressed
    kept = ~release.is_suppressed
    assert (release.codes[kept, -1] == table.codes[kept, -1]).all()
    if problem.suppressed == "excluded":
        assert not release.codes[~kept, -1].any()
    assert found.bounds.lower <= found.loss
    assert found.bounds.gap == pytest.approx(found.loss - found.bounds.lower)


@given(tables(), problems())
@settings(deadline=None, max_examples=examples(160))
def test_recodings_meet_what_was_asked_and_lose_no_more_than_a_rule_for_the_table(table, problem):
    is_sound(table, problem)


@pytest.mark.deep
@given(tables(4, 30), problems())
@settings(deadline=None, max_examples=examples(600))
def test_recodings_meet_what_was_asked_and_lose_no_more_than_a_rule_for_the_table_at_length(table, problem):
    is_sound(table, problem)


def loss_by_hand(table, shown, choice):
    terms, weights = [], [choice.weights.get(name, 1.0) for name in table.attributes[:-1]]
    shares = [weight / sum(weights) for weight in weights]
    for j, tree in enumerate(table.hierarchies[:-1]):
        whole, n = leaves_under(tree, 0), len(shown)
        covered = sum(leaves_under(tree, row[j]) for row in shown)
        terms.append((covered / whole - n / whole) / (n - n / whole) if whole > 1 else 0.0)
    if choice.kind == "geometric":
        return math.prod((1 + term) ** share for term, share in zip(terms, shares, strict=True)) - 1
    return sum(term * share for term, share in zip(terms, shares, strict=True))


def least_by_hand(table, problem):
    """The least loss of all recodings that are valid; None if there is none."""
    choices = [
        list(
            itertools.product(
                *(above(tree, node) for tree, node in zip(table.hierarchies[:-1], row, strict=True))
            )
        )
        for row in table.codes[:, :-1].tolist()
    ]
    losses = [
        loss_by_hand(table, shown, problem.loss)
        for shown in itertools.product(*choices)
        if meets(problem, table, shown)
    ]
    return min(losses, default=None)


def is_bounded(table, problem):
    found, least = solved(RecodingPlan, table, problem), least_by_hand(table, problem)
    if least is None:
        return
    assert found.status != "infeasible"
    assert found.bounds.lower <= least + 1e-12
    if found.rule is not None and not isinstance(found.rule, TableRule):
        assert found.loss >= least - 1e-12
    if found.status == "optimal":
        assert found.loss <= least + 1e-12
    # Whatever is known beforehand, the bound is none of the best loss known.
    loss = loss_of(table, problem.loss)
    cells, criteria = Cells(table, loss), ClassCriteria(table, problem)
    for known in (least + 0.05, math.inf):
        bound = LossBound(cells, criteria)
        for work in ("little", "some", "much"):
            bound.raise_by(work, known, Course())
        assert bound.least <= least + 1e-12


@st.composite
def small_tables(draw):
    """Four records of two attributes, few enough to try all of their recodings."""
    codes = [
        [draw(st.sampled_from(SMALL.leaves.tolist())) for _ in range(2)] + [draw(st.integers(1, 2))]
        for _ in range(4)
    ]
    names = ("a0", "a1", "illness")
    return Table(
        names, (SMALL, SMALL, ILLNESS), np.array(codes, dtype=np.int32), sensitive=frozenset({"illness"})
    )


@st.composite
def small_problems(draw):
    privacy = draw(
        st.sampled_from(
            [
                (KAnonymity(2),),
                (KAnonymity(3),),
                (KAnonymity(2), DistinctLDiversity(l=2)),
                (EntropyLDiversity(l=2),),
                (TCloseness(t=0.5), KAnonymity(2)),
                (BetaLikeness(0.5, "basic", beta_negative=0.6),),
            ]
        )
    )
    kind = draw(st.sampled_from(["geometric", "arithmetic"]))
    loss = LossChoice(kind, weights=draw(st.sampled_from([{}, {"a0": 5.0}, {"a1": 0.0}])))
    return AnonymityProblem(privacy, draw(st.sampled_from([0.0, 0.25, 0.5])), loss, scope="record_level")


@pytest.mark.deep
@given(small_tables(), small_problems())
@settings(deadline=None, max_examples=examples(60))
def test_bounds_are_below_all_recodings_tried_by_hand(table, problem):
    is_bounded(table, problem)


@pytest.mark.deep
@given(
    st.one_of(
        st.tuples(small_tables(), small_problems()),
        st.tuples(
            tables(most_attributes=2, most_records=4),
            problems(("geometric", "arithmetic"), scope="record_level"),
        ),
    )
)
@settings(deadline=None, max_examples=examples(300))
def test_bounds_are_below_all_recodings_tried_by_hand_at_length(asked):
    is_bounded(*asked)


@given(tables(), problems(), st.integers(1, 60))
@settings(deadline=None, max_examples=examples(40))
def test_a_number_of_steps_ends_a_search_at_the_same_place(table, problem, steps):
    once, again = (solved(RecodingPlan, table, problem, Budget(max_nodes=steps)) for _ in range(2))
    assert once.to_document() == again.to_document()
    assert once.complete


@pytest.mark.deep
@given(small_tables(), small_problems(), st.integers(1, 6))
@settings(deadline=None, max_examples=examples(40))
def test_local_recoding_claims_no_bound_that_a_recoding_is_below(table, problem, steps):
    least = least_by_hand(table, problem)
    problem = replace(problem, scope="table_level", local_recoding=True)
    for budget in (UNLIMITED, Budget(max_nodes=steps)):
        found = solved(RecodingPlan, table, problem, budget)
        if found.bounds is not None and least is not None:
            assert found.bounds.lower <= least + 1e-12
