"""The parts of the benchmark, each measured in a process of its own: no part's memory burdens another's."""

from __future__ import annotations

import importlib
import multiprocessing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.benchmarks.measurement import Measurement

if TYPE_CHECKING:
    from tests.benchmarks.row import Report, Row


@dataclass(frozen=True)
class Part:
    """Benchmarks in one module: its function ``rows(data, report)`` measures them.

    ``needs`` is the folder of real data without which there is nothing to measure.
    """

    name: str
    module: str
    measures: str
    needs: str | None = None


PARTS: Final = (
    Part("machine", "tests.benchmarks.machine", "what the machine's memory gives"),
    Part("core", "tests.benchmarks.core", "scoring and searching on Adult", needs="arx-adult"),
    Part("table", "tests.benchmarks.table", "table-level rules on Adult", needs="arx-adult"),
    Part(
        "anonymity",
        "tests.benchmarks.anonymity",
        "least loss under 5-anonymity on Adult and the credit cards",
        needs="arx-adult",
    ),
    Part(
        "minimal_tables",
        "tests.benchmarks.minimal_tables",
        "homogeneous groups of all minimal k-anonymous tables, beside pandas",
        needs="uci-adult-48842",
    ),
    Part(
        "recoding",
        "tests.benchmarks.recoding",
        "levels of their own for every record of Adult and the credit cards",
        needs="arx-adult",
    ),
    Part("partitions", "tests.benchmarks.partitions", "classes of half a million records by BUREL and cuts"),
    Part(
        "models",
        "tests.benchmarks.models",
        "the privacy models of Adult and of a million records",
        needs="arx-adult",
    ),
    Part(
        "library",
        "tests.benchmarks.library",
        "files to codes and the attackers' risks without a service",
        needs="arx-adult",
    ),
    Part("persons", "tests.benchmarks.persons", "persons counted, and searches by persons on Adult"),
    Part("file-rows", "tests.benchmarks.file_rows", "rows of a file matched with the records of a table"),
    Part("attacks", "tests.benchmarks.attacks", "values handed out in classes, beside assignments in a loop"),
    Part(
        "synthetic_attacks",
        "tests.benchmarks.synthetic_attacks",
        "a table attacked by a synthetic one, beside pandas",
        needs="uci-adult-48842",
    ),
    Part(
        "networks",
        "tests.benchmarks.networks",
        "items that leak, common friends, plans, invitations",
    ),
    Part("calibration", "tests.benchmarks.calibration", "priors of a synthesiser, beside scipy in a loop"),
    Part("perturbation", "tests.benchmarks.perturbation", "draws of sensitive values, and counts from them"),
    Part("private", "tests.benchmarks.private_samples", "private samples of generalised records"),
    Part("drawn_people", "tests.benchmarks.drawn_people", "the workers of a state drawn anew"),
    Part("reconstruction", "tests.benchmarks.reconstruction", "groups under test, copies, expected errors"),
    Part("algorithms", "tests.benchmarks.algorithms", "all searches on Adult", needs="arx-adult"),
    Part("scale", "tests.benchmarks.scale", "the case study at the papers' full size"),
    Part("many", "tests.benchmarks.many", "single records with seventy attributes"),
    Part("views", "tests.benchmarks.views", "views of a warehouse in SQL, read and checked against secrets"),
    Part("audit", "tests.benchmarks.audit", "an audit chain verified"),
    Part("cluster", "tests.benchmarks.cluster", "rules and blocks on a Dask cluster of this machine"),
    Part("growth", "tests.benchmarks.growth", "exponents of how time grows"),
)


class PartFailedError(Exception):
    """A part ended before all was measured."""


def measurements(part: Part, data: Path | None) -> Iterator[Measurement]:
    """The rows of a part as they are measured; PartFailedError if its process ends badly."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(part.module, data, sender), daemon=True)
    process.start()
    sender.close()
    try:
        while True:
            try:
                row: Row = receiver.recv()
            except EOFError:
                break
            yield _measurement(part.name, row)
        process.join()
    finally:
        process.kill()
        process.join()
        receiver.close()
    if process.exitcode != 0:
        raise PartFailedError(f"its process ended with status {process.exitcode}")


def _measure(module: str, data: Path | None, sender: Connection) -> None:
    rows: Callable[[Path | None, Report], None] = importlib.import_module(module).rows
    with sender:
        rows(data, sender.send)


def _measurement(part: str, row: Row) -> Measurement:
    from tests.benchmarks.row import BYTES_MOVED

    moved = row.counters.get(BYTES_MOVED)
    return Measurement(
        part=part,
        work=row.work,
        bar=row.bar,
        aim=row.aim,
        unit="s",
        ours=row.ours_seconds,
        bar_met=_met(row.ours_seconds, row.bar_seconds),
        aim_met=_met(row.ours_seconds, row.aim_seconds),
        baseline=row.baseline,
        baseline_value=row.baseline_seconds,
        ratio=row.ratio,
        limit=None if moved is None else moved / _bandwidth(),
        peak_mib=None if row.peak_bytes is None else row.peak_bytes / 2**20,
        counters={**row.counters, **_estimated(row)},
        same_result=row.same_result,
        detail=row.detail,
    )


def _estimated(row: Row) -> dict[str, float]:
    """How many times as long as the work takes was estimated, where an estimate is among the counters."""
    estimated = row.counters.get("estimated_seconds")
    return {} if estimated is None else {"estimated_times": estimated / row.ours_seconds}


def _met(seconds: float, allowed: float | None) -> bool | None:
    return None if allowed is None else seconds <= allowed


@cache
def _bandwidth() -> float:
    from tests.benchmarks.machine import bandwidth

    return bandwidth()
