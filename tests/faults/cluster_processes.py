"""A Dask cluster as processes: a scheduler and workers on this machine that come, go and are killed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import psutil

from tests.processes import HANG_SECONDS, descendants, held_port

ROOT = Path(__file__).parents[2]

OTHER_VERSION = """
from app.workers.cluster import versions
versions.version = lambda name: "0.0.1"
"""
START_WORKER = """
import sys
from distributed.cli.dask_worker import main
main(sys.argv[1:])
"""


class ClusterProcesses:
    """A scheduler at one address, however often it is started, and its workers by name."""

    def __init__(
        self, folder: Path, protocol: str = "tcp", environment: Mapping[str, str] | None = None
    ) -> None:
        self._held = ExitStack()
        self._port = str(self._held.enter_context(held_port()))
        self.address = f"{protocol}://127.0.0.1:{self._port}"
        self.folder = folder
        self._protocol = protocol
        self._environment = {**os.environ, **(environment or {}), "DASK_LOGGING__DISTRIBUTED": "error"}
        self._started: list[psutil.Popen] = []

    def start_scheduler(self) -> psutil.Popen:
        """Start it, without waiting for it."""
        return self._start(
            "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", self._port,
            "--protocol", self._protocol, "--no-dashboard",
        )  # fmt: skip

    def start_worker(
        self, name: str, before: str = "", options: Sequence[str] = ("--memory-limit", "0")
    ) -> psutil.Popen:
        """Start one; ``before`` is run in its process first."""
        return self._start(
            "-c", before + START_WORKER, self.address, "--name", name, "--nthreads", "1", "--no-nanny",
            "--no-dashboard", "--local-directory", str(self.folder), *options,
        )  # fmt: skip

    def block_processes(self) -> list[psutil.Process]:
        """The processes of blocks: below the workers."""
        return [one for process in self._started for one in descendants(process)]

    def wait_until_idle(self) -> None:
        """Until no process of blocks is left."""
        deadline = time.monotonic() + HANG_SECONDS
        while left := self.block_processes():
            assert time.monotonic() < deadline, left
            time.sleep(0.05)

    def end(self) -> None:
        for process in self._started:
            process.kill()
        for process in self._started:
            process.wait()
        self._held.close()

    def _start(self, *arguments: str) -> psutil.Popen:
        process = psutil.Popen(
            [sys.executable, *arguments], cwd=ROOT, env=self._environment, stdout=subprocess.DEVNULL
        )
        self._started.append(process)
        return process
