"""The memory of other processes while something happens to them."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import psutil

from tests.benchmarks.service.costs import family


class MemoryWatch:
    """Samples the resident memory of a process, and of those it has started by then, while something happens.

    ``seen`` are the samples as (seconds, MiB), the first from before it begins.
    """

    def __init__(self, pid: int, pause: float = 0.02) -> None:
        self._files = [Path(f"/proc/{one.pid}/statm") for one in family(psutil.Process(pid))]
        self._pause = pause
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self.seen = [self._now()]

    @property
    def growth_mib(self) -> float:
        """How much more than at the beginning the processes held at most."""
        return max(held for _, held in self.seen) - self.seen[0][1]

    def __enter__(self) -> MemoryWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._ended.wait(self._pause):
            self.seen.append(self._now())

    def _now(self) -> tuple[float, float]:
        return time.monotonic(), sum(map(_pages, self._files)) * os.sysconf("SC_PAGE_SIZE") / 2**20


def _pages(statm: Path) -> int:
    """Resident pages; 0 once the process has ended."""
    try:
        return int(statm.read_text().split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0
