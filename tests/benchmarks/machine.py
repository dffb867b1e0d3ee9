"""What this machine's memory gives: the limit of all work that has to move bytes."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import numpy as np

from tests.benchmarks.row import BYTES_MOVED, Report, Row, Timing, timed

COPIED = 256 * 2**20
GATHERED = 5_600_000
GATHERED_FROM = 10_750_000
SORTED = 9_800_000
SEED = 1

T = TypeVar("T")


def rows(data: Path | None, report: Report) -> None:
    """Copying, gathering and sorting by numpy, one thread; no real data are needed."""
    report(copying())
    report(gathering())
    report(sorting())


def bandwidth(n_bytes: int = COPIED) -> float:
    """Bytes per second that a copy in memory reads and writes together."""
    return 2 * n_bytes / _copy(n_bytes).least


def copying() -> Row:
    """A copy of one array to another."""
    found = _copy(COPIED)
    return _row(f"copy {COPIED // 2**20} MiB", found, 2 * COPIED, "what is read and what is written")


def gathering() -> Row:
    """Values at random places, as look-ups of counts by key are."""
    rng = np.random.default_rng(SEED)
    source, places = rng.random(GATHERED_FROM), rng.integers(GATHERED_FROM, size=GATHERED)
    found = timed(lambda: source[places], repeats=5)
    mib = source.nbytes // 2**20
    return _row(f"gather {GATHERED:,} values at random from {mib} MiB", found, 3 * 8 * GATHERED, "")


def sorting() -> Row:
    """Sorting keys, as distinct rows are found."""
    keys = np.random.default_rng(SEED).integers(2**62, size=SORTED)
    found = timed(lambda: np.sort(keys), repeats=3)
    return _row(f"sort {SORTED:,} keys of 64 bits", found, 2 * keys.nbytes, "read and written once")


def _copy(n_bytes: int) -> Timing[None]:
    source = np.ones(n_bytes // 8)
    target = np.empty_like(source)
    return timed(lambda: np.copyto(target, source), repeats=5)


def _row(work: str, found: Timing[T], moved: int, detail: str) -> Row:
    counters = {BYTES_MOVED: moved, "bytes_per_second": round(moved / found.least)}
    return Row(
        work=work,
        bar="none: the limit of the machine",
        ours_seconds=found.least,
        peak_bytes=found.peak_bytes,
        counters=counters,
        detail=detail,
    )
