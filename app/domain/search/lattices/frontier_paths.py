"""Searching one lattice by its frontier of feasible nodes: ARUBA and its dual, and the genetic search.

ARUBA goes along the frontier (Fouad (2012), algorithm 3).
Where risk and utility never rise under generalisation, some optimal node of ``min_risk`` is feasible with an
infeasible immediate generalisation, unless everything may be suppressed. On a product of chains these
frontier nodes are connected: the feasible nodes and the others are both connected sub-graphs of the grid, so
the edges between them are connected through unit squares, and the feasible ends of two such edges in one
square differ by ±e_i or e_i − e_j. Hence the search reaches all of them by k² + k moves as well as by the
3^k − 1 of the printed version (Definitions: ARUBA). For ``max_utility`` all is reversed: feasible is r ≤ c,
and the frontier has an infeasible immediate specialisation.

The genetic search goes through paths from full suppression to the frontier (Fouad (2012), algorithm 4).
A chromosome is a path: the attributes to specialise by one step, one after the other. Reading stops at the
first feasible node, so that a path ends on the frontier, and every maximal feasible node is the end of some
path. The text ranks by utility where it means risk, and leaves symbols of exhausted attributes
undefined: they are dropped (Definitions: genetic search).
"""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from app.domain.arrays import Levels
from app.domain.search.budget import Budget, EndedError
from app.domain.search.lattices.branch_and_bound import Found, search_boxes
from app.domain.search.lattices.nodes import Nodes
from app.domain.search.selection import PROHIBITED
from app.domain.search.solvers import Aruba, Genetic

BOUND_SHARE = 4
LEAST_BOXES = 16

Path = tuple[int, ...]
Individual = tuple[float, float, Levels, Path]
"""Risk and minus the utility of a path's end, the end, the path: better ones are smaller."""


class FrontierSearch:
    """The frontier nodes of a lattice that has feasible and infeasible nodes."""

    def __init__(self, nodes: Nodes, solver: Aruba) -> None:
        self._nodes = nodes
        self._solver = solver
        self._k = len(nodes.top)

    def start(self) -> Levels:
        """The first frontier node, found as the solver says."""
        if self._solver.start == "binary_search":
            first = self._nodes.last_feasible_on_chain()
            if first is None:
                raise ValueError("there is no frontier without feasible nodes")
            self._nodes.visit(first)
            return first
        generator = np.random.default_rng(self._solver.seed)
        return self.along(int(generator.integers(self._k)) for _ in itertools.count())

    def along(self, attributes: Iterable[int]) -> Levels:
        """The last feasible node on the path that moves one step in each of the attributes in turn.

        From the feasible corner towards the infeasible one; attributes that can go no further are skipped.
        """
        nodes, step = self._nodes, 1 if self._nodes.is_down else -1
        at, end = (nodes.identity, nodes.top) if self._nodes.is_down else (nodes.top, nodes.identity)
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
            for neighbour in self._cube(at) if self._solver.moves == "full_cube" else self._reduced(at):
                if neighbour in seen:
                    continue
                seen.add(neighbour)
                nodes.visit(neighbour)
                if nodes.is_feasible(neighbour) and self._is_edge(neighbour):
                    queue.append(neighbour)

    def _is_edge(self, node: Levels) -> bool:
        """Whether one step towards the infeasible corner makes a feasible node infeasible."""
        moves = self._nodes.moves
        beyond = moves.generalisations(node) if self._nodes.is_down else moves.specialisations(node)
        return any(not self._nodes.is_feasible(other) for other in beyond)

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
    is_down = nodes.is_down
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


