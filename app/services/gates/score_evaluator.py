"""A number of the score of the rule, under one dictionary or the worst of several, for all or by group."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from app.domain.catalogue.result_values import value_at
from app.domain.errors import InvalidInput, NotSupported
from app.domain.gates.explanations import of_value, with_failures
from app.domain.gates.findings import Finding, Part, WorstRecords, groups_of, held, worst_of
from app.domain.gates.group_scores import RecordFigures
from app.domain.policies.policy import Requirement
from app.domain.policies.score_condition import ScoreCondition
from app.domain.risk.assessment import Assessment
from app.domain.rules.rule import Rule
from app.domain.search.budget import Halted, never
from app.services.gates.context import EvaluationContext
from app.services.gates.evaluator import Evaluator, EvaluatorCost, required
from app.services.scoring.assessment_work import RuleScore

_ROWS_SHOWN = 20
_RISKS = ("risk_average", "risk_max", "loss_quantiles", "infinite")


class ScoreEvaluator(Evaluator):
    """Scores the rule under every slot that the condition is about; the worst of them counts."""

    condition: ScoreCondition

    def __init__(self, criterion: Requirement, context: EvaluationContext) -> None:
        super().__init__(criterion, context)
        named = self.condition.dictionary
        self._slots = [named] if named is not None else sorted(context.scorings)
        if not self._slots:
            raise InvalidInput.of(
                "/dictionaries", "missing", "No dictionary is given to score against.", "Name one."
            )
        for slot in self._slots:
            context.scoring(slot)

    @cached_property
    def cost(self) -> EvaluatorCost:
        """Of scoring under every slot."""
        rule = required(self.context.rule)
        costs = [self.context.score(slot, rule).cost for slot in self._slots]
        return EvaluatorCost(
            sum(cost.seconds for cost in costs), max(cost.bytes for cost in costs), costs[0].engine
        )

    @property
    def is_monotone(self) -> bool:
        """Whether generalising a passing rule further keeps it passing, by the hypotheses of the theorem."""
        figure = self.condition.value.partition(".")[0]
        if figure not in _RISKS or self.condition.comparison not in ("at_most", "below"):
            return False
        if self.context.rule is None or self.context.base.failure is not None:
            return False
        return all(self._holds(self.context.score(slot, self.context.rule)) for slot in self._slots)

    def find(self, rule: Rule | None, halted: Halted = never) -> Finding:
        """The number under every slot, and of every group."""
        condition, own = self.condition, required(rule)
        parts = [part for slot in self._slots for part in self._parts(slot, own)]
        slot = worst_of(parts).dictionary or self._slots[0]
        finding = Finding(
            condition.comparison,
            condition.threshold,
            tuple(parts),
            "exact",
            of_value(_words(condition.value), parts, condition.comparison, condition.threshold),
            self._riskiest(slot, own) if condition.value.partition(".")[0] in _RISKS else None,
        )
        return replace(finding, explanation=with_failures(finding))

    def _parts(self, slot: str, rule: Rule) -> list[Part]:
        condition, score = self.condition, self.context.score(slot, rule)
        groups = self.criterion.scope.groups
        if groups is not None:
            figures = _figures(score, self.context)
            return [
                held(
                    figures.of(members).value(condition.value),
                    condition.comparison,
                    condition.threshold,
                    slot,
                    group,
                )
                for group, members in groups_of(self.context.table, groups)
            ]
        value = value_at(score.document, condition.value)
        if value is None:
            raise NotSupported(
                f"The score has no value {condition.value} here.", "Require a number that the score has."
            )
        return [held(value, condition.comparison, condition.threshold, slot)]

    def _riskiest(self, slot: str, rule: Rule) -> WorstRecords:
        """The first of the records of greatest risk."""
        loss = _figures(self.context.score(slot, rule), self.context).loss
        rows = np.flatnonzero(loss == loss.max())
        return WorstRecords(tuple((rows[:_ROWS_SHOWN] + 1).tolist()), len(rows))

    @staticmethod
    def _holds(score: RuleScore) -> bool:
        found = score.found
        parts = (found,) if isinstance(found, Assessment) else found.assessments
        return all(part.monotone.holds for part in parts)


def _figures(score: RuleScore, context: EvaluationContext) -> RecordFigures:
    """What the score says of every record, the risk in the attacker's view."""
    found, table = score.found, context.table
    mass = np.ones(table.n_records) if table.weights is None else table.weights
    if isinstance(found, Assessment):
        records = found.records
        return RecordFigures(records.loss, records.utility, records.counts, mass)
    counts = np.stack([part.records.counts for part in found.assessments]).min(axis=0)
    return RecordFigures(score.view_loss, found.assessments[0].records.utility, counts, mass)


def _words(value: str) -> str:
    figure, _, level = value.partition(".")
    if figure == "loss_quantiles":
        return f"The {level} quantile of the risk of records"
    return {
        "risk_average": "The mean risk",
        "risk_max": "The greatest risk of a record",
        "risk_min": "The least risk of a record",
        "utility_average": "The mean utility",
        "utility_min": "The least utility of a record",
        "min_consistent": "The least number of people that a record may be",
        "absent": "The number of records that are like nobody in the dictionary",
        "infinite": "The number of records of infinite risk",
        "k_matching": "k-anonymity, counting all records that match",
        "k_equivalence": "k-anonymity, counting equal released records",
    }.get(value, value)
