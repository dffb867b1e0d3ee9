"""The plain values of evidence that services and their ports exchange."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

from app.evidence.statement import Report
from app.services.gates.tombstones import Revocation

Role = Literal[
    "dataset", "upload", "schema", "hierarchy", "rule", "release", "dictionary", "dictionary_set",
    "sensitivity", "failure", "true_dictionary", "policy", "waiver", "released_rule",
    "relational_schema", "view", "original", "holdout",
]  # fmt: skip

TOLERANCE: Final = {"absolute": 1e-9}
"""By how much a real number may miss its threshold, as all comparisons of the product take it."""


@dataclass(frozen=True)
class EvidenceInput:
    """One thing that went into a result, by the hash of its meaning; ``slot`` is what it was put in for.

    That is the policy's slot for dictionaries and what belongs to them, the attribute for hierarchies.
    """

    role: Role
    name: str | None
    sha256: str
    slot: str | None = None


@dataclass(frozen=True)
class EvidenceFile:
    """A file that was uploaded, under the upload's name; ``sha256`` is of its bytes as they arrived.

    ``canonical_sha256`` is of the canonical form of a CSV file; None of other formats, and of files that
    were uploaded before it was kept. Of a view it is the text of its query in UTF-8, under the view's id.
    """

    role: Literal["dataset", "release", "view"]
    name: str
    sha256: str
    canonical_sha256: str | None = None


@dataclass(frozen=True)
class EvidenceRef:
    """Stored evidence; ``sha256`` is of the bytes of its envelope."""

    id: str
    sha256: str


@dataclass(frozen=True)
class NewEvidence:
    """Evidence to be stored: a signed envelope and what it is about."""

    report: Report
    resource_id: str
    resource_name: str
    resource_sha256: str
    key_id: str
    sha256: str
    issued_at: datetime
    envelope: bytes = field(repr=False)


@dataclass(frozen=True)
class StoredEvidence:
    """Evidence as the store holds it; ``envelope`` is None in lists. Its verdict may be revoked."""

    id: str
    report: Report
    resource_id: str
    resource_name: str
    resource_sha256: str
    key_id: str
    sha256: str
    issued_at: datetime
    envelope: bytes | None = field(default=None, repr=False)
    revocation: Revocation | None = None

    @property
    def ref(self) -> EvidenceRef:
        """How results point to it."""
        return EvidenceRef(self.id, self.sha256)
