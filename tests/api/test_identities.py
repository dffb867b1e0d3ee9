"""Tokens of an identity provider: who gets in, as whom, and that no forged one does."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from app.composition.signing_in import SigningIn, signing_in
from app.domain.errors import Unauthenticated
from app.identity.code_flow import CodeFlow, OidcClient
from app.identity.keys import KnownKeys
from app.identity.provider import Provider
from app.identity.tokens import ClaimNames, VerifiedTokens
from app.persistence.registry import PostgresRequestRates
from app.settings import Settings
from tests.api.problem_documents import problem_of
from tests.api.service import Api, build_api
from tests.identity_provider import AUDIENCE, IdentityProvider, running_provider

pytestmark = pytest.mark.anyio

FLAT = {"name": "h", "definition": {"kind": "rows", "rows": [["a", "x"], ["b", "x"]]}}
EVERYTHING = ["data:read", "data:write", "assess", "govern", "admin"]


@pytest.fixture(scope="module")
def provider() -> Iterator[IdentityProvider]:
    with running_provider() as provider:
        yield provider


@dataclass
class Door:
    """The application that takes the provider's tokens, and a tenant to come into."""

    api: Api
    tenant: str
    signing_in: SigningIn
    now: datetime | None = None
    """What its clock says; None: what any clock says."""

    async def ask(self, token: str, path: str = "/v1/rules", **body: Any) -> httpx.Response:
        async with self.api.client(token) as client:
            return await client.request("POST" if body else "GET", path, **body)


Open = Callable[..., Door]


@pytest.fixture
async def door(anyio_backend, api: Api, provider: IdentityProvider) -> Open:
    """Opens doors under settings of a test's own."""
    tenant = f"tenant-{secrets.token_hex(8)}"
    await api.services.tenants.bootstrap(tenant)

    def opened(**changes: Any) -> Door:
        groups = {
            "stewards": {"tenant": tenant, "scopes": EVERYTHING},
            "readers": {"tenant": tenant, "scopes": ["data:read"]},
            "guests": {"tenant": tenant, "scopes": []},
            "strangers": {"tenant": "elsewhere", "scopes": ["assess"]},
        }
        values = {
            "oidc_issuer": provider.issuer,
            "oidc_audience": AUDIENCE,
            "oidc_groups": json.dumps(groups),
        }
        settings = Settings(**values | changes)
        assert settings.oidc_issuer is not None
        made: list[Door] = []
        parts = signing_in(
            settings, settings.oidc_issuer, api.registry, lambda: made[0].now or datetime.now(UTC)
        )
        inside = build_api(api.store, api.registry, api.clock, identities=parts.identities)
        made.append(Door(inside, tenant, parts))
        return made[0]

    return opened


async def test_who_the_provider_vouches_for_comes_in_under_issuer_and_subject(door: Open, provider):
    own = door()
    token = provider.issued("ada")
    made = await own.ask(token, "/v1/hierarchies", json=FLAT)
    assert made.status_code == 201, made.text
    trail = (await own.ask(token, "/v1/audit-events")).json()["items"]
    (noted,) = [event for event in trail if event["action"] == "hierarchy.create"]
    principal = f"{provider.issuer} ada"
    assert (noted["key_id"], noted["key_name"]) == (principal, None)
    assert (await own.ask(token, "/v1/tenant")).json()["name"] == own.tenant
    assert {line["key_id"] for line in own.api.log_lines()} == {principal}
    assert token.split(".")[2] not in own.api.log.getvalue()
    problem_of(await own.ask(token, "/v1/api-keys/current"), 404, "not-found")


async def test_groups_decide_what_somebody_may_do(door: Open, provider):
    own = door()
    token = provider.issued("ben")
    assert (await own.ask(token)).status_code == 200
    refused = problem_of(await own.ask(token, "/v1/hierarchies", json=FLAT), 403, "forbidden")
    assert refused["scope"] == "data:write"
    both = provider.signed(groups=["readers", "stewards"])
    assert (await own.ask(both, "/v1/hierarchies", json=FLAT)).status_code == 201
    as_text = provider.signed(groups="stewards")
    assert (await own.ask(as_text, "/v1/api-keys")).status_code == 200


USELESS: list[tuple[Any, list[str]]] = [
    (["people who bake"], ["None of the groups", "readers", "stewards"]),
    (None, ["None of the groups", "readers", "stewards"]),
    ([["stewards"], 7], ["None of the groups"]),
    (["guests"], ["guests", "no scope"]),
    (["strangers"], ["'elsewhere'", "does not exist"]),
    (["readers", "strangers"], ["different tenants", "elsewhere"]),
]


