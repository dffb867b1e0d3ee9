"""Signing in to the pages."""

from __future__ import annotations

import re
from typing import Final

import httpx

from app.cli.operations import RunningService

_TOKEN: Final = re.compile(r'name="form_token" value="([^"]+)"')


def session_cookie(service: RunningService) -> str:
    """The cookie of a new session."""
    with httpx.Client(base_url=service.base_url, trust_env=False) as browser:
        found = _TOKEN.search(browser.get("/sign-in").text)
        if found is None:
            raise ValueError("the form for signing in has no token")
        fields = {"form_token": found[1], "api_key": service.api_key, "next": "/"}
        browser.post("/sign-in", data=fields).headers["location"]
        return "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
