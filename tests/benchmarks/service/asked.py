"""What a run of the benchmark was asked to measure of the service."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from app.cli.operations import Operations


@dataclass(frozen=True)
class Asked:
    """``operations`` start services; ``data`` is the folder of real data, if there is one.

    ``processes`` is how many processes the API has; ``load_seconds`` how long every row of the mixed load
    lasts, and ``memory_seconds`` how long memory is watched under it.
    """

    operations: Operations
    data: Path | None
    processes: int = 1
    load_seconds: float = 10.0
    memory_seconds: float = 60.0
