"""The inside of a process of runs: its limits, its ties to the worker, and how the end of a run is told.

A child talks to its worker over one channel. It is sent one ``Claim`` after the other, and while it works on
one perhaps the message to stop: it then finishes the run with the best that it has found. It sends
``Progress`` as often as the work reports it and at last ``Ended``; that without a failure means that the run
has been finished in the store. Anything else (killed, crashed) is the worker's to judge.

What one run has loaded is there for the next. A child that should not be used again says so and leaves.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import os
import queue
import resource
import signal
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from app.allocator import give_back_freed, share_one_arena
from app.domain.errors import PrivacyRiskError
from app.services.ports import Fenced
from app.services.resources import Claim, JsonObject, Progress
from app.workers.failures import internal_error, memory_limit, problem_of

Report = Callable[[Progress], None]

Stopped = Callable[[], bool]

Execute = Callable[[Claim, Report, Stopped], None]
"""Executes a claim to its end in the store.

Soon after ``Stopped`` answers True it ends with the best so far.
"""

Entry = Callable[[], Execute]
"""Called once in a child, with its first claim."""

STOP: Final = "stop"

KEPT_SHARE: Final = 1 / 16
"""Of a run's memory limit: a process that has grown by more since before its first run is not kept."""

FIRST_TO_GO: Final = "500"
"""Of a scale to 1000, by which the kernel chooses whom it ends when the machine has no memory left."""

REPORT_SECONDS: Final = 0.1
PR_SET_PDEATHSIG: Final = 1


@dataclass(frozen=True)
class Limits:
    """What one attempt of a run may use: memory in bytes, wall-clock time in seconds."""

    memory_bytes: int
    seconds: float


@dataclass(frozen=True)
class Failure:
    """The work ended with an error that no second attempt would mend.

    ``where`` are the places in the code that led to an unforeseen one: for the log, and without data.
    """

    error: JsonObject
    where: tuple[str, ...] = ()


class WorkFailed(Exception):
    """Work that was done in another process failed there."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.error["message"])
        self.failure = failure


@dataclass(frozen=True)
class Ended:
    """An attempt is over, perhaps by a failure; ``reusable`` unless the process is about to leave."""

    failure: Failure | None
    reusable: bool


def child_main(entry: Entry, limits: Limits, channel: Connection) -> None:
    """Execute one claim after the other, each within the limits; the target of the child process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's interrupt is the worker's to interpret
    be_first_to_go()
    worker = _Worker(channel)
    memory = MemoryCap(limits.memory_bytes)
    execute = functools.cache(entry)
    reusable = True
    while reusable:
        claim = worker.next_claim()
        memory.cap()
        attempt = functools.partial(_execute, execute, claim, _reporter(channel), worker.has_said_stop)
        failure = failure_of(attempt, limits.memory_bytes)
        reusable = failure is None and memory.is_modest()
        channel.send(Ended(failure, reusable))
    # Threads of libraries must not keep a process whose work is done.
    os._exit(0)


def be_first_to_go() -> None:
    """If the machine is short of memory, this process goes and not its worker."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(FIRST_TO_GO)


def _execute(entry: Entry, claim: Claim, report: Report, stopped: Stopped) -> None:
    with contextlib.suppress(Fenced):
        entry()(claim, report, stopped)


def failure_of(work: Callable[[], None], memory_bytes: int) -> Failure | None:
    """Do work under a limit of memory; how it failed, None if it did not."""
    try:
        work()
    except WorkFailed as error:
        return error.failure
    except PrivacyRiskError as error:
        return Failure(problem_of(error))
    except Exception as error:
        if _ran_out_of_memory(error):
            return Failure(memory_limit(memory_bytes))
        frames = traceback.extract_tb(error.__traceback__)
        places = tuple(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames)
        return Failure(internal_error(error), places)
    return None


def _ran_out_of_memory(error: BaseException | None) -> bool:
    """Whether memory was short, even if what tidied up after that failed for want of it once more."""
    while error is not None:
        if isinstance(error, MemoryError) or _is_for_want_of_memory(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _is_for_want_of_memory(error: BaseException) -> bool:
    """Whether the system refused memory, or a new thread the space for its stack."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    return isinstance(error, RuntimeError) and str(error) == "can't start new thread"


def _reporter(channel: Connection) -> Report:
    """Send progress, but no more often than anyone reads it; a change of stage is always sent."""
    last_sent = -1.0
    last_stage = ""

    def report(progress: Progress) -> None:
        nonlocal last_sent, last_stage
        now = time.monotonic()
        if now - last_sent < REPORT_SECONDS and progress.stage == last_stage:
            return
        last_sent, last_stage = now, progress.stage
        channel.send(progress)

    return report


class _Worker:
    """What the worker says; this process ends when its end of the channel closes.

    Its death alone does that. The kernel's own signal comes first where there is one: the direct
    parent is the nursery, which dies with the worker. A thread could be kept waiting by a long
    call that holds the interpreter's lock.
    """

    def __init__(self, channel: Connection) -> None:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        self._channel = channel
        self._claims: queue.SimpleQueue[Claim] = queue.SimpleQueue()
        self._stopped = threading.Event()
        threading.Thread(target=self._listen, daemon=True, name="worker-watch").start()

    def next_claim(self) -> Claim:
        """The next run to execute, waited for."""
        return self._claims.get()

    def has_said_stop(self) -> bool:
        """Whether the present run is to be stopped."""
        return self._stopped.is_set()

    def _listen(self) -> None:
        try:
            while True:
                said: Claim | str = self._channel.recv()
                if isinstance(said, Claim):
                    self._stopped.clear()  # what was said before was said of the run before
                    self._claims.put(said)
                else:
                    self._stopped.set()
        except (EOFError, OSError):
            os._exit(1)


class MemoryCap:
    """Keeps the resident memory that each run adds to this process's own below ``limit`` bytes.

    The kernel caps address space, of which a fresh interpreter has reserved far more than it uses.
    That difference is added, so that the limit speaks of memory in use. What earlier runs have left counts
    for none: whether a run gets by with its memory does not depend on them. The allocator would reserve
    64 MiB for each thread that allocates: all of them share one arena.
    """

    def __init__(self, limit: int) -> None:
        share_one_arena()
        # What the process that this one was forked from had freed would count for what runs leave.
        give_back_freed()
        self._limit = limit
        _, self._resident_at_first = size_and_resident()
        # A crash that writes its memory to disk would write personal data in clear.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def cap(self) -> None:
        """Let the run that begins have the limit."""
        size, _ = size_and_resident()
        cap = size - self._resident_at_first + self._limit
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(
            resource.RLIMIT_AS, (cap if hard == resource.RLIM_INFINITY else min(cap, hard), hard)
        )

    def is_modest(self) -> bool:
        """Whether the runs so far have left little enough for the process to be kept."""
        give_back_freed()
        _, resident = size_and_resident()
        return resident - self._resident_at_first <= KEPT_SHARE * self._limit


def size_and_resident(pid: int | None = None) -> tuple[int, int]:
    """Address space and resident memory of a process, of this one unless told, in bytes.

    OSError if there is none.
    """
    file = Path("/proc", "self" if pid is None else str(pid), "statm")
    size, resident = (int(pages) for pages in file.read_text().split()[:2])
    return size * resource.getpagesize(), resident * resource.getpagesize()
