"""Blocks on a Dask cluster whose scheduler and workers are absent, killed, restarted or refused."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import random
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="the extra cluster is not installed")

import dask
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from distributed import Client
from distributed.client import AllExit

from app.domain.errors import NotSupported
from app.services.fingerprints import canonical_json as canonical
from app.services.resources import RunState
from app.services.runs.run_execution import FinishedBlock
from app.workers.child import WorkFailed
from app.workers.cluster import ClusterOptions, blocks
from app.workers.cluster.block_process import order_of
from app.workers.cluster.blocks import WAITING, DaskCluster
from tests.faults.chain_work import FaultyChains, HashChains
from tests.faults.cluster_processes import OTHER_VERSION, ROOT, ClusterProcesses
from tests.faults.hash_chains import chains
from tests.faults.small_disk import fill, mounted
from tests.processes import HANG_SECONDS, seconds_until_gone

pytestmark = pytest.mark.anyio

WORK = HashChains("chains", 12, 2)
MEMORY = 2**30


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[ClusterProcesses]:
    processes = ClusterProcesses(tmp_path)
    yield processes
    processes.end()


@pytest.fixture(scope="module")
def standing(tmp_path_factory) -> Iterator[ClusterProcesses]:
    """A cluster of two workers that nobody kills."""
    processes = ClusterProcesses(tmp_path_factory.mktemp("standing"))
    processes.start_scheduler()
    processes.start_worker("first")
    processes.start_worker("second")
    yield processes
    processes.end()


def of_one_process(work: HashChains = WORK) -> dict[int, bytes]:
    return {index: work.undisturbed(index) for index in range(work.n_blocks)}


class Mapped:
    """The blocks of a work as a cluster gives them, and the stages that it entered."""

    def __init__(self, address: str, work: HashChains = WORK, falls_back: bool = False) -> None:
        self.work = work
        self.blocks: dict[int, FinishedBlock] = {}
        self.stages: list[str] = []
        self.halted = False
        self.patience = HANG_SECONDS
        self._cluster = DaskCluster(ClusterOptions(address, falls_back, MEMORY, least_seconds=0.0))

    async def run(self) -> None:
        numbers = range(self.work.n_blocks)
        computed = self._cluster.map_blocks(self.work, numbers, lambda: self.halted, self.stages.append)
        async with asyncio.timeout(self.patience), aclosing(computed):
            async for block in computed:
                assert block.number not in self.blocks
                self.blocks[block.number] = block

    @contextlib.asynccontextmanager
    async def running(self):
        """Run meanwhile, and wait for the end at last."""
        loop = asyncio.get_running_loop()
        before = loop.get_exception_handler()

        def handle(own, context):
            # Dask leaves a task behind that waited for what a killed worker had.
            if not isinstance(context.get("exception"), AllExit):
                (before or type(own).default_exception_handler)(own, context)

        loop.set_exception_handler(handle)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.run())
                yield
            await asyncio.sleep(0)
            gc.collect()
        finally:
            loop.set_exception_handler(before)

    async def until(self, n_blocks: int) -> None:
        while len(self.blocks) < n_blocks:  # noqa: ASYNC110 - another task
            await asyncio.sleep(0.02)

    async def until_stage(self, stage: str) -> None:
        while stage not in self.stages:  # noqa: ASYNC110 - another task
            await asyncio.sleep(0.02)

    @property
    def payloads(self) -> dict[int, bytes]:
        return {number: self.blocks[number].payload for number in sorted(self.blocks)}


async def test_the_bytes_are_those_of_one_process_and_nothing_is_left_behind(standing):
    mapped = Mapped(standing.address)
    async with mapped.running():
        pass
    assert mapped.payloads == of_one_process()
    assert all(block.units == WORK.units_per_block for block in mapped.blocks.values())
    await assert_nothing_is_left(standing)
    files = [path for path in standing.folder.rglob("*") if path.is_file() and path.stat().st_size]
    assert [path for path in files if path.suffix not in (".lock", ".dirlock")] == []


async def assert_nothing_is_left(processes: ClusterProcesses) -> None:
    """No process of blocks, no task of the scheduler, and nothing in the memory of a worker."""
    processes.wait_until_idle()
    async with Client(processes.address, asynchronous=True) as client:
        assert await client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)) == 0
        held = await client.run(lambda dask_worker: len(dask_worker.data))
    assert set(held.values()) <= {0}


async def killed_at_random(processes: ClusterProcesses, seed: int, times: int) -> None:
    drawn = random.Random(seed)
    work = HashChains("chains", 6 + 4 * times, 2)
    processes.start_scheduler()
    processes.start_worker("stays")
    mortal = processes.start_worker("mortal 0")
    mapped = Mapped(processes.address, work)
    mapped.patience = HANG_SECONDS + 5.0 * times  # on an idle machine a second for each worker that starts
    async with mapped.running():
        for time in range(times):
            await mapped.until(2 + 4 * time)
            await asyncio.sleep(drawn.random())
            mortal.kill()
            mortal = processes.start_worker(f"mortal {time + 1}")
    assert mapped.payloads == of_one_process(work)
    processes.wait_until_idle()


async def test_workers_killed_at_random_moments_change_no_byte(processes):
    await killed_at_random(processes, seed=1, times=2)


@pytest.mark.deep
async def test_workers_killed_twenty_times_at_random_moments_change_no_byte(processes):
    await killed_at_random(processes, seed=2, times=20)


async def test_a_worker_that_stands_still_is_given_up_and_changes_nothing_when_it_goes_on(tmp_path):
    gate, given_up = tmp_path / "gate", {"DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "8s"}
    processes = ClusterProcesses(tmp_path, environment=given_up)
    mapped = Mapped(processes.address, HashChains("chains", 6, 1, str(gate)))
    try:
        processes.start_scheduler()
        frozen = processes.start_worker("frozen")
        async with mapped.running():
            await mapped.until(2)
            frozen.suspend()
            processes.start_worker("other")
            gate.touch()  # what the other process computes of the next block, nobody fetches
        assert mapped.payloads == of_one_process(mapped.work)
        assert [mapped.blocks[number].worker for number in range(6)] == ["frozen"] * 2 + ["other"] * 4
        frozen.resume()
        await assert_nothing_is_left(processes)
    finally:
        processes.end()


async def test_a_worker_whose_disk_is_full_computes_as_before(short_folder):
    with mounted(short_folder / secrets.token_hex(4), "1m") as disk:
        processes = ClusterProcesses(disk)
        try:
            processes.start_scheduler()
            processes.start_worker("full")
            async with Client(processes.address, asynchronous=True, timeout=HANG_SECONDS) as client:
                await client.wait_for_workers(1, timeout=HANG_SECONDS)
            fill(disk)
            mapped = Mapped(processes.address)
            await mapped.run()
            assert mapped.payloads == of_one_process()
            await assert_nothing_is_left(processes)
        finally:
            processes.end()


async def test_work_that_is_damaged_on_its_way_is_refused(standing, monkeypatch):
    def damaged(work, memory_bytes):
        order = order_of(work, memory_bytes)
        middle = len(order.content) // 2
        flipped = bytes([order.content[middle] ^ 1])
        return replace(order, content=order.content[:middle] + flipped + order.content[middle + 1 :])

    monkeypatch.setattr(blocks, "order_of", damaged)
    mapped = Mapped(standing.address)
    with pytest.raises(WorkFailed, match="is not what arrived"):
        await mapped.run()
    assert mapped.blocks == {}
    await assert_nothing_is_left(standing)


async def test_a_cluster_that_is_absent_or_restarted_is_waited_for(processes, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "CONNECT_SECONDS", 1.0)
    gate = tmp_path / "gate"
    mapped = Mapped(processes.address, HashChains("chains", 6, 2, str(gate)))
    async with mapped.running():
        await mapped.until_stage(WAITING)
        scheduler = processes.start_scheduler()
        processes.start_worker("before")
        await mapped.until(2)
        scheduler.kill()
        mapped.stages.clear()
        await mapped.until_stage(WAITING)
        assert set(mapped.blocks) == {0, 1}
        gate.touch()
        processes.start_scheduler()
        processes.start_worker("after")
    assert mapped.payloads == of_one_process(mapped.work)
    assert {block.worker for block in mapped.blocks.values()} == {"before", "after"}


async def test_a_cluster_without_workers_is_left_where_that_is_allowed(processes):
    processes.start_scheduler()
    mapped = Mapped(processes.address, falls_back=True)
    async with mapped.running():
        pass
    assert mapped.blocks == {}


async def test_a_stop_ends_it_and_what_is_computed_is_given_up(standing):
    mapped = Mapped(standing.address, HashChains("chains", 4, 200))
    async with mapped.running():
        while not (found := standing.block_processes()):  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.02)
        mapped.halted = True
    assert mapped.blocks == {}
    assert max(seconds_until_gone(process) for process in found) <= 2.0


async def test_a_worker_of_another_version_is_refused_by_name_and_others_do_its_work(processes):
    processes.start_scheduler()
    processes.start_worker("outdated", OTHER_VERSION)
    with pytest.raises(NotSupported) as refused:
        await Mapped(processes.address).run()
    assert "outdated at tcp://127.0.0.1:" in refused.value.message
    assert "numpy 0.0.1 instead of" in refused.value.message
    processes.start_worker("same")
    mapped = Mapped(processes.address)
    async with asyncio.timeout(HANG_SECONDS):
        while not mapped.blocks:  # the worker that is refused may be there alone for a while
            with contextlib.suppress(NotSupported):
                await mapped.run()
    assert {block.worker for block in mapped.blocks.values()} == {"same"}
    assert mapped.payloads == of_one_process()


async def test_a_worker_that_would_write_to_its_disk_is_refused(processes):
    processes.start_scheduler()
    processes.start_worker("spilling", options=["--memory-limit", "1GiB"])
    with pytest.raises(NotSupported, match=r"spilling at .* would write what it holds to its disk"):
        await Mapped(processes.address).run()


@pytest.mark.parametrize(
    ("fault", "code"),
    [("refuses", "not-supported"), ("takes memory", "memory-limit"), ("dies", "worker-lost")],
)
async def test_a_block_that_always_fails_is_told_with_its_reason_once_all_others_are_given(
    standing, fault, code
):
    mapped = Mapped(standing.address, FaultyChains("chains", 4, 1, fault=fault))
    with pytest.raises(WorkFailed) as failed:
        await mapped.run()
    assert failed.value.failure.error["code"] == code
    assert set(mapped.blocks) == {1, 2, 3}


def certificates(folder: Path) -> dict[str, str]:
    """Dask's settings for an authority and one certificate of it, which every part may show."""
    folder.mkdir()
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "cluster")])
    since = datetime.now(UTC) - timedelta(days=1)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(since).not_valid_after(since + timedelta(days=9))
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    certificate, secret = folder / "cluster.pem", folder / "cluster.key"
    certificate.write_bytes(builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    secret.write_bytes(key.private_bytes(serialization.Encoding.PEM, *form))
    settings = {"distributed.comm.tls.ca-file": str(certificate)}
    for role in ("scheduler", "worker", "client"):
        settings[f"distributed.comm.tls.{role}.cert"] = str(certificate)
        settings[f"distributed.comm.tls.{role}.key"] = str(secret)
    return settings


async def test_what_travels_is_encrypted_between_those_with_certificates_of_one_authority(tmp_path):
    ours, foreign = certificates(tmp_path / "ours"), certificates(tmp_path / "foreign")
    environment = {
        "DASK_" + name.upper().replace(".", "__").replace("-", "_"): value for name, value in ours.items()
    }
    processes = ClusterProcesses(tmp_path, "tls", environment)
    try:
        processes.start_scheduler()
        processes.start_worker("encrypts", options=("--memory-limit", "0", "--protocol", "tls"))
        with dask.config.set(ours):
            mapped = Mapped(processes.address)
            async with mapped.running():
                pass
        assert mapped.payloads == of_one_process()
        with dask.config.set(foreign):
            mapped = Mapped(processes.address, falls_back=True)
            async with mapped.running():
                pass
        assert mapped.blocks == {}
        with pytest.raises(NotSupported, match="asks for TLS, and no certificates are named"):
            await Mapped(processes.address).run()
    finally:
        processes.end()


async def test_a_cancelled_run_frees_the_cluster(standing, bench, start_worker):
    start_worker(standing.address)
    run_id = await bench.start_run("cancelled", 4, 200)
    async with asyncio.timeout(HANG_SECONDS):
        while not (found := standing.block_processes()):  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.02)
    await bench.service.cancel(bench.actor, run_id)
    assert max(seconds_until_gone(process) for process in found) <= 2.0
    run = await bench.service.wait(bench.actor, run_id, HANG_SECONDS)
    assert run.state is RunState.CANCELLED


