"""The ports: what services need from the store, the queue and the clock, as protocols.

Persistence and workers implement them; an in-memory twin lives with the tests.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Final, Protocol

from app.evidence.envelope import Signer
from app.evidence.keys import PublicKey
from app.services.access.tenant_settings import OwnTenant
from app.services.answers import Questions
from app.services.gates.evidence_values import NewEvidence, StoredEvidence
from app.services.gates.tombstones import Tombstones
from app.services.releases.budgets import Budgets
from app.services.releases.draws import Draws
from app.services.releases.same_tables import SameTables
from app.services.resources import (
    ALWAYS,
    ApiKey,
    AuditEvent,
    AuditVerification,
    Claim,
    IdempotentReply,
    JsonObject,
    Kind,
    LostRun,
    NewResource,
    Page,
    Period,
    Progress,
    Removed,
    Run,
    RunEvent,
    RunState,
    Scope,
    Stored,
    Tenant,
    TenantId,
    Wishes,
)
from app.services.runs.webhook_values import DueDelivery, Shares, Webhooks

RUN_QUEUE: Final = "runs"
RUN_TASK: Final = "execute_run"
"""Queue and task of the jobs that carry runs; a job's only argument is ``run_id``, also its queueing lock."""


class Fenced(Exception):
    """A worker's claim is outdated: its run is final, or belongs to a newer attempt.

    Seen by workers only, which then drop the run; no request ever meets it.
    """


class Clock(Protocol):
    """The present, timezone-aware UTC."""

    def __call__(self) -> datetime:
        """Now."""


class Resources(Protocol):
    """The tenant's named, immutable resources of every kind."""

    async def add(self, new: NewResource) -> tuple[Stored, bool]:
        """Store it and answer (stored, True); the existing one and False if name and sha256 agree.

        Raises Conflict if the name is taken by other content, NotFound if a used id is gone.
        """

    async def get(self, kind: Kind, ref: str) -> Stored:
        """The resource with its document, by id or name; NotFound otherwise."""

    async def described(self, kind: Kind, ref: str) -> Stored:
        """The same without its document, which may be large."""

    async def list(
        self,
        kind: Kind,
        *,
        name: str | None,
        limit: int,
        cursor: str | None,
        built_on: str | None = None,
        created: Period = ALWAYS,
        revoked: bool | None = None,
    ) -> Page[Stored]:
        """Newest first, without documents; ``name`` filters by substring, ``built_on`` by an id used.

        ``revoked`` filters evaluations by whether their verdicts are revoked.
        """

    async def delete(self, kind: Kind, ref: str) -> None:
        """Delete it with what it alone owns (pieces, key); Conflict naming its users if it is in use."""

    async def delete_all(self, found: Sequence[Stored]) -> None:
        """Delete these, each after those that are built on it, with what they own; Conflict as above."""

    async def users_of(self, used_id: str) -> Sequence[Stored]:
        """All that is built on it, at whatever remove, the newest first; without documents."""

    async def require_unused(self, own: Stored, but_for: Sequence[Stored] = ()) -> None:
        """Conflict naming what is built on it, but for these, and its runs at work."""


class Pieces(Protocol):
    """The encrypted Parquet pieces of uploads."""

    async def stage(self, upload_id: str, number: int, rows: int, payload: bytes) -> None:
        """Encrypt and write one piece in a transaction of its own; invisible until ``publish``.

        Pieces are numbered from 0. Raises Unavailable if those before were removed meanwhile.
        """

    async def keep(self, upload_id: str) -> None:
        """Show in a transaction of its own that the upload is under way, if it has pieces yet."""

    async def publish(self, upload_id: str, new: NewResource) -> tuple[Stored, bool]:
        """Make the staged pieces an upload resource under this id, or discard them if it exists."""

    async def discard(self, upload_id: str) -> None:
        """Remove staged pieces and their key."""

    def read(self, upload_id: str) -> AsyncIterator[bytes]:
        """Decrypted pieces in order."""

    async def secret(self, upload_id: str, purpose: str) -> bytes:
        """32 bytes that follow from the upload's key and the purpose; they vanish with the key.

        The same at every call and in every process; NotFound if the key was destroyed.
        """


