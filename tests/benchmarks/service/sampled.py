"""A program of ours whose threads' processor time is taken down by stack.

``python -m tests.benchmarks.service.sampled FILE serve …`` runs ``app serve …``. Samples are taken while
FILE.begin exists; they are written to FILE once FILE.end does.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Final

from tests.benchmarks.flame import Stack

_EVERY: Final = 0.004
"""Seconds of processor time between two looks. The kernel counts them, so that a look comes while work is
done, and not when it pauses anyway."""

_SWITCHED_AFTER: Final = 0.00005
"""Seconds after which a thread that computes lets the one that looks do so."""

_ASKED_SECONDS: Final = 0.05
_TIMER: Final = frozenset({signal.SIGPROF})

_BELOW: Final = frozenset(
    {
        ("asyncio.runners", "Runner.run"),
        ("asyncio.events", "Handle._run"),
        ("concurrent.futures.thread", "_WorkItem.run"),
    }
)
"""What stands below the work of every request: a stack begins above it."""


class Sampler:
    """Adds the processor time since the last look to the stack of the thread that took most of it."""

    def __init__(self) -> None:
        self.seconds: dict[Stack, float] = {}
        self._spent: dict[int, float] = {}

    def look(self) -> None:
        """Take down what all threads but this one do."""
        added, own, frames = {}, threading.get_ident(), sys._current_frames()
        for thread in threading.enumerate():
            if thread.ident in frames and thread.ident != own:
                spent = time.clock_gettime(time.pthread_getcpuclockid(thread.ident))
                added[thread.ident] = spent - self._spent.get(thread.ident, spent)
                self._spent[thread.ident] = spent
        busiest = max(added, key=lambda ident: added[ident])
        stack = stack_of(frames[busiest])
        self.seconds[stack] = self.seconds.get(stack, 0.0) + sum(added.values())


def stack_of(frame: FrameType | None) -> Stack:
    """The functions of a stack, the outermost first, without what is below every request."""
    found: list[tuple[str, str]] = []
    while frame is not None:
        found.append((frame.f_globals.get("__name__", "?"), frame.f_code.co_qualname))
        frame = frame.f_back
    return above_the_loop(found[::-1])


def above_the_loop(found: Sequence[tuple[str, str]]) -> Stack:
    """Modules and functions as a stack that begins where the work of a request does."""
    starts = [found.index(one) + 1 for one in _BELOW if one in found]
    return tuple(f"{module}:{function}" for module, function in found[max(starts, default=0) :])


def _watch(place: Path) -> None:
    sampler = Sampler()
    begin, end = place.with_suffix(".begin"), place.with_suffix(".end")
    while not begin.exists():
        time.sleep(_ASKED_SECONDS)
    signal.setitimer(signal.ITIMER_PROF, _EVERY, _EVERY)
    while not end.exists():
        if signal.sigtimedwait(_TIMER, _ASKED_SECONDS):
            sampler.look()
    signal.setitimer(signal.ITIMER_PROF, 0.0)
    told = [[list(stack), seconds] for stack, seconds in sampler.seconds.items()]
    coming = place.with_suffix(".coming")
    coming.write_text(json.dumps(told), encoding="utf-8")
    coming.rename(place)


if __name__ == "__main__":
    from app.main import main

    sys.setswitchinterval(_SWITCHED_AFTER)
    # No thread is interrupted: the one that looks waits for the timer.
    signal.pthread_sigmask(signal.SIG_BLOCK, _TIMER)
    threading.Thread(target=_watch, args=(Path(sys.argv[1]),), daemon=True).start()
    sys.argv[1:] = sys.argv[2:]
    main()
