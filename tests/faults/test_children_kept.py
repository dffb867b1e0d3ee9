"""Processes that are kept for the next run: who is given one, and when there must be a new one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

import psutil
import pytest

from app.services.resources import Claim, RunState, TenantId
from app.workers import children
from app.workers.child import Limits, size_and_resident
from app.workers.children import Child, ChildProcesses
from app.workers.supervisor import Ending
from tests.faults import entries
from tests.faults.supervised import MIB, Bench, children_of_tests
from tests.processes import HANG_SECONDS, is_alive
from tests.unit.workers.run_store import TENANT

OTHER = TenantId("00000000-0000-0000-0000-000000000002")


def claim(number: int, tenant: TenantId = TENANT) -> Claim:
    return Claim(f"run-{number}", tenant, 1)


def processes(entry, memory: int = 1024 * MIB) -> ChildProcesses:
    return ChildProcesses(partial(entries.always, entry), Limits(memory, 60.0), [])


async def ended(made: ChildProcesses, asked: Claim) -> Child:
    """The process that has executed the claim to its end, and is the worker's again."""
    child = await made.take(asked)
    async with asyncio.timeout(HANG_SECONDS):
        await child.over.wait()
    await made.give_back(child)
    return child


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(HANG_SECONDS):
        while not condition():  # noqa: ASYNC110 - the condition looks at other processes
            await asyncio.sleep(0.005)


def go(scenario) -> None:
    asyncio.run(scenario())
    assert children_of_tests() == []


def test_the_next_run_of_the_tenant_has_the_same_process():
    async def main() -> None:
        made = processes(entries.finish)
        pids = [(await ended(made, claim(number))).pid for number in range(3)]
        assert len(set(pids)) == 1
        assert [one.pid for one in children_of_tests()] == pids[:1]
        await made.forget(None)

    go(main)


def test_another_tenant_never_has_it():
    async def main() -> None:
        made = processes(entries.finish)
        first = await ended(made, claim(1))
        second = await ended(made, claim(2, OTHER))
        assert second.pid != first.pid
        assert [one.pid for one in children_of_tests()] == [second.pid]
        await made.forget(None)

    go(main)


@pytest.mark.parametrize("tenant", [TENANT, None])
def test_it_ends_when_data_of_its_tenant_are_deleted(tenant):
    async def main() -> None:
        made = processes(entries.finish)
        await ended(made, claim(1))
        await made.forget(OTHER)
        assert len(children_of_tests()) == 1
        await made.forget(tenant)
        assert children_of_tests() == []

    go(main)


def test_a_run_goes_on_while_data_are_deleted_and_its_process_ends_with_it():
    async def main() -> None:
        made = processes(entries.work_until_stopped)
        child = await made.take(claim(1))
        await until(lambda: child.progress is not None)
        await made.forget(TENANT)
        assert len(children_of_tests()) == 1
        child.tell_to_stop()
        await until(child.over.is_set)
        assert child.ended is not None
        assert child.ended.failure is None
        await made.give_back(child)
        assert children_of_tests() == []

    go(main)


def test_one_that_is_killed_while_it_is_idle_is_replaced_and_costs_no_attempt():
    async def main() -> Bench:
        bench = Bench(entries.finish)
        bench.store.add_run("run-2")
        first = await ended(bench.children, claim(1))
        psutil.Process(first.pid).kill()
        await until(first.dead.is_set)
        asked = await bench.store.claim("run-2", "worker", 15.0)
        outcome = await bench.supervisor.attempt(asked, bench.stop)
        assert outcome.ending is Ending.FINISHED
        assert [one.pid for one in children_of_tests()] != [first.pid]
        await bench.children.forget(None)
        return bench

    bench = asyncio.run(main())
    assert bench.store.state.runs["run-2"].attempt == 1


def test_one_that_is_killed_in_its_second_run_is_replaced():
    async def main() -> None:
        bench = Bench(entries.work_in_the_second_run)
        bench.store.add_run("run-2")
        first = await ended(bench.children, claim(1))
        task = asyncio.create_task(bench.executor.execute("run-2"))
        run = lambda: bench.store.state.runs["run-2"]  # noqa: E731
        await bench.until(lambda: run().progress is not None)
        psutil.Process(first.pid).kill()
        await bench.until(lambda: run().attempt == 2 and run().state is RunState.RUNNING)
        await bench.until(lambda: len(children_of_tests()) == 1)
        assert children_of_tests()[0].pid != first.pid
        await bench.store.request_stop("run-2")
        await task
        await bench.children.forget(None)

    go(main)


def test_what_was_said_to_stop_one_run_does_not_stop_the_next():
    async def main() -> None:
        made = processes(entries.work_until_stopped)
        first = await made.take(claim(1))
        await until(lambda: first.progress is not None)
        first.tell_to_stop()
        await until(first.over.is_set)
        first.tell_to_stop()
        await made.give_back(first)
        second = await made.take(claim(2))
        assert second is first
        await until(lambda: second.progress is not None)
        await asyncio.sleep(0.3)
        assert not second.over.is_set()
        second.tell_to_stop()
        await until(second.over.is_set)
        await made.give_back(second)
        await made.forget(None)

    go(main)


@pytest.mark.parametrize("entry", [entries.refuse, entries.break_down, entries.die])
def test_one_whose_run_has_failed_is_not_kept(entry):
    async def main() -> None:
        await ended(processes(entry), claim(1))
        assert children_of_tests() == []

    go(main)


def test_one_that_has_grown_too_much_is_not_kept():
    async def main() -> None:
        made = processes(entries.keep_some_memory)
        first = await ended(made, claim(1))
        assert is_alive(psutil.Process(first.pid))
        assert await ended(made, claim(2)) is first
        assert children_of_tests() == []
        assert await ended(made, claim(3)) is not first
        await made.forget(None)

    go(main)


def test_what_earlier_runs_have_left_takes_nothing_from_the_memory_of_the_next():
    async def main() -> None:
        # It begins with what this process holds, for it is forked, and the pages of files that it looks at.
        other = processes(entries.finish)
        begun = size_and_resident((await ended(other, claim(0))).pid)[1]
        await other.forget(None)
        made = processes(entries.use_most_of_the_memory, 984 * MIB + begun)
        first = await ended(made, claim(1))
        second = await ended(made, claim(2))
        assert second is first
        assert second.ended is not None
        assert second.ended.failure is None
        # It is kept, or ended for what it has left, by how much this process holds.
        await made.forget(None)

    go(main)


def test_one_that_has_had_nothing_to_do_for_long_is_ended(monkeypatch):
    monkeypatch.setattr(children, "IDLE_SECONDS", 0.2)

    async def main() -> None:
        made = processes(entries.finish)
        await ended(made, claim(1))
        assert len(children_of_tests()) == 1
        await until(lambda: children_of_tests() == [])
        await ended(made, claim(2))
        await made.forget(None)

    go(main)
