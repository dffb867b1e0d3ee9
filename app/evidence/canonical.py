"""Canonical JSON: one serialisation per value, so that equal content has equal bytes and equal hashes.

It is RFC 8785 (JSON Canonicalization Scheme) in everything but numbers and the order of rare keys:

* UTF-8, no white space, members sorted by the code points of their names (RFC 8785: by UTF-16 units, which
  differs only for names beyond the Basic Multilingual Plane); of texts only quote, backslash and control
  characters are escaped; texts that are not Unicode (lone surrogates) are refused.
* Whole numbers in full, however large (RFC 8785 rounds those beyond 2⁵³). Real numbers in the shortest
  decimal form that reads back as the same double, always with a point or an exponent, so that 1.0 stays real.
* NaN and infinities are refused; who needs an infinity writes the text "inf".

Points in time are texts in UTC with microseconds, one per instant, too.
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import Any, Final


def canonical_json(value: object) -> bytes:
    """The bytes of a JSON value; ValueError or TypeError if it is none."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode("utf-8")


def sha256_of_bytes(content: bytes) -> str:
    """Hexadecimal sha256."""
    return hashlib.sha256(content).hexdigest()


def parse_strictly(content: bytes) -> Any:  # noqa: ANN401 - any JSON value
    """The JSON value of UTF-8 bytes; ValueError for repeated members, NaN, infinities and what is no JSON."""
    return json.loads(
        content.decode("utf-8"), object_pairs_hook=_without_repeats, parse_constant=_refuse_constant
    )


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object repeats a member")
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON value")


_FORM: Final = "%Y-%m-%dT%H:%M:%S.%fZ"


def instant_text(at: datetime) -> str:
    """``2026-11-20T09:00:00.000000Z``; ValueError for a time without its zone."""
    if at.tzinfo is None:
        raise ValueError("a point in time needs its time zone")
    return at.astimezone(UTC).strftime(_FORM)


def instant_of(text: object) -> datetime:
    """The point in time of such a text; ValueError for any other form."""
    if not isinstance(text, str):
        raise ValueError("a point in time is a text")
    at = datetime.strptime(text, _FORM).replace(tzinfo=UTC)
    if instant_text(at) != text:
        raise ValueError("a point in time has one form")
    return at
