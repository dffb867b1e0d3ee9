"""Optima on canonical instances: the specification's vectors and the properties of the solvers."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from app.domain.risk.models import RiskModel
from app.domain.search.budget import Budget
from app.domain.search.lattices.branch_and_bound import search_boxes
from app.domain.search.objectives import Lagrangian, MaxUtility, MinRisk
from app.domain.search.problem import Problem
from app.domain.search.record_risk import ScoredLattice
from app.domain.search.selection import INFEASIBLE, OPTIMAL, PROHIBITED, choose, frontier
from app.domain.tables.numbers import tie_margin
from tests.oracles.search_instances import objective_of
from tests.unit.search.canonical_instances import C1, generated, instance_of, with_constant_sensitivity

# Record 1 of the fixture (Lafayette, Chinese, 20-39) under dictionary D1, thresholds as TV-4 lists them.
R1_WEIGHTS = [
    np.array([0.3, 0.15, 0.1, 0.075, 0.05, 0.0]),
    np.array([0.4, 0.4 / 3, 0.0]),
    np.array([0.75, 0.375, 0.0]),
]
R1_DEPTHS = [np.arange(5.0, -1, -1), np.arange(2.0, -1, -1), np.arange(2.0, -1, -1)]
R1_LOG_LEAVES = [np.log(7 / np.array([1.0, 2, 3, 4, 6, 7])), np.log(5 / np.array([1.0, 3, 5])),
                 np.log(4 / np.array([1.0, 2, 4]))]  # fmt: skip
R1_THRESHOLDS = np.array(
    [(0, 0, 0), (1, 0, 0), (0, 1, 2), (4, 2, 0), (0, 2, 0), (0, 0, 0),
     (0, 2, 0), (4, 2, 2), (4, 2, 0), (5, 0, 0), (2, 0, 2), (0, 0, 0)]
)  # fmt: skip
R1 = instance_of(R1_WEIGHTS, R1_DEPTHS, R1_THRESHOLDS)


def under_model(instance, name):
    """The same lattice with the risks of a model; every entity is consistent with its top."""
    entities = float(instance.counts.max())
    risk = RiskModel(name).of(instance.counts, instance.sensitivity, None, entities)
    return ScoredLattice(risk, risk, instance.utilities)


def solve_scored(lattice, problem):
    """Value and node, the same from enumeration and from branch and bound."""
    choice = choose(lattice.scores.reshape(-1, 1), lattice.utilities.reshape(-1, 1), problem.objective)
    node = tuple(int(v) for v in np.unravel_index(int(choice.node[0]), lattice.scores.shape))
    found = search_boxes(lattice, problem)
    assert found.code == choice.code[0]
    if found.code == OPTIMAL:
        assert found.node == node
    return choice, node


def solve_both(instance, problem):
    """Value and node, the same from both solvers."""
    choice, node = instance.enumerate(problem.objective)
    found = search_boxes(instance, problem)
    assert found.code == choice.code[0]
    if found.code == OPTIMAL:
        assert found.node == node
    return choice, node


def by_hand(instance, problem):
    """The optimum, first in the order of ties, by plain loops."""
    nodes = []
    for x in itertools.product(*(range(h + 1) for h in instance.heights)):
        risk = instance.sensitivity[x] / instance.counts[x] if instance.counts[x] else 0.0
        utility = instance.utilities[x]
        feasible, goal, second = {
            "min_risk": (utility >= problem.objective.threshold - 1e-9, risk, -utility),
            "max_utility": (risk <= problem.objective.threshold + 1e-9, -utility, risk),
            "lagrangian": (True, risk - problem.objective.threshold * utility, -utility),
        }[problem.objective.kind]
        if feasible:
            nodes.append((goal, second, x))
    if not nodes:
        return None
    best = min(goal for goal, _, _ in nodes)
    nodes = [n for n in nodes if n[0] <= best + tie_margin(best)]
    second = min(n[1] for n in nodes)
    nodes = [n for n in nodes if n[1] <= second + tie_margin(second)]
    return best, min(n[2] for n in nodes)


@pytest.mark.spec("TV-13")
def test_the_canonical_instance_has_the_tabulated_counts_sensitivities_and_losses():
    expected = {
        (0, 0): (1, 1.0, 5, 1.0, 1.0, 2.302585), (0, 1): (2, 0.8, 4, 0.4, 0.5, 1.28755),
        (0, 2): (2, 0.6, 3, 0.3, 0.5, 0.965663), (1, 0): (2, 0.7, 4, 0.35, 0.5, 1.126607),
        (1, 1): (4, 0.5, 3, 0.125, 0.25, 0.458145), (1, 2): (5, 0.3, 2, 0.06, 0.2, 0.207944),
        (2, 0): (3, 0.5, 3, 0.166667, 0.333333, 0.601986), (2, 1): (6, 0.3, 2, 0.05, 0.166667, 0.153248),
        (2, 2): (7, 0.1, 1, 0.014286, 0.142857, 0.035667), (3, 0): (4, 0.4, 2, 0.1, 0.25, 0.366516),
        (3, 1): (7, 0.2, 1, 0.028571, 0.142857, 0.071335), (3, 2): (10, 0, 0, 0, 0.1, 0),
    }  # fmt: skip
    for x, (count, phi, utility, *risks) in expected.items():
        assert C1.counts[x] == count
        assert C1.sensitivity[x] == pytest.approx(phi)
        assert C1.utility(x) == utility
        assert C1.risks(x)[0] == pytest.approx(risks[0], abs=5e-7)
        for name, risk in zip(("I", "II", "III"), risks, strict=True):
            assert under_model(C1, name).scores[x] == pytest.approx(risk, abs=5e-7)


@pytest.mark.spec("TV-13", "E-12")
def test_the_raw_entropy_calls_a_risky_disclosure_the_best():
    raw = under_model(C1, "III_raw")
    least = np.unravel_index(raw.scores.argmin(), raw.scores.shape)
    assert (tuple(map(int, least)), raw.scores.min()) == ((1, 1), pytest.approx(-0.693147, abs=5e-7))
    assert raw.scores[3, 2] == 0


@pytest.mark.spec("TV-13")
def test_a_floor_that_nothing_reaches_is_infeasible():
    assert solve_both(C1, Problem(MinRisk(5.5), "record_level"))[0].code[0] == INFEASIBLE


@pytest.mark.spec("TV-13", "E-19")
@pytest.mark.parametrize("solver", ["enumeration", "branch_and_bound"])
def test_where_everything_may_be_suppressed_that_is_optimal(solver):
    problem = Problem(MinRisk(0), "record_level")
    choice, node = C1.enumerate(problem.objective)
    assert (node if solver == "enumeration" else search_boxes(C1, problem).node) == (3, 2)
    assert choice.ties[0] == 1


@pytest.mark.spec("E-18")
def test_the_more_specific_of_a_feasible_node_is_feasible_under_a_floor_and_the_more_general_under_a_cap():
    for x in itertools.product(range(4), range(3)):
        for finer in itertools.product(*(range(v + 1) for v in x)):
            for threshold in (1.0, 2.0, 3.0):
                assert not (C1.utilities[x] >= threshold > C1.utilities[finer])
            for cap in (0.03, 0.1, 0.3):
                assert not (C1.risks(finer)[0] <= cap < C1.risks(x)[0])
    # Under a cap a node more specific than a feasible one need not be: what prunes under one misleads there.
    assert C1.risks((1, 1))[0] <= 0.13 < C1.risks((0, 1))[0]


@pytest.mark.spec("TV-13")
@pytest.mark.parametrize(
    ("kind", "threshold", "node"),
    [
        ("min_risk", 1, (2, 2)), ("min_risk", 2, (2, 1)), ("min_risk", 3, (1, 1)), ("min_risk", 4, (1, 0)),
        ("min_risk", 5, (0, 0)), ("lagrangian", 0.01, (3, 2)), ("lagrangian", 0.05, (2, 1)),
        ("lagrangian", 0.1, (1, 1)), ("lagrangian", 0.3, (1, 0)),
    ],
)  # fmt: skip
def test_the_canonical_instance_has_the_tabulated_optima(kind, threshold, node):
    assert solve_both(C1, Problem(objective_of(kind, threshold), "record_level"))[1] == node


@pytest.mark.spec("TV-13")
@pytest.mark.parametrize(("cap", "utility"), [(0.03, 1), (0.05, 2), (0.1, 2), (0.3, 3)])
def test_the_canonical_instance_has_the_tabulated_greatest_utilities(cap, utility):
    assert solve_both(C1, Problem(MaxUtility(cap), "record_level"))[0].value[0] == utility


@pytest.mark.spec("TV-13")
def test_the_lagrangian_has_the_tabulated_values():
    values = [
        solve_both(C1, Problem(Lagrangian(x), "record_level"))[0].value[0] for x in (0.01, 0.05, 0.1, 0.3)
    ]
    assert values == pytest.approx([0, -0.05, -0.175, -0.85])


@pytest.mark.spec("TV-13")
@pytest.mark.parametrize(("floor", "count", "node"), [(1, 2, (2, 2)), (4, 2, (0, 1))])
def test_ties_of_pure_identification_are_counted_and_broken_by_the_levels(floor, count, node):
    choice, found = solve_both(with_constant_sensitivity(C1), Problem(MinRisk(floor), "record_level"))
    assert (choice.ties[0], found) == (count, node)


@pytest.mark.spec("TV-13")
@pytest.mark.parametrize(
    ("seed", "heights", "n", "floor", "risk", "node", "pure_risk", "pure_nodes", "entropy"),
    [
        (2009, (3, 2, 2), 25, 4, 0.375, (3, 1, 2), 0.0625, [(3, 1, 2)], 2.677723),
        (2009, (3, 2, 2), 25, 8, 1.555556, (3, 0, 2), 0.111111, [(3, 0, 2)], 14.303117),
        (2009, (3, 2, 2), 25, 12, 5.6, (1, 0, 1), 0.2, [(1, 0, 1)], 45.064262),
        (2012, (4, 3, 2, 2), 60, 9.5, 0.176471, (2, 3, 2, 2), 0.029412, [(2, 3, 2, 2)], 3.407904),
        (2012, (4, 3, 2, 2), 60, 19, 1.0, None, 0.071429, [(1, 2, 2, 2), (2, 1, 2, 2)], 20.374021),
        (2012, (4, 3, 2, 2), 60, 28.5, 4.8, (2, 0, 0, 2), 0.2, [(1, 1, 0, 2), (2, 0, 0, 2)], 59.63776),
        (7, (2, 2, 2, 2, 2), 80, 10.75, 0.113636, (2, 1, 1, 2, 2), 0.022727, [(2, 1, 1, 2, 2)], 2.989185),
        (7, (2, 2, 2, 2, 2), 80, 21.5, 1.384615, (2, 0, 0, 2, 2), 0.071429, [(1, 0, 1, 1, 2)], 32.707391),
        (7, (2, 2, 2, 2, 2), 80, 32.25, 7.2, (0, 0, 0, 1, 2), 0.2, [(0, 0, 0, 1, 2)], 99.813194),
    ],
)
def test_the_generated_instances_have_the_tabulated_optima(
    seed, heights, n, floor, risk, node, pure_risk, pure_nodes, entropy
):
    instance = generated(seed, heights, n)
    problem = Problem(MinRisk(floor), "record_level")
    choice, found = solve_both(instance, problem)
    assert choice.value[0] == pytest.approx(risk, abs=5e-7)
    assert found == node if node else found in [(1, 2, 2, 2), (2, 1, 2, 2)]
    choice, found = solve_both(with_constant_sensitivity(instance), problem)
    assert choice.value[0] == pytest.approx(pure_risk, abs=5e-7)
    assert found in pure_nodes
    assert choice.ties[0] == len(pure_nodes)
    choice, found = solve_scored(under_model(instance, "III"), problem)
    assert choice.value[0] == pytest.approx(entropy, abs=5e-7)
    assert found == node if node else found in [(1, 2, 2, 2), (2, 1, 2, 2)]


@pytest.mark.spec("TV-13")
def test_the_generator_draws_the_tabulated_tables():
    instance = generated(2009, (3, 2, 2), 25)
    assert (instance.utilities[0, 0, 0], instance.sensitivity[0, 0, 0]) == (16, 34)
    assert [instance.utilities[x, 2, 2] for x in range(4)] == [5, 3, 1, 0]
    assert [instance.sensitivity[3, x, 2] for x in range(3)] == [14, 6, 0]
    assert generated(2012, (4, 3, 2, 2), 60).sensitivity[0, 0, 0, 0] == 46
    assert generated(7, (2, 2, 2, 2, 2), 80).utilities[0, 0, 0, 0, 0] == 43


@pytest.mark.spec("TV-12")
@pytest.mark.parametrize(
    ("floor", "risk", "node", "pure_risk", "pure_nodes", "entropy"),
    [
        (0, 0, (5, 2, 2), 0.083333, [(5, 2, 2)], 0),
        (1, 0.004545, (4, 2, 2), 0.090909, [(4, 2, 2)], 0.004351),
        (3, 0.0125, (2, 2, 2), 0.125, [(2, 2, 2), (4, 2, 0)], 0.040547),
        (5, 0.05, (0, 2, 2), 0.166667, [(0, 2, 2), (1, 2, 1), (1, 2, 0), (2, 2, 0)], 0.207944),
        (7, 0.21, (0, 2, 0), 0.2, [(0, 2, 0)], 0.919242),
        (9, 0.483333, (0, 0, 0), 0.333333, [(0, 0, 0)], 2.010127),
    ],
)  # fmt: skip
def test_the_fixtures_first_record_has_the_tabulated_optima(
    floor, risk, node, pure_risk, pure_nodes, entropy
):
    problem = Problem(MinRisk(floor), "record_level")
    choice, found = solve_both(R1, problem)
    assert (choice.value[0], found) == (pytest.approx(risk, abs=5e-7), node)
    choice, found = solve_both(with_constant_sensitivity(R1), problem)
    assert choice.value[0] == pytest.approx(pure_risk, abs=5e-7)
    pure = under_model(R1, "II")
    tied = np.argwhere((pure.utilities >= floor) & (abs(pure.scores - choice.value[0]) < 1e-12))
    assert sorted(map(tuple, tied.tolist())) == sorted(pure_nodes)
    most = max(R1.utilities[x] for x in pure_nodes)
    assert found == min(x for x in pure_nodes if R1.utilities[x] == most)
    choice, found = solve_scored(under_model(R1, "III"), problem)
    assert (choice.value[0], found) == (pytest.approx(entropy, abs=5e-7), node)


@pytest.mark.spec("TV-12")
@pytest.mark.parametrize(
    ("cap", "utility", "node"),
    [(0.01, 2, (3, 2, 2)), (0.05, 5, (0, 2, 2)), (0.1, 5, (0, 2, 2)), (0.5, 9, (0, 0, 0))],
)
def test_the_fixtures_first_record_has_the_tabulated_greatest_utilities(cap, utility, node):
    choice, found = solve_both(R1, Problem(MaxUtility(cap), "record_level"))
    assert (choice.value[0], found) == (utility, node)
    tied = np.argwhere((R1.utilities == utility) & (R1.all_risks() <= cap + 1e-9))
    risks = sorted(float(R1.risks(tuple(x))[0]) for x in tied)
    assert choice.ties[0] == len(risks)
    if cap == 0.1:
        assert risks == pytest.approx([0.05, 0.056667, 0.0875, 0.1], abs=5e-7)
    if cap == 0.01:
        assert risks == pytest.approx([0.009375])


@pytest.mark.spec("TV-12")
@pytest.mark.parametrize(
    ("trade_off", "value", "node"),
    [
        (0.01, -0.018571, (1, 2, 2)),
        (0.05, -0.2, (0, 2, 2)),
        (0.1, -0.491667, (0, 1, 2)),
        (0.2, -1.316667, (0, 0, 0)),
    ],
)
def test_the_fixtures_first_record_has_the_tabulated_lagrangian_optima(trade_off, value, node):
    choice, found = solve_both(R1, Problem(Lagrangian(trade_off), "record_level"))
    assert choice.value[0] == pytest.approx(value, abs=5e-7)
    assert found == node


@pytest.mark.spec("TV-12")
@pytest.mark.parametrize(
    ("floor", "risk", "node"),
    [(1, 0.021429, (1, 2, 2)), (2, 0.095, (3, 0, 2)), (3, 0.21, (0, 2, 0)), (4, 0.325, (1, 0, 0))],
)
def test_the_fixtures_first_record_has_the_tabulated_optima_under_log_leaves(floor, risk, node):
    instance = instance_of(R1_WEIGHTS, R1_LOG_LEAVES, R1_THRESHOLDS)
    choice, found = solve_both(instance, Problem(MinRisk(floor), "record_level"))
    assert choice.value[0] == pytest.approx(risk, abs=5e-7)
    assert found == node


@pytest.mark.spec("TV-12")
def test_an_unreachable_floor_is_infeasible_and_says_what_is_reachable():
    problem = Problem(MinRisk(10), "record_level")
    choice, _ = solve_both(R1, problem)
    assert choice.code[0] == INFEASIBLE
    assert choice.reach[0] == search_boxes(R1, problem).reach == 9


def test_an_unreachable_cap_is_infeasible_and_says_the_least_risk():
    instance = with_constant_sensitivity(C1)
    problem = Problem(MaxUtility(0.05), "record_level")
    choice, _ = solve_both(instance, problem)
    assert choice.code[0] == INFEASIBLE
    assert choice.reach[0] == search_boxes(instance, problem).reach == pytest.approx(0.1)


def test_only_infinite_risks_within_the_floor_mean_prohibited():
    weights = [np.array([math.inf, 0.0]), np.array([1.0, 0.0])]
    depths = [np.array([1.0, 0.0])] * 2
    instance = instance_of(weights, depths, np.zeros((3, 2), int))
    assert solve_both(instance, Problem(MinRisk(2), "record_level"))[0].code[0] == PROHIBITED
    assert solve_both(instance, Problem(MinRisk(1), "record_level"))[1] == (1, 0)


def test_an_attribute_of_weight_zero_is_not_suppressed_for_nothing():
    weights = [np.array([1.0, 0.0]), np.array([0.0, 0.0])]
    depths = [np.array([1.0, 0.0])] * 2
    instance = instance_of(weights, depths, np.zeros((3, 2), int))
    for problem in (Problem(MinRisk(0), "record_level"), Problem(Lagrangian(0.0), "record_level")):
        assert solve_both(instance, problem)[1] == (1, 0)


def test_an_absent_record_is_disclosed_as_it_is():
    instance = instance_of(R1_WEIGHTS, R1_DEPTHS, np.array([(3, 1, 2)]))
    assert instance.absent
    assert solve_both(instance, Problem(MinRisk(0), "record_level"))[1] == (0, 0, 0)


def test_a_spent_budget_is_a_heuristic_with_a_bound_below_the_optimum():
    instance = generated(2012, (4, 3, 2, 2), 60)
    problem = Problem(MinRisk(19), "record_level")
    best = search_boxes(instance, problem)
    for budget in range(1, best.visited_nodes):
        found = search_boxes(instance, problem, budget=Budget(budget))
        assert found.truncated
        assert found.node is not None
        assert found.utility >= 19
        assert found.bound <= best.risk <= found.risk
    assert not search_boxes(instance, problem, budget=Budget(10**6)).truncated


def test_branch_and_bound_evaluates_less_than_half_of_the_nodes():
    instance = generated(2012, (4, 3, 2, 2), 60)
    found = search_boxes(instance, Problem(MinRisk(19), "record_level"))
    assert found.risk_evaluations < 180 / 2


@pytest.mark.spec("INV-5", "INV-8")
def test_both_solvers_agree_with_plain_loops_on_random_instances():
    rng = np.random.default_rng(12)
    for _ in range(150):
        heights = tuple(int(h) for h in rng.integers(0, 4, size=rng.integers(1, 5)))
        falling = [np.sort(rng.integers(0, 4, h + 1))[::-1].astype(float) for h in heights]
        weights = [np.sort(rng.integers(0, 4, h + 1))[::-1] / 7 for h in heights]
        thresholds = rng.integers(0, np.array(heights) + 1, size=(rng.integers(0, 12), len(heights)))
        instance = instance_of(weights, falling, thresholds)
        last = 0.0
        for threshold in (0.0, 1.0, 2.0, 3.5, 5.0):
            for kind, scale in (("min_risk", 1), ("max_utility", 0.05), ("lagrangian", 0.03)):
                problem = Problem(objective_of(kind, threshold * scale), "record_level")
                choice, node = solve_both(instance, problem)
                expected = by_hand(instance, problem)
                assert (expected is None) == (choice.code[0] == INFEASIBLE)
                if expected is not None:
                    assert node == expected[1]
                if kind == "min_risk" and expected is not None:
                    assert choice.value[0] >= last
                    last = choice.value[0]
                    cap = Problem(MaxUtility(choice.value[0]), "record_level")
                    assert instance.enumerate(cap.objective)[0].value[0] >= threshold


def test_the_frontier_holds_exactly_the_nodes_that_nothing_dominates():
    rng = np.random.default_rng(5)
    risk, utility = rng.integers(0, 8, 60) / 8, rng.integers(0, 8, 60).astype(float)
    kept = set(frontier(risk, utility).tolist())
    for i in range(60):
        dominated = any(
            (risk[j] <= risk[i] and utility[j] >= utility[i])
            and (risk[j] < risk[i] or utility[j] > utility[i] or j < i)
            for j in range(60)
        )
        assert (i in kept) == (not dominated)
