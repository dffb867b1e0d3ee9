"""Composes the service over HTTP: settings → store → use cases → API and pages."""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from socket import socket
from typing import TYPE_CHECKING, Any, Final

import uvicorn
from fastapi import FastAPI
from prometheus_client import CollectorRegistry
from sqlalchemy.ext.asyncio import AsyncEngine
from starlette.datastructures import State

from app.api.app import create_app
from app.api.connections import BoundedConnection
from app.api.metrics import QueueMetrics, serve_metrics
from app.api.places import Places
from app.api.services import Services
from app.composition.addresses import at_the_address_of
from app.composition.configured import tenant_defaults
from app.composition.database import Database, utc_now
from app.domain.errors import Unavailable
from app.persistence import doctor
from app.persistence.addresses import create_engine
from app.persistence.full_disk import full_disk
from app.persistence.registry import PostgresPageSessions, PostgresRegistry, PostgresRequestRates
from app.persistence.signals import PostgresRunSignals
from app.persistence.store import PostgresStore
from app.services.deletions import Erased
from app.settings import Settings
from app.web.sessions import Cookies
from app.web.site import install_pages

if TYPE_CHECKING:
    from app.composition.signing_in import SigningIn
    from app.services.datasets.tables import TableLoader

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

ALONE: Final = 20
EACH: Final = 10
"""Connections with the database that a process may have, alone or beside others."""

OWN_MACHINE: Final = ("127.0.0.1", "::1")


def believed_proxies(networks: Sequence[Network]) -> list[str]:
    """What uvicorn takes as ``forwarded_allow_ips``: these networks, or else the machine's own addresses.

    From them alone X-Forwarded-For and X-Forwarded-Proto are read; FORWARDED_ALLOW_IPS is not heeded.
    """
    return [str(network) for network in networks] or list(OWN_MACHINE)


def openapi() -> dict[str, Any]:
    """The OpenAPI document of the service; needs no database."""
    # Imported here: it loads the operations of all resources, which a server does when they are asked for.
    from app.api.openapi import made_document

    return made_document()


@dataclass(frozen=True)
class Shared:
    """What a process shares with others that answer requests at the same address."""

    addresses: Sequence[socket]
    """Sockets that hold the addresses, and do not listen."""
    shown: CollectorRegistry | None
    """What all have counted, for the one that shows it."""


class _Server(uvicorn.Server):
    """A server that tells its port once it answers; whoever waits for a run does not hold its end up."""

    def __init__(self, config: uvicorn.Config, state: State, ready: Callable[[int], None]) -> None:
        super().__init__(config)
        self._state = state
        self._ready = ready

    async def startup(self, sockets: list[socket] | None = None) -> None:
        """Begin to answer."""
        await super().startup(sockets)
        if self.started:  # not if the address is another program's
            self._ready(self.servers[0].sockets[0].getsockname()[1])

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """End; who waits for a run is told how it stands, and need not be cut off."""
        services: Services | None = getattr(self._state, "services", None)
        if services is not None:
            services.runs.end_waits()
        await super().shutdown(sockets)


async def answer(
    settings: Settings, database: Database, ready: Callable[[int], None], shared: Shared | None = None
) -> None:
    """Answer requests until asked to end: at the configured address, or at one that is shared.

    ``ready`` is told the port once it answers there.
    """
    counted = CollectorRegistry()
    with ExitStack() as stack:
        shown = counted if shared is None else shared.shown
        if shown is not None and settings.metrics_port is not None:
            stack.callback(serve_metrics(shown, settings.metrics_host, settings.metrics_port))
        async with application(settings, database, counted, shown) as app:
            # What was made up to here stays; looking through it again would hold requests up.
            gc.collect()
            gc.freeze()
            config = uvicorn.Config(
                app, host=settings.host, port=settings.port, log_config=None, access_log=False,
                server_header=False, timeout_graceful_shutdown=5, http=BoundedConnection, ws="none",
                forwarded_allow_ips=believed_proxies(settings.trusted_proxies),
            )  # fmt: skip
            listening = None if shared is None else [at_the_address_of(one) for one in shared.addresses]
            await _Server(config, app.state, ready).serve(listening)


