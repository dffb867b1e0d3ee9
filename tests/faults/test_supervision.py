"""Children that crash, hoard, dawdle or lose their worker: what becomes of them and of their run."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from app.services.resources import Claim, RunState
from app.workers import supervisor
from app.workers.child import size_and_resident
from app.workers.executor import MAX_LOSSES, MOST_ATTEMPTS
from app.workers.supervisor import Ending
from tests.faults import entries
from tests.faults.supervised import MIB, Bench, children_of_tests
from tests.processes import HANG_SECONDS, seconds_until_gone, until

ROOT = Path(__file__).parents[2]


def execute(bench: Bench) -> None:
    async def main() -> None:
        await bench.executor.execute("run-1")
        await bench.children.forget(None)

    asyncio.run(main())


async def attempt(bench: Bench):
    outcome = await bench.supervisor.attempt(await bench.claim(), bench.stop)
    await bench.children.forget(None)
    return outcome


@pytest.fixture(autouse=True)
def _no_child_survives():
    yield
    assert children_of_tests() == []


def test_a_child_that_returns_has_finished():
    assert asyncio.run(attempt(Bench(entries.finish))).ending is Ending.FINISHED


def test_an_error_of_the_product_becomes_the_runs_error():
    bench = Bench(entries.refuse)
    execute(bench)
    assert bench.run.state is RunState.FAILED
    assert bench.run.error == {
        "code": "not-supported",
        "message": "levels need trees",
        "remedy": "use another hierarchy",
    }
    assert bench.run.attempt == 1


def test_an_unforeseen_error_tells_its_type_and_nothing_of_the_data(capsys):
    bench = Bench(entries.break_down)
    execute(bench)
    assert bench.run.error["code"] == "internal-error"
    assert "ValueError" in bench.run.error["message"]
    assert "Alice" not in str(bench.run.error)
    logged = capsys.readouterr().out
    assert "break_down" in logged
    assert "Alice" not in logged


def memory_beside_the_tests() -> int:
    """512 MiB, and as much as the process has that runs the tests, from which the run's is forked."""
    return (size_and_resident()[1] // MIB + 512) * MIB


@pytest.mark.parametrize(
    "entry", [entries.use_too_much_memory, entries.fail_while_tidying_up, entries.start_too_many_threads]
)
def test_memory_beyond_the_limit_fails_the_run_and_states_the_limit(entry):
    memory = memory_beside_the_tests()
    bench = Bench(entry, memory=memory)
    execute(bench)
    assert bench.run.state is RunState.FAILED
    assert bench.run.error["code"] == "memory-limit"
    assert f"{memory // MIB} MiB" in bench.run.error["message"]


def test_a_run_that_hangs_for_want_of_memory_states_that_limit_when_its_time_is_over():
    bench = Bench(entries.wait_without_room, memory=memory_beside_the_tests(), seconds=2.0)
    execute(bench)
    assert bench.run.state is RunState.FAILED
    assert bench.run.error["code"] == "memory-limit"


def peak_of_a_hoarder() -> float:
    """MiB that a child of 512 MiB holds at most, without pages of the files of programs."""

    async def main() -> float:
        bench = Bench(entries.hold_all_the_memory, memory=512 * MIB)
        task = asyncio.create_task(attempt(bench))
        peak = 0
        while not task.done():
            for process in children_of_tests():
                try:
                    held = process.memory_info()
                except psutil.NoSuchProcess:
                    continue
                peak = max(peak, held.rss - held.shared)
            await asyncio.sleep(0.001)
        return peak / MIB

    return asyncio.run(main())


def test_a_child_never_holds_more_memory_of_its_own_than_the_limit():
    """In a fresh process, as a worker is: what earlier tests have freed here is room that no limit counts."""
    program = f"from {__name__} import peak_of_a_hoarder; print(peak_of_a_hoarder())"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True,
        timeout=HANG_SECONDS,
    )  # fmt: skip
    assert 100 < float(done.stdout.splitlines()[-1]) <= 512


def test_a_run_beyond_its_time_fails_and_its_child_is_dead():
    bench = Bench(entries.work_until_killed, seconds=0.5)
    execute(bench)
    assert bench.run.error["code"] == "time-limit"
    assert bench.run.attempt == 1


