"""What outlives policies and evaluations: the names that policies had, and the verdicts that are revoked."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final, Protocol

from annotated_types import MaxLen

from app.domain.catalogue.catalogue_types import Example
from app.services.fingerprints import resource_sha256
from app.services.resources import JsonObject, Kind, Stored

_OF_ITS_DAY: Final = frozenset(
    {"waivers", "earlier", "change_rules", "guarantees", "spending", "checks", "filled_by_govern"}
)
"""What an evaluation means beside what is judged by which policy: how things stood, and who asked."""


@dataclass(frozen=True)
class Revocation:
    """That a verdict stands no more."""

    revoked_at: Annotated[datetime, Example("2026-11-21T09:00:00Z")]
    """Since when."""
    reason: Annotated[str, MaxLen(2_000), Example("The census held people who were made up.")]
    """The reason that was given."""


class Tombstones(Protocol):
    """The tenant's names of policies and revocations; none is ever changed or removed."""

    async def use_name(self, name: str, sha256: str) -> str:
        """Keep that ``NAME@VERSION`` is a policy of this hash, unless it was one before; the hash of that."""

    async def revoke(self, evaluation: Stored, reason: str) -> bool:
        """Revoke it and all stored ones of the same; False if it was revoked before."""

    async def revocations(self, keys: Collection[str]) -> Mapping[str, Revocation]:
        """Ids of evaluations, stored or deleted, and hashes of what they judged, as far as it is revoked."""


def judged_sha256(meaning: JsonObject, used: Mapping[str, str]) -> str:
    """The hash of what is judged by which policy, the same on any day."""
    kept = {key: value for key, value in meaning.items() if key not in _OF_ITS_DAY}
    return resource_sha256(Kind.EVALUATION, kept, used)
