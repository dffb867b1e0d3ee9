"""What stands beside the API of an embedded service: PostgreSQL and a worker, watched and started again."""

from __future__ import annotations

import gc
import logging
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Final

from app.cli.ending import ENDED_BY_SIGTERM, leaving_on_sigterm
from app.cli.program import told
from app.composition.configured import MIB
from app.composition.database import Database
from app.composition.run_entry import RUN_PROCESS
from app.composition.starter import STOP_SECONDS, end, end_forks, end_with, start, worker_environment
from app.domain.errors import Unavailable
from app.persistence.embedded import EmbeddedPostgres, start_embedded
from app.settings import Settings
from app.workers.names import KEEPER, WORKER, be_called, worker_name

RESTART_PAUSE_SECONDS: Final = 1.0

logger = logging.getLogger(__name__)


@contextmanager
def embedded_database(
    home: Path,
    *,
    status_when_ended: int = ENDED_BY_SIGTERM,
    is_kept: bool = True,
    is_shared: bool = True,
    tell: Callable[[str], None] = lambda _: None,
) -> Iterator[EmbeddedPostgres]:
    """The embedded PostgreSQL of this folder, watched, and stopped at the end if this process started it.

    ``status_when_ended`` is the exit status of a process that is asked to end: 0 only where that is the usual
    way for it to end. A folder that is not kept goes with its service. For a server that is not shared
    others wait until it is stopped.
    """
    with (
        running_database(
            home, status_when_ended=status_when_ended, is_kept=is_kept, is_shared=is_shared, tell=tell
        ) as postgres,
        watched(postgres),
    ):
        yield postgres


@contextmanager
def running_database(
    home: Path,
    *,
    status_when_ended: int,
    is_kept: bool = True,
    is_shared: bool = True,
    tell: Callable[[str], None] = lambda _: None,
) -> Iterator[EmbeddedPostgres]:
    """The same without anybody who watches: this process runs no thread yet, and may fork."""
    with (
        leaving_on_sigterm(status_when_ended),
        start_embedded(home, is_kept=is_kept, is_shared=is_shared, tell=tell) as postgres,
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

    It is kept by a process that is forked by this one, which runs no thread yet: they share what it has
    loaded. Should the keeper die, a worker that is a program of its own takes the place of both.
    """
    stop = threading.Event()
    environment = worker_environment(postgres.runtime_url, postgres.home)
    replaced: subprocess.Popen[bytes] | None = None

    def watch() -> None:
        nonlocal replaced
        wait([keeper.sentinel])
        while not stop.wait(RESTART_PAUSE_SECONDS):
            replaced = start(("app", "worker"), environment, None)
            replaced.wait()

    watcher = threading.Thread(target=watch, daemon=True, name="worker-watch")
    try:
        keeper = _forked_keeper(settings, postgres)
        watcher.start()
        yield
    finally:
        stop.set()
        end_forks(2 * STOP_SECONDS)
        if replaced is not None:
            end(replaced)
        if watcher.ident is not None:
            watcher.join()


def _forked_keeper(settings: Settings, postgres: EmbeddedPostgres) -> ForkProcess:
    def life() -> None:
        postgres.leave_to_starter()
        cache_bytes = settings.table_cache_mib * MIB
        keep_worker(Database(postgres.runtime_url, postgres.master_key, cache_bytes), settings)

    return _forked(KEEPER, life)


def keep_worker(database: Database, settings: Settings) -> None:
    """Fork a worker and, at once, another whenever it has died; until asked to end.

    For a process that runs no thread. A worker that is forked has nothing to load.
    """
    # Imported here: no other process of the service needs it.
    from app.composition.working import work_off

    # A terminal's interrupt is the worker's and the service's to interpret.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import_module(RUN_PROCESS)
    dead: str | None = None
    with leaving_on_sigterm(0):
        try:
            while True:
                began = time.monotonic()
                life = partial(work_off, settings, database, dead)
                worker = _forked(WORKER, partial(_end_with_status_of, life))
                worker.join()
                dead = worker_name(worker.ident or 0)
                if worker.exitcode == 0 or time.monotonic() - began < RESTART_PAUSE_SECONDS:
                    time.sleep(RESTART_PAUSE_SECONDS)
        finally:
            end_forks(STOP_SECONDS)


def _end_with_status_of(life: Callable[[], None]) -> None:
    sys.exit(told(life))


def _forked(name: str, life: Callable[[], None]) -> ForkProcess:
    """A process that is forked by this one, is called so and ends with it."""

    def begin() -> None:
        starter = parent_process()
        if starter is not None:
            end_with(starter.ident or 0)
        be_called(name)
        life()

    gc.collect()
    gc.freeze()  # what both share stays shared: nobody looks through it again
    process = get_context("fork").Process(target=begin)
    process.start()
    return process
