"""The processes of an embedded service: PostgreSQL, API and worker, started, watched and stopped together."""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from app.cli.ending import ENDED_BY_SIGTERM, leaving_on_sigterm
from app.cli.operations import Bootstrapped, RunningService
from app.composition.starter import STARTED_BY
from app.domain.errors import Unavailable
from app.persistence.embedded import EmbeddedPostgres, start_embedded

READY_SECONDS: Final = 60.0
STOP_SECONDS: Final = 10.0
PORT_ATTEMPTS: Final = 3
RESTART_PAUSE_SECONDS: Final = 1.0

logger = logging.getLogger(__name__)


@contextmanager
def embedded_database(
    home: Path, *, status_when_ended: int = ENDED_BY_SIGTERM, is_kept: bool = True
) -> Iterator[EmbeddedPostgres]:
    """The embedded PostgreSQL of this folder, stopped at the end if this process started it.

    It is started again should it die meanwhile. ``status_when_ended`` is the exit status of a process that
    is asked to end: 0 only where that is the usual way for it to end. A folder that is not kept goes with
    its service.
    """
    stop = threading.Event()
    with leaving_on_sigterm(status_when_ended), start_embedded(home, is_kept=is_kept) as postgres:

        def watch() -> None:
            while not stop.wait(RESTART_PAUSE_SECONDS):
                try:
                    if postgres.ensure_running():
                        logger.warning("the embedded PostgreSQL had died and was started again")
                except Unavailable as error:
                    logger.error("the embedded PostgreSQL does not start: %s", error.message)

        watcher = threading.Thread(target=watch, daemon=True, name="postgres-watch")
        watcher.start()
        try:
            yield postgres
        finally:
            stop.set()
            watcher.join()


@contextmanager
def worker_process(postgres: EmbeddedPostgres) -> Iterator[None]:
    """A worker beside the API, started again whenever it dies."""
    stop = threading.Event()
    environment = _environment(postgres)
    worker = _start("worker", environment, None)

    def watch() -> None:
        nonlocal worker
        while not stop.is_set():
            worker.wait()
            if not stop.wait(RESTART_PAUSE_SECONDS):
                worker = _start("worker", environment, None)

    watcher = threading.Thread(target=watch, daemon=True, name="worker-watch")
    watcher.start()
    try:
        yield
    finally:
        stop.set()
        _end(worker)
        watcher.join()


def start_service(
    home: Path, bootstrap: Callable[[EmbeddedPostgres], Bootstrapped], *, with_worker: bool = True
) -> RunningService:
    """Start PostgreSQL, API and worker with their files in ``home``; returns once the API is ready."""
    stack = ExitStack()
    running: dict[str, subprocess.Popen[bytes]] = {}

    def start_worker() -> None:
        if "worker" not in running:
            running["worker"] = _start("worker", _environment(postgres), logs / "worker.log")
            stack.callback(_end, running["worker"])

    try:
        postgres = stack.enter_context(embedded_database(home, is_kept=False))
        logs = home / "logs"
        logs.mkdir(mode=0o700, exist_ok=True)
        key = bootstrap(postgres).api_key
        # The worker has nothing to do before the API answers, and loading it would slow that down.
        running["API"], base_url = _start_api(_environment(postgres), logs / "api.log", stack)
        if with_worker:
            start_worker()
    except BaseException:
        stack.close()
        raise
    return RunningService(
        base_url, key, running["API"].pid, lambda: _wait_for_one(running), stack.close, start_worker
    )


def _start_api(
    environment: Mapping[str, str], log: Path, stack: ExitStack
) -> tuple[subprocess.Popen[bytes], str]:
    """Start the API on a free port; another one is tried if somebody else takes it in between."""
    for _ in range(PORT_ATTEMPTS):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        api = _start("serve", {**environment, "PRIVACY_RISK_PORT": str(port)}, log)
        stack.callback(_end, api)
        base_url = f"http://127.0.0.1:{port}"
        if _becomes_ready(api, base_url):
            return api, base_url
    raise Unavailable("The API did not become ready.", f"See {log}.")


def _becomes_ready(api: subprocess.Popen[bytes], base_url: str) -> bool:
    deadline = time.monotonic() + READY_SECONDS
    # Proxies of the environment are for other machines.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while time.monotonic() < deadline and api.poll() is None:
        try:
            with opener.open(f"{base_url}/readyz", timeout=2):
                return True
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    _end(api)
    return False


def _environment(postgres: EmbeddedPostgres) -> dict[str, str]:
    """What API and worker need to know, beside what this process was told."""
    return {
        **os.environ,
        "DATABASE_URL": postgres.runtime_url,
        "PRIVACY_RISK_MASTER_KEY_FILE": str(postgres.home / "master.key"),
        "PRIVACY_RISK_HOST": "127.0.0.1",
    }


def _start(command: str, environment: Mapping[str, str], log: Path | None) -> subprocess.Popen[bytes]:
    """One command of this program as a process; its log goes to a file, or where ours goes."""
    arguments = [sys.executable, "-m", "app", command]
    environment = {**environment, STARTED_BY: str(os.getpid())}
    if log is None:
        return subprocess.Popen(arguments, env=environment, stdin=subprocess.DEVNULL)  # noqa: S603
    with log.open("ab") as output:
        return subprocess.Popen(  # noqa: S603
            arguments, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            start_new_session=True,
        )  # fmt: skip


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask the process to end; insist if it does not."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for_one(processes: Mapping[str, subprocess.Popen[bytes]]) -> None:
    while True:
        for name, process in processes.items():
            if process.poll() is not None:
                raise Unavailable(f"The {name} ended with status {process.returncode}.", "See the logs.")
        time.sleep(0.2)
