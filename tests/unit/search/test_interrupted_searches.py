"""What searches that end early say: no bound above the optimum, nothing feasible infeasible, no NaN."""

from __future__ import annotations

import math

import numpy as np
import pytest

from app.domain.dictionaries.dictionary import Dictionary, link_identity
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.risk.models import RiskModel
from app.domain.risk.utility import build_utility
from app.domain.search.blocks import carry_out
from app.domain.search.budget import Budget
from app.domain.search.context import SearchContext
from app.domain.search.large_lattices.chains import ChainInstance
from app.domain.search.large_lattices.plan import ChainPlan
from app.domain.search.lattices.search import search_lattice
from app.domain.search.objectives import MaxUtility, MinRisk
from app.domain.search.outcome import Bounds
from app.domain.search.plans import plan
from app.domain.search.problem import Problem
from app.domain.search.record_risk import ScoredLattice
from app.domain.search.record_rules import instance as record_instance
from app.domain.search.record_rules import optima
from app.domain.search.record_rules import plan as record_level
from app.domain.search.selection import OPTIMAL
from app.domain.search.solvers import Aruba, BranchAndBound, Enumeration, TopDown
from app.domain.sensitivity.sensitivity import build_sensitivity, constant_sensitivity
from app.domain.sensitivity.weights import ConstantWeight
from app.domain.tables.table import Table
from tests.oracles.search_instances import objective_of

FLAT = Hierarchy.from_parents({"a": [None], "b": [None]})


def context_of(records, entities, weight=1.0, failure=None, model="I"):
    codes = FLAT.encode(records)[0].reshape(-1, 1)
    table = Table(("x",), (FLAT,), codes)
    psi = None if failure is None else constant_sensitivity(table, failure)
    return SearchContext(
        table,
        Dictionary(len(entities), (link_identity("x", FLAT, entities),)),
        build_sensitivity(table, "linear", {"x": ConstantWeight(weight)}),
        build_utility(table),
        failure=psi,
        model=RiskModel(model),
    )


@pytest.mark.parametrize("objective", [("min_risk", 2.0), ("max_utility", 3.0)])
def test_looking_for_a_first_rule_hides_no_node_from_the_top_down_search(objective):
    risk, utility = np.array([3.0, 2.0, 1.0]), np.array([2.0, 1.0, 0.0])
    lattice, problem = ScoredLattice(risk, risk, utility), Problem(objective_of(*objective), "record_level")
    found = search_lattice(lattice, problem, TopDown(), Budget(relative_gap=0.1))
    assert (found.code, found.node, found.truncated) == (OPTIMAL, (0,), False)
    few = search_lattice(lattice, problem, TopDown(), Budget(max_nodes=1, relative_gap=0.1))
    assert few.code == OPTIMAL
    assert few.bound <= found.bound


@pytest.mark.parametrize("solver", [Enumeration(), BranchAndBound(), TopDown()])
def test_a_harm_of_failure_bounds_nothing_from_full_suppression(solver):
    # As it is the record risks 1; suppressed, half of the harm of failure, 1.5.
    context = context_of(["a"], ["a", "b"], failure=3.0)
    problem = Problem(MinRisk(0.0), "record_level")
    assert carry_out(plan(context, problem, solver)).objective == 1.0
    nothing = plan(context, problem, solver).combine({})
    assert nothing.bounds.lower <= 1.0


@pytest.mark.parametrize("aggregate", ["average", "max"])
def test_a_harm_of_failure_makes_no_cap_infeasible_that_a_search_did_not_look_at(aggregate):
    context = context_of(["a"], ["a", "b"], failure=3.0)
    problem = Problem(MaxUtility(1.0), "record_level", constraint="average", aggregate=aggregate)
    assert carry_out(plan(context, problem)).objective == 1.0
    nothing = plan(context, problem).combine({})
    assert nothing.status != "infeasible"


@pytest.mark.parametrize("objective", [("min_risk", 1.0), ("max_utility", 1.0), ("lagrangian", 0.1)])
@pytest.mark.parametrize("solver", [Enumeration(), BranchAndBound()])
def test_records_solved_before_a_halt_bound_the_rest_of_the_table(monkeypatch, objective, solver):
    monkeypatch.setattr(record_instance, "CELLS_PER_BLOCK", 1)
    monkeypatch.setattr(optima, "SCANNED_PER_EVALUATED", 1)
    monkeypatch.setattr(record_level, "SEARCHES_PER_BLOCK", 1)
    context = context_of(["a", "b"], ["a", "a", "b", "b"])
    problem = Problem(objective_of(*objective), "record_level")
    best = carry_out(plan(context, problem, solver))
    halves = plan(context, problem, solver)
    assert halves.n_blocks == 2
    for index in range(2):
        found = halves.combine({index: halves.run_block(index, lambda units: None)})
        assert found.bounds.lower <= best.bounds.lower + 1e-12
        assert found.status == "heuristic"


@pytest.mark.parametrize("objective", [("min_risk", 0.0), ("max_utility", 0.5)])
def test_a_record_without_candidates_is_disclosed_by_the_frontier_search_on_chains(objective):
    context = context_of(["a"], ["b"], model="II")
    problem = Problem(objective_of(*objective), "record_level")
    for budget in (Budget(), Budget(max_nodes=1), Budget(relative_gap=0.5)):
        found = carry_out(ChainPlan(ChainInstance(context, "zero"), problem, Aruba(), budget))
        assert (found.status, found.risk, found.utility) == ("optimal", 0.0, 1.0)
        assert found.rule.steps.tolist() == [[0]]


@pytest.mark.parametrize("solver", [Aruba(), BranchAndBound()])
def test_a_record_left_out_is_not_disclosed_at_infinite_risk(solver):
    context = context_of(["a", "b"], ["a", "b"], weight=math.inf)
    problem = Problem(MinRisk(1.0), "record_level")
    found = ChainPlan(ChainInstance(context, "zero"), problem, solver).combine({})
    assert (found.rule, found.objective, found.relative_gap) == (None, None, None)
    assert found.status == "heuristic"


def test_the_gap_of_an_infinite_objective_is_infinite():
    context = context_of(["a"], ["a"])
    found = carry_out(plan(context, Problem(MinRisk(1.0), "record_level")))
    object.__setattr__(found, "bounds", Bounds(0.0, math.inf))
    object.__setattr__(found, "objective", math.inf)
    assert found.relative_gap == math.inf


def test_a_risk_of_minus_infinity_prohibits_nothing():
    context = context_of(["a", "a"], ["a", "a"], weight=math.inf, model="III_raw")
    problem = Problem(MinRisk(1.0))
    assert carry_out(plan(context, problem, Enumeration())).risk == -math.inf
    assert plan(context, problem, Enumeration()).combine({}).status == "heuristic"


def test_nodes_above_a_record_s_own_top_are_not_counted():
    """A missing value has one node and any other two: three of the four that two lattices would have."""
    codes = np.array([[0], [1]], dtype=np.int32)
    table = Table(("x",), (FLAT,), codes)
    context = SearchContext(
        table,
        Dictionary(2, (link_identity("x", FLAT, ["a", "b"]),)),
        build_sensitivity(table, "linear", {"x": ConstantWeight(1.0)}),
        build_utility(table),
    )
    found = carry_out(plan(context, Problem(MinRisk(0.0), "record_level"), Enumeration()))
    assert set(vars(found.counters).values()) == {3}
