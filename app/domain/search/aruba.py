"""ARUBA and its dual: along the frontier of the feasible nodes (Fouad (2012), algorithm 3).

Where risk and utility never rise under generalisation, some optimal node of ``min_risk`` is feasible with an
infeasible immediate generalisation, unless everything may be suppressed. On a product of chains these
frontier nodes are connected: the feasible nodes and the others are both connected sub-graphs of the grid, so
the edges between them are connected through unit squares, and the feasible ends of two such edges in one
square differ by ±e_i or e_i − e_j. Hence the search reaches all of them by k² + k moves as well as by the
3^k − 1 of the printed version (Definitions: ARUBA). For ``max_utility`` all is reversed: feasible is r ≤ c,
and the frontier has an infeasible immediate specialisation.
"""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Iterable, Iterator

import numpy as np

from app.domain.search.boxes import Found, Levels
from app.domain.search.nodes import EndedError, Nodes
from app.domain.search.solvers import Aruba


class FrontierSearch:
    """The frontier nodes of a lattice that has feasible and infeasible nodes."""

    def __init__(self, nodes: Nodes, solver: Aruba) -> None:
        self._nodes = nodes
        self._solver = solver
        self._is_down = nodes.problem.objective == "min_risk"
        self._k = len(nodes.top)

    def start(self) -> Levels:
        """The first frontier node, found as the solver says."""
        if self._solver.start == "binary_search":
            first = self._nodes.last_feasible_on_chain()
            if first is None:
                raise ValueError("there is no frontier without feasible nodes")
            self._nodes.visit(first)
            return first
        return self.along(self._random_attributes())

    def _random_attributes(self) -> Iterator[int]:
        generator = np.random.default_rng(self._solver.seed)
        while True:
            yield int(generator.integers(self._k))

    def along(self, attributes: Iterable[int]) -> Levels:
        """The last feasible node on the path that moves one step in each of the attributes in turn.

        From the feasible corner towards the infeasible one; attributes that can go no further are skipped.
        """
        nodes, step = self._nodes, 1 if self._is_down else -1
        at, end = (nodes.identity, nodes.top) if self._is_down else (nodes.top, nodes.identity)
        nodes.visit(at)
        for j in attributes:
            if at[j] == end[j]:
                continue
            following = (*at[:j], at[j] + step, *at[j + 1 :])
            nodes.visit(following)
            if not nodes.is_feasible(following):
                return at
            at = following
        raise ValueError("the path ends before it leaves the feasible nodes")

    def frontier(self, first: Levels) -> Iterator[Levels]:
        """All frontier nodes, ``first`` the first; the neighbours of each are visited when asked for more."""
        nodes = self._nodes
        queue, seen = deque([first]), {first}
        while queue:
            at = queue.popleft()
            yield at
            for neighbour in self._neighbours(at):
                if neighbour in seen:
                    continue
                seen.add(neighbour)
                nodes.visit(neighbour)
                if nodes.is_feasible(neighbour) and self._is_edge(neighbour):
                    queue.append(neighbour)

    def _is_edge(self, node: Levels) -> bool:
        """Whether one step towards the infeasible corner makes a feasible node infeasible."""
        moves = self._nodes.moves
        beyond = moves.generalisations(node) if self._is_down else moves.specialisations(node)
        return any(not self._nodes.is_feasible(other) for other in beyond)

    def _neighbours(self, node: Levels) -> Iterator[Levels]:
        return self._cube(node) if self._solver.moves == "full_cube" else self._reduced(node)

    def _cube(self, node: Levels) -> Iterator[Levels]:
        ranges = [
            range(max(0, level - 1), min(height, level + 1) + 1)
            for level, height in zip(node, self._nodes.top, strict=True)
        ]
        return (other for other in itertools.product(*ranges) if other != node)

    def _reduced(self, node: Levels) -> Iterator[Levels]:
        moves = self._nodes.moves
        yield from moves.generalisations(node)
        for lower in moves.specialisations(node):
            yield lower
            for other in moves.generalisations(lower):
                if other != node:
                    yield other


def aruba(nodes: Nodes, solver: Aruba) -> Found:
    """Solve ``min_risk`` or ``max_utility`` exactly, or as well as the budget allows.

    Exact where risk and utility are monotone and the lattice is a product of chains. Frontier nodes need a
    risk each for ``min_risk``; for ``max_utility`` it is the utility that only they need.
    """
    is_down = nodes.problem.objective == "min_risk"
    near, far = (nodes.identity, nodes.top) if is_down else (nodes.top, nodes.identity)
    if not is_down and nodes.is_feasible(far):
        return nodes.settled([far], nodes.value(far))
    if not nodes.is_feasible(near):
        return nodes.infeasible(nodes.utility(near) if is_down else nodes.risk(near))
    if is_down and nodes.is_feasible(far):
        return nodes.settled([far], nodes.value(far))
    search = FrontierSearch(nodes, solver)
    frontier: list[Levels] = []
    bound = nodes.least_value() if nodes.budget.relative_gap is not None else None
    best: Levels | None = None
    try:
        for node in search.frontier(search.start()):
            frontier.append(node)
            if best is None or nodes.value(node) < nodes.value(best):
                best = node
            if bound is not None and bound < nodes.value(best) and nodes.is_close(best, bound):
                return nodes.unfinished(best, bound, halted=False)
    except EndedError as ended:
        return nodes.unfinished(best, nodes.least_value() if bound is None else bound, ended.halted)
    value = min((nodes.value(node) for node in frontier), default=math.inf)
    return nodes.settled(frontier, value)
