"""What every composition root starts from: where the data are, what time it is, and what computes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from app.persistence.encryption import MasterKey


@dataclass(frozen=True)
class Database:
    """Where the runtime role finds the data, and the key that opens them."""

    url: str
    master_key: MasterKey
    table_cache_bytes: int
    folder: Path | None = None
    """Of an embedded database that is kept: the one on whose disk it stands."""


def utc_now() -> datetime:
    """The present."""
    return datetime.now(UTC)


def processors() -> int:
    """How many processors this process may use: the threads of a search."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
