"""The score of one rule: computed, written down, and as the work of a run."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from app.domain.counting.counter import MEMORY_CEILING, Cost, Counter
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.risk.assessment import Assessment, assess, estimate_cost
from app.domain.risk.attackers import SetAssessment, assess_set
from app.domain.risk.dictionary_order import BoundAnswer, bound_hypotheses
from app.domain.rules.rule import Rule, TableRule, apply
from app.domain.rules.steps import steps_between
from app.domain.sensitivity.sensitivity import Sensitivity
from app.services.datasets.table_streams import Columns
from app.services.datasets.tables import TableLoader
from app.services.ports import Store
from app.services.resources import JsonObject, Stored, TenantId, document_of
from app.services.rules.rules import RuleInQuestion, rule_of_question
from app.services.runs.run_execution import OneBlock, Tick, no_tick
from app.services.scoring.assessment_results import AssessmentResult, BoundResult, result_of
from app.services.scoring.scoring_inputs import Scoring, Sources, find_sources, load_scoring, refs_of
from app.services.scoring.scoring_options import ScoringOptions

SECONDS_PER_COMPARED_ENTITY: Final = 2e-6
"""Finding an entity of one dictionary in another and comparing the rows, measured generously."""


class RuleScore:
    """One rule to be scored; ``bounds`` asks whether its risk is an upper bound, too.

    ``counters`` are those that other scores of the same table have made, by dictionary.
    """

    def __init__(
        self,
        scoring: Scoring,
        rule: Rule,
        memory_ceiling: int,
        *,
        bounds: bool = False,
        counters: dict[Dictionary, Counter] | None = None,
    ) -> None:
        if scoring.sensitivity is None or not scoring.linked:
            raise ValueError("a score needs what the attacker has and the harm of a disclosure")
        self._scoring = scoring
        self._sensitivity: Sensitivity = scoring.sensitivity
        self._rule = rule
        self._memory_ceiling = memory_ceiling
        self._bounds = bounds
        self._counters: dict[Dictionary, Counter] = {} if counters is None else counters

    @property
    def units(self) -> int:
        """Distinct records as they are, per dictionary: what there is to count for."""
        return self._scoring.table.reduced.size * len(self._scoring.linked)

    @property
    def entity_ids(self) -> npt.NDArray[Any] | None:
        """Identifiers of the records, if the dataset has any."""
        return self._scoring.table.entity_ids

    @cached_property
    def cost(self) -> Cost:
        """The cost, computing no score; InvalidInput if the policy needs identifiers that there are not."""
        costs = [self._cost(dictionary) for dictionary in self._scoring.linked]
        seconds = self._scoring.preparing_seconds + sum(cost.seconds for cost in costs)
        if self._bounds:
            entities = self._scoring.table.n_records + self._scoring.linked[0].n_entities
            seconds += SECONDS_PER_COMPARED_ENTITY * entities
        return Cost(seconds, max(cost.bytes for cost in costs), costs[0].engine)

    def _cost(self, dictionary: Dictionary) -> Cost:
        # Linked as it stands: to apply similarity may be most of the work, and changes the counting little.
        counter = self._counter(dictionary)
        if self._scoring.options.absent_policy == "add_self":
            _ = counter.own_rows
        return estimate_cost(counter, self._rule, self._sensitivity)

    def _counter(self, dictionary: Dictionary) -> Counter:
        """The counter of a dictionary that the scoring holds; the estimate's serves the score, too."""
        if dictionary not in self._counters:
            known = self._scoring.matchings.get(dictionary)
            self._counters[dictionary] = Counter(self._scoring.table, dictionary, self._memory_ceiling, known)
        return self._counters[dictionary]

    @cached_property
    def found(self) -> Assessment | SetAssessment:
        """The score."""
        scoring, options = self._scoring, self._scoring.options
        dictionaries = scoring.dictionaries
        if dictionaries is not None:
            return assess_set(
                scoring.table,
                self._rule,
                dictionaries,
                self._sensitivity,
                scoring.utility,
                options.absent_policy,
                failure=scoring.failure,
                model=options.risk_model,
            )
        (dictionary,) = scoring.members
        return assess(
            scoring.table,
            self._rule,
            dictionary,
            self._sensitivity,
            scoring.utility,
            options.absent_policy,
            failure=scoring.failure,
            model=options.risk_model,
            counter=self._counter(dictionary),
        )

    @cached_property
    def document(self) -> JsonObject:
        """The score as a document, without the question of bounds."""
        return self._answered.document

    @property
    def _answered(self) -> AssessmentResult:
        return result_of(self.found, self._scoring.options, self._scoring.utility)

    @property
    def view_loss(self) -> npt.NDArray[np.float64]:
        """(n,) risk of every record in the attacker's view."""
        found = self.found
        if isinstance(found, SetAssessment):
            return found.view(self._scoring.options.attacker_view or "worst_case").loss
        return found.records.loss

    def result(self, tick: Tick = no_tick) -> JsonObject:
        """The result document."""
        answered = self._answered
        if self._bounds:
            answered = replace(answered, bound=BoundResult.of(self.bound()))
        tick(self.units)
        return answered.document

    def bound(self) -> BoundAnswer:
        """Whether the risk is an upper bound of that under the true dictionary, with the reasons."""
        scoring = self._scoring
        true, modes = scoring.true_dictionary, scoring.options.consistency
        return bound_hypotheses(
            scoring.table,
            self._rule,
            scoring.members[0],
            None if true is None else scoring.consistent(true),
            self._sensitivity,
            scoring.failure,
            scoring.options.risk_model,
            [
                name
                for name in scoring.table.attributes
                if modes.attributes.get(name, modes.default).mode == "subsumed"
            ],
        )

    def record_columns(self, dictionary_names: Sequence[str]) -> Columns:
        """The numbers of every record (n,): counts and probability of each dictionary of a set.

        Of a rule that is not of one level per attribute also what it discloses of each attribute, and the
        steps up to that where the hierarchy is a tree.
        """
        found = self.found
        columns: Columns = {"row": np.arange(1, self._scoring.table.n_records + 1)}
        if self.entity_ids is not None:
            columns["entity"] = self.entity_ids
        one = found if isinstance(found, Assessment) else found.assessments[0]
        records = one.records
        if isinstance(found, SetAssessment):
            for name, part in zip(dictionary_names, found.assessments, strict=True):
                columns[f"count_{name}"] = part.records.counts
        else:
            columns |= {"count": records.counts, "probability": records.probability}
        columns["phi"] = records.phi
        if records.psi is not None:
            columns["psi"] = records.psi
        return columns | {"loss": self.view_loss, "utility": records.utility} | self._disclosed_columns()

    def _disclosed_columns(self) -> Columns:
        table = self._scoring.table
        if isinstance(self._rule, TableRule):
            return {}
        disclosed = apply(self._rule, table)
        columns: Columns = {}
        for j, (name, hierarchy) in enumerate(zip(table.attributes, table.hierarchies, strict=True)):
            labels = np.array([None, *hierarchy.labels[1:]], dtype=object)
            columns[f"disclosed_{name}"] = labels[disclosed[:, j]]
            if hierarchy.is_tree:
                columns[f"steps_{name}"] = steps_between(hierarchy, table.codes[:, j], disclosed[:, j])
        return columns


