"""Composes the service over HTTP: settings → store → use cases → API and pages."""

from __future__ import annotations

import asyncio
import gc
import ipaddress
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

import uvicorn
from fastapi import FastAPI
from prometheus_client import CollectorRegistry

from app.api.app import create_app
from app.api.connections import BoundedConnection
from app.api.metrics import serve_metrics
from app.api.places import Places
from app.api.services import Services
from app.composition.configured import MIB, configured_database, tenant_defaults
from app.composition.database import Database, utc_now
from app.composition.processes import embedded_database, worker_process
from app.composition.starter import end_with_starter
from app.logs import configure_logs
from app.persistence import doctor
from app.persistence.addresses import create_engine
from app.persistence.embedded import EmbeddedPostgres
from app.persistence.registry import PostgresPageSessions, PostgresRegistry
from app.persistence.signals import PostgresRunSignals
from app.persistence.store import PostgresStore
from app.settings import Settings
from app.web.sessions import Cookies
from app.web.site import install_pages

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

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


def serve(settings: Settings, host: str | None, port: int | None) -> None:
    """Serve until interrupted; without a database address with an embedded PostgreSQL and one worker."""
    end_with_starter()
    configure_logs(settings.log_level)
    chosen = settings.model_copy(
        update={"host": host or settings.host, "port": settings.port if port is None else port}
    )
    if settings.database_url is not None:
        asyncio.run(_serve(chosen, configured_database(settings)))
        return
    with embedded_database(settings.home, status_when_ended=0) as postgres, worker_process(postgres):
        asyncio.run(_serve(chosen, _embedded(postgres, settings)))


def _embedded(postgres: EmbeddedPostgres, settings: Settings) -> Database:
    return Database(postgres.runtime_url, postgres.master_key, settings.table_cache_mib * MIB)


async def _serve(settings: Settings, database: Database) -> None:
    metrics = CollectorRegistry()
    stop_metrics = None
    if settings.metrics_port is not None:
        stop_metrics = serve_metrics(metrics, settings.metrics_host, settings.metrics_port)
    try:
        async with application(settings, database, metrics) as app:
            # What was made up to here stays; looking through it again would hold requests up.
            gc.collect()
            gc.freeze()
            config = uvicorn.Config(
                app, host=settings.host, port=settings.port, log_config=None, access_log=False,
                server_header=False, timeout_graceful_shutdown=5, http=BoundedConnection, ws="none",
                forwarded_allow_ips=believed_proxies(settings.trusted_proxies),
            )  # fmt: skip
            await uvicorn.Server(config).serve()
    finally:
        if stop_metrics is not None:
            stop_metrics()


@asynccontextmanager
async def application(
    settings: Settings, database: Database, metrics: CollectorRegistry
) -> AsyncIterator[FastAPI]:
    """The API on an open database; refuses one that could leak or cannot be read."""
    engine = create_engine(database.url)
    try:
        await doctor.refuse_unsafe(engine, database.master_key)
        store = PostgresStore(engine, database.master_key, utc_now, tenant_defaults(settings))
        registry = PostgresRegistry(engine, database.master_key, utc_now)
        await registry.encrypt_webhook_addresses()
        async with PostgresRunSignals(database.url) as signals:

            def make_services() -> Services:
                # Imported here: it loads all that computes, which a process at rest need not hold.
                from app.composition.use_cases import use_cases

                return use_cases(settings, store, registry, signals, database.table_cache_bytes)

            app = create_app(
                make_services,
                store,
                partial(doctor.readiness, engine),
                max_upload_bytes=settings.upload_max_bytes,
                places=Places(settings.uploads_at_once, settings.direct_at_once),
                registry=metrics,
            )
            install_pages(
                app,
                Cookies(database.master_key.derive("pages"), utc_now, always_secure=_is_https(settings)),
                PostgresPageSessions(engine, utc_now),
            )
            yield app
    finally:
        await engine.dispose()


def _is_https(settings: Settings) -> bool:
    return settings.public_url is not None and settings.public_url.scheme == "https"
