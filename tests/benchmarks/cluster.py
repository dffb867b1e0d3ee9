"""Runs on a Dask cluster of this machine: two workers of one thread each, beside one process.

The start of scheduler and workers is left out, that of the processes of blocks is not where nothing else is
said.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from distributed import Client

from app.cli.cluster_demo import RulesOfCaseStudy
from app.experiments.case_study import case_study
from app.services.runs.run_execution import Conclusion, FinishedBlock, Work
from app.workers.cluster import ClusterOptions
from app.workers.cluster.block_process import order_of
from app.workers.cluster.blocks import DaskCluster
from tests.benchmarks.row import Report, Row
from tests.faults.cluster_processes import ClusterProcesses

WORKERS = 2
N_MEMBERS, N_ENTITIES = 200_000, 500_000
N_EMPTY = 400
MEMORY_BYTES = 2**32
MOST_TIMES, MOST_MS, MOST_BYTES = 1.3, 10.0, 2.0
REPEATS = 3
PATIENCE_SECONDS = 600.0


@dataclass(frozen=True)
class EmptyBlocks:
    """Blocks that compute nothing."""

    n_blocks: int
    seconds: float = 60.0
    time_limit: float | None = None

    @property
    def units(self) -> int:
        """One each."""
        return self.n_blocks

    def run_block(self, index: int, tick: Any, halted: Any = None) -> bytes:
        """Nothing."""
        return b""

    def conclude(self, blocks: Any) -> Conclusion:
        """Nothing."""
        return Conclusion({})


@dataclass(frozen=True)
class Taken:
    """Blocks of a work, the seconds until the last, and those until the first."""

    blocks: list[FinishedBlock]
    seconds: float
    first: float


def rows(data: Path | None, report: Report) -> None:
    """All rows."""
    asyncio.run(_measured(report))


async def _measured(report: Report) -> None:
    async with _cluster() as address:
        await _report_empty(address, report)
        await _report_rules(address, report)


@asynccontextmanager
async def _cluster() -> AsyncIterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        processes = ClusterProcesses(Path(folder))
        try:
            processes.start_scheduler()
            for number in range(WORKERS):
                processes.start_worker(f"worker {number}")
            async with Client(processes.address, asynchronous=True, timeout=PATIENCE_SECONDS) as client:
                await client.wait_for_workers(WORKERS, timeout=PATIENCE_SECONDS)
            yield processes.address
        finally:
            processes.end()


async def _report_empty(address: str, report: Report) -> None:
    taken = [await _taken(address, EmptyBlocks(N_EMPTY)) for _ in range(REPEATS)]
    each = [(one.seconds - one.first) / (N_EMPTY - 1) for one in taken]
    report(
        Row(
            f"a block of {N_EMPTY} that compute nothing, on {WORKERS} workers",
            f"≤ {MOST_MS:g} ms",
            statistics.median(each),
            bar_seconds=MOST_MS / 1000,
            counters={"least_ms": 1000 * min(each), "first_block_seconds": min(one.first for one in taken)},
            detail="from the first block to the last: what starting takes is apart",
        )
    )


async def _report_rules(address: str, report: Report) -> None:
    work = RulesOfCaseStudy(case_study(0, N_MEMBERS, N_ENTITIES))
    start = time.perf_counter()
    here = {number: work.run_block(number, lambda done: None) for number in range(work.n_blocks)}
    alone = time.perf_counter() - start
    taken = await _taken(address, work)
    order = order_of(work, MEMORY_BYTES)
    moved = len(order.content) + sum(len(block.payload) for block in taken.blocks) / WORKERS
    reduced = _bytes_of_reduced(work)
    report(
        Row(
            f"{work.units} rules of the case study, {N_MEMBERS:,} members, {N_ENTITIES:,} people",
            f"≤ {MOST_TIMES:g} × one process; moved ≤ {MOST_BYTES:g} × the reduced tables per worker",
            taken.seconds,
            baseline="one process",
            baseline_seconds=alone,
            bar_seconds=MOST_TIMES * alone,
            counters={
                "first_block_seconds": taken.first,
                "mib_per_worker": moved / 2**20,
                "mib_of_reduced_tables": reduced / 2**20,
                "times_reduced_tables": moved / reduced,
            },
            same_result={block.number: block.payload for block in taken.blocks} == here,
            detail="processes of blocks start within it",
        )
    )


def _bytes_of_reduced(work: RulesOfCaseStudy) -> int:
    """Of both tables' distinct rows as codes, with their counts."""
    tables = work.context.table.reduced, work.context.dictionary.reduced
    return sum(table.codes.nbytes + table.counts.nbytes for table in tables)


async def _taken(address: str, work: Work) -> Taken:
    cluster = DaskCluster(ClusterOptions(address, False, MEMORY_BYTES, least_seconds=0.0))
    blocks: list[FinishedBlock] = []
    start, first = time.perf_counter(), 0.0
    async with asyncio.timeout(PATIENCE_SECONDS):
        async for block in cluster.map_blocks(work, range(work.n_blocks), lambda: False, lambda stage: None):
            first = first or time.perf_counter() - start
            blocks.append(block)
    return Taken(blocks, time.perf_counter() - start, first)