@dataclass(frozen=True)
class AssessmentQuestion:
    """What was asked, resolved: a rule, what its score rests on, and whether the risk is an upper bound."""

    sources: Sources
    rule: RuleInQuestion
    options: ScoringOptions
    bounds: bool


class AssessmentPreparation:
    """Makes the score that a stored assessment asks for, and its work; a ``Prepare`` of run execution."""

    def __init__(self, store: Store, loader: TableLoader, memory_ceiling: int = MEMORY_CEILING) -> None:
        self._store = store
        self._loader = loader
        self._memory_ceiling = memory_ceiling

    async def __call__(self, tenant: TenantId, assessment: Stored) -> OneBlock:
        """Load what the assessment rests on."""
        score = await self.score(tenant, await self.question(tenant, assessment))
        return OneBlock(score.units, score.cost.seconds, score.result)

    async def question(self, tenant: TenantId, assessment: Stored) -> AssessmentQuestion:
        """What a stored assessment asks."""
        document = document_of(assessment)
        async with self._store.work(tenant) as work:
            sources = await find_sources(work, refs_of(assessment))
            rule = await rule_of_question(work, assessment, sources.dataset)
        if rule is None:
            raise ValueError("an assessment is of a rule")
        return AssessmentQuestion(sources, rule, ScoringOptions.of(document), document.get("bounds", False))

    async def score(self, tenant: TenantId, question: AssessmentQuestion) -> RuleScore:
        """The score, ready to be computed."""
        scoring = await load_scoring(self._loader, tenant, question.sources, question.options)
        rule = question.rule.made
        if rule is None:
            rule = await asyncio.to_thread(question.rule.on, scoring.table)
        return RuleScore(scoring, rule, self._memory_ceiling, bounds=question.bounds)
