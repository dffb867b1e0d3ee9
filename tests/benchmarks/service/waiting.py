"""Waiting for what other processes do."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(found: Callable[[], bool], seconds: float, pause: float = 0.01) -> bool:
    """Whether something came true within so many seconds."""
    deadline = time.monotonic() + seconds
    while not found():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
    return True
