"""Processes of a service killed and stopped while every kind of run is under way."""

from __future__ import annotations

import contextlib
import itertools
import math
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import psutil

from privacy_risk import Client
from tests.benchmarks.service.commands import BrokenError
from tests.campaign.bench import Bench, bench
from tests.campaign.extent import Extent
from tests.campaign.figures import Figure
from tests.campaign.kinds_of_runs import RunKind, prepared
from tests.processes import grandchildren, is_alive

_TRIES: Final = 8
"""How often a run that ended before it could be disturbed is asked for again."""

_TAKEN_OVER_SECONDS: Final = 15.0

_SHORT_SECONDS: Final = 2.0
"""Most of what the shortest runs last is spent before they begin."""


@dataclass
class Disturbances:
    """Runs that were disturbed while they were under way, and what became of them."""

    done: int = 0
    late: int = 0
    wrong: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    """Until the run was under way again, for those of which that was seen."""

    def text(self, what: str) -> str:
        """In words."""
        again = ""
        if self.seconds:
            ordered = sorted(self.seconds)
            again = (
                f"; under way again after {ordered[len(ordered) // 2]:.1f} s in the middle, "
                f"{ordered[-1]:.1f} s at most"
            )
        wrong = f"; wrong: {'; '.join(self.wrong[:3])}" if self.wrong else "; every result as undisturbed"
        late = f", {self.late} more ended before" if self.late else ""
        return f"{self.done} runs disturbed by {what}{late}{again}{wrong}"


@dataclass
class Disturber:
    """Asks for runs of every kind and disturbs each of them."""

    bench: Bench
    client: Client
    kinds: Mapping[str, RunKind]
    rng: random.Random
    shown: dict[str, bytes] = field(default_factory=dict)
    lasts: dict[str, float] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def learn(self) -> None:
        """Every kind once undisturbed: what it shows, and how long it lasts."""
        for kind, own in self.kinds.items():
            began = time.monotonic()
            name = f"undisturbed-{next(self.numbers)}"
            run = own.start(self.client, name)
            ended = self.bench.until_ended(run.id)
            if ended.state != "succeeded":
                raise BrokenError(f"undisturbed, a {kind} ends as {ended}")
            self.lasts[kind] = time.monotonic() - began
            self.shown[kind] = own.shown(self.client, run.id, name)
            self._forget(kind, name)

    def disturb(self, kind: str, disturbance: Callable[[], bool], into: Disturbances) -> None:
        """Start a run of a kind, disturb it at a random moment, and look at what becomes of it.

        ``disturbance`` says whether there was something to disturb.
        """
        own = self.kinds[kind]
        for _ in range(_TRIES):
            name = f"disturbed-{next(self.numbers)}"
            run = own.start(self.client, name)
            running = self.bench.until_run(run.id, lambda run: run.state == "running")
            time.sleep(self.rng.random() * 0.5 * max(self.lasts[kind] - _SHORT_SECONDS, 0.0))
            met = not running.is_final and disturbance()
            at, attempt = time.monotonic(), running.attempt
            under_way = self.bench.until_attempt(run.id, attempt + 1)
            if met and under_way.attempt > attempt:
                into.seconds.append(time.monotonic() - at)
            ended = self.bench.until_ended(run.id)
            if ended.state != "succeeded":
                into.wrong.append(f"a {kind} ended as {ended.state} {ended.error or ''}")
            elif own.shown(self.client, run.id, name) != self.shown[kind]:
                into.wrong.append(f"a {kind} has another result")
            self._forget(kind, name)
            if met:
                into.done += 1
                return
            into.late += 1

    def _forget(self, kind: str, name: str) -> None:
        """Delete what was found, so that the same question is computed again."""
        with contextlib.suppress(Exception):
            {
                "optimisation": self.client.optimisations.delete,
                "least loss": self.client.optimisations.delete,
                "frontier": self.client.frontiers.delete,
                "assessment": self.client.assessments.delete,
                "measurement": self.client.measurements.delete,
                "evaluation": self.client.evaluations.delete,
                "release": lambda own: None,
                "view check": self.client.view_checks.delete,
                "mechanism audit": self.client.mechanism_audits.delete,
            }[kind](name)
        if kind in ("optimisation", "least loss"):
            with contextlib.suppress(Exception):
                self.client.rules.delete(name)


