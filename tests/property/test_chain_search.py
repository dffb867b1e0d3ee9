"""Records as chains: bounds hold, proofs find what loops find, and exchanges count what loops count."""

from __future__ import annotations

import itertools
import math
from contextlib import ExitStack
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.domain.risk.models import RiskModel
from app.domain.risk.utility import build_utility
from app.domain.search.blocks import carry_out
from app.domain.search.budget import Budget
from app.domain.search.context import SearchContext
from app.domain.search.large_lattices import exchanges as exchange_search
from app.domain.search.large_lattices import near_bounds
from app.domain.search.large_lattices import near_bounds as surroundings
from app.domain.search.large_lattices import plan as chain_search
from app.domain.search.large_lattices.chains import ChainInstance
from app.domain.search.large_lattices.exchanges import BitExchanges, counts_along, way_down
from app.domain.search.large_lattices.least_weights import LeastWeights, Units, least_above_each
from app.domain.search.large_lattices.near_bounds import core
from app.domain.search.large_lattices.near_entities import NearRows, Steps
from app.domain.search.large_lattices.plan import ChainPlan
from app.domain.search.objectives import MinRisk
from app.domain.search.plans import plan
from app.domain.search.problem import Problem
from app.domain.search.selection import INFEASIBLE, OPTIMAL, PROHIBITED
from app.domain.search.solvers import AUTO, Enumeration
from app.experiments.synthetic import generate
from tests.oracles.effort import examples
from tests.oracles.search_instances import BruteForce, contexts, objective_of, solve

QUICK = settings(
    max_examples=examples(80),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
QUESTIONS = st.one_of(
    st.tuples(st.just("min_risk"), st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0, 4.0])),
    st.tuples(st.just("max_utility"), st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0, 3.0])),
    st.tuples(st.just("lagrangian"), st.sampled_from([0.0, 0.05, 0.1, 0.5, 2.0])),
)
POLICIES = st.sampled_from(["zero", "add_self"])
MODELS = st.sampled_from(["I", "II", "III"])
BUDGETS = st.sampled_from([None, None, 1, 3])
CODES = {OPTIMAL: "optimal", INFEASIBLE: "infeasible", PROHIBITED: "prohibited"}
MANY = {
    "everybody is near": {},
    "few pairs are compared": {"CLIQUE_ROWS": 1, "CELLS_AHEAD": 0},
    "bounds from weights": {"FEW_NEAR": 0},
    "bounds from numbers": {"FEW_NEAR": 0, "MANY_NEAR": 0, "FEW_ROWS": -1},
}


class OtherModels(BruteForce):
    """The loops of the oracle, for every model of section 10."""

    def score(self, row, codes):
        """Risk and utility of one disclosed record."""
        sensitivity, model = self.context.sensitivity, self.context.model.name
        matrix = np.array([codes], dtype=np.int32)
        groups = None if sensitivity.groups is None else sensitivity.groups[[row]]
        count, phi = self.count(row, codes), float(sensitivity.phi(matrix, groups)[0])
        utility = float(self.context.utility.of(matrix)[0])
        if not count or (model == "III" and not phi):
            return 0.0, utility
        entities = self.context.dictionary.n_entities
        if self.policy == "add_self":
            entities += self.context.table.entity_ids[row] not in self.context.dictionary.entity_ids.tolist()
        if model == "III":
            return (phi if math.isinf(phi) else phi * math.log(entities / count)), utility
        return (phi if model == "I" else 1.0) / count, utility


def limits(name):
    """Thresholds that send small instances the way of large ones."""
    stack = ExitStack()
    for module in (surroundings, near_bounds, exchange_search):
        known = {key: value for key, value in MANY[name].items() if hasattr(module, key)}
        stack.enter_context(patch.multiple(module, **known)) if known else None
    return stack


