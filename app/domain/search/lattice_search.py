"""One search of one lattice, by whichever algorithm was asked for."""

from __future__ import annotations

from collections.abc import Callable

from app.domain.search.aruba import aruba
from app.domain.search.boxes import Found, Lattice, search_boxes
from app.domain.search.btda import top_down
from app.domain.search.budget import UNLIMITED, Budget, Halted, never
from app.domain.search.genetic import genetic
from app.domain.search.moves import Moves
from app.domain.search.nodes import Nodes
from app.domain.search.problem import Problem
from app.domain.search.solvers import Aruba, BranchAndBound, Genetic, TopDown

LatticeSolver = BranchAndBound | TopDown | Aruba | Genetic


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
