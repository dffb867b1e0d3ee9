"""A cluster on this machine, of which a worker is killed in the middle: ``python -m tests.cluster_demo``.

It starts a scheduler and two workers as processes, has them score every rule of the case study, kills one of
the workers once a third of the blocks are there, and compares the bytes with those of this process. A picture
shows how many blocks each worker had finished when. Exits 1 if a byte differs.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import sys
import tempfile
import time
from pathlib import Path

from distributed import Client

from app.charts.series import Series, draw_series
from app.services.fingerprints import canonical_json
from app.services.runs.run_execution import FinishedBlock
from app.workers.cluster import ClusterOptions
from app.workers.cluster.blocks import DaskCluster
from tests.benchmarks.case_study import case_study
from tests.benchmarks.cluster_rules import RulesOfCaseStudy
from tests.faults.cluster_processes import ClusterProcesses

MEMORY_BYTES = 2**31
PATIENCE_SECONDS = 120


async def on_a_cluster(work: RulesOfCaseStudy, folder: Path) -> tuple[list[FinishedBlock], float, float]:
    """The blocks, when the first was asked for, and when a worker was killed; in seconds since 1970."""
    processes = ClusterProcesses(folder)
    try:
        processes.start_scheduler()
        processes.start_worker("worker 1")
        mortal = processes.start_worker("worker 2")
        async with Client(processes.address, asynchronous=True, timeout=PATIENCE_SECONDS) as client:
            await client.wait_for_workers(2)
        cluster = DaskCluster(ClusterOptions(processes.address, falls_back=False, memory_bytes=MEMORY_BYTES))
        blocks: list[FinishedBlock] = []
        began, killed = time.time(), 0.0
        async for block in cluster.map_blocks(work, range(work.n_blocks), lambda: False, lambda stage: None):
            blocks.append(block)
            if not killed and 3 * len(blocks) >= work.n_blocks:
                mortal.kill()
                killed = time.time()
                print(f"worker 2 killed after {len(blocks)} of {work.n_blocks} blocks")
        print(f"on the cluster: {time.time() - began:.1f} s, worker 2 killed after {killed - began:.1f} s")
    finally:
        processes.end()
    return blocks, began, killed


def picture(blocks: list[FinishedBlock], began: float, killed: float) -> str:
    """Blocks by worker over time, with the kill."""
    series = []
    for worker in sorted({block.worker for block in blocks}):
        ends = sorted(block.ended - began for block in blocks if block.worker == worker)
        series.append(Series(worker, (0.0, *ends), tuple(map(float, range(len(ends) + 1))), "step"))
    before = sum(block.worker == "worker 2" and block.ended <= killed for block in blocks)
    series.append(Series("worker 2 is killed", (killed - began,), (float(before),), "points"))
    note = "Each step is a block of ten rules. What the killed worker had not sent is computed again."
    return draw_series("Blocks by worker", "Seconds", "Blocks finished", series, note)


def main() -> int:
    """Run it; the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--members", type=int, default=20_000)
    parser.add_argument("--entities", type=int, default=50_000)
    parser.add_argument("--picture", type=Path, default=Path("cluster-demo.svg"))
    asked = parser.parse_args()
    work = RulesOfCaseStudy(case_study(asked.members, asked.entities, 200))
    print(f"{work.units} rules, {asked.members:,} members, {asked.entities:,} entities")
    with tempfile.TemporaryDirectory() as folder:
        blocks, began, killed = asyncio.run(on_a_cluster(work, Path(folder)))
    asked.picture.write_text(picture(blocks, began, killed))
    start = time.time()
    here = {number: work.run_block(number, lambda done: None) for number in range(work.n_blocks)}
    print(f"in this process: {time.time() - start:.1f} s")
    results = [
        canonical_json(work.conclude(payloads).result)
        for payloads in (here, {block.number: block.payload for block in blocks})
    ]
    for name, result in zip(("in this process", "on the cluster"), results, strict=True):
        print(f"{name}: {len(result):,} bytes, sha256 {hashlib.sha256(result).hexdigest()}")
    print("The bytes are the same." if results[0] == results[1] else "THE BYTES DIFFER.")
    return int(results[0] != results[1])


if __name__ == "__main__":
    sys.exit(main())
