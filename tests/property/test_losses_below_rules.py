"""What a checked rule says of the losses of the rules below it, against all of these."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.losses.catalogue import loss_of
from app.domain.losses.loss import ClassLoss, LossChoice
from app.domain.models.k_anonymity import KAnonymity
from app.domain.search.budget import UNLIMITED
from app.domain.search.full_domain.class_losses import ClassProgress
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.search.full_domain.verdicts import Judge
from app.domain.tables.table import Table
from tests.oracles.effort import examples
from tests.oracles.engines import take
from tests.oracles.recodings import ILLNESS, SMALL
from tests.oracles.record_prices import CRITERIA, LADDER, LONG

KINDS = ("discernibility", "average_class_size", "ambiguity", "kl_divergence")


@st.composite
def worlds(draw):
    """A crowded table, of leaves alone in most cases, and a question."""
    trees = draw(st.sampled_from([(LADDER,), (SMALL,), (LONG,), (LADDER, SMALL), (SMALL, LONG)]))
    nodes = [
        draw(st.sampled_from([tree.leaves.tolist()] * 3 + [list(range(tree.n_nodes))])) for tree in trees
    ]
    n = draw(st.integers(2, 10))
    codes = [[*(draw(st.sampled_from(own)) for own in nodes), draw(st.integers(1, 2))] for _ in range(n)]
    names = (*(f"a{j}" for j in range(len(trees))), "illness")
    array = np.array(codes, dtype=np.int32)
    table = Table(names, (*trees, ILLNESS), array, sensitive=frozenset({"illness"}))
    problem = AnonymityProblem(
        draw(st.sampled_from(CRITERIA)),
        draw(st.sampled_from([0.2, 0.5, 1.0])),
        LossChoice(draw(st.sampled_from(KINDS)), draw(st.sampled_from(["declared", "active"]))),
        draw(st.sampled_from(["own_category", "excluded", "matches_everything"])),
        draw(st.sampled_from(["excluded", "own_block"])),
    )
    return table, problem


@given(worlds())
@settings(deadline=None, max_examples=examples(150))
def test_no_rule_below_one_loses_less_than_that_one_says(asked):
    table, problem = asked
    judge, loss = Judge(table, problem), loss_of(table, problem.loss)
    assert isinstance(loss, ClassLoss)
    rules = list(itertools.product(*(range(height + 1) for height in judge.table.heights)))
    losses = {}
    for levels in rules:
        progress = ClassProgress(judge, loss, table, UNLIMITED, lambda _: None)
        take(progress, levels)
        losses[levels] = progress.best
    for levels in rules:
        least = progress.least_below(levels)
        for other in rules:
            if all(own <= level for own, level in zip(other, levels, strict=True)):
                assert losses[other] >= least - 1e-9 * max(1.0, abs(least)), (levels, other)


def test_suppressing_few_of_a_class_may_lose_less_than_to_keep_it_together():
    codes = np.array([[LADDER.leaves[value], 1] for value in (0, 0, 0, 1, 1)], dtype=np.int32)
    table = Table(("a", "illness"), (LADDER, ILLNESS), codes, sensitive=frozenset({"illness"}))
    problem = AnonymityProblem((KAnonymity(3),), 1.0, LossChoice("discernibility"))
    judge = Judge(table, problem)
    loss = loss_of(table, problem.loss)
    assert isinstance(loss, ClassLoss)
    progress = ClassProgress(judge, loss, table, UNLIMITED, lambda _: None)
    assert 3**2 + 5 * 2 - 1 < progress.least_below((1,)) <= 3**2 + 5 * 2 < 5**2


REGION = Hierarchy.from_parents({"north": [None], "here": ["north"]})
HUNDRED = Hierarchy.from_parents({f"c{number}": [None] for number in range(100)})


@pytest.mark.parametrize("wide", [TOP, REGION.labels.index("north")], ids=["missing", "inner node"])
def test_who_is_kept_may_stand_for_values_of_who_is_suppressed(wide):
    """Those kept are shown as a box that holds what the others have, and few of all values there are."""
    rows = [[wide, 1]] * 20 + [[REGION.labels.index("here"), 1]] * 19
    table = Table(("region", "other"), (REGION, HUNDRED), np.array(rows, dtype=np.int32))
    problem = AnonymityProblem((KAnonymity(20),), 1.0, LossChoice("kl_divergence", "declared"))
    judge, loss = Judge(table, problem), loss_of(table, problem.loss)
    assert isinstance(loss, ClassLoss)
    progress = ClassProgress(judge, loss, table, UNLIMITED, lambda _: None)
    take(progress, (0, 0))
    assert progress.least_below((0, 0)) <= progress.best