@contextlib.contextmanager
def _disturbers(extent: Extent, workers: int) -> Iterator[Disturber]:
    with bench(workers=workers) as made, made.patient_client() as client:
        disturber = Disturber(made, client, prepared(client, made.question), random.Random(extent.seed))
        disturber.learn()
        yield disturber


def kills(extent: Extent) -> Iterator[Figure]:
    """Child, worker and API killed, so many times each, over all kinds of runs."""
    with _disturbers(extent, workers=2) as disturber:
        own = disturber.bench
        most = {"kill-worker": _TAKEN_OVER_SECONDS}
        for promise, what, disturbance in (
            ("kill-child", "kill -9 of the run's process", lambda: _kill_child(own)),
            ("kill-worker", "kill -9 of its worker, another worker waiting", lambda: _kill_worker(own)),
            ("kill-api", "kill -9 of the API, started again", lambda: _kill_api(own)),
        ):
            found = Disturbances()
            for _, kind in zip(range(extent.kills), itertools.cycle(disturber.kinds), strict=False):
                disturber.disturb(kind, disturbance, found)
            # Where a promise is of a time, what was never seen under way again has not kept it.
            in_time = promise not in most or max(found.seconds, default=math.inf) <= most[promise]
            yield Figure(
                promise, found.text(what), not found.wrong and found.done == extent.kills and in_time
            )


def pauses(extent: Extent) -> Iterator[Figure]:
    """A worker and its run stopped for longer than a worker may be silent, then continued."""
    with _disturbers(extent, workers=2) as disturber:
        found = Disturbances()
        own = disturber.bench

        def pause() -> bool:
            worker = _busy(own)
            if worker is None:
                return False
            stopped = [*grandchildren(worker), *worker.children(), worker]
            for process in stopped:
                _signal(process.suspend)
            time.sleep(extent.pause)
            for process in stopped:
                _signal(process.resume)
            return True

        kinds = ("optimisation", "frontier", "view check")
        for kind in kinds:
            disturber.disturb(kind, pause, found)
        what = f"SIGSTOP of worker and run for {extent.pause:g} s"
        yield Figure("pause", found.text(what), not found.wrong and found.done == len(kinds))


def _workers(own: Bench) -> list[psutil.Popen]:
    return [process for process in own.processes if process.cmdline()[-1:] == ["worker"]]


def _busy(own: Bench) -> psutil.Popen | None:
    """The worker whose child computes most."""
    spent = {}
    for worker in _workers(own):
        for child in grandchildren(worker):
            with contextlib.suppress(psutil.NoSuchProcess):
                spent[worker, child] = sum(child.cpu_times()[:2])
    time.sleep(0.05)
    grown: dict[psutil.Popen, float] = {}
    for (worker, child), before in spent.items():
        with contextlib.suppress(psutil.NoSuchProcess):
            grown[worker] = max(grown.get(worker, 0.0), sum(child.cpu_times()[:2]) - before)
    busiest = max(grown, key=lambda worker: grown[worker], default=None)
    return busiest if busiest is not None and grown[busiest] > 0 else None


def _kill_child(own: Bench) -> bool:
    worker = _busy(own)
    child = None if worker is None else own.child_of(worker)
    if child is None or not is_alive(child):
        return False
    _signal(child.kill)
    return True


def _kill_worker(own: Bench) -> bool:
    worker = _busy(own)
    if worker is None:
        return False
    own.kill(worker)
    own.start_worker()
    return True


def _kill_api(own: Bench) -> bool:
    api = next(process for process in own.processes if "serve" in process.cmdline())
    own.kill(api)
    own.start_api()
    return True


def _signal(send: Callable[[], None]) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        send()
