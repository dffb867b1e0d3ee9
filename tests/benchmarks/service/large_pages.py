"""The pages of a dataset of a large file."""

from __future__ import annotations

import time
from typing import Final

import httpx

from app.cli.operations import RunningService
from tests.benchmarks.measurement import Measurement
from tests.benchmarks.service.signing_in import session_cookie

_PAGES: Final = ("", "/profile", "/goal", "/rule", "/attributes/{attribute}")
_ROUNDS: Final = 5
_BAR_SECONDS: Final = 0.3


def slowest_page(service: RunningService, part: str, rows: int) -> Measurement:
    """Open each page of the service's only dataset, whose profile is known, some times."""
    key = {"Authorization": f"Bearer {service.api_key}"}
    session = {"Cookie": session_cookie(service)}
    with httpx.Client(base_url=service.base_url, trust_env=False, headers=session) as browser:
        (dataset,) = browser.get("/v1/datasets", headers=key).raise_for_status().json()["items"]
        attribute = next(own["name"] for own in dataset["attributes"] if own["role"] == "quasi_identifier")
        seconds: dict[str, float] = {}
        statuses = set()
        for page in _PAGES:
            address = f"/datasets/{dataset['name']}" + page.format(attribute=attribute)
            taken = []
            for _ in range(_ROUNDS):
                start = time.perf_counter()
                statuses.add(browser.get(address).status_code)
                taken.append(time.perf_counter() - start)
            seconds[page.split("/")[1] if page else "dataset"] = min(taken)
    slowest = max(seconds.values())
    return Measurement(
        part=part,
        work=f"the slowest page of a dataset of {rows:,} records, opened again",
        bar=f"≤ {1000 * _BAR_SECONDS:g} ms",
        unit="s",
        ours=slowest,
        bar_met=slowest <= _BAR_SECONDS,
        counters={f"{page}_ms": round(1000 * own, 1) for page, own in seconds.items()},
        same_result=statuses == {200},
        detail=f"waiting, least of {_ROUNDS} of each page; the profile is measured before",
    )
