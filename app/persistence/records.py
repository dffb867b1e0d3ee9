"""What is kept about requests: idempotency keys, API keys and the audit chain of a tenant."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from math import ceil
from typing import Any, Final

from sqlalchemy import BigInteger, ColumnElement, bindparam, delete, extract, func, insert, select, update
from sqlalchemy.dialects import postgresql

from app.domain.errors import Conflict, InvalidInput, NotFound
from app.evidence.canonical import canonical_json
from app.persistence.repository import Repository
from app.persistence.resources import new_id
from app.persistence.results import KEEP
from app.persistence.tables import api_keys, audit_events, audit_heads, idempotency_keys
from app.persistence.transactions import TenantTransaction
from app.services.leases import KEY_LEASE
from app.services.resources import (
    ALWAYS,
    ApiKey,
    AuditEvent,
    AuditVerification,
    IdempotentReply,
    JsonObject,
    Period,
    Scope,
    TenantId,
)

REPLIES_KEPT = timedelta(hours=24)
_EVENT_FIELDS = ("number", "key_id", "action", "subject", "details", "at")
CHAIN_START: Final = b"\0" * 32
"""What the first event of a chain follows from."""


class PostgresIdempotencyKeys(Repository):
    """Implements the port ``IdempotencyKeys``; replies are encrypted, for one may show a secret once."""

    async def begin(self, route: str, key: str, fingerprint: str, owner: str) -> IdempotentReply | None:
        """Hold the key, or answer what was answered before; see the port.

        The key is held for others once the transaction is committed; until then they wait here.
        """
        await self.forget_old()
        statement = postgresql.insert(idempotency_keys).values(
            tenant_id=self._transaction.tenant, route=route, key=key, fingerprint=fingerprint,
            created_at=self._clock(), owner=owner, lease_until=_lease_from_now(),
        ).on_conflict_do_nothing().returning(idempotency_keys.c.key)  # fmt: skip
        if (await self._transaction.execute(statement)).first() is not None:
            return None
        table = idempotency_keys.c
        left = extract("epoch", table.lease_until - func.clock_timestamp()).label("left")
        query = select(table.fingerprint, table.reply, left).where(*_is(route, key))
        row = (await self._transaction.execute(query)).one_or_none()
        if row is not None and row.fingerprint != fingerprint:
            raise InvalidInput.of(
                "/headers/Idempotency-Key",
                "idempotency-key-reused",
                "This Idempotency-Key was used on this route with another request.",
                "Send a new key with a new request.",
            )
        if row is None or row.reply is None:
            seconds = max(1, ceil(float(row.left) if row is not None else 0.0))
            raise Conflict(
                "The first request with this Idempotency-Key is still being answered.",
                f"Send the request again in {seconds} s, as the Retry-After header says.",
                retry_after=seconds,
            )
        document = await self._vault.unseal_json(row.reply, "idempotent reply", f"{route} {key}")
        return IdempotentReply(document["status"], base64.b64decode(document["body"]), document["headers"])

    async def renew(self, route: str, key: str, owner: str) -> bool:
        """Hold the key for another lease; an ended one can be renewed as long as nobody took the key."""
        return await self._update(_held_by(route, key, owner), lease_until=_lease_from_now())

    async def complete(self, route: str, key: str, owner: str, reply: IdempotentReply) -> bool:
        """Keep the reply, unless the key is another owner's by now."""
        document = {
            "status": reply.status,
            "body": base64.b64encode(reply.body).decode(),
            "headers": dict(reply.headers),
        }
        sealed = await self._vault.seal_json(document, "idempotent reply", f"{route} {key}")
        return await self._update(_held_by(route, key, owner), reply=sealed)

    async def abandon(self, route: str, key: str, owner: str) -> None:
        """Free the owner's key."""
        await self._transaction.execute(delete(idempotency_keys).where(*_held_by(route, key, owner)))

    async def forget_old(self) -> None:
        """Delete what is kept no longer: replies of a day ago, and keys whose lease has ended."""
        table = idempotency_keys.c
        await self._transaction.execute(
            delete(idempotency_keys).where(
                (table.reply.is_not(None) & (table.created_at <= self._clock() - REPLIES_KEPT))
                | (table.reply.is_(None) & (table.lease_until <= func.clock_timestamp()))
            )
        )

    async def _update(self, condition: Sequence[ColumnElement[bool]], **values: Any) -> bool:  # noqa: ANN401
        statement = update(idempotency_keys).where(*condition).values(**values)
        statement = statement.returning(idempotency_keys.c.key)
        return (await self._transaction.execute(statement)).first() is not None


