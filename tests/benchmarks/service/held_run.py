"""A run that stays under way and costs nothing, for listeners to follow: its process is halted."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psutil

from tests.benchmarks.service.commands import BrokenError
from tests.benchmarks.service.costs import family, seconds_of
from tests.benchmarks.service.sample import Loaded
from tests.benchmarks.service.waiting import until

ENDLESS: Final = {
    "kind": "genetic",
    "seed": 1,
    "population": 10_000,
    "generations": 1_000_000,
    "stagnation": 1_000_000,
}
"""A search that takes days."""

_STARTED_SECONDS: Final = 30.0
_WATCHED_SECONDS: Final = 0.5


@contextmanager
def held_run(loaded: Loaded) -> Iterator[str]:
    """The address of the events of a run that goes on until the end; the worker needs a place for others."""
    body = {"name": "held", "objective": {"kind": "min_risk", "utility_floor": 6}, "solver": ENDLESS}
    run = loaded.client.optimisations.start_run(loaded.question | body)

    def is_under_way() -> bool:
        current = loaded.client.runs.get(run.id)
        return current.state == "running" and current.progress is not None

    if loaded.roles.worker is None or not until(is_under_way, _STARTED_SECONDS, pause=0.1):
        raise BrokenError("the worker does not work on a run")
    working = _busiest(loaded.roles.worker)
    working.suspend()
    try:
        yield f"/v1/runs/{run.id}/events"
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):
            working.kill()


def _busiest(worker: psutil.Process) -> psutil.Process:
    """The process below the worker that works most."""
    before = {one: seconds_of([one]) for one in family(worker) if one != worker}
    time.sleep(_WATCHED_SECONDS)
    if not before:
        raise BrokenError("the worker has no process for a run")
    return max(before, key=lambda one: seconds_of([one]) - before[one])
