"""One row of the benchmark, and how its seconds and bytes are taken.

Warm: the tables are encoded and reduced and the code is loaded, no count, grouping or result of an earlier
call is kept.
"""

from __future__ import annotations

import resource
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from app.domain.search.budget import Halted, never
from app.domain.search.outcome import Outcome

BYTES_MOVED = "bytes_moved"
"""Name of the counter of the bytes that the work cannot do without reading or writing."""

T = TypeVar("T")


@dataclass(frozen=True)
class Row:
    """One piece of work against its bar.

    Parameters
    ----------
    bar, aim
        What the time, or a counter, has to keep to, and what it should reach, in words.
    ours_seconds, baseline_seconds
        Medians of warm runs of the same work by us and by ``baseline``, in the same run of the benchmark.
    peak_bytes
        The most that the process held in memory while ours ran, its input included.
    counters
        Numbers of what was done; ``bytes_moved`` among them gives the limit that the memory's bandwidth sets.
    same_result
        Whether ours and the baseline (or a published value) agree; None if there is nothing to compare.
    detail
        How the baseline was taken, and what else a reader must know.
    bar_seconds, aim_seconds
        Bar and aim as seconds of ``ours_seconds``, where they are that.
    """

    work: str
    bar: str
    ours_seconds: float
    aim: str = ""
    baseline: str | None = None
    baseline_seconds: float | None = None
    peak_bytes: int | None = None
    counters: Mapping[str, int | float] = field(default_factory=dict)
    same_result: bool | None = None
    detail: str = ""
    bar_seconds: float | None = None
    aim_seconds: float | None = None

    @property
    def ratio(self) -> float | None:
        """How many times as long as ours the baseline takes."""
        return None if self.baseline_seconds is None else self.baseline_seconds / self.ours_seconds


Report = Callable[[Row], None]
"""Takes every row as soon as it is measured."""


def counters_of(outcome: Outcome) -> dict[str, int]:
    """How much a search did, by kind of work."""
    counters = outcome.counters
    return {
        "visited_nodes": counters.visited_nodes,
        "risk_evaluations": counters.risk_evaluations,
        "utility_evaluations": counters.utility_evaluations,
    }


@dataclass(frozen=True)
class Timing(Generic[T]):
    """What repeated work took.

    ``seconds`` is the median of wall-clock times, ``least`` the least of them; ``cpu_seconds`` the median of
    the processor time of all threads, ``least_cpu_seconds`` the least; ``peak_bytes`` as in :class:`Row`;
    ``answer`` that of the last run.
    """

    answer: T
    seconds: float
    least: float
    cpu_seconds: float
    least_cpu_seconds: float
    peak_bytes: int

    @property
    def spent(self) -> dict[str, float]:
        """Processor time and least time, as counters of a row."""
        return {"cpu_seconds": self.cpu_seconds, "least_seconds": self.least}


def timed(work: Callable[[], T], repeats: int = 3, warm_up: int = 1) -> Timing[T]:
    """Do ``work`` ``warm_up`` times unmeasured and ``repeats`` (at least 1) times measured."""
    for _ in range(warm_up):
        work()
    watch = PeakWatch()
    wall: list[float] = []
    processor: list[float] = []
    for _ in range(repeats):
        start, cpu = time.perf_counter(), time.process_time()
        answer = work()
        wall.append(time.perf_counter() - start)
        processor.append(time.process_time() - cpu)
    return Timing(
        answer,
        statistics.median(wall),
        min(wall),
        statistics.median(processor),
        min(processor),
        watch.peak(),
    )


def halted_after(seconds: float | None) -> Halted:
    """What stops a search after so long; never if None."""
    if seconds is None:
        return never
    end = time.perf_counter() + seconds
    return lambda: time.perf_counter() >= end


class PeakWatch:
    """The most memory this process holds from now on.

    Where the kernel cannot forget the peak so far (only Linux can), it is the most since the process began.
    """

    def __init__(self) -> None:
        try:
            # "5" sets the peak back to what is held now (proc(5)).
            Path("/proc/self/clear_refs").write_text("5")
        except OSError:
            self._since_now = False
        else:
            self._since_now = True

    def peak(self) -> int:
        """Bytes held at most since this watch was made."""
        if self._since_now:
            for line in Path("/proc/self/status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024
