"""One piece of work against its bar."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Measurement:
    """How we stand to a bar.

    ``ours`` and ``baseline`` are in ``unit``; ``ratio`` is baseline / ours; ``peak_mib`` is the memory that
    the work took on top; ``same_result`` says whether ours and the baseline agree (None: nothing to compare).
    """

    work: str
    bar: str
    unit: str
    ours: float
    baseline: float | None = None
    ratio: float | None = None
    peak_mib: float | None = None
    same_result: bool | None = None
    detail: str = ""
