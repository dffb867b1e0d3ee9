"""Runs that are cancelled, given back, or need more than they may have; and wrong clocks."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import psutil

from privacy_risk import Client, Run
from tests.benchmarks.service.waiting import until
from tests.campaign.bench import LOOK_SECONDS, Bench, bench
from tests.campaign.extent import Extent
from tests.campaign.figures import Figure
from tests.campaign.kinds_of_runs import prepared
from tests.processes import is_alive

_CANCELLED_SECONDS = 1.0
_FREE_SECONDS = 2.0
_LEFT_SECONDS = 10.0
_HOUR = 3600.0
_MANY_DRAWS: Final = {
    "name": "too-large",
    "mechanism": {"kind": "laplace_histogram", "epsilon": 1},
    "method": "draws",
    "runs": 10_000_000,
}
"""What is drawn of one table is 240 MB, which are copied to stand together."""


def cancels(extent: Extent) -> Iterator[Figure]:
    """Searches cancelled while they compute."""
    with bench(workers=1) as own, own.patient_client() as client:
        said, free, states = [], [], set()
        for number in range(max(extent.kills // 4, 1)):
            run_id, child = _long_search(own, client, f"cancelled-{number}")
            began = time.monotonic()
            client.runs.cancel(run_id)
            states.add(own.until_ended(run_id).state)
            said.append(time.monotonic() - began)
            until(lambda: not _computes(child), 10.0, 0.0)  # noqa: B023 - called at once
            free.append(time.monotonic() - began)
        text = (
            f"{len(said)} cancels: {' and '.join(sorted(states))} after {max(said):.2f} s, the processor "
            f"free after {max(free):.2f} s, at most"
        )
        in_time = max(said) <= _CANCELLED_SECONDS and max(free) <= _FREE_SECONDS
        yield Figure("cancel", text, in_time and states == {"cancelled"})


def given_back(extent: Extent) -> Iterator[Figure]:
    """Workers asked to end while they work."""
    with bench(workers=0) as own, own.patient_client() as client:
        left, charged = [], 0
        for number in range(max(extent.kills // 4, 1)):
            worker = own.start_worker()
            run_id, _ = _long_search(own, client, f"returned-{number}", worker)
            left.append(own.end(worker))
            run = client.runs.get(run_id)
            charged += run.attempt if run.state == "queued" else 1
            client.runs.cancel(run_id)
        text = (
            f"{len(left)} workers asked by SIGTERM left after {max(left):.1f} s at most; {charged} "
            "attempts charged"
        )
        yield Figure("sigterm", text, max(left) <= _LEFT_SECONDS and charged == 0)


def exhausted(extent: Extent) -> Iterator[Figure]:
    """Runs that always take longer, or need more memory, than they may, and others beside them."""
    with bench(workers=0) as own, own.patient_client() as client:
        # Limits of the worker alone: the API would refuse what it estimates to need more memory.
        asked: Sequence[tuple[str, str, dict[str, str], Callable[[], Run]]] = (
            ("exhausted", "time-limit", {"PRIVACY_RISK_RUN_SECONDS": "20"},
             lambda: client.optimisations.start_run(_endless(own, "too-long"))),
            ("memory", "memory-limit", {"PRIVACY_RISK_RUN_MEMORY_MIB": "512"},
             lambda: client.mechanism_audits.start_run(_MANY_DRAWS)),
        )  # fmt: skip
        for promise, code, limit, start in asked:
            worker = own.start_worker(PRIVACY_RISK_WORKER_CONCURRENCY="2", **limit)
            hungry = start()
            beside = [client.assessments.start_run(body).id for body in _beside(own, promise)]
            ended = own.until_ended(hungry.id)
            good = [own.until_ended(run_id).state for run_id in beside].count("succeeded")
            own.end(worker)
            said = (ended.error or {}).get("code")
            text = (
                f"ended as {ended.state} ({said}) at attempt {ended.attempt}; {good} of {len(beside)} runs "
                "beside it succeeded"
            )
            yield Figure(promise, text, said == code and good == len(beside))


def _beside(own: Bench, name: str) -> list[dict[str, object]]:
    """Ten small questions; other ones for each name."""
    race = 1 + (name == "memory")
    return [
        {
            **own.question,
            "name": f"beside-{name}-{number}",
            "absent_policy": ("zero", "add_self")[number % 2],
            "rule": {
                "kind": "table_level",
                "levels": {"city": number % 5, "race": race, "birth_date": 1, "income": 1},
            },
        }
        for number in range(10)
    ]


def clocks(extent: Extent) -> Iterator[Figure]:
    """API and worker an hour before and behind the clock of the database."""
    said, good = [], True
    for sign in (1, -1):
        ahead = {"serve": sign * _HOUR, "worker": -sign * _HOUR}
        with bench(workers=1, ahead=ahead) as own, own.patient_client() as client:
            done = [
                own.until_ended(kind.start(client, f"late-{number}").id)
                for number, kind in enumerate(prepared(client, own.question).values(), 1)
            ]
        fine = sum(run.state == "succeeded" and run.attempt == 1 for run in done)
        good = good and fine == len(done)
        where = "before" if sign > 0 else "behind"
        said.append(
            f"API an hour {where}, worker the other way: {fine} of {len(done)} kinds of runs end at their "
            "first attempt"
        )
    yield Figure("clock", "; ".join(said), good)


def _endless(own: Bench, name: str) -> dict[str, object]:
    solver = {
        "kind": "genetic", "seed": 1, "population": 10_000, "generations": 1_000_000,
        "stagnation": 1_000_000,
    }  # fmt: skip
    return {
        **own.question,
        "name": name,
        "objective": {"kind": "min_risk", "utility_floor": 6},
        "solver": solver,
    }


def _long_search(
    own: Bench, client: Client, name: str, worker: psutil.Popen | None = None
) -> tuple[str, psutil.Process]:
    """A search that would go on for days, and the process that computes it."""
    run_id = client.optimisations.start_run(_endless(own, name)).id
    own.until_run(run_id, lambda run: run.state == "running" and run.progress is not None)
    worker = worker or next(one for one in own.processes if one.cmdline()[-1:] == ["worker"])
    child = own.child_of(worker)
    assert child is not None
    until(lambda: _computes(child), 10.0, LOOK_SECONDS)
    return run_id, child


def _computes(process: psutil.Process) -> bool:
    """Whether it lives and spends time of the processor."""
    with contextlib.suppress(psutil.NoSuchProcess):
        before = sum(process.cpu_times()[:2])
        time.sleep(0.05)
        return is_alive(process) and sum(process.cpu_times()[:2]) > before
    return False