class Runs(Protocol):
    """The tenant's runs. Writes of a worker carry its claim and fail with Fenced when it is outdated."""

    async def create(self, resource: Stored, input_sha256: str, estimate: JsonObject) -> Run:
        """Queue a run; it is created as succeeded if a result with this input hash is stored already."""

    async def get(self, run_id: str) -> Run:
        """The run as it stands; NotFound otherwise."""

    async def list(
        self,
        *,
        resource_id: str | None,
        state: RunState | None,
        limit: int,
        cursor: str | None,
        name: str | None = None,
        created: Period = ALWAYS,
    ) -> tuple[tuple[Run, ...], str | None]:
        """Newest first, and the next cursor; ``name`` filters by substring of the resource's name."""

    async def request_cancel(self, run_id: str) -> Run:
        """Queued: cancelled at once. Running: flag it; its worker ends it. Final: Conflict."""

    async def request_stop(self, run_id: str) -> tuple[Run, bool]:
        """Flag a run that is not final; whether that was news. Succeeded: nothing. Otherwise final: Conflict.

        A queued run stays queued: its worker then ends it with what can be said without searching.
        """

    async def events_after(self, run_id: str, number: int, limit: int) -> Sequence[RunEvent]:
        """At most ``limit`` events in order, from the one after ``number``."""

    async def claim(self, run_id: str, worker: str, silent_seconds: float) -> Claim | None:
        """Take a queued or lost run for one attempt more; see :class:`Registry`."""

    async def heartbeat(self, claim: Claim, progress: Progress | None) -> Wishes:
        """Record life and progress; answers what was asked of the run meanwhile."""

    async def release(self, claim: Claim, *, spend_attempt: bool) -> None:
        """Make the run queued again, its blocks kept, because the claim's child is gone.

        ``spend_attempt`` says whether the next claim counts as one attempt more (the child died)
        or as the same one again (its worker was asked to stop).
        """

    async def count_loss(self, claim: Claim) -> int:
        """Count that the claim's child has died; how often since the run's last new block."""

    async def save_block(self, claim: Claim, block: int, payload: bytes) -> None:
        """Keep a finished block; one that is there already is replaced. Earlier losses count no more."""

    async def blocks(self, run_id: str) -> dict[int, bytes]:
        """The finished blocks by number; none once the run is final."""

    async def finish(
        self,
        claim: Claim,
        state: RunState,
        *,
        result: JsonObject | None,
        error: JsonObject | None,
        reproducible: bool = True,
    ) -> Run:
        """End the run, store its result and drop its blocks.

        A reproducible result answers every run of the same input; another one answers this run alone.
        """

    async def result(self, run_id: str) -> JsonObject:
        """The result document; NotFound while there is none."""


class Results(Protocol):
    """Results by the hash of everything that went in."""

    async def find(self, kind: str, input_sha256: str) -> JsonObject | None:
        """The stored result, if the same was computed before."""

    async def save(self, kind: str, input_sha256: str, document: JsonObject, about: str) -> None:
        """Keep a result about a resource, whose id is ``about``; one that is there already stays.

        It is encrypted as that resource is: under the key of the upload that it rests on, if it does.
        """


class IdempotencyKeys(Protocol):
    """Replies kept for 24 h per tenant and route."""

    async def begin(self, route: str, key: str, fingerprint: str, owner: str) -> IdempotentReply | None:
        """None: go on, the owner now holds the key. A reply: the request was answered before.

        Raises Conflict, saying when to come back, while the first request is in flight, InvalidInput for
        another fingerprint.
        """

    async def renew(self, route: str, key: str, owner: str) -> bool:
        """Hold the key for another lease; False if the owner has it no more."""

    async def complete(self, route: str, key: str, owner: str, reply: IdempotentReply) -> bool:
        """Keep the reply for the next request with this key; False if the owner has the key no more."""

    async def abandon(self, route: str, key: str, owner: str) -> None:
        """Free the owner's key, whose request came to nothing."""


class ApiKeys(Protocol):
    """The API keys of one tenant."""

    async def add(
        self,
        name: str,
        prefix: str,
        secret_sha256: bytes,
        scopes: frozenset[Scope],
        expires_at: datetime | None,
    ) -> ApiKey:
        """Keep a key, as the hash of its secret; Conflict if a key that is not revoked has its name."""

    async def list(self) -> Sequence[ApiKey]:
        """All keys, newest first, revoked ones too."""

    async def revoke(self, ref: str) -> ApiKey:
        """End one, by its id or the name of one that is not revoked; NotFound without it."""


