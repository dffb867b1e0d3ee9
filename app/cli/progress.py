"""How the demonstration tells what it is doing: not at all, line by line, or with a bar."""

from __future__ import annotations

from typing import Protocol, TextIO

from privacy_risk import Progress

_BAR = 30
_CLEAR_LINE = "\r\x1b[K"


class Listener(Protocol):
    """Hears of each step's progress and end."""

    def progress(self, step: str, progress: Progress) -> None:
        """Some of the step's work is done."""

    def done(self, step: str, seconds: float, detail: str) -> None:
        """The step has ended."""


class Silent:
    """Says nothing."""

    def progress(self, step: str, progress: Progress) -> None:
        """Say nothing."""

    def done(self, step: str, seconds: float, detail: str) -> None:
        """Say nothing."""


class Lines:
    """Writes lines: for files and pipes."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def progress(self, step: str, progress: Progress) -> None:
        """Write where the work stands."""
        print(f"  {step}: {progress_text(progress)}", file=self._out, flush=True)

    def done(self, step: str, seconds: float, detail: str) -> None:
        """Write what was done."""
        print(f"  {step:<15}{seconds:7.2f} s  {detail}", file=self._out, flush=True)


class Bar(Lines):
    """Lines, and a bar that is redrawn in place: for terminals."""

    def progress(self, step: str, progress: Progress) -> None:
        """Redraw the bar."""
        filled = _BAR * progress.done // max(progress.total, 1)
        bar = "█" * filled + "░" * (_BAR - filled)
        self._out.write(f"{_CLEAR_LINE}  {step:<15}{bar} {progress_text(progress)}")
        self._out.flush()

    def done(self, step: str, seconds: float, detail: str) -> None:
        """Replace the bar by what was done."""
        self._out.write(_CLEAR_LINE)
        super().done(step, seconds, detail)


def progress_text(progress: Progress) -> str:
    """``120 of 300 (40 %), 850 per second, 2 s left``, after the stage's name."""
    percent = 100 * progress.done // max(progress.total, 1)
    rate = "" if progress.rate is None else f", {progress.rate:,.0f} per second"
    left = "" if progress.remaining_seconds is None else f", {progress.remaining_seconds:,.0f} s left"
    return f"{progress.stage} {progress.done:,} of {progress.total:,} ({percent} %){rate}{left}"


def listener_for(out: TextIO) -> Listener:
    """The listener that suits this output."""
    return Bar(out) if out.isatty() else Lines(out)