def _refuse_another_spool() -> None:
    """Raise Unavailable if uploads would wait elsewhere than where whoever runs the service has said.

    Python takes another folder if it cannot write to this one, which may be in memory or on a small disk.
    """
    named = os.environ.get("TMPDIR")
    if named and tempfile.gettempdir() != os.path.abspath(named):
        raise Unavailable(
            f"No file can be made in {named}, where TMPDIR has uploads that are being read wait.",
            "Make that folder, writable for the service and with room, or unset TMPDIR.",
        )


@asynccontextmanager
async def application(
    settings: Settings,
    database: Database,
    metrics: CollectorRegistry,
    shown: CollectorRegistry | None = None,
) -> AsyncIterator[FastAPI]:
    """The API on an open database; refuses one that could leak or cannot be read.

    What ``metrics`` counts of requests may be shown by another registry, with the queue of runs.
    """
    engine = create_engine(database.url, connections=ALONE if settings.processes == 1 else EACH)
    full_disk.folder = database.folder
    _refuse_another_spool()
    try:
        await doctor.refuse_unsafe(engine, database.master_key)
        store = PostgresStore(engine, database.master_key, utc_now, tenant_defaults(settings))
        registry = PostgresRegistry(engine, database.master_key, utc_now)
        await registry.encrypt_webhook_addresses()
        await registry.put_table_hashes_under_keys()
        signing_in = configured_signing_in(settings, registry)
        loaders: list[TableLoader] = []  # what the use cases read tables through, once they are made

        def forget(erased: Erased | None) -> None:
            if erased is None:
                store.forget_all()
            else:
                store.forget(erased.tenant, erased.id)
            for loader in loaders:
                loader.forget(erased)

        def make_services() -> Services:
            # Imported here: it loads all that computes, which nothing else needs that imports this file.
            from app.composition.use_cases import use_cases
            from app.services.datasets.tables import TableLoader

            most_bytes = settings.run_memory_mib * 1024**2
            loaders.append(TableLoader(store, database.table_cache_bytes, most_bytes))
            return use_cases(settings, store, registry, signals, loaders[-1])

        is_https = settings.public_url is not None and settings.public_url.scheme == "https"
        async with PostgresRunSignals(database.url, forget) as signals:
            app = create_app(
                make_services,
                store,
                partial(doctor.readiness, engine),
                max_upload_bytes=settings.upload_max_bytes,
                places=Places(settings.uploads_at_once, settings.direct_at_once),
                identities=None if signing_in is None else signing_in.identities,
                rates=request_rates(settings, engine),
                registry=metrics,
            )
            install_pages(
                app,
                Cookies(database.master_key.derive("pages"), utc_now, always_secure=is_https),
                PostgresPageSessions(engine, utc_now),
                None if signing_in is None else signing_in.organisation,
            )
            queue = QueueMetrics(registry.run_queue, asyncio.get_running_loop())
            if shown is not None:
                shown.register(queue)
            yield app
            if shown is not None:
                shown.unregister(queue)
    finally:
        full_disk.folder = None
        await engine.dispose()


def request_rates(settings: Settings, engine: AsyncEngine) -> PostgresRequestRates | None:
    """What counts the requests of a key; None if they are not limited."""
    limit = settings.requests_per_minute
    return None if limit is None else PostgresRequestRates(engine, utc_now, limit)


def configured_signing_in(settings: Settings, registry: PostgresRegistry) -> SigningIn | None:
    """The identity provider; None if there is none, and then nothing of it is loaded either."""
    if settings.oidc_issuer is None:
        return None
    # Imported here: most services have no identity provider.
    from app.composition.signing_in import signing_in

    return signing_in(settings, settings.oidc_issuer, registry, utc_now)
