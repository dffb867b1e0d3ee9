"""What is signed of a release that was withdrawn after a verdict on it: an in-toto Statement v1 of its own.

What was signed at the verdict cannot change. Whoever gets the report later gets this statement beside it,
under a signature of its own. It is about the release, by the name and hash that it has among the report's
subjects, and names the report by its hash, so that it stands beside no other one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from app.evidence.canonical import canonical_json, instant_of, instant_text, parse_strictly
from app.evidence.faults import MalformedStatement
from app.evidence.statement import STATEMENT_TYPE, Subject

WITHDRAWAL_TYPE: Final = "https://privacy-risk.dev/evidence/withdrawal/v1"
_REMEDY: Final = "Get the report again from the service that issued it."


@dataclass(frozen=True)
class Withdrawal:
    """That a release was withdrawn.

    Parameters
    ----------
    release
        The release, as the report has it among its subjects.
    report_sha256
        Of the bytes of the report that this stands beside.
    withdrawn_at
        When it was withdrawn.
    issued_at
        The same moment, or that from which on the key has been in use where that is later.
    """

    release: Subject
    report_sha256: str
    withdrawn_at: datetime
    issued_at: datetime

    def to_bytes(self) -> bytes:
        """Its one serialisation, which is what is signed."""
        return canonical_json(
            {
                "_type": STATEMENT_TYPE,
                "subject": [{"name": self.release.name, "digest": {"sha256": self.release.sha256}}],
                "predicateType": WITHDRAWAL_TYPE,
                "predicate": {
                    "report": "withdrawal",
                    "version": 1,
                    "issued_at": instant_text(self.issued_at),
                    "withdrawn_at": instant_text(self.withdrawn_at),
                    "evidence": self.report_sha256,
                },
            }
        )


def withdrawal_of(content: bytes) -> Withdrawal:
    """The statement of its serialisation; MalformedStatement for anything else."""
    try:
        document: Any = parse_strictly(content)
        (subject,), predicate = document["subject"], document["predicate"]
        found = Withdrawal(
            Subject(subject["name"], subject["digest"]["sha256"]),
            predicate["evidence"],
            instant_of(predicate["withdrawn_at"]),
            instant_of(predicate["issued_at"]),
        )
        is_whole = found.to_bytes() == content
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        is_whole = False
    if not is_whole:
        raise MalformedStatement("What stands beside the report is no statement of a withdrawal.", _REMEDY)
    return found
