"""Signing keys and signed evidence of a tenant.

The private part of a signing key is wrapped by the master key, as data keys are, and is unwrapped only to
sign. Evidence is append-only: the runtime role may neither change nor delete it.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import Select, func, insert, or_, select, update
from sqlalchemy.dialects import postgresql

from app.domain.errors import NotFound, Unavailable
from app.evidence.envelope import Signer
from app.evidence.keys import PublicKey, key_id_of
from app.persistence.encryption import MasterKey
from app.persistence.repository import Repository, contains
from app.persistence.resources import new_id
from app.persistence.tables import evidence, revocations, signing_keys
from app.persistence.transactions import TenantTransaction
from app.services.gates.evidence_values import NewEvidence, StoredEvidence
from app.services.gates.tombstones import Revocation
from app.services.resources import ALWAYS, Period

_SHOWN: Final = tuple(column for column in evidence.c if column.name not in ("tenant_id", "envelope"))
_FIELDS: Final = tuple(column.name for column in _SHOWN if column.name != "serial")
_AS_IT_STANDS: Final = (*_SHOWN, revocations.c.revoked_at, revocations.c.reason)
_REVOKED: Final = evidence.outerjoin(
    revocations,
    (revocations.c.tenant_id == evidence.c.tenant_id) & (revocations.c.id == evidence.c.resource_id),
)
_WHOLE: Final = select(*_AS_IT_STANDS, evidence.c.envelope).select_from(_REVOKED)


class PostgresSigningKeys(Repository):
    """Implements the port ``SigningKeys``."""

    async def signer(self) -> Signer:
        """The signer of the key in use; see the port."""
        await self._transaction.take_turn()
        row = await self._in_use()
        if row is None:
            await self._make(self._clock())
            row = await self._in_use()
        private = self._master_key.unwrap(row.wrapped_key, self._transaction.tenant, row.id, "signing_key")
        key = PublicKey(row.public_key, row.valid_from)
        return Signer(key, Ed25519PrivateKey.from_private_bytes(private).sign)

    async def rotate(self) -> PublicKey:
        """End the key in use and begin another at the same moment.

        That is no earlier than the last evidence which was signed, whatever clock its process had.
        """
        await self._transaction.take_turn()
        at, row = self._clock(), await self._in_use()
        if row is not None:
            query = select(func.max(evidence.c.issued_at)).where(evidence.c.key_id == row.id)
            last: datetime | None = (await self._transaction.execute(query)).scalar()
            at = max(at, row.valid_from, last or at)
            statement = update(signing_keys).where(signing_keys.c.id == row.id).values(valid_until=at)
            await self._transaction.execute(statement)
        return await self._make(at)

    async def list(self) -> Sequence[PublicKey]:
        """All keys, newest first."""
        query = select(
            signing_keys.c.public_key, signing_keys.c.valid_from, signing_keys.c.valid_until
        ).order_by(signing_keys.c.serial.desc())
        rows = await self._transaction.execute(query)
        return [PublicKey(row.public_key, row.valid_from, row.valid_until) for row in rows]

    async def _in_use(self) -> Any:  # noqa: ANN401 - a row
        query = select(signing_keys).where(signing_keys.c.valid_until.is_(None))
        return (await self._transaction.execute(query)).one_or_none()

    async def _make(self, at: datetime) -> PublicKey:
        private = Ed25519PrivateKey.generate()
        raw = private.public_key().public_bytes_raw()
        key_id, tenant = key_id_of(raw), self._transaction.tenant
        wrapped = self._master_key.wrap(private.private_bytes_raw(), tenant, key_id, "signing_key")
        await self._transaction.execute(
            insert(signing_keys).values(
                tenant_id=tenant, id=key_id, public_key=raw, wrapped_key=wrapped,
                master_key_id=self._master_key.id, valid_from=at,
            )
        )  # fmt: skip
        return PublicKey(raw, at)


class PostgresEvidence(Repository):
    """Implements the port ``Evidence``."""

    async def add(self, new: NewEvidence) -> StoredEvidence:
        """Keep it, or answer the evidence that the resource has; see the port."""
        evidence_id = new_id()
        values = {name: getattr(new, name) for name in _FIELDS if name != "id"}
        sealed = await self._vault.seal_bytes(zlib.compress(new.envelope, 6), "evidence", evidence_id)
        statement = postgresql.insert(evidence).values(
            tenant_id=self._transaction.tenant, id=evidence_id, envelope=sealed, **values
        ).on_conflict_do_nothing().returning(evidence.c.id)  # fmt: skip
        if (await self._transaction.execute(statement)).first() is not None:
            return StoredEvidence(id=evidence_id, envelope=new.envelope, **values)
        found = await self.of_resource(new.resource_id)
        if found is None:
            raise NotFound("evidence", new.resource_id)
        return found

    async def get(self, ref: str) -> StoredEvidence:
        """The evidence of this id or hash, or the newest about something of this name."""
        found = await self._one(_WHOLE.where(or_(evidence.c.id == ref, evidence.c.sha256 == ref)))
        if found is None:
            named = _WHOLE.where(evidence.c.resource_name == ref)
            found = await self._one(named.order_by(evidence.c.serial.desc()).limit(1))
        if found is None:
            raise NotFound("evidence", ref)
        return found

    async def of_resource(self, resource_id: str) -> StoredEvidence | None:
        """The evidence about a resource."""
        return await self._one(_WHOLE.where(evidence.c.resource_id == resource_id))

    async def list(
        self, *, name: str | None, limit: int, cursor: str | None, created: Period = ALWAYS
    ) -> tuple[Sequence[StoredEvidence], str | None]:
        """One page, newest first; see the port."""
        query = select(*_AS_IT_STANDS).select_from(_REVOKED)
        if name:
            query = query.where(contains(evidence.c.resource_name, name))
        rows, following = await self._page(
            query, evidence.c.serial, evidence.c.issued_at, created, limit, cursor, "evidence", name or ""
        )
        return [_stored(row, None) for row in rows], following

    async def _one(self, query: Select[Any]) -> StoredEvidence | None:
        row = (await self._transaction.execute(query)).one_or_none()
        if row is None:
            return None
        packed = await self._vault.unseal_bytes(row.envelope, "evidence", row.id)
        return _stored(row, zlib.decompress(packed))


def _stored(row: Any, envelope: bytes | None) -> StoredEvidence:  # noqa: ANN401 - a row
    revocation = None if row.revoked_at is None else Revocation(row.revoked_at, row.reason)
    return StoredEvidence(
        **{name: getattr(row, name) for name in _FIELDS}, envelope=envelope, revocation=revocation
    )


async def first_unusable_key(transaction: TenantTransaction, master_key: MasterKey) -> str | None:
    """The id of a signing key whose private part is not that of its public key; None if all are whole."""
    for row in await transaction.execute(select(signing_keys)):
        try:
            private = master_key.unwrap(row.wrapped_key, transaction.tenant, row.id, "signing_key")
        except Unavailable:
            return str(row.id)
        raw = Ed25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()
        if raw != row.public_key or key_id_of(raw) != row.id:
            return str(row.id)
    return None
