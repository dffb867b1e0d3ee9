"""Questions with their results, each asked for or stored in as few statements as there can be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import (
    ARRAY,
    Select,
    String,
    Text,
    and_,
    bindparam,
    case,
    func,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import aggregate_order_by

from app.domain.errors import NotFound
from app.persistence.records import PostgresAudit
from app.persistence.repository import Context, Repository
from app.persistence.resources import COLUMNS, PostgresResources, of_ref, stored_row
from app.persistence.results import PostgresResults
from app.persistence.tables import resources, results, runs
from app.persistence.transactions import alone
from app.services.answers import Recalled
from app.services.resources import JsonObject, Kind, NewResource, RunState, Stored


class PostgresQuestions(Repository):
    """Implements the port ``Questions``."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._resources = PostgresResources(context)
        self._results = PostgresResults(context)
        self._audit = PostgresAudit(context)

    async def recall(
        self, kind: Kind, name: str, sha256: str, believed: Mapping[tuple[Kind, str], str | None]
    ) -> Recalled | None:
        """What is stored for the question, if all that is believed holds; see the port."""
        asked = {
            "kind": kind.value, "name": name, "sha256": sha256,
            "kinds": [own.value for own, _ in believed], "refs": [ref for _, ref in believed],
        }  # fmt: skip
        (row,) = await self._transaction.read(_RECALL, asked)
        if list(row.found_ids or ()) != list(believed.values()):
            return None
        result = None if row.result_id is None else await self._result(row)
        return Recalled(result, None if row.id is None else stored_row(row))

    async def view(self, kind: Kind, ref: str) -> tuple[Stored, JsonObject | None]:
        """The question, and the result of its latest run if that succeeded, else of its hash."""
        rows = await self._transaction.read(_VIEW, {"kind": kind.value, "ref": ref})
        if not rows:
            raise NotFound(kind.value, ref)
        (row,) = rows
        document = await self._vault.unseal_json(row.document, row.kind, row.id, key_id=row.sealed_by)
        result = None if row.result_id is None else await self._result(row)
        return stored_row(row, document), result

    async def answer(
        self, new: NewResource, result: JsonObject, key_id: str, details: JsonObject
    ) -> tuple[Stored, bool]:
        """The row with its uses, then with the turn the audit event with the result; see the port."""
        stored, created = await self._resources.add(new)
        kept = await self._results.new(new.kind.value, new.sha256, result, new.uses)
        if created:
            told = {"sha256": stored.sha256, **details}
            await self._audit.record(key_id, f"{new.kind.value}.create", stored.id, told, kept)
        else:
            await self._results.put(kept)
        return stored, created

    async def _result(self, row: Any) -> JsonObject:  # noqa: ANN401 - a row
        return await self._results.opened(row.result_id, row.result, row.result_sealed_by)


_RESULT: Final = (
    results.c.id.label("result_id"),
    results.c.document.label("result"),
    results.c.sealed_by.label("result_sealed_by"),
)


def _recall() -> Select[Any]:
    """One row: the ids that references lead to, in their order, the result, and the resource of the name."""
    wanted = (
        func.unnest(bindparam("kinds", type_=ARRAY(Text)), bindparam("refs", type_=ARRAY(Text)))
        .table_valued("kind", "ref", with_ordinality="place", name="wanted")
        .render_derived()
    )
    led = of_ref(wanted.c.kind, wanted.c.ref, resources.c.id).correlate(wanted).scalar_subquery()
    ids = select(func.array_agg(aggregate_order_by(led, wanted.c.place))).select_from(wanted)
    kind, sha256 = bindparam("kind", type_=String), bindparam("sha256", type_=String)
    one = select(ids.scalar_subquery().label("found_ids")).subquery("one")
    named = and_(resources.c.kind == kind, resources.c.name == bindparam("name", type_=String))
    known = and_(results.c.kind == kind, results.c.input_sha256 == sha256)
    return select(one.c.found_ids, *_RESULT, *COLUMNS).select_from(
        one.outerjoin(results, known).outerjoin(resources, named)
    )


def _view() -> Select[Any]:
    kind, ref = bindparam("kind", type_=String), bindparam("ref", type_=String)
    question = of_ref(kind, ref, *COLUMNS, resources.c.document).subquery("question")
    latest = (
        select(runs.c.state, runs.c.result_id)
        .where(runs.c.resource_id == question.c.id)
        .order_by(runs.c.serial.desc())
        .limit(1)
        .lateral("latest")
    )
    equal = results.alias("equal")
    of_equal = (
        select(equal.c.id)
        .where(equal.c.kind == question.c.kind, equal.c.input_sha256 == question.c.sha256)
        .scalar_subquery()
    )
    has_run = latest.c.state == RunState.SUCCEEDED.value
    found = results.c.id == case((has_run, latest.c.result_id), else_=of_equal)
    return select(*question.c, *_RESULT).select_from(
        question.outerjoin(latest, true()).outerjoin(results, found)
    )


_RECALL: Final = alone(_recall())
_VIEW: Final = alone(_view())
