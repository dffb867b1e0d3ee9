"""MinRisk: the best of rules that are given (Fouad (2012), algorithm 1).

Every rule is scored by the path that scores any rule and compared with the threshold as the problem says. The
published version keeps the last of several equal rules and answers (⊥, ∞) where none is feasible; here ties
go to the second criterion and then to the rule that was named first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from app.domain.arrays import Floats
from app.domain.counting.calibration import SECONDS_PER_SCORED_CELL
from app.domain.errors import NotFound
from app.domain.rules.rule import identity
from app.domain.search.budget import Budget, Halted, never
from app.domain.search.context import SearchContext
from app.domain.search.outcome import STATUSES, Counters, Outcome, least_objective, score, shortfall_of
from app.domain.search.problem import Problem
from app.domain.search.record_rules.blocks import per_record
from app.domain.search.selection import INFEASIBLE, OPTIMAL, Choice, Criteria, choose_by
from app.domain.search.solvers import Candidates


class CandidatesPlan:
    """Scores the given rules, each in a block of its own.

    Raises
    ------
    NotFound
        A rule that the context does not have.
    """

    solver = Candidates.name

    def __init__(self, context: SearchContext, asked: Problem, solver: Candidates, budget: Budget) -> None:
        self._context = context
        self._asked = asked
        self._problem = asked.in_utility(context.utility)
        self._names = solver.rules[: budget.max_nodes]
        self._n_given = len(solver.rules)
        for name in solver.rules:
            if name not in context.rules:
                raise NotFound("rule", name)
        self.units = self.n_blocks = len(self._names)

    @property
    def seconds(self) -> float:
        """Estimated time to score all rules."""
        table, dictionary = self._context.table, self._context.dictionary
        cells = table.n_records * table.n_attributes + dictionary.n_entities * len(dictionary.links)
        return self.units * len(self._context.attackers(self._asked.view)) * cells * SECONDS_PER_SCORED_CELL

    @property
    def n_bytes(self) -> int:
        """Estimated memory of one score."""
        return 40 * self._context.table.n_records * (self._context.table.n_attributes + 4)

    def run_block(self, index: int, tick: Callable[[int], None], halted: Halted = never) -> bytes:
        """Risk and utility of one rule, for the mean of the table and for its worst record."""
        if halted():
            return b""
        found, _ = score(self._context, self._problem, self._context.rules[self._names[index]])
        risk, utility = per_record(found, self._problem)
        tick(1)
        return np.array([found.risk, risk.max(), found.utility, utility.min()], dtype="<f8").tobytes()

    def combine(self, blocks: Mapping[int, bytes]) -> Outcome:
        """The best of the rules that were scored."""
        looked = [index for index in range(self.n_blocks) if blocks.get(index)]
        choice = self._choice([np.frombuffer(blocks[index], dtype="<f8") for index in looked])
        is_all = len(looked) == self._n_given
        context, problem = self._context, self._problem
        untouched, _ = score(context, replace(problem, absent_policy="zero"), identity(len(context.links)))
        code = int(choice.code[0])
        shortfall = None
        # Records that nobody is consistent with in some dictionary, from the score of the identity
        found = [untouched.assessment] if untouched.in_set is None else list(untouched.in_set.assessments)
        absent = [assessment.records.counts == 0 for assessment in found if assessment is not None]
        outcome = Outcome.of(
            context,
            self._asked,
            self.solver,
            STATUSES[code] if is_all else "heuristic",
            self._context.rules[self._names[looked[int(choice.node[0])]]] if code == OPTIMAL else None,
            absent=int(np.any(absent, axis=0).sum()),
            n_rules=self._n_given,
            counters=Counters(*[len(looked)] * 3),
        )
        if not is_all:
            outcome = outcome.bounded_by(least_objective(problem, context.model, untouched.utility))
        elif code == INFEASIBLE:
            reach = float(choice.reach[0])
            shortfall = shortfall_of(context, self._asked, reach, context.table.n_records)
        return replace(
            outcome,
            optimal_rules=int(choice.ties[0]) if is_all and code == OPTIMAL else None,
            shortfall=shortfall,
            complete=len(looked) == self.n_blocks,
        )

    def _choice(self, scores: Sequence[Floats]) -> Choice:
        """The best of the scored rules by what the problem compares with its threshold."""
        risk, most_risk, utility, least_utility = np.array(scores).reshape(-1, 4, 1).transpose(1, 0, 2)
        criteria = Criteria.of(risk, utility, self._problem.objective)
        is_floor = self._problem.objective.kind == "min_risk"
        if self._asked.holds_per_record:
            held = Criteria.of(most_risk, least_utility, self._problem.objective)
            criteria = Criteria(held.feasible, criteria.first, criteria.second)
            risk, utility = most_risk, least_utility
        if not len(scores):
            nothing = np.zeros((1, 1))
            return choose_by(Criteria(nothing > 0, nothing, nothing), np.full(1, math.nan))
        return choose_by(criteria, utility.max(axis=0) if is_floor else risk.min(axis=0))
