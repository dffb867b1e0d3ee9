"""The nodes of a lattice: those next to each other, and those that a search has visited.

The immediate generalisations and specialisations of a node (Definitions: lattice of a record) differ from it
by one step of one attribute.

A search evaluates the risk and utility of every node that it visits once. Visits, risk evaluations and
utility evaluations are counted apart. Every search on a lattice returns the best (Definitions: order of ties)
of all feasible nodes within the tie margin of the optimal value, not only of those that the published
algorithm looks at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from app.domain.arrays import Levels
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.search.budget import UNLIMITED, Budget, EndedError, Halted, never
from app.domain.search.lattices.branch_and_bound import EvaluatedLattice, Found, Lattice
from app.domain.search.problem import Problem
from app.domain.search.selection import INFEASIBLE, OPTIMAL, PROHIBITED, choose
from app.domain.tables.numbers import tie_margin

Steps = tuple[tuple[int, ...], ...]
"""Positions one step away from each position of an attribute."""


@dataclass(frozen=True)
class Moves:
    """Which positions of each attribute are one step more general (``above``) or more specific (``below``).

    The positions of an attribute are numbered so that everything above a position has a greater number; 0 is
    the value itself and the last one ⊥.
    """

    above: tuple[Steps, ...]
    below: tuple[Steps, ...]

    @classmethod
    def on_chains(cls, heights: Levels) -> Moves:
        """The moves where every position but the last is below the next one only."""
        return cls(
            tuple(tuple((i + 1,) if i < h else () for i in range(h + 1)) for h in heights),
            tuple(tuple((i - 1,) if i else () for i in range(h + 1)) for h in heights),
        )

    @classmethod
    def among_ancestors(cls, hierarchies: tuple[Hierarchy, ...], ladders: tuple[Levels, ...]) -> Moves:
        """The moves among the ancestors of one record's values, which are numbered as in ``ladders``."""
        above = []
        for hierarchy, ladder in zip(hierarchies, ladders, strict=True):
            place = {node: position for position, node in enumerate(ladder)}
            above.append(tuple(tuple(sorted(place[p] for p in hierarchy.parents[node])) for node in ladder))
        below = [
            tuple(tuple(i for i, up in enumerate(steps) if position in up) for position in range(len(steps)))
            for steps in above
        ]
        return cls(tuple(above), tuple(below))

    def generalisations(self, levels: Levels) -> Iterator[Levels]:
        """The nodes that replace one value by one of its parents."""
        return _moved(levels, self.above)

    def specialisations(self, levels: Levels) -> Iterator[Levels]:
        """The nodes that replace one value by one that it is a parent of, towards the record itself."""
        return _moved(levels, self.below)


def _moved(levels: Levels, steps: tuple[Steps, ...]) -> Iterator[Levels]:
    for j, position in enumerate(levels):
        for other in steps[j][position]:
            yield (*levels[:j], other, *levels[j + 1 :])


