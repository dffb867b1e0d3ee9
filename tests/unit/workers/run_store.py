"""The runs of one tenant in memory, behind the ports: enough to test what drives them."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from app.domain.errors import Conflict, NotFound, Unavailable
from app.services.ports import Fenced
from app.services.resources import (
    Claim,
    Kind,
    NewResource,
    Run,
    RunEvent,
    RunState,
    Stored,
    TenantId,
    Wishes,
)

TENANT = TenantId("00000000-0000-0000-0000-000000000001")
NOW = datetime(2026, 11, 20, tzinfo=UTC)


@dataclass
class State:
    runs: dict[str, Run] = field(default_factory=dict)
    blocks: dict[str, dict[int, bytes]] = field(default_factory=dict)
    events: dict[str, list[RunEvent]] = field(default_factory=dict)
    run_results: dict[str, dict] = field(default_factory=dict)
    results: dict[tuple[str, str], dict] = field(default_factory=dict)
    resources: dict[tuple[Kind, str], Stored | NewResource] = field(default_factory=dict)
    queue: list[str] = field(default_factory=list)
    audit: list[tuple[str, str]] = field(default_factory=list)
    losses: Counter[str] = field(default_factory=Counter)


class MemoryRuns:
    """Store, unit of work, runs, resources, results, registry and signals in one; commits at once.

    ``away`` makes every transaction fail like a database that is down; ``outages`` does so that many
    times.
    """

    def __init__(self) -> None:
        self.state = State()
        self.away = False
        self.outages = 0
        self.heartbeats: list[object] = []
        self.runs = self.resources = self.results = self.audit = self

    def add_run(self, run_id: str = "run-1", kind: Kind = Kind.OPTIMISATION, state=RunState.QUEUED) -> Run:
        stored = Stored(f"res-{run_id}", kind, f"name-{run_id}", "sha", NOW, {}, {})
        self.state.resources[kind, stored.id] = stored
        run = Run(run_id, stored.id, kind, stored.name, state, 0, "input", NOW)
        self.state.runs[run_id] = run
        self.state.blocks[run_id] = {}
        self.state.events[run_id] = []
        return run

    def tell(self, run_id: str, type: str, **data: object) -> None:
        events = self.state.events[run_id]
        events.append(RunEvent(run_id, len(events) + 1, type, data, NOW))

    @contextlib.asynccontextmanager
    async def work(self, tenant: TenantId) -> AsyncIterator[MemoryRuns]:
        assert tenant == TENANT
        if self.away or self.outages:
            self.outages = max(0, self.outages - 1)
            raise Unavailable("the database does not answer")
        yield self

    async def commit(self) -> None: ...

    async def enqueue(self, run_id: str) -> None:
        self.state.queue.append(run_id)

    async def record(self, key_id: str, action: str, subject: str, details: object) -> None:
        self.state.audit.append((action, subject))

    async def wait(self, run_id: str, timeout_seconds: float) -> None: ...

    async def get(self, *args: object) -> Run | Stored:
        if len(args) == 2:
            for (kind, _), resource in self.state.resources.items():
                if kind is args[0] and args[1] in (getattr(resource, "id", None), resource.name):
                    return resource
            raise NotFound(*args)
        if args[0] not in self.state.runs:
            raise NotFound("run", str(args[0]))
        return self.state.runs[args[0]]

    async def add(self, new: NewResource) -> tuple[NewResource, bool]:
        key = (new.kind, new.name)
        old = self.state.resources.setdefault(key, new)
        if old.sha256 != new.sha256:
            raise Conflict("the name is taken")
        return old, old is new

    async def save(self, kind: str, input_sha256: str, document: dict, about: str) -> None:
        self.state.results[kind, input_sha256] = document

    async def find(self, kind: str, input_sha256: str) -> dict | None:
        return self.state.results.get((kind, input_sha256))

    async def list(self, *, resource_id, state, limit: int, cursor) -> tuple[tuple[Run, ...], None]:
        runs = [r for r in self.state.runs.values() if resource_id in (None, r.resource_id)]
        return tuple(runs[:limit]), None

    async def events_after(self, run_id: str, number: int, limit: int) -> list[RunEvent]:
        return self.state.events[run_id][number : number + limit]

    async def blocks(self, run_id: str) -> dict[int, bytes]:
        return dict(self.state.blocks[run_id])

    async def result(self, run_id: str) -> dict:
        return self.state.run_results[run_id]

    async def request_cancel(self, run_id: str) -> Run:
        run = self.state.runs[run_id]
        change = {"cancel_requested": True}
        if run.state is RunState.QUEUED:
            change = {"state": RunState.CANCELLED}
        return self._set(run_id, **change)

    async def request_stop(self, run_id: str) -> tuple[Run, bool]:
        run = self.state.runs[run_id]
        if run.state.is_final and run.state is not RunState.SUCCEEDED:
            raise Conflict("it has ended")
        is_news = not (run.state.is_final or run.stop_requested)
        return (self._set(run_id, stop_requested=True) if is_news else run), is_news

    async def claim(self, run_id: str, worker: str, silent_seconds: float) -> Claim | None:
        run = self.state.runs[run_id]
        if run.state is not RunState.QUEUED:
            return None
        run = self._set(run_id, state=RunState.RUNNING, attempt=run.attempt + 1)
        return Claim(run_id, TENANT, run.attempt)

    async def heartbeat(self, claim: Claim, progress: object) -> Wishes:
        run = self._fence(claim)
        self.heartbeats.append(progress)
        if progress is not None:
            self._set(claim.run_id, progress=progress)
        return Wishes(run.cancel_requested, run.stop_requested)

    async def release(self, claim: Claim, *, spend_attempt: bool) -> None:
        self._fence(claim)
        self._set(
            claim.run_id, state=RunState.QUEUED, attempt=claim.attempt if spend_attempt else claim.attempt - 1
        )

    async def count_loss(self, claim: Claim) -> int:
        self._fence(claim)
        self.state.losses[claim.run_id] += 1
        return self.state.losses[claim.run_id]

    async def save_block(self, claim: Claim, block: int, payload: bytes) -> None:
        self._fence(claim)
        self.state.losses[claim.run_id] = 0
        self.state.blocks[claim.run_id][block] = payload

    async def finish(
        self,
        claim: Claim,
        state: RunState,
        *,
        result: dict | None,
        error: dict | None,
        reproducible: bool = True,
    ) -> Run:
        run = self._fence(claim)
        if result is not None:
            self.state.run_results[claim.run_id] = result
            if reproducible:
                self.state.results[run.resource_kind.value, run.input_sha256] = result
        return self._set(claim.run_id, state=state, error=error)

    def _fence(self, claim: Claim) -> Run:
        run = self.state.runs[claim.run_id]
        if run.state is not RunState.RUNNING or run.attempt != claim.attempt:
            raise Fenced
        return run

    def _set(self, run_id: str, **change: object) -> Run:
        self.state.runs[run_id] = replace(self.state.runs[run_id], **change)
        return self.state.runs[run_id]
