"""Searching one lattice by whichever algorithm was asked for, the basic top-down algorithm (BTDA) itself.

BTDA and its dual go from the top down (Fouad (2012), algorithm 2).
The queue is keyed by what nothing below a node can fall below. Where risk never rises under generalisation
that is the risk itself and the search is the published one; where records that nobody is consistent with make
it rise, it stays exact. Utility need not be monotone. The published version has no exit where nothing is
feasible (Definitions: top-down search); here the queue runs empty.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator

from app.domain.arrays import Levels
from app.domain.counting.calibration import SECONDS_PER_PATH_STEP, SECONDS_PER_VISITED_NODE
from app.domain.search.budget import UNLIMITED, Budget, EndedError, Halted, never
from app.domain.search.lattices.branch_and_bound import Found, Lattice, search_boxes
from app.domain.search.lattices.frontier_paths import aruba, genetic
from app.domain.search.lattices.nodes import Moves, Nodes
from app.domain.search.problem import Problem
from app.domain.search.selection import OPTIMAL, PROHIBITED
from app.domain.search.solvers import Aruba, BranchAndBound, Genetic, TopDown
from app.domain.tables.numbers import tie_margin

Key = tuple[float, float, Levels]

LatticeSolver = BranchAndBound | TopDown | Aruba | Genetic


class TopDownSearch:
    """From full suppression to more specific nodes, the least bound first.

    For ``max_utility`` from the record itself to more general nodes, the greatest utility first.

    Attributes
    ----------
    queue
        Heap of the visited nodes that have not been expanded; first the next one.
    incumbent
        The best feasible node that was visited, for ``min_risk``; there a visit evaluates both criteria.
    queued
        The nodes that were ever in the queue. Others may have been visited for other reasons.
    """

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self.queue: list[Key] = []
        self.incumbent: Levels | None = None
        self.queued: set[Levels] = set()

    def _key(self, node: Levels) -> Key:
        nodes = self._nodes
        if self._nodes.is_down:
            is_better = self.incumbent is None or nodes.risk(node) < nodes.risk(self.incumbent)
            if is_better and nodes.is_feasible(node):
                self.incumbent = node
            return nodes.bound(node), -nodes.utility(node), node
        return -nodes.utility(node), 0.0, node

    def fronts(self) -> Iterator[tuple[float, Levels]]:
        """The nodes in the order of the queue, each with its key; expanded when the next one is asked for."""
        nodes = self._nodes
        start = nodes.top if self._nodes.is_down else nodes.identity
        nodes.visit(start)
        self.queued.add(start)
        self.queue = [self._key(start)]
        while self.queue:
            key, _, node = self.queue[0]
            yield key, node
            heapq.heappop(self.queue)
            step = nodes.moves.specialisations if self._nodes.is_down else nodes.moves.generalisations
            for other in step(node):
                if other not in self.queued:
                    nodes.visit(other)
                    self.queued.add(other)
                    heapq.heappush(self.queue, self._key(other))


def top_down(nodes: Nodes) -> Found:
    """Solve ``min_risk`` or ``max_utility`` exactly, or as well as the budget allows."""
    refused = _refused(nodes)
    if refused is not None:
        return refused
    search = TopDownSearch(nodes)
    candidates: list[Levels] = []
    best, least_risk = math.inf, math.inf
    bound = nodes.bound(nodes.top) if nodes.is_down else -nodes.utility(nodes.identity)
    try:
        if nodes.budget.relative_gap is not None:
            search.incumbent = nodes.last_feasible_on_chain()
        for bound, node in search.fronts():
            if candidates and bound >= best:
                nodes.value_is_known()
            if bound > best + 2.0 * tie_margin(best) or (candidates and math.isinf(bound)):
                break
            near = search.incumbent
            if near is not None and bound < nodes.value(near) and nodes.is_close(near, bound):
                return nodes.unfinished(near, bound, halted=False)
            if not nodes.is_feasible(node):
                least_risk = min(least_risk, nodes.risk(node))
                continue
            candidates.append(node)
            best = min(best, nodes.value(node))
            if best <= bound:
                nodes.value_is_known()
    except EndedError as ended:
        so_far = nodes.best_of(candidates) if candidates and math.isfinite(best) else search.incumbent
        return nodes.unfinished(so_far, min(best, bound), ended.halted)
    if not candidates:
        return nodes.infeasible(least_risk)
    if math.isinf(best):
        return nodes.found(PROHIBITED, None, best)
    return nodes.found(OPTIMAL, nodes.best_of(candidates), best)


def _refused(nodes: Nodes) -> Found | None:
    """The answer where one corner of the lattice shows that nothing meets the threshold."""
    if nodes.is_down:
        reach = nodes.utility(nodes.identity)
        return None if nodes.is_feasible(nodes.identity) else nodes.infeasible(reach)
    least = nodes.bound(nodes.top)
    is_out_of_reach = least > nodes.problem.objective.highest_risk and least == nodes.risk(nodes.top)
    return nodes.infeasible(least) if is_out_of_reach else None


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
    return SECONDS_PER_VISITED_NODE * min(visited, math.inf if budget.max_nodes is None else budget.max_nodes)


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