def check(context, policy, question, model, budget):
    """Every record of a random instance is solved or bounded as the loops say."""
    context = replace(context, model=RiskModel(model))
    problem = Problem(objective_of(*question), "record_level", policy)
    instance, loops = ChainInstance(context, policy), OtherModels(context, policy)
    for row in range(context.table.n_records):
        nodes = list(loops.record_nodes(row))
        status, value, levels = solve(nodes, problem)
        found = chain_search.solve(
            instance.chains(int(instance.of_record[row])), problem, Budget(max_nodes=budget)
        )
        assert CODES[found.code] == status
        if status != "optimal":
            continue
        risk, utility = next((r, u) for node, r, u in nodes if node == found.levels)
        assert found.risk == pytest.approx(risk, rel=1e-12, abs=1e-15)
        objective = {"min_risk": risk, "max_utility": -utility}.get(
            problem.objective.kind, risk - problem.objective.threshold * utility
        )
        slack = 1e-11 * max(1.0, abs(value))
        assert found.bound <= value + slack
        assert objective >= value - slack
        if found.is_proved:
            assert found.levels == levels
        if found.is_local:
            for node, r, u in nodes:
                ups = sum(b > a for a, b in zip(found.levels, node, strict=True))
                downs = sum(b < a for a, b in zip(found.levels, node, strict=True))
                if ups <= 1 and downs <= 1 and solve([(node, r, u)], problem)[0] == "optimal":
                    assert solve([(node, r, u)], problem)[1] >= objective - slack


@QUICK
@given(contexts(), POLICIES, QUESTIONS, MODELS, BUDGETS)
def test_what_is_proved_is_what_loops_find_and_bounds_hold(context, policy, question, model, budget):
    check(context, policy, question, model, budget)


@pytest.mark.parametrize("way", list(MANY))
@settings(max_examples=examples(30), deadline=None, suppress_health_check=list(HealthCheck))
@given(contexts(), POLICIES, QUESTIONS, MODELS)
def test_bounds_hold_however_many_entities_are_near(way, context, policy, question, model):
    with limits(way):
        check(context, policy, question, model, None)


@pytest.mark.deep
@settings(max_examples=2500, deadline=None, suppress_health_check=list(HealthCheck))
@given(contexts(), POLICIES, QUESTIONS, MODELS, BUDGETS, st.sampled_from(list(MANY)))
def test_thousands_of_records_are_solved_as_by_loops(context, policy, question, model, budget, way):
    with limits(way):
        check(context, policy, question, model, budget)


def synthetic(seed, model="I", family="linear_personal", utility="depth_sum"):
    """Twelve records of six attributes among 150 entities: 324 nodes each, many entities near."""
    data = generate(seed, 150, ((2, 2), (3,), (2, 2), (2, 3), (4,), (2, 2)))
    table = data.table(12)
    return SearchContext(
        table,
        data.dictionary(0, 150),
        data.sensitivity(table, family),
        build_utility(table, utility),
        model=RiskModel(model),
    )


SETTINGS = [
    (0, "I", "linear_personal"),
    (1, "I", "linear_personal"),
    (2, "II", "linear_personal"),
    (3, "III", "multiplicative"),
    (4, "I", "multiplicative"),
]


@pytest.mark.deep
@pytest.mark.parametrize(("seed", "model", "family"), SETTINGS)
def test_enumeration_agrees_on_correlated_records(seed, model, family):
    context = synthetic(seed, model, family)
    for question in (("min_risk", 5.0), ("max_utility", 0.02), ("lagrangian", 0.01)):
        problem = Problem(objective_of(*question), "record_level")
        exact = carry_out(plan(context, problem, Enumeration()))
        found = carry_out(ChainPlan(ChainInstance(context, "zero"), problem, AUTO))
        assert found.bounds.lower <= exact.bounds.lower + 1e-12
        assert found.status in ("optimal", "heuristic")
        if found.status == "optimal":
            assert np.array_equal(found.rule.steps, exact.rule.steps)
            assert found.objective == pytest.approx(exact.objective, rel=1e-12)
        else:
            assert found.bounds.gap > 0 or found.objective == pytest.approx(exact.objective, rel=1e-11)


def test_most_of_the_correlated_records_are_proved():
    context = synthetic(1)
    problem = Problem(MinRisk(5.0), "record_level")
    instance = ChainInstance(context, "zero")
    found = [chain_search.solve(instance.chains(i), problem) for i in range(instance.n_distinct)]
    assert sum(one.is_proved for one in found) >= len(found) // 2
    assert all(one.is_local for one in found)


