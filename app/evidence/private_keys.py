"""Private keys that somebody keeps himself: a pipeline's, in a file or a secret.

A private key is PEM (PKCS 8) or the base64 of its 32 bytes. No message repeats any of it.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from app.evidence.envelope import Signer, sealed
from app.evidence.faults import MalformedPrivateKey
from app.evidence.keys import PublicKey, base64_bytes
from app.evidence.statement import SignedBy, Statement


def read_private_key(text: str) -> Ed25519PrivateKey:
    """The key of PEM or base64; MalformedPrivateKey for anything else."""
    content = text.strip()
    try:
        if not content.startswith("-----BEGIN"):
            return Ed25519PrivateKey.from_private_bytes(base64_bytes(content))
        found = load_pem_private_key(content.encode("utf-8"), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        found = None
    if not isinstance(found, Ed25519PrivateKey):
        raise MalformedPrivateKey(
            "The signing key is no Ed25519 private key in PEM, without a password, or in base64.",
            "Make one with `privacy-risk signing-key FILE --keys FILE`.",
        )
    return found


def private_key_pem(key: Ed25519PrivateKey) -> bytes:
    """The key as the bytes of a PEM file."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def public_key_of(key: Ed25519PrivateKey, valid_from: datetime) -> PublicKey:
    """Its public part, in use from then on."""
    return PublicKey(key.public_key().public_bytes_raw(), valid_from)


def resealed(statement: Statement, key: Ed25519PrivateKey | None) -> tuple[bytes, PublicKey]:
    """The statement signed by this key, or by one that is made for it alone and forgotten.

    The statement says which of the two. The public key that is returned is to lie beside the report, and
    therefore says of itself that it proves no origin.
    """
    signed_by: SignedBy = "temporary" if key is None else "pipeline"
    private = Ed25519PrivateKey.generate() if key is None else key
    said = replace(statement, predicate={**statement.predicate, "signed_by": signed_by})
    public = public_key_of(private, statement.issued_at)
    if key is None:
        public = replace(public, valid_until=statement.issued_at)
    return sealed(said, Signer(public, private.sign)), replace(public, proves_origin=False)
