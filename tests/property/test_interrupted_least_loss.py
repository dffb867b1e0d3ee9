"""A search for the least loss that goes on from what another one has found out, interrupted anywhere."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.losses.loss import LossChoice
from app.domain.search import answers
from app.domain.search.full_domain.checks import Progress
from app.domain.search.full_domain.class_losses import ClassProgress
from app.domain.search.full_domain.plan import AnonymityPlan
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.tables.table import Table
from tests.oracles.effort import examples
from tests.oracles.engines import ENGINES, searched_by
from tests.oracles.recodings import ILLNESS, SMALL
from tests.oracles.record_prices import CRITERIA, LADDER, LONG

KINDS = ("arithmetic", "geometric", "discernibility", "ambiguity", "kl_divergence")
CHOICES = [
    *map(LossChoice, KINDS),
    LossChoice("arithmetic", aggregate="rank"),
    LossChoice("arithmetic", suppression_factor=0.3),
]


@st.composite
def worlds(draw):
    trees = draw(st.sampled_from([(LADDER, SMALL), (SMALL, LONG), (LADDER, SMALL, LONG)]))
    n = draw(st.integers(4, 12))
    codes = [
        [*(draw(st.sampled_from(tree.leaves.tolist())) for tree in trees), draw(st.integers(1, 2))]
        for _ in range(n)
    ]
    names = (*(f"a{j}" for j in range(len(trees))), "illness")
    table = Table(names, (*trees, ILLNESS), np.array(codes, dtype=np.int32), sensitive=frozenset({"illness"}))
    choice = draw(st.sampled_from(CHOICES))
    limit = draw(st.sampled_from([0.2, 0.5, 1.0]))
    minimal = choice.kind == "arithmetic" and draw(st.booleans())
    return table, AnonymityProblem(draw(st.sampled_from(CRITERIA)), limit, choice, minimal_rules=minimal)


@pytest.mark.parametrize("engine", ENGINES)
@given(world=worlds(), share=st.floats(0, 1))
@settings(deadline=None, max_examples=examples(10))
def test_it_ends_with_the_same_bytes_and_finds_nothing_out_twice(engine, world, share):
    table, problem = world
    if engine.startswith("boxes") and (problem.minimal_rules or problem.loss.is_ranked):
        return
    asked = []
    verdict, classes = Progress.verdict, ClassProgress._classes
    with searched_by(engine), pytest.MonkeyPatch.context() as patch:
        whole, begun, again, told = (AnonymityPlan(table, problem) for _ in range(4))
        block = whole.run_block(0, lambda _: None)
        # A process that is killed leaves its answers up to any of them.
        patch.setattr(answers, "MOST_BYTES", round(share * whole.answers.size))
        assert begun.run_block(0, lambda _: None) == block
        patch.undo()
        assert begun.answers.size <= share * whole.answers.size + 1
    with searched_by(engine), pytest.MonkeyPatch.context() as patch:
        patch.setattr(Progress, "verdict", lambda *of: (asked.append(of[1:]), verdict(*of))[1])
        patch.setattr(ClassProgress, "_classes", lambda *of: (asked.append(of[1:]), classes(*of))[1])
        again.answers.recall(begun.answers.kept())
        assert again.run_block(0, lambda _: None) == block
        assert again.answers.kept().startswith(begun.answers.kept())
        assert again.answers.size == whole.answers.size
        asked.clear()
        told.answers.recall(again.answers.kept())
        assert told.run_block(0, lambda _: None) == block
        assert asked == []


@pytest.mark.parametrize("engine", ENGINES)
@given(world=worlds(), looks=st.integers(0, 25))
@settings(deadline=None, max_examples=examples(4))
def test_one_that_was_stopped_goes_on_alike(engine, world, looks):
    table, problem = world
    if engine.startswith("boxes") and (problem.minimal_rules or problem.loss.is_ranked):
        return
    with searched_by(engine):
        left = itertools.count(looks, -1)
        whole, begun, again = (AnonymityPlan(table, problem) for _ in range(3))
        begun.run_block(0, lambda _: None, lambda: next(left) <= 0)
        again.answers.recall(begun.answers.kept())
        assert again.run_block(0, lambda _: None) == whole.run_block(0, lambda _: None)
