"""Use cases on releases that a mechanism makes: planned, drawn once, stored and read back."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from app.domain.errors import (
    Conflict,
    Fault,
    InvalidInput,
    NotFound,
    NotSupported,
    TooLarge,
    Withdrawn,
    refuse,
)
from app.domain.mechanisms.catalogue import AnyMechanism
from app.domain.mechanisms.guarantee import PrivacyGuarantee
from app.domain.mechanisms.mechanism import MechanismContext, MechanismPlan
from app.services.datasets.cell_values import require_to_name_values
from app.services.datasets.table_streams import stream
from app.services.datasets.tables import TableLoader
from app.services.ports import Store, UnitOfWork
from app.services.questions import MIB, DirectBudget, faults_of
from app.services.releases.drawing import Preparation, drawn_release
from app.services.releases.draws import Draw
from app.services.releases.mechanism_manifests import BY_NAME
from app.services.releases.requests import ChosenMechanism, CreateRelease
from app.services.releases.shown_otherwise import Released, releases_of_upload, shown_otherwise
from app.services.releases.stored_tables import csv_chunks, parquet_chunks
from app.services.resources import (
    Actor,
    Created,
    DataFormat,
    DataStream,
    JsonObject,
    Kind,
    Stored,
    document_of,
)
from app.services.rules.rule_documents import require_rule_of, rule_of
from app.services.scoring.scoring_inputs import missing_inputs

_MOST_NAMED: Final = 10


@dataclass(frozen=True)
class ReleasePlan:
    """What a release would be, before anything is drawn; ``missing`` says what is in its way.

    ``earlier`` are the draws of the same data and attribute, the oldest first.
    """

    missing: tuple[Fault, ...]
    seconds: float | None = None
    bytes: int | None = None
    constants: JsonObject | None = None
    guarantees: tuple[PrivacyGuarantee, ...] = ()
    warnings: tuple[str, ...] = ()
    earlier: tuple[Draw, ...] = ()


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
        async with self._store.work(actor.tenant) as work:
            missing = await missing_inputs(work, named)
        if missing:
            return ReleasePlan(missing)
        try:
            prepared = await self._prepared(actor, request)
        except (InvalidInput, NotSupported) as error:
            return ReleasePlan(faults_of(error))
        async with self._store.work(actor.tenant) as work:
            earlier = tuple(await work.draws.of_subject(prepared.subject))
            others = await releases_of_upload(work, prepared.dataset)
        plan, missing = prepared.plan, prepared.plan.missing
        if not missing:
            missing = self._in_the_way(prepared, earlier)
        return ReleasePlan(
            missing,
            plan.seconds,
            plan.bytes,
            dict(plan.constants),
            tuple(_beside_others(own, others) for own in plan.guarantees),
            plan.warnings,
            earlier,
        )

    async def create(self, actor: Actor, request: CreateRelease) -> Created:
        """Draw the release and store it, or answer the one that was drawn for the same question.

        A draw that was begun and not stored is gone on with: it draws the same bytes.
        """
        prepared = await self._prepared(actor, request)
        refuse(prepared.plan.missing)
        self._require_small(prepared.plan)
        found = await self._begun(actor, prepared)
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
        state = (await work.draws.states([release.id]))[release.id]
        if state.withdrawn_at is not None:
            raise Withdrawn(release.name, state.withdrawn_at)
        parquet = b"".join([piece async for piece in work.draws.read(release.id)])
        if format is DataFormat.PARQUET:
            return stream(parquet_chunks(parquet), format, release.name)
        neutralise = release.summary["neutralise_formulas"]
        return stream(csv_chunks(parquet, neutralise_formulas=neutralise), format, release.name)

    async def _prepared(self, actor: Actor, request: CreateRelease) -> Preparation:
        """All that the release rests on, and its plan; NotSupported where the mechanism does not fit."""
        chosen = chosen_in(request)
        require_to_name_values(actor, chosen.parameters)
        async with self._store.work(actor.tenant) as work:
            dataset = await work.resources.get(Kind.DATASET, request.dataset)
            rule = None if request.rule is None else await work.resources.get(Kind.RULE, request.rule)
            upload = await work.resources.described(Kind.UPLOAD, document_of(dataset)["upload"]["id"])
        document = None if rule is None else require_rule_of(rule, dataset)
        table = await self._loader.table(actor.tenant, dataset)
        mechanism = BY_NAME[chosen.name]

        def planned() -> Preparation:
            context = MechanismContext(table, None if document is None else rule_of(document, table))
            _require_supported(mechanism, context, chosen.parameters)
            plan = mechanism.plan(context, chosen.parameters)
            content = upload.summary["content_sha256"]
            return Preparation(request, chosen, mechanism, context, plan, dataset, rule, content)

        return await asyncio.to_thread(planned)

    async def _begun(self, actor: Actor, prepared: Preparation) -> Draw | Stored:
        """A draw that is counted and sealed, or the release that was drawn for the same question.

        Conflict if the name is taken, or something else was drawn of the same data.
        """
        async with self._store.work(actor.tenant) as work:
            earlier = await work.draws.of_subject(prepared.subject, hold=True)
            same = [own for own in earlier if own.question_sha256 in prepared.wordings]
            for own in same:
                if own.release is not None:
                    return await work.resources.get(Kind.RELEASE, own.id)
            await _require_free(work, prepared.request.name)
            for own in same:
                if not own.is_stored:
                    return own
            refuse_another(prepared.request, earlier)
            draw = await work.draws.begin(prepared.subject, prepared.question, prepared.dataset.id)
            await work.commit()
        return draw

    async def _stored(self, actor: Actor, prepared: Preparation, draw: Draw) -> Created:
        """The release with the bytes of the draw; whoever else has stored it meanwhile stored the same."""
        async with self._store.work(actor.tenant) as work:
            try:
                secret = await work.draws.secret(draw.id)
            except NotFound:
                return Created(await work.resources.get(Kind.RELEASE, draw.id), False)
        new, parquet = await asyncio.to_thread(drawn_release, prepared, secret)
        async with self._store.work(actor.tenant) as work:
            stored, created = await work.draws.store(draw.id, new, parquet)
            if created:
                details = {"sha256": stored.sha256, "mechanism": prepared.mechanism.name}
                await work.audit.record(actor.key_id, "release.create", stored.id, details)
            await work.commit()
        return Created(stored, created)

    def _in_the_way(self, prepared: Preparation, earlier: Sequence[Draw]) -> tuple[Fault, ...]:
        """Why what can be drawn would not be."""
        try:
            self._require_small(prepared.plan)
            if all(own.question_sha256 not in prepared.wordings for own in earlier):
                refuse_another(prepared.request, earlier)
        except (Conflict, TooLarge) as error:
            return faults_of(error)
        return ()

    def _require_small(self, plan: MechanismPlan) -> None:
        """Refuse a draw that would take longer, or more memory, than a direct answer may."""
        budget = self._budget
        if not budget.allows(plan):
            raise TooLarge(
                f"The draw is estimated to take {plan.seconds:.2g} s and {-(-plan.bytes // MIB):,} MiB; it "
                f"may take {budget.seconds:g} s and {budget.bytes // MIB:,} MiB.",
                "Release fewer records, or have the operator raise PRIVACY_RISK_DIRECT_SECONDS or "
                "PRIVACY_RISK_DIRECT_MIB.",
            )


def _beside_others(guarantee: PrivacyGuarantee, others: Sequence[Released]) -> PrivacyGuarantee:
    """What other releases of the same upload leave of it."""
    refuted = shown_otherwise(str(guarantee.parameters.get("attribute", "")), others)
    rests_on = {own.id for own in guarantee.hypotheses}
    return guarantee.given(refuted) if refuted is not None and refuted.id in rests_on else guarantee


def chosen_in(request: CreateRelease) -> ChosenMechanism:
    """The mechanism of a request that has one."""
    if request.mechanism is None:
        raise ValueError("the request names no mechanism")
    return request.mechanism


def _require_supported(mechanism: AnyMechanism, context: MechanismContext, parameters: Any) -> None:  # noqa: ANN401
    if context.rule is not None and not mechanism.takes_rule:
        raise InvalidInput.of(
            "/rule",
            "rule-not-taken",
            f"The mechanism {mechanism.name} takes no rule.",
            "Leave the rule out.",
        )
    reason = mechanism.supports(context, parameters)
    if reason is not None:
        raise NotSupported.because(reason)


async def _require_free(work: UnitOfWork, name: str) -> None:
    """Refuse a name that another release has, before anything is drawn for it."""
    try:
        found = await work.resources.described(Kind.RELEASE, name)
    except NotFound:
        return
    raise Conflict(
        f"The release {name!r} exists with other content.",
        "Choose another name, or delete that one first.",
        {"existing": {"kind": Kind.RELEASE.value, "name": found.name, "id": found.id}},
    )


def refuse_another(request: CreateRelease, earlier: Sequence[Draw]) -> None:
    """Refuse a further draw that was not asked for as one: Conflict naming the earlier ones."""
    if not earlier or request.independent_of_earlier:
        return
    last = earlier[-1]
    if last.release is not None:
        which, remedy = f"the release {last.release!r}", "Use that release"
    elif last.is_stored:
        which, remedy = "a release that is deleted by now", "Use what was released then"
    else:
        which = "a release that was begun and is not stored yet"
        remedy = "Send the request that began it again, which goes on with it"
    more = "" if len(earlier) == 1 else f", and {len(earlier) - 1} times before"
    raise Conflict(
        f"The same attribute of the same uploaded content was drawn on {last.begun_at:%Y-%m-%d} for {which}"
        f"{more}. Who has several draws learns more of each record than any of them promises.",
        f"{remedy}; or ask with independent_of_earlier and the scope govern for a draw that is worth less.",
        {
            "earlier": [
                {"release": own.release, "id": own.id, "begun_at": own.begun_at.isoformat()}
                for own in earlier[-_MOST_NAMED:]
            ]
        },
    )
