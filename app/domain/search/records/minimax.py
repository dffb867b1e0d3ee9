"""The worst case over dictionaries for many single records: a rule, and how far from the best it can be.

The sum over records of the greatest loss over dictionaries is an upper bound of the greatest mean risk, and
separable; its best rule stands in for the minimax rule. The best rule against any one dictionary
bounds the minimax from below.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from app.domain.numbers import tie_margin
from app.domain.search.budget import Halted, never
from app.domain.search.context import SearchContext
from app.domain.search.outcome import Bounds, Counters, Outcome, proven, score
from app.domain.search.problem import Problem


class Part(Protocol):
    """One of the searches that a minimax rests on."""

    n_blocks: int
    units: int

    @property
    def seconds(self) -> float:
        """Estimated time of all blocks."""

    @property
    def n_bytes(self) -> int:
        """Estimated memory."""

    def run_block(self, index: int, tick: Callable[[int], None], halted: Halted = never) -> bytes:
        """Compute one block."""

    def combine(self, blocks: Mapping[int, bytes]) -> Outcome:
        """The outcome from all blocks."""


class MinimaxPlan:
    """The blocks of the stand-in, then those against each dictionary alone.

    Parameters
    ----------
    stand_in
        The same problem with the view ``worst_case_per_record``.
    alone
        The same problem against each dictionary.
    """

    solver = "worst_case_per_record"

    def __init__(self, context: SearchContext, asked: Problem, stand_in: Part, alone: Sequence[Part]) -> None:
        self._context = context
        self._asked = asked
        self._problem = asked.in_utility(context.utility)
        self._parts = [stand_in, *alone]
        self.n_blocks = sum(part.n_blocks for part in self._parts)
        self.units = sum(part.units for part in self._parts)

    @property
    def seconds(self) -> float:
        """Estimated time of all blocks of all parts."""
        return sum(part.seconds for part in self._parts)

    @property
    def n_bytes(self) -> int:
        """Estimated memory: the stand-in and every dictionary alone, which live side by side."""
        return sum(part.n_bytes for part in self._parts)

    def run_block(self, index: int, tick: Callable[[int], None], halted: Halted = never) -> bytes:
        """Compute a block of the part that it belongs to."""
        for part in self._parts:
            if index < part.n_blocks:
                return part.run_block(index, tick, halted)
            index -= part.n_blocks
        raise IndexError("there is no such block")

    def combine(self, blocks: Mapping[int, bytes]) -> Outcome:
        """The stand-in's rule with its true greatest risk, and what no rule can fall below."""
        outcomes, first = [], 0
        for part in self._parts:
            own = range(first, first + part.n_blocks)
            outcomes.append(part.combine({index - first: blocks[index] for index in own if index in blocks}))
            first += part.n_blocks
        stand_in, *alone = outcomes
        counters = Counters(
            sum(outcome.counters.visited_nodes for outcome in outcomes),
            sum(outcome.counters.risk_evaluations for outcome in outcomes),
            sum(outcome.counters.utility_evaluations for outcome in outcomes),
        )
        complete = all(outcome.complete for outcome in outcomes)
        found = replace(
            stand_in,
            problem=self._asked,
            solver=self.solver,
            counters=counters,
            optimal_rules=None,
            records_with_ties=None,
            complete=complete,
        )
        refused = [outcome for outcome in alone if outcome.status == "infeasible"]
        if refused:
            # What one dictionary rules out, the worst of all rules out too.
            worst = max(refused, key=lambda outcome: outcome.shortfall.by if outcome.shortfall else math.inf)
            return replace(found, status="infeasible", rule=None, score=None, shortfall=worst.shortfall)
        if stand_in.status == "prohibited":
            return found
        lower = max(outcome.bounds.lower for outcome in alone if outcome.bounds is not None)
        if stand_in.rule is None:
            return replace(found, status="heuristic", shortfall=None, bounds=Bounds(lower, math.inf))
        scored, objective = score(self._context, self._problem, stand_in.rule)
        bounds = proven(self._problem, objective)
        gap = bounds.lower - lower
        if gap > tie_margin(objective):
            found = replace(found, status="heuristic")
            bounds = Bounds(lower, gap)
        else:
            found = replace(found, status="optimal")
        return replace(found, score=scored, objective=objective, bounds=bounds)
