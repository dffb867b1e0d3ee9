"""An embedded service for the length of one command, in a folder that goes with it."""

from __future__ import annotations

import contextlib
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx

from app.cli.operations import RunningService
from app.client import Client


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder for a service's files, removed at the end, also when the command is told to end."""
    with _ended_by_sigterm(), tempfile.TemporaryDirectory(prefix="privacy-risk-") as folder:
        # PostgreSQL runs under another account for root, which has to get through to its own folder.
        Path(folder).chmod(0o711)
        yield Path(folder)


def client_of(service: RunningService) -> Client:
    """A client of a service on this machine: proxies that the environment names are for other ones."""
    return Client(service.base_url, service.api_key, transport=httpx.HTTPTransport())


@contextlib.contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Leave by an exception when told to end, so that the service's processes are ended too."""
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
