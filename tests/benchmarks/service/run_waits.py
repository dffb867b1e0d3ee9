"""Optimisations over HTTP: how long they take beyond their computation."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

import httpx

from app.domain.risk.utility import build_utility
from app.domain.search.context import SearchContext
from app.domain.search.objectives import MinRisk
from app.domain.search.problem import Problem
from app.domain.search.solvers import Enumeration
from app.domain.sensitivity.sensitivity import build_sensitivity
from app.domain.sensitivity.weights import LeafWeights
from app.experiments.solving import solve
from tests.benchmarks.case_study import case_study
from tests.benchmarks.measurement import Measurement
from tests.benchmarks.row import timed
from tests.benchmarks.service.asked import Asked
from tests.benchmarks.service.costs import difference, settled
from tests.benchmarks.service.percentiles import percentile
from tests.benchmarks.service.sample import RECORDS, Json, Loaded, loaded_service

PART = "runs"
RUNS: Final = 9
WAITED: Final = 20


def measure(asked: Asked) -> Iterator[Measurement]:
    """Waits for runs: those that a worker does, and those that are done at once."""
    with loaded_service(asked.operations) as loaded:
        settled(loaded.roles)
        computing = _computing()
        yield _waited(loaded, computing, at_once=False)
        yield _waited(loaded, computing, at_once=True)


def _computing() -> float:
    """Seconds that the search itself takes, on tables of the sample's size in this process."""
    study = case_study(RECORDS, RECORDS, 52)
    sensitivity = build_sensitivity(
        study.table, "multiplicative", {name: LeafWeights(weight) for name, weight in study.weights.items()}
    )
    context = SearchContext(study.table, study.years, sensitivity, build_utility(study.table))
    return timed(lambda: solve(context, Problem(MinRisk(6.0)), Enumeration()), repeats=5).least


def _waited(loaded: Loaded, computing: float, *, at_once: bool) -> Measurement:
    """From the request to the finished run; ``at_once`` asks for it in the answer to the first request."""
    seconds, spent, statuses = [], [], []
    with httpx.Client(
        base_url=loaded.service.base_url,
        headers={"Authorization": f"Bearer {loaded.service.api_key}"},
        trust_env=False,
        timeout=60,
    ) as client:
        for number in range(RUNS):
            body = _search(loaded, f"waited-{at_once}-{number}", 5 + number / 100 + at_once / 1000)
            before, start = loaded.roles.spent(), time.perf_counter()
            answer = client.post(
                "/v1/optimisations", json=body, headers={"Prefer": f"wait={WAITED}"} if at_once else {}
            ).raise_for_status()
            statuses.append(answer.status_code)
            state = _ended(client, answer.json())
            seconds.append(time.perf_counter() - start)
            if state != "succeeded":
                statuses.append(0)
            settled(loaded.roles, 2.0)
            spent.append(sum(difference(before, loaded.roles.spent()).values()))
    beyond = max(min(seconds) - computing, 0.0)
    how = f"with Prefer: wait={WAITED}" if at_once else "from POST until finished"
    return Measurement(
        part=PART,
        work=f"optimisation of 300 rules {how}, beyond its computation",
        bar="answered with the finished run at once" if at_once else "≤ 0.25 s",
        aim="" if at_once else "≤ 0.1 s",
        unit="s",
        ours=beyond,
        bar_met=set(statuses) == {200} if at_once else beyond <= 0.25,
        aim_met=None if at_once else beyond <= 0.1,
        counters={
            "computing_ms": round(1000 * computing, 1),
            "p50_ms": round(1000 * percentile(seconds, 0.5), 1),
            "slowest_ms": round(1000 * max(seconds), 1),
            "cpu_ms": round(1000 * percentile(spent, 0.5), 1),
            "status": statuses[0],
        },
        same_result=0 not in statuses,
        detail=f"least of {RUNS}; the computation is that of the same search in this process; processor time "
        "of all processes of the service, the end of a run's process included",
    )


def _search(loaded: Loaded, name: str, floor: float) -> Json:
    objective = {"kind": "min_risk", "utility_floor": floor}
    return loaded.question | {"name": name, "objective": objective, "solver": "enumeration"}


def _ended(client: httpx.Client, run: Json) -> str:
    """The final state of a run; it is followed by waiting requests."""
    while run["state"] in ("queued", "running"):
        answer = client.get(f"/v1/runs/{run['id']}", headers={"Prefer": f"wait={WAITED}"})
        run = answer.raise_for_status().json()
    return str(run["state"])
