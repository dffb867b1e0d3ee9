"""Warnings in summaries: as many as answers have room for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

MOST: Final = 1000


def few(warnings: Sequence[str]) -> tuple[str, ...]:
    """All of them, or the first ones and how many more there are."""
    if len(warnings) <= MOST:
        return tuple(warnings)
    return (*warnings[: MOST - 1], f"There are {len(warnings) - MOST + 1} more warnings.")
