"""A service whose processes and database are the campaign's own, to be taken away one by one."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import httpx
import psutil

from app.cli.embedded import temporary_folder
from app.main import operations
from app.persistence.addresses import libpq_url
from app.persistence.embedded import EmbeddedPostgres, start_embedded
from app.settings import Settings
from privacy_risk import Client, ClientError, Retries, Run
from tests.benchmarks.service.commands import PROGRAM, BrokenError, environment
from tests.benchmarks.service.sample import Json, load_sample
from tests.benchmarks.service.waiting import until
from tests.processes import grandchildren, held_port

HANG_SECONDS: Final = 300.0
LOOK_SECONDS: Final = 0.05


@dataclass
class Bench:
    """An API and workers at one database, and a client of a tenant that has loaded the sample.

    ``place`` is the database as the programs are told it, ``variables`` are their settings besides. ``ahead``
    is by how many seconds the clock of a program, ``serve`` or ``worker``, goes before that of the database.
    """

    postgres: EmbeddedPostgres
    folder: Path
    place: str
    port: int
    key: str = ""
    question: Json = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    ahead: Mapping[str, float] = field(default_factory=dict)
    processes: list[psutil.Popen] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Where the API answers."""
        return f"http://127.0.0.1:{self.port}"

    def start(self, *arguments: str, **own: str) -> psutil.Popen:
        """A program of the service."""
        settings = {
            "DATABASE_URL": self.place,
            "PRIVACY_RISK_MASTER_KEY": self.postgres.master_key.to_text(),
            "PRIVACY_RISK_HOME": str(self.folder),
            "PRIVACY_RISK_TENANT_ACTIVE_RUNS": "100000",
        }
        program = list(PROGRAM)
        if arguments[0] in self.ahead:
            program = [sys.executable, "-m", "tests.campaign.shifted_clock", str(self.ahead[arguments[0]])]
        with (self.folder / "program.log").open("ab") as log:
            process = psutil.Popen(
                [*program, *arguments], env=environment(**settings, **{**self.variables, **own}),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        self.processes.append(process)
        return process

    def start_api(self) -> psutil.Popen:
        """The API, once it is ready."""
        process = self.start("serve", "--port", str(self.port))
        self.until_ready()
        return process

    def start_worker(self, **own: str) -> psutil.Popen:
        """A worker, which takes runs as soon as it has a process for them."""
        return self.start("worker", **own)

    def until_ready(self, seconds: float = HANG_SECONDS) -> float:
        """The seconds until the API answers that it is ready."""
        began = time.monotonic()

        def is_ready() -> bool:
            with contextlib.suppress(httpx.HTTPError):
                return httpx.get(f"{self.url}/readyz", timeout=5.0, trust_env=False).status_code == 200
            return False

        if not until(is_ready, seconds, LOOK_SECONDS):
            raise BrokenError("the API does not become ready")
        return time.monotonic() - began

    def client(self) -> Client:
        """A client that repeats nothing: what a disturbance does is seen."""
        return Client(self.url, self.key, retries=Retries(attempts=1), timeout=HANG_SECONDS)

    def patient_client(self) -> Client:
        """A client as users have it."""
        return Client(self.url, self.key, timeout=HANG_SECONDS)

    def until_run(self, run_id: str, found: Callable[[Run], bool], seconds: float = HANG_SECONDS) -> Run:
        """The run as soon as this is found of it, or it has ended; the API may be away meanwhile."""
        last: list[Run] = []
        with self.client() as client:

            def is_found() -> bool:
                with contextlib.suppress(ClientError, httpx.HTTPError):
                    last[:] = [client.runs.get(run_id)]
                    return found(last[0]) or last[0].is_final
                return False

            if not until(is_found, seconds, LOOK_SECONDS):
                raise BrokenError(f"waited {seconds:g} s in vain for the run {run_id}: {last}")
        return last[0]

    def until_attempt(self, run_id: str, attempt: int) -> Run:
        """The run once this attempt of it has begun, or it has ended."""
        return self.until_run(run_id, lambda run: run.attempt >= attempt)

    def until_ended(self, run_id: str, seconds: float = HANG_SECONDS) -> Run:
        """The run once it has ended."""
        return self.until_run(run_id, lambda _: False, seconds)

    def child_of(self, worker: psutil.Popen) -> psutil.Process | None:
        """The process of the worker that computes, if it has one."""
        return next(iter(grandchildren(worker)), None)

    def end(self, process: psutil.Popen, seconds: float = 30.0) -> float:
        """Ask a program to end; the seconds that it took."""
        began = time.monotonic()
        with contextlib.suppress(psutil.NoSuchProcess):
            process.resume()
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(seconds)
        except (psutil.TimeoutExpired, subprocess.TimeoutExpired):
            process.kill()
            process.wait()
        if process in self.processes:
            self.processes.remove(process)
        return time.monotonic() - began

    def kill(self, process: psutil.Popen) -> None:
        """As ``kill -9`` does."""
        process.kill()
        process.wait()
        self.processes.remove(process)


@contextmanager
def bench(
    *,
    workers: int = 1,
    through: Callable[[str], str] | None = None,
    ahead: Mapping[str, float] | None = None,
    variables: Mapping[str, str] | None = None,
) -> Iterator[Bench]:
    """A bench with its API and workers running; ``through`` gives another way to the database."""
    with (
        temporary_folder(operations(Settings)) as folder,
        start_embedded(folder / "home") as postgres,
        held_port() as port,
    ):
        runtime = libpq_url(postgres.runtime_url)
        place = runtime if through is None else through(runtime)
        made = Bench(postgres, folder, place, port, variables=variables or {}, ahead=ahead or {})
        made.key = _bootstrapped(runtime, postgres)
        try:
            made.start_api()
            with made.client() as client:
                made.question = load_sample(client, folder)
            for _ in range(workers):
                made.start_worker()
            yield made
        finally:
            for process in list(made.processes):
                made.end(process)


def _bootstrapped(url: str, postgres: EmbeddedPostgres) -> str:
    settings = Settings(DATABASE_URL=url, master_key=postgres.master_key.to_text())
    return operations(lambda: settings).bootstrap("campaign", False).api_key