async def test_groups_that_open_nothing_are_told_why(door: Open, provider):
    own = door()
    for groups, said in USELESS:
        problem = problem_of(await own.ask(provider.signed(groups=groups)), 403, "not-admitted")
        assert all(words in problem["detail"] for words in said), problem
        assert problem["remedy"]


async def test_a_claim_may_name_the_tenant(door: Open, provider):
    groups = {"analysts": {"scopes": ["assess"]}, "strangers": {"tenant": "elsewhere", "scopes": ["admin"]}}
    own = door(oidc_groups=json.dumps(groups), oidc_tenant_claim="organisation")
    both = ["analysts", "strangers"]
    token = provider.signed(groups=both, organisation=own.tenant)
    assert (await own.ask(token)).status_code == 200
    problem_of(await own.ask(token, "/v1/api-keys"), 403, "forbidden")
    for tenant in (None, "", 7):
        refused = await own.ask(provider.signed(groups=both, organisation=tenant))
        assert "organisation" in problem_of(refused, 403, "not-admitted")["detail"]


OTHER_KEY = rsa.generate_private_key(65537, 2048)


def _resigned(
    provider: IdentityProvider, key: Any = OTHER_KEY, algorithm: str = "RS256", **header: Any
) -> str:
    return jwt.encode(provider.claims(), key, algorithm, {"kid": provider.key_id, **header})


def _hs256(provider: IdentityProvider) -> str:
    """Signed with the public key as the shared secret; by hand, for the library refuses to."""
    head, body = (
        jwt.utils.base64url_encode(json.dumps(part).encode()).decode()
        for part in ({"alg": "HS256", "kid": provider.key_id, "typ": "JWT"}, provider.claims())
    )
    digest = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)
    signature = digest.sign(f"{head}.{body}".encode(), provider.secret_guess)
    return f"{head}.{body}.{jwt.utils.base64url_encode(signature).decode()}"


FORGED: dict[str, tuple[Callable[[IdentityProvider], str], str]] = {
    "no signature, and it says so": (lambda p: _resigned(p, None, "none"), "algorithm"),
    "the public key as a shared secret": (_hs256, "algorithm"),
    "an algorithm that is not allowed": (lambda p: _resigned(p, p.key, "RS512"), "algorithm"),
    "another key under the provider's name": (_resigned, "signature"),
    "another kind of key under the provider's name": (
        lambda p: _resigned(p, ec.generate_private_key(ec.SECP256R1()), "ES256"),
        "does not publish",
    ),
    "the signature taken away": (lambda p: p.signed().rpartition(".")[0] + ".", "signature"),
    "other claims under the signature": (
        lambda p: ".".join(
            (p.signed().split(".")[0], p.signed(sub="eve").split(".")[1], p.signed().split(".")[2])
        ),
        "signature",
    ),
    "a key of its own in the header": (
        lambda p: _resigned(p, jwk=jwt.algorithms.RSAAlgorithm.to_jwk(OTHER_KEY.public_key(), as_dict=True)),
        "signature",
    ),
    "addresses of keys in the header": (
        lambda p: _resigned(p, jku=f"{p.issuer}/elsewhere", x5u=f"{p.issuer}/elsewhere"),
        "signature",
    ),
    "a path for the key's name": (lambda p: _resigned(p, kid="../../dev/null"), "does not publish"),
    "a query for the key's name": (lambda p: _resigned(p, kid="' OR 1=1 --"), "does not publish"),
    "no name of a key": (lambda p: jwt.encode(p.claims(), p.key, "RS256"), "kid"),
    "an extension that must be understood": (lambda p: _resigned(p, p.key, crit=["x"], x=1), "well-formed"),
    "another type of token": (lambda p: _resigned(p, p.key, typ="logout+jwt"), "type"),
    "another audience": (lambda p: p.signed(aud="https://other.example"), "audience"),
    "an audience that begins alike": (lambda p: p.signed(aud=AUDIENCE + ".evil"), "audience"),
    "no audience": (lambda p: p.signed(aud=None), "aud"),
    "another issuer": (lambda p: p.signed(iss="https://other.example"), "issuer"),
    "an issuer that looks alike": (lambda p: p.signed(iss=p.issuer + "/"), "issuer"),
    "no issuer": (lambda p: p.signed(iss=None), "iss"),
    "nobody": (lambda p: p.signed(sub=None), "sub"),
    "an empty name": (lambda p: p.signed(sub=""), "sub"),
    "a name with a line break": (lambda p: p.signed(sub="ada\nroot"), "sub"),
    "no end": (lambda p: p.signed(exp=None), "exp"),
    "an end that is no time": (lambda p: p.signed(exp=True), "exp"),
    "an endless end": (lambda p: p.signed(exp=1e300), "exp"),
    "no beginning": (lambda p: p.signed(iat=None), "iat"),
    "an end five minutes ago": (lambda p: p.signed(exp=p.claims()["iat"] - 300), "expired 3"),
    "not a token": (lambda p: "a.b.c", "well-formed"),
    "a header that is a list": (lambda p: "W10.e30.AAAA", "well-formed"),
    "a deep header": (lambda p: jwt.utils.base64url_encode(b"[" * 6000).decode() + ".e30.AA", "well-formed"),
    "a very long one": (lambda p: p.signed(groups=["x" * 12_000]), "well-formed"),
}


