"""Requirements on what is proven: how far a rule is from an optimum, and whether a risk is an upper bound."""

from __future__ import annotations

import asyncio
from functools import cached_property
from typing import Any, Final

from app.domain.catalogue.catalogue_types import Holds, Hypothesis
from app.domain.errors import NotSupported
from app.domain.gates.explanations import of_bound, of_optimum
from app.domain.gates.findings import Finding, held
from app.domain.gates.optima import gap_of_loss, gap_of_rule
from app.domain.policies.bound_condition import BoundCondition
from app.domain.policies.objectives import optimum_of
from app.domain.policies.optimum_condition import OptimumCondition
from app.domain.policies.policy import Requirement
from app.domain.rules.rule import Rule
from app.domain.search.answers import Answers, answers_of
from app.domain.search.blocks import SearchPlan
from app.domain.search.budget import Halted, never
from app.domain.search.full_domain.problem import AnonymityOutcome, AnonymityProblem
from app.domain.search.least_loss import LeastLossPlan, least_loss_plan
from app.domain.search.objectives import MinLoss
from app.domain.search.outcome import Outcome
from app.domain.search.plans import plan
from app.domain.search.problem import Problem
from app.services.gates.context import EvaluationContext
from app.services.gates.evaluator import Evaluator, EvaluatorCost, required
from app.services.scoring.assessment_work import SECONDS_PER_COMPARED_ENTITY
from app.services.searches.objectives import scored_problem

_BLOCK: Final = -1
"""What no search asks of a rule begins with it."""


class OptimumEvaluator(Evaluator):
    """Searches once, then compares rules with what the search proved."""

    condition: OptimumCondition

    def __init__(
        self,
        criterion: Requirement,
        context: EvaluationContext,
        problem: Problem | AnonymityProblem,
        search: SearchPlan | LeastLossPlan,
    ) -> None:
        super().__init__(criterion, context)
        self._problem = problem
        self._search = search
        self.answers: Answers = answers_of(search) or Answers()
        self._outcome: Outcome | AnonymityOutcome | None = None

    @classmethod
    async def prepared(cls, criterion: Requirement, context: EvaluationContext) -> Evaluator:
        """The evaluator with its search planned."""
        required(context.rule)
        condition: Any = criterion.condition
        scoring, objective = context.scoring(condition.dictionary), optimum_of(condition.objective)
        if isinstance(objective, MinLoss):
            loss = AnonymityProblem.of(objective, condition.scope)
            population = scoring.linked[0] if scoring.linked and not scoring.is_set else None
            least = await asyncio.to_thread(least_loss_plan, context.table, loss, dictionary=population)
            return cls(criterion, context, loss, least)
        problem = scored_problem(objective, condition.scope, scoring.options)
        search = await asyncio.to_thread(lambda: plan(scoring.context, problem))
        return cls(criterion, context, problem, search)

    @cached_property
    def cost(self) -> EvaluatorCost:
        """Of the search."""
        required(self.context.rule)
        return EvaluatorCost(self._search.seconds, self._search.n_bytes, self._search.solver)

    @property
    def complete(self) -> bool:
        """Whether the search came to its own end."""
        return self._outcome is None or self._outcome.complete

    def find(self, rule: Rule | None, halted: Halted = never) -> Finding:
        """The relative gap of the rule's value."""
        own = required(rule)
        gap = self._gap(own, self._searched(halted))
        part = held(gap, "at_most", float(self.condition.gap), self.condition.dictionary)
        return Finding(
            "at_most", float(self.condition.gap), (part,), "exact", of_optimum(gap, self.condition.gap)
        )

    def _gap(self, rule: Rule, outcome: Outcome | AnonymityOutcome) -> float:
        if outcome.status == "infeasible":
            return float("inf")
        if outcome.bounds is None:
            raise NotSupported(
                "The search proved no bound that the rule could be compared with.",
                "Require the optimum of an objective or scope that is solved exactly.",
            )
        problem, lower = self._problem, outcome.bounds.lower
        scoring = self.context.scoring(self.condition.dictionary)
        if isinstance(problem, Problem):
            return gap_of_rule(scoring.context, problem, rule, lower)
        counter = None
        if problem.needs_population:
            dictionary = self.context.dictionary(self.condition.dictionary)
            counter = None if dictionary is None else self.context.counter(dictionary)
        return gap_of_loss(self.context.release(rule), problem, scoring.utility, lower, counter)

    def _searched(self, halted: Halted) -> Outcome | AnonymityOutcome:
        """What the search found, which is made once."""
        if self._outcome is None:
            blocks = {index: self._block(index, halted) for index in range(self._search.n_blocks)}
            self._outcome = self._search.combine(blocks)
        return self._outcome

    def _block(self, index: int, halted: Halted) -> bytes:
        """A block of the search, kept beside what others have found out on the way."""

        def found() -> bytes:
            return self._search.run_block(index, lambda done: None, halted)

        return self.answers.whole((_BLOCK, index), found, halted)


_WORDS: dict[str, Holds] = {"true": "yes", "false": "no", "assumed": "assumed"}


class BoundEvaluator(Evaluator):
    """Checks the hypotheses of the theorem of bounds."""

    condition: BoundCondition

    def __init__(self, criterion: Requirement, context: EvaluationContext) -> None:
        super().__init__(criterion, context)
        context.dictionary(self.condition.dictionary)

    @cached_property
    def cost(self) -> EvaluatorCost:
        """Of finding the records in the dictionary."""
        required(self.context.rule)
        scoring = self.context.scoring(self.condition.dictionary)
        entities = scoring.table.n_records + scoring.linked[0].n_entities
        return EvaluatorCost(entities * SECONDS_PER_COMPARED_ENTITY, 64 * entities, "comparison")

    def find(self, rule: Rule | None, halted: Halted = never) -> Finding:
        """Whether the bound is claimed, and rests on no more than the policy allows."""
        condition = self.condition
        found = self.context.score(condition.dictionary, required(rule)).bound()
        may_rest = condition.may_rest_on_assumptions
        stands = found.claimed and (may_rest or not found.rests_on_assumptions)
        assumed = [own.name for own in found.hypotheses if own.holds == "assumed"]
        return Finding(
            "equals",
            True,
            (held(stands, "equals", True, condition.dictionary),),
            "exact",
            of_bound(condition.dictionary, found.claimed, assumed, may_rest),
            hypotheses=tuple(Hypothesis(own.name, _WORDS[own.holds], own.reason) for own in found.hypotheses),
        )
