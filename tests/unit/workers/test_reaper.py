from __future__ import annotations

import asyncio

from app.services.leases import UPLOAD_LEASE
from app.services.resources import LostRun
from app.workers.executor import MOST_ATTEMPTS
from app.workers.reaper import Reaper
from tests.processes import HANG_SECONDS


class Registry:
    def __init__(self, *answers) -> None:
        self.answers = list(answers)
        self.looks: list[float] = []
        self.upload_passes = 0
        self.failed: list[tuple[LostRun, str]] = []
        self.forsaken: list[tuple[str, float]] = []
        self.looked = asyncio.Event()
        self.most_looks = 0

    async def lost_runs(self, silent_seconds: float) -> list[LostRun]:
        self.looks.append(asyncio.get_running_loop().time())
        if len(self.looks) == self.most_looks:
            self.looked.set()
        answer = self.answers.pop(0) if self.answers else []
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def forsake(self, worker: str, silent_seconds: float) -> int:
        assert not self.looks
        self.forsaken.append((worker, silent_seconds))
        return 1

    async def fail_lost(self, lost: LostRun, error: dict) -> None:
        self.failed.append((lost, error["code"]))

    async def discard_stale_uploads(self, silent_seconds: float) -> int:
        assert silent_seconds == UPLOAD_LEASE.seconds
        self.upload_passes += 1
        return 0


class Queue:
    def __init__(self) -> None:
        self.enqueued: list[str] = []
        self.sweeps = 0
        self.connected = asyncio.Event()

    async def sweep(self) -> None:
        self.sweeps += 1

    async def enqueue(self, run_id: str) -> None:
        self.enqueued.append(run_id)


def serve(registry: Registry, silent_seconds: float, looks: int, dead: str | None = None) -> Queue:
    """Reap until it has looked so often."""

    async def main() -> Queue:
        queue = Queue()
        asyncio.get_running_loop().call_soon(queue.connected.set)
        registry.most_looks = looks
        async with asyncio.timeout(HANG_SECONDS):
            await Reaper(registry, queue, silent_seconds, dead).serve(registry.looked)
        return queue

    return asyncio.run(main())


def test_lost_runs_are_put_on_the_queue_again():
    queue = serve(Registry([LostRun("run-1", 0), LostRun("run-2", 2)], [], [LostRun("run-1", 1)]), 0.15, 3)
    assert queue.enqueued == ["run-1", "run-2", "run-1"]
    assert queue.sweeps == 3


def test_a_run_that_takes_every_worker_with_it_is_ended_without_waiting_for_a_free_one():
    registry = Registry([LostRun("run-1", MOST_ATTEMPTS - 1), LostRun("run-2", MOST_ATTEMPTS)])
    assert serve(registry, 0.15, 1).enqueued == ["run-1"]
    assert registry.failed == [(LostRun("run-2", MOST_ATTEMPTS), "worker-lost")]


def test_the_runs_of_a_worker_that_was_seen_to_die_are_lost_before_the_first_look():
    registry = Registry([LostRun("run-1", 1)])
    assert serve(registry, 10.0, 1, "host:7").enqueued == ["run-1"]
    assert registry.forsaken == [("host:7", 10.0)]


def test_after_a_failure_living_workers_get_a_whole_silence_to_show_it():
    registry = Registry(ConnectionError(), [LostRun("run-1", 1)])
    assert serve(registry, 0.2, 2).enqueued == ["run-1"]
    assert registry.looks[1] - registry.looks[0] >= 0.2


def test_stale_uploads_are_looked_for_now_and_then_only():
    registry = Registry()
    serve(registry, 0.03, 5)
    assert registry.upload_passes == 1


def test_who_replaces_a_dead_worker_leaves_when_asked_to_though_the_queue_was_never_reached():
    async def main() -> None:
        registry, stop = Registry(), asyncio.Event()
        asyncio.get_running_loop().call_later(0.02, stop.set)
        await asyncio.wait_for(Reaper(registry, Queue(), 10.0, "host:7").serve(stop), HANG_SECONDS)
        assert not registry.forsaken

    asyncio.run(main())
