"""Public keys of reports: their ids, their validity, and the file that holds them.

::

    {"format": "privacy-risk/keys/1",
     "keys": [{"id": "<hexadecimal sha256 of the 32 bytes>", "algorithm": "ed25519",
               "public_key": "<base64 of the 32 bytes>",
               "valid_from": "2026-11-20T09:00:00.000000Z", "valid_until": null}]}

A key's id follows from the key itself, so that no file can give a key the name of another. An entry may say
``"proves": "integrity"``: it came along with a report, and shows that the report is unaltered, but not who
signed it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from app.evidence.canonical import canonical_json, instant_of, instant_text, parse_strictly
from app.evidence.faults import MalformedKeys

FORMAT: Final = "privacy-risk/keys/1"
ALGORITHM: Final = "ed25519"
KEY_BYTES: Final = 32
_MEMBERS: Final = frozenset({"id", "algorithm", "public_key", "valid_from", "valid_until"})
_PROVES, _INTEGRITY = "proves", "integrity"
_REMEDY: Final = "Get the key set anew: GET /v1/signing-keys of the service that issued the report."


def key_id_of(raw: bytes) -> str:
    """The id of a public key: the hexadecimal sha256 of its 32 bytes."""
    return hashlib.sha256(raw).hexdigest()


def base64_bytes(text: object) -> bytes:
    """The bytes of a text in standard base64; ValueError unless it is the only such text of these bytes."""
    if not isinstance(text, str):
        raise ValueError("base64 is a text")
    try:
        content = base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise ValueError("not base64") from error
    if base64_text(content) != text:
        raise ValueError("not the canonical base64 of its bytes")
    return content


def base64_text(content: bytes) -> str:
    """Standard base64 with padding."""
    return base64.b64encode(content).decode("ascii")


@dataclass(frozen=True)
class PublicKey:
    """One public key (32 bytes) and when reports may have been signed with it.

    From ``valid_from`` to ``valid_until``, both included; None: it is still in use. Of a key that came along
    with a report ``proves_origin`` is False.
    """

    raw: bytes
    valid_from: datetime
    valid_until: datetime | None = None
    proves_origin: bool = True

    @property
    def id(self) -> str:
        """Its id."""
        return key_id_of(self.raw)

    def was_valid(self, at: datetime) -> bool:
        """Whether the key was in force."""
        return self.valid_from <= at and (self.valid_until is None or at <= self.valid_until)

    def document(self) -> dict[str, Any]:
        """The key as an entry of a key set."""
        marked = {} if self.proves_origin else {_PROVES: _INTEGRITY}
        return marked | {
            "id": self.id,
            "algorithm": ALGORITHM,
            "public_key": base64_text(self.raw),
            "valid_from": instant_text(self.valid_from),
            "valid_until": None if self.valid_until is None else instant_text(self.valid_until),
        }


def keys_document(keys: Sequence[PublicKey]) -> dict[str, Any]:
    """The key set as JSON."""
    return {"format": FORMAT, "keys": [key.document() for key in keys]}


def keys_bytes(keys: Sequence[PublicKey]) -> bytes:
    """The key set as the bytes of a file."""
    return canonical_json(keys_document(keys))


def read_keys(content: bytes) -> Mapping[str, PublicKey]:
    """The keys of a key set by id; MalformedKeys says which entry is wrong.

    The file may be laid out in any way: it is trusted for where it comes from, and signs nothing.
    """
    try:
        document = parse_strictly(content)
    except (ValueError, RecursionError):
        raise MalformedKeys("The key set is not JSON without repeated members.", _REMEDY) from None
    if not isinstance(document, dict) or document.keys() != {"format", "keys"}:
        raise MalformedKeys("The key set must have the members format and keys, and no other.", _REMEDY)
    entries = document["keys"]
    if document["format"] != FORMAT or not isinstance(entries, list):
        raise MalformedKeys(f"The key set must be of the format {FORMAT}.", _REMEDY)
    keys = [_key_of(entry, number) for number, entry in enumerate(entries, start=1)]
    by_id = {key.id: key for key in keys}
    if len(by_id) < len(keys):
        raise MalformedKeys("The key set holds a key twice.", _REMEDY)
    return by_id


def _key_of(entry: object, number: int) -> PublicKey:
    marked = isinstance(entry, dict) and _PROVES in entry
    members = _MEMBERS | {_PROVES} if marked else _MEMBERS
    if not isinstance(entry, dict) or entry.keys() != members or entry["algorithm"] != ALGORITHM:
        raise MalformedKeys(
            f"Entry {number} of the key set must be an {ALGORITHM} key with the members "
            f"{', '.join(sorted(_MEMBERS))}, and no other.",
            _REMEDY,
        )
    if marked and entry[_PROVES] != _INTEGRITY:
        raise MalformedKeys(f"What entry {number} of the key set proves is unknown here.", _REMEDY)
    try:
        until = entry["valid_until"]
        key = PublicKey(
            base64_bytes(entry["public_key"]),
            instant_of(entry["valid_from"]),
            None if until is None else instant_of(until),
            proves_origin=not marked,
        )
        Ed25519PublicKey.from_public_bytes(key.raw)
    except ValueError:
        raise MalformedKeys(
            f"Entry {number} of the key set has no {KEY_BYTES} bytes of key in base64, or times in another "
            "form than 2026-11-20T09:00:00.000000Z.",
            _REMEDY,
        ) from None
    if entry["id"] != key.id:
        raise MalformedKeys(f"The id of entry {number} of the key set is not that of its key.", _REMEDY)
    if key.valid_until is not None and key.valid_until < key.valid_from:
        raise MalformedKeys(f"Entry {number} of the key set ends before it begins.", _REMEDY)
    return key
