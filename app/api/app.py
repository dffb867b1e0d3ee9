"""Puts the HTTP edge together: routes, layers and pages around the use cases."""

from __future__ import annotations

from collections.abc import Callable
from typing import TextIO

from fastapi import FastAPI
from prometheus_client import CollectorRegistry

from app.api import health, pages
from app.api.access_log import request_log
from app.api.bodies.limits import LARGEST_BYTES, BodiesInFlight
from app.api.faults import install_handlers
from app.api.health import Readiness
from app.api.interface import Interface
from app.api.metrics import RequestMetrics
from app.api.middleware import BodyLimit, HeadAsGet, RequestFrame
from app.api.places import Places
from app.api.routers import UPLOAD_PATHS
from app.api.services import Services
from app.services.access.identities import IdentityService
from app.services.access.rates import RequestRates
from app.services.ports import Store


def create_app(
    make_services: Callable[[], Services],
    store: Store,
    readiness: Readiness,
    *,
    max_upload_bytes: int,
    max_body_bytes: int = LARGEST_BYTES,
    places: Places | None = None,
    identities: IdentityService | None = None,
    rates: RequestRates | None = None,
    registry: CollectorRegistry | None = None,
    log_stream: TextIO | None = None,
) -> FastAPI:
    """The application.

    Parameters
    ----------
    make_services
        Makes the use cases, when the first request asks for one.
    store
        Where idempotent replies are kept.
    readiness
        Asks the parts that the service depends on.
    max_upload_bytes, max_body_bytes
        Largest body of an upload and of any other request; most operations take less, see
        :mod:`app.api.bodies.limits`.
    places
        How many costly requests of a tenant are worked on at once; the usual number if None.
    identities
        Admits those whom an identity provider vouches for; API keys alone are taken if None.
    rates
        Counts the requests of each key, and says how many it may have; any number if None.
    registry
        Where the counters of requests are registered; a registry of its own if None.
    log_stream
        Where the access log goes; standard error if None.
    """
    app = _framework()
    _install_routes(app, make_services)
    app.state.store = store
    app.state.readiness = readiness
    app.state.max_body_bytes = max_body_bytes
    app.state.bodies_in_flight = BodiesInFlight()
    app.state.places = places or Places()
    app.state.identities = identities
    app.state.rates = rates
    app.state.passed_on = set()  # addresses of pages that hand files on, which add themselves
    # Layers are entered in the reverse of the order in which they are added.
    app.add_middleware(HeadAsGet)
    app.add_middleware(
        BodyLimit,
        limit=max_body_bytes,
        upload_limit=max_upload_bytes,
        upload_paths=UPLOAD_PATHS,
        passed_on=app.state.passed_on,
    )
    metrics = RequestMetrics(registry or CollectorRegistry())
    app.add_middleware(RequestFrame, metrics=metrics, log=request_log(log_stream))
    return app


def _install_routes(app: FastAPI, make_services: Callable[[], Services]) -> None:
    """What the application answers: the interface, the pages, and every error as a problem."""
    install_handlers(app)
    app.router.routes.append(Interface(app.state, make_services))
    app.include_router(health.router)
    pages.install_pages(app)


def _framework() -> FastAPI:
    """The framework's application, of which the service has its own documents and records."""
    return FastAPI(
        docs_url=None,
        redoc_url=None,
        openapi_url=None,  # the pages serve it, in parts and made once
        # Its records hold the messages of exceptions, which may hold personal data.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
