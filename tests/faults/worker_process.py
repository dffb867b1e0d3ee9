"""A worker: ``python -m tests.faults.worker_process URL MASTER_KEY SILENT_SECONDS IDLE_SECONDS [CLUSTER]``.

Without the cluster whose address is given, its runs go on without it.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from datetime import UTC, datetime

from app.persistence.addresses import create_engine, libpq_url
from app.persistence.encryption import MasterKey
from app.persistence.registry import PostgresRegistry
from app.persistence.signals import PostgresDeletions
from app.persistence.store import PostgresStore
from app.workers import children as children_module
from app.workers.child import Limits
from app.workers.children import ChildProcesses
from app.workers.cluster import ClusterOptions
from app.workers.worker import WorkerOptions, run_worker
from tests.faults.hash_chains import ChainEntry


async def main(url: str, key_text: str, silent_seconds: float, children: ChildProcesses) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    engine = create_engine(url)
    key, clock = MasterKey.from_text(key_text), lambda: datetime.now(UTC)
    options = WorkerOptions(silent_seconds=silent_seconds)
    await run_worker(
        PostgresStore(engine, key, clock),
        PostgresRegistry(engine, key, clock),
        PostgresDeletions(url),
        libpq_url(url),
        children,
        options,
        clock,
        stop,
    )
    await engine.dispose()


if __name__ == "__main__":
    place, text, seconds, idle, *address = sys.argv[1:]
    children_module.IDLE_SECONDS = float(idle)  # type: ignore[misc]
    cluster = ClusterOptions(address[0], True, 1024**3, least_seconds=0.0) if address else None
    made = ChildProcesses(
        ChainEntry(place, text, cluster), Limits(1024**3, 120.0), ["tests.faults.hash_chains"]
    )
    asyncio.run(main(place, text, float(seconds), made))
