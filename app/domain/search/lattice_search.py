"""One search of one lattice, by whichever algorithm was asked for."""

from __future__ import annotations

import math
from collections.abc import Callable

from app.domain.search.aruba import aruba
from app.domain.search.boxes import Found, Lattice, Levels, search_boxes
from app.domain.search.btda import top_down
from app.domain.search.budget import UNLIMITED, Budget, Halted, never
from app.domain.search.genetic import genetic
from app.domain.search.moves import Moves
from app.domain.search.nodes import Nodes
from app.domain.search.problem import Problem
from app.domain.search.solvers import Aruba, BranchAndBound, Genetic, TopDown

LatticeSolver = BranchAndBound | TopDown | Aruba | Genetic


SECONDS_PER_NODE = 7e-6
SECONDS_PER_PATH_STEP = 7e-7


def seconds_of(solver: LatticeSolver, heights: Levels, budget: Budget = UNLIMITED) -> float:
    """Estimated time of one search, evaluations of risk and utility apart.

    From the share of the nodes that each algorithm visits where half of the utility has to be kept.
    """
    n_nodes = math.prod(height + 1 for height in heights)
    if isinstance(solver, Genetic):
        generations = min(solver.generations, solver.stagnation + 10)
        return solver.population * (1 + generations) * (1 + sum(heights)) * SECONDS_PER_PATH_STEP
    share = 0.25
    if isinstance(solver, Aruba):
        share = 0.5 if solver.moves == "reduced" else 1.0
    elif isinstance(solver, TopDown):
        share = 0.5
    visited = 50 + share * n_nodes
    return SECONDS_PER_NODE * min(visited, math.inf if budget.max_nodes is None else budget.max_nodes)


def search_lattice(
    lattice: Lattice,
    problem: Problem,
    solver: LatticeSolver,
    budget: Budget = UNLIMITED,
    tick: Callable[[int], None] | None = None,
    halted: Halted = never,
    moves: Moves | None = None,
) -> Found:
    """Solve ``problem`` on ``lattice``.

    ``tick`` takes the number of nodes whose risk was evaluated since its last call; ``moves`` are those of a
    lattice that is no product of chains, which only BTDA accepts.
    """
    if isinstance(solver, BranchAndBound):
        return search_boxes(lattice, problem, budget, tick, halted)
    nodes = Nodes(lattice, problem, budget, tick, halted, moves)
    if isinstance(solver, TopDown):
        return top_down(nodes)
    return aruba(nodes, solver) if isinstance(solver, Aruba) else genetic(nodes, solver)
