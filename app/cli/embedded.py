"""An embedded service for the length of one command, in a folder that goes with it.

A command that is killed outright (``kill -9``, lack of memory) removes nothing: the encrypted data and the
key that opens them stay behind, and PostgreSQL goes on running. The next command removes what such a folder
holds. Whether a folder's command lives is told by a lock that the kernel lets go of with the process, never
by a process's number or a file's age.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from app.cli.ending import leaving_on_sigterm
from app.cli.operations import Operations, RunningService
from app.domain.errors import PrivacyRiskError
from privacy_risk import Client
from privacy_risk.embedded import WorkedOff

PREFIX: Final = "privacy-risk-"
_LOCK: Final = "command.lock"


def claim(folder: Path) -> int:
    """Mark a new folder as that of a command that lives, for as long as the descriptor is open."""
    coming = folder / f".{_LOCK}"
    lock = os.open(coming, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    # Locked before it has its name: nobody ever finds it free.
    fcntl.flock(lock, fcntl.LOCK_EX)
    coming.rename(folder / _LOCK)
    return lock


def remove_abandoned(parent: Path, end_server: Callable[[Path], None]) -> None:
    """End the servers, and remove the folders, of this user's commands that live no more.

    What cannot be removed is said on standard error, and is no fault of the command that comes across it.
    """
    for folder in sorted(parent.glob(f"{PREFIX}*")):
        lock = _abandoned(folder)
        if lock is None:
            continue
        try:
            end_server(folder)
            shutil.rmtree(folder)
        except (OSError, PrivacyRiskError) as error:
            print(f"privacy-risk: {folder} of a command that was killed stays: {error}", file=sys.stderr)
        finally:
            os.close(lock)


def _abandoned(folder: Path) -> int | None:
    """The folder's lock if its command lives no more; None for what is in use, or no such folder."""
    try:
        status = folder.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            return None
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock


SERVICE: Final = "home"
"""The service's own folder in the command's."""


@contextlib.contextmanager
def temporary_folder(operations: Operations) -> Iterator[Path]:
    """A folder for a service's files, removed at the end, also when the command is told to end.

    What commands left that were killed is removed first.
    """
    remove_abandoned(Path(tempfile.gettempdir()), lambda left: operations.end_server(left / SERVICE))
    with claimed_folder() as folder:
        # PostgreSQL runs under another account for root, which has to get through to its own folder.
        folder.chmod(0o711)
        yield folder


@contextlib.contextmanager
def claimed_folder() -> Iterator[Path]:
    """A folder that nobody else gets into, removed at the end, also when the command is told to end.

    That of a command that is killed outright is removed by the next one that starts a service.
    """
    with leaving_on_sigterm(), contextlib.ExitStack() as stack:
        folder = tempfile.TemporaryDirectory(prefix=PREFIX)
        lock = claim(Path(folder.name))
        # The lock is let go of after the folder: nobody else begins to remove what is being removed.
        stack.callback(os.close, lock)
        yield Path(stack.enter_context(folder))


def client_of(service: RunningService) -> Client:
    """A client of a service on this machine: proxies that the environment names are for other ones."""
    return Client(service.base_url, service.api_key, transport=WorkedOff(service.start_worker))
