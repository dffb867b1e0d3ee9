"""The ports of the services in memory: the rules of the store without its database."""

from __future__ import annotations

import copy
import hashlib
import json
import zlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from uuid import uuid4

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from app.domain.errors import Conflict, NotFound
from app.evidence.envelope import Signer
from app.evidence.keys import PublicKey
from app.services.answers import Recalled
from app.services.gates.evidence_values import NewEvidence, StoredEvidence
from app.services.resources import (
    ALWAYS,
    ApiKey,
    AuditEvent,
    JsonObject,
    Kind,
    NewResource,
    Page,
    Period,
    Run,
    RunState,
    Scope,
    Stored,
    Tenant,
    TenantId,
)

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


@dataclass
class TenantData:
    """Everything of one tenant; copied at the start of a transaction."""

    resources: dict[str, Stored] = field(default_factory=dict)
    pieces: dict[str, dict[int, bytes]] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    queue: list[str] = field(default_factory=list)
    results: dict[tuple[str, str], JsonObject] = field(default_factory=dict)
    keys: dict[str, tuple[ApiKey, bytes]] = field(default_factory=dict)
    audit: list[tuple[str, str, str, JsonObject]] = field(default_factory=list)
    signing_keys: list[tuple[PublicKey, Ed25519PrivateKey]] = field(default_factory=list)
    evidence: dict[str, StoredEvidence] = field(default_factory=dict)
    read_contents: dict[tuple[str, str], None] = field(default_factory=dict)

    def snapshot(self) -> TenantData:
        return TenantData(
            dict(self.resources),
            {key: dict(value) for key, value in self.pieces.items()},
            dict(self.runs),
            list(self.queue),
            copy.deepcopy(self.results),
            dict(self.keys),
            list(self.audit),
            list(self.signing_keys),
            dict(self.evidence),
            dict(self.read_contents),
        )


class MemoryStore:
    """Transactions are copies that replace the data when they commit."""

    def __init__(self) -> None:
        self.tenants: dict[TenantId, TenantData] = {}
        self.ticks = count()

    def data(self, tenant: TenantId) -> TenantData:
        return self.tenants.setdefault(tenant, TenantData())

    def now(self) -> datetime:
        return NOW + timedelta(seconds=next(self.ticks))

    @asynccontextmanager
    async def work(self, tenant: TenantId) -> AsyncIterator[MemoryWork]:
        yield MemoryWork(self, tenant)


class MemoryWork:
    def __init__(self, store: MemoryStore, tenant: TenantId) -> None:
        self.store, self.tenant = store, tenant
        self.data = store.data(tenant).snapshot()
        self.resources = _Resources(self)
        self.same_tables = _SameTables(self)
        self.pieces = _Pieces(self)
        self.runs = _Runs(self)
        self.results = _Results(self)
        self.questions = _Questions(self)
        self.api_keys = _ApiKeys(self)
        self.audit = _Audit(self)
        self.signing_keys = _SigningKeys(self)
        self.evidence = _Evidence(self)

    async def enqueue(self, run_id: str) -> None:
        self.data.queue.append(run_id)

    async def commit(self) -> None:
        self.store.tenants[self.tenant] = self.data
        self.data = self.data.snapshot()


class _Part:
    def __init__(self, work: MemoryWork) -> None:
        self._work = work

    @property
    def data(self) -> TenantData:
        return self._work.data


class _SameTables(_Part):
    async def note(self, content_sha256, table_hashes, nameless=None):
        self._work.data.read_contents |= {(content_sha256, own): own == nameless for own in table_hashes}

    async def are_nameless(self):
        noted = self._work.data.read_contents
        return all(any(own for of, own in noted.items() if of[0] == content) for content, _ in noted)

    async def noted(self):
        return list(self._work.data.read_contents)


