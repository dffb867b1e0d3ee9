"""Use cases on releases: the table that is published."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from app.domain.errors import InvalidInput
from app.services.datasets.table_streams import stream
from app.services.datasets.tables import TableResources
from app.services.fingerprints import resource_sha256
from app.services.gates.evidence_masking import shown_resource
from app.services.releases.released_tables import ReleasedTable, release_of
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

LineOrder = Literal["shuffled", "records"]
"""``shuffled``: classes sorted, lines within them permuted by a secret. ``records``: as in the dataset."""

ORDER_BEFORE: Final[LineOrder] = "records"
"""The order of releases that were made before one could be chosen; their summary names none."""


@dataclass(frozen=True)
class CreateRelease:
    """A dataset under a rule; formulas of spreadsheets are made harmless if asked for."""

    name: str
    dataset: str
    rule: str
    neutralise_formulas: bool = False
    order: LineOrder = "shuffled"


class ReleaseService(TableResources):
    """Make releases and stream their data."""

    kind: ClassVar[Kind] = Kind.RELEASE
    write_scope: ClassVar[Scope] = Scope.ASSESS

    async def create(self, actor: Actor, request: CreateRelease) -> Created:
        """Store the manifest; the data are made when they are asked for."""
        self._admit(actor, request.name)
        async with self._store.work(actor.tenant) as work:
            dataset = await work.resources.get(Kind.DATASET, request.dataset)
            rule = await work.resources.get(Kind.RULE, request.rule)
        meaning: JsonObject = {"neutralise_formulas": request.neutralise_formulas, "order": request.order}
        sha256 = resource_sha256(Kind.RELEASE, meaning, {"dataset": dataset.sha256, "rule": rule.sha256})
        released = await self._released(actor.tenant, dataset, rule)
        if request.order == "shuffled":
            released = await self._shuffled(actor.tenant, dataset, released, request.name, sha256)
        summary = await asyncio.to_thread(_manifest, released, dataset, rule, request)
        uses = (dataset.id, rule.id)
        return await self._add(actor, NewResource(Kind.RELEASE, request.name, sha256, summary, meaning, uses))

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
        return Page(tuple(shown_resource(actor, stored) for stored in page.items), page.next_cursor)

    async def data(self, actor: Actor, ref: str, format: DataFormat) -> DataStream:
        """The released table, byte for byte the same whenever it is asked for; needs data:read."""
        require(actor, Scope.DATA_READ)
        async with self._store.work(actor.tenant) as work:
            release = await work.resources.get(Kind.RELEASE, ref)
            dataset = await work.resources.get(Kind.DATASET, release.uses[0])
            rule = await work.resources.get(Kind.RULE, release.uses[1])
        released = await self._released(actor.tenant, dataset, rule)
        if document_of(release).get("order", ORDER_BEFORE) == "shuffled":
            released = await self._shuffled(actor.tenant, dataset, released, release.name, release.sha256)
        if format is DataFormat.CSV:
            chunks = released.csv_chunks(neutralise_formulas=release.summary["neutralise_formulas"])
        elif format is DataFormat.PARQUET:
            chunks = released.parquet_chunks(_origin(release, dataset, rule))
        else:
            raise InvalidInput.of(
                "/format", "unknown-choice", "A release leaves as a table.", "Choose csv or parquet."
            )
        return stream(chunks, format, release.name)

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


def _origin(release: Stored, dataset: Stored, rule: Stored) -> dict[str | bytes, str | bytes]:
    return {
        "privacy-risk.release": release.sha256,
        "privacy-risk.dataset": dataset.sha256,
        "privacy-risk.rule": rule.sha256,
    }
