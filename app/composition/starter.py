"""A process that a service has started, and that must not outlive it."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import Final

PR_SET_PDEATHSIG: Final = 1
STARTED_BY: Final = "PRIVACY_RISK_STARTED_BY"
"""Tells a process that a service starts whose it is."""


def end_with_starter() -> None:
    """Have the kernel end this process when the service that started it dies; nothing if an operator did.

    A worker that outlived a killed service would go on beside that of the next one, with older code.
    """
    starter = os.environ.pop(STARTED_BY, None)
    if starter is not None:
        end_with(int(starter))


def end_with(starter: int) -> None:
    """Have the kernel ask this process to end when the process that started it dies."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != starter:  # it died before the kernel was told
        sys.exit(1)
