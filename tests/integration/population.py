"""Fills every table with rows of one tenant, through the store."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from app.domain.mechanisms.privacy_loss import PrivacyLoss
from app.evidence.canonical import sha256_of_bytes
from app.evidence.envelope import PAYLOAD_TYPE, Envelope, envelope_bytes, pre_authentication_encoding
from app.persistence.registry import PostgresPageSessions, PostgresRequestRates
from app.services.gates.evidence_values import NewEvidence
from app.services.resources import Actor, Claim, IdempotentReply, Kind, NewResource, Progress, RunState, Scope
from app.services.runs.webhook_values import WebhookEvent


@dataclass(frozen=True)
class Population:
    """The ids of what was made."""

    resources: dict[Kind, str]
    finished_run: str
    running: Claim
    api_key: str
    evidence: str
    drawn: str
    begun: str
    budget: str


def resource(kind, name=None, sha256=None, uses=(), document=None):
    name = name or f"the {kind.value}"
    sha256 = sha256 or f"{kind.value:0<64}"[:64]
    return NewResource(kind, name, sha256, {"rows": 3}, document or {"about": name}, tuple(uses))


async def populate(store, registry, tenant) -> Population:
    async with store.work(tenant) as work:
        await work.pieces.stage(f"{tenant[:8]}-upload", 0, 3, b"piece zero")
        await work.pieces.stage(f"{tenant[:8]}-staged", 0, 3, b"a staged piece")
        upload, _ = await work.pieces.publish(f"{tenant[:8]}-upload", resource(Kind.UPLOAD))
        made = {Kind.UPLOAD: upload}
        for kind in (kind for kind in Kind if kind is not Kind.UPLOAD):
            made[kind], _ = await work.resources.add(resource(kind, uses=[upload.id]))
        key = await work.api_keys.add("a key", f"prefix-{tenant}", b"h" * 32, frozenset(Scope), None)
        await work.idempotency.begin("POST /v1/rules", "key", "fingerprint", "owner")
        await work.idempotency.complete("POST /v1/rules", "key", "owner", IdempotentReply(201, b"{}"))
        await work.webhooks.add("a webhook", "https://x.example/", list(WebhookEvent)[:2], "whsec_AAAA")
        await work.webhooks.send_test("a webhook")
        await work.audit.record(key.id, "rule.create", made[Kind.RULE].id, {})
        await work.tombstones.use_name("a policy@1", "7" * 64)
        await work.tombstones.revoke(made[Kind.EVALUATION], "Chosen for the test.")
        evidence_id = await add_evidence(work, made[Kind.EVALUATION])
        draw = await work.draws.begin("5" * 64, "9" * 64, made[Kind.DATASET].id)
        begun = await work.draws.begin("6" * 64, "9" * 64, made[Kind.DATASET].id)
        await work.draws.store(draw.id, resource(Kind.RELEASE, "drawn"), b"what was drawn")
        loss = PrivacyLoss(Fraction(1), Fraction("1e-6"))
        budget = await work.budgets.add("a budget", "5" * 64, loss)
        await work.same_tables.note(upload.id, ["8" * 64])
        finished = await work.runs.create(made[Kind.OPTIMISATION], "1" * 64, {"seconds": 3.0})
        running = await work.runs.create(made[Kind.ASSESSMENT], "2" * 64, {})
        await work.enqueue(running.id)
        await work.commit()
    first = await registry.claim(finished.id, "worker", 15)
    second = await registry.claim(running.id, "worker", 15)
    async with store.work(tenant) as work:
        await work.runs.finish(first, RunState.SUCCEEDED, result={"risk": 0.5}, error=None)
        await work.runs.heartbeat(second, Progress("computing", 1, 10))
        await work.runs.save_block(second, 0, b"block zero")
        await work.commit()
    sessions = PostgresPageSessions(store._engine, lambda: datetime.now(UTC))
    await sessions.begin(f"prefix-{tenant}", f"session of {tenant}", datetime.now(UTC) + timedelta(hours=8))
    rates = PostgresRequestRates(store._engine, lambda: datetime.now(UTC), 10)
    await rates.count(Actor(tenant, key.id, frozenset()))
    ids = {kind: stored.id for kind, stored in made.items()}
    return Population(ids, finished.id, second, key.id, evidence_id, draw.id, begun.id, budget.id)


async def add_evidence(work, about, report="verdict"):
    """A signed envelope of some content about a stored resource."""
    signer = await work.signing_keys.signer()
    content = b"about " + about.name.encode()
    signature = signer.sign(pre_authentication_encoding(PAYLOAD_TYPE, content))
    envelope = envelope_bytes(Envelope(content, signer.key.id, signature))
    new = NewEvidence(
        report, about.id, about.name, about.sha256, signer.key.id, sha256_of_bytes(envelope),
        about.created_at, envelope,
    )  # fmt: skip
    return (await work.evidence.add(new)).id
