"""The service under load: mixed work of many clients, a long queue, and an hour of it."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import psutil

from app.main import operations
from app.settings import Settings
from tests.benchmarks.service.asked import Asked
from tests.benchmarks.service.costs import Roles
from tests.benchmarks.service.load import Loads, Sent, under_load
from tests.benchmarks.service.percentiles import percentile, slope
from tests.benchmarks.service.sample import QUESTIONS_A_PROFILE, assessments
from tests.benchmarks.service.waiting import until
from tests.campaign.bench import HANG_SECONDS, bench
from tests.campaign.extent import Extent
from tests.campaign.figures import Figure
from tests.processes import name_of

_CLIENTS: Final = (50, 200)
_PROCESSES: Final = 2
_NEW_A_SECOND: Final = 60.0
_RATE: Final = 20.0
_STEADY_MIB: Final = 0.5
"""MiB a minute by which all memory may seem to grow in the second half: what its samples scatter by."""
_SAMPLES: Final = 400
_WORKERS: Final = 4


def _asked(seconds: float) -> Asked:
    return Asked(operations(Settings), None, _PROCESSES, seconds, seconds)


def many_clients(extent: Extent) -> Iterator[Figure]:
    """The mixed load by 50 and by 200 clients, each of which waits for its answer."""
    new = math.ceil(_NEW_A_SECOND * extent.load)
    with under_load(_asked(extent.load), new * len(_CLIENTS) + 10) as loads:
        for clients in _CLIENTS:
            sent = loads.send(loads.mix.kinds(new), extent.load, clients=clients)
            told = sent.told
            kinds = "; ".join(
                f"{name} {_ms(taken, 0.5)}/{_ms(taken, 0.95)}/{_ms(taken, 0.99)}"
                for name, taken in told.milliseconds.items()
            )
            text = (
                f"{told.answered:,} answers in {told.seconds:.0f} s, {told.throughput:.0f}/s; "
                f"{told.failed} failed, "
                f"{told.refused:,} refused for want of a place{_failures(sent)}; p50/p95/p99 in ms: {kinds}"
            )
            # Who is refused waits and asks again, but a service that refuses most does not bear the load.
            bears = told.answered > told.refused
            yield Figure(f"clients-{clients}", text, bears and not (told.failed or sent.errors))


def _failures(sent: Sent) -> str:
    """What failed, by kind of request, status, route and problem, and what the service logged as its own."""
    if not (sent.told.failed or sent.errors):
        return ""
    return f" ({'; '.join([*sent.told.examples, *sent.errors][:3])})"


def _ms(taken: Sequence[float], share: float) -> str:
    return f"{percentile(taken, share):.0f}"


def long_queue(extent: Extent) -> Iterator[Figure]:
    """Many runs queued at once, and four workers."""
    with bench(workers=0) as own, own.client() as client:
        profiles = math.ceil(extent.queued / QUESTIONS_A_PROFILE)
        asked = assessments(client, own.question, profiles)[: extent.queued]
        named = [{**body, "name": f"queued-{number}"} for number, body in enumerate(asked)]
        with ThreadPoolExecutor(4) as pool:
            ids = list(pool.map(lambda body: client.assessments.start_run(body).id, named))
        began = time.monotonic()
        for _ in range(_WORKERS):
            own.start_worker()
        patience = HANG_SECONDS + extent.queued
        until(lambda: not client.runs.page(state="queued").items, patience, 0.5)
        until(lambda: not client.runs.page(state="running").items, HANG_SECONDS, 0.5)
        seconds = time.monotonic() - began
        runs = [client.runs.get(run_id) for run_id in ids]
        succeeded = sum(run.state == "succeeded" for run in runs)
        twice = sum(run.attempt > 1 for run in runs)
        found = [one.name for one in client.assessments.list() if one.name.startswith("queued-")]
        once = len(found) == len(set(found)) == len(named)
        text = (
            f"{len(runs):,} runs queued, {_WORKERS} workers: {succeeded:,} succeeded, "
            f"{len(runs) - succeeded} lost, "
            f"{twice} computed twice, {len(found):,} results of {len(named):,} names; {seconds:.0f} s"
        )
        yield Figure("queue", text, succeeded == len(runs) and twice == 0 and once)


def long_mix(extent: Extent) -> Iterator[Figure]:
    """Mixed work for a long time: the memory of all processes, and the connections to the database."""
    new = math.ceil(0.3 * _RATE * extent.mixed)
    with under_load(_asked(extent.mixed), new) as loads:
        with _Watch(loads.loaded.roles, extent.mixed / _SAMPLES) as watch:
            sent = loads.send(loads.mix.kinds(new), extent.mixed, rate=_RATE)
        yield _steadiness(watch, loads, sent)


def _steadiness(watch: _Watch, loads: Loads, sent: Sent) -> Figure:
    """Growth is that of the second half: caches fill in the first."""
    half = watch.seen[len(watch.seen) // 2 :]
    grown = _grown([(own.at, sum(own.mib.values())) for own in half])
    by_role = {role: _grown([(own.at, own.mib[role]) for own in half]) for role in half[0].mib}
    least, most = min(own.connections for own in half), max(own.connections for own in half)
    told = sent.told
    text = (
        f"{told.answered:,} answers, {told.failed} failed{_failures(sent)}, in {watch.seen[-1].at / 60:.1f} "
        f"min at {_RATE:g} requests a second; memory of all processes, files and PostgreSQL's shared buffers "
        f"left out, in the second half {grown:+.2f} MiB a minute "
        f"({', '.join(f'{role} {mib:+.2f}' for role, mib in by_role.items())}), "
        f"{1000 * grown / (60 * _RATE):+.2f} MiB in 1,000 requests; "
        f"shared buffers {half[0].buffers:.0f} to {half[-1].buffers:.0f} MiB; {least} to {most} connections"
    )
    is_kept = told.failed == 0 and grown <= _STEADY_MIB and most - least <= loads.processes * 2
    return Figure("hour", text, is_kept)


def _grown(points: Sequence[tuple[float, float]]) -> float:
    """MiB a minute."""
    return 60 * slope(points)


@dataclass(frozen=True)
class _Sample:
    """What was seen ``at`` so many seconds.

    ``mib`` of each role's own memory, ``buffers`` MiB that PostgreSQL shares, and connections to it.
    """

    at: float
    mib: dict[str, float]
    buffers: float
    connections: int


class _Watch:
    """Samples memory and connections until it is left; ``seen`` are the samples, the first from before."""

    def __init__(self, roles: Roles, pause: float) -> None:
        self._roles, self._pause = roles, pause
        self._ended = threading.Event()
        self._began = time.monotonic()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self.seen = [self._now()]

    def __enter__(self) -> _Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self.seen.append(self._now())

    def _sample(self) -> None:
        while not self._ended.wait(self._pause):
            self.seen.append(self._now())

    def _now(self) -> _Sample:
        roles, at = self._roles, time.monotonic() - self._began
        return _Sample(at, roles.own_memory_mib(), roles.shared_buffers_mib(), _connections(roles.postgres))


def _connections(postmaster: psutil.Process) -> int:
    """The server's processes that serve the program's role."""
    found = 0
    for one in postmaster.children():
        try:
            found += "app_runtime" in " ".join(one.cmdline()) or "app_runtime" in name_of(one)
        except psutil.NoSuchProcess:
            continue
    return found
