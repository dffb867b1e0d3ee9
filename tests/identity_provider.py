"""An identity provider on this machine: it signs with real keys, publishes them, and runs the code flow.

Its package needs Python 3.12; with an older one the tests that use it are skipped by name.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx
import jwt
import pytest

AUDIENCE = "https://risk.example"
CALLBACK = "http://somewhere/sign-in/callback"

USERS: Mapping[str, Mapping[str, Any]] = {
    "ada": {"groups": ["stewards"], "name": "Ada Lovelace"},
    "ben": {"groups": ["readers", "people who bake"]},
}


class IdentityProvider:
    """A provider that listens, and what it was asked for."""

    def __init__(self, port: int | None = None) -> None:
        package = pytest.importorskip("oidc_provider_mock", reason="oidc-provider-mock needs Python 3.12")
        flask, serving = pytest.importorskip("flask"), pytest.importorskip("werkzeug.serving")
        users = [package.User(sub=subject, claims=dict(claims)) for subject, claims in USERS.items()]
        app = package.app(user_claims=users)
        self.asked: list[tuple[str, dict[str, str]]] = []
        app.before_request(lambda: self.asked.append((flask.request.path, flask.request.values.to_dict())))
        with app.test_request_context():
            app.preprocess_request()
            self._storage = flask.g.oidc_provider_mock_storage
        quiet = type("Quiet", (serving.WSGIRequestHandler,), {"log": lambda *_: None})
        self._server = serving.make_server("127.0.0.1", port or 0, app, threaded=True, request_handler=quiet)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        self.issuer = f"http://127.0.0.1:{self._server.server_port}"

    def end(self) -> None:
        """Stop to answer."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def key(self) -> Any:
        """The private key that it signs with."""
        return self._storage.jwk.private_key

    @property
    def key_id(self) -> str:
        return self._storage.jwk.ensure_kid() or self._storage.jwk.kid

    @property
    def secret_guess(self) -> bytes:
        """The public key as text, which a careless verifier would take for a shared secret."""
        return bytes(self._storage.jwk.as_pem(private=False))

    def rotate(self) -> None:
        """Sign with another key from now on, and publish that one alone."""
        self._storage.jwk = type(self._storage.jwk).generate_key(private=True)

    def asked_for_keys(self) -> int:
        return sum(path == "/jwks" for path, _ in self.asked)

    def issued(self, subject: str, audience: str = AUDIENCE) -> str:
        """A token that the provider itself issues for somebody who signs in there."""
        client = {"client_id": audience, "redirect_uri": CALLBACK}
        asked = {**client, "response_type": "code", "scope": "openid profile", "state": "s", "nonce": "n"}
        with httpx.Client(base_url=self.issuer) as browser:
            back = browser.post("/oauth2/authorize", params=asked, data={"sub": subject})
            code = httpx.URL(back.headers["location"]).params["code"]
            form = {**client, "client_secret": "s", "grant_type": "authorization_code", "code": code}
            answer = browser.post("/oauth2/token", data=form)
        return str(answer.json()["id_token"])

    def claims(self, **changes: Any) -> dict[str, Any]:
        """Claims of a token as it would issue one; None takes a claim away."""
        now = int(time.time())
        usual = {
            "iss": self.issuer, "aud": AUDIENCE, "sub": "ada", "iat": now, "exp": now + 600,
            "groups": ["stewards"],
        }  # fmt: skip
        return {name: value for name, value in {**usual, **changes}.items() if value is not None}

    def signed(self, **changes: Any) -> str:
        """A token of these claims that is signed with the provider's own key."""
        return jwt.encode(self.claims(**changes), self.key, "RS256", {"kid": self.key_id})


@contextmanager
def running_provider() -> Iterator[IdentityProvider]:
    """A provider that answers until the end."""
    provider = IdentityProvider()
    try:
        yield provider
    finally:
        provider.end()
