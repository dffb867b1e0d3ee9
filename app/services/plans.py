"""What work would cost and which way it would go, before any of it is done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from app.domain.errors import Fault, MemoryLimitExceeded

MIB: Final = 1024**2

RUN_BYTES: Final = 8192 * MIB
"""Memory that a run may have, unless an operator says otherwise."""


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


def memory_fault(needed: int, allowed: int) -> tuple[Fault, ...]:
    """Why work that is estimated to need so many bytes cannot be a run, if it cannot."""
    if needed <= allowed:
        return ()
    error = MemoryLimitExceeded(needed, allowed, {})
    return (Fault("", error.code, error.message, error.remedy),)


def refuse_above(needed: int, allowed: int, cost: Mapping[str, Any]) -> None:
    """Raise MemoryLimitExceeded with the estimate for work that needs more memory than a run may have."""
    if needed > allowed:
        raise MemoryLimitExceeded(needed, allowed, cost)
