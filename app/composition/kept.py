"""The service of a home that runs: where it answers, how commands find it, and how one is kept and ended.

::

    home/service.json     0600 its address, its process and its version, while it runs
    home/commands.key     0600 the key that commands ask with, made when the first of them does
    home/service.log      0600 what a service in the background has to say

Whether it runs is told by a lock on ``service.json``, which the kernel lets go of with the process.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import select
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app import __version__
from app.cli.error_text import error_text
from app.cli.operations import RunningService
from app.domain.errors import Conflict, PrivacyRiskError, Unavailable
from app.home import ANNOUNCED
from app.settings import Settings

KEY: Final = "commands.key"
LOG: Final = "service.log"
START_SECONDS: Final = 300.0
STOP_SECONDS: Final = 60.0


@dataclass(frozen=True)
class Announced:
    """What a service says of itself, and whether its process lives."""

    base_url: str
    pid: int
    version: str
    lives: bool


@contextlib.contextmanager
def announced_at(home: Path) -> Iterator[Callable[[str], None]]:
    """What tells a home where its service answers, for as long as this process, or a fork of it, lives.

    Of two services on one home the first is the one that commands ask.
    """
    pid = os.getpid()

    def announce(base_url: str) -> None:
        if (said := _read(home)) is not None and said.lives:
            return
        coming = home / f".{ANNOUNCED}.{secrets.token_hex(4)}"
        # Held open until this process ends, and locked before it has its name: nobody ever finds it free.
        held = os.open(coming, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(held, fcntl.LOCK_EX)
        os.write(held, json.dumps({"base_url": base_url, "pid": pid, "version": __version__}).encode())
        coming.rename(home / ANNOUNCED)

    try:
        yield announce
    finally:
        said = _read(home)
        if said is not None and said.pid == pid:
            (home / ANNOUNCED).unlink(missing_ok=True)


def running_service(settings: Settings) -> RunningService | None:
    """The service of this home for a command to ask, None without one; why none can be asked is told."""
    said = _read(settings.home)
    if said is None:
        return None
    try:
        _require_usable(settings.home, said)
        key = _key(settings, said.base_url)
    except (OSError, PrivacyRiskError) as error:
        print(f"privacy-risk: {error_text(error)} This command starts one of its own.", file=sys.stderr)
        return None
    return RunningService(said.base_url, key, said.pid, lambda: None, lambda: None)


def serve_in_background(settings: Settings, options: Sequence[str]) -> tuple[str, bool]:
    """The address of the home's service, and whether it ran; if not it is ``serve`` with these options."""
    if settings.database_url is not None:
        raise Conflict(
            "DATABASE_URL is set: such a service is of no home.",
            "Have it kept by what keeps the services of its machine, or unset DATABASE_URL.",
        )
    home = Path(os.path.abspath(settings.home))
    _make_home(home)
    with (home / "service.starting").open("wb") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)  # of two that come at once the second finds the service of the first
        said = _read(home)
        if said is not None and said.lives:
            _require_usable(home, said)
            return said.base_url, True
        return _started(home, options), False


def stop_service(settings: Settings) -> str:
    """End the service of this home, and wait until it has ended; what there was to end."""
    said = _read(settings.home)
    if said is None:
        raise Conflict(f"No service of {settings.home} runs.", "serve --background starts one.")
    with contextlib.suppress(ProcessLookupError), os.fdopen(os.pidfd_open(said.pid), "rb") as process:
        # The number is the service's for as long as its lock is held, and stays so while it is open here.
        if (still := _read(settings.home)) is not None and still.lives:
            signal.pidfd_send_signal(process.fileno(), signal.SIGTERM)
            if not select.select([process], [], [], STOP_SECONDS)[0]:
                raise Unavailable(f"The service (process {said.pid}) does not end.", "End it yourself.")
            return f"The service at {said.base_url} has ended."
    _remove_dead(settings.home)
    return f"The service at {said.base_url} had died already."