async def n_kept(bench, run_id: str) -> int:
    """How many blocks of a run are kept."""
    async with bench.store.work(bench.tenant) as work:
        return len(await work.runs.blocks(run_id))


async def test_a_run_begins_on_a_cluster_and_ends_without_one(processes, bench, start_worker, tmp_path):
    scheduler = processes.start_scheduler()
    processes.start_worker("gone")
    async with Client(processes.address, asynchronous=True, timeout=HANG_SECONDS) as client:
        await client.wait_for_workers(1, timeout=HANG_SECONDS)
    start_worker(processes.address)
    gate = tmp_path / "gate"
    work = HashChains("begun", 6, 2, str(gate))
    run_id = await bench.start(chains(work.name, work.n_blocks, work.units_per_block, work.gate))
    async with asyncio.timeout(HANG_SECONDS):  # progress may be told only with the block that waits
        while await n_kept(bench, run_id) < 2:  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.02)
    scheduler.kill()
    gate.touch()
    result = await bench.result_bytes(run_id)
    assert result == canonical(work.conclude(of_one_process(work)).result)
    assert (await bench.run(run_id)).attempt == 1


def test_the_demonstration_kills_a_worker_and_shows_the_same_bytes(tmp_path):
    picture = tmp_path / "blocks.svg"
    asked = ["--members", "2000", "--entities", "5000", "--picture", str(picture)]
    shown = subprocess.run(
        [sys.executable, "-m", "app", "cluster-demo", *asked],
        cwd=ROOT, env={**os.environ, "TMPDIR": str(tmp_path)}, timeout=2 * HANG_SECONDS,
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "worker 2 killed after 10 of 30 blocks" in shown.stdout
    assert "The bytes are the same." in shown.stdout
    assert "worker 2 is killed" in picture.read_text()
    assert list(tmp_path.iterdir()) == [picture]
