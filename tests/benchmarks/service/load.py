"""The service under load: kind by kind, closed loops of one to 200 clients, open loops at stated rates."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from app.settings import Settings
from tests.benchmarks.measurement import Measurement
from tests.benchmarks.memory_watch import MemoryWatch
from tests.benchmarks.service.asked import Asked
from tests.benchmarks.service.commands import BrokenError
from tests.benchmarks.service.costs import difference, settled
from tests.benchmarks.service.held_run import held_run
from tests.benchmarks.service.load_plan import Kind, Plan, Told
from tests.benchmarks.service.mix import WEIGHTS, Mix
from tests.benchmarks.service.percentiles import slope
from tests.benchmarks.service.sample import QUESTIONS_A_PROFILE, Loaded, assessments, loaded_service
from tests.benchmarks.service.service_log import ServiceLog
from tests.benchmarks.service.waiting import until

PART = "load"
CLIENTS: Final = (1, 10, 50, 200)
LISTENERS: Final = 100
FASTER_RATE: Final = 40.0
OFFERED: Final = 20.0
"""Requests a second that the service must answer without waiting."""

ASKED_FOR: Final = {"new assessment": 120.0, "repeated assessment": 350.0, "GET": 500.0}
"""Kind → how many a second are aimed at with 50 clients."""

_ALONE_SECONDS: Final = 3.0
_ALONE_AT_MOST: Final = 200
_LOADED_BY: Final = 10
_CONNECTED_SECONDS: Final = 3.0
"""How long what connecting left to do may take; listeners may keep the service busy for ever."""

_HARDLY_ANY: Final = 0.5
"""Requests a second beside which the listeners' own cost is seen."""

_NEW_A_SECOND: Final = 60.0
"""More new questions than a second of the mixed load asks."""

_DRAINED_SECONDS: Final = 30.0


@dataclass
class Loads:
    """Sends loads to one service and measures what they cost; every row is wrong where anything failed."""

    loaded: Loaded
    mix: Mix
    processes: int
    log: ServiceLog
    listened: str = ""

    def send(self, kinds: Sequence[Kind], seconds: float, clients: int = 1, rate: float = 0.0) -> Sent:
        """One load, from a process of its own."""
        plan = Plan(
            self.loaded.service.base_url, self.loaded.service.api_key, kinds, seconds, clients, rate,
            self.mix.cookie, self.listened, LISTENERS if self.listened else 0,
        )  # fmt: skip
        with _generator(plan) as begin:
            settled(self.loaded.roles, _CONNECTED_SECONDS)
            before = self.loaded.roles.spent()
            with MemoryWatch(self.loaded.roles.api.pid, pause=1.0) as memory:
                told = begin()
        spent = difference(before, self.loaded.roles.spent())
        self._drain()
        return Sent(told, self.processes, spent, memory.seen, self.log.errors())

    def _drain(self) -> None:
        """Wait until the worker has made what was asked of it."""

        def is_drained() -> bool:
            return not self.loaded.client.runs.page(state="queued").items

        until(is_drained, _DRAINED_SECONDS, pause=0.2)
        settled(self.loaded.roles)


@dataclass(frozen=True)
class Sent:
    """What a load told, and the processor time of every role.

    ``processes`` is how many of the API there were, ``memory`` what they held, as (seconds, MiB), ``errors``
    what the service logged as its own.
    """

    told: Told
    processes: int
    spent: dict[str, float]
    memory: Sequence[tuple[float, float]]
    errors: Sequence[str] = ()

    @property
    def each(self) -> float:
        """The API's processor time in seconds for an answer."""
        return self.spent["api"] / max(self.told.answered, 1)

    def row(self, work: str, unit: str, ours: float, bar: str = "none") -> Measurement:
        """A measurement of this load."""
        told = self.told
        answered = max(told.answered, 1)
        return Measurement(
            part=PART,
            work=work,
            bar=bar,
            unit=unit,
            ours=ours,
            peak_mib=max(held for _, held in self.memory),
            counters={
                "answered": told.answered,
                "per_second": round(told.throughput, 1),
                "p50_ms": round(told.percentile(0.5), 1),
                "p99_ms": round(told.percentile(0.99), 1),
                "api_ms": round(1000 * self.each, 2),
                "postgres_ms": round(1000 * self.spent["postgres"] / answered, 2),
                "worker_ms": round(
                    1000 * (self.spent["worker"] + self.spent["worker_children"]) / answered, 2
                ),
                "generator_ms": round(1000 * told.processor / answered, 2),
                "api_processes": self.processes,
                "refused": told.refused,
                "failed": told.failed,
            },
            same_result=told.failed == 0 and told.answered > 0,
            detail="; ".join(
                [
                    "processor time by role for one answer; resident memory of the API",
                    *told.examples,
                    *self.errors,
                ]
            ),
        )


def measure(asked: Asked) -> Iterator[Measurement]:
    """All loads on one service."""
    with under_load(asked, _new_questions(asked.load_seconds)) as loads:
        yield from _alone(loads)
        yield from _many_clients(loads, asked.load_seconds)
        yield _offered(loads, asked.load_seconds)
        with held_run(loads.loaded) as events:
            yield from _mixed(replace(loads, listened=events), asked.load_seconds)


def measure_memory(asked: Asked) -> Iterator[Measurement]:
    """How the API's memory grows under the mixed load at the rate that must be answered without waiting."""
    seconds = asked.memory_seconds
    new = math.ceil(0.3 * OFFERED * seconds)
    with under_load(asked, new) as loads, held_run(loads.loaded) as events:
        loads = replace(loads, listened=events)
        yield growth(loads.send(loads.mix.kinds(new), seconds, rate=OFFERED), seconds)