class Nodes(EvaluatedLattice):
    """The nodes of one lattice as one search of ``problem`` (``min_risk`` or ``max_utility``) sees them.

    Feasible nodes are below the others for ``min_risk`` (``is_down``), above them for ``max_utility``. These
    nodes are a lattice for other searches. ``moves`` are those of a lattice that is no product of chains.
    """

    def __init__(
        self,
        lattice: Lattice,
        problem: Problem,
        budget: Budget = UNLIMITED,
        tick: Callable[[int], None] | None = None,
        halted: Halted = never,
        moves: Moves | None = None,
    ) -> None:
        super().__init__(lattice, problem, budget, tick, halted)
        self.top = self.heights
        self.is_down = problem.objective.kind == "min_risk"
        self.moves = moves or Moves.on_chains(self.top)
        self.visited: set[Levels] = set()

    # --- evaluations -----------------------------------------------------------------------------------

    def visit(self, levels: Levels) -> bool:
        """Whether the node is new; raises EndedError where nothing new may be looked at any more."""
        if levels in self.visited:
            return False
        if self.halted():
            raise EndedError(halted=True)
        if self.is_spent:
            raise EndedError
        self.visited.add(levels)
        self.n_visited += 1
        return True

    def risk(self, levels: Levels) -> float:
        """Risk of a node."""
        return self.risks(levels)[0]

    def bound(self, levels: Levels) -> float:
        """A lower bound of the risk of the node and of everything more specific."""
        return self.risks(levels)[1]

    def is_feasible(self, levels: Levels) -> bool:
        """Whether the node meets the threshold."""
        if self.is_down:
            return self.utility(levels) >= self.problem.objective.lowest_utility
        return self.risk(levels) <= self.problem.objective.highest_risk

    def value(self, levels: Levels) -> float:
        """What is minimised: the risk, or minus the utility."""
        return self.risk(levels) if self.is_down else -self.utility(levels)

    def is_close(self, levels: Levels, bound: float) -> bool:
        """Whether the budget asks for nothing better than this node."""
        return self.budget.suffices(self.value(levels), bound)

    # --- frontier nodes --------------------------------------------------------------------------------

    def last_feasible_on_chain(self) -> Levels | None:
        """The frontier node on the chain that raises one attribute to ⊥ after the other; None without one.

        By bisection: feasible nodes are the lower end of the chain for ``min_risk``, the upper end for
        ``max_utility``. None if the first end of them is infeasible.
        """
        is_down = self.is_down
        low, high = 0, sum(self.top)
        if not self.is_feasible(self._on_chain(low if is_down else high)):
            return None
        while low < high:
            middle = (low + high + is_down) // 2
            at = self._on_chain(middle)
            self.visit(at)
            if self.is_feasible(at) == is_down:
                low = middle if is_down else middle + 1
            else:
                high = middle - 1 if is_down else middle
        return self._on_chain(low)

    def _on_chain(self, position: int) -> Levels:
        levels = []
        for height in self.top:
            step = min(height, position)
            levels.append(step)
            position -= step
        return tuple(levels)

    def least_value(self) -> float:
        """A lower bound of what is minimised, from the corner that all feasible nodes are on one side of."""
        if not self.is_down:
            return -self.utility(self.identity)
        corner = tuple(self._highest(j) for j in range(len(self.top)))
        return self.bound(corner)

    def _highest(self, j: int) -> int:
        """The most general level of an attribute that any feasible node of ``min_risk`` has."""
        for level in range(self.top[j], 0, -1):
            if self.is_feasible((*self.identity[:j], level, *self.identity[j + 1 :])):
                return level
        return 0

    # --- answers ---------------------------------------------------------------------------------------

    def tied_from(self, seeds: Iterable[Levels], value: float) -> list[Levels]:
        """All feasible nodes within twice the tie margin of ``value`` that ``seeds`` lead to by ties.

        Downwards for ``min_risk``, upwards for ``max_utility``. Where risk and utility are monotone these are
        all there are if the seeds are the tied nodes of the frontier: what lies between a tied node and a
        node of the frontier is tied too.
        """
        step = self.moves.specialisations if self.is_down else self.moves.generalisations
        limit = value + 2.0 * tie_margin(value)
        open_ = [node for node in seeds if self.value(node) <= limit]
        reached = set(open_)
        while open_:
            for node in step(open_.pop()):
                if node not in reached:
                    self.visit(node)
                    if self.value(node) <= limit and self.is_feasible(node):
                        reached.add(node)
                        open_.append(node)
        return sorted(reached)

    def best_of(self, candidates: Iterable[Levels]) -> Levels:
        """The best of some feasible nodes."""
        nodes = sorted(candidates)
        risk = np.array([[self.risk(node)] for node in nodes])
        utility = np.array([[self.utility(node)] for node in nodes])
        return nodes[int(choose(risk, utility, self.problem.objective).node[0])]

    def settled(self, seeds: Iterable[Levels], value: float) -> Found:
        """The answer, from the tied nodes of the frontier."""
        if math.isinf(value):
            return self.found(PROHIBITED, None, value)
        self.value_is_known()
        tied = list(seeds)
        try:
            tied = self.tied_from(tied, value)
        except EndedError as ended:
            return self.found(OPTIMAL, self.best_of(tied), value, truncated=True, halted=ended.halted)
        return self.found(OPTIMAL, self.best_of(tied), value)

    def infeasible(self, reach: float) -> Found:
        """Nothing meets the threshold; ``reach`` is the best that there is."""
        return self.found(INFEASIBLE, None, math.inf, reach=reach)

    def unfinished(self, best: Levels | None, bound: float, halted: bool) -> Found:
        """The best so far of a search that ended early, or a frontier node where it has found none."""
        if best is None:
            # A few more nodes than the budget says: an answer without a rule would be worth nothing.
            self.budget, self.halted = UNLIMITED, never
            best = self.last_feasible_on_chain()
        if best is not None and math.isinf(self.risk(best)):
            best = None
        return self.found(OPTIMAL, best, bound, truncated=True, halted=halted)
