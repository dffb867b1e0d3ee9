"""Whether a report is what a service signed: needs the report's bytes and the public keys, nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from app.evidence.canonical import instant_text
from app.evidence.envelope import PAYLOAD_TYPE, Envelope, opened, pre_authentication_encoding
from app.evidence.faults import OtherReport, OutsideKeyValidity, UnknownKey, WrongSignature
from app.evidence.keys import PublicKey
from app.evidence.statement import Statement, statement_of
from app.evidence.withdrawal import Withdrawal, withdrawal_of

PAGE_MARK: Final = "privacy-risk:report-sha256"
"""Name of the ``meta`` element in which a readable page carries the hash of the report's bytes."""

_MARKED: Final = re.compile(rf'<meta name="{PAGE_MARK}" content="([^"]*)">')


@dataclass(frozen=True)
class Verified:
    """A report that is believed: its statement, the key, and the sha256 of its bytes.

    ``withdrawal`` is what was signed later of its release, if that was withdrawn when the report was got; it
    is no part of the bytes which the hash is of.
    """

    statement: Statement
    key: PublicKey
    sha256: str
    withdrawal: Withdrawal | None = None

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
    time that the statement itself names, which only the holder of the private key can have written. A
    statement of withdrawal that came with the report is checked in the same way.
    """
    envelope = opened(report)
    key = _signed_by(envelope, keys)
    statement = statement_of(envelope.content)
    _require_in_force(key, statement.issued_at)
    withdrawal = envelope.withdrawal
    found = None if withdrawal is None else _withdrawal(withdrawal, envelope, statement, keys)
    return Verified(statement, key, envelope.sha256, found)


def _withdrawal(
    withdrawal: bytes, envelope: Envelope, statement: Statement, keys: Mapping[str, PublicKey]
) -> Withdrawal:
    beside = opened(withdrawal)
    key = _signed_by(beside, keys)
    found = withdrawal_of(beside.content)
    _require_in_force(key, found.issued_at)
    belongs = found.report_sha256 == envelope.sha256 and found.release in statement.subjects
    if beside.withdrawal is not None or not belongs:
        raise OtherReport(
            "The statement that the release was withdrawn belongs to another report.",
            "Get the report again from the service that issued it.",
        )
    return found


def _signed_by(envelope: Envelope, keys: Mapping[str, PublicKey]) -> PublicKey:
    """The key of the set that has signed it."""
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
    return key


def _require_in_force(key: PublicKey, issued_at: datetime) -> None:
    if not key.was_valid(issued_at):
        until = "now" if key.valid_until is None else instant_text(key.valid_until)
        raise OutsideKeyValidity(
            "The report says that it was issued when its key was not in force "
            f"({instant_text(key.valid_from)} to {until}).",
            "Do not use the report: who signed it held a key that had been retired or was not yet in use.",
        )


def check_page(page: str, sha256: str) -> None:
    """Raise OtherReport unless a readable page says that it was made from the report of this hash.

    The page itself is not signed: whoever wants certainty renders it anew from the report.
    """
    if _MARKED.findall(page) != [sha256]:
        raise OtherReport(
            "The page does not carry the hash of this report.",
            "Get the page that belongs to the report, or render it anew from the report.",
        )
