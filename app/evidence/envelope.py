"""The DSSE envelope: content, its type, and one Ed25519 signature over both.

The signature is over the pre-authentication encoding
``"DSSEv1" SP len(type) SP type SP len(content) SP content``. DSSE lets readers accept either alphabet of
base64, any layout of the JSON and further members; an envelope of evidence has exactly one form (canonical
JSON, the standard alphabet, one signature), so that no byte of a report can change unnoticed. A report that
is given out after its release was withdrawn has one further member, the envelope of a statement of that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from app.evidence.canonical import canonical_json, parse_strictly, sha256_of_bytes
from app.evidence.faults import MalformedReport, WrongPayloadType
from app.evidence.keys import PublicKey, base64_bytes, base64_text
from app.evidence.statement import Statement, is_sha256
from app.evidence.withdrawal import Withdrawal

PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
MEDIA_TYPE: Final = "application/vnd.dsse.envelope+json"
WITHDRAWAL: Final = "withdrawal"
"""The member that holds the envelope of a statement of withdrawal."""
SIGNATURE_BYTES: Final = 64
_REMEDY: Final = "Get the report again from the service that issued it, and keep its bytes as they are."


@dataclass(frozen=True)
class Envelope:
    """An envelope taken apart; nothing of it is believed yet."""

    content: bytes
    key_id: str
    signature: bytes
    withdrawal: bytes | None = None
    """The envelope of the statement that its release was withdrawn, where it came with one."""

    @property
    def sha256(self) -> str:
        """Hash of the report, which does not change with what stands beside it."""
        return sha256_of_bytes(envelope_bytes(replace(self, withdrawal=None)))


@dataclass(frozen=True)
class Signer:
    """Signs with one key: its public part, and the function from a message to the 64 bytes of signature."""

    key: PublicKey
    sign: Callable[[bytes], bytes]


def pre_authentication_encoding(payload_type: str, content: bytes) -> bytes:
    """What a signature is computed over."""
    kind = payload_type.encode("utf-8")
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(content), content)


def sealed(statement: Statement | Withdrawal, signer: Signer) -> bytes:
    """The bytes of the signed envelope of a statement."""
    content = statement.to_bytes()
    signature = signer.sign(pre_authentication_encoding(PAYLOAD_TYPE, content))
    return envelope_bytes(Envelope(content, signer.key.id, signature))


def envelope_bytes(envelope: Envelope) -> bytes:
    """Its one serialisation."""
    document = {
        "payload": base64_text(envelope.content),
        "payloadType": PAYLOAD_TYPE,
        "signatures": [{"keyid": envelope.key_id, "sig": base64_text(envelope.signature)}],
    }
    if envelope.withdrawal is not None:
        document[WITHDRAWAL] = parse_strictly(envelope.withdrawal)
    return canonical_json(document)


def opened(report: bytes) -> Envelope:
    """The envelope of a report's bytes, not yet verified.

    MalformedReport unless they are its one serialisation, WrongPayloadType if it holds something else.
    """
    try:
        document = parse_strictly(report)
        payload_type, (signature,) = document["payloadType"], document["signatures"]
        withdrawal = canonical_json(document[WITHDRAWAL]) if WITHDRAWAL in document else None
        envelope = Envelope(
            base64_bytes(document["payload"]),
            signature["keyid"],
            base64_bytes(signature["sig"]),
            withdrawal,
        )
        is_whole = is_sha256(envelope.key_id) and len(envelope.signature) == SIGNATURE_BYTES
    except (ValueError, TypeError, KeyError, RecursionError):
        raise MalformedReport(
            "The report is not a DSSE envelope of payload, payloadType and one signature.", _REMEDY
        ) from None
    if not is_whole:
        raise MalformedReport("The report names no key by its sha256, or has no whole signature.", _REMEDY)
    if payload_type != PAYLOAD_TYPE:
        raise WrongPayloadType(
            f"The envelope does not say that it holds {PAYLOAD_TYPE}.", "Name a file that holds a report."
        )
    if envelope_bytes(envelope) != report:
        raise MalformedReport(
            "The report was changed or laid out anew: its bytes are not the canonical ones.", _REMEDY
        )
    return envelope
