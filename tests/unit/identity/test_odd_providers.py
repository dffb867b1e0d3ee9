"""What an identity provider may answer, how slowly, and what tokens may hold: nothing of it opens a door."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, cast
from urllib.parse import parse_qs

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from app.composition.signing_in import SigningIn, signing_in
from app.domain.errors import NotAdmitted, Unauthenticated, Unavailable
from app.identity.code_flow import CodeFlow, OidcClient
from app.identity.keys import FRESH_SECONDS, KnownKeys
from app.identity.provider import Provider, ProviderFault
from app.identity.tokens import ClaimNames, VerifiedTokens
from app.services.access.identities import Grant, Identity, IdentityService
from app.services.ports import Registry
from app.services.resources import Scope
from app.settings import Settings
from tests.processes import HANG_SECONDS

pytestmark = pytest.mark.anyio

ISSUER = "https://id.example"
KEY = ec.generate_private_key(ec.SECP256R1())
OF_EC = jwt.algorithms.ECAlgorithm
PUBLIC = OF_EC.to_jwk(KEY.public_key(), as_dict=True) | {"kid": "a"}
METADATA = {
    "issuer": ISSUER,
    **dict.fromkeys(("jwks_uri", "authorization_endpoint", "token_endpoint"), f"{ISSUER}/x"),
}

Answer = Callable[[httpx.Request], httpx.Response]
Answered = Callable[[Answer], Provider]


@pytest.fixture
def answered(monkeypatch) -> Answered:
    """A provider that answers so."""
    outside = httpx.AsyncClient

    def provider(answer: Answer) -> Provider:
        def client(**own: Any) -> httpx.AsyncClient:
            return outside(transport=httpx.MockTransport(answer), **own)

        monkeypatch.setattr("app.identity.provider.httpx.AsyncClient", client)
        return Provider(ISSUER)

    return provider


def of(keys: list[dict[str, Any]], **metadata: Any) -> Answer:
    """A provider of these keys, which may change."""

    def answer(request: httpx.Request) -> httpx.Response:
        is_discovery = "well-known" in request.url.path
        return httpx.Response(200, json=METADATA | metadata if is_discovery else {"keys": keys})

    return answer


def signed(**changes: Any) -> str:
    now = int(time.time())
    claims = {"iss": ISSUER, "aud": "risk", "sub": "ada", "iat": now, "exp": now + 600, **changes}
    return jwt.encode(claims, KEY, "ES256", {"kid": "a"})


def verifying(keys: KnownKeys, names: ClaimNames = ClaimNames("groups")) -> VerifiedTokens:  # noqa: B008 - frozen
    return VerifiedTokens(ISSUER, "risk", frozenset(["ES256"]), names, keys, lambda: datetime.now(UTC))


@pytest.mark.parametrize("claim", ["exp", "iat", "nbf"])
async def test_a_time_beyond_all_numbers_is_refused_and_breaks_nothing(answered: Answered, claim):
    tokens = verifying(KnownKeys(answered(of([PUBLIC])), ["ES256"]))
    with pytest.raises(Unauthenticated, match=claim):
        await tokens.identity_of(signed(**{claim: 10**400}))


async def test_a_key_whose_private_part_is_published_is_no_key(answered: Answered):
    private = OF_EC.to_jwk(KEY, as_dict=True) | {"kid": "a"}
    tokens = verifying(KnownKeys(answered(of([private])), ["ES256"]))
    with pytest.raises(Unauthenticated, match="does not publish"):
        await tokens.identity_of(signed())


async def test_after_a_quiet_week_a_withdrawn_key_opens_nothing(answered: Answered):
    published, now = [PUBLIC], [0.0]
    keys = KnownKeys(answered(of(published)), ["ES256"], lambda: now[0])
    assert await keys.find("a", "ES256") is not None
    published.clear()
    now[0] = FRESH_SECONDS - 1
    assert await keys.find("a", "ES256") is not None
    now[0] = 7 * 86400.0
    assert await asyncio.gather(*(keys.find("a", "ES256") for _ in range(3))) == [None] * 3


async def test_a_provider_that_was_away_is_waited_for_again_once_that_is_long_ago(answered: Answered):
    published, now, is_away = [PUBLIC], [0.0], [False]
    answer = of(published)
    provider = answered(lambda request: httpx.Response(500) if is_away[0] else answer(request))
    keys = KnownKeys(provider, ["ES256"], lambda: now[0])
    assert await keys.find("a", "ES256") is not None
    is_away[0], now[0] = True, FRESH_SECONDS
    assert await keys.find("a", "ES256") is not None
    is_away[0], now[0] = False, 3 * FRESH_SECONDS
    published.clear()
    assert await keys.find("a", "ES256") is None


async def test_certificates_are_not_read_anew_for_everybody_who_comes_back(monkeypatch):
    outside, trusted = httpx.AsyncClient, []

    def client(**own: Any) -> httpx.AsyncClient:
        trusted.append(own.get("verify"))
        return outside(transport=httpx.MockTransport(of([])), **own)

    monkeypatch.setattr("app.identity.provider.httpx.AsyncClient", client)
    provider = Provider(ISSUER)
    for _ in range(2):
        await provider.tokens({"code": "guessed"}, None)
    assert len(trusted) == 3
    assert len({id(own) for own in trusted}) == 1
    assert isinstance(trusted[0], ssl.SSLContext)


@pytest.mark.parametrize(("methods", "in_header"), [(None, True), (5, True), (["client_secret_post"], False)])
async def test_ways_to_send_a_secret_that_are_no_list_are_the_usual_one(
    answered: Answered, methods, in_header
):
    provider = answered(of([], token_endpoint_auth_methods_supported=methods))
    assert (await provider.metadata()).takes_secret_in_header is in_header


async def test_a_provider_that_answers_a_byte_at_a_time_is_left_and_asked_once_for_all(monkeypatch):
    monkeypatch.setattr("app.identity.provider.ANSWER_SECONDS", 0.5)
    asked = 0

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        asked += 1
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            while not reader.at_eof():
                writer.write(b"1\r\n \r\n")
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(reader.read(10_000), 0.05)
        writer.close()

    async with asyncio.timeout(HANG_SECONDS), await asyncio.start_server(drip, "127.0.0.1", 0) as server:
        provider = Provider(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        answers = await asyncio.gather(*(provider.metadata() for _ in range(20)), return_exceptions=True)
        assert {(type(own), str(own)) for own in answers} == {(ProviderFault, "TimeoutError")}
        assert asked == 1
        server.close()


async def test_a_nonce_that_is_no_text_is_refused(answered: Answered, monkeypatch):
    provider = answered(of([PUBLIC]))
    tokens = verifying(KnownKeys(provider, ["ES256"]))
    flow = CodeFlow(provider, tokens, OidcClient("risk", None, "http://here/callback", "openid"))
    _, attempt = await flow.begin()

    async def issue(form: Any, secret: Any) -> dict[str, Any]:
        return {"id_token": signed(nonce="\ud800")}

    monkeypatch.setattr(provider, "tokens", issue)
    with pytest.raises(Unauthenticated, match="this attempt"):
        await flow.finish(attempt, {"state": attempt.state, "code": "code"})


@pytest.fixture
def refusing(answered: Answered) -> tuple[CodeFlow, list[str], dict[str, Any]]:
    """The flow with a provider that takes no code, the codes that it was asked about, and what it says."""
    codes: list[str] = []
    said = {"status_code": 400, "json": {"error": "invalid_grant", "error_description": "of a stranger"}}
    published = of([PUBLIC])

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return published(request)
        codes.append(parse_qs(request.content.decode())["code"][0])
        return httpx.Response(**said)

    provider = answered(answer)
    client = OidcClient("risk", None, "http://here/callback", "openid")
    return CodeFlow(provider, verifying(KnownKeys(provider, ["ES256"])), client), codes, said


async def test_a_code_that_the_provider_does_not_take_is_told_as_one(refusing):
    flow, codes, _ = refusing
    _, attempt = await flow.begin()
    with pytest.raises(Unauthenticated, match="does not take the code") as refused:
        await flow.finish(attempt, {"state": attempt.state, "code": "invented"})
    assert "Try again" in refused.value.remedy
    assert "stranger" not in refused.value.message
    assert codes == ["invented"]


@pytest.mark.parametrize(
    "said", [(401, {"error": "invalid_client"}), (500, {"error": "invalid_grant"}), (400, ["invalid_grant"])]
)
async def test_a_provider_that_refuses_the_service_itself_is_told_as_one_that_does_not_answer(refusing, said):
    flow, _, answer = refusing
    answer["status_code"], answer["json"] = said
    _, attempt = await flow.begin()
    with pytest.raises(Unavailable, match=f"status {said[0]}"):
        await flow.finish(attempt, {"state": attempt.state, "code": "code"})


async def test_the_provider_is_asked_once_for_each_attempt_whatever_codes_are_invented(refusing, monkeypatch):
    monkeypatch.setattr("app.identity.code_flow._MOST_ANSWERED", 2)
    flow, codes, _ = refusing
    attempts = [(await flow.begin())[1] for _ in range(3)]
    stranger = {"state": "invented", "code": "a"}
    for attempt in attempts:
        for answer in (
            stranger,
            {"code": "b"},
            {"state": attempt.state},
            {"state": attempt.state, "iss": "c"},
        ):
            with pytest.raises(Unauthenticated):
                await flow.finish(attempt, answer)
    assert codes == []
    for number in range(3):
        for own in attempts[max(0, number - 1) : number + 1]:  # so many are remembered
            for code in ("first", "second"):
                with pytest.raises(Unauthenticated):
                    await flow.finish(own, {"state": own.state, "code": code})
    assert codes == ["first"] * 3


async def test_an_address_that_nobody_has_verified_is_no_group(answered: Answered):
    names = ClaimNames("email")
    tokens = verifying(KnownKeys(answered(of([PUBLIC])), ["ES256"]), names)
    officer = "officer@acme.example"
    for verified in ({}, {"email_verified": False}, {"email_verified": "true"}):
        with pytest.raises(NotAdmitted, match="verified"):
            await tokens.identity_of(signed(email=officer, **verified))
    identity = await tokens.identity_of(signed(email=officer, email_verified=True))
    assert identity.groups == {officer}


async def test_a_stranger_is_not_told_whose_addresses_are_admitted(answered: Answered):
    grants = {
        "officer@acme.example": Grant(frozenset([Scope.GOVERN]), "acme"),
        "readers": Grant(frozenset(), "acme"),
    }
    service = IdentityService(verifying(KnownKeys(Provider(ISSUER), [])), cast(Registry, None), grants)
    with pytest.raises(NotAdmitted, match=r"Groups that do: readers\.") as refused:
        await service.actor_of(Identity(ISSUER, "eve", frozenset(["eve@evil.example"])))
    assert "officer" not in refused.value.message


def test_a_group_that_is_mapped_twice_is_refused_for_the_last_would_count():
    twice = '{"a": {"tenant": "acme", "scopes": ["assess"]}, "a": {"tenant": "globex", "scopes": ["admin"]}}'
    with pytest.raises(ValueError, match="'a' twice"):
        Settings(oidc_issuer=ISSUER, oidc_audience="risk", oidc_groups=twice)


def _signing_in(**changes: Any) -> SigningIn:
    groups = {"a": {"tenant": "acme", "scopes": ["assess"]}}
    settings = Settings(
        oidc_issuer=ISSUER, oidc_client_id="risk", public_url="https://risk.example",
        oidc_groups=json.dumps(groups), **changes,
    )  # fmt: skip
    return signing_in(settings, ISSUER, cast(Registry, None), lambda: datetime.now(UTC))


@pytest.mark.parametrize(
    "changes", [{}, {"oidc_groups_claim": "roles"}, {"oidc_tenant_claim": "organisation"}]
)
def test_a_session_ends_when_its_groups_are_read_elsewhere(changes):
    before, after = _signing_in().organisation, _signing_in(**changes).organisation
    assert before is not None
    assert after is not None
    identity = {
        "mapping": before._mapping, "scopes": ["assess"], "tenant": "t", "principal": "p", "name": "Ada",
    }  # fmt: skip
    assert before.admitted(identity) is not None
    assert (after.admitted(identity) is None) == bool(changes)
