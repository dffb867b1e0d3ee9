"""A block on a worker of the cluster: a task of Dask that has a process compute it.

The worker's process only waits, in a thread of Dask: it asks a process of blocks, which is kept for the next
block of the same run, and ends it as soon as nobody wants the block any more.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing import Pipe
from typing import Final

from distributed import Worker, get_worker

from app.services.runs.run_execution import FinishedBlock
from app.workers.child import Failure
from app.workers.cluster.block_process import Order

POLL_SECONDS: Final = 0.1
"""Between two looks whether the block is wanted."""

IDLE_SECONDS: Final = 1.0
"""After this a process that has nothing to compute ends, once the worker has dropped its work."""


def compute(order: Order, order_key: str, number: int) -> FinishedBlock | Failure | None:
    """Compute one block; the function of the task. ``order_key`` is what the cluster knows the order by.

    None if the process of the block died, could not be started, or was ended.
    """
    worker = get_worker()
    key = worker.get_current_task()

    def is_wanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is not None and task.state in ("executing", "long-running")

    began = time.time()
    try:
        process = _taken(order_key) or _started(order, order_key, worker)
    except OSError:
        return None
    came = process.ask(number, is_wanted)
    if came is None:
        process.end()
        return None
    with _lock:
        _idle[process] = order_key
    if isinstance(came, Failure):
        return came
    return replace(came, worker=str(worker.name), began=began, ended=time.time())


class _BlockProcess:
    """A process of blocks, seen from the worker."""

    def __init__(self, order: Order) -> None:
        self._channel, theirs = Pipe()
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own program and arguments
                [sys.executable, "-m", "app.workers.cluster.block_process", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )
        with contextlib.suppress(OSError):  # it has died, which is seen when it is asked
            self._channel.send(order)

    def ask(self, number: int, is_wanted: Callable[[], bool]) -> FinishedBlock | Failure | None:
        """What it answers; None if it dies or the block is not wanted any more."""
        try:
            self._channel.send(number)
            while not self._channel.poll(POLL_SECONDS):
                if not is_wanted():
                    return None
            answer: FinishedBlock | Failure = self._channel.recv()
        except (EOFError, OSError):
            return None
        return answer

    def lives(self) -> bool:
        """Whether it has neither been ended nor died."""
        return self._process.poll() is None

    def end(self) -> None:
        """End it, whatever it does."""
        self._process.kill()
        self._process.wait()
        self._channel.close()


_idle: Final[dict[_BlockProcess, str]] = {}
"""Processes that wait for another block, and what the order that they have is known by."""

_lock: Final = threading.Lock()


def _taken(order_key: str) -> _BlockProcess | None:
    """An idle process that has this order."""
    with _lock:
        found = next((process for process, own in _idle.items() if own == order_key), None)
        if found is not None:
            del _idle[found]
    return found


def _started(order: Order, order_key: str, worker: Worker) -> _BlockProcess:
    """A process that ends soon after the worker has dropped its order."""
    process = _BlockProcess(order)

    def watch() -> None:
        while process.lives():
            time.sleep(IDLE_SECONDS)
            with _lock:
                is_over = order_key not in worker.state.tasks and _idle.pop(process, None) is not None
            if is_over:
                process.end()
        with _lock:  # it may have died without being asked
            _idle.pop(process, None)

    threading.Thread(target=watch, daemon=True, name="block-process-watch").start()
    return process
