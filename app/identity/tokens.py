"""Whether a token is genuine, valid now and for this service: every check, in one place (RFC 8725).

Of the header only the algorithm, the type and the key's id are read, and each is looked up among what is
known: an address or a key in it (``jku``, ``x5u``, ``jwk``) changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import jwt

from app.domain.errors import NotAdmitted, Unauthenticated
from app.identity.keys import KnownKeys
from app.services.access.identities import Identity

LEEWAY_SECONDS: Final = 60
"""How far the clocks of provider and service may differ."""

ASYMMETRIC: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""The algorithms that may be allowed: whoever can check a signature of these cannot make one."""

ACCESS_TYPES: Final = frozenset({"jwt", "at+jwt", "application/at+jwt"})
"""Types of a token that may be sent with a request, if its header names one."""

ID_TYPES: Final = frozenset({"jwt"})

_LONGEST: Final = 12 * 1024
_LONGEST_SUBJECT: Final = 255
_LONGEST_NAME: Final = 100
_MOST_GROUPS: Final = 2000

_REQUIRED: Final = ("iss", "sub", "aud", "exp", "iat")
_TIMES: Final = ("exp", "nbf", "iat")
_CHECKER: Final = jwt.PyJWT(
    {
        # Times are compared below, with the clock that everything is compared with, and said in words.
        "verify_exp": False,
        "verify_nbf": False,
        "verify_iat": False,
        "require": list(_REQUIRED),
        "enforce_minimum_key_length": True,
    }
)


@dataclass(frozen=True)
class ClaimNames:
    """The claims that hold a user's groups, and the name of their tenant if one does."""

    groups: str
    tenant: str | None = None


class VerifiedTokens:
    """Implements the port ``TokenVerifier`` for the tokens of one issuer."""

    def __init__(
        self,
        issuer: str,
        audience: str | None,
        algorithms: frozenset[str],
        claims: ClaimNames,
        keys: KnownKeys,
        clock: Callable[[], datetime],
    ) -> None:
        self._issuer = issuer
        self._audience = audience
        self._algorithms = algorithms
        self._claims = claims
        self._keys = keys
        self._clock = clock

    async def identity_of(self, token: str) -> Identity:
        """Whom a token is about that was sent with a request; Unauthenticated unless it is valid here."""
        if self._audience is None:
            raise _refused("This service takes no tokens with requests, but API keys.")
        return self.identity_in(await self.claims_of(token, self._audience, ACCESS_TYPES))

    async def claims_of(self, token: str, audience: str, types: frozenset[str]) -> Mapping[str, Any]:
        """The claims of a genuine token for this audience; Unauthenticated otherwise."""
        header = _header_of(token)
        algorithm, key_id = header.get("alg"), header.get("kid")
        if not isinstance(algorithm, str) or algorithm not in self._algorithms:
            allowed = ", ".join(sorted(self._algorithms))
            raise _refused(f"The token is not signed with an algorithm that is allowed here ({allowed}).")
        if str(header.get("typ", "jwt")).lower() not in types:
            raise _refused("The token is of another type than those that are accepted here.")
        if not isinstance(key_id, str):
            raise _refused("The token does not name the key that it is signed with (kid).")
        key = await self._keys.find(key_id, algorithm)
        if key is None:
            raise _refused("The token names a key that the identity provider does not publish.")
        claims = self._checked(token, key, algorithm, audience)
        _check_times(claims, self._clock())
        _check_subject(claims["sub"])
        return claims

    def identity_in(self, claims: Mapping[str, Any]) -> Identity:
        """Who the claims say it is; NotAdmitted where those are missing that lead to a tenant."""
        names = self._claims
        tenant = None if names.tenant is None else claims.get(names.tenant)
        if names.tenant is not None and (not isinstance(tenant, str) or not tenant):
            raise NotAdmitted(
                f"The token has no claim {names.tenant!r}, which names its tenant.",
                "Have the identity provider put the tenant's name into it.",
            )
        if names.groups == "email" and claims.get("email_verified") is not True:
            raise NotAdmitted(
                "The token does not say that the address in its claim 'email' was verified, and anybody may "
                "name an address that is not theirs.",
                "Have the address verified at the identity provider, which says so in 'email_verified'.",
            )
        return Identity(
            self._issuer, claims["sub"], _texts(claims.get(names.groups)), tenant, _name_in(claims)
        )

    def _checked(self, token: str, key: jwt.PyJWK, algorithm: str, audience: str) -> Mapping[str, Any]:
        try:
            claims: Mapping[str, Any] = _CHECKER.decode(
                token, key, algorithms=[algorithm], audience=audience, issuer=self._issuer
            )
        except jwt.InvalidAudienceError:
            raise _refused(f"The token is for another audience than {audience!r}.") from None
        except jwt.InvalidIssuerError:
            raise _refused("The token is of another issuer than the configured one.") from None
        except jwt.MissingRequiredClaimError as error:
            raise _refused(f"The token has no claim {error.claim!r}.") from None
        except jwt.InvalidSignatureError:
            raise _refused("The token's signature is not that of its issuer.") from None
        except (jwt.PyJWTError, ValueError, RecursionError):
            raise _refused("The token is not a well-formed signed JSON Web Token.") from None
        return claims


