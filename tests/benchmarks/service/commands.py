"""Programs run to their end as somebody at a terminal runs them, and services served until they are ready."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from app.cli.operations import RunningService
from tests.benchmarks.service.costs import family, seconds_of
from tests.benchmarks.service.waiting import until

_LONGEST: Final = 180.0
"""Seconds after which a program hangs."""

PYTHON: Final = (sys.executable,)
PROGRAM: Final = (sys.executable, "-m", "app")


class BrokenError(Exception):
    """A program did not do what the benchmark needs of it."""


@dataclass(frozen=True)
class Command:
    """What one program took: seconds of waiting and of processor time, its children's included."""

    status: int
    seconds: float
    processor: float
    output: str


@dataclass(frozen=True)
class Served:
    """A service that became ready after so many seconds, ``processor`` of them at work in its processes."""

    service: RunningService
    seconds: float
    processor: float


def environment(**own: str) -> dict[str, str]:
    """This process's environment, without settings of a service that somebody may have."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PRIVACY_RISK_")}
    kept.pop("DATABASE_URL", None)
    return kept | own


def run(command: Sequence[str], **own: str) -> Command:
    """Run a program to its end, with variables of its own."""
    start = time.perf_counter()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command, env=environment(**own), stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        told = output.read().decode(errors="replace")
    return Command(process.returncode, seconds, used.ru_utime + used.ru_stime, told)


def quickest(command: Sequence[str], repeats: int) -> Command:
    """The run that waited least of several."""
    return min((run(command) for _ in range(repeats)), key=lambda one: one.seconds)


@contextmanager
def served(home: Path, program: Sequence[str] = PROGRAM, **own: str) -> Iterator[Served]:
    """``serve`` of a program with an embedded database in ``home``, ended as an operator ends it.

    ``own`` are settings besides, by the names of their variables.
    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with (home.parent / "serve.log").open("ab") as log:
        start = time.perf_counter()
        process = subprocess.Popen(
            [*program, "serve", "--port", str(port)],
            env=environment(PRIVACY_RISK_HOME=str(home), **own),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        base_url = f"http://127.0.0.1:{port}"
        _until_ready(process, base_url)
        seconds = time.perf_counter() - start
        processor = seconds_of(family(psutil.Process(process.pid)))
        service = RunningService(base_url, "", process.pid, lambda: None, process.terminate)
        yield Served(service, seconds, processor)
    finally:
        _end(process)


def _until_ready(process: subprocess.Popen[bytes], base_url: str) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def is_ready() -> bool:
        if process.poll() is not None:
            raise BrokenError(f"serve ended with status {process.returncode}")
        with contextlib.suppress(urllib.error.URLError, OSError), opener.open(f"{base_url}/readyz"):
            return True
        return False

    if not until(is_ready, _LONGEST):
        raise BrokenError("serve did not become ready")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
