"""Use cases on checks of query views: asked at once or by a run, and kept with their answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar

from app.domain.errors import pointing_into
from app.domain.views.decision import VERSION
from app.services.datasets.tables import TableLoader
from app.services.direct_questions import DirectService
from app.services.fingerprints import new_resource, resource_sha256, sha256_of
from app.services.ports import Store, UnitOfWork
from app.services.questions import DirectBudget, Route
from app.services.resources import Actor, JsonObject, Kind, NewResource, Stored, document_of
from app.services.views.check_masking import shown_queries
from app.services.views.check_work import CheckPreparation, CheckQuestion, CheckWork
from app.services.views.query_hashes import query_sha256
from app.services.views.reading import ReadSchema, read_schema
from app.services.views.schema_documents import schema_document, schema_of
from app.services.views.view_checks import CHECK_SECONDS, ViewCheck, read_check


@dataclass(frozen=True)
class CreateViewCheck:
    """What to check; ``schema`` is a stored relational schema, in place of the one that is declared.

    Without a name one is made of the hash.
    """

    asked: ViewCheck
    schema: str | None = None
    name: str | None = None

    @property
    def refs(self) -> None:
        """It is about no dataset: no data are looked at."""
        return

    @property
    def named(self) -> Sequence[tuple[str, Kind, str]]:
        """The schema, if it is a stored one."""
        return [] if self.schema is None else [("/relational_schema", Kind.RELATIONAL_SCHEMA, self.schema)]


class ViewCheckService(DirectService[CreateViewCheck, CheckQuestion, CheckWork]):
    """Check views against secrets, directly where that is small and by a run where it is not."""

    kind: ClassVar[Kind] = Kind.VIEW_CHECK

    def __init__(self, store: Store, loader: TableLoader, budget: DirectBudget) -> None:
        super().__init__(store, loader, budget)
        self._preparation = CheckPreparation(store)

    async def _resolve(
        self, store: Store, actor: Actor, request: CreateViewCheck, route: Route
    ) -> tuple[CheckQuestion, NewResource]:
        stored = None
        if request.schema is not None:
            async with store.work(actor.tenant) as work:
                stored = await work.resources.get(Kind.RELATIONAL_SCHEMA, request.schema)
        return await asyncio.to_thread(_question, request, stored)

    async def _prepare(self, actor: Actor, question: CheckQuestion) -> CheckWork:
        return await self._preparation.work(actor.tenant, question)

    async def _beside(self, work: UnitOfWork, actor: Actor, stored: Stored) -> JsonObject:
        """The queries; they may name values."""
        document = document_of(stored)
        shown = {part: shown_queries(actor, document["asked"][part]) for part in ("secrets", "views")}
        return {**shown, "decision": f"views/{document['decision']}"}


def _question(request: CreateViewCheck, stored: Stored | None) -> tuple[CheckQuestion, NewResource]:
    """The check as it is decided, and as it will be stored."""
    end = time.monotonic() + CHECK_SECONDS
    asked = request.asked
    schema, document = _schema(asked, stored)
    read = read_check(asked, schema, lambda: time.monotonic() >= end)
    schema_sha256 = resource_sha256(Kind.RELATIONAL_SCHEMA, document, {})
    options = {
        "ignore_foreign_keys": asked.ignore_foreign_keys,
        "advice": sorted(set(asked.advice)),
        "decision": VERSION,
    }
    # With their texts where advice is asked, which calls variables so.
    parts = (("secrets", asked.secrets, read.secrets), ("views", asked.views, read.views))
    hashes = {
        part: [
            query_sha256(name, query, own.query if asked.advice else None)
            for own, (name, query) in zip(written, queries, strict=True)
        ]
        for part, written, queries in parts
    }
    texts = {
        "language": asked.language,
        "dialect": asked.dialect,
        "secrets": [asdict(own) for own in asked.secrets],
        "views": [asdict(own) for own in asked.views],
    }
    grounds = sha256_of({"schema": schema_sha256, **options})
    uses = () if stored is None else (stored.id,)
    new = new_resource(
        Kind.VIEW_CHECK,
        request.name,
        # The texts as well: an envelope leaves out what the query says, and a check shows its own queries.
        {**options, **hashes, "asked": texts},
        {"relational_schema": schema_sha256},
        {
            "relational_schema": None if stored is None else stored.name,
            "language": asked.language,
            "ignore_foreign_keys": asked.ignore_foreign_keys,
            "n_secrets": len(read.secrets),
            "n_views": len(read.views),
            "grounds_sha256": grounds,
        },
        {"schema": document if stored is None else None},
        uses,
    )
    question = CheckQuestion(
        read, hashes["secrets"], hashes["views"], grounds, None if stored is None else stored.id
    )
    return question, new


def _schema(asked: ViewCheck, stored: Stored | None) -> tuple[ReadSchema, JsonObject]:
    """The schema that queries are read by, and as a document."""
    if stored is not None:
        document = document_of(stored)
        return schema_of(document), document
    with pointing_into("/relational_schema"):
        schema = read_schema(asked.relations, asked.foreign_keys, asked.tables, asked.dialect)
    return schema, schema_document(schema)
