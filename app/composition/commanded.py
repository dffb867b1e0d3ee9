"""The service of one command: PostgreSQL, API and worker in a folder that goes with it.

The API is started before anything that makes a database is imported here: both load at once.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

from app.cli.operations import RunningService
from app.composition.starter import announce, announcement, end, start, worker_environment
from app.domain.errors import Unavailable
from app.settings import Settings

if TYPE_CHECKING:
    from app.persistence.embedded import EmbeddedPostgres

API: Final = "app.composition.awaiting"
READY_SECONDS: Final = 60.0
PORT_ATTEMPTS: Final = 3


def start_service(
    settings: Settings,
    home: Path,
    *,
    with_worker: bool = True,
    tell: Callable[[str], None] = lambda _: None,
) -> RunningService:
    """Start PostgreSQL, API and worker with their files in ``home``, a new folder, and make a tenant.

    Returns once the API is ready.
    """
    logs = _new_folder(home)
    stack = ExitStack()
    running: dict[str, subprocess.Popen[bytes]] = {}

    def start_worker() -> None:
        if "worker" not in running:
            environment = worker_environment(postgres.runtime_url, home)
            running["worker"] = start(("app", "worker"), environment, logs / "worker.log")
            stack.callback(end, running["worker"])

    try:
        api = _Api(logs / "api.log", stack)
        postgres, key = _database(settings, home, stack, tell)
        tell("the interface is loaded")
        running["API"], base_url = api.ready(announcement(postgres.runtime_url, home))
        # The worker has nothing to do before the API answers, and loading it would slow that down.
        if with_worker:
            start_worker()
    except BaseException:
        stack.close()
        raise
    return RunningService(
        base_url, key, running["API"].pid, lambda: _wait_for_one(running), stack.close, start_worker
    )


def _new_folder(home: Path) -> Path:
    """Make the service's folder, marked as one; the folder of logs in it."""
    home.mkdir(mode=0o700)
    (home / "lock").touch(mode=0o600)
    logs = home / "logs"
    logs.mkdir(mode=0o700)
    return logs


def _database(
    settings: Settings, home: Path, stack: ExitStack, tell: Callable[[str], None]
) -> tuple[EmbeddedPostgres, str]:
    """The running database with a tenant, and the key of its administrator."""
    from app.composition.processes import embedded_database
    from app.composition.upkeep import first_tenant

    postgres = stack.enter_context(embedded_database(home, is_kept=False, tell=tell))
    return postgres, first_tenant(settings, postgres, "demo").api_key


class _Api:
    """The API of a command: loads while the database is made, and answers on a free port of this machine."""

    def __init__(self, log: Path, stack: ExitStack) -> None:
        self._log = log
        self._stack = stack
        self._loading = self._start()

    def ready(self, database: bytes) -> tuple[subprocess.Popen[bytes], str]:
        """The process and its address once it answers from the database that is announced.

        Another port is tried if somebody else has taken the first in between.
        """
        for _ in range(PORT_ATTEMPTS):
            api, base_url = self._loading
            self._stack.callback(end, api)  # before the database
            announce(api, database)
            if _becomes_ready(api, base_url):
                return api, base_url
            self._loading = self._start()
        raise Unavailable("The API did not become ready.", f"See {self._log}.")

    def _start(self) -> tuple[subprocess.Popen[bytes], str]:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        own = {"PRIVACY_RISK_HOST": "127.0.0.1", "PRIVACY_RISK_PORT": str(port)}
        api = start((API,), {**os.environ, **own}, self._log, is_told=True)
        self._stack.callback(end, api)
        return api, f"http://127.0.0.1:{port}"


def _becomes_ready(api: subprocess.Popen[bytes], base_url: str) -> bool:
    deadline = time.monotonic() + READY_SECONDS
    # Proxies of the environment are for other machines.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while time.monotonic() < deadline and api.poll() is None:
        try:
            with opener.open(f"{base_url}/readyz", timeout=2):
                return True
        except (urllib.error.URLError, OSError):
            time.sleep(0.02)
    end(api)
    return False


def _wait_for_one(processes: Mapping[str, subprocess.Popen[bytes]]) -> None:
    while True:
        for name, process in processes.items():
            if process.poll() is not None:
                raise Unavailable(f"The {name} ended with status {process.returncode}.", "See the logs.")
        time.sleep(0.2)
