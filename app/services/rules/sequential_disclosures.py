"""Use cases on sequential disclosures: records released batch by batch, with the risk of all so far.

A disclosure is a chain of immutable steps, each holding the exact sums up to it. Two clients who append at
the same time make two steps: the later one is taken again on top of the other.
"""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass, field
from typing import ClassVar, Final

import numpy as np

from app.domain.errors import Conflict, InvalidInput
from app.domain.risk.streaming import RunningRisk
from app.domain.rules.steps import labels_shown
from app.domain.tables.table import Table
from app.services.datasets.dataset_schema import declarations_of
from app.services.datasets.tables import TableResources
from app.services.fingerprints import plain, resource_sha256
from app.services.named import record_deletion
from app.services.ports import UnitOfWork
from app.services.resources import (
    Actor,
    Created,
    JsonObject,
    Kind,
    NewResource,
    Scope,
    Stored,
    document_of,
    require,
)
from app.services.rules.disclosure_batches import (
    MOST_RECORDS,
    BatchRule,
    ModalLevels,
    NewRecord,
    OptimalLevels,
    ScoredBatch,
    floor_key,
    score_batch,
    table_of_records,
    tally_of,
)
from app.services.scoring.scoring_inputs import (
    Scoring,
    SourceRefs,
    find_sources,
    load_scoring,
    refs_of,
)
from app.services.scoring.scoring_options import ScoringOptions

_ATTEMPTS: Final = 20
_NEWEST: Final = 20


@dataclass(frozen=True)
class CreateSequentialDisclosure:
    """What every batch will be judged by. The dataset gives attributes, hierarchies and weights."""

    name: str
    dataset: str
    dictionary: str
    sensitivity: str
    failure: str | None = None
    options: ScoringOptions = field(default_factory=ScoringOptions)


@dataclass(frozen=True)
class AppendRecords:
    """A batch of records, and how its levels are chosen."""

    records: tuple[NewRecord, ...]
    rule: BatchRule


@dataclass(frozen=True)
class DisclosureView:
    """A disclosure with its running figures."""

    resource: Stored
    running: JsonObject


@dataclass(frozen=True)
class AppendedBatch:
    """The records of a batch as they were judged, and the running figures after it."""

    step: int
    records: tuple[JsonObject, ...]
    running: JsonObject


class SequentialDisclosureService(TableResources):
    """Create, append, read and delete sequential disclosures."""

    kind: ClassVar[Kind] = Kind.SEQUENTIAL_DISCLOSURE
    write_scope: ClassVar[Scope] = Scope.ASSESS

    async def create(self, actor: Actor, request: CreateSequentialDisclosure) -> Created:
        """Check that the sources fit each other, and store."""
        self._admit(actor, request.name)
        refs = SourceRefs(request.dataset, request.dictionary, request.sensitivity, request.failure)
        async with self._store.work(actor.tenant) as work:
            sources = await find_sources(work, refs)
        if sources.is_set:
            raise InvalidInput.of(
                "/dictionary",
                "one-dictionary",
                "A sequential disclosure is judged against one dictionary, not a set.",
                "Create one disclosure per dictionary.",
            )
        scoring = await load_scoring(self._loader, actor.tenant, sources, request.options)
        if scoring.options.risk_model.name == "III_raw":
            raise InvalidInput.of(
                "/risk_model",
                "never-positive",
                "The risk model III_raw is never positive and for evaluation of whole tables only.",
                "Choose I, II, III or a formula.",
            )
        for role, harm in (("sensitivity", scoring.sensitivity), ("failure", scoring.failure)):
            if harm is not None and harm.is_personal:
                raise InvalidInput.of(
                    f"/{role}",
                    "weights-of-entities",
                    "The profile has weights for the dataset's own records or groups.",
                    "Name a profile with the same weights for everybody.",
                )
        options = request.options.document()
        new = NewResource(
            self.kind,
            request.name,
            resource_sha256(self.kind, options, sources.hashes),
            {**sources.names, **request.options.shown()},
            {"sources": sources.refs, "options": options},
            sources.ids,
        )
        return await self._add(actor, new)

    async def view(self, actor: Actor, ref: str) -> DisclosureView:
        """The disclosure with its running figures."""
        async with self._store.work(actor.tenant) as work:
            stored = await work.resources.get(self.kind, ref)
            latest = await _latest(work, stored)
        return DisclosureView(stored, _running(RunningRisk(), 0) if latest is None else latest.summary)

    async def append(self, actor: Actor, ref: str, request: AppendRecords) -> AppendedBatch:
        """Judge a batch and add it; none of its values is stored."""
        require(actor, Scope.ASSESS)
        if not 1 <= len(request.records) <= MOST_RECORDS:
            raise InvalidInput.of(
                "/records",
                "wrong-number",
                f"A batch has 1 to {MOST_RECORDS} records, not {len(request.records)}.",
                "Append larger numbers in several batches.",
            )
        async with self._store.work(actor.tenant) as work:
            stored = await work.resources.get(self.kind, ref)
            sources = await find_sources(work, refs_of(stored))
        options = ScoringOptions.of(document_of(stored)["options"])
        scoring = await load_scoring(self._loader, actor.tenant, sources, options)
        renamed = {d.name: d.map for d in declarations_of(sources.dataset)}
        batch = await asyncio.to_thread(table_of_records, request.records, scoring.table, renamed)
        for _ in range(_ATTEMPTS):
            async with self._store.work(actor.tenant) as work:
                latest = await _latest(work, stored)
            before = _State.of(latest)
            scored = await asyncio.to_thread(
                score_batch, scoring, batch, request.rule, before.chosen_at(request.rule)
            )
            after = before.appended(request, scored)
            try:
                async with self._store.work(actor.tenant) as work:
                    await work.resources.add(after.step_of(stored))
                    await work.audit.record(
                        actor.key_id, f"{self.kind.value}.append", stored.id, {"step": after.step}
                    )
                    await work.commit()
            except Conflict:
                continue
            return AppendedBatch(
                after.step, _records(request, scored, scoring), _running(after.running, after.step)
            )
        raise Conflict(
            "Other batches were appended all the time.", "Append this one again; nothing of it was kept."
        )

    async def delete(self, actor: Actor, ref: str) -> None:
        """Delete the disclosure with all its steps."""
        require(actor, self.write_scope)
        async with self._store.work(actor.tenant) as work:
            stored = await work.resources.get(self.kind, ref)
            while page := (
                await work.resources.list(Kind.DISCLOSURE_STEP, name=stored.id, limit=200, cursor=None)
            ).items:
                for step in page:
                    await work.resources.delete(Kind.DISCLOSURE_STEP, step.id)
            await work.resources.delete(self.kind, stored.id)
            await record_deletion(work, actor, stored)
            await work.commit()


