"""What a service leaves behind when it is killed: nothing that works on."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest

from app.main import operations
from app.settings import Settings
from app.workers.names import NURSERY
from tests.faults.conftest import ROOT
from tests.processes import (
    HANG_SECONDS,
    command_line,
    descendants,
    is_alive,
    is_worker,
    name_of,
    ready_workers,
    until,
    until_gone,
)


@pytest.fixture
def serving(short_folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """``serve`` with a database and a worker of its own."""
    folder = short_folder / secrets.token_hex(4)
    folder.mkdir(mode=0o711)
    environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    environment |= {"PRIVACY_RISK_HOME": str(folder / "home"), "PRIVACY_RISK_PORT": "0"}
    served = subprocess.Popen([sys.executable, "-m", "app", "serve"], cwd=ROOT, env=environment)
    try:
        yield served
    finally:
        served.kill()
        served.wait()
        # The next program that needs the database takes it over, and stops it when it is done.
        operations(lambda: Settings(home=folder / "home")).doctor()


def test_a_service_asked_to_end_stops_all_that_it_started(serving: subprocess.Popen[bytes]):
    """Its database too: a service manager asks by this signal, and starts it again some time."""
    service = psutil.Process(serving.pid)
    until(lambda: any(is_worker(one) for one in descendants(service)))
    started = descendants(service)
    assert any("postgres" in " ".join(command_line(one)) for one in started)
    serving.terminate()
    assert serving.wait(HANG_SECONDS) == 0
    until_gone(started)


@pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGTERM])
def test_a_worker_ends_with_the_service_that_started_it(serving: subprocess.Popen[bytes], sig: int):
    """Even if that is killed, and so can tell nobody."""
    service = psutil.Process(serving.pid)
    until(lambda: bool(ready_workers(service)))
    (worker,) = ready_workers(service)
    assert is_worker(worker)
    below = descendants(worker)
    serving.send_signal(sig)
    serving.wait(HANG_SECONDS)
    until_gone([worker, *below])


@pytest.mark.deep
def test_a_worker_that_is_killed_is_replaced_and_one_that_can_start_no_run_is_too(
    serving: subprocess.Popen[bytes],
):
    """The first shares memory with the service, those after it are programs of their own."""
    service = psutil.Process(serving.pid)

    def nurseries() -> list[psutil.Process]:
        return [one for one in descendants(service) if name_of(one) == NURSERY]

    def replaced(before: psutil.Process) -> bool:
        return not is_alive(before) and len(nurseries()) == 1

    for kill in (lambda one: one.parent().kill(), psutil.Process.kill):
        until(lambda: len(nurseries()) == 1)
        (before,) = nurseries()
        kill(before)
        until(partial(replaced, before))
    serving.terminate()
    assert serving.wait(HANG_SECONDS) == 0
    assert not nurseries()


def test_bodies_without_a_key_cost_the_service_next_to_no_memory(serving: subprocess.Popen[bytes]):
    """A hundred connections with 4 MB each; the service took 480 MiB for them, for good."""
    service = psutil.Process(serving.pid)
    ports: list[int] = []

    def listens() -> bool:
        ports[:] = [one.laddr.port for one in service.net_connections("tcp") if one.status == "LISTEN"]
        return bool(ports)

    until(listens)
    content = b"POST /v1/hierarchies HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
    content += b"Content-Length: 16000000\r\n\r\n" + b" " * 4_000_000
    with contextlib.ExitStack() as opened:
        grown = []
        for number in range(101):
            connection = opened.enter_context(socket.create_connection(("127.0.0.1", ports[0]), 0.05))
            with contextlib.suppress(OSError):
                connection.sendall(content)
            if number == 0:  # what the first request of all needs stays
                connection.settimeout(HANG_SECONDS)
                assert connection.recv(100).startswith(b"HTTP/1.1 401")
            grown.append(service.memory_info().rss)
        assert max(grown) - grown[0] <= 16 * 1024**2
