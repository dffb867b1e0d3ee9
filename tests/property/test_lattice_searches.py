"""All searches of one lattice agree with loops over its nodes, ties included, and say how far they got."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from app.domain.errors import NotSupported
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.search.blocks import carry_out
from app.domain.search.budget import Budget
from app.domain.search.lattices.frontier_paths import FrontierSearch
from app.domain.search.lattices.nodes import Nodes
from app.domain.search.lattices.search import search_lattice
from app.domain.search.objectives import MinRisk
from app.domain.search.plans import plan, plan_frontier
from app.domain.search.problem import FrontierProblem, Problem
from app.domain.search.record_risk import ScoredLattice
from app.domain.search.selection import INFEASIBLE, OPTIMAL, PROHIBITED
from app.domain.search.solvers import AUTO, Aruba, BranchAndBound, Enumeration, Genetic, TopDown
from app.domain.tables.numbers import tie_margin
from tests.oracles.attacks_by_hand import MODELS, instances
from tests.oracles.effort import examples
from tests.oracles.lattices import falling, frontier_by_hand, random_lattice
from tests.oracles.search_instances import BruteForce, contexts, objective_of, solve

CODES = {"optimal": OPTIMAL, "infeasible": INFEASIBLE, "prohibited": PROHIBITED}
ARUBAS = tuple(
    Aruba(moves, start, seed)
    for seed, (moves, start) in enumerate(
        itertools.product(("reduced", "full_cube"), ("binary_search", "random_path"))
    )
)
EXTREMES = (BranchAndBound(), TopDown(), *ARUBAS)
THOROUGH = settings(
    max_examples=examples(50),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
QUICK = settings(THOROUGH, max_examples=examples(30))
DEEP = settings(THOROUGH, max_examples=examples(150))
QUESTIONS = st.one_of(
    st.tuples(st.just("min_risk"), st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0])),
    st.tuples(st.just("max_utility"), st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0, 3.0])),
)


def nodes_of(lattice):
    for x in itertools.product(*(range(size) for size in lattice.scores.shape)):
        yield x, float(lattice.scores[x]), float(lattice.utilities[x])


def agrees(lattice, problem, solvers):
    status, value, levels = solve(nodes_of(lattice), problem)
    for solver in solvers:
        found = search_lattice(lattice, problem, solver)
        assert (found.code, found.node) == (CODES[status], levels), solver
        assert not found.truncated
        if status == "optimal":
            assert found.bound == pytest.approx(value, rel=1e-11, abs=1e-11)


def compare_on_random_lattices(seed, count):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        lattice = random_lattice(rng)
        for kind, thresholds in (("min_risk", (0.0, 1.0, 2.5, 4.0, 5.0)), ("max_utility", (0.0, 0.3, 0.6))):
            threshold = float(rng.choice(thresholds))
            agrees(lattice, Problem(objective_of(kind, threshold), "record_level"), EXTREMES)


@pytest.mark.spec("INV-5")
def test_all_exact_searches_agree_on_random_lattices():
    compare_on_random_lattices(1, 60)


@pytest.mark.deep
@pytest.mark.spec("INV-5")
def test_all_exact_searches_agree_on_thousands_of_random_lattices():
    compare_on_random_lattices(2, 3000)


@pytest.mark.spec("INV-5")
def test_top_down_and_boxes_agree_where_risk_rises_above_records_that_nobody_is_consistent_with():
    rng = np.random.default_rng(3)
    for _ in range(60):
        lattice = random_lattice(rng)
        risk = np.where(rng.random(lattice.scores.shape) < 0.4, 0.0, lattice.scores)
        lattice = ScoredLattice(risk, np.zeros_like(risk), lattice.utilities)
        for kind, threshold in (("min_risk", 2.0), ("max_utility", 0.3)):
            agrees(
                lattice, Problem(objective_of(kind, threshold), "record_level"), (BranchAndBound(), TopDown())
            )


def walk(utility, floor, solver):
    nodes = Nodes(ScoredLattice(utility, utility, utility), Problem(MinRisk(floor), "record_level"))
    search = FrontierSearch(nodes, solver)
    found = list(search.frontier(search.start()))
    assert len(found) == len(set(found))
    return set(found)


def down_sets(heights):
    """Every set of nodes that holds with a node all more specific ones, neither empty nor everything."""
    if len(heights) == 1:
        return [np.arange(heights[0] + 1) < n for n in range(heights[0] + 2)]
    rows = down_sets(heights[1:])
    chains = [[row] for row in rows]
    for _ in range(heights[0]):
        chains = [[*chain, row] for chain in chains for row in rows if not (row & ~chain[-1]).any()]
    return [np.stack(chain) for chain in chains]


@pytest.mark.spec("E-20", "INV-5")
@pytest.mark.parametrize(
    "heights", [(3,), (2, 2), (3, 3), (4, 3), (1, 1, 1), (2, 2, 1), (2, 2, 2), (1, 1, 1, 1)]
)
def test_the_frontier_of_every_down_set_is_connected_by_the_reduced_moves(heights):
    for held in down_sets(heights):
        if held.any() and not held.all():
            utility = held.astype(float)
            assert walk(utility, 1.0, Aruba()) == frontier_by_hand(utility, 1.0)


@pytest.mark.spec("E-20", "INV-5")
def test_the_walk_lists_the_frontier_of_random_down_sets_from_every_start():
    rng = np.random.default_rng(4)
    compared = 0
    while compared < 40:
        shape = tuple(int(h) + 1 for h in rng.integers(1, 4, size=rng.integers(3, 6)))
        utility = falling(rng, shape, 6) + falling(rng, shape, 3)
        floor = float(np.quantile(utility, rng.random()))
        if utility[(-1,) * len(shape)] >= floor:
            continue
        compared += 1
        expected = frontier_by_hand(utility, floor)
        for solver in ARUBAS[: 2 if len(shape) > 4 else 4]:
            assert walk(utility, floor, solver) == expected


def below(node):
    return {(*node[:j], level - 1, *node[j + 1 :]) for j, level in enumerate(node) if level}


@pytest.mark.spec("INV-5")
def test_the_walk_evaluates_the_risks_of_the_frontier_and_then_those_that_settle_ties():
    """Once the least risk is known: every node one step below one of that risk."""
    rng = np.random.default_rng(6)
    ties = []
    while len(ties) < 60:
        lattice = random_lattice(rng)
        risk, utility, floor = lattice.scores, lattice.utilities, float(rng.choice([1.0, 2.0, 3.0]))
        frontier = frontier_by_hand(utility, floor)
        least = min((risk[node] for node in frontier), default=math.inf)
        if utility[(-1,) * utility.ndim] >= floor or math.isinf(least):
            continue
        tied = {x for x, r, u in nodes_of(lattice) if u >= floor and r <= least + 2 * tie_margin(least)}
        settling = set().union(*map(below, tied))
        for solver in ARUBAS:
            found = search_lattice(lattice, Problem(MinRisk(floor), "record_level"), solver)
            assert found.value_risks == len(frontier)
            assert found.risk_evaluations == len(frontier | tied | settling)
        ties.append(len(tied - frontier))
    assert min(ties) == 0 < max(ties)


@pytest.mark.spec("INV-5", "INV-8")
@QUICK
@given(contexts(), st.sampled_from(["zero", "add_self"]), QUESTIONS)
def test_every_search_finds_the_table_rule_that_loops_find(context, policy, question):
    check_table(context, policy, question)


@pytest.mark.deep
@pytest.mark.spec("INV-5", "INV-8")
@DEEP
@given(contexts(), st.sampled_from(["zero", "add_self"]), QUESTIONS)
def test_every_search_finds_the_table_rule_that_loops_find_on_many_tables(context, policy, question):
    check_table(context, policy, question)


def check_table(context, policy, question):
    problem = Problem(objective_of(*question), "table_level", policy)
    status, _, levels = solve(BruteForce(context, policy).table_rules(), problem)
    everything = carry_out(plan(context, problem, Enumeration()))
    for solver in (TopDown(), *ARUBAS):
        if isinstance(solver, Aruba) and everything.absent and policy == "zero":
            with pytest.raises(NotSupported, match="frontier"):
                plan(context, problem, solver)
            continue
        outcome = carry_out(plan(context, problem, solver))
        assert (outcome.status, outcome.complete) == (status, True)
        assert (None if outcome.rule is None else outcome.rule.levels) == levels
    check_genetic(context, problem, status)


def check_genetic(context, problem, status):
    if problem.objective.kind == "max_utility":
        with pytest.raises(NotSupported, match="utility floor"):
            plan(context, problem, Genetic(seed=1))
        return
    small = Genetic(seed=1, population=4, elites=1, generations=3)
    bred = carry_out(plan(context, problem, small))
    assert bred.to_document() == carry_out(plan(context, problem, small)).to_document()
    if status == "infeasible":
        assert bred.status == "infeasible"
    if status == "optimal":
        assert bred.status == "heuristic"
        best = carry_out(plan(context, problem, Enumeration()))
        assert bred.bounds.lower <= best.objective + 1e-12
        if bred.rule is not None:
            assert bred.objective >= best.objective - 1e-12


@pytest.mark.spec("INV-5", "INV-21")
@QUICK
@given(contexts(), st.sampled_from(["zero", "add_self"]), QUESTIONS)
def test_every_search_finds_the_record_rule_that_loops_find(context, policy, question):
    check_records(context, policy, question)


@pytest.mark.deep
@pytest.mark.spec("INV-5", "INV-21")
@DEEP
@given(contexts(), st.sampled_from(["zero", "add_self"]), QUESTIONS)
def test_every_search_finds_the_record_rule_that_loops_find_on_many_tables(context, policy, question):
    check_records(context, policy, question)


def check_records(context, policy, question):
    problem = Problem(objective_of(*question), "record_level", policy)
    brute = BruteForce(context, policy)
    solved = [solve(brute.record_nodes(row), problem) for row in range(context.table.n_records)]
    states = {status for status, _, _ in solved}
    status = next(s for s in ("infeasible", "prohibited", "optimal") if s in states)
    for solver in (TopDown(), *ARUBAS):
        outcome = carry_out(plan(context, problem, solver))
        assert outcome.status == status
        if status == "optimal":
            assert [tuple(row) for row in outcome.rule.steps.tolist()] == [levels for *_, levels in solved]
    check_genetic(context, problem, status)


@st.composite
def dags(draw):
    """At most 7 nodes with one or two parents each."""
    parents = {}
    for i in range(draw(st.integers(1, 6))):
        above = draw(st.sets(st.integers(-1, i - 1), min_size=1, max_size=2))
        parents[f"v{i}"] = [None if p < 0 else f"v{p}" for p in sorted(above)]
    return Hierarchy.from_parents(parents)


@pytest.mark.spec("INV-5")
@THOROUGH
@given(contexts(dags()), st.sampled_from(["zero", "add_self"]), QUESTIONS)
def test_top_down_search_finds_the_enumerated_rule_in_any_partial_order(context, policy, question):
    problem = Problem(objective_of(*question), "record_level", policy)
    everything = carry_out(plan(context, problem, Enumeration()))
    found = carry_out(plan(context, problem, TopDown()))
    assert (found.status, found.objective) == (everything.status, everything.objective)
    if found.rule is not None:
        for name in ("steps", "codes"):
            assert np.array_equal(getattr(found.rule, name, 0), getattr(everything.rule, name, 0))
    if not all(tree.is_tree for tree in context.table.hierarchies):
        for solver in (BranchAndBound(), Aruba(), Genetic(seed=1)):
            with pytest.raises(NotSupported, match="tree"):
                plan(context, problem, solver)


TABLE_SOLVERS = st.sampled_from([
    AUTO, Enumeration(), BranchAndBound(), TopDown(), Genetic(seed=1, population=3, elites=1)
])  # fmt: skip


@THOROUGH
@given(contexts(dags()), st.sampled_from(["zero", "add_self"]), QUESTIONS, TABLE_SOLVERS)
def test_table_rules_in_any_partial_order_are_the_best_of_both_end_levels(context, policy, question, solver):
    problem = Problem(objective_of(*question), "table_level", policy)
    rules = list(BruteForce(context, policy).table_rules())
    status, value, levels = solve(rules, problem)
    try:
        outcome = carry_out(plan(context, problem, solver))
    except NotSupported:
        assume(False)
    assert outcome.n_rules == len(rules)
    if outcome.status == "heuristic":
        assert isinstance(solver, Genetic)
        assert outcome.rule is None or outcome.rule.levels in {own for own, _, _ in rules}
        return
    assert outcome.status == status
    if levels is not None:
        assert outcome.rule.levels == levels
        sign = -1 if problem.objective.kind == "max_utility" else 1
        assert sign * outcome.objective == pytest.approx(value, rel=1e-9, abs=1e-12)


@THOROUGH
@given(contexts(dags()))
def test_the_frontier_of_table_rules_in_any_partial_order_is_that_of_all_rules(context):
    rules = list(BruteForce(context, "zero").table_rules())
    assume(all(math.isfinite(risk) for _, risk, _ in rules))
    found = plan_frontier(context, FrontierProblem("table_level"))
    outcome = found.combine({0: found.run_block(0, lambda _: None)})
    by_levels = {levels: (risk, utility) for levels, risk, utility in rules}
    for point in outcome.points:
        assert (point.risk, point.utility) == pytest.approx(by_levels[point.levels], rel=1e-9, abs=1e-12)
    assert max(own.utility for own in outcome.points) == pytest.approx(max(own[2] for own in rules))


SOLVERS = st.sampled_from([
    Enumeration(), BranchAndBound(), TopDown(), Aruba(), Genetic(seed=1, population=3, elites=1)
])  # fmt: skip


@THOROUGH
@given(contexts(), QUESTIONS, st.sampled_from(["table_level", "record_level"]), SOLVERS, st.integers(1, 12))
def test_a_budget_gives_a_feasible_rule_and_a_bound_below_the_optimum(
    context, question, scope, solver, budget
):
    problem = Problem(objective_of(*question), scope, "add_self")
    if isinstance(solver, Genetic) and question[0] == "max_utility":
        return
    if isinstance(solver, Enumeration):
        return
    best = carry_out(plan(context, problem))
    found = carry_out(plan(context, problem, solver, Budget(budget)))
    check_part(context, problem, best, found)
    again = carry_out(plan(context, problem, solver, Budget(budget)))
    assert again.to_document() == found.to_document()


def check_part(context, problem, best, found):
    """A part of a search says nothing that is wrong."""
    if best.status == "infeasible":
        assert found.status in ("infeasible", "heuristic")
        assert found.rule is None
        return
    assert found.status in ("heuristic", best.status)
    sign = -1 if problem.objective.kind == "max_utility" else 1
    if best.status == "optimal" and found.bounds is not None:
        assert found.bounds.lower <= sign * best.objective + 1e-9
    if found.rule is None:
        return
    assert best.status == "optimal"
    assert found.bounds.gap == pytest.approx(max(0.0, sign * found.objective - found.bounds.lower))
    assert sign * found.objective >= sign * best.objective - 1e-9
    records = found.assessment.records
    if problem.objective.kind == "min_risk":
        held = records.utility.min() if problem.scope == "record_level" else found.utility
        assert held >= problem.objective.threshold - 1e-9
    if problem.objective.kind == "max_utility":
        held = records.loss.max() if problem.scope == "record_level" else found.risk
        assert held <= problem.objective.threshold + 1e-9


@THOROUGH
@given(
    contexts(),
    QUESTIONS,
    st.sampled_from(["table_level", "record_level"]),
    st.sampled_from(["per_record", "average"]),
    SOLVERS,
    st.integers(0, 8),
)
def test_a_halted_search_still_answers_with_a_feasible_rule(
    context, question, scope, constraint, solver, calls
):
    if isinstance(solver, Genetic) and question[0] == "max_utility":
        return
    is_mean = scope == "record_level" and constraint == "average"
    problem = Problem(
        objective_of(*question), scope, "add_self", constraint=constraint if is_mean else "per_record"
    )
    solver = Enumeration() if is_mean else solver
    best = carry_out(plan(context, problem))
    asked = 0

    def halted():
        nonlocal asked
        asked += 1
        return asked > calls

    found = carry_out(plan(context, problem, solver), halted=halted)
    check_halted(context, problem, best, found, is_mean)
    nothing = plan(context, problem, solver).combine({})
    check_halted(context, problem, best, nothing, is_mean)
    # Without a block it may be plain already that no rule will do.
    assert not nothing.complete or nothing.status == best.status in ("infeasible", "prohibited")


def check_halted(context, problem, best, found, is_mean):
    if is_mean:
        check_mean(problem, best, found)
    else:
        check_part(context, problem, best, found)
    harm = context.sensitivity
    is_finite = not any(np.isinf(part).any() for part in (*harm.shapes, harm.factors, harm.constant))
    if problem.objective.kind == "min_risk" and best.status == "optimal" and is_finite:
        assert found.rule is not None


def check_mean(problem, best, found):
    sign = -1 if problem.objective.kind == "max_utility" else 1
    if found.rule is not None:
        assert best.status == "optimal"
        limit = problem.objective.threshold
        floor, cap = (limit, math.inf) if sign > 0 else (-math.inf, limit)
        assert found.utility >= floor - 1e-9
        assert found.risk <= cap + 1e-9
    if best.objective is not None and found.bounds is not None:
        assert found.bounds.lower <= sign * best.objective + 1e-9


PROPER_MODELS = [model for model in MODELS if model[0] != "III_raw"]
OF_SETS = ("bayes", "worst_case", "worst_case_per_record")
VIEWS = st.sampled_from(OF_SETS)
AGGREGATES = st.sampled_from(["average", "max"])
SCOPES = st.sampled_from(["table_level", "record_level"])


def fits(context, problem, solver, absent):
    """Whether a search is exact here, by its conditions in the specification (12.1, 19.8)."""
    if isinstance(solver, Enumeration):
        return True
    if not context.harm_is_monotone:
        return False
    if isinstance(solver, Aruba) and (context.failure is not None):
        return False
    several = problem.scope == "table_level" or len(context.attackers(problem.view)) > 1
    return not (isinstance(solver, Aruba) and several and absent and problem.absent_policy == "zero")


@pytest.mark.spec("INV-5")
@THOROUGH
@given(instances(), st.sampled_from(["zero", "add_self"]), QUESTIONS, SCOPES, VIEWS, AGGREGATES)
def test_every_search_agrees_with_enumeration_under_every_attacker(
    context, policy, question, scope, view, aggregate
):
    view = view if context.dictionaries else "known"
    if scope == "record_level" and (aggregate == "max" or view == "worst_case"):
        return
    problem = Problem(objective_of(*question), scope, policy, view, aggregate=aggregate)
    best = carry_out(plan(context, problem, Enumeration()))
    for solver in (BranchAndBound(), TopDown(), *ARUBAS[:2]):
        if not fits(context, problem, solver, best.absent):
            with pytest.raises(NotSupported):
                plan(context, problem, solver)
            continue
        found = carry_out(plan(context, problem, solver))
        assert (found.status, found.objective) == (best.status, best.objective)
        if best.rule is not None and scope == "table_level":
            assert found.rule == best.rule


@THOROUGH
@given(
    instances(models=PROPER_MODELS, max_records=3),
    QUESTIONS,
    SCOPES,
    st.sampled_from(["per_record", "average"]),
    VIEWS,
    AGGREGATES,
    st.integers(0, 12),
)
def test_a_search_halted_anywhere_under_every_attacker_says_nothing_that_is_wrong(
    context, question, scope, constraint, view, aggregate, calls
):
    view = view if context.dictionaries else "known"
    constraint = constraint if scope == "record_level" else "per_record"
    problem = Problem(objective_of(*question), scope, "zero", view, constraint, aggregate)
    best = carry_out(plan(context, problem))
    asked = 0

    def halted():
        nonlocal asked
        asked += 1
        return asked > calls

    search = plan(context, problem)
    blocks = {i: search.run_block(i, lambda _: None, halted) for i in range(search.n_blocks)}
    for held in (blocks, {}, dict(list(blocks.items())[1:])):
        check_bound(problem, best, search.combine(held))


def check_bound(problem, best, found):
    sign = -1 if problem.objective.kind == "max_utility" else 1
    found.to_document()
    if best.status == "optimal":
        assert found.status in ("optimal", "heuristic")
        if found.bounds is not None:
            assert found.bounds.lower <= sign * best.objective + 1e-9
    if found.rule is not None and best.objective is not None and best.status == "optimal":
        assert sign * found.objective >= sign * best.objective - 1e-9
    if found.status == "optimal":
        assert best.status in ("optimal", "heuristic")
        assert best.objective is None or found.objective == pytest.approx(best.objective, abs=1e-9)
    if found.status == "infeasible":
        assert best.status == "infeasible"