def growth(sent: Sent, seconds: float) -> Measurement:
    """By how much the memory grows a minute in the second half of a load; caches fill in the first."""
    half = (sent.memory[0][0] + sent.memory[-1][0]) / 2
    settled_part = [one for one in sent.memory if one[0] >= half]
    beside = f"mixed load, {LISTENERS} listeners, {OFFERED:g} requests a second for {seconds:g} s"
    row = sent.row(f"memory of the API: {beside}", "MiB a minute", 60 * slope(settled_part))
    told = {
        "first_mib": round(sent.memory[0][1], 1),
        "half_mib": round(settled_part[0][1], 1),
        "last_mib": round(sent.memory[-1][1], 1),
        "all_mib_per_minute": round(60 * slope(sent.memory), 2),
    }
    return replace(row, part="memory", counters={**told, **row.counters})


@contextmanager
def under_load(asked: Asked, new: int) -> Iterator[Loads]:
    """A service with so many new questions, whose worker has a place beside the run that is listened to."""
    processes = asked.processes if "processes" in Settings.model_fields else 1
    own = {"PRIVACY_RISK_PROCESSES": str(processes), "PRIVACY_RISK_WORKER_CONCURRENCY": "2"}
    before = {name: os.environ.get(name) for name in own}
    os.environ.update(own)  # which the service's processes inherit
    try:
        with loaded_service(asked.operations) as loaded:
            profiles = math.ceil((new + 10) / QUESTIONS_A_PROFILE)
            mix = Mix(loaded, assessments(loaded.client, loaded.question, profiles))
            yield Loads(loaded, mix, processes, ServiceLog(loaded.logs))
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value


def _new_questions(seconds: float) -> int:
    """How many new questions are enough for all loads of so many seconds."""
    a_second = 2 * ASKED_FOR["new assessment"] + OFFERED + len(CLIENTS) * _NEW_A_SECOND
    a_second += 0.3 * (OFFERED + FASTER_RATE)
    return math.ceil(1 + _LOADED_BY + _ALONE_AT_MOST + a_second * seconds)


def _alone(loads: Loads) -> Iterator[Measurement]:
    """Every kind by itself, one request after another: what one costs."""
    for name in WEIGHTS:
        loads.send(loads.mix.kinds(_LOADED_BY, [name]), 0.5)  # which loads what it needs
        sent = loads.send(loads.mix.kinds(_ALONE_AT_MOST, [name]), _ALONE_SECONDS)
        yield sent.row(f"processor time of the API: {name}, one client", "s", sent.each)


def _many_clients(loads: Loads, seconds: float) -> Iterator[Measurement]:
    for name, aim in ASKED_FOR.items():
        kinds = loads.mix.kinds(round(2 * aim * seconds) if name == "new assessment" else 1, [name])
        sent = loads.send(kinds, seconds, clients=50)
        row = sent.row(f"50 clients: {name}", "requests/s", sent.told.throughput)
        yield replace(row, aim=f"≥ {aim:g}", aim_met=sent.told.throughput >= aim)


def _offered(loads: Loads, seconds: float) -> Measurement:
    """New, repeated and read in turn, at the rate that the bar names."""
    kinds = [replace(kind, weight=1.0) for kind in loads.mix.kinds(round(OFFERED * seconds), list(ASKED_FOR))]
    sent = loads.send(kinds, 2 * seconds, rate=OFFERED)
    p50, p99 = sent.told.percentile(0.5) / 1000, sent.told.percentile(0.99) / 1000
    work = f"{OFFERED:g} requests a second, new, repeated and GET in turn: p99"
    row = sent.row(work, "s", p99, "p50 ≤ 30 ms, p99 ≤ 150 ms")
    return replace(row, bar_met=p50 <= 0.030 and p99 <= 0.150)


def _mixed(loads: Loads, seconds: float) -> Iterator[Measurement]:
    """All kinds together, with listeners."""
    sent = loads.send(loads.mix.kinds(1, ["GET"]), seconds, rate=_HARDLY_ANY)
    each_second = sent.spent["api"] / sent.told.seconds
    yield sent.row(
        f"processor time of the API a second: {LISTENERS} listeners, hardly a request", "s", each_second
    )
    beside = f"mixed load, {LISTENERS} listeners"
    for clients in CLIENTS:
        kinds = loads.mix.kinds(round(_NEW_A_SECOND * seconds))
        sent = loads.send(kinds, seconds, clients=clients)
        yield sent.row(f"{beside}: {clients} clients", "requests/s", sent.told.throughput)
    for rate in (OFFERED, FASTER_RATE):
        sent = loads.send(loads.mix.kinds(math.ceil(0.3 * rate * seconds)), seconds, rate=rate)
        yield sent.row(f"{beside}: {rate:g} requests a second, p99", "s", sent.told.percentile(0.99) / 1000)


@contextmanager
def _generator(plan: Plan) -> Iterator[Callable[[], Told]]:
    """What sends a load, in a process that has its plan and whose listeners listen already."""
    command = [sys.executable, "-m", "tests.benchmarks.service.load_clients"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        sent, said = process.stdin, process.stdout
        if sent is None or said is None:
            raise BrokenError("the load generator has no pipes")

        def tell(line: str) -> str:
            sent.write(f"{line}\n")
            sent.flush()
            return said.readline()

        if not tell(plan.to_json()):
            raise BrokenError("the load generator did not get ready")
        yield lambda: Told.from_json(tell("begin"))
