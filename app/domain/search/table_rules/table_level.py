"""Optimal table-level rules by enumeration in blocks of one walk, and what searches that rate rules share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from app.domain.arrays import Floats, Levels
from app.domain.rules.rule import TableRule
from app.domain.search.answers import Answers, memory_of_state
from app.domain.search.budget import UNLIMITED, Budget, Halted, HaltedError, added_up, never, stop_if
from app.domain.search.context import SearchContext
from app.domain.search.lattices.branch_and_bound import Found, search_boxes
from app.domain.search.outcome import STATUSES, Counters, Outcome, least_objective, map_of, shortfall_of
from app.domain.search.problem import Problem
from app.domain.search.record_risk import outer_sum
from app.domain.search.selection import INFEASIBLE, OPTIMAL, choose
from app.domain.search.table_rules.rule_scores import rule_scores
from app.domain.search.table_rules.scores import RuleScores
from app.domain.tables.numbers import exact_sum

SECONDS_PER_BLOCK = 0.5
STATES_TO_SPLIT = 4
STATE_PER_RULE = 29
"""Bytes of what a rule's risk is between, of its place in the queue, of how many open ones are below it, and
of whether it is one."""


class TableInstance:
    """A table-level problem's lattice as branch and bound sees it; also shared by all blocks of a plan.

    ``asked`` is the problem as it was put, ``problem`` the same as a floor under the utility as it is.
    """

    def __init__(self, context: SearchContext, asked: Problem) -> None:
        self.context = context
        self.asked = asked
        self.problem = asked.in_utility(context.utility)

    @cached_property
    def terms(self) -> list[Floats]:
        """Mean utility per attribute and level: the utility of a rule is their sum."""
        table, terms = self.context.table, []
        for j, hierarchy in enumerate(table.hierarchies):
            mass = np.bincount(table.codes[:, j], table.weights, minlength=hierarchy.n_nodes)
            used = np.flatnonzero(mass)
            values = self.context.utility.values[j]
            sums = [
                exact_sum(values[hierarchy.ancestors_at(level)[used]] * mass[used])
                for level in range(hierarchy.height + 1)
            ]
            terms.append(np.array(sums) / self.context.total_weight)
        return terms

    @property
    def every_utility(self) -> Floats:
        """Mean utility of every rule, in lexicographic order of the levels."""
        return outer_sum(self.terms).reshape(-1)

    @cached_property
    def scores(self) -> RuleScores:
        """Scores all rules."""
        return self._rule_scores(one_by_one=False)

    @cached_property
    def ratings(self) -> RuleScores:
        """Rates rules in any order."""
        return self._rule_scores(one_by_one=True)

    def _rule_scores(self, one_by_one: bool) -> RuleScores:
        asked = self.asked
        return rule_scores(self.context, asked.absent_policy, asked.view, asked.aggregate, one_by_one)

    def levels_of(self, rule: int) -> Levels:
        """Levels of the rule of this number in lexicographic order."""
        shape = [height + 1 for height in self.heights]
        return tuple(int(level) for level in np.unravel_index(rule, shape))

    @property
    def heights(self) -> Levels:
        """h_j, the greatest level per attribute."""
        return self.context.table.heights

    def risks(self, levels: Levels) -> tuple[float, float]:
        """Risk of a rule, and what no finer rule falls below."""
        rated = self.ratings.rate(levels)
        return rated.risk, rated.bound

    def utility(self, levels: Levels) -> float:
        """Mean utility of a rule."""
        return math.fsum(term[level] for term, level in zip(self.terms, levels, strict=True))

    @property
    def n_absent(self) -> int:
        """Records without a consistent entity when disclosed as they are, in any dictionary that counts."""
        made = self.scores if "scores" in vars(self) else self.ratings
        return int(self.context.table.reduced.counts[made.absent].sum())


class RuleBlocks:
    """Scores every rule; a block is a range of prefixes of the walk."""

    solver = "enumeration"

    def __init__(self, instance: TableInstance) -> None:
        self._instance = instance
        scores = instance.scores
        wanted = max(1, math.ceil(instance.scores.seconds / SECONDS_PER_BLOCK))
        self._depth = 0
        while (
            self._depth < len(scores.shape) - 1 and self._prefixes < STATES_TO_SPLIT * wanted and wanted > 1
        ):
            self._depth += 1
        self.n_blocks = min(wanted, self._prefixes)
        self.units = scores.n_rules

    @property
    def _prefixes(self) -> int:
        return math.prod(self._instance.scores.shape[: self._depth])

    @property
    def seconds(self) -> float:
        """Estimated time to score all rules."""
        return self._instance.scores.seconds

    @property
    def n_bytes(self) -> int:
        """Estimated memory of scoring them."""
        return self._instance.scores.n_bytes

    def run_block(self, index: int, tick: Callable[[int], None], halted: Halted = never) -> bytes:
        """Risks of the block's rules in walk order, little-endian float64; nothing if it was halted."""
        first, last = (self._prefixes * i // self.n_blocks for i in (index, index + 1))
        count = added_up(tick)

        def advance(rules: int) -> None:
            count(rules)
            stop_if(halted)

        try:
            risks = self._instance.scores.scores(self._depth, first, last, advance)
        except HaltedError:
            return b""
        return risks.astype("<f8").tobytes()

    def scored(self, blocks: Mapping[int, bytes]) -> tuple[Floats, Floats]:
        """Risk and utility of every rule, in lexicographic order of the levels in the table's order.

        The risks of missing blocks are NaN.
        """
        inner = self.units // self._prefixes
        walked = np.full(self.units, np.nan)
        for index, block in blocks.items():
            if block:
                first, last = (self._prefixes * i // self.n_blocks * inner for i in (index, index + 1))
                walked[first:last] = np.frombuffer(block, dtype="<f8")
        risk = np.ascontiguousarray(self._instance.scores.to_table_order(walked)).reshape(-1)
        return risk, self._instance.every_utility


class TableEnumeration(RuleBlocks):
    """Solves a problem by scoring every rule."""

    def combine(self, blocks: Mapping[int, bytes]) -> Outcome:
        """The optimal rule among all, with the risk–utility map; the best so far if blocks are missing."""
        instance = self._instance
        risk, utility = self.scored(blocks)
        if np.isnan(risk).any():
            # The best of the rules that were scored and of a start that is always tried
            instance = self._instance
            start = untouched(instance)
            if start.code == INFEASIBLE:
                return conclude(instance, self.solver, start)
            shape = [height + 1 for height in instance.heights]
            looked = int(np.isfinite(risk).sum())
            known = np.where(np.isnan(risk), np.inf, risk)
            if start.node is not None:
                known[np.ravel_multi_index(start.node, shape)] = start.risk
            choice = choose(known[:, None], utility[:, None], instance.problem.objective)
            node = instance.levels_of(int(choice.node[0])) if int(choice.code[0]) == OPTIMAL else None
            found = replace(
                start,
                node=node,
                visited_nodes=looked + start.visited_nodes,
                risk_evaluations=looked + start.risk_evaluations,
                utility_evaluations=len(risk),
            )
            return conclude(instance, self.solver, found)
        choice = choose(risk[:, None], utility[:, None], instance.problem.objective)
        code, rule, n = int(choice.code[0]), int(choice.node[0]), len(risk)
        found = Found(
            code, instance.levels_of(rule) if code == OPTIMAL else None, float(risk[rule]), math.nan,
            math.nan, False, float(choice.reach[0]), n, n, n,
        )  # fmt: skip
        return conclude(
            instance, self.solver, found, optimal_rules=int(choice.ties[0]), risk=risk, utility=utility
        )


class RatingSearch:
    """A search that rates rules; one block, since it is one sequence of decisions.

    ``answers`` are the ratings: with those of an interrupted search it soon is where that was.
    """

    n_blocks = 1
    solver = "portfolio"
    bytes_per_rule = 0

    def __init__(self, instance: TableInstance, budget: Budget = UNLIMITED) -> None:
        self._instance = instance
        self._budget = budget
        self._ratings = instance.ratings
        self.answers = self._ratings.answers = Answers()
        self.units = instance.context.n_rules

    @property
    def n_bytes(self) -> int:
        """Estimated memory: scores, the states and ratings that are kept, and what is held of each rule."""
        ratings = self._ratings
        kept = ratings.kept_bytes + ratings.answers_bytes(self.units)
        held = self.units * self.bytes_per_rule
        state = memory_of_state(self.units * STATE_PER_RULE) if held else 0
        return ratings.n_bytes + kept + held + state

    def _concluded(self, fields: Mapping[str, Any] | None, ties: int | None = None) -> Outcome:
        """The outcome of what a block found; without one, of a search that did not begin."""
        if fields is None:
            return conclude(self._instance, self.solver, untouched(self._instance))
        node = None if fields["node"] is None else tuple(fields["node"])
        return conclude(self._instance, self.solver, Found(**{**fields, "node": node}), ties)


def untouched(instance: TableInstance) -> Found:
    """What a search knows that was stopped before it began: a rule by a dive, and a bound from the top."""
    found = search_boxes(instance, instance.problem, halted=lambda: True)
    if found.code == INFEASIBLE or instance.context.harm_is_monotone:
        return found
    most = instance.utility((0,) * len(instance.heights))
    return replace(found, bound=least_objective(instance.problem, instance.context.model, most))


def conclude(
    instance: TableInstance,
    solver: str,
    found: Found,
    optimal_rules: int | None = None,
    risk: Floats | None = None,
    utility: Floats | None = None,
) -> Outcome:
    """The outcome of a table-level search; the rule is scored by the canonical path."""
    context, asked = instance.context, instance.asked
    outcome = Outcome.of(
        context,
        asked,
        solver,
        "heuristic" if found.truncated else STATUSES[found.code],
        None if found.node is None else TableRule(found.node),
        absent=instance.n_absent,
        n_rules=instance.context.n_rules,
        counters=Counters(found.visited_nodes, found.risk_evaluations, found.utility_evaluations),
    )
    if outcome.rule is not None and found.truncated:
        outcome = outcome.bounded_by(found.bound)
    infeasible = found.code == INFEASIBLE
    return replace(
        outcome,
        optimal_rules=optimal_rules if found.code == OPTIMAL else None,
        shortfall=shortfall_of(context, asked, found.reach, context.table.n_records) if infeasible else None,
        risk_map=None
        if risk is None or utility is None
        else map_of([height + 1 for height in instance.heights], risk, utility),
        complete=not found.halted,
    )
