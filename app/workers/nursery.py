"""Where the processes of runs come from: one that has loaded what runs need, and does nothing but fork them.

It runs no thread and no event loop, so that what it forks finds no lock held by somebody who is not there;
and it is forked itself, so that it and its children share with the worker what that had loaded.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import select
import signal
import socket
import sys
from collections.abc import Sequence
from importlib import import_module
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from multiprocessing.util import Finalize
from typing import Final, NamedTuple

from app.domain.errors import Unavailable
from app.workers.child import Entry, Limits, child_main
from app.workers.names import NURSERY, RUN, be_called

PR_SET_PDEATHSIG: Final = 1

_LOADED, _START = b"loaded", b"start"
_PID_BYTES: Final = 8


class Born(NamedTuple):
    """A process of runs: its number, and a descriptor of it (pidfd) that is readable once it is dead."""

    pid: int
    descriptor: int


class Nursery:
    """The process, as its worker sees it: made before the worker has an event loop or a thread.

    It and all that it has forked end with the worker.
    """

    def __init__(self, entry: Entry, limits: Limits, preload: Sequence[str]) -> None:
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._is_loaded = False
        process = get_context("fork").Process(
            target=_bring_up, args=(entry, limits, preload, self._ours, theirs), name="run-nursery"
        )
        process.start()
        theirs.close()
        self._process = process
        # The interpreter waits at its end for the process, which waits for this.
        self._end = Finalize(self, self._ours.close, exitpriority=0)

    @property
    def sentinel(self) -> int:
        """Readable once the process is dead."""
        return self._process.sentinel

    def wait_until_loaded(self) -> None:
        """Wait until it has loaded what runs need; Unavailable if it has died."""
        if not self._is_loaded and self._ours.recv(len(_LOADED)) != _LOADED:
            raise _died()
        self._is_loaded = True

    def require(self) -> None:
        """Unavailable if it has died."""
        if select.select([self.sentinel], [], [], 0)[0]:
            raise _died()

    def start(self, channel: Connection) -> Born:
        """Have a process of runs started that talks over this channel; Unavailable if nobody starts it."""
        self.wait_until_loaded()
        try:
            socket.send_fds(self._ours, [_START], [channel.fileno()])
            said, descriptors, _, _ = socket.recv_fds(self._ours, _PID_BYTES, 1)
        except OSError:
            raise _died() from None
        if not descriptors:
            raise _died()
        return Born(int.from_bytes(said), descriptors[0])


def _died() -> Unavailable:
    return Unavailable("The process that starts the processes of runs has died.", "Start the worker again.")


def _bring_up(
    entry: Entry, limits: Limits, preload: Sequence[str], theirs: socket.socket, ours: socket.socket
) -> None:
    """The whole life of the process: load, then fork a child at every request, until the worker is gone."""
    theirs.close()  # open nowhere but in the worker: its death closes it
    _belong_to_the_worker()
    # Arrow's own allocator keeps what it has freed from everybody else, and from the system.
    os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"
    gc.disable()
    for module in preload:
        import_module(module)
    gc.collect()
    gc.freeze()  # what all children share stays shared: nobody looks through it again
    gc.enable()
    ours.send(_LOADED)
    born: dict[int, ForkProcess] = {}
    context = get_context("fork")
    while True:
        ready = wait([ours, *born])
        for dead in [one for one in born if one in ready]:
            born.pop(dead).join()
        if ours not in ready:
            continue
        _, descriptors, _, _ = socket.recv_fds(ours, len(_START), 1)
        if not descriptors:
            os._exit(0)
        process = context.Process(target=_live, args=(entry, limits, ours, descriptors[0]))
        process.start()
        os.close(descriptors[0])
        born[process.sentinel] = process
        # Nobody waits for it before it is told of: until then its number cannot become another's.
        pid = process.ident or 0
        descriptor = os.pidfd_open(pid)
        with contextlib.suppress(OSError):  # the worker has died meanwhile
            socket.send_fds(ours, [pid.to_bytes(_PID_BYTES)], [descriptor])
        os.close(descriptor)


def _belong_to_the_worker() -> None:
    """End when the worker does, and leave what a terminal or a service manager asks to the worker."""
    be_called(NURSERY)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    worker = parent_process()
    if worker is not None and os.getppid() != worker.ident:  # it died before the kernel was told
        sys.exit(1)


def _live(entry: Entry, limits: Limits, nursery: socket.socket, descriptor: int) -> None:
    be_called(RUN)
    nursery.close()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    child_main(entry, limits, Connection(descriptor))