def test_a_child_that_dies_is_replaced():
    bench = Bench(entries.die_twice_then_finish)
    execute(bench)
    assert bench.run.attempt == 3
    assert bench.run.state is RunState.RUNNING  # this entry leaves without storing a result


def test_a_child_that_always_dies_fails_the_run_after_three_attempts():
    bench = Bench(entries.die)
    execute(bench)
    assert bench.run.state is RunState.FAILED
    assert bench.run.error["code"] == "worker-lost"
    assert bench.run.attempt == 3


def test_a_child_that_dies_is_forgiven_what_was_before_its_last_new_block():
    bench = Bench(entries.die_with_even_attempts)
    bench.store.state.losses["run-1"] = MAX_LOSSES - 1
    claims, saved = bench.store.claim, []

    async def claim_and_get_on(*args) -> Claim:
        claim = await claims(*args)
        if not saved:
            saved.append(claim)
            await bench.store.save_block(claim, 0, b"new")
        return claim

    bench.store.claim = claim_and_get_on
    bench.store._set("run-1", attempt=1)
    execute(bench)
    assert (bench.run.attempt, bench.run.state) == (3, RunState.RUNNING)


def test_the_deaths_of_workers_do_not_count_as_losses_of_their_run():
    bench = Bench(entries.finish)
    bench.store._set("run-1", attempt=MOST_ATTEMPTS - 1)
    execute(bench)
    assert (bench.run.attempt, bench.run.state) == (MOST_ATTEMPTS, RunState.RUNNING)


def test_a_run_that_took_every_worker_with_it_is_not_tried_again():
    bench = Bench(entries.die)
    bench.store._set("run-1", attempt=MOST_ATTEMPTS)
    execute(bench)
    assert bench.run.error["code"] == "worker-lost"
    assert bench.store.heartbeats == []


@pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGSEGV])
def test_a_killed_child_is_noticed_at_once(sig):
    async def main():
        bench = Bench(entries.work_until_killed)
        task = asyncio.create_task(attempt(bench))
        await bench.until(lambda: bench.run.progress is not None)
        (process,) = children_of_tests()
        beats = len(bench.store.heartbeats)
        process.send_signal(sig)
        outcome = await task
        return outcome, bench.seconds_since(beats)

    outcome, seconds = asyncio.run(main())
    assert outcome.ending is Ending.LOST
    assert seconds <= 1.0


def test_a_stop_reaches_the_child_within_a_second_and_lets_it_finish():
    async def main() -> tuple[float, Bench]:
        bench = Bench(entries.work_until_stopped)
        task = asyncio.create_task(attempt(bench))
        await bench.until(lambda: bench.run.progress is not None)
        beats = len(bench.store.heartbeats)
        await bench.store.request_stop("run-1")
        assert (await task).ending is Ending.FINISHED
        return bench.seconds_since(beats), bench

    seconds, bench = asyncio.run(main())
    assert seconds <= 1.0
    assert bench.run.attempt == 1


@pytest.mark.parametrize("entry", [entries.work_until_killed, entries.hold_the_interpreter])
def test_a_cancel_takes_at_most_a_second(entry):
    async def main() -> float:
        bench = Bench(entry)
        task = asyncio.create_task(bench.executor.execute("run-1"))
        await bench.until(lambda: bench.run.progress is not None)
        beats = len(bench.store.heartbeats)
        await bench.store.request_cancel("run-1")
        await bench.until(lambda: bench.run.state is RunState.CANCELLED)
        seconds = bench.seconds_since(beats)
        assert children_of_tests() == []
        await task
        return seconds

    assert asyncio.run(main()) <= 1.0


def test_a_stopping_worker_gives_the_run_back_with_the_attempt_unspent():
    async def main() -> Bench:
        bench = Bench(entries.work_until_killed)
        task = asyncio.create_task(bench.executor.execute("run-1"))
        await bench.until(lambda: bench.run.progress is not None)
        bench.stop.set()
        await task
        return bench

    bench = asyncio.run(main())
    assert (bench.run.state, bench.run.attempt) == (RunState.QUEUED, 0)
    assert bench.store.state.queue == ["run-1"]