class _Resources(_Part):
    def put(self, new: NewResource, id_: str) -> tuple[Stored, bool]:
        for found in self.data.resources.values():
            if found.kind is new.kind and found.name == new.name:
                if found.sha256 == new.sha256:
                    return found, False
                raise Conflict("The name is taken by other content.", "Choose another name.")
        for used in new.uses:
            if used not in self.data.resources:
                raise NotFound("resource", used)
        document = new.document if new.packed is None else json.loads(zlib.decompress(new.packed))
        stored = Stored(
            id_, new.kind, new.name, new.sha256, self._work.store.now(), new.summary, document, new.uses
        )
        self.data.resources[id_] = stored
        return stored, True

    async def add(self, new: NewResource) -> tuple[Stored, bool]:
        return self.put(new, uuid4().hex)

    async def get(self, kind: Kind, ref: str) -> Stored:
        for found in self.data.resources.values():
            if found.kind is kind and ref in (found.id, found.name):
                return found
        raise NotFound(kind.value, ref)

    async def described(self, kind: Kind, ref: str) -> Stored:
        return replace(await self.get(kind, ref), document=None)

    async def list(
        self,
        kind: Kind,
        *,
        name: str | None,
        limit: int,
        cursor: str | None,
        built_on: str | None = None,
        created: Period = ALWAYS,
    ) -> Page[Stored]:
        found = [r for r in self.data.resources.values() if r.kind is kind and (name or "") in r.name]
        found = [r for r in found if created.since is None or r.created_at >= created.since]
        found = [r for r in found if created.until is None or r.created_at < created.until]
        found = [r for r in found if built_on is None or built_on in r.uses]
        found.sort(key=lambda r: r.created_at, reverse=True)
        start = int(cursor or 0)
        items = tuple(replace(r, document=None) for r in found[start : start + limit])
        return Page(items, str(start + limit) if start + limit < len(found) else None)

    async def delete(self, kind: Kind, ref: str) -> None:
        found = await self.get(kind, ref)
        users = [r.name for r in self.data.resources.values() if found.id in r.uses]
        if users:
            raise Conflict("It is in use.", "Delete its users first.", {"users": users})
        del self.data.resources[found.id]
        self.data.pieces.pop(found.id, None)

    async def delete_all(self, found: Sequence[Stored]) -> None:
        for own in found:
            await self.delete(own.kind, own.id)

    async def users_of(self, used_id: str) -> Sequence[Stored]:
        raise NotImplementedError

    async def require_unused(self, own: Stored, but_for: Sequence[Stored] = ()) -> None:
        raise NotImplementedError


class _Pieces(_Part):
    async def stage(self, upload_id: str, number: int, rows: int, payload: bytes) -> None:
        assert isinstance(payload, bytes)
        self.data.pieces.setdefault(upload_id, {})[number] = payload

    async def keep(self, upload_id: str) -> None:
        """Nothing is ever swept here."""

    async def publish(self, upload_id: str, new: NewResource) -> tuple[Stored, bool]:
        stored, created = self._work.resources.put(new, upload_id)
        if not created:
            await self.discard(upload_id)
        return stored, created

    async def discard(self, upload_id: str) -> None:
        self.data.pieces.pop(upload_id, None)

    async def read(self, upload_id: str) -> AsyncIterator[bytes]:
        for number in sorted(self.data.pieces[upload_id]):
            yield self.data.pieces[upload_id][number]

    async def secret(self, upload_id: str, purpose: str) -> bytes:
        return hashlib.sha256(f"{self._work.tenant}/{upload_id}/{purpose}".encode()).digest()


class _Runs(_Part):
    async def create(self, resource: Stored, input_sha256: str, estimate: JsonObject) -> Run:
        known = (resource.kind.value, input_sha256) in self.data.results
        state = RunState.SUCCEEDED if known else RunState.QUEUED
        run = Run(
            uuid4().hex,
            resource.id,
            resource.kind,
            resource.name,
            state,
            0,
            input_sha256,
            self._work.store.now(),
        )
        self.data.runs[run.id] = run
        return run

    async def list(
        self, *, resource_id: str | None, state: RunState | None, limit: int, cursor: str | None
    ) -> tuple[tuple[Run, ...], str | None]:
        found = [
            run
            for run in self.data.runs.values()
            if resource_id in (None, run.resource_id) and state in (None, run.state)
        ]
        found.sort(key=lambda run: run.created_at, reverse=True)
        return tuple(found[:limit]), None

    async def result(self, run_id: str) -> JsonObject:
        run = self.data.runs[run_id]
        return self.data.results[run.resource_kind.value, run.input_sha256]


class _Results(_Part):
    async def find(self, kind: str, input_sha256: str) -> JsonObject | None:
        return self.data.results.get((kind, input_sha256))

    async def save(self, kind: str, input_sha256: str, document: JsonObject, about: str) -> None:
        self.data.results[kind, input_sha256] = document


class _Questions(_Part):
    async def recall(
        self, kind: Kind, name: str, sha256: str, believed: Mapping[tuple[Kind, str], str | None]
    ) -> Recalled | None:
        for (own, ref), id_ in believed.items():
            if await self._id_of(own, ref) != id_:
                return None
        stored = await self._id_of(kind, name)
        return Recalled(self.data.results.get((kind.value, sha256)), stored and self.data.resources[stored])

    async def view(self, kind: Kind, ref: str) -> tuple[Stored, JsonObject | None]:
        stored = await self._work.resources.get(kind, ref)
        return stored, self.data.results.get((kind.value, stored.sha256))

    async def answer(
        self, new: NewResource, result: JsonObject, key_id: str, details: JsonObject
    ) -> tuple[Stored, bool]:
        stored, created = await self._work.resources.add(new)
        if created:
            told = {"sha256": stored.sha256, **details}
            await self._work.audit.record(key_id, f"{new.kind.value}.create", stored.id, told)
        await self._work.results.save(new.kind.value, new.sha256, result, stored.id)
        return stored, created

    async def _id_of(self, kind: Kind, ref: str) -> str | None:
        try:
            return (await self._work.resources.get(kind, ref)).id
        except NotFound:
            return None


