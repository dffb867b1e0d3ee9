"""The service as its operator starts it: in this process, or with several that answer at one address."""

from __future__ import annotations

import gc
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from multiprocessing import get_context, parent_process
from typing import Final

import uvloop

from app.allocator import share_one_arena
from app.cli.ending import leaving_on_sigterm
from app.cli.program import told
from app.composition.addresses import held_addresses
from app.composition.announcement import announce, local_address
from app.composition.api_processes import STOP_SECONDS, ApiProcesses
from app.composition.configured import MIB, configured_database
from app.composition.database import Database
from app.composition.kept import announced_at
from app.composition.processes import running_database, watched, worker_process
from app.composition.starter import end_fork, end_with, end_with_starter
from app.logs import configure_logs
from app.settings import MOST_PROCESSES, Settings

logger = logging.getLogger(__name__)

_FIRST_WORDS: Final = ("api-keys", "datasets")
"""First words of the addresses that are read for every page, and for that of a dataset."""


def serve(settings: Settings, host: str | None, port: int | None, processes: int | None) -> None:
    """Serve until interrupted; without a database address with an embedded PostgreSQL and one worker."""
    share_one_arena()
    end_with_starter()
    configure_logs(settings.log_level)
    chosen = settings.model_copy(
        update={
            "host": host or settings.host,
            "port": settings.port if port is None else port,
            "processes": settings.processes if processes is None else processes,
        }
    )
    if settings.database_url is not None:
        answer(chosen, configured_database(settings), partial(announce, chosen))
        return

    def ready(port: int) -> None:
        at_home(local_address(chosen, port))
        announce(chosen, port)

    # All that forks comes before what watches, by threads.
    with (
        announced_at(settings.home) as at_home,
        _answering(_counted(chosen), ready) as answer_from,
        running_database(settings.home, status_when_ended=0) as postgres,
        worker_process(settings, postgres),
        watched(postgres),
    ):
        cache_bytes = settings.table_cache_mib * MIB
        answer_from(Database(postgres.runtime_url, postgres.master_key, cache_bytes, postgres.home))


def _untold(port: int) -> None:
    """Tell nobody: what a command starts for itself is nobody's to open."""


def answer(settings: Settings, database: Database, ready: Callable[[int], None] = _untold) -> None:
    """Answer from a database that runs, by as many processes as the settings say.

    ``ready`` is told the port once the first answers.
    """
    settings = _counted(settings)
    if settings.processes == 1:
        _answer_alone(settings, ready, database)
    else:
        _answer_together(settings, ready, lambda: database)


def _counted(settings: Settings) -> Settings:
    """The settings with a number of processes: one per core where they say 0."""
    number = settings.processes or min(len(os.sched_getaffinity(0)), MOST_PROCESSES)
    return settings.model_copy(update={"processes": number})


def _answering(
    settings: Settings, ready: Callable[[int], None]
) -> AbstractContextManager[Callable[[Database], None]]:
    if settings.processes == 1:
        _load()  # before the worker is forked, which then shares what both need
        return nullcontext(partial(_answer_alone, settings, ready))
    return _front(settings, ready)


def _load() -> None:
    """Load what the first requests need: who looks at a page as soon as there is one does not wait for it.

    Not by a process that only watches over others.
    """
    # None of what is loaded is ever garbage, and looking through it takes a sixth of the time.
    gc.disable()
    from app.api import interface
    from app.composition import serving, use_cases  # noqa: F401

    for word in _FIRST_WORDS:
        interface.load(word)
    gc.enable()


def _answer_alone(settings: Settings, ready: Callable[[int], None], database: Database) -> None:
    _load()
    from app.composition.serving import answer

    uvloop.run(answer(settings, database, ready))


@contextmanager
def _front(settings: Settings, ready: Callable[[int], None]) -> Iterator[Callable[[Database], None]]:
    """A process that watches over those that answer; it loads what they need while the database starts."""
    context = get_context("fork")
    theirs, ours = context.Pipe(duplex=False)

    def life() -> None:
        starter = parent_process()
        if starter is not None:
            end_with(starter.ident or 0)
        sys.exit(told(lambda: _answer_together(settings, ready, theirs.recv)))

    front = context.Process(target=life)
    front.start()

    def answer(database: Database) -> None:
        try:
            ours.send(database)
            front.join()
        finally:
            end_fork(front, 2 * STOP_SECONDS)  # before the database, which it answers from
        sys.exit(1)  # by itself it ends for a reason that it has told

    try:
        yield answer
    finally:
        end_fork(front, 2 * STOP_SECONDS)


def _answer_together(
    settings: Settings, announced: Callable[[int], None], database: Callable[[], Database]
) -> None:
    """Answer with several processes, which this one starts and watches over."""
    with leaving_on_sigterm(0), _counters(settings) as counters:
        # Not before: what counts requests looks at its first import whether it is alone.
        from app.api.metrics import leave_out, sum_of_all

        _load()
        from app.composition import serving

        found = database()
        held = held_addresses(settings.host, settings.port)

        def answer(ready: Callable[[], None], speaks_for_all: bool) -> None:
            shown = sum_of_all(counters) if counters and speaks_for_all else None
            uvloop.run(serving.answer(settings, found, lambda _: ready(), serving.Shared(held, shown)))

        def forget(number: int) -> None:
            if counters is not None:
                leave_out(number, counters)

        where = ", ".join("{}:{}".format(*one.getsockname()[:2]) for one in held)
        logger.info("%d processes answer at %s", settings.processes, where)
        gc.collect()
        gc.freeze()  # what all of them share stays shared: nobody looks through it again
        port = held[0].getsockname()[1]
        ApiProcesses(settings.processes, answer, forget, partial(announced, port)).keep()


@contextmanager
def _counters(settings: Settings) -> Iterator[str | None]:
    """A folder in which the processes count together; None if nobody asks what they have counted."""
    if settings.metrics_port is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="privacy-risk-metrics-") as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        yield folder
