"""Use cases on assessments: the score of one rule against what the attacker has."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar

from annotated_types import doc

from app.domain.catalogue.catalogue_types import Example
from app.domain.errors import InvalidInput
from app.services.datasets.table_streams import stream_columns
from app.services.datasets.tables import TableLoader
from app.services.direct_questions import DirectService
from app.services.fingerprints import new_resource
from app.services.ports import Store
from app.services.questions import DirectBudget, Route, require_result
from app.services.resources import (
    Actor,
    DataFormat,
    DataStream,
    JsonObject,
    Kind,
    NewResource,
    Scope,
    require,
)
from app.services.rules.rule_definitions import RuleDefinition
from app.services.rules.rules import find_rule, rule_kept
from app.services.scoring.assessment_work import AssessmentPreparation, AssessmentQuestion, RuleScore
from app.services.scoring.scoring_inputs import SourceRefs, find_sources
from app.services.scoring.scoring_options import ScoringOptions


@dataclass(frozen=True)
class Bounds:
    """The question whether the risk is an upper bound of what the attacker's true dictionary means."""

    true_dictionary: Annotated[str | None, Example("census")] = None
    """What the attacker is believed to have. Without one, what concerns it is assumed."""


@dataclass(frozen=True)
class CreateAssessment:
    """A rule to be scored."""

    dataset: Annotated[str, doc("Dataset that is disclosed."), Example("members")]
    rule: str | RuleDefinition
    """A rule's id or name, or a rule."""
    dictionary: Annotated[str, Example("census")]
    """What the attacker has: a dictionary or a dictionary set."""
    sensitivity: Annotated[str, doc("What harm disclosure does."), Example("members-harm")]
    name: str | None = None
    """Its name; without one it is made of the content's hash."""
    failure: str | None = None
    options: ScoringOptions = field(default_factory=ScoringOptions)
    bounds: Bounds | None = None
    """Whether the risk is an upper bound of the true one, with reasons."""

    @property
    def refs(self) -> SourceRefs:
        """What the score rests on, but for the rule."""
        true_dictionary = None if self.bounds is None else self.bounds.true_dictionary
        return SourceRefs(self.dataset, self.dictionary, self.sensitivity, self.failure, true_dictionary)

    @property
    def named(self) -> Sequence[tuple[str, Kind, str]]:
        """The rule, if it is a stored one."""
        return [("/rule", Kind.RULE, self.rule)] if isinstance(self.rule, str) else []


class AssessmentService(DirectService[CreateAssessment, AssessmentQuestion, RuleScore]):
    """Score rules, directly where that is small and by a run where it is not."""

    kind: ClassVar[Kind] = Kind.ASSESSMENT

    def __init__(self, store: Store, loader: TableLoader, budget: DirectBudget) -> None:
        super().__init__(store, loader, budget)
        self._preparation = AssessmentPreparation(store, loader, budget.bytes)

    async def records(self, actor: Actor, ref: str, format: DataFormat) -> DataStream:
        """Counts, probability, harms, loss and utility of every record; needs data:read.

        The numbers are computed anew: only their summary is kept. Conflict while a run is at work on that.
        """
        require(actor, Scope.DATA_READ)
        answer = await self.view(actor, ref)
        stored = answer.resource
        require_result(stored, answer.result)
        question = await self._preparation.question(actor.tenant, stored)
        score = await self._preparation.score(actor.tenant, question)
        columns = await asyncio.to_thread(score.record_columns, stored.summary.get("dictionaries", ()))
        return stream_columns(columns, format, f"{stored.name}-records")

    async def _resolve(
        self, store: Store, actor: Actor, request: CreateAssessment, route: Route
    ) -> tuple[AssessmentQuestion, NewResource]:
        async with store.work(actor.tenant) as work:
            sources = await find_sources(work, request.refs)
        if request.bounds is not None and sources.is_set:
            raise InvalidInput.of(
                "/bounds",
                "bound-of-a-set",
                "Whether a risk is an upper bound is asked of one dictionary; this is a set.",
                "Name the dictionary whose risk is to be the bound.",
            )
        options = replace(request.options, attacker_view=sources.view(request.options.attacker_view))
        rule = await find_rule(store, self._loader, actor, request.rule, sources.dataset)
        question = AssessmentQuestion(sources, rule, options, request.bounds is not None)
        return question, _resource(request, question)

    async def _prepare(self, actor: Actor, question: AssessmentQuestion) -> RuleScore:
        return await self._preparation.score(actor.tenant, question)

    def _estimate(self, prepared: RuleScore) -> JsonObject:
        return {**super()._estimate(prepared), "units": prepared.units}


def _resource(request: CreateAssessment, question: AssessmentQuestion) -> NewResource:
    sources, rule = question.sources, question.rule
    meaning = question.options.document()
    if question.bounds:
        meaning["bounds"] = True
    true = sources.true_dictionary
    return new_resource(
        Kind.ASSESSMENT,
        request.name,
        meaning,
        {**sources.hashes, "rule": rule.sha256},
        {
            **sources.shown(),
            "rule": rule.in_short,
            **question.options.shown(),
            "bounds": request.bounds and {"true_dictionary": None if true is None else true.name},
        },
        {"sources": sources.refs, **rule_kept(rule)},
        (*sources.ids, *rule.uses),
    )
