"""What a run of the benchmark was asked to measure of the service."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from app.cli.operations import Operations


@dataclass(frozen=True)
class Asked:
    """``operations`` start services; ``data`` is the folder of real data, if there is one.

    ``processes`` is how many processes the API has under load; ``load_seconds`` how long every load lasts,
    and ``memory_seconds`` how long that under which the growth of memory is told.
    """

    operations: Operations
    data: Path | None
    processes: int
    load_seconds: float
    memory_seconds: float
