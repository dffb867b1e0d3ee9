"""A line on standard error that tells how far something is, for people who look at it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from privacy_risk.values import Progress

_BAR: Final = 30


@contextmanager
def one_line() -> Iterator[Callable[[str], None]]:
    """What writes a line over the one before, in terminals and notebooks alone; at the end it is gone."""
    is_watched = sys.stderr.isatty() or "ipykernel" in sys.modules
    longest = 0

    def write(text: str) -> None:
        nonlocal longest
        if is_watched:
            longest = max(longest, len(text))
            print(f"\r{text:<{longest}}", end="", file=sys.stderr, flush=True)

    try:
        yield write
    finally:
        if longest:
            print(f"\r{'':<{longest}}\r", end="", file=sys.stderr, flush=True)


@contextmanager
def telling() -> Iterator[Callable[[Progress], None]]:
    """What tells of the progress of a run, by a line."""
    with one_line() as write:
        yield lambda progress: write(_line(progress))


def _line(progress: Progress) -> str:
    filled = _BAR * progress.done // max(progress.total, 1)
    left = "" if progress.remaining_seconds is None else f", {progress.remaining_seconds:,.0f} s left"
    bar = "█" * filled + "░" * (_BAR - filled)
    return f"{bar} {progress.stage} {progress.done:,} of {progress.total:,}{left}"