@QUICK
@given(contexts(), POLICIES, st.sampled_from([0, 1, exchange_search.MOST_LISTED]), st.data())
def test_exchanges_count_what_each_node_counts(context, policy, most_listed, data):
    instance = ChainInstance(context, policy)
    chains = instance.chains(data.draw(st.integers(0, instance.n_distinct - 1)))
    lows = chains.low.tolist()
    levels = np.array([data.draw(st.integers(a, b)) for a, b in zip(lows, chains.heights, strict=True)])
    steps = Steps.of(chains)
    everybody = NearRows.of(chains, steps, np.arange(instance.index.n_entities))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exchange_search, "MOST_LISTED", most_listed)
        by_bits = BitExchanges.of(chains, steps, levels)
    bounds = by_bits.counts.copy()
    by_bits.refine(np.arange(by_bits.counts.size))
    for exchanges in (everybody.exchanges(levels), by_bits):
        for row, column in np.ndindex(exchanges.counts.shape):
            if not exchanges.distinct[row, column]:
                continue
            after = levels.copy()
            if row:
                after[exchanges.up[row - 1]] = exchanges.up_level[row - 1]
            if column:
                after[exchanges.down[column - 1]] = exchanges.down_level[column - 1]
            assert exchanges.counts[row, column] == chains.count(after.tolist())
            assert bounds[row, column] >= exchanges.counts[row, column]


@QUICK
@given(st.integers(1, 7), st.integers(0, 2**32), st.integers(1, 4))
def test_no_clique_is_peeled_off_and_none_is_greater_than_the_core(n, seed, least):
    drawn = np.random.default_rng(seed).random((n, n)) < 0.6
    pairs = drawn | drawn.T | np.eye(n, dtype=bool)
    cliques = [
        chosen
        for size in range(1, n + 1)
        for chosen in itertools.combinations(range(n), size)
        if pairs[np.ix_(chosen, chosen)].all()
    ]
    alive, most = core(pairs, least)
    assert all(alive[list(clique)].all() for clique in cliques if len(clique) >= least)
    if max(map(len, cliques)) >= least:
        assert most >= max(map(len, cliques))


@QUICK
@given(contexts(), POLICIES)
def test_a_way_down_counts_what_each_of_its_nodes_counts(context, policy):
    instance = ChainInstance(context, policy)
    for number in range(instance.n_distinct):
        chains = instance.chains(number)
        nodes = way_down(chains)
        assert counts_along(chains, nodes).tolist() == [chains.count(node.tolist()) for node in nodes]


@QUICK
@given(contexts(), st.data())
def test_the_least_weights_are_those_of_all_nodes(context, data):
    instance = ChainInstance(context, "zero")
    chains = instance.chains(0)
    units = Units.of_record(chains)
    levels = range(chains.n_attributes)
    low = np.array([data.draw(st.integers(0, h)) for h in chains.heights], dtype=np.int64)
    nodes = list(itertools.product(*(range(low[j], chains.heights[j] + 1) for j in levels)))
    floor = data.draw(st.sampled_from([0.0, 1.0, 2.0]))
    held = [node for node in nodes if chains.utility_of(node) >= floor - 1e-9]
    needed = units.needed(floor)
    assert all(units.total(np.array(node)) >= needed for node in held)
    least = min((chains.weight_of(node) for node in held), default=math.inf)
    budget = units.total(low) - needed
    if budget < 0:
        assert not held
        return
    curve = LeastWeights.above(units, low, budget)
    bound = float(least_above_each(units, low[None, :], needed)[0])
    assert bound == pytest.approx(float(curve.least.min()), rel=1e-12)
    assert bound <= least + 1e-12 * max(1.0, least)
    if units.is_exact:
        assert bound == pytest.approx(least, rel=1e-12)
        for lost, weight in enumerate(curve.least.tolist()):
            wanted = [n for n in nodes if units.total(low) - units.total(np.array(n)) == lost]
            assert weight == pytest.approx(min((chains.weight_of(n) for n in wanted), default=math.inf))
            if wanted and math.isfinite(weight):
                ties = [n for n in wanted if chains.weight_of(n) <= weight + 1e-9]
                assert curve.first_node(lost, weight + 1e-9) == min(ties)
