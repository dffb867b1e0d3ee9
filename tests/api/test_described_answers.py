"""What the check of all answers against the document lets pass, and what not."""

from __future__ import annotations

import json

import httpx
import pytest

from tests.api.described_answers import check_described

pytestmark = pytest.mark.anyio

PLAN = json.dumps(
    {"route": "run", "seconds": 0.05, "bytes": 3930080, "engine": "enumeration", "units": 300, "missing": []}
)
EVENTS = ": still there\r\n\r\nevent: state\r\nid: 1\r\ndata: {}\r\n\r\nevent: state\nid: 2\ndata: {}\n\n"
PLAN_TYPE = "application/vnd.privacy-risk.plan+json"
STREAM = "text/event-stream; charset=utf-8"


def answer(method, path, status, media_type="", body=""):
    request = httpx.Request(method, f"http://service{path}")
    headers = {"Content-Type": media_type} if media_type else {}
    return httpx.Response(status, headers=headers, content=body.encode(), request=request)


@pytest.mark.parametrize("response", [
    answer("POST", "/v1/assessments?dry_run=true", 200, PLAN_TYPE, PLAN),
    answer("POST", "/v1/assessments/plans", 200, "application/json", PLAN),
    answer("GET", "/v1/runs/mine/events", 200, STREAM, EVENTS),
    answer("GET", "/v1/runs/mine/events", 200, STREAM, ""),
    answer("DELETE", "/v1/rules/mine", 204),
    answer("GET", "/v1/rules/mine", 304),
    answer("GET", "/v1/nothing", 404, "text/plain", "no"),
    answer("PATCH", "/v1/rules/mine", 405, "text/plain", "no"),
])  # fmt: skip
async def test_what_is_described_passes(response):
    await check_described(response)


@pytest.mark.parametrize("response", [
    answer("POST", "/v1/assessments?dry_run=true", 200, "application/json", PLAN),
    answer("POST", "/v1/assessments/plans", 200, "application/json", PLAN.replace('"run"', '"walk"')),
    answer("POST", "/v1/assessments/plans", 200, "text/plain", PLAN),
    answer("POST", "/v1/assessments/plans", 299, "application/json", PLAN),
    answer("GET", "/v1/runs/mine/events", 200, STREAM, EVENTS.replace("id: 2\n", "")),
    answer("GET", "/v1/rules/mine", 404, "application/problem+json", '{"title": "Not found"}'),
    answer("DELETE", "/v1/rules/mine", 204, "application/json", "{}"),
])  # fmt: skip
async def test_what_is_not_described_is_found(response):
    with pytest.raises(AssertionError):
        await check_described(response)
