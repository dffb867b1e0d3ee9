"""Composes the service over HTTP: settings → store → use cases → API and pages."""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import os
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

import uvicorn
from fastapi import FastAPI
from prometheus_client import CollectorRegistry

from app.api.app import create_app, routed_app
from app.api.connections import BoundedConnection
from app.api.metrics import serve_metrics
from app.api.places import Places
from app.api.services import Services
from app.composition.configured import MIB, configured_database, tenant_defaults
from app.composition.database import Database, utc_now
from app.composition.example_source import example_data_service
from app.composition.processes import embedded_database, worker_process
from app.composition.run_process import run_execution
from app.composition.starter import end_with_starter
from app.logs import configure_logs
from app.persistence import doctor
from app.persistence.addresses import create_engine
from app.persistence.embedded import EmbeddedPostgres
from app.persistence.registry import PostgresPageSessions, PostgresRegistry
from app.persistence.signals import PostgresRunSignals
from app.persistence.store import PostgresStore
from app.services.access.tenants import AuditTrailService, TenantService
from app.services.datasets.datasets import DatasetService
from app.services.datasets.dictionaries import DictionaryService
from app.services.datasets.dictionary_orders import DictionaryOrderService
from app.services.datasets.dictionary_sets import DictionarySetService
from app.services.datasets.hierarchies import HierarchyService
from app.services.datasets.ingest.dialect import UploadLimits
from app.services.datasets.tables import TableLoader
from app.services.datasets.uploads import UploadService
from app.services.gates.completion import Completion
from app.services.gates.evaluations import EvaluationService
from app.services.gates.evidence import EvidenceIssuer
from app.services.gates.evidence_service import EvidenceService
from app.services.gates.policies import PolicyService
from app.services.gates.waivers import WaiverService
from app.services.questions import Claimant, DirectBudget
from app.services.releases.releases import ReleaseService
from app.services.rules.rules import RuleService
from app.services.rules.sequential_disclosures import SequentialDisclosureService
from app.services.runs.direct_runs import DirectRuns
from app.services.runs.runs import RunService
from app.services.runs.webhooks import WebhookService
from app.services.scoring.assessments import AssessmentService
from app.services.scoring.measurements import MeasurementService
from app.services.scoring.sensitivity_profiles import SensitivityProfileService
from app.services.searches.frontiers import FrontierService
from app.services.searches.optimisations import OptimisationService
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
    return routed_app().openapi()


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
        loader = TableLoader(store, database.table_cache_bytes)
        async with PostgresRunSignals(database.url) as signals:
            services = _use_cases(settings, store, registry, loader, signals)
            app = create_app(
                services,
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


def _use_cases(
    settings: Settings,
    store: PostgresStore,
    registry: PostgresRegistry,
    loader: TableLoader,
    signals: PostgresRunSignals,
) -> Services:
    limits = UploadLimits(
        max_bytes=settings.upload_max_bytes,
        max_decompressed_bytes=settings.upload_max_bytes,
        max_rows=settings.upload_max_rows,
        max_columns=settings.upload_max_columns,
        max_cell_bytes=settings.upload_max_cell_bytes,
        processor_seconds=settings.upload_processor_seconds,
        processor_seconds_per_mib=settings.upload_processor_seconds_per_mib,
    )
    budget = DirectBudget(settings.direct_seconds, settings.direct_mib * MIB)
    run_bytes = settings.run_memory_mib * MIB
    claimant = Claimant(budget, f"{socket.gethostname()}:{os.getpid()}")
    completion = Completion(EvidenceIssuer(utc_now))
    return Services(
        tenants=TenantService(store, registry, utc_now),
        hierarchies=HierarchyService(store),
        uploads=UploadService(store, limits),
        datasets=DatasetService(store, loader),
        dictionaries=DictionaryService(store, loader),
        dictionary_sets=DictionarySetService(store),
        dictionary_orders=DictionaryOrderService(store, loader),
        sensitivity_profiles=SensitivityProfileService(store, loader),
        rules=RuleService(store, loader),
        assessments=AssessmentService(store, loader, budget),
        measurements=MeasurementService(store, loader, budget),
        optimisations=OptimisationService(store, loader, run_bytes),
        frontiers=FrontierService(store, loader, run_bytes),
        runs=RunService(store, signals),
        direct_runs=DirectRuns(store, run_execution(store, loader, loader, budget.bytes), claimant),
        releases=ReleaseService(store, loader),
        sequential_disclosures=SequentialDisclosureService(store, loader),
        policies=PolicyService(store),
        evaluations=EvaluationService(store, loader, budget, utc_now, completion),
        waivers=WaiverService(store, utc_now),
        example_data=example_data_service(store, loader, limits),
        evidence=EvidenceService(store, utc_now),
        webhooks=WebhookService(store, utc_now),
        audit_trail=AuditTrailService(store),
    )
