"""What surrounds every answer: ids, headers, the log, the counters, health."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import httpx
import pytest
from prometheus_client import generate_latest

from app.api.access_log import ALLOWED_KEYS
from tests.api.operations import DOCUMENT
from tests.api.problem_documents import problem_of

pytestmark = pytest.mark.anyio


async def test_every_answer_carries_its_request_id_and_the_security_headers(anonymous):
    for path in ("/healthz", "/v1/rules", "/nothing", "/docs", "/openapi.json", "/static/swagger.js"):
        response = await anonymous.get(path)
        assert response.headers["x-request-id"]
        assert response.headers["content-security-policy"].startswith("default-src 'self'")
        assert "unsafe" not in response.headers["content-security-policy"]
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"] == "same-origin"


async def test_the_document_comes_in_sections_that_hold_all_of_it(anonymous):
    listed = (await anonymous.get("/docs/operations.json")).json()
    assert {path: set(own) for path, own in listed["paths"].items()} == {
        path: set(own) for path, own in DOCUMENT["paths"].items()
    }
    found: dict[tuple[str, str], Any] = {}
    for tag in listed["tags"]:
        own = (await anonymous.get(f"/docs/groups/{tag['name']}.json")).json()
        found |= {(path, method): one for path, of in own["paths"].items() for method, one in of.items()}
        for kind, name in re.findall(r'"#/components/(\w+)/([\w.-]+)"', json.dumps(own)):
            assert own["components"][kind][name] == DOCUMENT["components"][kind][name]
    assert found == {
        (path, method): one for path, of in DOCUMENT["paths"].items() for method, one in of.items()
    }
    assert (await anonymous.get("/docs/groups/nothing.json")).status_code == 404


async def test_the_document_is_sent_in_parts(api, anonymous):
    answer = await anonymous.get("/openapi.json")
    assert answer.json() == DOCUMENT
    sent: list[int] = []

    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}

    async def send(message: dict[str, Any]) -> None:
        sent.append(len(message.get("body", b"")))

    scope = {
        "type": "http", "method": "GET", "path": "/openapi.json", "headers": [], "query_string": b"",
        "http_version": "1.1", "root_path": "",
    }  # fmt: skip
    await api.app(scope, receive, send)
    assert sum(sent) == len(answer.content) == int(answer.headers["content-length"])
    assert max(sent) <= 64 * 1024


async def test_a_request_id_is_taken_over_only_if_it_is_harmless(anonymous: httpx.AsyncClient):
    response = await anonymous.get("/healthz", headers={"X-Request-Id": "trace-7.a_b"})
    assert response.headers["x-request-id"] == "trace-7.a_b"
    for given in ("a" * 65, "a b", "<script>", ""):
        response = await anonymous.get("/healthz", headers={"X-Request-Id": given})
        assert response.headers["x-request-id"] != given


async def test_the_log_holds_nothing_but_the_keys_on_the_list(api, client: httpx.AsyncClient):
    await client.get("/v1/rules", params={"name": "Zebediah"})
    await client.get("/v1/rules/Zebediah")
    await client.post("/v1/rules", json={"name": "Zebediah"})
    await client.get("/Zebediah")
    lines = api.log_lines()
    assert [line["status"] for line in lines] == [200, 404, 422, 404]
    assert [line["route"] for line in lines] == ["/v1/rules", "/v1/rules/{ref}", "/v1/rules", "(none)"]
    assert [line["problem"] for line in lines] == [None, "not-found", "invalid-input", "not-found"]
    for line in lines:
        assert set(line) <= ALLOWED_KEYS
    assert lines[0]["tenant"]
    assert lines[0]["key_id"]
    assert "Zebediah" not in api.log.getvalue()


async def test_the_counters_know_routes_but_neither_tenants_nor_names(api, client: httpx.AsyncClient):
    await client.get("/v1/rules/Zebediah")
    await client.get("/Zebediah")
    await client.request("BREW", "/v1/rules")
    await client.post("/v1/rules", json={"name": "x"})
    text = generate_latest(api.metrics).decode()
    assert 'method="GET",route="/v1/rules/{ref}",status="404"' in text
    assert 'route="(none)"' in text
    assert "Zebediah" not in text
    assert "tenant" not in text.lower()
    assert "BREW" not in text
    received = api.metrics.get_sample_value("privacy_risk_http_received_bytes_total")
    assert received == len('{"name":"x"}')


async def test_metrics_are_not_on_the_public_port(anonymous: httpx.AsyncClient):
    problem_of(await anonymous.get("/metrics"), 404, "not-found")


async def test_health_and_readiness_need_no_key(api, anonymous: httpx.AsyncClient):
    assert (await anonymous.get("/healthz")).json() == {"status": "alive"}
    assert (await anonymous.get("/readyz")).json() == {"status": "ready", "checks": {"database": True}}

    async def failing():
        return {"database": False, "migrations": True}

    api.app.state.readiness = failing
    body = problem_of(await anonymous.get("/readyz"), 503, "unavailable")
    assert "database" in body["detail"]
    assert "migrations" not in body["detail"]
    assert (await anonymous.get("/healthz")).status_code == 200


async def test_an_answer_that_breaks_midway_cuts_the_connection(api, client, monkeypatch):
    async def chunks():
        yield b"a,b\n"
        raise RuntimeError("Zebediah")

    async def data(*args, **kwargs):
        from app.services.resources import DataStream

        return DataStream("text/csv", "x.csv", chunks())

    monkeypatch.setattr(api.services.releases, "data", data)
    transport = httpx.ASGITransport(app=api.app, raise_app_exceptions=True)
    headers = dict(client.headers)
    async with httpx.AsyncClient(transport=transport, base_url="http://service", headers=headers) as raising:
        with pytest.raises(Exception, match=r"^[0-9a-f]{32}$"):
            await raising.get("/v1/releases/x/data")
    assert "Zebediah" not in api.log.getvalue()