def test_a_child_that_a_service_manager_kills_with_its_worker_spends_no_attempt(monkeypatch):
    # That it waits is what counts here; a busy machine may keep this process from going on for longer.
    monkeypatch.setattr(supervisor, "STOP_GRACE_SECONDS", HANG_SECONDS)

    async def main() -> Bench:
        bench = Bench(entries.work_until_killed)
        task = asyncio.create_task(bench.executor.execute("run-1"))
        await bench.until(lambda: bench.run.progress is not None)
        (process,) = children_of_tests()
        process.terminate()
        await bench.until(lambda: children_of_tests() == [])
        bench.stop.set()
        await task
        return bench

    assert asyncio.run(main()).run.attempt == 0


def test_a_worker_executes_as_many_runs_at_once_as_it_has_slots_and_none_twice():
    async def main() -> None:
        bench = Bench(entries.work_until_killed, slots=2)
        names = ["run-1", "run-2", "run-3"]
        for name in names[1:]:
            bench.store.add_run(name)
        jobs = [asyncio.create_task(bench.executor.execute(name)) for name in [*names, "run-1"]]
        runs = bench.store.state.runs
        await bench.until(lambda: all(runs[name].progress for name in names[:2]))
        assert len(children_of_tests()) == 2
        assert runs["run-3"].state is RunState.QUEUED

        await bench.store.request_cancel("run-1")
        await bench.until(lambda: runs["run-3"].progress is not None)
        assert runs["run-1"].state is RunState.CANCELLED
        assert len(children_of_tests()) == 2
        bench.stop.set()
        await asyncio.gather(*jobs)
        assert [runs[name].attempt for name in names] == [1, 0, 0]

    asyncio.run(main())


def test_work_goes_on_when_the_queue_lets_go_of_its_job():
    async def main() -> None:
        bench = Bench(entries.work_until_killed)
        job = asyncio.create_task(bench.executor.execute("run-1"))
        await bench.until(lambda: bench.run.progress is not None)
        job.cancel()
        await asyncio.sleep(0.2)
        assert job.cancelled()
        assert len(children_of_tests()) == 1
        bench.stop.set()
        await bench.executor.drain()
        assert bench.run.state is RunState.QUEUED

    asyncio.run(main())


def test_a_newer_attempt_elsewhere_ends_the_child_and_is_left_alone():
    async def main() -> Bench:
        bench = Bench(entries.work_until_killed)
        task = asyncio.create_task(bench.executor.execute("run-1"))
        await bench.until(lambda: bench.run.progress is not None)
        bench.store._set("run-1", attempt=2)
        await task
        return bench

    bench = asyncio.run(main())
    assert (bench.run.state, bench.run.attempt) == (RunState.RUNNING, 2)


def test_a_run_outlives_a_database_that_is_away_for_a_while():
    async def main() -> Bench:
        bench = Bench(entries.work_until_killed)
        task = asyncio.create_task(bench.executor.execute("run-1"))
        await bench.until(lambda: bench.run.progress is not None)
        bench.store.away = True
        await asyncio.sleep(1.0)
        assert not task.done()
        bench.store.away = False
        beats = len(bench.store.heartbeats)
        await bench.until(lambda: len(bench.store.heartbeats) > beats)
        await bench.store.request_cancel("run-1")
        await task
        return bench

    assert asyncio.run(main()).run.state is RunState.CANCELLED


@pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGTERM])
def test_a_child_dies_with_its_worker(tmp_path, sig):
    pid_file = tmp_path / "pid"
    code = f"from tests.faults.entries import supervise_forever; supervise_forever({str(pid_file)!r})"
    worker = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)
    try:
        until(lambda: pid_file.exists() and pid_file.read_text() != "")
        child = psutil.Process(int(pid_file.read_text()))
        assert child.is_running()
        worker.send_signal(sig)
        worker.wait(HANG_SECONDS)
        assert seconds_until_gone(child) <= 1.0
    finally:
        worker.kill()
        worker.wait()
