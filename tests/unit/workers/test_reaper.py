from __future__ import annotations

import asyncio

from app.services.leases import UPLOAD_LEASE
from app.services.resources import LostRun
from app.workers.reaper import Reaper


class Registry:
    def __init__(self, *answers) -> None:
        self.answers = list(answers)
        self.looks: list[float] = []
        self.upload_passes = 0
        self.failed: list[tuple[LostRun, str]] = []

    async def lost_runs(self, silent_seconds: float) -> list[LostRun]:
        self.looks.append(asyncio.get_running_loop().time())
        answer = self.answers.pop(0) if self.answers else []
        if isinstance(answer, Exception):
            raise answer
        return answer

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

    async def sweep(self) -> None:
        self.sweeps += 1

    async def enqueue(self, run_id: str) -> None:
        self.enqueued.append(run_id)


def serve(registry: Registry, silent_seconds: float, seconds: float) -> Queue:
    async def main() -> Queue:
        queue, stop = Queue(), asyncio.Event()
        asyncio.get_running_loop().call_later(seconds, stop.set)
        await Reaper(registry, queue, silent_seconds).serve(stop)
        return queue

    return asyncio.run(main())


def test_lost_runs_are_put_on_the_queue_again():
    queue = serve(Registry([LostRun("run-1", 0), LostRun("run-2", 2)], [], [LostRun("run-1", 1)]), 0.15, 0.3)
    assert queue.enqueued == ["run-1", "run-2", "run-1"]
    assert queue.sweeps >= 3


def test_a_run_lost_in_every_attempt_is_ended_without_waiting_for_a_free_worker():
    registry = Registry([LostRun("run-1", 3)])
    assert serve(registry, 0.15, 0.1).enqueued == []
    assert registry.failed == [(LostRun("run-1", 3), "worker-lost")]


def test_after_a_failure_living_workers_get_a_whole_silence_to_show_it():
    registry = Registry(ConnectionError(), [LostRun("run-1", 1)])
    assert serve(registry, 0.2, 0.4).enqueued == ["run-1"]
    assert registry.looks[1] - registry.looks[0] >= 0.2


def test_stale_uploads_are_looked_for_now_and_then_only():
    registry = Registry()
    serve(registry, 0.03, 0.2)
    assert len(registry.looks) > 3
    assert registry.upload_passes == 1
