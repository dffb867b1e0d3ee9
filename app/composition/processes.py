"""What stands beside the API of an embedded service: PostgreSQL and a worker, watched and started again."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from app.cli.ending import ENDED_BY_SIGTERM, leaving_on_sigterm
from app.composition.starter import end, start, worker_environment
from app.domain.errors import Unavailable
from app.persistence.embedded import EmbeddedPostgres, start_embedded

READY_SECONDS: Final = 60.0
STOP_SECONDS: Final = 10.0
PORT_ATTEMPTS: Final = 3
RESTART_PAUSE_SECONDS: Final = 1.0

logger = logging.getLogger(__name__)


@contextmanager
def embedded_database(
    home: Path, *, status_when_ended: int = ENDED_BY_SIGTERM, is_kept: bool = True
) -> Iterator[EmbeddedPostgres]:
    """The embedded PostgreSQL of this folder, stopped at the end if this process started it.

    It is started again should it die meanwhile. ``status_when_ended`` is the exit status of a process that
    is asked to end: 0 only where that is the usual way for it to end. A folder that is not kept goes with
    its service.
    """
    stop = threading.Event()
    with leaving_on_sigterm(status_when_ended), start_embedded(home, is_kept=is_kept) as postgres:

        def watch() -> None:
            while not stop.wait(RESTART_PAUSE_SECONDS):
                try:
                    if postgres.ensure_running():
                        logger.warning("the embedded PostgreSQL had died and was started again")
                except Unavailable as error:
                    logger.error("the embedded PostgreSQL does not start: %s", error.message)

        watcher = threading.Thread(target=watch, daemon=True, name="postgres-watch")
        watcher.start()
        try:
            yield postgres
        finally:
            stop.set()
            watcher.join()


@contextmanager
def worker_process(postgres: EmbeddedPostgres) -> Iterator[None]:
    """A worker beside the API, started again whenever it dies."""
    stop = threading.Event()
    environment = worker_environment(postgres.runtime_url, postgres.home)
    worker = start(("app", "worker"), environment, None)

    def watch() -> None:
        nonlocal worker
        while not stop.is_set():
            worker.wait()
            if not stop.wait(RESTART_PAUSE_SECONDS):
                worker = start(("app", "worker"), environment, None)

    watcher = threading.Thread(target=watch, daemon=True, name="worker-watch")
    watcher.start()
    try:
        yield
    finally:
        stop.set()
        end(worker)
        watcher.join()
