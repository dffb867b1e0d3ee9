"""Canonical JSON: one serialisation per value, so that equal content has equal bytes and equal hashes.

It is RFC 8785 (JSON Canonicalization Scheme) in everything but numbers and the order of rare keys:

* UTF-8, no white space, members sorted by the code points of their names (RFC 8785: by UTF-16 units, which
  differs only for names beyond the Basic Multilingual Plane); of texts only quote, backslash and control
  characters are escaped; texts that are not Unicode (lone surrogates) are refused.
* Whole numbers in full, however large (RFC 8785 rounds those beyond 2⁵³). Real numbers in the shortest
  decimal form that reads back as the same double, always with a point or an exponent, so that 1.0 stays real.
* NaN and infinities are refused; who needs an infinity writes the text "inf".
"""

from __future__ import annotations

import hashlib
import json
from typing import Any


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
