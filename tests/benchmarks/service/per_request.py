"""Processor time of a request: a new assessment, the same again, a resource that is read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import httpx

from tests.benchmarks.measurement import Measurement
from tests.benchmarks.over_http import PandasOracle
from tests.benchmarks.service.asked import Asked
from tests.benchmarks.service.costs import difference, settled
from tests.benchmarks.service.percentiles import percentile
from tests.benchmarks.service.sample import RECORDS, Json, Loaded, assessments, loaded_service

PART = "requests"
BLOCKS, REQUESTS = 5, 200
COMPARED = 20
PROFILES = 2
"""Enough for 1,000 new questions, and some to begin with."""

_SIZE = f"{RECORDS:,} records, {RECORDS:,} entities"


@dataclass(frozen=True)
class Block:
    """What one block of equal requests took: processor time by role and waiting, in seconds a request."""

    spent: dict[str, float]
    p50: float
    p99: float


def measure(asked: Asked) -> Iterator[Measurement]:
    """The three kinds of request on a service of its own, one client, one request after the other."""
    with loaded_service(asked.operations) as loaded:
        questions = assessments(loaded.client, loaded.question, PROFILES)
        first, new = questions[0], questions[1 : 1 + BLOCKS * REQUESTS]
        with httpx.Client(
            base_url=loaded.service.base_url,
            headers={"Authorization": f"Bearer {loaded.service.api_key}"},
            trust_env=False,
            timeout=60,
        ) as client:
            sent = Sent(client)
            known = sent.question(first)
            path = f"/v1/assessments/{known['id']}"
            for _ in range(20):
                sent.question(first)
                sent.reading(path)
            settled(loaded.roles)
            blocks = [new[i * REQUESTS : (i + 1) * REQUESTS] for i in range(BLOCKS)]
            taken = [_block(loaded, [_asking(sent, one) for one in block]) for block in blocks]
            pandas, same = _by_pandas(loaded, sent, new[:COMPARED])
            row = _row(f"new assessment, {_SIZE}", 0.010, 0.005, taken, same=same)
            yield replace(row, baseline="pandas", baseline_value=pandas, ratio=pandas / row.ours)
            repeated = [_block(loaded, [_asking(sent, first)] * REQUESTS) for _ in range(BLOCKS)]
            again = sent.question(first)["result"] == known["result"]
            yield _row(f"the same assessment again, {_SIZE}", 0.003, 0.0015, repeated, same=again)
            read = [_block(loaded, [lambda: sent.reading(path)] * REQUESTS) for _ in range(BLOCKS)]
            same = sent.reading(path)["result"] == known["result"]
            yield _row("GET of an assessment", 0.002, 0.001, read, same=same)


class Sent:
    """Requests of one client over one connection; every answer must be a good one."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def question(self, body: Json) -> Json:
        """The assessment that answers a question."""
        answer: Json = self._client.post("/v1/assessments", json=body).raise_for_status().json()
        return answer

    def reading(self, path: str) -> Json:
        """The resource at a path."""
        answer: Json = self._client.get(path).raise_for_status().json()
        return answer


def _by_pandas(loaded: Loaded, sent: Sent, questions: Sequence[Json]) -> tuple[float, bool]:
    """Processor time in seconds of a score by pandas, and whether both count the same entities."""
    oracle, seconds, same = PandasOracle(loaded.folder / "sample"), [], True
    for body in questions:
        start = time.process_time()
        _, fewest = oracle.score(body["rule"]["levels"])
        seconds.append(time.process_time() - start)
        if body["absent_policy"] == "zero":
            same &= sent.question(body)["result"]["min_consistent"] == fewest
    return percentile(seconds, 0.5), bool(same)


def _asking(sent: Sent, body: Json) -> Callable[[], Json]:
    return lambda: sent.question(body)


def _block(loaded: Loaded, requests: Sequence[Callable[[], object]]) -> Block:
    before, waited = loaded.roles.spent(), []
    for request in requests:
        start = time.perf_counter()
        request()
        waited.append(time.perf_counter() - start)
    spent = difference(before, loaded.roles.spent())
    each = {role: seconds / len(requests) for role, seconds in spent.items()}
    return Block(each, percentile(waited, 0.5), percentile(waited, 0.99))


def _row(work: str, bar: float, aim: float, blocks: Sequence[Block], *, same: bool) -> Measurement:
    least = min(blocks, key=lambda block: block.spent["api"])
    seconds = least.spent["api"]
    return Measurement(
        part=PART,
        work=f"processor time of the API: {work}",
        bar=f"≤ {1000 * bar:g} ms",
        aim=f"≤ {1000 * aim:g} ms",
        unit="s",
        ours=seconds,
        bar_met=seconds <= bar,
        aim_met=seconds <= aim,
        counters={
            "postgres_ms": 1000 * least.spent["postgres"],
            "p50_ms": 1000 * least.p50,
            "p99_ms": 1000 * least.p99,
            "slowest_block_ms": 1000 * max(block.spent["api"] for block in blocks),
        },
        same_result=same,
        detail=f"user and system time a request, least of {BLOCKS} blocks of {REQUESTS}, one client",
    )
