"""What is counted about requests, by route and never by tenant, and the port that shows it."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

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
