"""Use cases on releases: the table that is published."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import ClassVar, Final

from app.domain.errors import DirectBudgetExceeded, InvalidInput, NotSupported
from app.services.datasets.table_streams import stream
from app.services.datasets.tables import TableLoader, TableResources
from app.services.fingerprints import resource_sha256
from app.services.gates.rows import joinable, rows_document
from app.services.ports import Store, UnitOfWork
from app.services.questions import RUN_BYTES, Claimant, DirectBudget, RunStarted
from app.services.releases.count_answers import AskCounts, CountAnswers, ReleaseCounts
from app.services.releases.draw_runs import DrawRuns
from app.services.releases.draw_subjects import subjects_beside_releases
from app.services.releases.draw_work import release_of_result
from app.services.releases.ledgers import budget_of_release, content_subject
from app.services.releases.mechanism_manifests import BY_NAME, hides_records, is_drawn, shown_release
from app.services.releases.mechanism_releases import MechanismReleases, ReleasePlan, ReleasePreview
from app.services.releases.released_tables import ReleasedTable, release_of
from app.services.releases.requests import CreateRelease, LineOrder
from app.services.releases.standing_guarantees import draws_with, refuted_by_others
from app.services.resources import (
    ALWAYS,
    Actor,
    Created,
    DataFormat,
    DataStream,
    JsonObject,
    Kind,
    NewResource,
    Page,
    Period,
    Scope,
    Stored,
    TenantId,
    document_of,
    require,
)
from app.services.rules.rule_documents import require_rule_of, rule_of, suppression_in_short

ORDER_BEFORE: Final[LineOrder] = "records"
"""The order of releases that were made before one could be chosen; their summary names none."""


class ReleaseService(TableResources):
    """Make releases and stream their data."""

    kind: ClassVar[Kind] = Kind.RELEASE
    write_scope: ClassVar[Scope] = Scope.ASSESS

    def __init__(
        self,
        store: Store,
        loader: TableLoader,
        budget: DirectBudget = DirectBudget(),  # noqa: B008
        run_bytes: int = RUN_BYTES,
    ) -> None:
        super().__init__(store, loader)
        self._mechanisms = MechanismReleases(store, loader, budget)
        self._draw_runs = DrawRuns(store, loader, run_bytes)
        self._counts = ReleaseCounts(store, loader)

    async def plan(self, actor: Actor, request: CreateRelease) -> ReleasePlan:
        """What a mechanism would make, before anything is drawn."""
        self._admit(actor, request.name)
        self._require_may(actor, request)
        if request.mechanism is None:
            raise NotSupported(
                "A release under a rule has no plan: what it shows follows from the rule.",
                "Preview the rule, or give a mechanism.",
            )
        return await self._mechanisms.plan(actor, request)

    async def preview(self, actor: Actor, request: CreateRelease) -> ReleasePreview:
        """What a draw would be worth on average, for who may read the data; nothing is stored."""
        self._admit(actor, request.name)
        self._require_may(actor, request)
        if request.mechanism is None:
            raise NotSupported("Only what a mechanism draws has a value on average.", "Give a mechanism.")
        return await self._mechanisms.preview(actor, request)

    async def ask(
        self, actor: Actor, request: CreateRelease, *, prefers_run: bool = False
    ) -> Created | RunStarted:
        """Make the release now; a draw that is too large for that becomes a run."""
        if not prefers_run or request.mechanism is None:
            with contextlib.suppress(DirectBudgetExceeded):
                return await self.create(actor, request)
        return await self.create_run(actor, request)

    async def create(self, actor: Actor, request: CreateRelease) -> Created:
        """Store the manifest; what a rule shows is made when it is asked for, what is drawn is stored."""
        self._admit(actor, request.name)
        self._require_may(actor, request)
        if request.mechanism is not None:
            made = await self._mechanisms.create(actor, request)
            return Created(await self.get(actor, made.resource.id), made.created)
        async with self._store.work(actor.tenant) as work:
            dataset = await work.resources.get(Kind.DATASET, request.dataset)
            rule = await work.resources.get(Kind.RULE, request.rule or "")
        if request.order == "records" and dataset.summary.get("person") is not None:
            raise InvalidInput([joinable("/order")])
        meaning: JsonObject = {"neutralise_formulas": request.neutralise_formulas, "order": request.order}
        sha256 = resource_sha256(Kind.RELEASE, meaning, {"dataset": dataset.sha256, "rule": rule.sha256})
        released = await self._released(actor.tenant, dataset, rule)
        if request.order == "shuffled":
            released = await self._shuffled(actor.tenant, dataset, released, request.name, sha256)
        summary = await asyncio.to_thread(_manifest, released, dataset, rule, request)
        uses = (dataset.id, rule.id)
        return await self._add(actor, NewResource(Kind.RELEASE, request.name, sha256, summary, meaning, uses))

    async def create_run(
        self, actor: Actor, request: CreateRelease, claimant: Claimant | None = None
    ) -> RunStarted:
        """Have a run make what a mechanism draws; see :class:`DrawRuns`."""
        self._admit(actor, request.name)
        self._require_may(actor, request)
        return await self._draw_runs.create_run(actor, request, claimant)

    async def made_by(self, actor: Actor, result: JsonObject) -> Stored:
        """The release that a run of this result made."""
        return await self.get(actor, release_of_result(result))

    async def of_dataset(
        self,
        actor: Actor,
        dataset: str,
        *,
        created: Period = ALWAYS,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[Stored]:
        """The dataset's ledger: all that was released of it, newest first; NotFound without the dataset."""
        async with self._store.work(actor.tenant) as work:
            found = await work.resources.get(Kind.DATASET, dataset)
            page = await work.resources.list(
                Kind.RELEASE, name=None, limit=limit, cursor=cursor, built_on=found.id, created=created
            )
            return Page(await self._shown(work, actor, page.items), page.next_cursor)

    async def withdraw(self, actor: Actor, ref: str) -> Stored:
        """Give the table out no more; manifest and count of draws stay. A second time changes nothing."""
        require(actor, self.write_scope)
        async with self._store.work(actor.tenant) as work:
            found = await work.resources.get(Kind.RELEASE, ref)
            if not is_drawn(found):
                raise NotSupported(
                    f"The release {found.name!r} was made by a rule: only its manifest is stored.",
                    "Delete it if it was never published.",
                )
            states = await work.draws.states([found.id])
            if states[found.id].withdrawn_at is None:
                await work.draws.withdraw(found.id)
                await work.audit.record(actor.key_id, "release.withdraw", found.id, {"sha256": found.sha256})
                await work.commit()
        return await self.get(actor, found.id)

    async def data(self, actor: Actor, ref: str, format: DataFormat) -> DataStream:
        """The released table, byte for byte the same whenever it is asked for; needs data:read."""
        require(actor, Scope.DATA_READ)
        if format not in (DataFormat.CSV, DataFormat.PARQUET):
            raise InvalidInput.of(
                "/format", "unknown-choice", "A release leaves as a table.", "Choose csv or parquet."
            )
        async with self._store.work(actor.tenant) as work:
            release = await work.resources.get(Kind.RELEASE, ref)
            if is_drawn(release):
                return await self._mechanisms.data(work, release, format)
            dataset = await work.resources.get(Kind.DATASET, release.uses[0])
            rule = await work.resources.get(Kind.RULE, release.uses[1])
        released = await self._released(actor.tenant, dataset, rule)
        if document_of(release).get("order", ORDER_BEFORE) == "shuffled":
            released = await self._shuffled(actor.tenant, dataset, released, release.name, release.sha256)
        if format is DataFormat.CSV:
            chunks = released.csv_chunks(neutralise_formulas=release.summary["neutralise_formulas"])
        else:
            chunks = released.parquet_chunks(
                {
                    "privacy-risk.release": release.sha256,
                    "privacy-risk.dataset": dataset.sha256,
                    "privacy-risk.rule": rule.sha256,
                }
            )
        return stream(chunks, format, release.name)

    async def answers(self, actor: Actor, ref: str, request: AskCounts) -> CountAnswers:
        """COUNT queries, answered from the release alone; needs data:read, for counts of few tell values."""
        require(actor, Scope.DATA_READ)
        return await self._counts.answers(actor.tenant, ref, request)

    def _require_may(self, actor: Actor, request: CreateRelease) -> None:
        """Raise if the fields do not fit together, or the key may not ask for what promises less."""
        request.require_whole()
        chosen = request.mechanism
        leaks = chosen is not None and BY_NAME[chosen.name].accepts_leak(chosen.parameters)
        if request.independent_of_earlier or leaks:
            require(actor, Scope.GOVERN)

    async def _shown(self, work: UnitOfWork, actor: Actor, found: Sequence[Stored]) -> tuple[Stored, ...]:
        """With how the draws of those that were drawn stand among others.

        Of one that was read with its document it is told, too, what other releases leave of its guarantees.
        """
        drawn = [own for own in found if is_drawn(own)]
        if not drawn:
            return await super()._shown(work, actor, found)
        beside = await subjects_beside_releases(work, drawn)
        states = await work.draws.states([own.id for own in drawn], beside)
        whole = [own for own in drawn if own.document is not None]
        draws = {own.id: await draws_with(work, own, beside[own.id]) for own in whole}
        refuted = {own.id: await refuted_by_others(work, own) for own in whole}
        budgets = {own.id: await budget_of_release(work, own) for own in whole if hides_records(own)}

        def shown(own: Stored) -> Stored:
            state, others = states.get(own.id), draws.get(own.id, ())
            return shown_release(actor, own, state, others, refuted.get(own.id, {}), budgets.get(own.id))

        return await asyncio.to_thread(lambda: tuple(map(shown, found)))

    async def keep_counted(self, work: UnitOfWork, found: Stored) -> None:
        """What a rule has shown stays known to whoever has it: it counts like a draw of whole records."""
        if is_drawn(found):
            return
        dataset = await work.resources.described(Kind.DATASET, found.uses[0])
        subject = await content_subject(work, dataset)
        await work.draws.of_subject(subject, hold=True)
        await work.draws.keep_counted(found, subject)

    async def _released(self, tenant: TenantId, dataset: Stored, rule: Stored) -> ReleasedTable:
        document = require_rule_of(rule, dataset)
        table = await self._loader.table(tenant, dataset)
        return await asyncio.to_thread(lambda: release_of(table, rule_of(document, table)))

    async def _shuffled(
        self, tenant: TenantId, dataset: Stored, released: ReleasedTable, name: str, sha256: str
    ) -> ReleasedTable:
        """The lines in the release's own order.

        The seed follows from the key of the dataset's upload and from the release's name and content: it is
        stored nowhere, is the same in every process, survives the rewrapping of keys, and ends with the key.
        """
        upload_id = document_of(dataset)["upload"]["id"]
        async with self._store.work(tenant) as work:
            seed = await work.pieces.secret(upload_id, f"release order {sha256} {name}")
        return await asyncio.to_thread(released.shuffled, seed)


def _manifest(released: ReleasedTable, dataset: Stored, rule: Stored, request: CreateRelease) -> JsonObject:
    cells, records = released.suppressed()
    return {
        "rows_are": rows_document(dataset),
        "dataset": dataset.name,
        "dataset_sha256": dataset.sha256,
        "rule": {
            "name": rule.name,
            "kind": rule.summary["kind"],
            "sha256": rule.sha256,
            "levels": rule.summary["levels"],
            **suppression_in_short(rule.summary),
        },
        "columns": list(released.columns),
        "rows": released.n_records,
        "suppressed_cells": cells,
        "suppressed_records": records,
        "classes": released.n_classes,
        "neutralise_formulas": request.neutralise_formulas,
        "order": request.order,
        "order_chosen": request.order == "records",
        "csv_sha256": released.csv_sha256(neutralise_formulas=request.neutralise_formulas),
    }