def _remove_dead(home: Path) -> None:
    """Forget a service that died, and end its database unless another process has taken it over."""
    # Imported here: nothing else of this file needs the database's modules.
    from app.persistence.embedded import end_server

    (home / ANNOUNCED).unlink(missing_ok=True)
    with (home / "lock").open("rb+") as lock, contextlib.suppress(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        end_server(home)


def _started(home: Path, options: Sequence[str]) -> str:
    log = os.open(home / LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        process = subprocess.Popen(  # noqa: S603 - this interpreter, a constant and checked options
            [sys.executable, "-m", "app", "serve", *options],
            env={**os.environ, "PRIVACY_RISK_HOME": str(home)},
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    finally:
        os.close(log)
    deadline = time.monotonic() + START_SECONDS
    try:
        while process.poll() is None and time.monotonic() < deadline:
            said = _read(home)
            if said is not None and said.pid == process.pid:
                process.returncode = 0  # it is on its own now
                return said.base_url
            time.sleep(0.05)
    finally:
        if process.returncode is None:  # nobody who gave up waiting leaves it behind
            process.terminate()
            process.wait()
    why = (home / LOG).read_text(errors="replace").strip().rpartition("\n")[2]
    raise Unavailable(
        f"The service has not started. {why.removeprefix('privacy-risk: ')}", f"See {home / LOG}."
    )


def _make_home(home: Path) -> None:
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        (home / "lock").touch(mode=0o600)  # marks the folder as a service's
    except OSError as error:
        raise Unavailable(
            f"The folder {home} cannot be written to: {error.strerror}.",
            "Make it writable for you, or name another by PRIVACY_RISK_HOME.",
        ) from error


def _read(home: Path) -> Announced | None:
    """What is announced; None without it, and for a file that others may have written or read."""
    try:
        descriptor = os.open(home / ANNOUNCED, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if status.st_uid != os.geteuid() or status.st_mode & 0o077:
            return None
        said = json.load(file)  # which of another version may have more members
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            lives = False
        except BlockingIOError:
            lives = True
        return Announced(str(said["base_url"]), int(said["pid"]), str(said["version"]), lives)


def _require_usable(home: Path, said: Announced) -> None:
    if not said.lives:
        raise Unavailable(
            f"The service of {home} has died without being stopped.",
            "Start it again by serve --background, or have it forgotten by serve --stop.",
        )
    if said.version != __version__:
        raise Unavailable(
            f"The service of {home} is of version {said.version}, this command of {__version__}.",
            "End it by serve --stop, and start it anew.",
        )


def _key(settings: Settings, base_url: str) -> str:
    """The key of commands that the service takes; made if there is none, or none that it takes."""
    descriptor = os.open(settings.home / KEY, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # commands that come at once share one key
        token = file.read().strip()
        if token and _takes(base_url, token):
            return token
        # Imported here: the first command of a home alone makes a key, which takes the database's modules.
        from app.composition.upkeep import bootstrap

        embedded = settings.model_copy(update={"database_url": None})
        token = bootstrap(embedded, "commands", new_key=True).api_key
        file.seek(0)
        file.truncate()
        file.write(f"{token}\n")
        return token


def _takes(base_url: str, token: str) -> bool:
    """Whether the service takes the key; Unavailable if it does not answer."""
    asked = urllib.request.Request(  # noqa: S310 - the address is of the home's own file
        f"{base_url}/v1/api-keys", headers={"Authorization": f"Bearer {token}"}
    )
    # Proxies of the environment are for other machines.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(asked, timeout=10):
            return True
    except OSError as error:  # answers of an error, too
        if isinstance(error, urllib.error.HTTPError):
            error.close()
            if error.code in (401, 403):
                return False
        raise Unavailable(
            f"The service at {base_url} does not answer: {error}.",
            "End it by serve --stop, and start it anew.",
        ) from None
