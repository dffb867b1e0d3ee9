"""What reading one upload has cost so far, beside what its size allows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from app.domain.errors import TooCostly
from app.services.datasets.ingest import faults
from app.services.datasets.ingest.dialect import UploadLimits


class ProcessorBudget:
    """Adds up the processor time of the thread that works for an upload and of its child process.

    ``received`` is the number of bytes that arrived: with them grows what may be spent.
    """

    def __init__(self, limits: UploadLimits, clock: Callable[[], float] = time.thread_time) -> None:
        self._limits = limits
        self._clock = clock
        self._spent = 0.0
        self._began: float | None = None
        self.received = 0
        self.spent_by_child = 0.0

    @contextmanager
    def working(self) -> Iterator[None]:
        """Count what the current thread spends inside."""
        self._began = self._clock()
        try:
            yield
        finally:
            self._spent += self._clock() - self._began
            self._began = None

    def check(self) -> None:
        """Raise TooCostly if more was spent than what was received allows; call it in the same thread."""
        now = 0.0 if self._began is None else self._clock() - self._began
        if self._spent + now + self.spent_by_child > self._limits.processor_seconds_for(self.received):
            raise self.exceeded()

    def exceeded(self) -> TooCostly:
        """The refusal."""
        return faults.too_costly(self._limits.processor_seconds_for(self.received), self.received)
