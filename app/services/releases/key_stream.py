"""Random bytes that follow from a sealed secret: whoever goes on with a draw takes the very same."""

from __future__ import annotations

from typing import Final

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from app.domain.mechanisms.mechanism import Bits

KEY_BYTES: Final = 32
_FIRST_BLOCK: Final = bytes(16)


def derived_key(secret: bytes, purpose: str) -> bytes:
    """32 bytes by HKDF with SHA-256 (RFC 5869), which say nothing of the secret or of other purposes'."""
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=purpose.encode()).derive(secret)


def key_stream(secret: bytes, purpose: str) -> Bits:
    """The bytes of AES-256 in counter mode under a key of this purpose alone, one after another.

    How many are taken at once makes no difference to which they are.
    """
    stream = Cipher(AES(derived_key(secret, purpose)), CTR(_FIRST_BLOCK)).encryptor()
    return lambda n: stream.update(bytes(n))
