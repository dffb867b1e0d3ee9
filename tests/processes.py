"""Looking at other processes, any of which may end while it is looked at."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable, Iterator, Sequence

import psutil

from app.workers.names import NURSERY, WORKER

HANG_SECONDS = 120.0
"""How long tests wait for what another process must do: a hang takes longer, a busy machine does not."""


def is_alive(process: psutil.Process) -> bool:
    """A dead process without a parent to bury it (a container's first process may not) is not alive."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def command_line(process: psutil.Process) -> list[str]:
    """Its command and arguments, or nothing once it has ended, buried or not."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.cmdline()
    return []


def name_of(process: psutil.Process) -> str:
    """What the system's tools call it, or nothing once it has ended."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.name()
    return ""


def is_worker(process: psutil.Process) -> bool:
    """Whether it works off a queue: forked by its service, or a program of its own."""
    return name_of(process) == WORKER or command_line(process)[-1:] == ["worker"]


def descendants(process: psutil.Process) -> list[psutil.Process]:
    """The living processes below this one; none once it has ended."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return [one for one in process.children(recursive=True) if is_alive(one)]
    return []


def grandchildren(process: psutil.Process) -> list[psutil.Process]:
    """The living processes that this one has not started itself."""
    below = []
    for one in descendants(process):
        with contextlib.suppress(psutil.NoSuchProcess):
            if one.ppid() != process.pid:
                below.append(one)
    return below


def ready_workers(process: psutil.Process) -> list[psutil.Process]:
    """The workers below this process that can start a run: whose own process for that is there.

    What a worker has just forked is called as the worker is, and counts as none.
    """
    found = []
    for one in descendants(process):
        with contextlib.suppress(psutil.NoSuchProcess):
            worker = one.parent() if name_of(one) == NURSERY else None
            if worker is not None:
                found.append(worker)
    return found


def seconds_until_gone(process: psutil.Process) -> float:
    """How long it still computes, by the time of the processor, which a busy machine does not stretch."""
    seen = []

    def is_gone() -> bool:
        with contextlib.suppress(psutil.NoSuchProcess):
            seen.append(sum(process.cpu_times()[:2]))
        return not is_alive(process)

    until(is_gone)
    return max(seen, default=0.0) - min(seen, default=0.0)


@contextlib.contextmanager
def held_port() -> Iterator[int]:
    """A port of this machine that nobody listens on, and that nobody is given who asks for any.

    What was only found free could be another program's by the time it is used. The socket that holds it does
    not listen, so that a server that is told the number may: both say that they share it (SO_REUSEADDR).
    """
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        yield int(held.getsockname()[1])


def until(found: Callable[[], bool], told: Callable[[], object] = lambda: "it is not found") -> None:
    """Wait until it is found; who waits in vain is ``told`` why."""
    deadline = time.monotonic() + HANG_SECONDS
    while not found():
        assert time.monotonic() < deadline, told()
        time.sleep(0.05)


def until_gone(processes: Sequence[psutil.Process]) -> None:
    """Wait until all of them have ended; who waits in vain is told which are left, and what they do."""

    def left() -> list[str]:
        found = []
        for one in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                if is_alive(one):
                    found.append(
                        f"{one.name()} ({one.pid}, of {one.ppid()}) {one.status()} {one.cpu_times()[:2]}"
                    )
        return found

    until(lambda: not left(), left)
