"""What ``auto`` does with table-level rules: the cheapest way to the optimum, or the best rule with its gap.

* Few rules, or a risk that is not proved to be monotone: all of them are scored (:mod:`table_level`).
* Up to 2,000,000 rules: few are rated, the rest pruned (:mod:`rule_search`); exact unless it is stopped.
* More: a greedy rule (from ⊥, then exchanges of levels until none helps; it proves nothing) races against the
  bounds of boxes of rules; whichever finds better is returned, with the smallest open bound. Without a budget
  it ends after as many nodes as take about a minute.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace

from app.domain.arrays import Levels
from app.domain.counting.calibration import BYTES_PER_OPEN_RULE, SECONDS_PER_OPEN_RULE_AND_RATING
from app.domain.errors import NotSupported
from app.domain.search.budget import Budget, EndedError, Halted, added_up, never
from app.domain.search.lattices.branch_and_bound import Found, Lattice, search_boxes
from app.domain.search.objectives import ScoredObjective
from app.domain.search.outcome import MAP_LIMIT, Outcome, least_objective
from app.domain.search.selection import INFEASIBLE, OPTIMAL, PROHIBITED, choose
from app.domain.search.table_rules.estimates import ratings_by_pruning, share_shown
from app.domain.search.table_rules.open_rules import LeastRisk, goal_of
from app.domain.search.table_rules.rule_search import RuleSearch
from app.domain.search.table_rules.table_level import (
    RatingSearch,
    TableEnumeration,
    TableInstance,
    untouched,
)

Tick = Callable[[int], None]
Key = tuple[float, float]

NO_RULE: Key = (math.inf, math.inf)

SECONDS_WITHOUT_BUDGET = 60.0
LEAST_NODES = 2_000
GREEDY_SHARE = 3


class GreedyRule:
    """The search and what it found: ``best`` levels, None without a feasible rule, and their ``key``."""

    def __init__(
        self,
        lattice: Lattice,
        objective: ScoredObjective,
        most_ratings: int,
        tick: Tick | None,
        halted: Halted,
    ) -> None:
        self._lattice = lattice
        self._objective = objective
        self._most = most_ratings
        self._tick = tick
        self._halted = halted
        self._risks: dict[Levels, float] = {}
        self.best: Levels | None = None
        self.key: Key = NO_RULE

    @property
    def n_ratings(self) -> int:
        """Rules that were rated."""
        return len(self._risks)

    def run(self) -> None:
        """Search until no move helps, the ratings are spent or it is halted."""
        try:
            self._look_at(tuple(0 for _ in self._lattice.heights), always=True)
            self._descend()
            while self._improve():
                pass
        except EndedError:
            return

    def _risk(self, levels: Levels) -> float:
        if levels not in self._risks:
            if len(self._risks) >= self._most or self._halted():
                raise EndedError
            self._risks[levels] = self._lattice.risks(levels)[0]
            if self._tick is not None:
                self._tick(1)
        return self._risks[levels]

    def _rated(self, levels: Levels) -> Key:
        """Objective and second criterion; infinite if the rule is not feasible."""
        objective, utility = self._objective, self._lattice.utility(levels)
        if utility < objective.lowest_utility:
            return NO_RULE
        risk = self._risk(levels)
        return NO_RULE if risk > objective.highest_risk else objective.key(risk, utility)

    def _look_at(self, levels: Levels, always: bool = False) -> bool:
        """Take a rule if it is better; one that its utility alone rules out is not rated."""
        if not always and self._least(levels) > self.key[0]:
            return False
        key = self._rated(levels)
        if math.isinf(key[0]) or key >= self.key:
            return False
        self.best, self.key = levels, key
        return True

    def _least(self, levels: Levels) -> float:
        objective, utility = self._objective, self._lattice.utility(levels)
        if objective.kind == "max_utility":
            return -utility
        if objective.kind == "min_risk":
            return -math.inf
        return -objective.threshold * utility if math.isfinite(self.key[0]) else -math.inf

    def _descend(self) -> None:
        """From ⊥ to finer rules, each time where utility costs the least risk, past feasible rules."""
        levels = self._lattice.heights
        self._look_at(levels)
        while True:
            utility, risk = self._lattice.utility(levels), self._risk(levels)
            if self._is_done(utility, risk):
                return
            prices = []
            for j, level in enumerate(levels):
                if level:
                    finer = (*levels[:j], level - 1, *levels[j + 1 :])
                    gain = max(self._lattice.utility(finer) - utility, 1e-300)
                    prices.append(((self._risk(finer) - risk) / gain, self._risk(finer), finer))
                    self._look_at(finer)
            if not prices:
                return
            levels = min(prices)[2]

    def _is_done(self, utility: float, risk: float) -> bool:
        if self._objective.kind == "min_risk":
            return utility >= self._objective.lowest_utility
        return risk > self._objective.highest_risk

    def _improve(self) -> bool:
        """Take the first better neighbour of the best rule; False if there is none."""
        best = self.best
        return best is not None and any(self._look_at(levels) for levels in self._neighbours(best))

    def _neighbours(self, levels: Levels) -> Iterator[Levels]:
        heights = self._lattice.heights
        single = [
            (j, step) for j, level in enumerate(levels) for step in (1, -1) if 0 <= level + step <= heights[j]
        ]
        for j, step in single:
            yield (*levels[:j], levels[j] + step, *levels[j + 1 :])
        for j, up in single:
            for k, down in single:
                if up == 1 and down == -1 and j != k:
                    moved = list(levels)
                    moved[j] += 1
                    moved[k] -= 1
                    yield tuple(moved)


def plan_table(
    instance: TableInstance, budget: Budget, rules_limit: int
) -> TableEnumeration | PrunedSearch | RacedSearch:
    """The cheapest way to the best table-level rule within a budget.

    Few rules are all scored: the result then has the map of all of them. More than ``rules_limit`` are too
    many to score or to hold a number for each. NotSupported for III_raw where some must be left out.
    """
    n_rules = instance.context.n_rules
    affordable = budget.max_nodes is None or budget.max_nodes >= n_rules
    provable = instance.context.harm_is_monotone
    if n_rules > rules_limit or not (provable or affordable):
        if instance.context.model.name == "III_raw":
            raise NotSupported(
                "Not all rules can be scored; without that nothing bounds III_raw, which calls the riskiest "
                "disclosure the best.",
                "Choose model III, or allow a node per rule on at most 2,000,000 rules.",
            )
        return RacedSearch(instance, budget)
    if not provable or (affordable and n_rules <= MAP_LIMIT):
        return TableEnumeration(instance)
    return PrunedSearch(instance, budget)


class PrunedSearch(RatingSearch):
    """The optimum among rules that are few enough to hold a number for each."""

    bytes_per_rule = BYTES_PER_OPEN_RULE

    @property
    def seconds(self) -> float:
        """Estimated time; how many rules have to be rated is known from experience only."""
        n_rules, instance = self.units, self._instance
        ratings = min(ratings_by_pruning(instance), self._budget.max_nodes or math.inf)
        looking = ratings * n_rules * SECONDS_PER_OPEN_RULE_AND_RATING
        rating = self._ratings.seconds_of_ratings(ratings, share_shown(instance))
        return instance.context.preparing_seconds + rating + looking

    def run_block(self, index: int, tick: Callable[[int], None], halted: Halted = never) -> bytes:
        """What the search found, and its ties, as JSON."""
        found, ties = search_rules(self._instance, self._budget, tick, halted)
        return json.dumps({"found": asdict(found), "ties": ties}, sort_keys=True).encode()

    def combine(self, blocks: Mapping[int, bytes]) -> Outcome:
        """The optimal rule, or the best that was found with a bound of the optimum."""
        document = json.loads(blocks[0]) if blocks else {"found": None, "ties": None}
        return self._concluded(document["found"], document["ties"])


class RacedSearch(RatingSearch):
    """The best rule found among very many, with a bound of the optimum."""

    def __init__(self, instance: TableInstance, budget: Budget) -> None:
        super().__init__(instance, budget)
        self.units = self._n_nodes

    @property
    def _n_nodes(self) -> int:
        """Most nodes to visit."""
        if self._budget.max_nodes is not None:
            return self._budget.max_nodes
        return max(LEAST_NODES, round(SECONDS_WITHOUT_BUDGET / self._ratings.seconds_per_rule))

    @property
    def seconds(self) -> float:
        """Estimated time: that of rating as many rules as the race may look at."""
        return self._n_nodes * self._ratings.seconds_per_rule

    def run_block(self, index: int, tick: Callable[[int], None], halted: Halted = never) -> bytes:
        """What was found, as JSON."""
        found = self._race(added_up(lambda done: tick(min(done, self.units))), halted)
        return json.dumps(asdict(found), sort_keys=True).encode()

    def _race(self, tick: Callable[[int], None], halted: Halted) -> Found:
        instance, problem = self._instance, self._instance.problem
        most = instance.utility((0,) * len(instance.heights))
        if most < problem.objective.lowest_utility:
            return _out_of_reach(most)
        provable = instance.context.harm_is_monotone
        share = self._n_nodes // GREEDY_SHARE if provable else self._n_nodes
        greedy = GreedyRule(instance, problem.objective, max(1, share), tick, halted)
        greedy.run()
        if not provable:
            bound = least_objective(problem, instance.context.model, most)
            code = OPTIMAL if greedy.best is not None else INFEASIBLE
            return Found(
                code, greedy.best, math.inf, -math.inf, bound, True, math.nan,
                greedy.n_ratings, greedy.n_ratings, greedy.n_ratings, halted(),
            )  # fmt: skip
        left = max(1, self._n_nodes - greedy.n_ratings)
        found = search_boxes(instance, problem, replace(self._budget, max_nodes=left), tick, halted)
        # The box search's answer with the better of both rules, and the nodes of both
        counted = replace(
            found,
            visited_nodes=found.visited_nodes + greedy.n_ratings,
            risk_evaluations=found.risk_evaluations + greedy.n_ratings,
            utility_evaluations=found.utility_evaluations + greedy.n_ratings,
        )
        if not found.truncated and found.code != INFEASIBLE:
            return counted
        objective = self._instance.problem.objective
        key = NO_RULE if found.node is None else objective.key(found.risk, found.utility)
        if greedy.best is None or greedy.key >= key:
            return counted
        return replace(counted, code=OPTIMAL, node=greedy.best, truncated=True)

    def combine(self, blocks: Mapping[int, bytes]) -> Outcome:
        """The better rule, with the smallest open bound."""
        return self._concluded(json.loads(blocks[0]) if blocks else None)


def _out_of_reach(most_utility: float) -> Found:
    """No rule has the utility that is asked for."""
    return Found(INFEASIBLE, None, math.inf, -math.inf, math.inf, False, most_utility, 0, 0, 1)


def search_rules(
    instance: TableInstance, budget: Budget, tick: Callable[[int], None], halted: Halted
) -> tuple[Found, int | None]:
    """Solve the instance's problem by pruning; also the number of ties, where all of them were rated."""
    problem = instance.problem
    terms, utility = instance.terms, instance.every_utility
    most = float(utility.max())
    if most < problem.objective.lowest_utility:
        return _out_of_reach(most), None
    ratings = RuleSearch(instance.ratings, terms, goal_of(problem), budget, tick, halted).run()
    if not len(ratings.rules):
        return untouched(instance), None
    choice = choose(ratings.risk[:, None], utility[ratings.rules][:, None], problem.objective)
    n = len(ratings.rules)
    found = Found(
        int(choice.code[0]), None, math.inf, -math.inf, ratings.bound, not ratings.is_complete, math.nan,
        n, n, len(utility), ratings.halted,
    )  # fmt: skip
    if found.code == OPTIMAL:
        number = int(ratings.rules[int(choice.node[0])])
        node = instance.levels_of(number)
        # Of equal utilities only those are rated that may have the least risk.
        exact = ratings.is_complete and problem.objective.kind != "max_utility"
        return replace(found, node=node), int(choice.ties[0]) if exact else None
    if not ratings.is_complete:
        # It ended before it rated a feasible rule: a rule found by a dive is told.
        start = untouched(instance)
        told = replace(
            found,
            code=start.code,
            node=start.node,
            bound=max(start.bound, found.bound),
            visited_nodes=found.visited_nodes + start.visited_nodes,
            risk_evaluations=found.risk_evaluations + start.risk_evaluations,
        )
        return told, None
    if problem.objective.kind != "max_utility":
        # Some rule is feasible, but no finite risk was left open.
        return replace(found, code=PROHIBITED), None
    lowest = LeastRisk(-math.inf)
    least = RuleSearch(instance.ratings, terms, lowest, budget, tick, halted, keeps_state=False).run()
    return replace(found, reach=float(least.risk.min()) if least.is_complete else math.nan), None
