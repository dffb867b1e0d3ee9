"""The composition root: the only module that knows every room (settings → store → use cases → edges)."""

from __future__ import annotations

import asyncio
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from prometheus_client import CollectorRegistry
from pydantic import ValidationError

from app.api.app import create_app, routed_app
from app.api.metrics import serve_metrics
from app.api.services import Services
from app.cli.operations import Bootstrapped, Check, Operations
from app.cli.program import run as run_program
from app.domain.errors import Conflict, Unavailable
from app.example_source import example_data_service
from app.logs import configure_logs
from app.persistence import doctor
from app.persistence.addresses import create_engine, libpq_url
from app.persistence.backup import backup, restore
from app.persistence.embedded import EmbeddedPostgres
from app.persistence.encryption import MasterKey
from app.persistence.key_rotation import rotate_master_key
from app.persistence.migration import migrate
from app.persistence.registry import PostgresRegistry
from app.persistence.signals import PostgresRunSignals
from app.persistence.store import PostgresStore
from app.processes import embedded_database, end_with_starter, start_service, worker_process
from app.run_process import Database, execute_claim, utc_now
from app.services.assessments import AssessmentService
from app.services.audit_trail import AuditTrailService
from app.services.datasets import DatasetService
from app.services.dictionaries import DictionaryService
from app.services.dictionary_orders import DictionaryOrderService
from app.services.dictionary_sets import DictionarySetService
from app.services.evidence import EvidenceIssuer
from app.services.evidence_service import EvidenceService
from app.services.frontiers import FrontierService
from app.services.gates.completion import Completion
from app.services.gates.evaluations import EvaluationService
from app.services.gates.waivers import WaiverService
from app.services.hierarchies import HierarchyService
from app.services.ingest.dialect import UploadLimits
from app.services.measurements import MeasurementService
from app.services.optimisations import OptimisationService
from app.services.plans import DirectBudget
from app.services.policies import PolicyService
from app.services.releases import ReleaseService
from app.services.rules import RuleService
from app.services.runs import RunService
from app.services.sensitivity_profiles import SensitivityProfileService
from app.services.sequential_disclosures import SequentialDisclosureService
from app.services.tables import TableLoader
from app.services.tenants import TenantService
from app.services.uploads import UploadService
from app.services.webhooks import WebhookService
from app.settings import Settings
from app.web.site import install_pages
from app.workers.child import Limits
from app.workers.worker import WorkerOptions, run_worker

MIB = 1024**2


def main() -> None:
    """Run the command line; status 2 if a setting is none: whoever reads a gate's status must not see 1."""
    try:
        settings = Settings()
    except ValidationError as error:
        for fault in error.errors(include_url=False, include_context=False, include_input=False):
            print(f"privacy-risk: {_variable(fault['loc'])}: {fault['msg']}", file=sys.stderr)
        sys.exit(2)
    sys.exit(run_program(sys.argv[1:], operations(settings)))


def _variable(place: Sequence[int | str]) -> str:
    """The environment variable that a fault of the settings is about."""
    name = str(place[0])
    return name if name.isupper() else f"PRIVACY_RISK_{name.upper()}"


def operations(settings: Settings) -> Operations:
    """The operator's verbs under these settings."""
    return Operations(
        start_service=partial(start_service, bootstrap=_bootstrap_demo),
        serve=partial(serve, settings),
        worker=partial(_work, settings),
        migrate=partial(_migrate, settings),
        bootstrap=partial(_bootstrap_tenant, settings),
        doctor=partial(_doctor, settings),
        rotate_keys=partial(_rotate_keys, settings),
        backup=partial(_backup, settings),
        restore=partial(_restore, settings),
        openapi=openapi_document,
    )


def openapi_document() -> dict[str, Any]:
    """The OpenAPI document of the service; needs no database."""
    return routed_app().openapi()


# --- the API -----------------------------------------------------------------------------------------------


def serve(settings: Settings, host: str | None, port: int | None) -> None:
    """Serve until interrupted; without a database address with an embedded PostgreSQL and one worker."""
    end_with_starter()
    configure_logs(settings.log_level)
    chosen = settings.model_copy(
        update={"host": host or settings.host, "port": settings.port if port is None else port}
    )
    if settings.database_url is not None:
        asyncio.run(_serve(chosen, _database(settings)))
        return
    with embedded_database(settings.home) as postgres, worker_process(postgres):
        asyncio.run(_serve(chosen, _embedded(postgres, settings.table_cache_mib * MIB)))


