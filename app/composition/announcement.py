"""What ``serve`` tells whoever started it: where the pages are, and how to sign in."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Final

from app.settings import Settings

_EVERY_ADDRESS: Final = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - nothing listens
"""Hosts that stand for all addresses of the machine → one that a browser on it can open."""


def announce(settings: Settings, port: int) -> None:
    """Write three lines to standard output; nothing if nobody reads it, which must not end a service.

    The address is the public one if there is one, else that of the host with the port that it answers at.
    """
    if sys.stdout is None:
        return
    with suppress(OSError, ValueError):
        # Past the buffer: what cannot be written would be tried again at the end, and spoil the exit status.
        os.write(sys.stdout.fileno(), announced(settings, port).encode())


def announced(settings: Settings, port: int) -> str:
    """The three lines."""
    base = str(settings.public_url or local_address(settings, port)).rstrip("/")
    return f"pages: {base}/\nAPI documentation: {base}/docs\nsign in with a key of: python -m app bootstrap\n"


def local_address(settings: Settings, port: int) -> str:
    """Where programs of this machine reach a service that answers at the port."""
    host = _EVERY_ADDRESS.get(settings.host, settings.host)
    place = f"[{host}]" if ":" in host else host
    return f"http://{place}:{port}"
