"""The inside of a run's own process: its limits, its ties to the worker, and how its end is told.

A child talks to its worker over one channel. It sends ``Progress`` as often as the work reports it and
at most one ``Failure``; leaving with status 0 and no failure means that the run has been finished in
the store. Anything else (killed, crashed) is the worker's to judge. The worker sends a message only to
have the run stopped: the child then finishes it with the best that it has found.
"""

from __future__ import annotations

import ctypes
import errno
import os
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

from app.domain.errors import PrivacyRiskError
from app.services.ports import Fenced
from app.services.resources import Claim, JsonObject, Progress
from app.workers.failures import internal_error, memory_limit, problem_of

Report = Callable[[Progress], None]

Stopped = Callable[[], bool]

Entry = Callable[[Claim, Report, Stopped], None]
"""Executes a claim to its end in the store. Importable by name: the child is a fresh interpreter.

Soon after ``Stopped`` answers True it ends with the best so far.
"""

REPORT_SECONDS: Final = 0.1
PR_SET_PDEATHSIG: Final = 1
M_ARENA_MAX: Final = -8


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


def child_main(entry: Entry, claim: Claim, limits: Limits, channel: Connection) -> None:
    """Execute the claim within its limits; the target of the child process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's interrupt is the worker's to interpret
    stopped = _listen_to_the_worker(channel)
    _cap_memory(limits.memory_bytes)
    failure = _execute(entry, claim, limits, _reporter(channel), stopped)
    if failure is not None:
        channel.send(failure)
    # Threads of libraries must not keep a process whose work is done.
    os._exit(0)


def leave_at_once() -> None:
    """Do nothing: a child that shows that children can be started."""


def _execute(entry: Entry, claim: Claim, limits: Limits, report: Report, stopped: Stopped) -> Failure | None:
    try:
        entry(claim, report, stopped)
    except Fenced:
        return None
    except PrivacyRiskError as error:
        return Failure(problem_of(error))
    except Exception as error:
        if _ran_out_of_memory(error):
            return Failure(memory_limit(limits.memory_bytes))
        return Failure(internal_error(error), _places(error))
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


def _places(error: Exception) -> tuple[str, ...]:
    frames = traceback.extract_tb(error.__traceback__)
    return tuple(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames)


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


def _listen_to_the_worker(channel: Connection) -> Stopped:
    """Whether the worker has sent its message; end this process when its end of the channel closes.

    Its death alone does that. The kernel's own signal comes first where there is one: the direct
    parent is the fork server, which dies with the worker. A thread could be kept waiting by a long
    call that holds the interpreter's lock.
    """
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

    stopped = threading.Event()

    def listen() -> None:
        try:
            while True:
                channel.recv_bytes()
                stopped.set()
        except (EOFError, OSError):
            os._exit(1)

    threading.Thread(target=listen, daemon=True, name="worker-watch").start()
    return stopped.is_set


def _cap_memory(limit: int) -> None:
    """Keep the resident memory of this process below ``limit``.

    The kernel caps address space, of which a fresh interpreter has reserved far more than it uses.
    That difference is added, so that the limit speaks of memory in use. The allocator would reserve
    64 MiB for each thread that allocates: it is told to have one arena for all of them.
    """
    ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)
    size, resident = (int(pages) for pages in Path("/proc/self/statm").read_text().split()[:2])
    reserved = (size - resident) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    cap = limit + reserved if hard == resource.RLIM_INFINITY else min(limit + reserved, hard)
    resource.setrlimit(resource.RLIMIT_AS, (cap, hard))
    # A crash that writes its memory to disk would write personal data in clear.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
