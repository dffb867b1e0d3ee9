"""What the system's tools call processes that are forked, whose arguments are those of another program."""

from __future__ import annotations

import ctypes
from typing import Final

PR_SET_NAME: Final = 15
"""Takes at most 15 bytes."""

WORKER: Final = "worker"
NURSERY: Final = "run-nursery"
RUN: Final = "run"


def be_called(name: str) -> None:
    """Name this process, for whom its main thread asks."""
    ctypes.CDLL(None).prctl(PR_SET_NAME, name.encode())
