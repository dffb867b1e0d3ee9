"""A measure of stored resources: resolved, computed, and as the work of a run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from app.domain.analyses.catalogue import MEASURES
from app.domain.catalogue.catalogue_types import Need
from app.domain.counting.counter import MEMORY_CEILING
from app.domain.errors import Fault, InvalidInput, NotSupported, refuse
from app.domain.mechanisms.drawn_release import DrawnRelease
from app.domain.models.entry import Cost, Measure, MeasureContext, MeasurePlan
from app.domain.models.reading import as_read_by, unreadable
from app.domain.rules.rule import Rule
from app.domain.search.budget import Halted, never
from app.services.datasets.tables import TableLoader
from app.services.ports import Store
from app.services.releases.drawn_tables import read_drawn_release
from app.services.releases.mechanism_manifests import is_drawn
from app.services.resources import JsonObject, Kind, Stored, TenantId, document_of
from app.services.rules.rule_documents import require_rule_of, rule_of
from app.services.rules.rules import RuleInQuestion, rule_of_question, rule_stated_anew
from app.services.runs.run_execution import Conclusion, OneBlock, Tick, Work, no_tick
from app.services.scoring.measurement_documents import document_of_result, parameters_of, references_in
from app.services.scoring.scoring_inputs import Scoring, Sources, find_sources, load_scoring, refs_of
from app.services.scoring.scoring_options import ScoringOptions
from app.services.scoring.sensitivity_building import build_profile, read_overrides

_BY_NAME: Final = {measure.name: measure for measure in MEASURES}

_PARTS: Final[Mapping[Need, str]] = {
    "rule": "a rule",
    "dictionary": "a dictionary",
    "sensitivity": "a sensitivity profile",
}


def measure_of(name: str, version: int | None = None) -> Measure[Any, Any]:
    """The measure of this name, as it is in a version; NotSupported for one that is not computed any more."""
    measure = _BY_NAME.get(name)
    if measure is None:
        raise InvalidInput.of(
            "/measure/kind",
            "unknown-choice",
            "There is no such measure.",
            f"Choose one of {', '.join(sorted(_BY_NAME))}.",
        )
    if version is not None and version in measure.earlier:
        return replace(measure, version=version)
    if version not in (None, measure.version):
        raise NotSupported(
            f"The measure {name} was corrected since: version {version} is not computed any more.",
            "Ask again under another name.",
        )
    return measure


@dataclass(frozen=True)
class Question:
    """What was asked, resolved: a measure, its parameters with references by name, and what both rest on.

    ``referred`` is what the references lead to, by name; one name may be of resources of several kinds.
    ``release`` is the stored release that is measured, if it is one; ``rule`` is then the rule that made it.
    """

    measure: Measure[Any, Any]
    parameters: Any
    sources: Sources
    options: ScoringOptions
    rule: RuleInQuestion | None
    referred: Mapping[tuple[Kind, str], Stored]
    release: Stored | None = None


@dataclass(frozen=True, eq=False)
class Measurement:
    """A measure, ready to be computed.

    ``context`` has the dictionaries as their links stand, which is enough for an estimate; ``prepare`` makes
    the context to compute on, in which the consistency options have rewritten them.
    """

    measure: Measure[Any, Any]
    parameters: Any
    context: MeasureContext
    prepare: Callable[[], MeasureContext]
    preparing_seconds: float

    def refuse_unless_supported(self) -> None:
        """Raise InvalidInput if inputs are missing, NotSupported with the reason if there is one."""
        reason = unreadable(self.measure, self.context, self.parameters)
        if reason is not None:
            raise NotSupported.because(reason)
        context, needs = as_read_by(self.measure, self.context), self.measure.needs
        missing = [
            Fault(
                f"/{need}", "missing", f"The measure {self.measure.name} needs {_PARTS[need]}.", "Name one."
            )
            for need in sorted(needs & _PARTS.keys())
            if getattr(context, need) is None
        ]
        refuse(missing)
        reason = _unmet(context, needs) or self.measure.supports(context, self.parameters)
        if reason is not None:
            raise NotSupported.because(reason)

    @cached_property
    def cost(self) -> Cost:
        """The estimate; raises what :meth:`refuse_unless_supported` raises."""
        self.refuse_unless_supported()
        cost = self.measure.cost(as_read_by(self.measure, self.context), self.parameters)
        return replace(cost, seconds=cost.seconds + self.preparing_seconds)

    def result(self, tick: Tick = no_tick) -> JsonObject:
        """The result document."""
        self.refuse_unless_supported()
        found = self.measure.compute(as_read_by(self.measure, self.prepare()), self.parameters, tick)
        return document_of_result(self.measure, found)

    def work(self) -> Work:
        """The work of a run: in blocks, if the measure is cut in any."""
        cost, plan = self.cost, self.measure.plan
        if plan is None:
            return OneBlock(cost.units, cost.seconds, self.result)
        return _PlannedWork(
            self.measure, plan(as_read_by(self.measure, self.prepare()), self.parameters), cost
        )


class _PlannedWork:
    """The work of a measure that is cut in blocks."""

    time_limit = None

    def __init__(self, measure: Measure[Any, Any], plan: MeasurePlan[Any], cost: Cost) -> None:
        self._measure, self._plan = measure, plan
        self.n_blocks, self.units, self.seconds = plan.n_blocks, cost.units, cost.seconds

    def run_block(self, index: int, tick: Tick, halted: Halted = never) -> bytes:
        """What the measure finds in a block."""
        return self._plan.run_block(index, tick)

    def conclude(self, blocks: Mapping[int, bytes]) -> Conclusion:
        """The result."""
        return Conclusion(document_of_result(self._measure, self._plan.combine(blocks)))


def _unmet(context: MeasureContext, needs: frozenset[Need]) -> str | None:
    if "trees" in needs:
        others = [
            name
            for name, hierarchy in zip(context.table.attributes, context.table.hierarchies, strict=True)
            if not hierarchy.is_tree
        ]
        if others:
            return (
                f"The hierarchies of {', '.join(others)} are no trees: some values have several parents. "
                "Use a dataset whose hierarchies are trees."
            )
    comparable = context.dictionary is not None and context.dictionary.comparable_ids
    if "comparable_ids" in needs and not comparable:
        return (
            "The entities of the dictionary cannot be told to be those of the dataset. Declare an identifier "
            "in both, or use a dictionary made of the dataset itself."
        )
    return None


class MeasurementPreparation:
    """Loads what a measure rests on; a ``Prepare`` of run execution."""

    def __init__(
        self, store: Store, loader: TableLoader, memory_ceiling: int = MEMORY_CEILING, threads: int = 1
    ) -> None:
        self._store = store
        self._loader = loader
        self._memory_ceiling = memory_ceiling
        self._threads = threads

    async def __call__(self, tenant: TenantId, stored: Stored) -> Work:
        """The work of a stored measurement."""
        measurement = await self.measurement(tenant, await self._question_of(tenant, stored))
        return await asyncio.to_thread(measurement.work)

    async def measurement(self, tenant: TenantId, question: Question) -> Measurement:
        """The measure in its context; InvalidInput where what was named does not fit together."""
        sources = question.sources
        if sources.is_set:
            raise InvalidInput.of(
                "/dictionary",
                "dictionary-set",
                "A measure looks at one dictionary; this is a set of them.",
                "Name one of its dictionaries, or assess the rule against the set.",
            )
        scoring = await load_scoring(self._loader, tenant, sources, question.options)
        dataset = question.sources.dataset
        dictionaries = {
            name: await self._loader.dictionary(tenant, stored, dataset, "/measure")
            for (kind, name), stored in question.referred.items()
            if kind is Kind.DICTIONARY
        }
        rule = None
        if question.rule is not None:
            rule = await asyncio.to_thread(question.rule.on, scoring.table)
        context = MeasureContext(
            table=scoring.table,
            rule=rule,
            dictionary=scoring.linked[0] if scoring.linked else None,
            sensitivity=scoring.sensitivity,
            failure=scoring.failure,
            utility=scoring.utility,
            model=scoring.options.risk_model,
            absent_policy=scoring.options.absent_policy,
            dictionaries=dictionaries,
            rules={
                name: await asyncio.to_thread(
                    rule_of, require_rule_of(stored, question.sources.dataset), scoring.table
                )
                for (kind, name), stored in question.referred.items()
                if kind is Kind.RULE
            },
            others={
                name: await self._other(tenant, question, stored)
                for (kind, name), stored in question.referred.items()
                if kind is Kind.DATASET
            },
            memory_ceiling=self._memory_ceiling,
            drawn=await self._drawn(tenant, question),
            threads=self._threads,
        )
        linked = (*scoring.linked, *dictionaries.values())
        return Measurement(
            question.measure,
            question.parameters,
            context,
            lambda: _consistent(context, scoring),
            replace(scoring, linked=linked).preparing_seconds * (1 + len(context.others)),
        )

    async def _question_of(self, tenant: TenantId, stored: Stored) -> Question:
        document = document_of(stored)
        asked = document["measure"]
        measure = measure_of(asked["name"], asked["version"])
        parameters = parameters_of(measure, asked["parameters"])
        async with self._store.work(tenant) as work:
            sources = await find_sources(work, refs_of(stored))
            rule = await rule_of_question(work, stored, sources.dataset)
            referred = {
                (reference.kind, reference.ref): await work.resources.get(reference.kind, reference.ref)
                for reference in references_in(parameters)
            }
            release = None
            if "release" in document:
                release = await work.resources.get(Kind.RELEASE, document["release"])
        return Question(measure, parameters, sources, ScoringOptions.of(document), rule, referred, release)

    async def _drawn(self, tenant: TenantId, question: Question) -> DrawnRelease | None:
        """The release that a mechanism made, if it is one that is measured."""
        if question.release is None or not is_drawn(question.release):
            return None
        return await read_drawn_release(self._store, self._loader, tenant, question.release)

    async def _other(self, tenant: TenantId, question: Question, dataset: Stored) -> MeasureContext:
        """The same question about another dataset, with the profiles made anew for its records."""
        if not question.measure.repeats:
            question = replace(question, sources=Sources(dataset), options=ScoringOptions(), rule=None)
        sources = question.sources
        bare = replace(sources, dataset=dataset, sensitivity=None, failure=None)
        scoring = await load_scoring(self._loader, tenant, bare, question.options)

        async def harm(profile: Stored | None) -> Any:  # noqa: ANN401
            if profile is None:
                return None
            document = document_of(profile)
            async with self._store.work(tenant) as work:
                overrides = await read_overrides(work, document["overrides"], dataset)
            return await asyncio.to_thread(build_profile, scoring.table, document, overrides)

        return MeasureContext(
            table=scoring.table,
            rule=await self._stated_anew(tenant, question, dataset, scoring),
            dictionary=scoring.linked[0] if scoring.linked else None,
            sensitivity=await harm(sources.sensitivity),
            failure=await harm(sources.failure),
            utility=scoring.utility,
            model=scoring.options.risk_model,
            absent_policy=scoring.options.absent_policy,
            memory_ceiling=self._memory_ceiling,
        )

    async def _stated_anew(
        self, tenant: TenantId, question: Question, dataset: Stored, scoring: Scoring
    ) -> Rule | None:
        """The rule for the other dataset, if it is one of conditions or values."""
        if question.rule is None:
            return None
        return await rule_stated_anew(
            self._store, self._loader, tenant, question.rule.document, dataset, scoring.table
        )


def _consistent(context: MeasureContext, scoring: Scoring) -> MeasureContext:
    """The context with all dictionaries as the consistency options rewrite them."""
    return replace(
        context,
        dictionary=None if context.dictionary is None else scoring.consistent(context.dictionary),
        dictionaries={name: scoring.consistent(own) for name, own in context.dictionaries.items()},
        others={name: _consistent(other, scoring) for name, other in context.others.items()},
    )
