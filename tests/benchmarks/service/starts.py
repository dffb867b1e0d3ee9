"""What starting takes: the imports, ``serve``, whole commands, refusals, memory at rest."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from app.cli.embedded import temporary_folder
from app.samples import JOURNEY
from app.samples.files import write_sample
from tests.benchmarks.measurement import Measurement
from tests.benchmarks.service.asked import Asked
from tests.benchmarks.service.commands import PROGRAM, PYTHON, Command, Served, quickest, run, served
from tests.benchmarks.service.costs import roles_of

PART = "starts"
IMPORTS, STARTS, COMMANDS = 5, 3, 2
SETTLED_SECONDS = 5.0
"""After which a service that was just started is at rest."""

POLICY: Final = """\
format: privacy-risk/policy/2
name: classes-of-five
version: 1
title: Classes of at least five
assumes: {attacker: Anybody who knows the quasi-identifiers of a member.}
schema:
  attributes:
    member_id: identifier
    city: quasi_identifier
    race: quasi_identifier
    birth_date: quasi_identifier
    income: sensitive
not_covered:
  - {columns: [income], reason: Nobody outside knows what a member earns.}
requirements:
  - id: classes-of-five
    title: Classes of at least 5
    reason: What the statistical office requires of its own tables.
    requirement: {kind: privacy_model, model: {kind: k_anonymity, k: 5}}
"""
RULE: Final = "kind: table_level\nlevels: {city: 3, race: 2, birth_date: 3, income: 1}\n"

_PANDAS: Final = (
    "import sys, pandas as pd; t = pd.read_csv(sys.argv[1], sep=';', dtype=str); "
    "print(t.groupby(list(t.columns[:-1])).size().min())"
)


def measure(asked: Asked) -> Iterator[Measurement]:
    """All of it; the whole command ``profile`` only where there are real data."""
    yield _imports()
    with temporary_folder(asked.operations) as folder:
        yield from _serving(folder)
        write_sample(folder / "gate", 200, 200)
        yield _gate(folder / "gate")
        adult = None if asked.data is None else asked.data / "arx-adult" / "adult.csv"
        if adult is not None and adult.exists():
            yield _profile(adult)
        yield _wrong_arguments(folder / "gate")


def _imports() -> Measurement:
    found = min(
        (run([*PYTHON, "-c", "import app.composition.serving"]) for _ in range(IMPORTS)),
        key=lambda one: one.processor,
    )
    return _row(
        "import of what serves", found.processor, 1.5, 1.0, found, f"processor time, least of {IMPORTS}"
    )


def _serving(folder: Path) -> Iterator[Measurement]:
    first, again, memory = [], [], {"api": 0.0}
    for number in range(STARTS):
        home = folder / f"home-{number}"
        with served(home) as one:
            first.append(one)
        with served(home) as one:
            again.append(one)
            if number == STARTS - 1:
                time.sleep(SETTLED_SECONDS)
                memory = roles_of(one.service, home).memory_mib()
        shutil.rmtree(home)
    yield _started("serve until ready, first start in a folder", first, 3.5, 2.0)
    yield _started("serve until ready, started again", again, 2.0, 1.2)
    whole = sum(memory.values())
    yield Measurement(
        part=PART,
        work="memory of a service at rest: API, worker and its children, PostgreSQL",
        bar="≤ 320 MiB",
        aim="≤ 250 MiB",
        unit="MiB",
        ours=whole,
        bar_met=whole <= 320,
        aim_met=whole <= 250,
        counters={f"{role}_mib": round(size, 1) for role, size in memory.items()},
        detail="proportional set size: pages that processes share are divided among them",
    )


def _started(work: str, found: Sequence[Served], bar: float, aim: float) -> Measurement:
    least = min(found, key=lambda one: one.seconds)
    return Measurement(
        part=PART, work=work, bar=f"≤ {bar:g} s", aim=f"≤ {aim:g} s", unit="s", ours=least.seconds,
        bar_met=least.seconds <= bar, aim_met=least.seconds <= aim,
        counters={"cpu_seconds": round(least.processor, 2)},
        detail=f"until /readyz says so, least of {len(found)}; the processor time is that of API and worker",
    )  # fmt: skip


def _profile(table: Path) -> Measurement:
    found = quickest([*PROGRAM, "profile", str(table)], COMMANDS)
    pandas = quickest([*PYTHON, "-c", _PANDAS, str(table)], COMMANDS)
    return _row(
        "profile adult.csv, whole command", found.seconds, 5.0, 3.0, found,
        f"waiting, least of {COMMANDS}; pandas: the size of the smallest class alone", pandas,
    )  # fmt: skip


def _gate(folder: Path) -> Measurement:
    (folder / "policy.yaml").write_text(POLICY)
    (folder / "rule.yaml").write_text(RULE)
    found = quickest([*_judging(folder), "--rule", str(folder / "rule.yaml")], COMMANDS)
    return _row(
        "gate with an embedded service, whole command, 200 records", found.seconds, 6.0, 4.0, found,
        f"waiting, least of {COMMANDS}",
    )  # fmt: skip


def _judging(folder: Path, table: str = "members.csv") -> list[str]:
    files = ["--dataset", str(folder / table), "--tables", str(folder / JOURNEY)]
    return [*PROGRAM, "gate", str(folder / "policy.yaml"), *files]


def _wrong_arguments(folder: Path) -> Measurement:
    """Every refusal; the slowest is told."""
    (folder / "malformed.yaml").write_text("requirements: [\n")
    journey = (folder / JOURNEY).read_text()
    (folder / "gone.toml").write_text(journey.replace('file = "members.csv"', 'file = "gone.csv"'))
    table = str(folder / "members.csv")
    commands = {
        "gate_malformed_rule": [*_judging(folder), "--rule", str(folder / "malformed.yaml")],
        "gate_missing_table": _judging(folder, "gone.csv"),
        "gate_other_table": _judging(folder, "census.csv"),
        "profile_missing_table": [*PROGRAM, "profile", str(folder / "gone.csv")],
        "profile_unknown_column": [*PROGRAM, "profile", table, "--quasi-identifiers", "town"],
        "demo_missing_table": [*PROGRAM, "demo", "--journey", str(folder / "gone.toml")],
    }
    found = {name: run(command) for name, command in commands.items()}
    slowest = max(one.seconds for one in found.values())
    return Measurement(
        part=PART,
        work="wrong arguments of gate, profile and demo: until the slowest is refused",
        bar="≤ 1 s",
        unit="s",
        ours=slowest,
        bar_met=slowest <= 1.0,
        counters={f"{name}_seconds": round(one.seconds, 2) for name, one in found.items()},
        same_result=all(one.status in (1, 2) for one in found.values()),
        detail="each once",
    )


def _row(
    work: str, ours: float, bar: float, aim: float, found: Command, detail: str, pandas: Command | None = None
) -> Measurement:
    return Measurement(
        part=PART,
        work=work,
        bar=f"≤ {bar:g} s",
        aim=f"≤ {aim:g} s",
        unit="s",
        ours=ours,
        bar_met=ours <= bar,
        aim_met=ours <= aim,
        baseline=None if pandas is None else "pandas",
        baseline_value=None if pandas is None else pandas.seconds,
        ratio=None if pandas is None else pandas.seconds / ours,
        counters={"cpu_seconds": round(found.processor, 2), "seconds": round(found.seconds, 2)},
        same_result=found.status == 0,
        detail=detail if found.status == 0 else f"{detail}; it said: {found.output[-500:]}",
    )
