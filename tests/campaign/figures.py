"""Figures that were measured, kept beside the page that shows them."""

from __future__ import annotations

import fcntl
import json
import os
import platform
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

TOP: Final = Path(__file__).parents[2]
KEPT: Final = TOP / "docs" / "reliability" / "figures.json"


@dataclass(frozen=True)
class Figure:
    """What was measured of a promise, by its id, and whether the promise was kept."""

    promise: str
    text: str
    is_kept: bool


@dataclass(frozen=True)
class Measured:
    """A figure, of which commit it is, where and when it was measured, and how many seconds its part took."""

    promise: str
    text: str
    is_kept: bool
    commit: str
    machine: str
    date: str
    seconds: int


def measured(figures: Iterable[Figure], seconds: float) -> list[Measured]:
    """The figures of one part that has just ended."""
    commit, date = commit_of(TOP), datetime.now(UTC).date().isoformat()
    return [
        Measured(own.promise, own.text, own.is_kept, commit, machine(), date, round(seconds))
        for own in figures
    ]


def commit_of(top: Path) -> str:
    """The commit of a checkout, with a plus sign if files of the product or the tests differ from it."""

    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(top), *arguments], capture_output=True, text=True, check=False
        )
        return done.stdout.strip()

    commit = git("rev-parse", "--short=12", "HEAD") or "unknown"
    return (
        f"{commit}+"
        if git("status", "--porcelain", "--", "app", "privacy_risk", "migrations", "tests")
        else commit
    )


def machine() -> str:
    """Processors, memory, system, interpreter, and how much there is to do at the moment, in words."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0))
    python, load = platform.python_version(), os.getloadavg()[1]
    system = f"Linux {platform.machine()}, Python {python}"
    return f"{cores} cores, {memory:.0f} GiB, {system}, load average {load:.0f}"


def kept(path: Path = KEPT) -> dict[str, Measured]:
    """The figures that are kept, by promise."""
    if not path.exists():
        return {}
    return {one["promise"]: Measured(**one) for one in json.loads(path.read_text(encoding="utf-8"))}


def keep(
    figures: Iterable[Measured],
    path: Path = KEPT,
    shown: Callable[[Mapping[str, Measured]], None] | None = None,
) -> None:
    """Keep these figures in the place of earlier ones of the same promises, and let all of them be shown.

    Campaigns that run at the same time wait for each other; whoever reads meanwhile sees the earlier ones.
    """
    path.parent.mkdir(exist_ok=True)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        known = kept(path) | {own.promise: own for own in figures}
        lines = [asdict(known[promise]) for promise in sorted(known)]
        coming = path.with_suffix(".coming")
        coming.write_text(json.dumps(lines, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        coming.replace(path)
        if shown is not None:
            shown(known)
    finally:
        os.close(folder)
