"""One piece of work against its bar."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Measurement:
    """How we stand to a bar.

    ``ours`` and ``baseline_value`` are in ``unit``; ``ratio`` is the baseline's value / ours; ``peak_mib`` is
    memory, of what ``detail`` says or else the most that the measuring process held meanwhile;
    ``same_result`` says whether ours and the baseline agree (None: nothing to compare).
    ``limit`` is the time that the machine's memory takes to move the bytes that the work cannot do without.
    """

    part: str
    work: str
    bar: str
    unit: str
    ours: float
    aim: str = ""
    bar_met: bool | None = None
    aim_met: bool | None = None
    baseline: str | None = None
    baseline_value: float | None = None
    ratio: float | None = None
    limit: float | None = None
    peak_mib: float | None = None
    counters: Mapping[str, int | float] = field(default_factory=dict)
    same_result: bool | None = None
    detail: str = ""
