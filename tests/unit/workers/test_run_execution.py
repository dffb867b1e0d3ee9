from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import pytest

from app.domain.errors import Conflict
from app.domain.search.answers import Answers
from app.services.ports import Fenced
from app.services.resources import Claim, Kind, NewResource, Progress, RunState
from app.services.runs import kept_blocks, run_execution
from app.services.runs.run_execution import Conclusion, FinishedBlock, RunExecution
from tests.unit.workers.run_store import TENANT, MemoryRuns


class Interrupted(Exception):
    pass


@dataclass
class Squares:
    """Adds the squares of 0…11, four to a block, and remembers which blocks it was asked for."""

    dies_in: int | None = None
    rule_sha256: str | None = None
    n_blocks: int = 3
    units: int = 12
    seconds: float = 60.0
    time_limit: float | None = None

    def __post_init__(self) -> None:
        self.asked: list[int] = []

    def run_block(self, index: int, tick, halted) -> bytes:
        self.asked.append(index)
        total = 0
        for done in range(4):
            if halted():
                break
            if index == self.dies_in and done == 2:
                raise Interrupted
            total += (4 * index + done) ** 2
            tick(done + 1)
        return str(total).encode()

    def conclude(self, blocks) -> Conclusion:
        rule = None
        if self.rule_sha256:
            rule = NewResource(Kind.RULE, "name-run-1", self.rule_sha256, {}, {})
        total = sum(int(block) for block in blocks.values())
        return Conclusion({"sum": total}, rule, reproducible=total == 506)


@pytest.fixture
def store() -> MemoryRuns:
    store = MemoryRuns()
    store.add_run()
    return store


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch) -> None:
    monkeypatch.setattr(run_execution, "FIRST_PAUSE_SECONDS", 0.0)


def execute(
    store: MemoryRuns, work: Squares, claim: Claim | None = None, stopped=lambda: False, cluster=None
) -> list[Progress]:
    told: list[Progress] = []

    async def prepare(tenant, resource) -> Squares:
        assert (tenant, resource.kind) == (TENANT, Kind.OPTIMISATION)
        return work

    async def main() -> None:
        taken = claim or await store.claim("run-1", "worker", 1.0)
        clusters = {} if cluster is None else {Kind.OPTIMISATION: cluster}
        execution = RunExecution(store, {Kind.OPTIMISATION: prepare}, clusters=clusters)
        await execution.execute(taken, told.append, stopped)

    try:
        asyncio.run(main())
    except Interrupted:
        run = store.state.runs["run-1"]
        asyncio.run(store.heartbeat(Claim("run-1", TENANT, run.attempt), told[-1]))
        asyncio.run(store.release(Claim("run-1", TENANT, run.attempt), spend_attempt=True))
    return told


def test_a_run_succeeds_with_the_combined_blocks(store):
    execute(store, Squares())
    assert store.state.runs["run-1"].state is RunState.SUCCEEDED
    assert store.state.run_results["run-1"] == {"sum": 506}


def test_a_second_attempt_computes_only_the_blocks_that_are_missing(store):
    execute(store, Squares(dies_in=2))
    second = Squares()
    execute(store, second)
    assert second.asked == [2]
    assert store.state.run_results["run-1"] == {"sum": 506}


@dataclass
class FakeCluster:
    """Gives some of the blocks, then leaves the others, or fails."""

    gives: tuple[int, ...]
    fails: bool = False
    is_closed: bool = False

    async def map_blocks(self, work, numbers, halted, enter_stage):
        try:
            for number in self.gives:
                if number in numbers and not halted():
                    yield FinishedBlock(
                        number, 4, replace(work).run_block(number, lambda _: None, lambda: False)
                    )
            enter_stage("waiting")
            if self.fails:
                raise Interrupted
        finally:
            self.is_closed = True


def test_blocks_that_a_cluster_gives_are_kept_and_the_others_are_computed_here(store):
    work = Squares()
    told = execute(store, work, cluster=FakeCluster(gives=(2, 0)))
    assert work.asked == [1]
    assert store.state.run_results["run-1"] == {"sum": 506}
    assert ("waiting", 8) in [(progress.stage, progress.done) for progress in told]
    assert told[-1].done == 12


def test_a_run_that_failed_on_a_cluster_goes_on_without_it_behind_the_blocks_that_it_gave(store):
    execute(store, Squares(), cluster=FakeCluster(gives=(2, 0), fails=True))
    second = Squares()
    execute(store, second)
    assert second.asked == [1]
    assert store.state.run_results["run-1"] == {"sum": 506}


