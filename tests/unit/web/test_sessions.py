"""Cookies of the pages: when they are Secure, and which open a session."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from http.cookies import SimpleCookie

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from starlette.requests import Request
from starlette.responses import Response

from app.web.sessions import Cookies
from app.web.words import local

SECRET = bytes(32)
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def request(scheme: str = "http", cookie: str = "") -> Request:
    headers = [(b"host", b"service"), (b"cookie", cookie.encode())]
    return Request({"type": "http", "method": "GET", "scheme": scheme, "path": "/", "headers": headers})


def cookies(*, always_secure: bool = False) -> Cookies:
    return Cookies(SECRET, lambda: NOW, always_secure)


@pytest.mark.parametrize(
    ("scheme", "always_secure", "secure"),
    [("http", False, False), ("https", False, True), ("http", True, True), ("https", True, True)],
)
def test_the_cookie_is_secure_by_https_or_where_the_public_address_is_https(scheme, always_secure, secure):
    response, own = Response(), cookies(always_secure=always_secure)
    session = own.new("prefix.secret")
    own.begin(request(scheme), response, session)
    own.offer(request(scheme), response, "token")
    own.end(request(scheme), response)
    for header in response.headers.getlist("set-cookie"):
        ((name, cookie),) = SimpleCookie(header).items()
        assert (bool(cookie["secure"]), name.startswith("__Host-")) == (secure, secure)
        assert cookie["httponly"]
    ((name, cookie),) = SimpleCookie(response.headers.getlist("set-cookie")[0]).items()
    assert own.session(request(scheme, f"{name}={cookie.value}")) == session


def test_two_sessions_of_one_key_have_ids_of_their_own():
    ids = {cookies().new("prefix.secret").id for _ in range(3)}
    assert len(ids) == 3
    assert all(len(one) >= 32 for one in ids)


def test_a_cookie_of_the_time_before_sessions_had_ids_opens_nothing():
    content = {"key": "prefix.secret", "form": "token", "ends": NOW.timestamp() + 60}
    for extra, opens in (({}, False), ({"id": "x"}, True)):
        sealed = bytes(12) + AESGCM(SECRET).encrypt(
            bytes(12), json.dumps(content | extra).encode(), b"session"
        )
        value = base64.urlsafe_b64encode(sealed).decode().rstrip("=")
        assert (cookies().session(request("http", f"privacy-risk-session={value}")) is not None) == opens


@pytest.mark.parametrize("text", ["a", '"', "\\", "é", "\U0001f600"])
@pytest.mark.parametrize("length", [9, 300, 990, 5000])
def test_whoever_goes_to_the_provider_is_known_again_whatever_page_they_came_from(text, length):
    """The page is kept in the cookie, which is no longer than browsers and the service take."""
    goal = local("/" + text * length)
    assert goal == "/" or length < 5000
    attempt = {**dict.fromkeys(("state", "nonce", "verifier", "before"), "x" * 43), "goal": goal}
    response = Response()
    cookies(always_secure=True).send_away(request("https"), response, attempt)
    header = response.headers["set-cookie"]
    assert len(header) <= 4096
    cookie = header.partition(";")[0]
    assert cookies(always_secure=True).attempt(request("https", cookie)) == attempt
