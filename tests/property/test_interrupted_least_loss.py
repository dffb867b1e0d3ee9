"""A search for the least loss that goes on from what another one has found out, interrupted anywhere."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.dictionaries.dictionary import Dictionary, link_nodes
from app.domain.losses.loss import LossChoice
from app.domain.models.delta_presence import DeltaPresence
from app.domain.search import answers
from app.domain.search.full_domain.checks import Progress
from app.domain.search.full_domain.class_losses import ClassProgress
from app.domain.search.full_domain.plan import AnonymityPlan
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.search.local_recoding import one_rule
from app.domain.search.local_recoding.plan import RecodingPlan
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


class Killed(Exception):
    """The process ends here."""


def goes_on_alike(plan, steps):
    """Kill a search after so many steps, again and again, each time going on from what was kept; its block.

    Each attempt takes its state as often as it can, and is killed later than the one before.
    """
    kept, state = b"", None
    for first in itertools.count(steps, steps):
        search = plan()
        search.answers.recall(kept)
        if state is not None:
            search.answers.recall_state(state)
        told = []

        def tick(done, search=search, last=first, told=told):
            told.append(done)
            search.answers.want_state()
            if done > last:
                raise Killed

        try:
            return search.run_block(0, tick)
        except Killed:
            kept, state = search.answers.kept(), search.answers.kept_state()


@pytest.mark.parametrize("engine", ENGINES)
@given(world=worlds(), steps=st.integers(1, 12))
@settings(deadline=None, max_examples=examples(6))
def test_one_that_is_killed_again_and_again_goes_on_from_its_state(engine, world, steps):
    table, problem = world
    if engine.startswith("boxes") and (problem.minimal_rules or problem.loss.is_ranked):
        return
    with searched_by(engine):
        block = goes_on_alike(lambda: AnonymityPlan(table, problem), steps)
        assert block == AnonymityPlan(table, problem).run_block(0, lambda _: None)


@given(
    world=worlds(),
    steps=st.integers(1, 12),
    scope=st.sampled_from(["table_level", "record_level"]),
    kind=st.sampled_from([*KINDS, "height"]),
)
@settings(deadline=None, max_examples=examples(30))
def test_a_recoding_that_is_killed_again_and_again_goes_on_from_its_state(world, steps, scope, kind):
    table, problem = world
    problem = replace(
        problem,
        scope=scope,
        local_recoding=scope == "table_level",
        minimal_rules=False,
        loss=LossChoice(kind),
    )
    block = goes_on_alike(lambda: RecodingPlan(table, problem), steps)
    assert block == RecodingPlan(table, problem).run_block(0, lambda _: None)


def ends_alike_from_any_state(plan):
    """A search ends alike from each of its states, whether or not more answers were kept than at the time."""
    whole, taken = plan(), [(None, b"")]

    def tick(_):
        state = whole.answers.kept_state()
        if state is not taken[-1][0]:
            taken.append((state, whole.answers.kept()))
        whole.answers.want_state()

    block = whole.run_block(0, tick)
    for state, kept in taken:
        for known in (kept, whole.answers.kept()):
            again = plan()
            again.answers.recall(known)
            if state is not None:
                again.answers.recall_state(state)
            assert again.run_block(0, lambda _: None) == block
    return len(taken)


@pytest.mark.deep
@given(world=worlds(), scope=st.sampled_from(["table_level", "record_level"]))
@settings(deadline=None, max_examples=examples(4))
def test_answers_beyond_the_last_state_spare_a_bound_of_the_height_no_steps(world, scope):
    table, problem = world
    problem = replace(
        problem,
        scope=scope,
        local_recoding=scope == "table_level",
        minimal_rules=False,
        loss=LossChoice("height"),
        suppressed="own_block",
    )
    ends_alike_from_any_state(lambda: RecodingPlan(table, problem))


@pytest.mark.parametrize(
    ("kind", "most_tried"),
    [
        ("geometric", 0),
        ("discernibility", one_rule.MOST_TRIED),
        pytest.param("geometric", one_rule.MOST_TRIED, marks=pytest.mark.deep),
        pytest.param("discernibility", 0, marks=pytest.mark.deep),
    ],
)
def test_a_recoding_by_one_rule_under_presence_goes_on_from_any_state(kind, most_tried, monkeypatch):
    monkeypatch.setattr(one_rule, "MOST_TRIED", most_tried)
    rng = np.random.default_rng(1)
    people = np.stack([rng.choice(tree.leaves, 14) for tree in (LADDER, SMALL)], axis=1)
    codes = np.column_stack([people[:8], rng.integers(1, 3, 8)]).astype(np.int32)
    table = Table(("a0", "a1", "illness"), (LADDER, SMALL, ILLNESS), codes, sensitive=frozenset({"illness"}))
    links = tuple(
        link_nodes(name, tree, people[:, j].astype(np.int32))
        for j, (name, tree) in enumerate((("a0", LADDER), ("a1", SMALL)))
    )
    problem = AnonymityProblem((DeltaPresence(0.2, 0.7),), 0.5, LossChoice(kind), scope="record_level")
    population = Dictionary(len(people), links)
    assert ends_alike_from_any_state(lambda: RecodingPlan(table, problem, dictionary=population)) > 5


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