def test_a_run_that_was_taken_over_has_nothing_computed_any_more(store):
    cluster = FakeCluster(gives=(0, 1, 2))
    claim = asyncio.run(store.claim("run-1", "worker", 1.0))
    asyncio.run(store.release(claim, spend_attempt=True))
    asyncio.run(store.claim("run-1", "another", 1.0))
    with pytest.raises(Fenced):
        execute(store, Squares(), claim, cluster=cluster)
    assert cluster.is_closed


def test_a_run_that_is_stopped_has_what_the_cluster_had_finished(store):
    given = []
    cluster = FakeCluster(gives=(0, 1, 2))
    execute(store, Squares(), stopped=lambda: len(given) > 1 or given.append(1), cluster=cluster)
    assert store.state.run_results["run-1"] == {"sum": 140}


def test_blocks_of_another_cut_are_computed_again(store):
    execute(store, Squares(dies_in=2))

    @dataclass
    class Halves(Squares):
        n_blocks: int = 2
        units: int = 12

        def run_block(self, index: int, tick, halted) -> bytes:
            return str(sum(i**2 for i in range(6 * index, 6 * index + 6))).encode()

    execute(store, Halves())
    assert store.state.run_results["run-1"] == {"sum": 506}


@pytest.mark.parametrize("other", ["code", "question"])
def test_blocks_of_other_code_or_of_another_question_are_computed_again(store, monkeypatch, other):
    execute(store, Squares(dies_in=2))
    if other == "code":
        monkeypatch.setattr(kept_blocks, "CODE_VERSION", "another")
    else:
        store._set("run-1", input_sha256="another")
    execute(store, second := Squares())
    assert second.asked == [0, 1, 2]


def test_progress_never_goes_back_over_attempts(store):
    told = execute(store, Squares(dies_in=1)) + execute(store, Squares(dies_in=1)) + execute(store, Squares())
    done = [progress.done for progress in told]
    assert done == sorted(done)
    assert done[-1] == told[-1].total == 12


def test_progress_names_its_stages_in_order(store):
    told = execute(store, Squares())
    stages = list(dict.fromkeys(progress.stage for progress in told))
    assert stages == ["loading", "computing", "finishing"]
    assert all(p.rate is None or p.rate > 0 for p in told)


def test_an_outdated_claim_can_neither_save_a_block_nor_finish(store):
    asyncio.run(store.claim("run-1", "other", 1.0))
    with pytest.raises(Fenced):
        execute(store, Squares(), Claim("run-1", TENANT, 0))
    assert store.state.blocks["run-1"] == {}
    assert store.state.runs["run-1"].state is RunState.RUNNING


def test_a_store_that_is_away_for_a_while_costs_nothing(store):
    claim = asyncio.run(store.claim("run-1", "worker", 1.0))
    store.outages = 2
    work = Squares()
    execute(store, work, claim)
    assert work.asked == [0, 1, 2]
    assert store.state.run_results["run-1"] == {"sum": 506}


def test_the_optimal_rule_is_stored_with_the_result(store):
    execute(store, Squares(rule_sha256="a"))
    assert store.state.resources[Kind.RULE, "name-run-1"].sha256 == "a"


def test_a_rule_name_taken_meanwhile_keeps_the_answer_for_the_next_asking(store):
    asyncio.run(store.add(NewResource(Kind.RULE, "name-run-1", "other", {}, {})))
    with pytest.raises(Conflict, match="name-run-1"):
        execute(store, Squares(rule_sha256="a"))
    assert store.state.results["optimisation", "input"] == {"sum": 506}
    assert "run-1" not in store.state.run_results


def stops_after(looks: int):
    """A user who asks for the best so far after so many looks."""
    left = iter([False] * looks)
    return lambda: next(left, True)


def test_a_stop_concludes_with_what_there_is_and_answers_no_other_run(store):
    told = execute(store, work := Squares(), stopped=stops_after(8))
    assert work.asked == [0, 1]
    assert store.state.runs["run-1"].state is RunState.SUCCEEDED
    assert store.state.run_results["run-1"] == {"sum": 0 + 1 + 4 + 9 + 16}
    assert store.state.results == {}
    assert told[-1].stage == "finishing"
    assert told[-1].done < told[-1].total


