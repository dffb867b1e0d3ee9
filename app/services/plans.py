"""What work would cost and which way it would go, before any of it is done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from app.domain.errors import Fault


@dataclass(frozen=True)
class DirectBudget:
    """How much estimated work a direct answer may take."""

    seconds: float = 0.5
    bytes: int = 256 * 1024**2


@dataclass(frozen=True)
class Plan:
    """The answer to a dry run: cost and route, or what is missing for the work to be possible."""

    route: Literal["direct", "run"] | None
    seconds: float | None
    bytes: int | None
    engine: str | None
    units: int | None
    missing: tuple[Fault, ...]
