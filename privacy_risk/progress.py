"""A line on standard error that tells how far a run is, for people who look at it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from privacy_risk.values import Progress

_BAR: Final = 30


@contextmanager
def telling() -> Iterator[Callable[[Progress], None]]:
    """What tells of progress: a line that is written over, in terminals and notebooks alone."""
    is_watched = sys.stderr.isatty() or "ipykernel" in sys.modules
    longest = 0

    def tell(progress: Progress) -> None:
        nonlocal longest
        if is_watched:
            text = _line(progress)
            longest = max(longest, len(text))
            print(f"\r{text:<{longest}}", end="", file=sys.stderr, flush=True)

    try:
        yield tell
    finally:
        if longest:
            print(f"\r{'':<{longest}}\r", end="", file=sys.stderr, flush=True)


def _line(progress: Progress) -> str:
    filled = _BAR * progress.done // max(progress.total, 1)
    left = "" if progress.remaining_seconds is None else f", {progress.remaining_seconds:,.0f} s left"
    bar = "█" * filled + "░" * (_BAR - filled)
    return f"{bar} {progress.stage} {progress.done:,} of {progress.total:,}{left}"
