"""The exact frontier of the table-level rules: all scored, or few of them rated and the rest pruned."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from app.domain.counting.calibration import BYTES_PER_OPEN_RULE, SECONDS_PER_OPEN_RULE_AND_RATING
from app.domain.search.budget import Halted, never
from app.domain.search.frontier import FrontierOutcome, FrontierPoint, spread_over
from app.domain.search.outcome import Counters
from app.domain.search.problem import FrontierProblem
from app.domain.search.selection import proper_frontier
from app.domain.search.table_rules.open_rules import EveryFloor
from app.domain.search.table_rules.rule_search import Ratings, RuleSearch
from app.domain.search.table_rules.table_level import RatingSearch, RuleBlocks, TableInstance

FEW_RULES = 2_000
RATINGS_PER_ROOT = 19.0


@dataclass(frozen=True, eq=False)
class _Points:
    """Rules that may be of the frontier: levels (points, m), risk, utility, and how far each may be above."""

    levels: list[list[int]]
    risk: list[float]
    utility: list[float]
    gap: list[float]

    @classmethod
    def of(cls, instance: TableInstance, rules: Ratings) -> _Points:
        """Those of the rated rules that no other rated rule dominates."""
        utility = instance.every_utility[rules.rules]
        chosen = proper_frontier(rules.risk, utility)
        risk, utility = rules.risk[chosen], utility[chosen]
        # What the risk of no open rule of at least some utility is below; +∞ where there is none.
        others = np.append(np.minimum.accumulate(rules.open_bounds[::-1])[::-1], np.inf)
        gap = np.maximum(0.0, risk - others[np.searchsorted(rules.open_utility, utility)])
        shape = [height + 1 for height in instance.heights]
        levels = np.stack(np.unravel_index(rules.rules[chosen], shape), axis=1)
        return cls(levels.tolist(), risk.tolist(), utility.tolist(), gap.tolist())

    def outcome(
        self, instance: TableInstance, problem: FrontierProblem, solver: str, counters: Counters, whole: bool
    ) -> FrontierOutcome:
        """The frontier, thinned to the points wanted."""
        shown = spread_over(np.array(self.utility), problem.max_points).tolist()
        points = tuple(
            FrontierPoint(
                self.risk[i],
                self.utility[i],
                "proven" if whole else "heuristic",
                tuple(self.levels[i]),
                self.gap[i],
            )
            for i in shown
        )
        return FrontierOutcome(
            problem=problem,
            solver=solver,
            points=points,
            n_points=len(self.risk),
            complete=whole,
            absent=instance.n_absent,
            n_rules=instance.context.n_rules,
            counters=counters,
            attributes=instance.context.table.attributes,
        )


class EnumeratedFrontier(RuleBlocks):
    """The frontier among all rules, each of them scored."""

    def __init__(self, instance: TableInstance, problem: FrontierProblem) -> None:
        super().__init__(instance)
        self._problem = problem

    def combine(self, blocks: Mapping[int, bytes]) -> FrontierOutcome:
        """The rules that no other dominates; of those that were scored, if blocks are missing."""
        risk, utility = self.scored(blocks)
        known = np.flatnonzero(~np.isnan(risk))
        missing = np.sort(utility[np.isnan(risk)])
        ratings = Ratings(
            known, risk[known], not len(missing), 0.0, bool(len(missing)), missing, np.zeros(len(missing))
        )
        points = _Points.of(self._instance, ratings)
        counters = Counters(*[len(known)] * 3)
        return points.outcome(self._instance, self._problem, self.solver, counters, ratings.is_complete)


class PrunedFrontier(RatingSearch):
    """The frontier by pruning, where generalising is proved never to raise the risk."""

    bytes_per_rule = BYTES_PER_OPEN_RULE

    def __init__(self, instance: TableInstance, problem: FrontierProblem) -> None:
        super().__init__(instance)
        self._problem = problem

    @property
    def seconds(self) -> float:
        """Estimated time; how many rules have to be rated is known from experience only."""
        n_rules = self.units
        ratings = min(n_rules, RATINGS_PER_ROOT * math.sqrt(n_rules))
        looking = ratings * n_rules * SECONDS_PER_OPEN_RULE_AND_RATING
        rating = self._ratings.seconds_of_ratings(ratings)
        return self._instance.context.preparing_seconds + rating + looking

    def run_block(self, index: int, tick: Callable[[int], None], halted: Halted = never) -> bytes:
        """The points and how many rules were rated, as JSON."""
        terms = self._instance.terms
        rules = RuleSearch(self._ratings, terms, EveryFloor(), tick=tick, halted=halted).run()
        points = _Points.of(self._instance, rules)
        document = {"points": vars(points), "rated": len(rules.rules), "whole": rules.is_complete}
        return json.dumps(document, sort_keys=True).encode()

    def combine(self, blocks: Mapping[int, bytes]) -> FrontierOutcome:
        """The rules that no other dominates; of those rated so far, if the search was halted."""
        points, rated, whole = _Points([], [], [], []), 0, False
        if blocks:
            document = json.loads(blocks[0])
            points, rated, whole = _Points(**document["points"]), document["rated"], document["whole"]
        counters = Counters(rated, rated, self.units)
        return points.outcome(self._instance, self._problem, self.solver, counters, whole)


def frontier_of_table(
    instance: TableInstance, problem: FrontierProblem
) -> EnumeratedFrontier | PrunedFrontier:
    """Score all rules if they are few or nothing proves that pruning is right, else prune."""
    if instance.context.n_rules <= FEW_RULES or not instance.context.harm_is_monotone:
        return EnumeratedFrontier(instance, problem)
    return PrunedFrontier(instance, problem)
