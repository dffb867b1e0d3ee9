"""Which policies' names were used, and which verdicts are revoked, in PostgreSQL.

Both are append-only: the runtime role may neither change nor delete them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlalchemy import literal, or_, select
from sqlalchemy.dialects import postgresql

from app.persistence.repository import Repository
from app.persistence.tables import policy_names, resources, revocations
from app.services.gates.tombstones import Revocation
from app.services.resources import Kind, Stored


class PostgresTombstones(Repository):
    """Implements the port ``Tombstones``."""

    async def use_name(self, name: str, sha256: str) -> str:
        """The hash of the policy that has the name, now or before; see the port."""
        new = postgresql.insert(policy_names).values(
            tenant_id=self._transaction.tenant, name=name, sha256=sha256
        )
        await self._transaction.execute(new.on_conflict_do_nothing())
        query = select(policy_names.c.sha256).where(policy_names.c.name == name)
        return str((await self._transaction.execute(query)).scalar_one())

    async def revoke(self, evaluation: Stored, reason: str) -> bool:
        """Revoke it and those that judged the same; see the port."""
        own = resources.c
        # Of evaluations from before there was such a hash only the very same are not asked again.
        judged = evaluation.summary.get("judged_sha256", evaluation.sha256)
        equal = select(own.tenant_id, own.id, literal(judged), literal(reason), literal(self._clock())).where(
            own.kind == Kind.EVALUATION.value,
            or_(own.id == evaluation.id, own.summary["judged_sha256"].astext == judged),
        )
        columns = ["tenant_id", "id", "judged_sha256", "reason", "revoked_at"]
        new = postgresql.insert(revocations).from_select(columns, equal).on_conflict_do_nothing()
        rows = await self._transaction.execute(new.returning(revocations.c.id))
        return evaluation.id in rows.scalars().all()

    async def revocations(self, keys: Collection[str]) -> Mapping[str, Revocation]:
        """By the ids of evaluations and the hashes of what they judged."""
        own = revocations.c
        rows = await self._transaction.execute(
            select(revocations).where(or_(own.id.in_(keys), own.judged_sha256.in_(keys)))
        )
        found = [(row, Revocation(row.revoked_at, row.reason)) for row in rows]
        return {key: said for row, said in found for key in (row.id, row.judged_sha256)}
