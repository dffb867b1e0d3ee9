"""The application on a real database, for tests to call; runs are worked off by the tests themselves."""

from __future__ import annotations

import io
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx
from fastapi import FastAPI
from prometheus_client import CollectorRegistry

from app.api.app import create_app
from app.api.services import Services
from app.composition.run_process import run_execution
from app.composition.use_cases import use_cases_within
from app.domain.search.budget import Halted, never
from app.persistence.registry import PostgresRegistry
from app.persistence.store import PostgresStore
from app.services.access.identities import IdentityService
from app.services.access.rates import RequestRates
from app.services.access.tenants import CreateApiKey
from app.services.datasets.ingest.dialect import UploadLimits
from app.services.datasets.tables import TableLoader
from app.services.ports import Clock
from app.services.questions import Claimant, DirectBudget
from app.services.resources import Actor, Claim, Scope
from app.services.runs import direct_runs
from privacy_risk import AsyncClient, Retries
from tests.api.described_answers import check_described

UPLOAD_BYTES = 200_000
BODY_BYTES = 400_000
# A run that is done at once goes to a worker after so long. Here is none: a busy machine must decide nothing.
direct_runs.OVERRUN = 100.0  # type: ignore[misc]
LIMITS = UploadLimits(
    max_bytes=UPLOAD_BYTES, max_decompressed_bytes=10 * UPLOAD_BYTES, max_columns=50, max_cell_bytes=1000
)


class InstantSignals:
    """News of runs that never come: whoever waits looks again at once."""

    async def wait(self, run_id: str, timeout_seconds: float) -> None:
        return None


@dataclass(frozen=True)
class Api:
    """The application and what tests look at beside it."""

    app: FastAPI
    services: Services
    store: PostgresStore
    loader: TableLoader
    registry: PostgresRegistry
    clock: Clock
    metrics: CollectorRegistry
    log: io.StringIO

    def client(self, token: str | None) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(app=self.app, raise_app_exceptions=False),
            base_url="http://service",
            headers={"Authorization": f"Bearer {token}"} if token else {},
            event_hooks={"response": [check_described]},
        )

    def python_client(self, token: str) -> AsyncClient:
        """The client of programs in Python, over the application itself."""
        transport = httpx.ASGITransport(app=self.app, raise_app_exceptions=False)
        return AsyncClient("http://service", token, transport=transport, retries=Retries(attempts=1))

    async def tenant_with_key(self) -> tuple[Actor, str]:
        """A new tenant, and a key of it with every scope."""
        created = await self.services.tenants.bootstrap(f"tenant-{secrets.token_hex(8)}")
        assert created.first_key is not None
        token = created.first_key.token
        return await self.services.tenants.authenticate(token), token

    async def key_with(self, actor: Actor, *scopes: Scope) -> str:
        request = CreateApiKey(f"key-{secrets.token_hex(8)}", frozenset(scopes))
        return (await self.services.tenants.create_key(actor, request)).token

    async def work_off(self, run_id: str, stopped: Halted = never) -> None:
        """Do the work of a queued run, as a worker would."""
        claim = await self.registry.claim(run_id, "test", 60.0)
        if claim is not None:
            await self.execute(claim, stopped)

    async def execute(self, claim: Claim, stopped: Halted = never) -> None:
        """Do what a claim is for."""
        execution = run_execution(self.store, self.loader, self.loader, clock=self.clock)
        await execution.execute(claim, lambda progress: None, stopped)

    def log_lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.getvalue().splitlines()]


def build_api(
    store: PostgresStore,
    registry: PostgresRegistry,
    clock: Clock,
    limits: UploadLimits = LIMITS,
    body_bytes: int = BODY_BYTES,
    budget: DirectBudget = DirectBudget(),  # noqa: B008 - immutable
    identities: IdentityService | None = None,
    rates: RequestRates | None = None,
) -> Api:
    """The use cases and the application around them; small limits, so that tests can exceed them."""
    loader = TableLoader(store)
    claimant = Claimant(budget, "test api")
    services = use_cases_within(limits, claimant, store, registry, InstantSignals(), loader, clock)
    metrics, log = CollectorRegistry(), io.StringIO()
    app = create_app(
        lambda: services,
        store,
        _ready,
        max_upload_bytes=limits.max_bytes,
        max_body_bytes=body_bytes,
        identities=identities,
        rates=rates,
        registry=metrics,
        log_stream=log,
    )
    return Api(app, services, store, loader, registry, clock, metrics, log)


async def _ready() -> Mapping[str, bool]:
    return {"database": True}