async def test_no_forged_token_opens_anything(door: Open, provider):
    own = door()
    assert (await own.ask(provider.signed())).status_code == 200
    for name, (forge, said) in FORGED.items():
        token = forge(provider)
        response = await own.ask(token)
        problem = problem_of(response, 401, "unauthenticated")
        assert said in problem["detail"], (name, problem)
        assert response.headers["www-authenticate"].startswith("Bearer"), name
        assert token not in response.text, name
    assert not [path for path, _ in provider.asked if "elsewhere" in path]


async def test_a_clock_that_is_five_minutes_off_is_named(door: Open, provider):
    own = door()
    issued = datetime(2026, 11, 28, 12, tzinfo=UTC)
    seconds = int(issued.timestamp())
    token = provider.signed(iat=seconds, nbf=seconds, exp=seconds + 120)
    for late, said in (
        (300, "expired 180 s ago, by the clock of this service, which says 2026-11-28T12:05:00Z"),
        (180, "expired 60 s ago"),
        (-61, "begins to be valid 61 s from now"),
        (
            -300,
            "valid 300 s from now, by the clock of this service, which says 2026-11-28T11:55:00Z",
        ),
    ):
        own.now = issued + timedelta(seconds=late)
        detail = problem_of(await own.ask(token), 401, "unauthenticated")["detail"]
        assert said in detail
        assert "the clock of the identity provider or of this service is wrong" in detail
    for late in (-60, 0, 179):
        own.now = issued + timedelta(seconds=late)
        assert (await own.ask(token)).status_code == 200


async def test_new_keys_are_found_and_unknown_ones_do_not_make_us_ask_without_end(
    door: Open, provider, monkeypatch
):
    own = door()
    before = provider.issued("ada")
    assert (await own.ask(before)).status_code == 200
    provider.rotate()
    after, asked = provider.issued("ada"), provider.asked_for_keys()
    for _ in range(5):
        assert (await own.ask(after)).status_code == 401  # asked a moment ago
    assert provider.asked_for_keys() == asked
    monkeypatch.setattr("app.identity.keys.PAUSE_SECONDS", 0)
    assert (await own.ask(after)).status_code == 200
    assert provider.asked_for_keys() == asked + 1
    problem_of(await own.ask(before), 401, "unauthenticated")


async def test_a_person_is_counted_as_one_whichever_token_they_send(door: Open, api: Api, provider, engine):
    rates = PostgresRequestRates(engine, lambda: datetime.now(UTC), 2)
    identities = door().signing_in.identities
    limited = build_api(api.store, api.registry, api.clock, identities=identities, rates=rates)

    async def asked(token: str) -> httpx.Response:
        async with limited.client(token) as client:
            return await client.get("/v1/rules")

    subject = secrets.token_hex(8)
    for left, lasting in ((1, 600), (0, 700)):
        answer = await asked(provider.signed(sub=subject, exp=provider.claims()["iat"] + lasting))
        assert answer.status_code == 200
        assert answer.headers["ratelimit"].startswith(f'"requests";r={left};')
    refused = await asked(provider.signed(sub=subject))
    problem_of(refused, 429, "rate-limited")
    assert refused.headers["retry-after"]
    assert (await asked(provider.signed(sub=f"{subject}x"))).status_code == 200


async def test_while_the_provider_is_away_known_keys_and_api_keys_go_on(
    door: Open, api: Api, monkeypatch, caplog
):
    _, key = await api.tenant_with_key()
    with running_provider() as provider:
        own, fresh = (door(oidc_issuer=provider.issuer) for _ in range(2))
        token, other = provider.issued("ada"), _resigned(provider, kid="new")
        assert (await own.ask(token)).status_code == 200
    monkeypatch.setattr("app.identity.keys.PAUSE_SECONDS", 0)
    monkeypatch.setattr("app.identity.keys.FRESH_SECONDS", 0)
    for _ in range(2):
        assert (await own.ask(token)).status_code == 200
        refused = await own.ask(other)
        assert "identity provider" in problem_of(refused, 503, "unavailable")["detail"]
        assert refused.headers["retry-after"]
    problem_of(await fresh.ask(token), 503, "unavailable")
    for one in (own, fresh):
        assert (await one.ask(key)).status_code == 200
    said = [record.getMessage() for record in caplog.records if "identity provider" in record.getMessage()]
    assert len(said) == 2  # once each
    assert "1 keys that are known go on being used" in said[0]


