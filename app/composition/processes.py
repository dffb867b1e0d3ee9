"""What stands beside the API of an embedded service: PostgreSQL and a worker, watched and started again."""

from __future__ import annotations

import gc
import logging
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Final

from app.cli.ending import ENDED_BY_SIGTERM, leaving_on_sigterm
from app.cli.program import told
from app.composition.configured import MIB
from app.composition.database import Database
from app.composition.starter import STOP_SECONDS, end, end_fork, end_with, start, worker_environment
from app.domain.errors import Unavailable
from app.persistence.embedded import EmbeddedPostgres, start_embedded
from app.settings import Settings
from app.workers.names import WORKER, be_called

RESTART_PAUSE_SECONDS: Final = 1.0

logger = logging.getLogger(__name__)


@contextmanager
def embedded_database(
    home: Path,
    *,
    status_when_ended: int = ENDED_BY_SIGTERM,
    is_kept: bool = True,
    is_shared: bool = True,
) -> Iterator[EmbeddedPostgres]:
    """The embedded PostgreSQL of this folder, watched, and stopped at the end if this process started it.

    ``status_when_ended`` is the exit status of a process that is asked to end: 0 only where that is the usual
    way for it to end. A folder that is not kept goes with its service. For a server that is not shared
    others wait until it is stopped.
    """
    with (
        running_database(
            home, status_when_ended=status_when_ended, is_kept=is_kept, is_shared=is_shared
        ) as postgres,
        watched(postgres),
    ):
        yield postgres


@contextmanager
def running_database(
    home: Path, *, status_when_ended: int, is_kept: bool = True, is_shared: bool = True
) -> Iterator[EmbeddedPostgres]:
    """The same without anybody who watches: this process runs no thread yet, and may fork."""
    with (
        leaving_on_sigterm(status_when_ended),
        start_embedded(home, is_kept=is_kept, is_shared=is_shared) as postgres,
    ):
        yield postgres


@contextmanager
def watched(postgres: EmbeddedPostgres) -> Iterator[None]:
    """Start PostgreSQL again should it die meanwhile."""
    stop = threading.Event()

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
        yield
    finally:
        stop.set()
        watcher.join()


@contextmanager
def worker_process(settings: Settings, postgres: EmbeddedPostgres) -> Iterator[None]:
    """A worker beside the API, started again whenever it dies.

    The first is forked by this process, which runs no thread yet: they share what it has loaded. Those that
    replace it are programs of their own, for by then it runs some.
    """
    first = _forked_worker(settings, postgres)
    stop = threading.Event()
    environment = worker_environment(postgres.runtime_url, postgres.home)
    replaced: subprocess.Popen[bytes] | None = None

    def watch() -> None:
        nonlocal replaced
        wait([first.sentinel])
        while not stop.wait(RESTART_PAUSE_SECONDS):
            replaced = start(("app", "worker"), environment, None)
            replaced.wait()

    watcher = threading.Thread(target=watch, daemon=True, name="worker-watch")
    watcher.start()
    try:
        yield
    finally:
        stop.set()
        end_fork(first, STOP_SECONDS)
        if replaced is not None:
            end(replaced)
        watcher.join()


def _forked_worker(settings: Settings, postgres: EmbeddedPostgres) -> ForkProcess:
    def life() -> None:
        starter = parent_process()
        if starter is not None:
            end_with(starter.ident or 0)
        be_called(WORKER)
        postgres.leave_to_starter()
        # Imported here: no other process of the service needs it.
        from app.composition.working import work_off

        database = Database(postgres.runtime_url, postgres.master_key, settings.table_cache_mib * MIB)
        sys.exit(told(lambda: work_off(settings, database)))

    gc.collect()
    gc.freeze()  # what both share stays shared: nobody looks through it again
    worker = get_context("fork").Process(target=life)
    worker.start()
    return worker
