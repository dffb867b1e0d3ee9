"""The nearest changes of a rule that pass: for each blocking criterion that failed, and for all together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from app.domain.classes.grouping import Missing, Suppressed
from app.domain.errors import InvalidInput, NotSupported
from app.domain.models.class_suppression import ClassSuppression
from app.domain.rules.rule import Rule, TableRule
from app.domain.search.answers import Answers
from app.domain.search.budget import Budget, Halted, never
from app.domain.search.nearest.change import (
    AllowedSuppression,
    Answer,
    Candidate,
    Change,
    ChangeRequirement,
    ChangeStatus,
    OpaqueRequirement,
    privacy_requirement,
)
from app.domain.search.nearest.nearest import nearest_change
from app.domain.tables.numbers import highest_accepted, to_json_number
from app.domain.tables.table import Table
from app.services.fingerprints import plain
from app.services.gates.context import EvaluationContext
from app.services.gates.evaluator import Evaluator
from app.services.gates.privacy_model_evaluator import PrivacyModelEvaluator
from app.services.gates.subject import Subject
from app.services.resources import JsonObject
from app.services.rules.rule_definitions import AtLeastDefinition
from app.services.rules.rule_documents import TABLE_LEVEL, suppression_document, suppression_in_short

FOR_ALL: Final = "all"
_NOBODY: Final = -1


@dataclass(frozen=True, eq=False)
class _Remembered:
    """A requirement whose answers are kept, by what they depend on: which one it is, and the candidate.

    ``number`` says which one. Whom a candidate suppresses besides its levels depends on ``among``, all that
    the change is to meet.
    """

    own: ChangeRequirement
    answers: Answers
    number: int
    among: int

    @property
    def cost(self) -> float:
        """That of the requirement."""
        return self.own.cost

    @property
    def monotone(self) -> bool:
        """As the requirement."""
        return self.own.monotone

    @property
    def refutes(self) -> bool:
        """As the requirement."""
        return self.own.refutes

    def answer(self, candidate: Candidate) -> Answer:
        """What is known or else found."""

        def found() -> bytes:
            answer = self.own.answer(candidate)
            return bytes((answer.holds, answer.refutes_below))

        suppressed_for = self.among if candidate.suppresses else _NOBODY
        asked = (self.number, suppressed_for, *candidate.levels)
        return Answer(*map(bool, self.answers.of(asked, found)))


class Changes:
    """Searches for changes; ``rules`` are examined at most, shared between the searches.

    ``answers`` are those of the requirements, each of which is asked about a rule once, by whichever search:
    with those of an interrupted attempt they soon go on.
    """

    def __init__(
        self,
        context: EvaluationContext,
        evaluators: Sequence[Evaluator],
        rules: int,
        answers: Answers,
    ) -> None:
        self._answers = answers
        self._context = context
        self._evaluators = evaluators
        self._rules = rules
        self.complete = True

    def find(
        self, failed: Sequence[str], halted: Halted = never, *, unknown: bool = False
    ) -> list[JsonObject]:
        """A document per failed criterion that blocks, then one for all; none of a file without its rule.

        That for all keeps every blocking criterion that is not waived, also those that hold now. It is not
        looked for while one of them is ``unknown``, since nothing can be shown to keep it.
        """
        rule = self._context.rule
        if rule is None or not failed:
            return []
        by_id = {evaluator.criterion.id: evaluator for evaluator in self._evaluators}
        asked = [
            evaluator
            for id_, evaluator in by_id.items()
            if evaluator.criterion.severity == "block"
            and not self._context.subject.waivers.get(id_, {"in_force": False})["in_force"]
        ]
        each = max(1, self._rules // (len(failed) + 1))
        found = [self._document(id_, [by_id[id_]], rule, each, halted) for id_ in failed]
        if unknown:
            return [*found, self._nothing(FOR_ALL)]
        if len(asked) == 1:
            return [*found, {**found[0], "for": FOR_ALL}]
        return [*found, self._document(FOR_ALL, asked, rule, each, halted)]

    def _document(
        self, for_: str, evaluators: Sequence[Evaluator], rule: Rule, rules: int, halted: Halted
    ) -> JsonObject:
        try:
            change = self._nearest(evaluators, rule, rules, halted)
            if self._suppression_allowed and len(_readings(_of_classes(evaluators))) > 1:
                # Rules that suppress records were not looked at.
                status: ChangeStatus = "not_found" if change.status == "none_exists" else change.status
                change = replace(change, status=status, proven=False)
        except (InvalidInput, NotSupported):
            return self._nothing(for_)
        self.complete = self.complete and change.complete
        after = change.utility_after
        shown: JsonObject = {
            "for": for_,
            "status": change.status,
            "proven": change.proven,
            "levels": None if change.levels is None else dict(change.levels),
            "suppressed_records": change.suppressed_records,
            "utility_before": to_json_number(change.utility_before),
            "utility_after": None if after is None else to_json_number(after),
            "examined": change.examined,
            "rule": self._definition(change),
        }
        return plain(shown)

    @staticmethod
    def _nothing(for_: str) -> JsonObject:
        """Of a change that was not looked for, or could not be."""
        return {
            "for": for_,
            "status": "not_found",
            "proven": False,
            "levels": None,
            "suppressed_records": 0,
            "utility_before": None,
            "utility_after": None,
            "examined": 0,
            "rule": None,
        }

    def _nearest(self, evaluators: Sequence[Evaluator], rule: Rule, rules: int, halted: Halted) -> Change:
        """The nearest change of all attributes, of quasi-identifiers alone where no others can help.

        Where there are too many of all, the better of what was found among them and among the latter.
        """
        table = self._context.table
        others = len(table.quasi_identifiers) < table.n_attributes
        # What a rule for single records suppresses wholly is in no class, whatever attribute was the last.
        can_help = not (
            isinstance(rule, TableRule) and all(evaluator.of_quasi_identifiers for evaluator in evaluators)
        )
        if not (others and table.quasi_identifiers):
            return self._among(None, evaluators, rule, rules, halted)
        if not can_help:
            return self._among(table.quasi_identifiers, evaluators, rule, rules, halted)
        first = self._among(None, evaluators, rule, (rules + 1) // 2, halted)
        if first.proven or not first.complete or rules == 1:
            return first
        return _better(first, self._among(table.quasi_identifiers, evaluators, rule, rules // 2, halted))

    def _among(
        self,
        attributes: Sequence[int] | None,
        evaluators: Sequence[Evaluator],
        rule: Rule,
        rules: int,
        halted: Halted,
    ) -> Change:
        numbers = [self._evaluators.index(evaluator) for evaluator in evaluators]
        # Searches are for one criterion, or for all that are asked.
        among = numbers[0] if len(numbers) == 1 else len(self._evaluators)
        return nearest_change(
            self._context.table,
            rule,
            self._context.base.utility,
            [
                _Remembered(self._requirement(evaluator, rule), self._answers, number, among)
                for evaluator, number in zip(evaluators, numbers, strict=True)
            ],
            attributes=attributes,
            suppression=self._suppression(evaluators),
            budget=Budget(rules),
            halted=halted,
        )

    def _requirement(self, evaluator: Evaluator, rule: Rule) -> ChangeRequirement:
        def passes(changed: Rule) -> bool | None:
            try:
                return evaluator.find(changed).passes
            except (InvalidInput, NotSupported):
                return None

        seconds = evaluator.cost.seconds
        if isinstance(evaluator, PrivacyModelEvaluator) and evaluator.is_plain:
            dictionary = None
            if evaluator.model.needs_population:
                dictionary = self._context.dictionary(evaluator.condition.dictionary)
            return privacy_requirement(
                self._context.table,
                rule,
                (evaluator.model,),
                evaluator.condition.failing_share,
                passes,
                dictionary,
                seconds,
                evaluator.condition.missing,
            )
        return OpaqueRequirement(passes, seconds, evaluator.is_monotone)

    def _suppression(self, evaluators: Sequence[Evaluator]) -> AllowedSuppression | None:
        """Classes that may be suppressed: those that fail the plain criteria of classes among the conditions.

        None where these treat missing values or suppressed records differently: no one rule suppresses for
        all.
        """
        asked, limit = _of_classes(evaluators), self._suppression_allowed
        readings = _readings(asked)
        if not limit or len(readings) != 1:
            return None
        (reading,) = readings
        return AllowedSuppression(
            ClassSuppression(tuple(evaluator.model for evaluator in asked), *reading), limit
        )

    @property
    def _suppression_allowed(self) -> int:
        """How many records a change may suppress."""
        share = self._context.subject.policy.suppression_limit or 0.0
        return math.floor(highest_accepted(share * self._context.table.n_records))

    def _definition(self, change: Change) -> JsonObject | None:
        """What a request for the changed rule says.

        None without a change, and where the rule itself has no name or definition that a request could say.
        """
        rule, written = self._context.rule, _written(self._context.subject)
        if rule is None or (written is None and not isinstance(rule, TableRule)):
            return None
        return definition_of_change(change, self._context.table, rule, written or {})


def _of_classes(evaluators: Sequence[Evaluator]) -> list[PrivacyModelEvaluator]:
    """The plain criteria of classes, of which some can be suppressed for them."""
    return [
        evaluator
        for evaluator in evaluators
        if isinstance(evaluator, PrivacyModelEvaluator)
        and evaluator.is_plain
        and not evaluator.model.needs_population
    ]


def _readings(evaluators: Sequence[PrivacyModelEvaluator]) -> set[tuple[Missing, Suppressed]]:
    """How they treat missing values and suppressed records."""
    return {(evaluator.condition.missing, evaluator.condition.suppressed) for evaluator in evaluators}


def _better(first: Change, second: Change) -> Change:
    """The change that keeps more of two that were found, not proven: neither search was of everything."""
    found = [own for own in (first, second) if own.utility_after is not None]
    best = max(found, key=lambda own: own.utility_after or 0.0, default=first)
    return replace(
        best,
        proven=False,
        examined=first.examined + second.examined,
        complete=first.complete and second.complete,
    )


def _written(subject: Subject) -> str | JsonObject | None:
    """How requests name or define the rule; None where they cannot."""
    if subject.rule is None or subject.rule.name is not None:
        return None if subject.rule is None else subject.rule.name
    rule = subject.rule.document
    if rule["kind"] == TABLE_LEVEL:
        suppression = {key: value for key, value in suppression_in_short(rule).items() if value}
        return {"kind": TABLE_LEVEL, "levels": rule["levels"], **suppression}
    definition: JsonObject | None = rule.get("definition")
    return definition


def definition_of_change(
    change: Change, table: Table, rule: Rule, written: str | JsonObject
) -> JsonObject | None:
    """The definition of the changed rule, as creating a rule takes it; None if no change was found.

    Parameters
    ----------
    rule
        The rule that was changed.
    written
        How it was named or defined; a definition must not be that of a rule which is generalised further.
    """
    if change.levels is None:
        return None
    suppression = {} if change.suppression is None else suppression_document(change.suppression)
    if not isinstance(rule, TableRule):
        return {"kind": AtLeastDefinition.kind, "rule": written, "levels": dict(change.levels), **suppression}
    levels = {
        name: max(level, change.levels.get(name, 0))
        for name, level in zip(table.attributes, rule.levels, strict=True)
    }
    shown = {name: level for name, level in levels.items() if level}
    return {"kind": TABLE_LEVEL, "levels": shown, **suppression}
