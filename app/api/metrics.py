"""What is counted of requests by route and of runs by kind, never by tenant, and the port that shows it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, Final

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

from app.services.resources import WITH_RUNS, QueuedRuns, RunState

COUNTING_SECONDS: Final = 2.0
"""How long a scrape waits for the database."""

log = structlog.get_logger(__name__)

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120)


class RequestMetrics:
    """Counters of one API process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        prefix = "privacy_risk_http"
        self.requests = Counter(
            f"{prefix}_requests", "Requests answered.", ("method", "route", "status"), registry=registry
        )
        self.seconds = Histogram(
            f"{prefix}_request_seconds",
            "Seconds from the first byte of the request to the last of the answer.",
            ("method", "route"),
            buckets=SECONDS,
            registry=registry,
        )
        self.in_flight = Gauge(
            f"{prefix}_requests_in_flight",
            "Requests being answered.",
            registry=registry,
            multiprocess_mode="livesum",
        )
        self.received = Counter(f"{prefix}_received_bytes", "Bytes of bodies read.", registry=registry)


class QueueMetrics(Collector):
    """The runs that wait and those at work, as the database has them at each scrape.

    Every kind of run is shown, with zeros if there is none, so that whatever scales by it can scale down.
    While the database does not answer, nothing is shown: an old length would be taken for the present one.

    Parameters
    ----------
    count
        Asks the database, in ``loop``; a scrape comes from a thread of its own.
    """

    def __init__(
        self,
        count: Callable[[], Coroutine[Any, Any, Sequence[QueuedRuns]]],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._count = count
        self._loop = loop

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """The three gauges; none while the database does not answer."""
        counted = asyncio.run_coroutine_threadsafe(self._count(), self._loop)
        try:
            found = {own.kind: own for own in counted.result(COUNTING_SECONDS)}
        except Exception as error:  # whatever the fault is, the other metrics are shown
            counted.cancel()
            log.warning("queue_not_counted", error=type(error).__name__)
            return
        runs = GaugeMetricFamily(
            "privacy_risk_runs", "Runs that wait (queued) or are at work.", labels=("kind", "state")
        )
        oldest = GaugeMetricFamily(
            "privacy_risk_runs_oldest_queued_seconds",
            "Seconds since the oldest queued run was asked for.",
            labels=("kind",),
        )
        work = GaugeMetricFamily(
            "privacy_risk_runs_queued_work_seconds",
            "Estimated seconds of work of the queued runs that have an estimate.",
            labels=("kind",),
        )
        for kind in WITH_RUNS:
            queued = found.get(kind, QueuedRuns(kind))
            runs.add_metric((kind.value, RunState.QUEUED.value), queued.queued)
            runs.add_metric((kind.value, RunState.RUNNING.value), queued.running)
            oldest.add_metric((kind.value,), queued.oldest_seconds)
            work.add_metric((kind.value,), queued.estimated_seconds)
        yield from (runs, oldest, work)


def sum_of_all(folder: str) -> CollectorRegistry:
    """What the processes that count in this folder have counted together, also those that have ended."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=folder)  # type: ignore[no-untyped-call]
    return registry


def leave_out(process: int, folder: str) -> None:
    """Forget what an ended process had in progress."""
    mark_process_dead(process, folder)  # type: ignore[no-untyped-call]


def serve_metrics(registry: CollectorRegistry, host: str, port: int) -> Callable[[], None]:
    """Serve the registry on a port of its own, from a thread; the answer stops it."""
    server, thread = start_http_server(port, addr=host, registry=registry)

    def stop() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return stop
