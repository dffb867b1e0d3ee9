"""What is counted about requests, by route and never by tenant, and the port that shows it."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server

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
        self.in_flight = Gauge(f"{prefix}_requests_in_flight", "Requests being answered.", registry=registry)
        self.received = Counter(f"{prefix}_received_bytes", "Bytes of bodies read.", registry=registry)


def serve_metrics(registry: CollectorRegistry, host: str, port: int) -> Callable[[], None]:
    """Serve the registry on a port of its own, from a thread; the answer stops it."""
    server, thread = start_http_server(port, addr=host, registry=registry)

    def stop() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return stop
