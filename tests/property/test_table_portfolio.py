"""The portfolio for table-level rules finds what enumeration finds, and its bounds hold wherever it stops."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from app.domain.dictionaries.dictionary import Dictionary, link_nodes
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.risk.utility import build_utility
from app.domain.search.blocks import carry_out
from app.domain.search.budget import Budget
from app.domain.search.context import SearchContext
from app.domain.search.objectives import Lagrangian
from app.domain.search.problem import FrontierProblem, Problem
from app.domain.search.table_rules.portfolio import PrunedSearch, RacedSearch
from app.domain.search.table_rules.rule_scores import rule_scores
from app.domain.search.table_rules.table_frontier import EnumeratedFrontier, PrunedFrontier
from app.domain.search.table_rules.table_level import TableEnumeration, TableInstance
from app.domain.sensitivity.sensitivity import build_sensitivity
from app.domain.sensitivity.weights import LeafWeights
from app.domain.tables.numbers import tie_margin
from app.domain.tables.table import Table
from tests.oracles.attacks_by_hand import MODELS, instances
from tests.oracles.effort import examples
from tests.oracles.search_instances import contexts, objective_of

PROVED = [model for model in MODELS if model[0] in ("I", "II", "III")]
CHECKS = [HealthCheck.too_slow, HealthCheck.filter_too_much]
SOME = settings(max_examples=examples(30), deadline=None, suppress_health_check=CHECKS)
ANY_CONTEXT = st.one_of(contexts(), instances(models=PROVED))


def balanced_tree(name, height, branches):
    parents, above = {}, [None]
    for depth in range(height):
        below = []
        for i in range(branches ** (depth + 1)):
            label = f"{name}{depth}-{i}"
            parents[label] = [above[i // branches]]
            below.append(label)
        above = below
    return Hierarchy.from_parents(parents)


def sizeable_context(seed):
    """Hundreds of rules, many of the same utility; some records absent, some cells generalised."""
    rng = np.random.default_rng(seed)
    heights = rng.integers(1, 4, size=rng.integers(4, 7))
    while np.prod(heights + 1) > 300:
        heights = heights[:-1]
    names = tuple(f"a{j}" for j in range(len(heights)))
    trees = tuple(balanced_tree(name, int(h), 2) for name, h in zip(names, heights, strict=True))
    n, n_entities = int(rng.integers(5, 40)), int(rng.integers(1, 60))

    def cells(size):
        return np.stack(
            [rng.integers(0 if rng.random() < 0.2 else 1, t.n_nodes, size) for t in trees], axis=1
        )

    codes = cells(n).astype(np.int32)
    table = Table(names, trees, codes, np.array([f"e{i}" for i in range(n)], dtype=object))
    known = np.concatenate([codes[: rng.integers(0, n + 1)], cells(n_entities).astype(np.int32)])
    linked = [j for j in range(len(names)) if rng.random() < 0.8]
    links = tuple(link_nodes(names[j], trees[j], known[:, j]) for j in linked)
    ids = np.array([f"e{i}" for i in range(len(known))], dtype=object)
    family = str(rng.choice(["linear", "linear_personal", "multiplicative", "multiplicative_centered"]))
    weights = {name: LeafWeights(float(rng.choice([0.0, 0.25, 0.5, 1.0]))) for name in names}
    sensitivity = build_sensitivity(table, family, weights)
    utility = build_utility(table, str(rng.choice(["depth_sum", "depth_sum", "log_leaves"])))
    return SearchContext(table, Dictionary(len(known), links, ids, True), sensitivity, utility)


def sizeable_questions(seed):
    """Several problems on one instance, with thresholds between the extremes."""
    context, rng = sizeable_context(seed), np.random.default_rng(seed)
    instance = TableInstance(context, Problem(Lagrangian(0.0)))
    least, most = (instance.utility(node) for node in (instance.heights, (0,) * len(instance.heights)))
    risk = instance.risks((0,) * len(instance.heights))[0]
    policy = str(rng.choice(["zero", "add_self"]))
    for objective, scale, start in (
        ("min_risk", most - least, least),
        ("max_utility", risk * rng.random(), 0.0),
        ("lagrangian", risk / max(most - least, 1e-9), 0.0),
    ):
        yield (
            context,
            Problem(objective_of(objective, float(start + scale * rng.random())), "table_level", policy),
        )


@st.composite
def questions(draw):
    """An instance whose risk is monotone, and a problem on its table-level rules."""
    context = draw(ANY_CONTEXT)
    assume(context.harm_is_monotone)
    objective = draw(st.sampled_from(["min_risk", "max_utility", "lagrangian"]))
    threshold = draw(st.one_of(st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0]), st.floats(0.0, 4.0)))
    views = ["bayes", "worst_case", "worst_case_per_record"] if context.dictionaries else ["known"]
    return context, Problem(
        objective_of(objective, threshold),
        "table_level",
        draw(st.sampled_from(["zero", "add_self"])),
        draw(st.sampled_from(views)),
        aggregate=draw(st.sampled_from(["average", "max"])),
    )


def optimum(context, problem):
    return carry_out(TableEnumeration(TableInstance(context, problem)))


def assert_same(found, expected, spent=False):
    """The same answer; a spent budget may leave open by how much a cap is out of reach."""
    assert found.status == expected.status
    assert found.rule == expected.rule
    assert found.objective == expected.objective
    assert found.ties in (None, expected.ties)
    if expected.shortfall is None or (spent and found.shortfall is None):
        assert found.shortfall is None
    else:
        assert found.shortfall.best == pytest.approx(expected.shortfall.best, rel=1e-12, abs=1e-15)
        assert found.shortfall.records == expected.shortfall.records
    if found.bounds is not None:
        assert found.bounds == expected.bounds


def assert_within_bounds(found, expected, problem):
    """A rule within the constraint, no better than the optimum, which is no better than the bound."""
    if expected.rule is None:
        assert found.rule is None
        return
    if problem.objective.kind == "min_risk":
        assert found.rule is not None
    if found.rule is None:
        return
    sign = -1.0 if problem.objective.kind == "max_utility" else 1.0
    best, margin = sign * expected.objective, 2 * tie_margin(expected.objective)
    assert found.bounds.lower <= best + margin
    assert best <= sign * found.objective + margin
    assert found.bounds.gap == pytest.approx(sign * found.objective - found.bounds.lower, abs=1e-12)
    if problem.objective.kind == "min_risk":
        assert found.utility >= problem.objective.threshold - 1e-9
    if problem.objective.kind == "max_utility":
        assert found.risk <= problem.objective.threshold + 1e-9


def check_the_optimum(question):
    context, problem = question
    expected = optimum(context, problem)
    found = carry_out(PrunedSearch(TableInstance(context, problem), Budget()))
    assert_same(found, expected)
    if found.status == "optimal" and problem.objective.kind != "max_utility":
        assert found.ties == expected.ties
    assert found.counters.risk_evaluations <= 2 * expected.n_rules


@pytest.mark.spec("INV-5")
@SOME
@given(questions())
def test_pruning_finds_the_optimum_ties_included(question):
    check_the_optimum(question)


@pytest.mark.deep
@pytest.mark.spec("INV-5")
@pytest.mark.parametrize("seed", range(6))
def test_pruning_finds_the_optimum_of_hundreds_of_rules(seed):
    for question in sizeable_questions(seed):
        check_the_optimum(question)


@pytest.mark.deep
@pytest.mark.parametrize("first", [100, 200])
def test_pruning_finds_the_optimum_of_thousands_of_problems(first):
    for seed in range(first, first + 100):
        for question in sizeable_questions(seed):
            check_the_optimum(question)


@pytest.mark.deep
@pytest.mark.parametrize("first", [1_000, 1_030])
def test_truncated_searches_of_hundreds_of_rules_have_bounds(first):
    for seed in range(first, first + 30):
        for context, problem in sizeable_questions(seed):
            expected = optimum(context, problem)
            for kind in (PrunedSearch, RacedSearch):
                found = carry_out(kind(TableInstance(context, problem), Budget(1 + seed % 97)))
                assert_within_bounds(found, expected, problem)


@SOME
@given(questions(), st.integers(1, 40), st.sampled_from([None, 0.01, 0.3, 0.9]))
def test_a_budget_gives_a_rule_and_a_bound_of_the_optimum(question, nodes, gap):
    context, problem = question
    expected = optimum(context, problem)
    budget = Budget(nodes, gap)
    for kind in (PrunedSearch, RacedSearch):
        found = carry_out(kind(TableInstance(context, problem), budget))
        if found.status != "heuristic":
            assert_same(replace(found, optimal_rules=None), expected, spent=True)
            continue
        assert_within_bounds(found, expected, problem)
        if gap is not None and found.counters.visited_nodes < nodes and kind is PrunedSearch:
            assert found.bounds.gap <= gap * abs(found.objective) + 1e-12


@SOME
@given(questions(), st.integers(0, 30))
def test_a_search_goes_on_from_what_another_has_found_out_and_ends_alike(question, calls):
    context, problem = question
    frontier = FrontierProblem()
    for make in (
        lambda: PrunedSearch(TableInstance(context, problem), Budget()),
        lambda: RacedSearch(TableInstance(context, problem), Budget()),
        lambda: PrunedFrontier(TableInstance(context, problem), frontier),
    ):
        block = make().run_block(0, lambda _: None)
        left = itertools.count(calls, -1)
        begun, again, resumed = make(), make(), make()
        begun.run_block(0, lambda _: begun.answers.want_state(), lambda: next(left) <= 0)  # noqa: B023
        again.answers.recall(begun.answers.kept())
        resumed.answers.recall(begun.answers.kept())
        state = begun.answers.kept_state()
        if state is not None:
            resumed.answers.recall_state(state)
        assert resumed.run_block(0, lambda _: None) == block
        compute, asked = again._ratings._rating, []

        def rating(levels):
            asked.append(levels)  # noqa: B023
            return compute(levels)  # noqa: B023

        again._ratings._rating = rating
        assert again.run_block(0, lambda _: None) == block
        assert not any(begun.answers.known(levels) for levels in asked)


@SOME
@given(questions(), st.integers(0, 30))
def test_a_search_that_is_halted_answers_with_a_rule_and_a_bound(question, calls):
    context, problem = question
    expected = optimum(context, problem)
    for kind in (PrunedSearch, RacedSearch):
        left = itertools.count(calls, -1)
        found = carry_out(kind(TableInstance(context, problem), Budget()), halted=lambda: next(left) <= 0)  # noqa: B023
        if found.status != "heuristic":
            assert_same(replace(found, optimal_rules=None), expected, spent=True)
            continue
        assert not found.complete
        assert_within_bounds(found, expected, problem)
        again = carry_out(kind(TableInstance(context, problem), Budget(max(1, found.counters.visited_nodes))))
        assert_within_bounds(again, expected, problem)


@SOME
@given(questions())
def test_a_race_that_is_not_cut_short_finds_the_optimum(question):
    context, problem = question
    found = carry_out(RacedSearch(TableInstance(context, problem), Budget(100_000)))
    assert_same(replace(found, optimal_rules=None), optimum(context, problem))


def check_the_frontier(context, policy, view, n_points):
    problem = FrontierProblem("table_level", policy, view, "average", n_points)
    asked = Problem(Lagrangian(0.0), "table_level", policy, view)
    expected = carry_out(EnumeratedFrontier(TableInstance(context, asked), problem))
    found = carry_out(PrunedFrontier(TableInstance(context, asked), problem))
    assert found.complete
    assert found.n_points == expected.n_points
    assert [p.levels for p in found.points] == [p.levels for p in expected.points]
    assert [p.utility for p in found.points] == [p.utility for p in expected.points]
    assert [p.risk for p in found.points] == pytest.approx([p.risk for p in expected.points], rel=1e-12)


@SOME
@given(ANY_CONTEXT, st.sampled_from(["zero", "add_self"]), st.integers(2, 30))
def test_the_pruned_frontier_is_that_of_all_rules(context, policy, n_points):
    assume(context.harm_is_monotone)
    check_the_frontier(context, policy, "bayes" if context.dictionaries else "known", n_points)


@pytest.mark.parametrize("seed", range(100, 103))
def test_the_pruned_frontier_of_hundreds_of_rules_is_that_of_all(seed):
    check_the_frontier(sizeable_context(seed), ["zero", "add_self"][seed % 2], "known", 2_000)


@pytest.mark.deep
def test_the_pruned_frontier_of_many_instances_is_that_of_all():
    for seed in range(200, 250):
        check_the_frontier(sizeable_context(seed), ["zero", "add_self"][seed % 2], "known", 2_000)


@SOME
@given(contexts(), st.integers(0, 25))
def test_a_frontier_that_is_halted_says_how_far_its_points_may_be_off(context, calls):
    assume(context.harm_is_monotone)
    asked = Problem(Lagrangian(0.0))
    instance = TableInstance(context, asked)
    scored = EnumeratedFrontier(instance, FrontierProblem(max_points=2_000))
    whole = {i: scored.run_block(i, lambda _: None) for i in range(scored.n_blocks)}
    risk, utility = scored.scored(whole)
    left = itertools.count(calls, -1)
    search = PrunedFrontier(TableInstance(context, asked), FrontierProblem(max_points=2_000))
    found = carry_out(search, halted=lambda: next(left) <= 0)
    for point in found.points:
        least = risk[utility >= point.utility - 1e-12].min()
        assert point.risk - point.gap <= least + tie_margin(least)
        assert (point.kind == "proven") == found.complete


@SOME
@given(ANY_CONTEXT, st.sampled_from(["zero", "add_self"]), st.sampled_from(["average", "max"]))
def test_a_rating_bounds_every_finer_rule(context, policy, aggregate):
    assume(context.harm_is_monotone)
    view = "bayes" if context.dictionaries else "known"
    scores = rule_scores(context, policy, view, aggregate, one_by_one=True)
    shape = tuple(height + 1 for height in context.table.heights)
    walk = rule_scores(context, policy, view, aggregate)
    risks = walk.to_table_order(walk.scores(0, 0, 1, lambda _: None))
    sizes = scores.growth.sizes().reshape(shape)
    for node in np.ndindex(*shape):
        rated = scores.rate(node)
        assert rated.risk == pytest.approx(risks[node], rel=1e-12, abs=1e-15)
        if not math.isfinite(rated.bound):
            continue
        finer = tuple(slice(0, level + 1) for level in node)
        bounds = rated.bound + rated.slope * scores.growth.between(sizes[finer], sizes[node])
        assert (bounds <= risks[finer] + 1e-12 * np.maximum(1.0, bounds)).all()