class _ApiKeys(_Part):
    async def add(
        self,
        name: str,
        prefix: str,
        secret_sha256: bytes,
        scopes: frozenset[Scope],
        expires_at: datetime | None,
    ) -> ApiKey:
        key = ApiKey(uuid4().hex, self._work.tenant, name, prefix, scopes, self._work.store.now(), expires_at)
        self.data.keys[key.id] = key, secret_sha256
        return key

    async def list(self) -> Sequence[ApiKey]:
        return [key for key, _ in self.data.keys.values()]

    async def revoke(self, key_id: str) -> ApiKey:
        if key_id not in self.data.keys:
            raise NotFound("api key", key_id)
        key, secret = self.data.keys[key_id]
        key = replace(key, revoked_at=key.revoked_at or self._work.store.now())
        self.data.keys[key_id] = key, secret
        return key


class _Audit(_Part):
    async def record(self, key_id: str, action: str, subject: str, details: JsonObject) -> None:
        self.data.audit.append((key_id, action, subject, details))

    async def list(
        self, *, action: str, subject: str, limit: int, cursor: None
    ) -> tuple[list[AuditEvent], None]:
        at, chained = self._work.store.now(), "0" * 64
        found = [
            AuditEvent(number, by, f"name of {by}", did, what, details, at, chained)
            for number, (by, did, what, details) in enumerate(self.data.audit, start=1)
            if did.startswith(action) and what == subject
        ]
        return found[::-1][:limit], None


class _SigningKeys(_Part):
    async def signer(self) -> Signer:
        if not self.data.signing_keys:
            await self.rotate()
        key, private = self.data.signing_keys[-1]
        return Signer(key, private.sign)

    async def rotate(self) -> PublicKey:
        private, at = Ed25519PrivateKey.generate(), self._work.store.now()
        if self.data.signing_keys:
            old, old_private = self.data.signing_keys[-1]
            self.data.signing_keys[-1] = replace(old, valid_until=at), old_private
        self.data.signing_keys.append((PublicKey(private.public_key().public_bytes_raw(), at), private))
        return self.data.signing_keys[-1][0]

    async def list(self) -> Sequence[PublicKey]:
        return [key for key, _ in reversed(self.data.signing_keys)]


class _Evidence(_Part):
    async def add(self, new: NewEvidence) -> StoredEvidence:
        found = await self.of_resource(new.resource_id)
        if found is None:
            found = StoredEvidence(id=uuid4().hex, **vars(new))
            self.data.evidence[found.id] = found
        return found

    async def get(self, ref: str) -> StoredEvidence:
        found = [own for own in self.data.evidence.values() if ref in (own.id, own.resource_name)]
        if not found:
            raise NotFound("evidence", ref)
        return found[-1]

    async def of_resource(self, resource_id: str) -> StoredEvidence | None:
        return next((own for own in self.data.evidence.values() if own.resource_id == resource_id), None)

    async def list(
        self, *, name: str | None, limit: int, cursor: str | None
    ) -> tuple[Sequence[StoredEvidence], str | None]:
        found = [own for own in self.data.evidence.values() if (name or "") in own.resource_name]
        start = int(cursor or 0)
        following = str(start + limit) if start + limit < len(found) else None
        return [replace(own, envelope=None) for own in found[::-1][start : start + limit]], following


class MemoryRegistry:
    """Tenants, and keys before their tenant is known."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self.known: dict[str, Tenant] = {}
        self.touched: list[str] = []

    async def find_api_key(self, prefix: str) -> tuple[ApiKey, bytes] | None:
        for data in self._store.tenants.values():
            for key, secret in data.keys.values():
                if key.prefix == prefix:
                    return key, secret
        return None

    async def touch_api_key(self, key_id: str) -> None:
        self.touched.append(key_id)

    async def add_tenant(self, name: str) -> tuple[Tenant, bool]:
        if name in self.known:
            return self.known[name], False
        tenant = Tenant(TenantId(hashlib.sha256(name.encode()).hexdigest()[:32]), name, self._store.now())
        self.known[name] = tenant
        return tenant, True

    async def list_tenants(self) -> Sequence[Tenant]:
        return list(self.known.values())