def test_an_unfinished_block_is_not_kept_for_the_next_attempt(store):
    execute(store, Squares(), stopped=stops_after(8))
    assert store.state.blocks["run-1"].keys() == {0}


def test_a_stop_that_was_asked_for_before_the_attempt_computes_nothing_more(store):
    execute(store, Squares(dies_in=1))
    asyncio.run(store.request_stop("run-1"))
    execute(store, second := Squares())
    assert second.asked == []
    assert store.state.run_results["run-1"] == {"sum": 14}


def test_a_stop_that_comes_too_late_changes_nothing(store):
    execute(store, Squares(), stopped=stops_after(1000))
    assert store.state.run_results["run-1"] == {"sum": 506}
    assert store.state.results == {("optimisation", "input"): {"sum": 506}}


def test_a_time_limit_halts_like_a_stop(store, monkeypatch):
    clock = iter(range(10_000))
    monkeypatch.setattr(run_execution.time, "monotonic", lambda: float(next(clock)))
    told = execute(store, work := Squares(time_limit=20.0))
    assert len(work.asked) < 3
    assert store.state.results == {}
    left = [progress.remaining_seconds for progress in told if progress.stage == "computing"]
    assert all(0 <= seconds <= 20.0 for seconds in left)


def test_the_remaining_time_begins_at_the_estimate_and_ends_at_nothing(store, monkeypatch):
    """The units take longer than was estimated, which their pace shows from the first of them on."""
    clock = iter(range(10_000))
    monkeypatch.setattr(run_execution.time, "monotonic", lambda: float(next(clock)))
    told = execute(store, Squares(seconds=24.0))
    computing = [progress for progress in told if progress.stage == "computing"]
    left = [progress.remaining_seconds for progress in computing]
    assert 20.0 <= left[0] <= 24.0
    begun = next(progress for progress in computing if progress.done == 1)
    assert begun.remaining_seconds == pytest.approx(11 / begun.rate)
    assert left[-1] == 0.0
    assert told[0].remaining_seconds is None


def test_the_remaining_time_is_unknown_once_the_estimate_is_used_up_with_hardly_a_unit_done(
    store, monkeypatch
):
    """A search that leaves out most of its rules: their pace says nothing."""
    clock = iter(range(10_000))
    monkeypatch.setattr(run_execution.time, "monotonic", lambda: float(next(clock)))
    told = execute(store, Squares(seconds=3.0, units=4**40))
    left = [progress.remaining_seconds for progress in told if progress.stage == "computing"]
    assert 0 < left[0] <= 3.0
    assert left[-2] is None
    assert told[-1].done == told[-1].total == run_execution.MOST_UNITS


class Remembered:
    """Adds the squares of 0…11 in one block, and waits before one of them until it is killed."""

    n_blocks, units, seconds, time_limit = 1, 12, 60.0, None

    def __init__(self, waits_at: int | None = None) -> None:
        self.answers = Answers()
        self.found: list[int] = []
        self.waits_at = waits_at
        self.waits = False

    def run_block(self, index: int, tick, halted) -> bytes:
        total = 0
        for number in range(12):
            while number == self.waits_at:
                self.waits = True
                if halted():
                    return b"unfinished"
                time.sleep(0.001)
            total += int.from_bytes(self.answers.of((number,), lambda number=number: self._square(number)))
        return str(total).encode()

    def _square(self, number: int) -> bytes:
        self.found.append(number)
        return (number**2).to_bytes(2)

    def conclude(self, blocks) -> Conclusion:
        return Conclusion({"sum": int(blocks[0])})


async def _lost_while_at_work(
    store: MemoryRuns, work: Remembered, before: Mapping[int, bytes] = MappingProxyType({})
) -> None:
    """Execute until something is kept beside what was before; then another worker has the run.

    It is kept once the work waits, and so with all that was found up to there.
    """
    claim = await store.claim("run-1", "worker", 15.0)

    async def prepare(tenant, resource):
        return work

    news = kept_blocks.Keeper.news
    execution = RunExecution(store, {Kind.OPTIMISATION: prepare})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept_blocks.Keeper, "news", lambda own: news(own) if work.waits else {})
        executing = asyncio.create_task(execution.execute(claim, lambda _: None, lambda: False))
        while store.state.blocks["run-1"] == before:  # noqa: ASYNC110 - set by a thread's work
            await asyncio.sleep(0.001)
        store._set("run-1", attempt=claim.attempt + 1)
        work.answers.of((99,), lambda: b"")
        with pytest.raises(Fenced):
            await executing