@dataclass(frozen=True)
class _State:
    """What a step holds: its number, the exact sums, and the optimal levels so far by utility floor."""

    step: int
    running: RunningRisk
    chosen: dict[str, dict[str, int]]

    @classmethod
    def of(cls, latest: Stored | None) -> _State:
        if latest is None:
            return cls(0, RunningRisk(), {})
        document = document_of(latest)
        return cls(document["step"], RunningRisk.from_document(document["running"]), document["chosen"])

    def chosen_at(self, rule: BatchRule) -> dict[str, int]:
        """The levels that were optimal so far at the rule's floor."""
        if isinstance(rule, ModalLevels):
            return self.chosen.get(floor_key(rule.utility_floor), {})
        return {}

    def appended(self, request: AppendRecords, scored: ScoredBatch) -> _State:
        records = scored.score.records
        weights = np.array([record.weight for record in request.records])
        chosen = self.chosen
        if isinstance(request.rule, OptimalLevels):
            key = floor_key(request.rule.utility_floor)
            tally = dict(chosen.get(key, {}))
            for levels, n in tally_of(scored.levels).items():
                tally[levels] = tally.get(levels, 0) + n
            chosen = {**chosen, key: tally}
        return _State(self.step + 1, self.running.appended(records.loss, records.utility, weights), chosen)

    def step_of(self, disclosure: Stored) -> NewResource:
        """The step as a resource. Its name says its place, so that no two can have the same.

        A token makes equal batches different steps.
        """
        document = {
            "step": self.step,
            "running": self.running.to_document(),
            "chosen": self.chosen,
            "token": secrets.token_hex(16),
        }
        return NewResource(
            Kind.DISCLOSURE_STEP,
            f"{disclosure.id}.{self.step:010d}",
            resource_sha256(Kind.DISCLOSURE_STEP, document, {"disclosure": disclosure.sha256}),
            _running(self.running, self.step),
            document,
            (disclosure.id,),
        )


async def _latest(work: UnitOfWork, disclosure: Stored) -> Stored | None:
    """The last step: by number, since the clocks of two servers may differ."""
    page = await work.resources.list(Kind.DISCLOSURE_STEP, name=disclosure.id, limit=_NEWEST, cursor=None)
    if not page.items:
        return None
    newest = max(page.items, key=lambda step: step.name)
    return await work.resources.get(Kind.DISCLOSURE_STEP, newest.id)


def _running(running: RunningRisk, step: int) -> JsonObject:
    """The figures that are shown; they are of no single record."""
    figures: JsonObject = plain(
        {
            "step": step,
            "records": running.records,
            "risk_average": running.risk_average,
            "risk_max": running.greatest if running.weight else None,
            "infinite": running.infinite,
            "utility_average": running.utility_average,
            "utility_min": running.least_utility if running.weight else None,
        }
    )
    return figures


def _records(request: AppendRecords, scored: ScoredBatch, scoring: Scoring) -> tuple[JsonObject, ...]:
    found = scored.score.records
    table = scoring.table
    shown = [labels_shown(tree, scored.disclosed[:, j]) for j, tree in enumerate(table.hierarchies)]
    rows = zip(
        request.records,
        scored.levels.tolist(),
        scored.steps.tolist(),
        zip(*shown, strict=True),
        found.counts.tolist(),
        found.probability.tolist(),
        found.phi.tolist(),
        found.loss.tolist(),
        found.utility.tolist(),
        strict=True,
    )
    return tuple(
        plain(
            {
                "entity": record.entity,
                "levels": _by_attribute(table, levels),
                "steps": _by_attribute(table, steps),
                "disclosed": dict(zip(table.attributes, disclosed, strict=True)),
                "count": count,
                "probability": probability,
                "phi": phi,
                "loss": loss,
                "utility": utility,
            }
        )
        for record, levels, steps, disclosed, count, probability, phi, loss, utility in rows
    )


def _by_attribute(table: Table, numbers: list[int]) -> dict[str, int | None]:
    """Levels or steps of one record; None where there is no number."""
    return {
        name: None if number < 0 else number for name, number in zip(table.attributes, numbers, strict=True)
    }
