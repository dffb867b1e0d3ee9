"""Evidence and the keys that sign it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from app.api.schemas.common import Answer, Hash
from app.api.schemas.derived import model_of
from app.evidence.statement import Report
from app.services.gates import tombstones
from app.services.gates.evidence_values import StoredEvidence

KeyId = Annotated[
    str,
    Field(
        pattern="^[0-9a-f]{64}$",
        description="Id of the key: the hexadecimal sha256 of its 32 bytes.",
        examples=["21fe31dfa154a261626bf854046fd2271b7bed4b6abe45aa58877ef47f9721b9"],
    ),
]
Instant = Annotated[str, Field(max_length=40, examples=["2026-11-20T09:00:00.000000Z"])]


class About(Answer):
    """What evidence is about; it may be gone."""

    id: Annotated[str, Field(max_length=100, description="Its id.")]
    name: Annotated[str, Field(max_length=100, description="Its name.", examples=["proposal-score"])]
    sha256: Hash


Revocation: Any = model_of(tombstones.Revocation, "Revocation")


class EvidenceSummary(Answer):
    """One signed report, without its content."""

    id: Annotated[str, Field(max_length=100, description="Random public id.")]
    report: Annotated[Report, Field(description="What it reports.", examples=["assessment"])]
    about: Annotated[About, Field(description="The evaluation or assessment.")]
    sha256: Annotated[Hash, Field(description="Hash of the report's bytes.")]
    key_id: KeyId
    issued_at: Annotated[datetime, Field(examples=["2026-11-20T09:00:00Z"])]
    """When it was signed."""
    revocation: Revocation | None = None
    """Since when its verdict stands no more, and why; null: it was not revoked."""

    @classmethod
    def of(cls, stored: StoredEvidence) -> EvidenceSummary:
        """The stored evidence as a body."""
        about = About(id=stored.resource_id, name=stored.resource_name, sha256=stored.resource_sha256)
        return cls.model_validate({**vars(stored), "about": about})


class EvidenceListing(Answer):
    """Part of the list, newest first."""

    items: Annotated[list[EvidenceSummary], Field(max_length=200, description="Signed reports.")]
    next_cursor: Annotated[str | None, Field(max_length=1000)]
    """Value of `cursor` for the next part; null on the last one."""


class SigningKey(Answer):
    """The public part of a key, and when reports may have been signed with it."""

    id: KeyId
    algorithm: Annotated[Literal["ed25519"], Field(description="Always Ed25519.")]
    public_key: Annotated[str, Field(max_length=44, description="Base64 of its 32 bytes.")]
    valid_from: Annotated[Instant, Field(description="Begin of its use.")]
    valid_until: Annotated[Instant | None, Field(description="End of its use; null: it is in use.")]


class SigningKeys(Answer):
    """The key set: the file that `verify` takes."""

    format: Annotated[Literal["privacy-risk/keys/1"], Field(description="Format of the file.")]
    keys: Annotated[list[SigningKey], Field(max_length=10_000, description="All keys, newest first.")]
