"""Encryption at rest: AES-256-GCM under data keys; these and signing keys are wrapped by one master key.

Every ciphertext is bound to its place (tenant, kind, id, number) as additional authenticated data, so
that a row copied to another place does not decrypt. Layout: 12 bytes of nonce, then ciphertext and tag.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import secrets
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Literal

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from app.domain.errors import Unavailable

_NONCE_BYTES = 12
_KEY_BYTES = 32

KeyKind = Literal["data_key", "signing_key"]
"""What the master key wraps."""


def place(*parts: str | int) -> bytes:
    """The additional authenticated data of a ciphertext, unambiguous for any parts."""
    return json.dumps(parts, ensure_ascii=False, separators=(",", ":")).encode()


def seal(key: bytes, plaintext: bytes, where: bytes) -> bytes:
    """Encrypt for one place with a fresh random nonce."""
    nonce = secrets.token_bytes(_NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, plaintext, where)


def unseal(key: bytes, sealed: bytes, where: bytes) -> bytes:
    """Decrypt what was sealed for this place; Unavailable if it was altered, moved or is of another key."""
    try:
        return AESGCM(key).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], where)
    except (InvalidTag, ValueError):
        raise Unavailable(
            "Stored data could not be decrypted: they were altered, or the master key is another one.",
            "Restore the master key or the data from a backup.",
        ) from None


def derived(key: bytes, purpose: bytes) -> bytes:
    """32 bytes by HKDF with SHA-256 (RFC 5869), which say nothing of the key or of other purposes' bytes."""
    return HKDF(algorithm=SHA256(), length=_KEY_BYTES, salt=None, info=purpose).derive(key)


@dataclass(frozen=True)
class MasterKey:
    """The key that wraps all data keys; it never reaches the database."""

    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.secret) != _KEY_BYTES:
            raise ValueError("a master key has 32 bytes")

    @classmethod
    def generate(cls) -> MasterKey:
        """A new random key."""
        return cls(secrets.token_bytes(_KEY_BYTES))

    @classmethod
    def from_text(cls, text: str) -> MasterKey:
        """The key from its base64 form; ValueError if it is not 32 bytes."""
        try:
            return cls(base64.b64decode(text.strip(), validate=True))
        except (binascii.Error, ValueError):
            raise ValueError("a master key is the base64 form of 32 bytes") from None

    def to_text(self) -> str:
        """The base64 form."""
        return base64.b64encode(self.secret).decode()

    @property
    def id(self) -> str:
        """Names the key without revealing it; stored beside what it wraps."""
        return hashlib.sha256(b"privacy-risk master key\0" + self.secret).hexdigest()[:16]

    def derive(self, purpose: str) -> bytes:
        """A key for another purpose than wrapping."""
        return derived(self.secret, purpose.encode())

    def wrap(self, key: bytes, tenant: str, key_id: str, kind: KeyKind = "data_key") -> bytes:
        """A data key, or the private part of a signing key, encrypted for its row."""
        return seal(self.secret, key, place(tenant, kind, key_id))

    def unwrap(self, wrapped: bytes, tenant: str, key_id: str, kind: KeyKind = "data_key") -> bytes:
        """The key of a row."""
        return unseal(self.secret, wrapped, place(tenant, kind, key_id))


def new_data_key() -> bytes:
    """A random AES-256 key."""
    return secrets.token_bytes(_KEY_BYTES)


class KeyCache:
    """Unwrapped data keys of recent use, per process, and which of them resources are sealed under."""

    def __init__(self, capacity: int = 1024) -> None:
        self._capacity = capacity
        self._keys: OrderedDict[tuple[str, str], bytes] = OrderedDict()
        self._sealed_by: OrderedDict[tuple[str, str], str] = OrderedDict()

    def get(self, tenant: str, key_id: str) -> bytes | None:
        """The key if it is held."""
        key = self._keys.get((tenant, key_id))
        if key is not None:
            self._keys.move_to_end((tenant, key_id))
        return key

    def put(self, tenant: str, key_id: str, key: bytes) -> None:
        """Hold the key, dropping the least recently used one beyond the capacity."""
        self._keys[tenant, key_id] = key
        self._keys.move_to_end((tenant, key_id))
        if len(self._keys) > self._capacity:
            self._keys.popitem(last=False)

    def sealed_by(self, tenant: str, resource_id: str) -> str | None:
        """The id of the key that a resource is sealed under, if that is known; it never changes."""
        return self._sealed_by.get((tenant, resource_id))

    def note(self, tenant: str, resource_id: str, key_id: str) -> None:
        """Hold which key a resource is sealed under, dropping what was noted first beyond the capacity."""
        self._sealed_by[tenant, resource_id] = key_id
        if len(self._sealed_by) > self._capacity:
            self._sealed_by.popitem(last=False)

    def drop(self, tenant: str, key_id: str) -> None:
        """Forget a destroyed key."""
        self._keys.pop((tenant, key_id), None)

    def clear(self) -> None:
        """Forget all keys: some may have been destroyed."""
        self._keys.clear()
