"""What every composition root starts from: where the data are, and what time it is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from app.persistence.encryption import MasterKey


@dataclass(frozen=True)
class Database:
    """Where the runtime role finds the data, and the key that opens them."""

    url: str
    master_key: MasterKey
    table_cache_bytes: int


def utc_now() -> datetime:
    """The present."""
    return datetime.now(UTC)
