"""One search of one lattice, by whichever algorithm was asked for."""

from __future__ import annotations

from collections.abc import Callable

from app.domain.search.boxes import Found, Lattice, search_boxes
from app.domain.search.budget import UNLIMITED, Budget, Halted, never
from app.domain.search.problem import Problem
from app.domain.search.solvers import BranchAndBound

LatticeSolver = BranchAndBound


def search_lattice(
    lattice: Lattice,
    problem: Problem,
    solver: LatticeSolver,
    budget: Budget = UNLIMITED,
    tick: Callable[[int], None] | None = None,
    halted: Halted = never,
) -> Found:
    """Solve ``problem`` on ``lattice``.

    ``tick`` takes the number of nodes whose risk was evaluated since its last call.
    """
    return search_boxes(lattice, problem, budget, tick, halted)
