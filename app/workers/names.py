"""What the system's tools call processes that are forked, whose arguments are those of another program."""

from __future__ import annotations

import ctypes
import socket
from typing import Final

PR_SET_NAME: Final = 15
"""Takes at most 15 bytes."""

WORKER: Final = "worker"
KEEPER: Final = "worker-keeper"
NURSERY: Final = "run-nursery"
RUN: Final = "run"


def worker_name(pid: int) -> str:
    """What a worker on this machine is called in the store."""
    return f"{socket.gethostname()}:{pid}"


def be_called(name: str) -> None:
    """Name this process, for whom its main thread asks."""
    ctypes.CDLL(None).prctl(PR_SET_NAME, name.encode())