class Audit(Protocol):
    """The tenant's hash-chained audit events; they hold ids, kinds and hashes, never data."""

    async def record(self, key_id: str, action: str, subject: str, details: JsonObject) -> None:
        """Append an event; writers of one tenant take turns until they commit."""

    async def list(
        self,
        *,
        action: str | None,
        subject: str | None,
        limit: int,
        cursor: str | None,
        created: Period = ALWAYS,
    ) -> tuple[Sequence[AuditEvent], str | None]:
        """Newest first; ``action`` filters by its beginning, ``subject`` by the id that it is about."""

    async def verify(self) -> AuditVerification:
        """Whether each event follows from the one before."""


class SigningKeys(Protocol):
    """The keys that sign the tenant's evidence; private parts never leave the store."""

    async def signer(self) -> Signer:
        """The signer of the key in use, made if there is none; the key stays in use until this work ends."""

    async def rotate(self) -> PublicKey:
        """End the key in use, if there is one, and begin another."""

    async def list(self) -> Sequence[PublicKey]:
        """All keys, newest first."""


class Evidence(Protocol):
    """The tenant's signed reports. They are never changed, and outlive what they are about."""

    async def add(self, new: NewEvidence) -> StoredEvidence:
        """Keep it; the one that there is already if the resource has some."""

    async def get(self, ref: str) -> StoredEvidence:
        """The evidence of this id or sha256, or the newest about what is or was of this name, or NotFound."""

    async def of_resource(self, resource_id: str) -> StoredEvidence | None:
        """The evidence about a resource."""

    async def list(
        self, *, name: str | None, limit: int, cursor: str | None, created: Period = ALWAYS
    ) -> tuple[Sequence[StoredEvidence], str | None]:
        """Newest first, without envelopes; ``name`` filters by substring of what it is about."""


class UnitOfWork(Protocol):
    """One transaction of one tenant; rolled back unless ``commit`` was called."""

    resources: Resources
    pieces: Pieces
    draws: Draws
    budgets: Budgets
    same_tables: SameTables
    runs: Runs
    results: Results
    questions: Questions
    idempotency: IdempotencyKeys
    api_keys: ApiKeys
    audit: Audit
    signing_keys: SigningKeys
    evidence: Evidence
    tombstones: Tombstones
    webhooks: Webhooks
    tenant: OwnTenant

    async def enqueue(self, run_id: str) -> None:
        """Put the run on the queue, inside this transaction."""

    async def commit(self) -> None:
        """Make everything durable."""


class Store(Protocol):
    """The database as services see it."""

    def work(self, tenant: TenantId) -> AbstractAsyncContextManager[UnitOfWork]:
        """A transaction of one tenant, which sees this tenant's rows alone."""


class Registry(Protocol):
    """The look-ups that precede a tenant, and the operator's view of tenants."""

    async def find_api_key(self, prefix: str) -> tuple[ApiKey, bytes] | None:
        """The key and the sha256 of its secret."""

    async def touch_api_key(self, key_id: str) -> None:
        """Note that the key was used, to the minute."""

    async def add_tenant(self, name: str) -> tuple[Tenant, bool]:
        """Make a tenant with its data key; the existing one and False if the name is taken."""

    async def list_tenants(self) -> Sequence[Tenant]:
        """All tenants by name."""

    async def claim(self, run_id: str, worker: str, silent_seconds: float) -> Claim | None:
        """Take a queued or lost run for one attempt more; None if it is final or held by a living worker.

        A running run is lost once its heartbeat has been silent for ``silent_seconds``.
        """

    async def lost_runs(self, silent_seconds: float) -> Sequence[LostRun]:
        """Runs that are running without a recent heartbeat, or queued without a job."""

    async def fail_lost(self, lost: LostRun, error: JsonObject) -> None:
        """End a run whose attempts are used up; nothing if it is final or in a newer attempt by now."""

    async def forsake(self, worker: str, silent_seconds: float) -> int:
        """Have the running runs of a worker that is dead count as lost at once; how many it had.

        ``silent_seconds`` is the silence after which they would be.
        """

    async def due_deliveries(self, most: int, shares: Shares, hold_seconds: float) -> Sequence[DueDelivery]:
        """Messages of webhooks whose turn has come, held for nobody else for so long.

        Those that are held already count for the shares.
        """

    async def apply_retention(self, tenant: TenantId, most: int) -> Removed:
        """Remove at most so many of each kind of what is past the tenant's retention; what there was."""

    async def discard_stale_uploads(self, silent_seconds: float) -> int:
        """Remove half-written uploads to which nothing was added for so long; how many there were."""


class RunSignals(Protocol):
    """Wakes those who wait for news of a run."""

    async def wait(self, run_id: str, timeout_seconds: float) -> None:
        """Return when something about the run may have changed, or after the timeout."""