ISSUER = "https://id.example"
WHOLE = {
    "issuer": ISSUER,
    **dict.fromkeys(("jwks_uri", "authorization_endpoint", "token_endpoint"), f"{ISSUER}/x"),
}
ODD = {
    "another issuer": httpx.Response(200, json={**WHOLE, "issuer": "https://evil.example"}),
    "keys without https": httpx.Response(200, json={**WHOLE, "jwks_uri": "http://id.example/keys"}),
    "keys that are none": httpx.Response(200, json=WHOLE),
    "too much": httpx.Response(200, content=b" " * 600_000),
    "no JSON": httpx.Response(200, content=b"<html>"),
    "an error": httpx.Response(302, headers={"location": "https://evil.example"}),
}


async def test_a_provider_that_answers_oddly_is_as_good_as_away(door: Open, provider, monkeypatch):
    asked: list[str] = []
    outside = httpx.AsyncClient

    def answering(odd: httpx.Response) -> Callable[..., httpx.AsyncClient]:
        def answer(request: httpx.Request) -> httpx.Response:
            asked.append(request.url.host)
            return odd

        return lambda **own: outside(transport=httpx.MockTransport(answer), **own)

    token = provider.signed(iss=ISSUER)
    for name, odd in ODD.items():
        own = door(oidc_issuer=ISSUER)
        async with own.api.client(token) as client:
            with monkeypatch.context() as patched:
                patched.setattr("app.identity.provider.httpx.AsyncClient", answering(odd))
                response = await client.get("/v1/rules")
        problem_of(response, 503, "unavailable")
        assert "evil" not in response.text, name
    assert set(asked) == {"id.example"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, None),
        ({"azp": "risk"}, None),
        ({"azp": "another"}, "another client"),
        ({"aud": ["risk", "another"]}, "another client"),
        ({"aud": ["risk", "another"], "azp": "risk"}, None),
        ({"aud": AUDIENCE}, "audience"),
        ({"nonce": None}, "this attempt"),
        ({"nonce": "of before"}, "this attempt"),
    ],
)
async def test_an_id_token_is_for_this_client_and_this_attempt(provider, monkeypatch, changes, said):
    """Of a provider that would issue anything to anybody."""
    own = Provider(provider.issuer)
    keys = KnownKeys(own, ["RS256"])
    tokens = VerifiedTokens(
        provider.issuer, None, frozenset(["RS256"]), ClaimNames("groups"), keys, lambda: datetime.now(UTC)
    )
    flow = CodeFlow(own, tokens, OidcClient("risk", "secret", "http://here/callback", "openid"))
    _, attempt = await flow.begin()
    forms: list[Any] = []

    async def issue(form: Any, secret: Any) -> dict[str, Any]:
        forms.append((form, secret))
        return {"id_token": provider.signed(**{"aud": "risk", "nonce": attempt.nonce, **changes})}

    monkeypatch.setattr(own, "tokens", issue)
    answer = {"state": attempt.state, "code": "code"}
    if said is None:
        assert (await flow.finish(attempt, answer)).subject == "ada"
    else:
        with pytest.raises(Unauthenticated, match=said):
            await flow.finish(attempt, answer)
    ((form, secret),) = forms
    assert (secret, form["code_verifier"]) == (("risk", "secret"), attempt.verifier)
    assert "client_secret" not in form


async def test_without_a_provider_a_token_is_no_api_key(api: Api, provider):
    async with api.client(provider.signed()) as client:
        problem = problem_of(await client.get("/v1/rules"), 401, "unauthenticated")
    assert problem["detail"] == "The API key is not valid."


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"oidc_issuer": "http://id.example"}, "https"),
        ({"oidc_audience": None}, "OIDC_AUDIENCE"),
        ({"oidc_groups": None}, "OIDC_GROUPS"),
        ({"oidc_groups": "{"}, "JSON"),
        ({"oidc_groups": '{"a": {"scopes": ["assess"]}}'}, "no tenant for a"),
        ({"oidc_groups": '{"a": {"tenant": "t", "scopes": ["everything"]}}'}, "data:read"),
        ({"oidc_client_id": "risk"}, "PUBLIC_URL"),
        ({"oidc_algorithms": "none"}, "RS256"),
        ({"oidc_algorithms": "RS256,HS256"}, "RS256"),
    ],
)
async def test_settings_that_would_let_in_nobody_or_anybody_are_refused(changes, said):
    whole = {
        "oidc_issuer": "https://id.example",
        "oidc_audience": AUDIENCE,
        "oidc_groups": '{"a": {"tenant": "t", "scopes": ["assess"]}}',
    }
    Settings(**whole)
    with pytest.raises(ValueError, match=said):
        Settings(**whole | changes)