class PostgresApiKeys(Repository):
    """Implements the port ``ApiKeys``."""

    async def add(
        self,
        name: str,
        prefix: str,
        secret_sha256: bytes,
        scopes: frozenset[Scope],
        expires_at: datetime | None,
    ) -> ApiKey:
        """Keep a key, as the hash of its secret; Conflict if a key that is not revoked has its name."""
        key = ApiKey(
            new_id(), self._transaction.tenant, name, prefix, scopes, self._clock(), expires_at=expires_at
        )
        statement = (
            postgresql.insert(api_keys).values(
                tenant_id=key.tenant, id=key.id, name=name, prefix=prefix, secret_sha256=secret_sha256,
                scopes=sorted(scope.value for scope in scopes), created_at=key.created_at,
                expires_at=expires_at,
            )
        ).on_conflict_do_nothing().returning(api_keys.c.id)  # fmt: skip
        if (await self._transaction.execute(statement)).first() is None:
            raise Conflict(
                f"There is an API key named {name!r} that is not revoked.",
                "Choose another name, or revoke that key first.",
            )
        return key

    async def list(self) -> Sequence[ApiKey]:
        """All keys of the tenant, newest first, revoked ones too."""
        query = select(api_keys).order_by(api_keys.c.serial.desc())
        return [api_key(row) for row in await self._transaction.execute(query)]

    async def revoke(self, ref: str) -> ApiKey:
        """End a key, by its id or the name of one that is not revoked; a second time changes nothing."""
        is_named = (api_keys.c.name == ref) & api_keys.c.revoked_at.is_(None)
        found = select(api_keys.c.id).where((api_keys.c.id == ref) | is_named)
        statement = (
            update(api_keys)
            .where(api_keys.c.id == found.order_by(api_keys.c.id != ref).limit(1).scalar_subquery())
            .values(revoked_at=func.coalesce(api_keys.c.revoked_at, self._clock()))
            .returning(api_keys)
        )
        row = (await self._transaction.execute(statement)).one_or_none()
        if row is None:
            raise NotFound("api_key", ref)
        return api_key(row)


_HEAD: Final = postgresql.insert(audit_heads).values(
    {column: bindparam(f"event_{column.name}") for column in audit_heads.c}
)
_RECORD: Final = (
    insert(audit_events)
    .values({column: bindparam(f"event_{column.name}") for column in audit_events.c})
    .add_cte(
        _HEAD.on_conflict_do_update(
            index_elements=["tenant_id"],
            set_={"number": _HEAD.excluded.number, "sha256": _HEAD.excluded.sha256},
        ).cte("head")
    )
)
_RECORD_AND_KEEP: Final = _RECORD.add_cte(KEEP.cte("kept"))
_CHAINED: Final = tuple(column for column in audit_events.c if column.name != "tenant_id")
_AT_ONCE: Final = 2000
_BEFORE_ALL: Final = -(2**63)
_LOT: Final = (
    select(*_CHAINED)
    .where(
        audit_events.c.number > bindparam("after", type_=BigInteger),
        audit_events.c.number <= bindparam("through", type_=BigInteger),
    )
    .order_by(audit_events.c.number)
)
_LAST: Final = (
    select(audit_events.c.number, audit_events.c.sha256).order_by(audit_events.c.number.desc()).limit(1)
)


class PostgresAudit(Repository):
    """Implements the port ``Audit``: each event carries the hash of the one before."""

    async def list(
        self,
        *,
        action: str | None,
        subject: str | None,
        limit: int,
        cursor: str | None,
        created: Period = ALWAYS,
    ) -> tuple[Sequence[AuditEvent], str | None]:
        """One page, newest first, with the names of the keys that are known."""
        table = audit_events.c
        joined = audit_events.outerjoin(
            api_keys, (api_keys.c.tenant_id == table.tenant_id) & (api_keys.c.id == table.key_id)
        )
        query = select(audit_events, api_keys.c.name.label("key_name")).select_from(joined)
        if action:
            query = query.where(table.action.startswith(action, autoescape=True))
        if subject:
            query = query.where(table.subject == subject)
        listing = ("audit_events", action or "", subject or "")
        rows, following = await self._page(query, table.number, table.at, created, limit, cursor, *listing)
        return [_audit_event(row) for row in rows], following

    async def verify(self) -> AuditVerification:
        """Whether each event follows from the one before."""
        last = await self._last()
        broken = await first_broken_event(self._transaction)
        if last is None:
            return AuditVerification(0, broken, None)
        return AuditVerification(last.number, broken, last.sha256.hex())

    async def record(
        self,
        key_id: str,
        action: str,
        subject: str,
        details: JsonObject,
        result: Mapping[str, Any] | None = None,
    ) -> None:
        """Append an event; writers of one tenant take turns until they commit.

        ``result`` are the values of a result that is kept by the same statement.
        """
        await self._transaction.take_turn()
        last = await self._last()
        number, previous = (last.number + 1, last.sha256) if last else (1, CHAIN_START)
        event = {
            "number": number, "key_id": key_id, "action": action, "subject": subject, "details": details,
            "at": self._clock(),
        }  # fmt: skip
        event |= {
            "tenant_id": self._transaction.tenant, "previous_sha256": previous,
            "sha256": event_hash(self._transaction.tenant, event, previous),
        }  # fmt: skip
        values = {f"event_{name}": value for name, value in event.items()}
        if result is None:
            await self._transaction.execute(_RECORD, values)
        else:
            await self._transaction.execute(_RECORD_AND_KEEP, {**values, **result})

    async def _last(self) -> Any:  # noqa: ANN401 - a row
        """Number and hash of the last event; None before the first."""
        return (await self._transaction.execute(_LAST)).one_or_none()


