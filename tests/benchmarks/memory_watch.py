"""The memory of another process while something happens to it."""

from __future__ import annotations

import os
import threading
from pathlib import Path


class MemoryWatch:
    """Samples the resident memory of a process while something else happens."""

    def __init__(self, pid: int) -> None:
        self._statm = Path(f"/proc/{pid}/statm")
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._before = self._peak = self._pages()

    @property
    def growth_mib(self) -> float:
        """How much more than at the beginning the process held at most."""
        return (self._peak - self._before) * os.sysconf("SC_PAGE_SIZE") / 2**20

    def __enter__(self) -> MemoryWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._ended.wait(0.02):
            self._peak = max(self._peak, self._pages())

    def _pages(self) -> int:
        return int(self._statm.read_text().split()[1])
