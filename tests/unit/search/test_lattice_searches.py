"""Top-down search, ARUBA and genetic search on the specification's vectors, step by step."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from app.domain.errors import InvalidInput
from app.domain.search.budget import Budget
from app.domain.search.lattices.frontier_paths import FrontierSearch, GeneticSearch
from app.domain.search.lattices.nodes import Nodes
from app.domain.search.lattices.search import TopDownSearch, search_lattice
from app.domain.search.problem import Problem
from app.domain.search.record_risk import ScoredLattice
from app.domain.search.selection import INFEASIBLE, OPTIMAL, PROHIBITED
from app.domain.search.solvers import Aruba, BranchAndBound, Genetic, TopDown
from app.domain.tables.numbers import tie_margin
from tests.oracles.search_instances import objective_of
from tests.unit.search.canonical_instances import C1, generated, with_constant_sensitivity

# Names of Fouad (2012), figure 4.4, by (specialisations of A, of B) from the top; risk and utility.
FIGURE = {
    "t": (0, 0, 0, 0), "s": (1, 0, 10, 4), "r": (0, 1, 12, 2), "q": (2, 0, 21, 9), "p": (1, 1, 15, 7),
    "o": (0, 2, 14, 5), "n": (3, 0, 30, 13), "m": (2, 1, 27, 12), "l": (1, 2, 22, 11), "k": (0, 3, 16, 8),
    "j": (4, 0, 55, 17), "i": (3, 1, 48, 15), "h": (2, 2, 40, 14), "g": (1, 3, 25, 12), "f": (4, 1, 62, 18),
    "e": (3, 2, 60, 21), "d": (2, 3, 50, 16), "c": (4, 2, 70, 24), "b": (3, 3, 63, 23), "a": (4, 3, 80, 30),
}  # fmt: skip
LEVELS = {name: (4 - a, 3 - b) for name, (a, b, _, _) in FIGURE.items()}
NAMES = {levels: name for name, levels in LEVELS.items()}
A, B = 0, 1
EXACT = (BranchAndBound(), TopDown(), *(
    Aruba(moves, start, seed=3)
    for moves in ("reduced", "full_cube")
    for start in ("binary_search", "random_path")
))  # fmt: skip


def lattice_of_the_figure():
    risk, utility = np.zeros((5, 4)), np.zeros((5, 4))
    for name, (_, _, r, u) in FIGURE.items():
        risk[LEVELS[name]], utility[LEVELS[name]] = r, u
    return ScoredLattice(risk, risk, utility)


def asked(floor, kind="min_risk"):
    return Problem(objective_of(kind, floor), "record_level")


def nodes_of_the_figure(floor=18):
    return Nodes(lattice_of_the_figure(), asked(floor))


def names(levels):
    return {NAMES[node] for node in levels}


@pytest.mark.spec("TV-14", "E-21")
def test_the_published_top_down_trace_ends_at_e():
    nodes = nodes_of_the_figure()
    search, fronts = TopDownSearch(nodes), []
    for _, node in search.fronts():
        fronts.append(NAMES[node])
        if nodes.is_feasible(node):
            break
    assert fronts == list("tsropkqlgmnhidje")
    assert names(nodes.visited) == set(FIGURE) - {"a", "c"}
    assert [NAMES[node] for _, _, node in sorted(search.queue)] == list("efb")
    found = search_lattice(lattice_of_the_figure(), asked(18), TopDown())
    assert (NAMES[found.node], found.risk, found.utility) == ("e", 60, 21)
    assert (found.value_nodes, found.value_risks) == (18, 18)


@pytest.mark.spec("TV-14", "E-21")
def test_the_published_frontier_walk_sees_eleven_nodes_and_returns_e():
    nodes = nodes_of_the_figure()
    search = FrontierSearch(nodes, Aruba("full_cube"))
    walk = search.frontier(search.along([B, B, B]))
    assert [NAMES[next(walk)], names(nodes.visited)] == ["f", set("acfj")]
    assert [NAMES[next(walk)], names(nodes.visited)] == ["e", set("acfjein")]
    assert [NAMES[next(walk)], names(nodes.visited)] == ["b", set("acfjeinbdhm")]
    assert [*walk] == []
    assert len(nodes.visited) == 11
    assert NAMES[nodes.best_of([LEVELS[name] for name in "feb"])] == "e"


@pytest.mark.spec("TV-14", "INV-5", "E-21", "E-23")
@pytest.mark.parametrize("solver", EXACT)
def test_every_exact_search_returns_e(solver):
    found = search_lattice(lattice_of_the_figure(), asked(18), solver)
    assert (found.code, NAMES[found.node], found.bound, found.truncated) == (OPTIMAL, "e", 60, False)


@pytest.mark.spec("TV-15", "E-25")
@pytest.mark.parametrize(
    ("path", "effective", "end"),
    [
        ("AABAA", "AABAA", "f"), ("ABABA", "ABABA", "e"), ("BBBAAA", "BBBAAA", "b"),
        ("AABBAAB", "AABBA", "e"), ("AAAAA", "AAAAB", "f"), ("ABBBA", "ABBBAA", "b"),
    ],
)  # fmt: skip
def test_a_path_is_cut_off_repaired_and_ends_on_the_frontier(path, effective, end):
    nodes = nodes_of_the_figure()
    search = GeneticSearch(nodes, Genetic(seed=1))
    kept, node = search.decoded(["AB".index(symbol) for symbol in path])
    assert ("".join("AB"[j] for j in kept), NAMES[node]) == (effective, end)


@pytest.mark.spec("TV-15")
@pytest.mark.parametrize(
    ("path", "visited"), [("AABAA", "tsqmif"), ("ABABA", "tspmhe"), ("BBBAAA", "trokgdb")]
)
def test_a_path_visits_what_the_specification_lists(path, visited):
    nodes = nodes_of_the_figure()
    GeneticSearch(nodes, Genetic(seed=1)).decoded(["AB".index(symbol) for symbol in path])
    assert names(nodes.visited) == set(visited)


@pytest.mark.spec("TV-15")
def test_the_middle_symbol_is_mutated_and_halves_are_crossed():
    search = GeneticSearch(nodes_of_the_figure(), Genetic(seed=1))
    one, other = (A, A, B, A, A), (B, B, B, A, A, A)
    assert search.mutated(one) == (A, A, A, A, A)
    assert search.crossed(one, other) == ((A, A, A, A, A), (B, B, B, B, A, A))
    ends = [search.decoded(child) for child in search.crossed(one, other)]
    assert [(kept, NAMES[end]) for kept, end in ends] == [((A, A, A, A, B), "f"), ((B, B, B, A, A, A), "b")]
    assert search.mutated(()) == ()


def test_paths_are_ranked_by_risk_where_utility_would_rank_otherwise():
    search = GeneticSearch(nodes_of_the_figure(), Genetic(seed=1, population=3, elites=2))
    ranked = sorted(
        search.individual(["AB".index(symbol) for symbol in path]) for path in ("BBBAAA", "AABAA", "ABABA")
    )
    assert [NAMES[end] for _, _, end, _ in ranked] == ["e", "f", "b"]
    assert sorted("efb", key=lambda name: -FIGURE[name][3]) == ["b", "e", "f"]
    assert search.best == ranked[0]
    assert search.next_generation(ranked)[:2] == ranked[:2]


def frontier_of(instance, floor):
    """By the definition: feasible with an infeasible immediate generalisation."""
    u = instance.utilities
    held = set()
    for x in itertools.product(*(range(size) for size in u.shape)):
        above = [(*x[:j], x[j] + 1, *x[j + 1 :]) for j in range(u.ndim) if x[j] + 1 < u.shape[j]]
        if u[x] >= floor - 1e-9 and any(u[y] < floor - 1e-9 for y in above):
            held.add(x)
    return held


def walked(instance, floor, solver):
    nodes = Nodes(instance, asked(floor))
    search = FrontierSearch(nodes, solver)
    found = list(search.frontier(search.start()))
    assert len(found) == len(set(found))
    return set(found)


C1_FRONTIERS = {
    1: {(2, 2), (3, 1)}, 2: {(1, 2), (2, 1), (3, 0)}, 3: {(0, 2), (1, 1), (2, 0)}, 4: {(0, 1), (1, 0)},
    5: {(0, 0)},
}  # fmt: skip


@pytest.mark.spec("TV-13", "INV-5")
@pytest.mark.parametrize("floor", C1_FRONTIERS)
@pytest.mark.parametrize("solver", [s for s in EXACT if isinstance(s, Aruba)])
def test_the_frontier_of_the_first_instance_is_the_tabulated_one(floor, solver):
    assert walked(C1, floor, solver) == C1_FRONTIERS[floor] == frontier_of(C1, floor)


@pytest.mark.spec("TV-13")
def test_the_first_frontier_node_by_bisection():
    nodes = Nodes(C1, asked(3))
    assert nodes.last_feasible_on_chain() == (2, 0)
    assert len(nodes.visited) <= math.ceil(math.log2(1 + 5))


@pytest.mark.spec("TV-13", "E-18", "E-22")
@pytest.mark.parametrize("solver", [*EXACT, Genetic(seed=5)])
def test_an_unattainable_floor_or_cap_is_infeasible_with_what_is_attainable(solver):
    found = search_lattice(C1, asked(5.5), solver)
    assert (found.code, found.node, found.reach) == (INFEASIBLE, None, 5)
    if not isinstance(solver, Genetic):
        found = search_lattice(with_constant_sensitivity(C1), asked(0.05, "max_utility"), solver)
        assert (found.code, found.node) == (INFEASIBLE, None)
        assert found.reach == pytest.approx(0.1)


@pytest.mark.spec("TV-13", "INV-6")
def test_frontiers_of_depth_sums_have_the_size_of_the_coefficient():
    assert [len(frontier_of(C1, c)) for c in range(1, 6)] == [2, 3, 3, 2, 1]
    for heights in ((3, 2), (3, 2, 3, 3), (2, 2, 2, 2), (4, 1, 3), (3,)):
        coefficients = np.array([1])
        for h in heights:
            coefficients = np.convolve(coefficients, np.ones(h + 1, dtype=int))
        depths = np.add.reduce(np.meshgrid(*(np.arange(h, -1.0, -1) for h in heights), indexing="ij"))
        lattice = ScoredLattice(depths / 9, depths / 9, depths)
        for c in range(1, sum(heights) + 1):
            assert len(walked(lattice, c, Aruba())) == coefficients[c]


GENERATED = {
    (2009, (3, 2, 2), 25): {4: 9, 8: 12, 12: 6},
    (2012, (4, 3, 2, 2), 60): {9.5: 30, 19: 38, 28.5: 22},
    (7, (2, 2, 2, 2, 2), 80): {10.75: 42, 21.5: 59, 32.25: 18},
}


@pytest.mark.spec("TV-13", "INV-5")
@pytest.mark.parametrize("parameters", GENERATED)
def test_generated_frontiers_have_the_tabulated_sizes_and_every_search_the_optimum(parameters):
    instance = generated(*parameters)
    for floor, size in GENERATED[parameters].items():
        for moves in ("reduced", "full_cube"):
            assert len(walked(instance, floor, Aruba(moves))) == size
        _, node = instance.enumerate(asked(floor).objective)
        for solver in EXACT:
            assert search_lattice(instance, asked(floor), solver).node == node


@pytest.mark.spec("E-28")
def test_the_frontier_walk_is_not_always_cheaper_than_the_top_down_search():
    instance = generated(2012, (4, 3, 2, 2), 60)
    top_down = search_lattice(instance, asked(9.5), TopDown())
    aruba = search_lattice(instance, asked(9.5), Aruba())
    assert (top_down.value_nodes, aruba.value_risks) == (19, 30)
    assert aruba.value_risks > top_down.value_risks


@pytest.mark.spec("E-27")
def test_the_full_lattice_of_the_paper_is_counted_not_listed():
    """70 attributes of height 3: 10^42 nodes; the middle of the frontier has 10^40."""
    coefficients = [1]
    for _ in range(70):
        padded = [0, 0, 0, *coefficients, 0, 0, 0]
        coefficients = [sum(padded[i : i + 4]) for i in range(len(padded) - 3)]
    assert len(str(4**70)) - 1 == 42
    assert len(str(coefficients[105])) - 1 == 40


@pytest.mark.spec("E-19")
def test_where_everything_may_be_suppressed_there_is_no_frontier_and_no_walk():
    for solver in EXACT:
        found = search_lattice(C1, asked(0), solver)
        assert (found.code, found.node, found.risk) == (OPTIMAL, (3, 2), 0)


@pytest.mark.spec("E-19", "E-23")
def test_a_tied_optimum_below_the_frontier_is_found():
    """Utility 2 is free here: the frontier has the optimal value, but not the first in the order of ties."""
    risk = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
    utility = np.array([[3.0, 2.0, 1.0], [2.5, 2.0, 0.5]])
    lattice = ScoredLattice(risk, risk, utility)
    assert (0, 0) not in walked(lattice, 2.0, Aruba())
    for solver in EXACT:
        assert search_lattice(lattice, asked(2.0), solver).node == (0, 0)


@pytest.mark.spec("E-20")
def test_a_chain_has_one_frontier_node_without_neighbours_on_it():
    lattice = ScoredLattice(np.array([3.0, 2, 1, 0]), np.array([3.0, 2, 1, 0]), np.array([3.0, 2, 1, 0]))
    assert walked(lattice, 2, Aruba("full_cube")) == {(1,)}


@pytest.mark.spec("TV-13")
@pytest.mark.parametrize("solver", EXACT)
@pytest.mark.parametrize(("cap", "utility"), [(0.03, 1), (0.05, 2), (0.1, 2), (0.3, 3), (1.0, 5)])
def test_the_duals_find_the_most_utility_under_a_cap(solver, cap, utility):
    found = search_lattice(C1, asked(cap, "max_utility"), solver)
    _, node = C1.enumerate(asked(cap, "max_utility").objective)
    assert (found.utility, found.bound, found.node) == (utility, -utility, node)


@pytest.mark.parametrize("solver", EXACT)
def test_infinite_risk_at_every_feasible_node_is_prohibited(solver):
    risk = np.array([[math.inf, math.inf], [1.0, 0.0]])
    lattice = ScoredLattice(risk, risk, np.array([[2.0, 1.5], [1.0, 0.0]]))
    found = search_lattice(lattice, asked(1.5), solver)
    assert (found.code, found.node) == (PROHIBITED, None)


@pytest.mark.spec("INV-21", "E-24")
def test_genetic_search_is_feasible_reproducible_and_never_below_the_optimum():
    instance = generated(2012, (4, 3, 2, 2), 60)
    best = instance.enumerate(asked(19).objective)[0].value[0]
    for seed in range(12):
        solver = Genetic(seed, population=8, elites=2, generations=6, jitter=bool(seed % 2), probing=seed < 6)
        found = search_lattice(instance, asked(19), solver)
        assert repr(found) == repr(search_lattice(instance, asked(19), solver))
        assert found.truncated
        assert found.utility >= 19 - 1e-9
        assert found.bound <= best + tie_margin(best) <= found.risk + 2 * tie_margin(best)


def test_genetic_parameters_fit_together():
    with pytest.raises(InvalidInput, match="elites"):
        Genetic(seed=1, population=5, elites=5)


@pytest.mark.spec("E-26")
@pytest.mark.parametrize("kind", ["min_risk", "max_utility"])
@pytest.mark.parametrize("solver", [*EXACT, Genetic(seed=2, population=4, elites=1)])
def test_a_search_cut_short_has_a_feasible_node_and_a_bound(solver, kind):
    if kind == "max_utility" and isinstance(solver, Genetic):
        return
    instance = generated(7, (2, 2, 2, 2, 2), 80)
    problem = asked(21.5 if kind == "min_risk" else 2.0, kind)
    choice, _ = instance.enumerate(problem.objective)
    best = choice.value[0] if kind == "min_risk" else -choice.value[0]
    for budget in (1, 3, 10, 30, 100):
        found = search_lattice(instance, problem, solver, Budget(budget))
        assert not found.halted
        feasible = found.utility >= 21.5 - 1e-9 if kind == "min_risk" else found.risk <= 2.0 + 1e-9
        value = found.risk if kind == "min_risk" else -found.utility
        assert feasible
        assert found.bound <= best + 1e-12 <= value + 2e-12
        assert repr(found) == repr(search_lattice(instance, problem, solver, Budget(budget)))


@pytest.mark.parametrize("solver", [*EXACT, Genetic(seed=2)])
def test_a_halted_search_answers_at_once_with_what_it_has(solver):
    instance = generated(7, (2, 2, 2, 2, 2), 80)
    calls = 0

    def halted():
        nonlocal calls
        calls += 1
        return calls > 5

    found = search_lattice(instance, asked(21.5), solver, halted=halted)
    assert (found.truncated, found.halted) == (True, True)
    assert found.utility >= 21.5 - 1e-9
    assert found.bound <= instance.enumerate(asked(21.5).objective)[0].value[0]
    assert found.visited_nodes <= 20


@pytest.mark.parametrize("solver", EXACT)
def test_a_relative_gap_ends_the_search_once_it_is_proved(solver):
    instance = generated(2012, (4, 3, 2, 2), 60)
    best = instance.enumerate(asked(19).objective)[0].value[0]
    for gap in (0.05, 0.5, 0.9):
        found = search_lattice(instance, asked(19), solver, Budget(relative_gap=gap))
        assert found.risk <= best + gap * found.risk + 1e-12
        if found.truncated:
            assert found.risk - found.bound <= gap * found.risk
    assert found.truncated or isinstance(solver, Aruba)
