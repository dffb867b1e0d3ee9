"""The embedded PostgreSQL: everything in one folder, nothing reachable from outside.

::

    home/                   0700 (0711 where root runs the server under another account)
      master.key            0600 wraps all data keys; outside the database on purpose
      credentials.json      0600 generated passwords of the three roles
      lock                  held by the process that runs the server; says when others may share it
      postgres/             data (0700), run (socket, 0700), programs (a copy, if needed), postgres.log

The server listens on a unix socket only and requires a password. A second process that starts the same
home shares the running server of a service, but waits for a command that soon ends with its server; if the
first one is gone, its orphan is ended and the server restarted.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from app.domain.errors import Conflict, Unavailable
from app.persistence.embedded_binaries import server_account
from app.persistence.embedded_server import Server
from app.persistence.encryption import MasterKey
from app.persistence.key_rotation import master_keys_in_use, rotate_master_key
from app.persistence.migration import migrate
from app.persistence.provisioning import OWNER_ROLE, RUNTIME_ROLE, provision

DATABASE = "privacy_risk"
_READY = b"ready"
_KEY = "master.key"
_NEXT_KEY = "master.key.next"
_WAIT_SECONDS = 120.0

logger = logging.getLogger(__name__)


@dataclass
class EmbeddedPostgres:
    """A running embedded server; use as a context manager or call ``stop``."""

    home: Path
    owner_url: str
    runtime_url: str
    admin_url: str
    master_key: MasterKey
    _server: Server
    _admin_password: str
    _lock: int | None

    @property
    def is_ours(self) -> bool:
        """Whether this process runs the server, rather than sharing another's."""
        return self._lock is not None

    @property
    def superuser_url(self) -> str:
        """The superuser's address of the service's database."""
        return self._server.admin_url(self._admin_password, DATABASE)

    def program(self, name: str) -> Path:
        """One of the client programs that fit the server, such as pg_dump."""
        return self._server.program(name)

    def ensure_running(self) -> bool:
        """Start the server again if it died; answers whether that was needed. No-op where it is shared."""
        if self._lock is None or self._server.is_running():
            return False
        self._server.start(self._admin_password)
        return True

    def rotate_master_key(self) -> int:
        """Replace the master key and rewrap all data keys; how many. A crash leaves the old or the new."""
        if self._lock is None:
            raise Conflict("The service is running.", "Stop it, then rotate the keys.")
        new = MasterKey.generate()
        _write_private(self.home / _NEXT_KEY, new.to_text() + "\n")
        rewrapped = rotate_master_key(self.owner_url, self.master_key, new)
        (self.home / _NEXT_KEY).rename(self.home / _KEY)
        self.master_key = new
        return rewrapped

    def leave_to_starter(self) -> None:
        """For a process that was forked by the one that runs the server: share it, and not its lock."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def stop(self) -> None:
        """Stop the server (fast shutdown) if this process runs it."""
        if self._lock is not None:
            os.ftruncate(self._lock, 0)
            self._server.stop()
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def start_embedded(
    home: Path,
    *,
    is_kept: bool = True,
    is_shared: bool = True,
    tell: Callable[[str], None] = lambda _: None,
) -> EmbeddedPostgres:
    """Start (or share) the server of this folder, migrated to the newest revision.

    Whoever makes a folder that is kept is told to keep its key elsewhere, too. ``is_shared`` is whether
    others may use a server that this process starts: not one that stops before they are done.
    """
    home = Path(os.path.abspath(home))
    service = home / "postgres"
    account = server_account(service / "data")
    home.parent.mkdir(parents=True, exist_ok=True)
    if account and not account.reaches(home):
        raise Unavailable(
            f"The account that runs PostgreSQL (uid {account.uid}) cannot reach {home}: "
            "a folder above it is closed to others.",
            "Choose a home folder such as /var/lib/privacy-risk; parents are not opened for you.",
        )
    _make_folder(home, 0o711 if account else 0o700)
    lock = _lock_or_wait(home / "lock")
    server = Server(service, account, is_kept)
    if lock is None:
        return _described(home, server, None)
    try:
        return _start(home, server, lock, tell, is_kept=is_kept, is_shared=is_shared)
    except BaseException:
        server.stop()
        os.close(lock)
        raise


def end_server(home: Path) -> None:
    """End the server of this folder that outlived its service; nothing if there is none."""
    Server(Path(os.path.abspath(home)) / "postgres", None).end_orphan()


def _start(
    home: Path, server: Server, lock: int, tell: Callable[[str], None], *, is_kept: bool, is_shared: bool
) -> EmbeddedPostgres:
    _make_folder(server.service, 0o711 if server.account else 0o700)
    if _ensure_master_key(home / _KEY, data_exist=server.data.exists()) and is_kept:
        logger.warning("made the master key %s; keep a copy: losing it loses the data", home / _KEY)
    passwords = _ensure_credentials(home / "credentials.json")
    tell("PostgreSQL is made and started")
    server.initialise(passwords["admin"])
    server.start(passwords["admin"])
    tell("the tables of the database are made")
    running = _described(home, server, lock)
    provision(running.admin_url, DATABASE, passwords["owner"], passwords["runtime"])
    migrate(running.owner_url)
    running.master_key = _settled_master_key(home, running.owner_url)
    if is_shared:
        os.pwrite(lock, _READY, 0)
    return running


def _described(home: Path, server: Server, lock: int | None) -> EmbeddedPostgres:
    passwords = json.loads((home / "credentials.json").read_text())
    where = f"/{DATABASE}?host={server.sockets}"
    return EmbeddedPostgres(
        home=home,
        owner_url=f"postgresql://{OWNER_ROLE}:{passwords['owner']}@{where}",
        runtime_url=f"postgresql://{RUNTIME_ROLE}:{passwords['runtime']}@{where}",
        admin_url=server.admin_url(passwords["admin"]),
        master_key=MasterKey.from_text((home / _KEY).read_text()),
        _server=server,
        _admin_password=passwords["admin"],
        _lock=lock,
    )


def _make_folder(folder: Path, mode: int) -> None:
    if not folder.exists():
        folder.mkdir(mode=mode, exist_ok=True)
    status = folder.stat()
    ours = (folder / "lock").exists() or (folder / "data").exists() or not any(folder.iterdir())
    if status.st_uid == os.geteuid() and ours:
        folder.chmod(mode)
    elif status.st_mode & mode != mode:
        raise Unavailable(
            f"{folder} has other content and a mode that does not fit.", "Choose an empty or a new folder."
        )


def _lock_or_wait(path: Path) -> int | None:
    """The lock's descriptor, or None once the process that holds it says that its server may be shared."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + _WAIT_SECONDS
    while time.monotonic() < deadline:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if os.pread(lock, len(_READY), 0) == _READY:
                os.close(lock)
                return None
            time.sleep(0.05)
        else:
            os.ftruncate(lock, 0)
            return lock
    os.close(lock)
    raise Unavailable(
        f"Another process holds {path} and does not share its database.",
        "Wait until that command has ended, or end it.",
    )


def _ensure_master_key(path: Path, *, data_exist: bool) -> bool:
    """Make the key unless there is one; whether it was made."""
    if path.exists():
        return False
    if data_exist:
        raise Unavailable(
            f"The master key {path} is missing: without it the data of this folder cannot be read.",
            "Put the file back from your copy. If there is none, the data are lost; start in a new folder.",
        )
    _write_private(path, MasterKey.generate().to_text() + "\n")
    return True


def _settled_master_key(home: Path, owner_url: str) -> MasterKey:
    """The master key, after a rotation that a crash interrupted was found done or not begun."""
    current, following = home / _KEY, home / _NEXT_KEY
    if following.exists():
        if MasterKey.from_text(following.read_text()).id in master_keys_in_use(owner_url):
            following.rename(current)
        else:
            following.unlink()
    return MasterKey.from_text(current.read_text())


def _ensure_credentials(path: Path) -> dict[str, str]:
    if not path.exists():
        made = {role: secrets.token_urlsafe(24) for role in ("admin", "owner", "runtime")}
        _write_private(path, json.dumps(made))
    read: dict[str, str] = json.loads(path.read_text())
    return read


def _write_private(path: Path, text: str) -> None:
    """Write a file of mode 0600 that is whole or absent, and durable."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)
