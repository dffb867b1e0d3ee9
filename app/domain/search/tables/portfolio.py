"""What ``auto`` does with table-level rules: the cheapest way to the optimum, or the best rule with its gap.

* Few rules, or a risk that is not proved to be monotone: all of them are scored (:mod:`table_level`).
* Up to 2,000,000 rules: few are rated, the rest pruned (:mod:`rule_search`); exact unless it is stopped.
* More: a greedy rule races against the bounds of boxes of rules; whichever finds better is returned, with the
  smallest open bound. Without a budget it ends after as many nodes as take about a minute.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace

import numpy as np

from app.domain.errors import NotSupported
from app.domain.numbers import lowest_accepted
from app.domain.search.boxes import Found, search_boxes
from app.domain.search.budget import Budget, Halted, never
from app.domain.search.canonical import outer_sum
from app.domain.search.outcome import MAP_LIMIT, Outcome, least_objective
from app.domain.search.selection import INFEASIBLE, OPTIMAL, PROHIBITED, choose
from app.domain.search.tables.open_rules import BYTES_PER_RULE
from app.domain.search.tables.rule_goals import LeastRisk, goal_of
from app.domain.search.tables.rule_moves import GreedyRule
from app.domain.search.tables.rule_search import RuleSearch
from app.domain.search.tables.table_level import TableEnumeration, TableInstance, conclude, untouched

SECONDS_WITHOUT_BUDGET = 60.0
LEAST_NODES = 2_000
GREEDY_SHARE = 3
RATINGS = {"min_risk": 15.0, "max_utility": 15.0, "lagrangian": 30.0}
RATINGS_EXPONENT = 0.4
SECONDS_PER_RULE_AND_RATING = 1e-9


def plan_table(
    instance: TableInstance, budget: Budget, rules_limit: int
) -> TableEnumeration | PrunedSearch | RacedSearch:
    """The cheapest way to the best table-level rule within a budget.

    Few rules are all scored: the result then has the map of all of them. More than ``rules_limit`` are too
    many to score or to hold a number for each. NotSupported for III_raw where some must be left out.
    """
    n_rules = instance.n_rules
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


class PrunedSearch:
    """The optimum among rules that are few enough to hold a number for each."""

    n_blocks = 1
    solver = "portfolio"

    def __init__(self, instance: TableInstance, budget: Budget) -> None:
        self._instance = instance
        self._budget = budget
        self._ratings = instance.ratings
        self.units = instance.n_rules

    @property
    def seconds(self) -> float:
        """Estimated time; how many rules have to be rated is known from experience only."""
        n_rules = self.units
        wanted = min(n_rules, RATINGS[self._instance.problem.objective] * math.pow(n_rules, RATINGS_EXPONENT))
        ratings = min(wanted, self._budget.max_nodes or math.inf)
        return ratings * (self._ratings.seconds_per_rule + n_rules * SECONDS_PER_RULE_AND_RATING)

    @property
    def n_bytes(self) -> int:
        """Estimated memory: scores, the states that are kept, and the number for each rule."""
        return self._ratings.n_bytes + self._ratings.kept_bytes + self.units * BYTES_PER_RULE

    def run_block(self, index: int, tick: Callable[[int], None], halted: Halted = never) -> bytes:
        """What the search found, and its ties, as JSON."""
        found, ties = search_rules(self._instance, self._budget, tick, halted)
        return json.dumps({"found": asdict(found), "ties": ties}, sort_keys=True).encode()

    def combine(self, blocks: Mapping[int, bytes]) -> Outcome:
        """The optimal rule, or the best that was found with a bound of the optimum."""
        if not blocks:
            return conclude(self._instance, self.solver, untouched(self._instance))
        document = json.loads(blocks[0])
        return conclude(self._instance, self.solver, _found(document["found"]), document["ties"])


class RacedSearch:
    """The best rule found among very many, with a bound of the optimum."""

    n_blocks = 1
    solver = "portfolio"

    def __init__(self, instance: TableInstance, budget: Budget) -> None:
        self._instance = instance
        self._budget = budget
        self._ratings = instance.ratings
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

    @property
    def n_bytes(self) -> int:
        """Estimated memory: scores and the states that are kept."""
        return self._ratings.n_bytes + self._ratings.kept_bytes

    def run_block(self, index: int, tick: Callable[[int], None], halted: Halted = never) -> bytes:
        """What was found, as JSON."""
        done = 0

        def advance(rules: int) -> None:
            nonlocal done
            done += rules
            tick(min(done, self.units))

        found = self._race(advance, halted)
        return json.dumps(asdict(found), sort_keys=True).encode()

    def _race(self, tick: Callable[[int], None], halted: Halted) -> Found:
        instance, problem = self._instance, self._instance.problem
        most = instance.utility((0,) * len(instance.heights))
        if problem.objective == "min_risk" and most < lowest_accepted(problem.threshold):
            return _out_of_reach(most)
        provable = instance.context.harm_is_monotone
        share = self._n_nodes // GREEDY_SHARE if provable else self._n_nodes
        greedy = GreedyRule(instance, problem, max(1, share), tick, halted)
        greedy.run()
        if not provable:
            return self._unproved(greedy, most, halted())
        left = max(1, self._n_nodes - greedy.n_ratings)
        found = search_boxes(instance, problem, replace(self._budget, max_nodes=left), tick, halted)
        return self._better(greedy, found)

    def _unproved(self, greedy: GreedyRule, most: float, halted: bool) -> Found:
        instance = self._instance
        bound = least_objective(instance.problem, instance.context.model, most)
        code = OPTIMAL if greedy.best is not None else INFEASIBLE
        return Found(
            code, greedy.best, math.inf, -math.inf, bound, True, math.nan,
            greedy.n_ratings, greedy.n_ratings, greedy.n_ratings, halted,
        )  # fmt: skip

    def _better(self, greedy: GreedyRule, found: Found) -> Found:
        """The box search's answer with the better of both rules, and the nodes of both."""
        counted = replace(
            found,
            visited_nodes=found.visited_nodes + greedy.n_ratings,
            risk_evaluations=found.risk_evaluations + greedy.n_ratings,
            utility_evaluations=found.utility_evaluations + greedy.n_ratings,
        )
        if not found.truncated and found.code != INFEASIBLE:
            return counted
        if greedy.best is None or greedy.key >= self._key_of(found):
            return counted
        return replace(counted, code=OPTIMAL, node=greedy.best, truncated=True)

    def _key_of(self, found: Found) -> tuple[float, float]:
        if found.node is None:
            return math.inf, math.inf
        problem = self._instance.problem
        if problem.objective == "min_risk":
            return found.risk, -found.utility
        if problem.objective == "max_utility":
            return -found.utility, found.risk
        return found.risk - problem.threshold * found.utility, -found.utility

    def combine(self, blocks: Mapping[int, bytes]) -> Outcome:
        """The better rule, with the smallest open bound."""
        found = _found(json.loads(blocks[0])) if blocks else untouched(self._instance)
        return conclude(self._instance, self.solver, found)


