"""Whether the risk under a dictionary bounds the risk under what the attacker has."""

from __future__ import annotations

from functools import cached_property

from app.domain.errors import InvalidInput, NotSupported
from app.domain.gates.explanations import of_bound
from app.domain.gates.findings import Finding, Hypothesis, held
from app.domain.policies.policy import BoundCondition, Requirement
from app.domain.rules.rule import Rule
from app.domain.search.budget import Halted, never
from app.services.gates.context import EvaluationContext
from app.services.gates.evaluator import UNALIGNED, Evaluator, EvaluatorCost, required
from app.services.scoring.assessment_work import SECONDS_PER_COMPARED_ENTITY

_WORDS = {"true": "yes", "false": "no", "assumed": "assumed"}


class BoundEvaluator(Evaluator):
    """Checks the hypotheses of the theorem of bounds."""

    def __init__(self, criterion: Requirement, condition: BoundCondition, context: EvaluationContext) -> None:
        super().__init__(criterion)
        self._condition = condition
        self._context = context
        context.dictionary(condition.dictionary)
        if context.scoring(condition.dictionary).sensitivity is None:
            raise InvalidInput.of(
                "/sensitivity", "missing", "A bound is of risk, which needs the harm of a disclosure."
            )
        if criterion.scope.attributes is not None or criterion.scope.groups is not None:
            raise NotSupported("A bound is of the whole release.", "Leave the scope out.")

    @cached_property
    def cost(self) -> EvaluatorCost:
        """Of finding the records in the dictionary."""
        if self._context.rule is None:
            raise NotSupported(*UNALIGNED)
        scoring = self._context.scoring(self._condition.dictionary)
        entities = scoring.table.n_records + scoring.linked[0].n_entities
        return EvaluatorCost(entities * SECONDS_PER_COMPARED_ENTITY, 64 * entities, "comparison")

    def find(self, rule: Rule | None, halted: Halted = never) -> Finding:
        """Whether the bound is claimed, and rests on no more than the policy allows."""
        condition = self._condition
        found = self._context.score(condition.dictionary, required(rule)).bound()
        may_rest = condition.may_rest_on_assumptions
        stands = found.claimed and (may_rest or not found.rests_on_assumptions)
        return Finding(
            "equals",
            True,
            (held(stands, "equals", True, condition.dictionary),),
            "exact",
            of_bound(condition.dictionary, found.claimed, found.rests_on_assumptions, may_rest),
            hypotheses=tuple(Hypothesis(own.name, _WORDS[own.holds], own.reason) for own in found.hypotheses),
        )
