"""Whether a report is what a service signed: needs the report's bytes and the public keys, nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from app.evidence.canonical import instant_text, sha256_of_bytes
from app.evidence.envelope import PAYLOAD_TYPE, opened, pre_authentication_encoding
from app.evidence.faults import OtherReport, OutsideKeyValidity, UnknownKey, WrongSignature
from app.evidence.keys import PublicKey
from app.evidence.statement import Statement, statement_of

PAGE_MARK: Final = "privacy-risk:report-sha256"
"""Name of the ``meta`` element in which a readable page carries the hash of the report's bytes."""

_MARKED: Final = re.compile(rf'<meta name="{PAGE_MARK}" content="([^"]*)">')


@dataclass(frozen=True)
class Verified:
    """A report that is believed: its statement, the key, and the sha256 of its bytes."""

    statement: Statement
    key: PublicKey
    sha256: str

    @property
    def proves_origin(self) -> bool:
        """Whether it is known who signed it, provided that the key set comes from whoever is trusted.

        A key that came along with the report, or that the report itself calls temporary, shows only that the
        report is unaltered: anybody can make such a pair.
        """
        return self.key.proves_origin and self.statement.signed_by != "temporary"


def verify(report: bytes, keys: Mapping[str, PublicKey]) -> Verified:
    """The statement that the report's bytes carry; an EvidenceError names why they are not believed.

    The signature is checked before the statement is parsed. A key outside its validity is refused by the
    time that the statement itself names, which only the holder of the private key can have written.
    """
    envelope = opened(report)
    key = keys.get(envelope.key_id)
    if key is None:
        raise UnknownKey(
            "The report is signed with a key that the key set does not hold.",
            "Get the keys of the service that issued it (GET /v1/signing-keys), from that service itself.",
        )
    message = pre_authentication_encoding(PAYLOAD_TYPE, envelope.content)
    try:
        Ed25519PublicKey.from_public_bytes(key.raw).verify(envelope.signature, message)
    except InvalidSignature:
        raise WrongSignature(
            "The signature does not belong to this content: one of them was changed.",
            "Do not use the report; get it again from the service that issued it.",
        ) from None
    statement = statement_of(envelope.content)
    if not key.was_valid(statement.issued_at):
        until = "now" if key.valid_until is None else instant_text(key.valid_until)
        raise OutsideKeyValidity(
            "The report says that it was issued when its key was not in force "
            f"({instant_text(key.valid_from)} to {until}).",
            "Do not use the report: who signed it held a key that had been retired or was not yet in use.",
        )
    return Verified(statement, key, sha256_of_bytes(report))


def check_page(page: str, sha256: str) -> None:
    """Raise OtherReport unless a readable page says that it was made from the report of this hash.

    The page itself is not signed: whoever wants certainty renders it anew from the report.
    """
    if _MARKED.findall(page) != [sha256]:
        raise OtherReport(
            "The page does not carry the hash of this report.",
            "Get the page that belongs to the report, or render it anew from the report.",
        )