def _found(fields: dict[str, object]) -> Found:
    node = fields["node"]
    return Found(**{**fields, "node": tuple(node) if isinstance(node, list) else None})  # type: ignore[arg-type]


def _out_of_reach(most_utility: float) -> Found:
    """No rule has the utility that is asked for."""
    return Found(INFEASIBLE, None, math.inf, -math.inf, math.inf, False, most_utility, 0, 0, 1)


def search_rules(
    instance: TableInstance, budget: Budget, tick: Callable[[int], None], halted: Halted
) -> tuple[Found, int | None]:
    """Solve the instance's problem by pruning; also the number of ties, where all of them were rated."""
    problem = instance.problem
    terms = instance.utilities.terms
    utility = outer_sum(terms).reshape(-1)
    most = float(utility.max())
    if problem.objective == "min_risk" and most < lowest_accepted(problem.threshold):
        return _out_of_reach(most), None
    ratings = RuleSearch(instance.ratings, terms, goal_of(problem), budget, tick, halted).run()
    if not len(ratings.rules):
        return untouched(instance), None
    choice = choose(ratings.risk[:, None], utility[ratings.rules][:, None], problem)
    n = len(ratings.rules)
    found = Found(
        int(choice.code[0]), None, math.inf, -math.inf, ratings.bound, not ratings.is_complete, math.nan,
        n, n, len(utility), ratings.halted,
    )  # fmt: skip
    if found.code == OPTIMAL:
        number = int(ratings.rules[int(choice.node[0])])
        shape = tuple(len(term) for term in terms)
        node = tuple(int(level) for level in np.unravel_index(number, shape))
        # Of equal utilities only those are rated that may have the least risk.
        exact = ratings.is_complete and problem.objective != "max_utility"
        return replace(found, node=node), int(choice.ties[0]) if exact else None
    if not ratings.is_complete:
        return _from_the_start(instance, found), None
    if problem.objective != "max_utility":
        # Some rule is feasible, but no finite risk was left open.
        return replace(found, code=PROHIBITED), None
    least = RuleSearch(instance.ratings, terms, LeastRisk(-math.inf), budget, tick, halted).run()
    return replace(found, reach=float(least.risk.min()) if least.is_complete else math.nan), None


def _from_the_start(instance: TableInstance, found: Found) -> Found:
    """What a search says that ended before it rated a feasible rule: a rule found by a dive."""
    start = untouched(instance)
    return replace(
        found,
        code=start.code,
        node=start.node,
        bound=max(start.bound, found.bound),
        visited_nodes=found.visited_nodes + start.visited_nodes,
        risk_evaluations=found.risk_evaluations + start.risk_evaluations,
    )
