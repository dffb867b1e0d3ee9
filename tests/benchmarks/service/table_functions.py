"""From a table to its profile and its release: one call in Python, one command for a file of 100 MB."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pandas as pd

from app.cli.embedded import SERVICE, temporary_folder
from tests.benchmarks.measurement import Measurement
from tests.benchmarks.service.asked import Asked
from tests.benchmarks.service.commands import PROGRAM, PYTHON, BrokenError, Command, environment, run
from tests.benchmarks.service.large_pages import slowest_page
from tests.benchmarks.service.table_calls import K
from tests.benchmarks.wide_table import wide_table

PART: Final = "functions"
ROUNDS: Final = 3
FILE_MIB: Final = 100
ROWS_AT_FIRST: Final = 50_000
PEERS: Final = Path(__file__).parents[2] / "peers" / "whole_calls.py"
CALLS: Final = (
    ("profile", "pr.profile of Adult", "pycanon", (5.0, 0.5)),
    ("anonymise", "pr.anonymise of Adult: 5-anonymous, 3-diverse, 2 % suppressed", "anjana", (6.0, None)),
)
"""Call, what it does, who does it, too, and the bars of the first call of a process and of another."""


def measure(asked: Asked) -> Iterator[Measurement]:
    """The calls only where there are real data; the peers' where ``PEERS_ENVIRONMENT`` has them."""
    adult = None if asked.data is None else asked.data / "arx-adult"
    if adult is not None and adult.is_dir():
        for call, work, peer, bars in CALLS:
            yield from _called(call, work, (peer, _peers(call, adult)), bars, adult)
    yield from _large_file(asked)


def _called(
    call: str,
    work: str,
    peer: tuple[str, dict[str, Any] | None],
    bars: tuple[float, float | None],
    adult: Path,
) -> Iterator[Measurement]:
    found = [
        _answer([*PYTHON, "-m", "tests.benchmarks.service.table_calls", call, str(adult)])
        for _ in range(ROUNDS)
    ]
    name, theirs = peer
    for kind, bar, said in (("cold", bars[0], "in a new process"), ("warm", bars[1], "again, another table")):
        seconds = min(one[kind]["seconds"] for one in found)
        yield Measurement(
            part=PART,
            work=f"{work}, {said}",
            bar="none" if bar is None else f"≤ {bar:g} s",
            unit="s",
            ours=seconds,
            bar_met=None if bar is None else seconds <= bar,
            baseline=None if theirs is None else name,
            baseline_value=None if theirs is None else theirs["seconds"],
            ratio=None if theirs is None else theirs["seconds"] / seconds,
            same_result=_is_right(call, [one[kind]["figure"] for one in found], theirs),
            detail=f"waiting, least of {ROUNDS}",
        )


def _is_right(call: str, figures: list[float], theirs: dict[str, Any] | None) -> bool:
    """A profile's *k* is that of the peer; a release's smallest class is large enough, whose ever it is."""
    if call == "anonymise":
        return min(figures) >= K
    return len(set(figures)) == 1 and (theirs is None or figures[0] == theirs["figure"])


def _peers(call: str, adult: Path) -> dict[str, Any] | None:
    own = os.environ.get("PEERS_ENVIRONMENT")
    return None if own is None else _answer([f"{own}/bin/python", str(PEERS), call, str(adult)])


def _answer(command: list[str]) -> dict[str, Any]:
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)
    if done.returncode:
        raise BrokenError(done.stderr[-500:])
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _large_file(asked: Asked) -> Iterator[Measurement]:
    with temporary_folder(asked.operations) as folder:
        rows = _write(folder / "members.csv")
        service = asked.operations.start_service(folder / SERVICE)
        try:
            command = [
                *PROGRAM,
                "profile",
                str(folder / "members.csv"),
                "--server",
                service.base_url,
                "--json",
            ]
            found = run(command, PRIVACY_RISK_API_KEY=service.api_key)
            yield _profiled(found, rows)
            yield slowest_page(service, PART, rows)
        finally:
            service.stop()


def _profiled(found: Command, rows: int) -> Measurement:
    return Measurement(
        part=PART,
        work=f"a file of {FILE_MIB} MB from its upload to its profile, the service running",
        bar="≤ 15 s",
        unit="s",
        ours=found.seconds,
        bar_met=found.seconds <= 15,
        counters={"rows": rows, "command_cpu_seconds": round(found.processor, 2)},
        same_result=found.status == 0,
        detail="one command, what it says of the columns proposed by the service"
        if found.status == 0
        else f"it said: {found.output[-500:]}",
    )


def _write(path: Path) -> int:
    """A file of 100 MB, ten columns; its rows."""
    pd.DataFrame(wide_table(ROWS_AT_FIRST)).to_csv(path, index=False)
    rows = round(ROWS_AT_FIRST * FILE_MIB * 1e6 / path.stat().st_size)
    pd.DataFrame(wide_table(rows)).to_csv(path, index=False)
    return rows
