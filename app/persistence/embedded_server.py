"""One PostgreSQL server process on one data folder: made, started, found again, stopped."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from app.domain.errors import Unavailable
from app.persistence.embedded_binaries import NEWEST, Account, binaries
from app.persistence.full_disk import LEAST_ROOM_BYTES

ADMIN_ROLE = "postgres"
_START_SECONDS = 60.0
_STOP_SECONDS = 20.0
_LONGEST_SOCKET_FOLDER = 80

_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "jit": "off",
    "max_wal_senders": "0",
    "wal_level": "minimal",
    # A file that is used again holds what it held until it is full.
    "wal_recycle": "off",
    "timezone": "UTC",
    # Logs must not hold data: no statements, no details of violated keys.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
}

_OF_PASSING_DATA = {"fsync": "off", "full_page_writes": "off"}
"""Of data that go with their service: they need not outlive the machine."""


@dataclass
class Server:
    """The server of a service folder: ``service/data``, its socket folder and ``service/postgres.log``.

    Data that are not kept survive the server's own death, but not the machine's.
    """

    service: Path
    account: Account | None
    is_kept: bool = True
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def data(self) -> Path:
        """PostgreSQL's data folder."""
        return self.service / "data"

    @property
    def sockets(self) -> Path:
        """The folder of the socket: in the service folder unless the path were too long for a socket."""
        inside = self.service / "run"
        if len(os.fsencode(inside)) <= _LONGEST_SOCKET_FOLDER:
            return inside
        name = hashlib.sha256(os.fsencode(self.service)).hexdigest()[:16]
        return Path("/tmp") / f"privacy-risk-{name}"  # noqa: S108 - its owner is checked below

    @property
    def _programs(self) -> Path:
        file = self.data / "PG_VERSION"
        version = int(file.read_text()) if file.exists() else NEWEST
        return binaries(version, self.account, self.service)

    def program(self, name: str) -> Path:
        """The path of one of PostgreSQL's programs, of the data folder's version."""
        return self._programs / name

    def initialise(self, password: str) -> None:
        """Make the data folder with password authentication only; whole or not at all."""
        if self.data.exists():
            return
        with tempfile.TemporaryDirectory(dir=self.service) as parent:
            self._own(Path(parent), 0o700)
            fresh, secret = Path(parent) / "data", Path(parent) / "password"
            secret.touch(mode=0o600)
            secret.write_text(password)
            self._own(secret, 0o600)
            done = subprocess.run(  # noqa: S603 - our own program and arguments
                [
                    self.program("initdb"), "--pgdata", fresh, "--username", ADMIN_ROLE, "--pwfile", secret,
                    "--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C",
                    "--locale-provider", "builtin", "--builtin-locale", "C.UTF-8", "--no-instructions",
                    *([] if self.is_kept else ["--no-sync"]),
                ],
                capture_output=True, check=False, **self._child(),
            )  # fmt: skip
            if done.returncode != 0:
                raise Unavailable(f"initdb failed: {done.stderr.decode(errors='replace').strip()[-500:]}")
            # Socket and password only; initdb's file would also admit replication and loopback TCP.
            (fresh / "pg_hba.conf").write_text("local all all scram-sha-256\n")
            fresh.rename(self.data)

    def start(self, password: str) -> None:
        """Start, or start again after a crash, and wait until connections are answered."""
        self.end_orphan()
        self._prepare_sockets()
        deadline = time.monotonic() + _START_SECONDS
        while not self._try_start(password, deadline):
            if time.monotonic() > deadline:
                raise self._not_started()
            time.sleep(0.2)

    def is_running(self) -> bool:
        """Whether the server process that we started lives."""
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """Shut down fast: sessions are ended, everything committed is on disk."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.send_signal(signal.SIGQUIT)
                self._process.wait(_STOP_SECONDS)
            self._process = None

    def admin_url(self, password: str, database: str = "postgres") -> str:
        """The superuser's address."""
        return f"postgresql://{ADMIN_ROLE}:{password}@/{database}?host={self.sockets}"

    def _child(self) -> dict[str, Any]:
        return {
            "cwd": "/",
            "env": {"LC_ALL": "C", "PATH": os.defpath},
            "umask": 0o077,
            **(self.account.popen_arguments() if self.account else {}),
        }

    def _own(self, path: Path, mode: int) -> None:
        if self.account:
            os.chown(path, self.account.uid, self.account.gid)
        path.chmod(mode)

    def _prepare_sockets(self) -> None:
        folder = self.sockets
        if not folder.exists():
            folder.mkdir(mode=0o700)
            self._own(folder, 0o700)
        status = folder.lstat()
        expected = self.account.uid if self.account else os.geteuid()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != expected or status.st_mode & 0o077:
            raise Unavailable(
                f"{folder} belongs to somebody else.", "Remove it, or choose a shorter home folder."
            )

    def _try_start(self, password: str, deadline: float) -> bool:
        log = os.open(self.service / "postgres.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            settings = {**_SETTINGS, "unix_socket_directories": str(self.sockets)}
            settings |= {} if self.is_kept else _OF_PASSING_DATA
            options = [f"--{name}={value}" for name, value in settings.items()]
            self._process = subprocess.Popen(  # noqa: S603 - our own program and arguments
                [self.program("postgres"), "-D", self.data, *options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, **self._child(),
            )  # fmt: skip
        finally:
            os.close(log)
        while self._process.poll() is None and time.monotonic() < deadline:
            try:
                psycopg.connect(self.admin_url(password), connect_timeout=5).close()
            except psycopg.OperationalError:
                time.sleep(0.02)
            else:
                return True
        self.stop()
        return False

    def end_orphan(self) -> None:
        """Stop a server that outlived the process which started it, and disarm a stale pid file.

        The file is not removed: PostgreSQL itself must still check its shared-memory entry, which
        tells whether back ends of a killed server are alive.
        """
        file = self.data / "postmaster.pid"
        try:
            lines = file.read_text().splitlines()
            pid = int(lines[0])
        except (FileNotFoundError, ValueError, IndexError):
            return
        if not self._end_if_ours(pid):
            # The number is free, a zombie's or another program's; PostgreSQL takes its parent's for stale.
            file.write_text("\n".join([str(os.getpid()), *lines[1:]]) + "\n")

    def _end_if_ours(self, pid: int) -> bool:
        """End the process if it serves our data folder; whether it did."""
        # Imported here: only a server that was not shut down leaves a process to look at.
        import psutil

        try:
            process = psutil.Process(pid)
            is_ours = str(self.data) in process.cmdline()
        except psutil.Error:  # gone, a zombie, or not ours to look at
            return False
        if is_ours:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(_STOP_SECONDS)
            except psutil.TimeoutExpired:
                raise Unavailable(f"An earlier PostgreSQL (process {pid}) does not end.", "End it.") from None
        return is_ours

    def _not_started(self) -> Unavailable:
        """Why it did not start: for want of room, or else what it said last."""
        if shutil.disk_usage(self.data).free < LEAST_ROOM_BYTES:
            return Unavailable(
                f"PostgreSQL did not start: the disk of {self.data} is full.", "Make room there."
            )
        text = (self.service / "postgres.log").read_text(errors="replace")
        return Unavailable(f"PostgreSQL did not start: {' / '.join(text.splitlines()[-3:])}")