async def first_broken_event(transaction: TenantTransaction) -> int | None:
    """The number of the first audit event that is wrong or missing, see :class:`Chain`."""
    # The head first, then the last event: those that are appended meanwhile come after them.
    heads = await transaction.execute(select(audit_heads.c.number, audit_heads.c.sha256))
    noted = heads.one_or_none()
    last = (await transaction.execute(_LAST)).one_or_none()
    head = (0, CHAIN_START) if noted is None else (noted.number, noted.sha256)
    chain = Chain(transaction.tenant, head, 0 if last is None else last.number)
    for begin in count(0, _AT_ONCE):
        # Between two numbers, which finds them by the index whatever the statistics say. What was put before
        # the first event is found, too.
        lot = {"after": begin or _BEFORE_ALL, "through": begin + _AT_ONCE}
        rows = (await transaction.execute(_LOT, lot)).all()
        broken = await asyncio.to_thread(chain.broken, rows)  # where other requests go on meanwhile
        if broken is not None or len(rows) < _AT_ONCE:
            return broken or chain.missing
    raise AssertionError("there is no end of numbers")


class Chain:
    """Looks at a tenant's events in order, as many at a time as come, whether each follows from the last.

    ``head`` is what was noted of an event, the last one at the time: its number and its hash. ``last`` is the
    number of the last event that there is. Whoever can change all events and the head can forge a chain.
    """

    def __init__(self, tenant: str, head: tuple[int, bytes], last: int = 0) -> None:
        self._tenant = tenant
        self._last = max(last, head[0])
        self._head_number, self._head_sha256 = head
        self._previous, self._expected = CHAIN_START, 1

    def broken(self, events: Iterable[Any]) -> int | None:
        """The number of the first of the next events that does not follow, None if each does."""
        for row in events:
            event = {name: getattr(row, name) for name in _EVENT_FIELDS}
            digest = event_hash(self._tenant, event, self._previous)
            is_next = row.number == self._expected and row.previous_sha256 == self._previous
            is_noted = self._expected != self._head_number or digest == self._head_sha256
            if not (is_next and row.sha256 == digest and is_noted):
                return self._expected
            self._previous, self._expected = digest, self._expected + 1
        return None

    @property
    def missing(self) -> int | None:
        """The number of the event after those that were looked at, if there is one there or later, or was."""
        return self._expected if self._expected <= self._last else None


def event_hash(tenant: str, event: dict[str, Any], previous: bytes) -> bytes:
    """The sha256 that chains an event to the one before, whose sha256 is ``previous``."""
    at: datetime = event["at"]
    content = event | {"tenant": tenant, "at": at.astimezone(UTC).isoformat()}
    return hashlib.sha256(previous + canonical_json(content)).digest()


def _audit_event(row: Any) -> AuditEvent:  # noqa: ANN401 - a row
    return AuditEvent(
        row.number, row.key_id, row.key_name, row.action, row.subject, row.details, row.at, row.sha256.hex()
    )


def api_key(row: Any) -> ApiKey:  # noqa: ANN401 - a row
    """The key of a row of ``api_keys``."""
    return ApiKey(
        id=row.id, tenant=TenantId(str(row.tenant_id)), name=row.name, prefix=row.prefix,
        scopes=frozenset(Scope(scope) for scope in row.scopes), created_at=row.created_at,
        expires_at=row.expires_at, last_used_at=row.last_used_at, revoked_at=row.revoked_at,
    )  # fmt: skip


def _is(route: str, key: str) -> Sequence[ColumnElement[bool]]:
    return idempotency_keys.c.route == route, idempotency_keys.c.key == key


def _held_by(route: str, key: str, owner: str) -> Sequence[ColumnElement[bool]]:
    """The row of a key that this owner, and nobody after it, holds."""
    return *_is(route, key), idempotency_keys.c.owner == owner, idempotency_keys.c.reply.is_(None)


def _lease_from_now() -> ColumnElement[datetime]:
    """By the database's clock, which all processes share."""
    return func.clock_timestamp() + timedelta(seconds=KEY_LEASE.seconds)
