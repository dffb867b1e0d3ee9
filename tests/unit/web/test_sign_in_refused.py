"""Signing in with a key while the interface refuses for a reason of its own."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import cast

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from app.web.sessions import Cookies, LiveSessions
from app.web.site import Site

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(("status", "said"), [(429, "Wait 42 s."), (503, "Try again.")])
async def test_why_the_interface_does_not_answer_is_told_beside_the_form(status, said):
    async def refuse(request: Request) -> JSONResponse:
        problem = {"status": status, "title": "No", "detail": "Not now.", "remedy": said}
        return JSONResponse(problem, status, media_type="application/problem+json")

    api = Starlette(routes=[Route("/v1/api-keys/current", refuse)])
    cookies = Cookies(bytes(32), lambda: datetime.now(UTC))
    app = Starlette(routes=Site(api, cookies, cast(LiveSessions, None)).routes())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://here") as browser:
        form = await browser.get("/sign-in")
        token = form.text.split('name="form_token" value="')[1].split('"')[0]
        answer = await browser.post(
            "/sign-in", data={"form_token": token, "api_key": "a.b", "kept": "name=x"}
        )
    assert answer.status_code == status
    assert f"Not now. {said}" in answer.text
    assert 'name="kept" value="name=x"' in answer.text
    assert "privacy-risk-session" not in browser.cookies
