"""An embedded service for the length of one command, in a folder that goes with it."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import httpx

from app.cli.abandoned import PREFIX, claim, remove_abandoned
from app.cli.ending import leaving_on_sigterm
from app.cli.operations import Operations, RunningService
from privacy_risk import Client

SERVICE: Final = "home"
"""The service's own folder in the command's."""


@contextlib.contextmanager
def temporary_folder(operations: Operations) -> Iterator[Path]:
    """A folder for a service's files, removed at the end, also when the command is told to end.

    What commands left that were killed is removed first.
    """
    remove_abandoned(Path(tempfile.gettempdir()), lambda left: operations.end_server(left / SERVICE))
    with leaving_on_sigterm(), contextlib.ExitStack() as stack:
        folder = tempfile.TemporaryDirectory(prefix=PREFIX)
        lock = claim(Path(folder.name))
        # The lock is let go of after the folder: nobody else begins to remove what is being removed.
        stack.callback(os.close, lock)
        stack.enter_context(folder)
        # PostgreSQL runs under another account for root, which has to get through to its own folder.
        Path(folder.name).chmod(0o711)
        yield Path(folder.name)


def client_of(service: RunningService) -> Client:
    """A client of a service on this machine: proxies that the environment names are for other ones."""
    return Client(service.base_url, service.api_key, transport=httpx.HTTPTransport())
