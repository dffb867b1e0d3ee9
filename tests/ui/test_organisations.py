"""Signing in to the pages by the identity provider, and what a stranger gains by it: nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from http.cookies import SimpleCookie
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, expect

from tests.conftest import PostgresServer
from tests.identity_provider import IdentityProvider, running_provider
from tests.ui.conftest import MILLISECONDS, Served, Watched, serving
from tests.ui.forms import token_in

SECRET = "known to the provider alone"
GROUPS = {
    "stewards": {"tenant": "acme", "scopes": ["data:read", "data:write", "assess", "govern", "admin"]},
    "readers": {"tenant": "acme", "scopes": []},
}


@pytest.fixture(scope="module")
def provider() -> Iterator[IdentityProvider]:
    with running_provider() as provider:
        yield provider


@pytest.fixture(scope="module")
def site(postgres: PostgresServer, provider: IdentityProvider) -> Iterator[Served]:
    oidc = {
        "oidc_issuer": provider.issuer,
        "oidc_client_id": "risk",
        "oidc_client_secret": SECRET,
        "oidc_groups": json.dumps(GROUPS),
    }
    for served in serving(postgres, 1_000_000, oidc=oidc):
        served.do(served.api.services.tenants.bootstrap("acme"))
        yield served


@pytest.fixture
def visitor(site: Served) -> Iterator[httpx.Client]:
    """What a browser without script does."""
    with httpx.Client(base_url=site.url, headers={"Accept": "text/html"}, timeout=60) as client:
        yield client


def sent_away(visitor: httpx.Client, goal: str = "/") -> httpx.URL:
    """Begin to sign in; the address at the provider."""
    away = visitor.get("/sign-in/organisation", params={"next": goal})
    assert away.status_code == 303
    return httpx.URL(away.headers["location"])


def sent_back(there: httpx.URL, who: str = "ada", **form: str) -> httpx.URL:
    """Say at the provider who one is; the address at the service."""
    answer = httpx.post(there, data={"sub": who, **form}, timeout=60)
    assert answer.status_code == 302, answer.text
    return httpx.URL(answer.headers["location"])


def signed_in(visitor: httpx.Client, goal: str = "/") -> httpx.Response:
    return visitor.get(sent_back(sent_away(visitor, goal)))


def test_who_the_provider_vouches_for_is_led_to_the_page_that_was_asked_for(visitor, site, provider):
    asked = visitor.get(visitor.get("/datasets?after=x").headers["location"])
    way = re.search(r'href="([^"]+)">Sign in with your organisation', asked.text)[1]
    there = httpx.URL(visitor.get(way.replace("&amp;", "&")).headers["location"])
    said = there.params
    assert str(there).startswith(f"{provider.issuer}/oauth2/authorize?")
    assert (said["response_type"], said["client_id"]) == ("code", "risk")
    assert (said["scope"], said["code_challenge_method"]) == ("openid profile", "S256")
    assert said["redirect_uri"] == f"{site.url}/sign-in/callback"
    back = visitor.get(sent_back(there))
    assert back.status_code == 200
    assert '<meta http-equiv="refresh" content="0; url=/datasets?after=x">' in back.text
    exchanged = exchanges(provider)[-1]
    digest = hashlib.sha256(exchanged["code_verifier"].encode()).digest()
    assert base64.urlsafe_b64encode(digest).decode().rstrip("=") == said["code_challenge"]
    assert len({said["state"], said["nonce"], exchanged["code_verifier"]}) == 3
    page = visitor.get("/datasets?after=x")
    assert page.status_code == 200
    assert "signed in as <b>Ada Lovelace</b>" in page.text


def test_the_cookies_are_sealed_and_the_one_that_comes_back_lasts_ten_minutes(visitor, provider, site):
    away = visitor.get("/sign-in/organisation")
    attempt = SimpleCookie(away.headers["set-cookie"])["privacy-risk-attempt"]
    assert (attempt["httponly"], attempt["samesite"], attempt["max-age"]) == (True, "lax", "600")
    back = visitor.get(sent_back(httpx.URL(away.headers["location"])))
    cookies = {
        name: cookie
        for line in back.headers.get_list("set-cookie")
        for name, cookie in SimpleCookie(line).items()
    }
    session = cookies["privacy-risk-session"]
    assert (session["httponly"], session["samesite"]) == (True, "strict")
    # What it holds, in words that do not occur by chance among some hundred random bytes, as "ada" would.
    sealed = base64.urlsafe_b64decode(session.value + "==")
    assert not [own for own in (b'"identity"', b"Ada Lovelace", provider.issuer.encode()) if own in sealed]
    assert cookies["privacy-risk-attempt"]["max-age"] == "0"


def test_what_somebody_does_is_theirs_in_the_audit_trail_and_no_secret_is_in_the_log(visitor, site, provider):
    signed_in(visitor)
    first = visitor.get("/")
    made = visitor.post("/example-data", data={"form_token": token_in(first)})
    assert made.headers["location"].startswith("/runs/")
    token = provider.issued("ada", "risk")
    principal = f"{provider.issuer} ada"
    asked = {line["key_id"] for line in site.api.log_lines() if line["route"].startswith("/v1/")}
    assert asked == {principal}
    key = site.do(site.api.services.tenants.bootstrap("acme", new_key=True)).first_key.token
    trail = httpx.get(
        f"{site.url}/v1/audit-events", headers={"Authorization": f"Bearer {key}"}, timeout=60
    ).json()
    assert {own["key_id"] for own in trail["items"]} == {principal, "bootstrap"}
    log = site.api.log.getvalue()
    for secret in (SECRET, "code=", "eyJ", token):
        assert secret not in log


def test_signing_out_and_signing_in_anew_end_the_session_of_before(visitor, site):
    signed_in(visitor)
    before = {"Cookie": f"privacy-risk-session={visitor.cookies['privacy-risk-session']}"}
    signed_in(visitor)
    assert httpx.get(f"{site.url}/datasets", headers=before, timeout=60).status_code == 303
    now = {"Cookie": f"privacy-risk-session={visitor.cookies['privacy-risk-session']}"}
    page = visitor.get("/datasets")
    assert visitor.post("/sign-out", data={"form_token": token_in(page)}).headers["location"] == "/sign-in"
    assert httpx.get(f"{site.url}/datasets", headers=now, timeout=60).status_code == 303


def test_nobody_is_signed_in_by_an_answer_that_is_not_theirs(visitor, site, provider):
    here = sent_back(sent_away(visitor))
    with httpx.Client(base_url=site.url, timeout=60) as stranger:
        assert stranger.get(here).status_code == 400  # the way back in another browser
        theirs = sent_back(sent_away(stranger))
    for wrong in (
        here.copy_set_param("state", theirs.params["state"]),
        here.copy_remove_param("state"),
        here.copy_set_param("iss", "https://evil.example"),
        here.copy_remove_param("code"),
        here.copy_set_param("code", "guessed"),
    ):
        there = sent_away(visitor)
        answer = visitor.get(wrong if "state" not in wrong.params else _in_turn(wrong, here, there))
        assert answer.status_code == 400, wrong
        assert "ry again" in answer.text
        assert "privacy-risk-session" not in visitor.cookies, wrong
        assert "evil.example" not in answer.text
    # A code that was made for another attempt carries that one's nonce.
    there = sent_away(visitor)
    swapped = sent_back(there).copy_set_param("code", theirs.params["code"])
    answer = visitor.get(swapped)
    assert answer.status_code == 400
    assert "not made for this attempt" in answer.text
    assert "privacy-risk-session" not in visitor.cookies


def _in_turn(wrong: httpx.URL, here: httpx.URL, there: httpx.URL) -> httpx.URL:
    """The same wrong answer to the present attempt, unless its state is what is wrong."""
    is_own = wrong.params["state"] == here.params["state"]
    return wrong.copy_set_param("state", there.params["state"]) if is_own else wrong


def test_an_answer_counts_once(visitor):
    here = sent_back(sent_away(visitor))
    assert visitor.get(here).status_code == 200
    again = visitor.get(here)
    assert again.status_code == 400
    assert "Please try again" in again.text


def test_a_stranger_has_the_provider_asked_about_one_code_of_each_attempt(visitor, provider):
    """Though their browser keeps the cookie that the service takes away."""
    here = sent_back(sent_away(visitor))
    kept, asked = dict(visitor.cookies), len(exchanges(provider))
    for number in range(5):
        visitor.cookies = kept
        assert visitor.get(here.copy_set_param("code", f"invented-{number}")).status_code == 400
    visitor.cookies = kept
    answer = visitor.get(here)
    assert (answer.status_code, "answered already" in answer.text) == (400, True)
    assert len(exchanges(provider)) == asked + 1
    assert signed_in(visitor).status_code == 200


def exchanges(provider: IdentityProvider) -> list[dict[str, str]]:
    return [form for path, form in provider.asked if path == "/oauth2/token"]


def test_a_page_of_a_very_long_address_is_left_for_the_first_one(visitor):
    for goal, there in (("/datasets?after=" + "x" * 5000, "/"), ("/datasets?after=" + "ü" * 900, "/")):
        assert f'content="0; url={there}"' in signed_in(visitor, goal).text


def test_who_took_too_long_begins_again(visitor, site):
    here = sent_back(sent_away(visitor))
    site.clock.advance(601)
    try:
        assert visitor.get(here).status_code == 400
    finally:
        site.clock.advance(-601)


@pytest.mark.parametrize("goal", ["//evil.example", "https://evil.example", "/\\evil.example"])
def test_nobody_is_led_to_another_site(visitor, goal):
    back = signed_in(visitor, goal)
    assert 'content="0; url=/"' in back.text
    assert "evil.example" not in back.text


def test_who_refuses_or_may_do_nothing_is_told_so(visitor, provider):
    denied = visitor.get(sent_back(sent_away(visitor), action="deny"))
    assert (denied.status_code, "did not sign you in" in denied.text) == (400, True)
    for who, said in (("ben", "mapped to no scope"), ("carl", "Groups that do: readers, stewards")):
        answer = visitor.get(sent_back(sent_away(visitor), who))
        assert answer.status_code == 403
        assert said in answer.text
        assert "privacy-risk-session" not in visitor.cookies


def test_another_mapping_of_groups_ends_the_sessions_of_the_one_before(visitor, site, monkeypatch):
    signed_in(visitor)
    assert visitor.get("/datasets").status_code == 200
    monkeypatch.setattr(site.organisation, "_mapping", "another")
    assert visitor.get("/datasets").headers["location"].startswith("/sign-in")


def test_without_a_provider_there_is_no_such_way(served):
    form = httpx.get(f"{served.url}/sign-in", headers={"Accept": "text/html"}, timeout=60)
    assert "organisation" not in form.text
    for path in ("/sign-in/organisation", "/sign-in/callback"):
        assert httpx.get(f"{served.url}{path}", timeout=60).status_code == 404


def test_a_provider_that_is_away_is_told_and_keys_go_on(postgres):
    oidc: dict[str, Any] = {
        "oidc_issuer": "http://127.0.0.1:9", "oidc_client_id": "risk", "oidc_groups": json.dumps(GROUPS),
    }  # fmt: skip
    for alone in serving(postgres, 1_000_000, oidc=oidc):
        with httpx.Client(base_url=alone.url, timeout=60) as visitor:
            answer = visitor.get("/sign-in/organisation")
            assert answer.status_code == 503
            assert "does not answer" in answer.text
            fields = {"form_token": token_in(answer), "api_key": alone.new_token()}
            assert visitor.post("/sign-in", data=fields).status_code == 303
            assert visitor.get("/").status_code == 200


def test_in_a_browser_the_way_leads_to_the_provider_and_back_to_the_page(
    browser: Browser, site: Served, shots, provider
):
    page = browser.new_page()
    page.set_default_timeout(MILLISECONDS)
    watched = Watched(page, site)
    page.goto(f"{site.url}/datasets")
    shots.take(page, "sign-in-organisation")
    page.get_by_role("link", name="Sign in with your organisation").click()
    expect(page).to_have_url(re.compile(re.escape(provider.issuer)))
    page.get_by_role("button", name="ada").click()
    page.wait_for_url(f"{site.url}/datasets")
    expect(page.get_by_text("signed in as Ada Lovelace")).to_be_visible()
    shots.take(page, "signed-in-by-organisation")
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url(f"{site.url}/sign-in")
    assert not [said for said in watched.complaints if "Content Security Policy" in said]
    page.close()