async def _serve(settings: Settings, database: Database) -> None:
    metrics = CollectorRegistry()
    stop_metrics = None
    if settings.metrics_port is not None:
        stop_metrics = serve_metrics(metrics, settings.metrics_host, settings.metrics_port)
    try:
        async with application(settings, database, metrics) as app:
            config = uvicorn.Config(
                app, host=settings.host, port=settings.port, log_config=None, access_log=False,
                server_header=False, timeout_graceful_shutdown=5,
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
        store = PostgresStore(engine, database.master_key, utc_now)
        registry = PostgresRegistry(engine, database.master_key, utc_now)
        limits = UploadLimits(
            max_bytes=settings.upload_max_bytes,
            max_decompressed_bytes=settings.upload_max_bytes,
            max_rows=settings.upload_max_rows,
            max_columns=settings.upload_max_columns,
            max_cell_bytes=settings.upload_max_cell,
        )
        budget = DirectBudget(settings.direct_seconds, settings.direct_mib * MIB)
        run_bytes = settings.run_memory_mib * MIB
        loader = TableLoader(store, database.table_cache_bytes)
        async with PostgresRunSignals(database.url) as signals:
            services = Services(
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
                releases=ReleaseService(store, loader),
                sequential_disclosures=SequentialDisclosureService(store, loader),
                policies=PolicyService(store),
                evaluations=EvaluationService(
                    store, loader, budget, utc_now, Completion(EvidenceIssuer(utc_now))
                ),
                waivers=WaiverService(store, utc_now),
                example_data=example_data_service(store, loader, limits),
                evidence=EvidenceService(store, utc_now),
                webhooks=WebhookService(store, utc_now),
                audit_trail=AuditTrailService(store),
            )
            app = create_app(
                services,
                store,
                partial(doctor.readiness, engine),
                max_upload_bytes=settings.upload_max_bytes,
                registry=metrics,
            )
            install_pages(app, database.master_key.derive("pages"), utc_now)
            yield app
    finally:
        await engine.dispose()


# --- runs --------------------------------------------------------------------------------------------------


def _work(settings: Settings) -> None:
    end_with_starter()
    configure_logs(settings.log_level)
    asyncio.run(_serve_queue(settings, _database(settings)))


async def _serve_queue(settings: Settings, database: Database) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    engine = create_engine(database.url)
    try:
        await doctor.refuse_unsafe(engine, database.master_key)
        options = WorkerOptions(
            Limits(settings.run_memory_mib * MIB, settings.run_seconds),
            slots=settings.worker_concurrency,
            preload=(execute_claim.__module__,),
            webhook_networks=settings.webhook_networks,
        )
        await run_worker(
            PostgresStore(engine, database.master_key, utc_now),
            PostgresRegistry(engine, database.master_key, utc_now),
            libpq_url(database.url),
            partial(execute_claim, database),
            options,
            utc_now,
            stop,
        )
    finally:
        await engine.dispose()


# --- the operator's other verbs ----------------------------------------------------------------------------


def _database(settings: Settings) -> Database:
    """The configured database; Unavailable says which setting is missing."""
    if settings.database_url is None:
        raise Unavailable(
            "DATABASE_URL is not set.", "Set it, or use serve, which brings a database of its own."
        )
    key = _master_key(settings)
    if key is None:
        raise Unavailable(
            "There is no master key: PRIVACY_RISK_MASTER_KEY and PRIVACY_RISK_MASTER_KEY_FILE are not set.",
            "Make one with `openssl rand -base64 32` and keep a copy: losing it loses the data.",
        )
    return Database(settings.database_url.get_secret_value(), key, settings.table_cache_mib * MIB)


def _master_key(settings: Settings) -> MasterKey | None:
    if settings.master_key is not None:
        return MasterKey.from_text(settings.master_key.get_secret_value())
    if settings.master_key_file is not None:
        return MasterKey.from_text(settings.master_key_file.read_text())
    return None


def _owner_url(settings: Settings) -> str:
    if settings.owner_database_url is None:
        raise Unavailable(
            "PRIVACY_RISK_OWNER_DATABASE_URL is not set.",
            "Set it to the database's address for the role that owns the tables.",
        )
    return settings.owner_database_url.get_secret_value()


def _migrate(settings: Settings, revision: str) -> None:
    if settings.database_url is None and settings.owner_database_url is None:
        with embedded_database(settings.home) as postgres:
            migrate(postgres.owner_url, revision)
    else:
        migrate(_owner_url(settings), revision)


def _bootstrap_tenant(settings: Settings, name: str, new_key: bool) -> Bootstrapped:
    if settings.database_url is not None:
        return _bootstrap(_database(settings), name, new_key)
    with embedded_database(settings.home) as postgres:
        return _bootstrap(_embedded(postgres), name, new_key)


def _bootstrap_demo(postgres: EmbeddedPostgres) -> Bootstrapped:
    return _bootstrap(_embedded(postgres), "demo", new_key=False)


def _embedded(postgres: EmbeddedPostgres, table_cache_bytes: int = 0) -> Database:
    return Database(postgres.runtime_url, postgres.master_key, table_cache_bytes)


def _bootstrap(database: Database, name: str, new_key: bool) -> Bootstrapped:
    async def make() -> Bootstrapped:
        engine = create_engine(database.url, pool_size=1)
        try:
            store = PostgresStore(engine, database.master_key, utc_now)
            registry = PostgresRegistry(engine, database.master_key, utc_now)
            made = await TenantService(store, registry, utc_now).bootstrap(name, new_key=new_key)
        finally:
            await engine.dispose()
        if made.first_key is None:
            raise Conflict(
                f"The tenant {name!r} exists; its first key was shown when it was made.",
                "Issue another with an administrator's key (POST /v1/api-keys), or with bootstrap --new-key.",
            )
        return Bootstrapped(made.tenant.id, made.tenant.name, made.first_key.token)

    return asyncio.run(make())


def _doctor(settings: Settings) -> Sequence[Check]:
    if settings.database_url is None and settings.owner_database_url is None:
        with embedded_database(settings.home) as postgres:
            findings = asyncio.run(doctor.examine(postgres.runtime_url, postgres.master_key, postgres.home))
    else:
        database = _database(settings)
        findings = asyncio.run(doctor.examine(database.url, database.master_key))
    return [Check(f.name, f.passed, f.message, f.remedy) for f in findings]


def _rotate_keys(settings: Settings) -> int:
    """Rewrap the data keys of every tenant; an embedded database makes the new master key itself."""
    if settings.database_url is None and settings.owner_database_url is None:
        with embedded_database(settings.home) as postgres:
            return postgres.rotate_master_key()
    if settings.previous_master_key_file is None:
        raise Unavailable(
            "PRIVACY_RISK_PREVIOUS_MASTER_KEY_FILE is not set.", "Name the file of the key to be replaced."
        )
    previous = MasterKey.from_text(settings.previous_master_key_file.read_text())
    current = _master_key(settings)
    if current is None:
        raise Unavailable("There is no new master key.", "Set PRIVACY_RISK_MASTER_KEY_FILE.")
    return rotate_master_key(_owner_url(settings), previous, current)


def _backup(settings: Settings, target: Path) -> None:
    with _maintained(settings, "pg_dump") as (owner_url, pg_dump):
        backup(owner_url, target, pg_dump)


def _restore(settings: Settings, source: Path) -> None:
    with _maintained(settings, "pg_restore") as (owner_url, pg_restore):
        restore(owner_url, source, pg_restore)


@contextmanager
def _maintained(settings: Settings, program: str) -> Iterator[tuple[str, Path]]:
    """The owner's address of the database, and one of PostgreSQL's programs that fits it."""
    if settings.database_url is None and settings.owner_database_url is None:
        with embedded_database(settings.home) as postgres:
            yield postgres.owner_url, postgres.program(program)
        return
    found = shutil.which(program)
    if found is None:
        raise Unavailable(f"{program} is not on the PATH.", "Install PostgreSQL's client programs.")
    yield _owner_url(settings), Path(found)
