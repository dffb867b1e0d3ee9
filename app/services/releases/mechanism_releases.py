"""Use cases on releases that a mechanism makes: planned, drawn once, stored and read back."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.domain.catalogue.catalogue_types import Hypothesis
from app.domain.errors import (
    Conflict,
    DirectBudgetExceeded,
    Fault,
    InvalidInput,
    NotFound,
    NotSupported,
    Withdrawn,
)
from app.domain.mechanisms.expected_people import ExpectedPeople
from app.domain.mechanisms.guarantee import PrivacyGuarantee
from app.domain.tables.table import Table
from app.services.datasets.cell_values import require_to_name_values
from app.services.datasets.table_streams import stream
from app.services.datasets.tables import TableLoader
from app.services.ports import Store, UnitOfWork
from app.services.questions import DirectBudget, Route, faults_of
from app.services.releases.begun_draws import begun_draw, in_turn, refuse_another, refuse_other_name
from app.services.releases.drawing import Preparation, drawn_release
from app.services.releases.drawn_tables import read_drawn_release
from app.services.releases.draws import Draw
from app.services.releases.ledgers import ledger_of
from app.services.releases.mechanism_manifests import BY_NAME, DRAWN_ONCE
from app.services.releases.prepared_releases import chosen_in, prepare_release
from app.services.releases.requests import CreateRelease
from app.services.releases.shown_otherwise import Released, releases_of_upload, shown_otherwise
from app.services.releases.stored_tables import csv_chunks, parquet_chunks
from app.services.releases.withdrawal import require_given_out
from app.services.releases.within_budget import require_within_budget
from app.services.resources import (
    Actor,
    Created,
    DataFormat,
    DataStream,
    JsonObject,
    Kind,
    Scope,
    Stored,
    require,
)
from app.services.scoring.measurement_documents import references_in
from app.services.scoring.scoring_inputs import missing_inputs


@dataclass(frozen=True)
class ReleasePlan:
    """What a release would be, before anything is drawn; ``missing`` says what is in its way.

    ``route`` says whether it is drawn at once or by a run; where time and memory may not be told, by a run,
    which takes both. ``earlier`` are the draws that count with it, the oldest first; ``budget`` is how that
    of the table stands, of a differentially private release.
    """

    missing: tuple[Fault, ...]
    route: Route | None = None
    seconds: float | None = None
    bytes: int | None = None
    constants: JsonObject | None = None
    guarantees: tuple[PrivacyGuarantee, ...] = ()
    warnings: tuple[str, ...] = ()
    earlier: tuple[Draw, ...] = ()
    budget: JsonObject | None = None


@dataclass(frozen=True)
class ReleasePreview:
    """What a draw would be worth on average, by what its mechanism draws; None if something is in its way."""

    missing: tuple[Fault, ...]
    rows: float | None = None
    objective: float | None = None
    error_at_most: float | None = None
    best_frequent: float | None = None
    best: float | None = None
    drawn_people: ExpectedPeople | None = None


class MechanismReleases:
    """Plan releases, draw each of them once, and stream what was drawn."""

    def __init__(self, store: Store, loader: TableLoader, budget: DirectBudget) -> None:
        self._store = store
        self._loader = loader
        self._budget = budget

    async def plan(self, actor: Actor, request: CreateRelease) -> ReleasePlan:
        """What can be said without drawing; nothing is stored."""
        named = [("/dataset", Kind.DATASET, request.dataset)]
        if request.rule is not None:
            named.append(("/rule", Kind.RULE, request.rule))
        lists = references_in(chosen_in(request).parameters, "/mechanism")
        named += [(own.pointer, own.kind, own.ref) for own in lists]
        async with self._store.work(actor.tenant) as work:
            missing = await missing_inputs(work, named)
        if missing:
            return ReleasePlan(missing)
        try:
            prepared = await self._prepared(actor, request)
        except (InvalidInput, NotSupported, NotFound) as error:
            return ReleasePlan(faults_of(error))
        async with self._store.work(actor.tenant) as work:
            earlier = tuple(await work.draws.of_subject(prepared.subject, prepared.beside))
            others = await releases_of_upload(work, prepared.dataset)
            private = prepared.mechanism.hides_records
            budget = (await ledger_of(work, prepared.dataset, prepared.people)).in_short if private else None
        plan, missing = prepared.plan, prepared.plan.missing
        if not missing:
            missing = await self._in_the_way(actor, prepared, earlier)
        told = prepared.told_cost
        return ReleasePlan(
            missing,
            "direct" if told and self._budget.allows(prepared.cost) else "run",
            told.get("seconds"),
            told.get("bytes"),
            dict(plan.constants),
            tuple(
                _of_draws(_beside_others(own, others), prepared, earlier, actor) for own in plan.guarantees
            ),
            plan.warnings,
            earlier,
            budget,
        )

    async def preview(self, actor: Actor, request: CreateRelease) -> ReleasePreview:
        """What a draw would be worth on average; it is told and kept nowhere. Needs data:read."""
        require(actor, Scope.DATA_READ)
        value = BY_NAME[chosen_in(request).name].value
        if value is None:
            raise NotSupported(
                f"Nothing is computed of what {chosen_in(request).name} is worth on average.",
                "Ask for sampled_generalisation or dirichlet_multinomial; else plan the release.",
            )
        try:
            prepared = await self._prepared(actor, request)
        except (InvalidInput, NotSupported) as error:
            return ReleasePreview(faults_of(error))
        bars = prepared.mechanism.bars(prepared.context, prepared.chosen.parameters)
        if missing := (*prepared.plan.missing, *bars):
            return ReleasePreview(missing)
        # Generalisations are counted twice: the frequent ones, and all.
        if not self._budget.allows(replace(prepared.cost, seconds=2 * prepared.cost.seconds)):
            raise NotSupported(
                "The dataset has too many records and generalisations for a preview.",
                "Give a rule with more general levels, or disclose fewer columns.",
            )
        released = await self._released(actor, prepared)
        told = await asyncio.to_thread(value, prepared.context, prepared.chosen.parameters, released)
        if isinstance(told, ExpectedPeople):
            return ReleasePreview((), drawn_people=told)
        return ReleasePreview((), **vars(told))

    async def _released(self, actor: Actor, prepared: Preparation) -> Table | None:
        """What was drawn for the question and is given out; None if there is nothing."""
        async with self._store.work(actor.tenant) as work:
            draws = await work.draws.of_subject(prepared.subject, prepared.beside)
            same = [own for own in draws if own.release and own.question_sha256 in prepared.wordings]
            stored = [await work.resources.get(Kind.RELEASE, own.id) for own in same]
        for release in stored:
            with contextlib.suppress(Withdrawn):
                return (await read_drawn_release(self._store, self._loader, actor.tenant, release)).table
        return None

    async def create(self, actor: Actor, request: CreateRelease) -> Created:
        """Draw the release and store it, or answer the one that was drawn for the same question.

        A draw that was begun and not stored is gone on with: it draws the same bytes. DirectBudgetExceeded if
        the estimate is above the budget: it must be a run.
        """

        async def begun(prepared: Preparation) -> Draw | Stored:
            prepared.require_feasible()
            if not self._budget.allows(prepared.cost):
                raise DirectBudgetExceeded(prepared.told_cost)
            async with self._store.work(actor.tenant) as work:
                found = await begun_draw(work, prepared)
                await work.commit()
            return found

        prepared, found = await in_turn(lambda: self._prepared(actor, request), begun)
        if isinstance(found, Stored):
            return Created(found, False)
        try:
            return await self._stored(actor, prepared.wordings[found.question_sha256], found)
        except NotFound as error:
            if error.ref == found.id:  # its secret was destroyed with the dataset
                raise NotFound(Kind.DATASET.value, request.dataset) from None
            raise

    async def data(self, work: UnitOfWork, release: Stored, format: DataFormat) -> DataStream:
        """The stored table, as it was drawn; Withdrawn if it is given out no more."""
        await require_given_out(work, release)
        parquet = b"".join([piece async for piece in work.draws.read(release.id)])
        if format is DataFormat.PARQUET:
            return stream(parquet_chunks(parquet), format, release.name)
        neutralise = release.summary["neutralise_formulas"]
        return stream(csv_chunks(parquet, neutralise_formulas=neutralise), format, release.name)

    async def _prepared(self, actor: Actor, request: CreateRelease) -> Preparation:
        require_to_name_values(actor, chosen_in(request).parameters)
        return await prepare_release(self._store, self._loader, actor.tenant, request)

    async def _in_the_way(
        self, actor: Actor, prepared: Preparation, earlier: Sequence[Draw]
    ) -> tuple[Fault, ...]:
        """Why what can be drawn would not be."""
        same = [own for own in earlier if own.question_sha256 in prepared.wordings]
        going_on = [own for own in same if own.is_open]
        try:
            for own in same:
                refuse_other_name(prepared.request, own.release or prepared.request.name)
            if any(own.release is not None for own in same) or any(own.loss is not None for own in going_on):
                return ()
            if not going_on:
                refuse_another(prepared.request, earlier)
            async with self._store.work(actor.tenant) as work:
                await require_within_budget(work, prepared)
        except Conflict as error:
            return faults_of(error)
        return ()

    async def _stored(self, actor: Actor, prepared: Preparation, draw: Draw) -> Created:
        """The release with the bytes of the draw; whoever else has stored it meanwhile stored the same."""
        async with self._store.work(actor.tenant) as work:
            try:
                secret = await work.draws.secret(draw.id)
            except NotFound:
                found = await work.resources.get(Kind.RELEASE, draw.id)
                refuse_other_name(prepared.request, found.name)
                return Created(found, False)
        new, parquet = await asyncio.to_thread(drawn_release, prepared, secret)
        async with self._store.work(actor.tenant) as work:
            stored, created = await work.draws.store(draw.id, new, parquet)
            if created:
                details = {"sha256": stored.sha256, "mechanism": prepared.mechanism.name}
                await work.audit.record(actor.key_id, "release.create", stored.id, details)
            await work.commit()
        refuse_other_name(prepared.request, stored.name)
        return Created(stored, created)


def _beside_others(guarantee: PrivacyGuarantee, others: Sequence[Released]) -> PrivacyGuarantee:
    """What other releases of the same upload leave of it."""
    refuted = shown_otherwise(str(guarantee.parameters.get("attribute", "")), others)
    rests_on = {own.id for own in guarantee.hypotheses}
    return guarantee.given(refuted) if refuted is not None and refuted.id in rests_on else guarantee


def _of_draws(
    guarantee: PrivacyGuarantee, prepared: Preparation, earlier: Sequence[Draw], actor: Actor
) -> PrivacyGuarantee:
    """What earlier draws of the same people leave of it; how many these are only with data:read."""
    people = prepared.people
    before = sum(own.question_sha256 not in prepared.wordings for own in earlier)
    if people is None or not (before or people.unknown):
        return guarantee
    if not before:
        return guarantee.given(Hypothesis(DRAWN_ONCE, "assumed", people.unknown))
    which = ""
    if people.subjects:
        some = f"{people.people:,}" if Scope.DATA_READ in actor.scopes else "some"
        which = (
            f" Of other uploaded contents are draws with {some} of the same people, each of whom is in at "
            f"most {people.draws:,} of these."
        )
    return guarantee.given(
        Hypothesis(
            DRAWN_ONCE,
            "no",
            f"{before:,} draws that count with it were made before.{which} Who has several that a person is "
            f"in learns more of that person than any of them promises. {people.unknown}".rstrip(),
        )
    )