class GeneticSearch:
    """Paths of one lattice, and what becomes of them; every draw comes from the solver's seed.

    ``best`` is the best individual of all so far.
    """

    def __init__(self, nodes: Nodes, solver: Genetic) -> None:
        self._nodes = nodes
        self._solver = solver
        self._draw = np.random.default_rng(solver.seed)
        self._k = len(nodes.top)
        self.best: Individual | None = None

    # --- paths -----------------------------------------------------------------------------------------

    def decoded(self, path: Sequence[int]) -> tuple[Path, Levels]:
        """The effective path and the feasible node that it ends at.

        Cut off at the first feasible node; symbols of attributes that are specialised already are dropped; a
        path that ends before anything is feasible goes on at random.
        """
        nodes, at, kept = self._nodes, self._nodes.top, []
        nodes.visit(at)
        left = iter(path)
        while not nodes.is_feasible(at):
            j = next(left, None)
            if j is None:
                open_ = [i for i, level in enumerate(at) if level]
                j = open_[int(self._draw.integers(len(open_)))]
            if not at[j]:
                continue
            at = (*at[:j], at[j] - 1, *at[j + 1 :])
            nodes.visit(at)
            kept.append(j)
        return tuple(kept), at

    def mutated(self, path: Path) -> Path:
        """Another attribute in the middle, or up to a quarter of the length from it."""
        if not path or self._k == 1:
            return path
        at = len(path) // 2
        if self._solver.jitter:
            reach = len(path) // 4
            at = min(len(path) - 1, max(0, at + int(self._draw.integers(-reach, reach + 1))))
        other = int(self._draw.integers(self._k - 1))
        other += other >= path[at]
        return (*path[:at], other, *path[at + 1 :])

    @staticmethod
    def crossed(one: Path, other: Path) -> tuple[Path, Path]:
        """The first half of each with the second half of the other."""
        a, b = len(one) // 2, len(other) // 2
        return one[:a] + other[b:], other[:b] + one[a:]

    def individual(self, path: Sequence[int]) -> Individual:
        """A decoded path with what it is ranked by."""
        kept, end = self.decoded(path)
        found = (self._nodes.risk(end), -self._nodes.utility(end), end, kept)
        self.best = found if self.best is None else min(self.best, found)
        return found

    # --- generations -----------------------------------------------------------------------------------

    def first_generation(self) -> list[Individual]:
        """Random paths, or without probing those that exhaust one attribute after the other."""
        size, top = self._solver.population, self._nodes.top
        if self._solver.probing:
            return [self.individual(()) for _ in range(size)]
        turns = [[(first + i) % self._k for i in range(self._k)] for first in range(min(size, self._k))]
        paths = [self.individual([j for j in turn for _ in range(top[j])]) for turn in turns]
        more = [self.mutated(paths[i % len(paths)][3]) for i in range(size - len(paths))]
        return paths + [self.individual(path) for path in more]

    def next_generation(self, ranked: Sequence[Individual]) -> list[Individual]:
        """The elites, immigrants, and children of parents chosen by rank."""
        solver = self._solver
        immigrants = round(solver.immigrant_share * solver.population)
        following = list(ranked[: solver.elites])
        following += [self.individual(()) for _ in range(min(immigrants, solver.population - len(following)))]
        chances = np.arange(len(ranked), 0, -1, dtype=np.float64)
        chances /= chances.sum()
        while len(following) < solver.population:
            one, other = (ranked[int(i)][3] for i in self._draw.choice(len(ranked), size=2, p=chances))
            for child in self.crossed(one, other):
                if self._draw.random() < solver.mutation_rate:
                    child = self.mutated(child)
                if len(following) < solver.population:
                    following.append(self.individual(child))
        return following


def genetic(nodes: Nodes, solver: Genetic) -> Found:
    """A feasible node of small risk for ``min_risk``, with a lower bound; never called optimal.

    What the published algorithm does not have is a bound: boxes of the lattice give one, for a quarter of the
    risk evaluations more. The ``value_…`` counters are those of the published algorithm.
    """
    if not nodes.is_feasible(nodes.identity):
        return nodes.infeasible(nodes.utility(nodes.identity))
    bound = nodes.least_value()
    if math.isinf(bound):
        return nodes.found(PROHIBITED, None, bound)
    search = GeneticSearch(nodes, solver)
    idle = 0
    try:
        ranked = sorted(search.first_generation())
        best = ranked[0]
        for _ in range(solver.generations):
            if best[0] <= bound or nodes.budget.suffices(best[0], bound) or idle >= solver.stagnation:
                break
            ranked = sorted(search.next_generation(ranked))
            idle = 0 if ranked[0][0] < best[0] else idle + 1
            best = min(best, ranked[0])
    except EndedError as ended:
        return nodes.unfinished(search.best and search.best[2], bound, ended.halted)
    nodes.value_is_known()
    found = nodes.unfinished(best[2], bound, halted=False)
    # A search of boxes proves a bound by a fraction of the work, where there is room for it.
    visited, risks, _ = nodes.counters
    room = max(LEAST_BOXES, risks // BOUND_SHARE)
    if nodes.budget.max_nodes is not None:
        room = min(room, nodes.budget.max_nodes - visited)
    if room <= 0:
        return found
    boxes = search_boxes(nodes, nodes.problem, Budget(room), halted=nodes.halted)
    visited, risks, utilities = nodes.counters
    return replace(
        found,
        bound=max(bound, boxes.bound),
        visited_nodes=visited + boxes.visited_nodes,
        risk_evaluations=risks,
        utility_evaluations=utilities,
        halted=boxes.halted,
    )
