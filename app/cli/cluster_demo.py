"""``cluster-demo``: the case study's rules on a Dask cluster of this machine, of which a worker is killed."""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import itertools
import json
import logging
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, aclosing, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from app.charts.series import Series, draw_series
from app.cli.operations import Operations
from app.domain.errors import NotSupported
from app.domain.search.budget import Halted, never
from app.samples import DEFAULT_ENTITIES, DEFAULT_MEMBERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from app.domain.search.context import SearchContext
    from app.services.runs.run_execution import Conclusion, FinishedBlock

RULES_PER_BLOCK: Final = 10
MEMORY_BYTES: Final = 8 * 2**30
JOIN_SECONDS: Final = 120.0
"""Most time that the workers may take to start."""

SURVIVOR, MORTAL = "worker 1", "worker 2"


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "cluster-demo",
        description="Start a Dask scheduler and two workers on this machine, score every rule of the case "
        "study there, kill one of the workers once a third of the blocks are finished, and compare the bytes "
        "with those of one process. Status 1 means that they differ, or that the cluster did not finish.",
    )
    parser.add_argument(
        "--members", type=int, default=DEFAULT_MEMBERS, help=f"members (default {DEFAULT_MEMBERS:,})"
    )
    parser.add_argument(
        "--entities",
        type=int,
        default=DEFAULT_ENTITIES,
        help=f"people of the census (default {DEFAULT_ENTITIES:,})",
    )
    parser.add_argument(
        "--picture", type=Path, metavar="FILE", help="SVG of the blocks by worker over time, with the kill"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, operations: Operations) -> int:
    """Score the rules on the cluster and here; 1 if a byte differs."""
    if find_spec("distributed") is None:
        raise NotSupported("The command needs Dask.", "Install it: pip install 'privacy-risk[cluster]'.")
    from app.experiments.case_study import case_study
    from app.services.fingerprints import canonical_json

    work = RulesOfCaseStudy(case_study(0, arguments.members, arguments.entities))
    print(f"{work.units} rules, {arguments.members:,} members, {arguments.entities:,} people", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(_on_a_cluster(work, folder))
    if arguments.picture is not None:
        arguments.picture.write_text(_picture(found))
    start = time.time()
    here = {number: work.run_block(number, lambda done: None) for number in range(work.n_blocks)}
    print(f"in this process: {time.time() - start:.1f} s")
    there = {block.number: block.payload for block in found.blocks}
    results = [canonical_json(work.conclude(payloads).result) for payloads in (here, there)]
    for place, result in zip(("in this process", "on the cluster"), results, strict=True):
        print(f"{place}: {len(result):,} bytes, sha256 {hashlib.sha256(result).hexdigest()}")
    if not found.killed:
        print("Nothing is shown: the cluster did not come as far as the kill.")
        return 1
    is_same = results[0] == results[1]
    print("The bytes are the same." if is_same else "THE BYTES DIFFER.")
    return int(not is_same)


@dataclass(frozen=True, eq=False)
class RulesOfCaseStudy:
    """Work of a run: the risk and the utility of each of the case study's table rules, ten rules a block."""

    context: SearchContext
    seconds: float = 60.0
    time_limit: float | None = None

    @property
    def rules(self) -> list[tuple[int, ...]]:
        """Their levels, in lexicographic order."""
        return list(itertools.product(*(range(height + 1) for height in self.context.table.heights)))

    @property
    def units(self) -> int:
        """Rules."""
        return len(self.rules)

    @property
    def n_blocks(self) -> int:
        """Blocks of ten rules."""
        return -(-self.units // RULES_PER_BLOCK)

    def run_block(self, index: int, tick: Callable[[int], None], halted: Halted = never) -> bytes:
        """Risk and utility of the block's rules."""
        from app.domain.risk.assessment import assess
        from app.domain.rules.rule import TableRule
        from app.services.fingerprints import canonical_json

        asked, scores = self.context, []
        for levels in self.rules[index * RULES_PER_BLOCK : (index + 1) * RULES_PER_BLOCK]:
            score = assess(asked.table, TableRule(levels), asked.dictionary, asked.sensitivity, asked.utility)
            scores.append([list(levels), score.risk_average, score.utility_average])
            tick(len(scores))
        return canonical_json(scores)

    def conclude(self, blocks: Mapping[int, bytes]) -> Conclusion:
        """All rules."""
        from app.services.runs.run_execution import Conclusion

        return Conclusion({"rules": [rule for index in sorted(blocks) for rule in json.loads(blocks[index])]})


@dataclass(frozen=True)
class _Found:
    """The blocks of the cluster; when they were asked for and a worker was killed, in seconds since 1970."""

    blocks: list[FinishedBlock]
    began: float
    killed: float


async def _on_a_cluster(work: RulesOfCaseStudy, folder: str) -> _Found:
    import dask
    from distributed import Client, Scheduler

    from app.workers.cluster import ClusterOptions
    from app.workers.cluster.blocks import DaskCluster

    blocks: list[FinishedBlock] = []
    for name in ("distributed", "distributed.client", "asyncio"):
        # They would report each part that comes and goes, and what the killed worker leaves undone.
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with ExitStack() as workers:
        workers.enter_context(dask.config.set({"temporary-directory": folder}))
        # The scheduler is in this process, so that nothing outlives it: workers end without a scheduler.
        at = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
        async with Scheduler(**at, dashboard=False) as scheduler:
            address = scheduler.address
            survivor, mortal = (
                workers.enter_context(_worker(address, name, folder)) for name in (SURVIVOR, MORTAL)
            )
            async with Client(address, asynchronous=True, set_as_default=False) as client:
                await client.wait_for_workers(2, timeout=JOIN_SECONDS)
            cluster = DaskCluster(ClusterOptions(address, False, MEMORY_BYTES, least_seconds=0.0))
            began, killed = time.time(), 0.0
            computed = cluster.map_blocks(
                work, range(work.n_blocks), lambda: survivor.poll() is not None, lambda stage: None
            )
            async with aclosing(computed):
                async for block in computed:
                    blocks.append(block)
                    if not killed and 3 * len(blocks) >= work.n_blocks:
                        mortal.kill()
                        killed = time.time()
                        print(f"{MORTAL} killed after {len(blocks)} of {work.n_blocks} blocks", flush=True)
            after = f"{MORTAL} killed after {killed - began:.1f} s"
            print(f"on the cluster: {time.time() - began:.1f} s, {after if killed else 'nobody killed'}")
    return _Found(blocks, began, killed)


@contextmanager
def _worker(address: str, name: str, folder: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(  # noqa: S603 - our own program and arguments
        [
            sys.executable, "-m", "distributed.cli.dask_worker", address, "--name", name, "--nthreads", "1",
            "--no-nanny", "--no-dashboard", "--memory-limit", "0", "--death-timeout", "10",
            "--local-directory", folder,
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _picture(found: _Found) -> str:
    """Blocks by worker over time, with the kill."""
    series = []
    for worker in sorted({block.worker for block in found.blocks}):
        ends = sorted(block.ended - found.began for block in found.blocks if block.worker == worker)
        series.append(Series(worker, (0.0, *ends), tuple(map(float, range(len(ends) + 1))), "step"))
    before = sum(block.worker == MORTAL and block.ended <= found.killed for block in found.blocks)
    kill = Series(f"{MORTAL} is killed", (found.killed - found.began,), (float(before),), "points")
    note = "Each step is a block of ten rules. What the killed worker had not sent is computed again."
    return draw_series("Blocks by worker", "Seconds", "Blocks finished", [*series, kill], note)