def _header_of(token: str) -> Mapping[str, Any]:
    try:
        if len(token) > _LONGEST:
            raise jwt.DecodeError
        header: Mapping[str, Any] = jwt.get_unverified_header(token)
    except (jwt.PyJWTError, ValueError, RecursionError):
        raise _refused("The token is not a well-formed signed JSON Web Token.") from None
    return header


def _check_times(claims: Mapping[str, Any], now: datetime) -> None:
    """Refuse a token that is not valid at this moment, give or take the leeway."""
    moments = {claim: claims[claim] for claim in _TIMES if claim in claims}
    for claim, moment in moments.items():
        is_number = isinstance(moment, int | float) and not isinstance(moment, bool)
        if not is_number or not 0 <= moment < 1e11:  # whole numbers may be too large for any other function
            raise _refused(f"The token's claim {claim!r} is no point in time.")
    late = now.timestamp() - moments["exp"]
    if late >= LEEWAY_SECONDS:
        raise _refused(
            f"The token expired {late:.0f} s ago, by the clock of this service, which says {_said(now)}. "
            "If it is new, the clock of the identity provider or of this service is wrong."
        )
    early = max(moment for claim, moment in moments.items() if claim != "exp") - now.timestamp()
    if early > LEEWAY_SECONDS:
        raise _refused(
            f"The token begins to be valid {early:.0f} s from now, by the clock of this service, which says "
            f"{_said(now)}: the clock of the identity provider or of this service is wrong. They may differ "
            f"by {LEEWAY_SECONDS} s."
        )


def _check_subject(subject: Any) -> None:  # noqa: ANN401 - any JSON value
    is_subject = isinstance(subject, str) and 1 <= len(subject) <= _LONGEST_SUBJECT
    if not is_subject or not subject.isascii() or not subject.isprintable():
        raise _refused("The token's claim 'sub' is not 1 to 255 visible ASCII characters.")


def _texts(claim: Any) -> frozenset[str]:  # noqa: ANN401 - any JSON value
    """The values of a claim that is a text or a list of texts."""
    values = [claim] if isinstance(claim, str) else claim if isinstance(claim, list) else []
    return frozenset(value for value in values[:_MOST_GROUPS] if isinstance(value, str))


def _name_in(claims: Mapping[str, Any]) -> str | None:
    """What somebody is called on pages."""
    for claim in ("name", "preferred_username", "email"):
        name = claims.get(claim)
        if isinstance(name, str) and name.strip() and name.isprintable():
            return name.strip()[:_LONGEST_NAME]
    return None


def _said(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _refused(said: str) -> Unauthenticated:
    return Unauthenticated(said, "Send a new token of the identity provider, or an API key.")