def test_at_most_a_minute_of_a_search_is_computed_again():
    """A state is taken once the one before is kept, and kept a pause later; storing it may take as long."""
    assert 3 * run_execution.KEEP_SECONDS <= 60


def test_a_search_in_one_block_goes_on_from_what_it_had_found_out(store, monkeypatch):
    monkeypatch.setattr(run_execution, "KEEP_SECONDS", 0.005)
    first, second = Remembered(waits_at=7), Remembered()
    asyncio.run(asyncio.wait_for(_lost_while_at_work(store, first), 60))
    assert first.found == list(range(7))
    store._set("run-1", state=RunState.QUEUED)
    execute(store, second)
    assert second.found == list(range(7, 12))
    assert store.state.run_results["run-1"] == {"sum": 506}


def test_each_time_what_is_new_is_kept_behind_what_was(store, monkeypatch):
    monkeypatch.setattr(run_execution, "KEEP_SECONDS", 0.005)
    lost = []
    for waits_at in (3, 7):
        before = store.state.blocks["run-1"].copy()
        lost.append(Remembered(waits_at))
        asyncio.run(asyncio.wait_for(_lost_while_at_work(store, lost[-1], before), 60))
        store._set("run-1", state=RunState.QUEUED)
    assert [own.found for own in lost] == [[0, 1, 2], [3, 4, 5, 6]]
    kept = store.state.blocks["run-1"]
    assert sorted(kept, reverse=True) == [kept_blocks.STATE_NUMBER - 1 - n for n in range(len(kept))]
    records = b"".join(
        payload[kept_blocks.HEADER.size :] for _, payload in sorted(kept.items(), reverse=True)
    )
    assert records == lost[1].answers.kept()[: len(records)]
    execute(store, last := Remembered())
    assert last.found == list(range(7, 12))


class Counted(Remembered):
    """Counts to 12, and can go on from any number."""

    def run_block(self, index: int, tick, halted) -> bytes:
        state = self.answers.state((0,))
        for number in range(int(state or b"0"), 12):
            self.found.append(number)
            while number == self.waits_at:
                self.waits = True
                if halted():
                    return b"unfinished"
                time.sleep(0.001)
                self.answers.offer((0,), str(number).encode)
        return b"66"


def test_a_search_goes_on_from_its_last_state_in_whose_place_each_new_one_is_kept(store, monkeypatch):
    monkeypatch.setattr(run_execution, "KEEP_SECONDS", 0.005)
    for waits_at, began in ((3, 0), (7, 3)):
        before = store.state.blocks["run-1"].copy()
        lost = Counted(waits_at)
        asyncio.run(asyncio.wait_for(_lost_while_at_work(store, lost, before), 60))
        assert lost.found == list(range(began, waits_at + 1))
        store._set("run-1", state=RunState.QUEUED)
    execute(store, last := Counted())
    assert last.found == list(range(7, 12))
    assert store.state.run_results["run-1"] == {"sum": 66}


def test_answers_of_other_code_are_not_used(store, monkeypatch):
    monkeypatch.setattr(run_execution, "KEEP_SECONDS", 0.005)
    asyncio.run(asyncio.wait_for(_lost_while_at_work(store, Remembered(waits_at=7)), 60))
    store._set("run-1", state=RunState.QUEUED)
    monkeypatch.setattr(kept_blocks, "CODE_VERSION", "another")
    execute(store, second := Remembered())
    assert second.found == list(range(12))


def test_what_an_earlier_attempt_had_kept_is_not_kept_again_as_if_it_were_new(store, monkeypatch):
    """It would forgive the losses of a run whose process dies each time before it finds anything new."""
    monkeypatch.setattr(run_execution, "KEEP_SECONDS", 0.005)
    asyncio.run(asyncio.wait_for(_lost_while_at_work(store, Remembered(waits_at=7)), 60))
    store._set("run-1", state=RunState.QUEUED)
    store.state.losses["run-1"] = 2

    class DiesWithoutNews(Remembered):
        def run_block(self, index: int, tick, halted) -> bytes:
            time.sleep(0.1)  # twenty times as long as what was new would wait to be kept
            raise Interrupted

    execute(store, DiesWithoutNews())
    assert store.state.losses["run-1"] == 2
