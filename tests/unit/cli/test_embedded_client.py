"""The client of a service that runs for the length of one command."""

from __future__ import annotations

import httpx
import pytest

from app.cli.embedded import client_of
from app.cli.operations import RunningService


@pytest.mark.parametrize(("status", "started"), [(200, 0), (201, 0), (202, 1), (422, 0)])
def test_the_worker_is_started_by_work_that_was_accepted_alone(monkeypatch, status, started):
    calls = []
    service = RunningService(
        "http://stub", "pre.secret", 1, lambda: None, lambda: None, lambda: calls.append("worker")
    )
    monkeypatch.setattr(
        httpx.HTTPTransport, "handle_request", lambda self, request: httpx.Response(status, json={})
    )
    with client_of(service) as client:
        client._pool._http.post("/v1/measurements/runs", json={})
    assert len(calls) == started
