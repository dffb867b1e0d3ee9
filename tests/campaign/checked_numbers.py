"""Comparison with oracles, hostile input of parsers, and a worker that its service replaces."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from app.cli.embedded import temporary_folder
from app.main import operations
from app.settings import Settings
from tests.benchmarks.service.commands import served
from tests.benchmarks.service.waiting import until
from tests.campaign.bench import HANG_SECONDS, LOOK_SECONDS
from tests.campaign.extent import Extent
from tests.campaign.figures import TOP, Figure
from tests.processes import descendants, is_alive, is_worker

_HOSTILE = "tests/property/test_hostile_input.py"
_SECONDS_OF_A_PARSER = 3600


def compared(extent: Extent) -> Iterator[Figure]:
    """The comparison of all entries of the catalogues with their oracles."""
    with tempfile.TemporaryDirectory() as folder:
        counts = Path(folder) / "counts.json"
        done = subprocess.run(
            [sys.executable, "-m", "tests.selfcheck", "--seed", str(extent.seed), "--effort",
             str(extent.effort), "--json", str(counts)],
            cwd=TOP, capture_output=True, text=True, check=False,
        )  # fmt: skip
        told = done.stdout.strip().splitlines()
        if done.returncode:
            print(done.stdout[-20_000:], file=sys.stderr)
        yield Figure("selfcheck", "; ".join(told[-2:]), done.returncode == 0)


def parsers(extent: Extent) -> Iterator[Figure]:
    """So many inputs for every parser."""
    own = {"PRIVACY_RISK_TEST_LEAST": str(extent.inputs)}
    done = subprocess.run(
        # The project's options are quiet; quieter still, it would not say how many tests passed.
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-o",
         f"timeout={_SECONDS_OF_A_PARSER}",
         "-n", "2", "--dist=load", f"--hypothesis-seed={extent.seed}", _HOSTILE],
        cwd=TOP, env=os.environ | own, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        print(done.stdout[-20_000:], file=sys.stderr)
    last = (done.stdout.strip().splitlines() or ["nothing was run"])[-1].strip("= ")
    text = (
        f"at least {extent.inputs:,} inputs of every parser of text, a fifth of that of Parquet and "
        f"Arrow: {last}"
    )
    yield Figure("fuzz-parsers", text, done.returncode == 0 and "passed" in last and "skipped" not in last)


def replaced(extent: Extent) -> Iterator[Figure]:
    """A worker killed under the service that started it, again and again."""
    with temporary_folder(operations(Settings)) as folder, served(folder / "home") as one:
        service = psutil.Process(one.service.api_pid)

        def workers() -> list[psutil.Process]:
            return [one for one in descendants(service) if is_worker(one) and is_alive(one)]

        seconds = []
        for _ in range(extent.kills):
            until(lambda: bool(workers()), HANG_SECONDS, LOOK_SECONDS)
            (before,) = workers()
            time.sleep(1.0)
            before.kill()
            began = time.monotonic()
            until(lambda: any(own.pid != before.pid for own in workers()), HANG_SECONDS, LOOK_SECONDS)  # noqa: B023
            seconds.append(time.monotonic() - began)
        text = f"{len(seconds)} workers killed: the next had started after {max(seconds):.1f} s at most"
        yield Figure("worker-replaced", text, max(seconds) <= 3.0)
