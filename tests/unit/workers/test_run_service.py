from __future__ import annotations

import asyncio

import pytest

from app.domain.errors import Conflict, Forbidden, NotFound, NotSupported
from app.services.resources import Actor, Kind, RunState, Scope
from app.services.runs.runs import RiskMap, RunService
from tests.unit.workers.run_store import TENANT, MemoryRuns

ASSESSOR = Actor(TENANT, "key", frozenset({Scope.ASSESS}))
READER = Actor(TENANT, "key", frozenset())


POINT = {"risk": 1.0, "levels": {"city": 1}}
RESULT = {"status": "optimal", "rules": 9, "points": [POINT, {"risk": 0.5, "levels": None}]}


class Signals:
    """Something happens at every wait: the next of the scripted steps."""

    def __init__(self, *steps) -> None:
        self.steps = list(steps)
        self.waits = 0

    async def wait(self, run_id: str, timeout_seconds: float) -> None:
        self.waits += 1
        if self.steps:
            await self.steps.pop(0)()


@pytest.fixture
def store() -> MemoryRuns:
    store = MemoryRuns()
    store.add_run()
    return store


def ends(store: MemoryRuns, state: RunState = RunState.SUCCEEDED):
    async def end() -> None:
        claim = await store.claim("run-1", "w", 1.0)
        assert claim is not None
        await store.finish(claim, state, result=RESULT, error=None)
        store.tell("run-1", "state", state=state.value)

    return end


def test_waiting_returns_as_soon_as_the_run_is_final(store):
    signals = Signals(ends(store))
    run = asyncio.run(RunService(store, signals).wait(READER, "run-1", 20.0))
    assert run.state is RunState.SUCCEEDED
    assert signals.waits == 1


def test_waiting_ends_with_its_time(store):
    run = asyncio.run(RunService(store, Signals()).wait(READER, "run-1", 0.01))
    assert run.state is RunState.QUEUED


async def _collect(events) -> list[int]:
    return [event.number async for event in events]


def test_events_come_until_the_run_is_final_and_resume_after_a_number(store):
    async def progresses() -> None:
        store.tell("run-1", "progress", done=1)

    store.tell("run-1", "state", state="queued")
    service = RunService(store, Signals(progresses, ends(store)))
    assert asyncio.run(_collect(service.events(READER, "run-1"))) == [1, 2, 3]
    assert asyncio.run(_collect(service.events(READER, "run-1", after=2))) == [3]
    assert asyncio.run(_collect(service.events(READER, "run-1", after=3))) == []


def test_many_events_all_come_in_order(store):
    for done in range(250):
        store.tell("run-1", "progress", done=done)
    asyncio.run(ends(store)())
    events = asyncio.run(_collect(RunService(store, Signals()).events(READER, "run-1")))
    assert events == list(range(1, 252))


def test_the_events_of_an_unknown_run_are_not_found(store):
    with pytest.raises(NotFound):
        asyncio.run(_collect(RunService(store, Signals()).events(READER, "run-2")))


def test_cancelling_needs_the_scope_and_is_audited(store):
    service = RunService(store, Signals())
    with pytest.raises(Forbidden):
        asyncio.run(service.cancel(READER, "run-1"))
    assert asyncio.run(service.cancel(ASSESSOR, "run-1")).state is RunState.CANCELLED
    assert store.state.audit == [("run.cancel", "run-1")]


def test_stopping_needs_the_scope_and_is_audited_once(store):
    service = RunService(store, Signals())
    with pytest.raises(Forbidden):
        asyncio.run(service.stop(READER, "run-1"))
    run = asyncio.run(service.stop(ASSESSOR, "run-1"))
    assert (run.state, run.stop_requested) == (RunState.QUEUED, True)
    assert asyncio.run(service.stop(ASSESSOR, "run-1")) == run
    assert store.state.audit == [("run.stop", "run-1")]


def test_a_run_that_has_succeeded_stays_so_when_it_is_stopped(store):
    asyncio.run(ends(store)())
    run = asyncio.run(RunService(store, Signals()).stop(ASSESSOR, "run-1"))
    assert (run.state, run.stop_requested) == (RunState.SUCCEEDED, False)
    assert store.state.audit == []


def test_only_searches_for_a_rule_can_be_stopped(store):
    store.add_run("run-2", Kind.ASSESSMENT)
    with pytest.raises(NotSupported, match="no best so far"):
        asyncio.run(RunService(store, Signals()).stop(ASSESSOR, "run-2"))


def test_a_result_is_there_once_the_run_has_succeeded(store):
    service = RunService(store, Signals())
    with pytest.raises(Conflict, match="no result yet"):
        asyncio.run(service.result(READER, "run-1"))
    asyncio.run(ends(store)())
    assert asyncio.run(service.result(READER, "run-1"))["status"] == "optimal"


def test_a_map_says_how_many_rules_it_was_drawn_from(store):
    service = RunService(store, Signals())
    with pytest.raises(Conflict, match="no result yet"):
        asyncio.run(service.risk_map(READER, "run-1"))
    asyncio.run(ends(store)())
    assert asyncio.run(service.risk_map(READER, "run-1")) == RiskMap(9, (POINT,))


def test_a_run_is_found_by_its_id_and_by_the_name_of_what_it_works_on(store):
    service = RunService(store, Signals())
    for ref in ("run-1", "res-run-1", "name-run-1"):
        assert asyncio.run(service.find(READER, ref)).id == "run-1"
    with pytest.raises(NotFound):
        asyncio.run(service.find(READER, "run-2"))


def test_a_failed_run_says_that_it_has_no_result(store):
    asyncio.run(ends(store, RunState.FAILED)())
    with pytest.raises(Conflict, match="ended as failed"):
        asyncio.run(RunService(store, Signals()).result(READER, "run-1"))
