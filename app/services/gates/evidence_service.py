"""Use cases on evidence: reading signed reports, and the keys that sign them."""

from __future__ import annotations

from collections.abc import Sequence

from app.domain.errors import NotFound
from app.evidence.keys import PublicKey
from app.services.access.access import require
from app.services.gates.evidence import EvidenceIssuer
from app.services.gates.evidence_values import StoredEvidence
from app.services.ports import Clock, Store
from app.services.resources import Actor, Kind, Period, Scope
from app.services.scoring.assessment_evidence import issue_assessment


class EvidenceService:
    """Read evidence and manage the keys that sign it."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._issuer = EvidenceIssuer(clock)

    async def of_assessment(self, actor: Actor, ref: str) -> StoredEvidence:
        """The evidence of an assessment, issued when it is first asked for; Conflict without a result."""
        async with self._store.work(actor.tenant) as work:
            assessment = await work.resources.get(Kind.ASSESSMENT, ref)
            found = await work.evidence.of_resource(assessment.id)
            if found is not None:
                return found
            issued = await issue_assessment(work, self._issuer, assessment)
            await work.audit.record(actor.key_id, "evidence.issue", issued.id, {"sha256": issued.sha256})
            stored = await work.evidence.get(issued.id)
            await work.commit()
        return stored

    async def of_evaluation(self, actor: Actor, ref: str) -> StoredEvidence:
        """The evidence of a verdict; NotFound while there is no verdict."""
        async with self._store.work(actor.tenant) as work:
            evaluation = await work.resources.get(Kind.EVALUATION, ref)
            found = await work.evidence.of_resource(evaluation.id)
        if found is None:
            raise NotFound("evidence", ref)
        return found

    async def get(self, actor: Actor, ref: str) -> StoredEvidence:
        """The evidence of this id or about this name, whether or not what it is about still exists."""
        async with self._store.work(actor.tenant) as work:
            return await work.evidence.get(ref)

    async def list(
        self, actor: Actor, *, name: str | None, created: Period, limit: int, cursor: str | None
    ) -> tuple[Sequence[StoredEvidence], str | None]:
        """Newest first, without envelopes; ``name`` filters by substring of what it is about."""
        async with self._store.work(actor.tenant) as work:
            return await work.evidence.list(name=name, limit=limit, cursor=cursor, created=created)

    async def keys(self, actor: Actor) -> Sequence[PublicKey]:
        """The tenant's public keys, newest first; the first is made if there is none."""
        async with self._store.work(actor.tenant) as work:
            keys = await work.signing_keys.list()
            if not keys:
                await work.signing_keys.signer()
                keys = await work.signing_keys.list()
                await work.audit.record(actor.key_id, "signing_key.create", keys[0].id, {})
                await work.commit()
        return keys

    async def rotate(self, actor: Actor) -> PublicKey:
        """Begin a new key; the old one stays for verifying, with its end; needs admin."""
        require(actor, Scope.ADMIN)
        async with self._store.work(actor.tenant) as work:
            key = await work.signing_keys.rotate()
            await work.audit.record(actor.key_id, "signing_key.rotate", key.id, {})
            await work.commit()
        return key
