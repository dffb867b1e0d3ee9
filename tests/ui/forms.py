"""Signing in by the page's form, as a browser without script does."""

from __future__ import annotations

import re

import httpx


def token_in(page: httpx.Response) -> str:
    found = re.search(r'name="form_token" value="([^"]+)"', page.text)
    assert found is not None
    return found[1]


def signed_in(browser: httpx.Client, key: str, goal: str = "/") -> httpx.Response:
    form = browser.get("/sign-in", params={"next": goal})
    return browser.post("/sign-in", data={"form_token": token_in(form), "next": goal, "api_key": key})
