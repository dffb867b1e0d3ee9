"""Composes the worker: settings → store → the queue of runs."""

from __future__ import annotations

import asyncio
import signal
from functools import partial

from app.composition.configured import MIB, configured_database, tenant_defaults
from app.composition.database import Database, utc_now
from app.composition.run_entry import RUN_PROCESS, open_runs
from app.composition.starter import end_with_starter
from app.logs import configure_logs
from app.persistence import doctor
from app.persistence.addresses import create_engine, libpq_url
from app.persistence.registry import PostgresRegistry
from app.persistence.signals import PostgresDeletions
from app.persistence.store import PostgresStore
from app.settings import Settings
from app.workers.child import Limits
from app.workers.children import ChildProcesses
from app.workers.cluster import ClusterOptions
from app.workers.worker import WorkerOptions, run_worker


def worker(settings: Settings) -> None:
    """Work off the queue until asked to end."""
    end_with_starter()
    configure_logs(settings.log_level)
    work_off(settings, configured_database(settings))


def work_off(settings: Settings, database: Database, dead_worker: str | None = None) -> None:
    """Work off the queue of a database until asked to end; for a process that runs no thread.

    ``dead_worker`` is the one that it replaces.
    """
    limits = Limits(settings.run_memory_mib * MIB, settings.run_seconds)
    # Before there is an event loop: it forks the process that starts the others.
    cluster = None
    if settings.cluster is not None:
        cluster = ClusterOptions(settings.cluster, settings.cluster_falls_back, limits.memory_bytes)
    children = ChildProcesses(partial(open_runs, database, cluster), limits, (RUN_PROCESS,))
    options = WorkerOptions(
        slots=settings.worker_concurrency,
        dead_worker=dead_worker,
        webhook_networks=settings.webhook_networks,
    )
    asyncio.run(_serve_queue(settings, database, children, options))


async def _serve_queue(
    settings: Settings, database: Database, children: ChildProcesses, options: WorkerOptions
) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    engine = create_engine(database.url)
    try:
        await doctor.refuse_unsafe(engine, database.master_key)
        registry = PostgresRegistry(engine, database.master_key, utc_now, tenant_defaults(settings))
        await registry.encrypt_webhook_addresses()
        await registry.put_table_hashes_under_keys()
        await run_worker(
            PostgresStore(engine, database.master_key, utc_now),
            registry,
            PostgresDeletions(database.url),
            libpq_url(database.url),
            children,
            options,
            utc_now,
            stop,
        )
    finally:
        await engine.dispose()
