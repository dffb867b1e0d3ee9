"""The header fields that tell a caller how many requests it may still send.

They are those of an Internet-Draft of the IETF, draft-ietf-httpapi-ratelimit-headers-11 (23 May 2026), and
may change before it becomes a standard: structured fields (RFC 9651), each a list of named quotas.
"""

from __future__ import annotations

from typing import Any, Final

from app.services.access.rates import WINDOW_SECONDS, Rate

_NAME: Final = "requests"

DOCUMENTED: Final[dict[str, dict[str, Any]]] = {
    "RateLimit-Policy": {
        "description": "Only where the operator limits the requests of a key: `q` requests in `w` seconds "
        "(draft-ietf-httpapi-ratelimit-headers-11).",
        "schema": {"type": "string"},
        "example": f'"{_NAME}";q=600;w={WINDOW_SECONDS}',
    },
    "RateLimit": {
        "description": "The same: `r` requests remain, and after `t` seconds there are all of them again.",
        "schema": {"type": "string"},
        "example": f'"{_NAME}";r=0;t=42',
    },
}
"""What the OpenAPI document says of them."""


def fields_of(rate: Rate) -> dict[str, str]:
    """The fields of an answer."""
    return {
        "RateLimit-Policy": f'"{_NAME}";q={rate.limit};w={WINDOW_SECONDS}',
        "RateLimit": f'"{_NAME}";r={rate.remaining};t={rate.seconds_left}',
    }
