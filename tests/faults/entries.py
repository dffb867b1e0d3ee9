"""What children do in the tests of supervision."""

from __future__ import annotations

import asyncio
import contextlib
import mmap
import os
import resource
import threading
import time
from functools import partial
from pathlib import Path

import numpy as np

from app.domain.errors import NotSupported
from app.services.resources import Claim, Progress
from app.workers.child import Execute, Limits, size_and_resident
from app.workers.children import STACK_BYTES, ChildProcesses
from tests.processes import HANG_SECONDS
from tests.unit.workers.run_store import TENANT


def always(execute: Execute) -> Execute:
    """With the function that executes every claim an entry."""
    return execute


def finish(claim: Claim, report, stopped) -> None:
    for done in range(1, 6):
        report(Progress(f"stage-{done}", done, 5))


def work_until_killed(claim: Claim, report, stopped) -> None:
    report(Progress("computing", 1, 2))
    while True:
        time.sleep(0.01)


def work_until_stopped(claim: Claim, report, stopped) -> None:
    """Look at times whether the best so far is asked for, and then tell a last progress."""
    report(Progress("computing", 1, 2))
    while not stopped():
        sum(range(100_000))
    report(Progress("finishing", 2, 2))


def hold_the_interpreter(claim: Claim, report, stopped) -> None:
    """Compute without ever letting another thread run for long."""
    report(Progress("computing", 1, 2))
    while True:
        sum(range(10_000_000))


def use_too_much_memory(claim: Claim, report, stopped) -> None:
    hoard = [np.ones(16 * 1024**2 // 8) for _ in range(1024)]
    raise AssertionError(len(hoard))


def hold_all_the_memory(claim: Claim, report, stopped) -> None:
    """For as long as takes to look at it."""
    hoard = []
    with contextlib.suppress(MemoryError):
        while True:
            hoard.append(np.ones(16 * 1024**2 // 8))
    time.sleep(0.5)
    raise MemoryError(len(hoard))


def fail_while_tidying_up(claim: Claim, report, stopped) -> None:
    try:
        use_too_much_memory(claim, report, stopped)
    finally:
        raise ValueError("cannot tidy up")


def start_too_many_threads(claim: Claim, report, stopped) -> None:
    for _ in range(10_000):
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()


def wait_without_room(claim: Claim, report, stopped) -> None:
    """As a thread does for another that found no memory to begin with: nothing comes of it."""
    taken = _all_but(STACK_BYTES // 2)
    time.sleep(60)
    taken.close()


def _all_but(room: int) -> mmap.mmap:
    """Memory taken up to the limit but for ``room``; another thread may take some in between."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    for _ in range(1000):
        size, _ = size_and_resident()
        with contextlib.suppress(OSError):
            return mmap.mmap(-1, max(limit - size - room, mmap.PAGESIZE))
    raise AssertionError("the memory that is left changes all the time")


_hoard: list[np.ndarray] = []


def keep_some_memory(claim: Claim, report, stopped) -> None:
    """40 MiB that every run leaves in its process."""
    _hoard.append(np.ones(40 * 1024**2 // 8))


def use_most_of_the_memory(claim: Claim, report, stopped) -> None:
    """960 MiB, and leave 48 MiB of that."""
    _hoard.append(np.ones(48 * 1024**2 // 8))
    np.ones(912 * 1024**2 // 8)


def work_in_the_second_run(claim: Claim, report, stopped) -> None:
    """The first one ends at once."""
    if claim.run_id != "run-1":
        work_until_stopped(claim, report, stopped)


def refuse(claim: Claim, report, stopped) -> None:
    raise NotSupported("levels need trees", "use another hierarchy")


def break_down(claim: Claim, report, stopped) -> None:
    raise ValueError("cell 'Alice' is not a number")


def die(claim: Claim, report, stopped) -> None:
    os._exit(3)


def die_with_even_attempts(claim: Claim, report, stopped) -> None:
    if claim.attempt % 2 == 0:
        os._exit(3)


def die_twice_then_finish(claim: Claim, report, stopped) -> None:
    if claim.attempt < 3:
        os._exit(3)


def supervise_forever(pid_file: str) -> None:
    """Be a worker with one child that computes; write the child's process number to a file."""
    children = ChildProcesses(partial(always, hold_the_interpreter), Limits(1024**3, 60.0), [])

    async def start() -> None:
        child = await children.take(Claim("run-1", TENANT, 1))
        async with asyncio.timeout(HANG_SECONDS):
            while child.progress is None:  # noqa: ASYNC110 - set by another process
                await asyncio.sleep(0.01)
        Path(pid_file).write_text(str(child.pid))  # noqa: ASYNC240 - nothing else waits
        await asyncio.sleep(60)

    asyncio.run(start())
