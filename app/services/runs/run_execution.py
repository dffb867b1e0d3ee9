"""What happens in an attempt of a run: load, compute block by block, combine, finish in one transaction.

Finished blocks are kept in the store, so a second attempt computes only the others; so is, every 20 s, what
long work that cannot be cut in blocks has found out since it was kept before, and its last state. A block's
bytes depend on nothing but the work and its number, and the result on nothing but the blocks: it is the same
however often the run was interrupted. What other code has computed, or the same for another question, is not
used.

A run that is halted, by its user or at the time limit of its work, ends with the blocks that there are
and from what its last one had found. That one may be incomplete and is not kept.

Blocks of some kinds of work may be computed on a cluster. It gives their bytes; everything else happens
here, and so do the blocks that it leaves. A run may begin on a cluster and end without one.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Final, Protocol, TypeVar

from app.domain.errors import Conflict, Unavailable
from app.domain.search.answers import answers_of
from app.domain.search.budget import Halted, never
from app.services.fingerprints import canonical_json
from app.services.ports import Fenced, Store, UnitOfWork
from app.services.resources import (
    Claim,
    JsonObject,
    Kind,
    NewResource,
    Progress,
    Run,
    RunState,
    Stored,
    TenantId,
)
from app.services.runs.kept_blocks import HEADER, Keeper, mark_of

FIRST_PAUSE_SECONDS: Final = 0.2
LONGEST_PAUSE_SECONDS: Final = 5.0

KEEP_SECONDS: Final = 20.0
"""So often it is kept."""

MOST_UNITS: Final = 2**63 - 1
"""Lattices may have more rules than that; nobody counts so far."""

TRUSTED_SHARE: Final = 0.05
"""Of the units: once so many are done their pace alone tells the remaining time."""

T = TypeVar("T")

Report = Callable[[Progress], None]

Tick = Callable[[int], None]
"""Takes the number of units that are done."""


@dataclass(frozen=True)
class Conclusion:
    """What a run found: its result, without ids and times, and the rule to store with it, if any.

    ``reproducible`` unless the result depends on when the run was halted. ``also`` stores what belongs to the
    result, in the same transaction.
    """

    result: JsonObject
    rule: NewResource | None = None
    reproducible: bool = True
    also: Callable[[UnitOfWork, Run], Awaitable[None]] | None = None


class Work(Protocol):
    """The work of a run, cut in blocks that do not depend on each other."""

    @property
    def n_blocks(self) -> int:
        """How many blocks there are."""
        ...

    @property
    def units(self) -> int:
        """How many rules or distinct records all blocks have together."""
        ...

    @property
    def seconds(self) -> float:
        """Estimated time of all blocks."""
        ...

    @property
    def time_limit(self) -> float | None:
        """Seconds of computing in one attempt after which the work is halted; None: it never is."""
        ...

    def run_block(self, index: int, tick: Tick, halted: Halted) -> bytes:
        """Compute one block; ``tick`` takes the number of its units that are done.

        Soon after ``halted`` answers True it returns what it has, if the kind of work can be halted.
        """
        ...

    def conclude(self, blocks: Mapping[int, bytes]) -> Conclusion:
        """Combine the blocks by number; some are missing if the work was halted."""
        ...


def no_tick(units: int) -> None:
    """Tell nobody of units that are done."""


class OneBlock:
    """Work in a single block, since nothing of its result is worth keeping before the end.

    ``result`` is the result document; it takes the tick.
    """

    n_blocks = 1
    time_limit = None

    def __init__(self, units: int, seconds: float, result: Callable[[Tick], JsonObject]) -> None:
        self.units = units
        self.seconds = seconds
        self._result = result

    def run_block(self, index: int, tick: Tick, halted: Halted = never) -> bytes:
        """The result as canonical JSON."""
        return canonical_json(self._result(tick))

    def conclude(self, blocks: Mapping[int, bytes]) -> Conclusion:
        """The result."""
        return Conclusion(json.loads(blocks[0]))


@dataclass(frozen=True)
class FinishedBlock:
    """A block that was computed elsewhere; by whom and when, in seconds since 1970."""

    number: int
    units: int
    payload: bytes
    worker: str = ""
    began: float = 0.0
    ended: float = 0.0


class Cluster(Protocol):
    """Computes blocks on other machines."""

    def map_blocks(
        self, work: Work, numbers: Sequence[int], halted: Halted, enter_stage: Callable[[str], object]
    ) -> AsyncGenerator[FinishedBlock, None]:
        """Compute the blocks of these numbers, each wholly, and give them in any order.

        It ends soon after ``halted`` answers True, and may leave blocks to be computed here. Once closed, it
        has nothing computed any more. ``enter_stage`` takes what a user is to be told. If a block fails the
        others are given all the same, then its error is raised.
        """


Prepare = Callable[[TenantId, Stored], Awaitable[Work]]
"""Loads what a resource needs and makes its work."""

PrepareClaimed = Callable[[Claim, Stored], Awaitable[Work]]
"""The same where something is stored before the work: its transactions carry the claim."""


class RunExecution:
    """Executes claims: one kind of work per kind of resource, some on a cluster."""

    def __init__(
        self,
        store: Store,
        prepare: Mapping[Kind, Prepare],
        prepare_claimed: Mapping[Kind, PrepareClaimed] = MappingProxyType({}),
        clusters: Mapping[Kind, Cluster] = MappingProxyType({}),
    ) -> None:
        self._store = store
        self._prepare = prepare
        self._prepare_claimed = prepare_claimed
        self._clusters = clusters

    async def execute(self, claim: Claim, report: Report, stopped: Halted) -> None:
        """Do the run's work, from where an earlier attempt left it, and store its result.

        ``stopped`` tells that a user asks for the best so far. Raises Fenced if the claim is outdated, and
        whatever the work raises; the store's absence is waited for.
        """
        run, resource, saved = await self._with_store(claim, lambda work: _read(work, claim.run_id))
        tracker = _Tracker(report, run.progress)
        tracker.stage("loading")
        was_stopped = run.stop_requested
        work = await self._persist_in(lambda: self._prepared(claim, resource))
        mark = mark_of(run.input_sha256, work.n_blocks, _units(work))
        own = {number: saved[number] for number in sorted(saved) if saved[number].startswith(mark)}
        blocks = {index: payload for index, payload in own.items() if index >= 0}
        finished = sum(HEADER.unpack_from(payload)[1] for payload in blocks.values())
        tracker.begin(_units(work), finished, work.seconds, work.time_limit)
        keeper = Keeper(answers_of(work), mark, saved)
        keeper.recall(own)
        del saved, own

        def halted() -> bool:
            return was_stopped or stopped() or tracker.is_over_time

        if resource.kind in self._clusters:
            open_blocks = [index for index in range(work.n_blocks) if index not in blocks]
            computed = self._clusters[resource.kind].map_blocks(work, open_blocks, halted, tracker.stage)
            async with aclosing(computed):
                async for block in computed:
                    tracker.tick(block.units)
                    payload = HEADER.pack(mark, tracker.end_block()) + block.payload
                    await self._with_store(claim, partial(_save, claim, {block.number: payload}))
                    blocks[block.number] = payload
            tracker.stage("computing")
        for index in range(work.n_blocks):
            if halted():
                break
            if index not in blocks:
                blocks[index] = await self._do_block(claim, work, index, tracker, halted, keeper)
        last = tracker.complete() if len(blocks) == work.n_blocks else tracker.stage("finishing")
        found = {index: blocks[index][HEADER.size :] for index in sorted(blocks)}
        conclusion = await asyncio.to_thread(work.conclude, found)
        await self._finish(claim, run, resource, conclusion, last)

    async def _prepared(self, claim: Claim, resource: Stored) -> Work:
        prepare = self._prepare_claimed.get(resource.kind)
        if prepare is not None:
            return await prepare(claim, resource)
        return await self._prepare[resource.kind](claim.tenant, resource)

    async def _do_block(
        self, claim: Claim, work: Work, index: int, tracker: _Tracker, halted: Halted, keeper: Keeper
    ) -> bytes:
        is_lost = False
        run_block = partial(work.run_block, index, tracker.tick, lambda: is_lost or halted())
        computing = asyncio.create_task(asyncio.to_thread(run_block))
        try:
            while not (await asyncio.wait({computing}, timeout=KEEP_SECONDS))[0]:
                news = keeper.news()
                if news:
                    await self._with_store(claim, partial(_save, claim, news))
                keeper.has_kept(news)
        except Fenced:
            is_lost = True  # nobody wants what the thread would still find
            await asyncio.wait({computing})
            raise
        block = await computing
        payload = HEADER.pack(keeper.mark, tracker.end_block()) + block
        if not halted():  # else it may not be finished
            await self._with_store(claim, partial(_save, claim, {index: payload}))
        return payload

    async def _finish(
        self, claim: Claim, run: Run, resource: Stored, conclusion: Conclusion, last: Progress
    ) -> None:
        async def finish(work: UnitOfWork) -> None:
            # The worker tells progress now and then; a run that succeeds has told all of it.
            await work.runs.heartbeat(claim, last)
            if conclusion.rule is not None:
                await work.resources.add(conclusion.rule)
            if conclusion.also is not None:
                await conclusion.also(work, run)
            await work.runs.finish(
                claim,
                RunState.SUCCEEDED,
                result=conclusion.result,
                error=None,
                reproducible=conclusion.reproducible,
            )

        async def keep(work: UnitOfWork) -> None:
            await work.results.save(resource.kind.value, run.input_sha256, conclusion.result, resource.id)

        try:
            await self._with_store(claim, finish)
        except Conflict as error:
            if not conclusion.reproducible:
                raise
            # The answer is not thrown away with the name: the same question finds it by its input.
            await self._with_store(claim, keep)
            raise Conflict(
                f"The result is known, but a rule named {resource.name!r} of other content exists already.",
                "Create the optimisation again under another name; the result is kept and given at once.",
                error.details,
            ) from error

    async def _with_store(self, claim: Claim, use: Callable[[UnitOfWork], Awaitable[T]]) -> T:
        """Use the store in one transaction, again and again while it is away."""

        async def once() -> T:
            async with self._store.work(claim.tenant) as work:
                answer = await use(work)
                await work.commit()
                return answer

        return await self._persist_in(once)

    async def _persist_in(self, action: Callable[[], Awaitable[T]]) -> T:
        pause = FIRST_PAUSE_SECONDS
        while True:
            try:
                return await action()
            except Unavailable:
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)


async def _save(claim: Claim, blocks: Mapping[int, bytes], work: UnitOfWork) -> None:
    for number, payload in blocks.items():
        await work.runs.save_block(claim, number, payload)


async def _read(work: UnitOfWork, run_id: str) -> tuple[Run, Stored, dict[int, bytes]]:
    run = await work.runs.get(run_id)
    resource = await work.resources.get(run.resource_kind, run.resource_id)
    return run, resource, await work.runs.blocks(run_id)


def _units(work: Work) -> int:
    return min(work.units, MOST_UNITS)


class _Tracker:
    """Progress that never goes back, not even behind what an earlier attempt had told."""

    def __init__(self, report: Report, earlier: Progress | None) -> None:
        self._report = report
        self._stage = ""
        self._done = earlier.done if earlier else 0
        self._total = earlier.total if earlier else 1
        self._finished_units = 0
        self._block_units = 0
        self._begun_at = time.monotonic()
        self._begun_units = 0
        self._estimate = 0.0
        self._limit = math.inf

    @property
    def is_over_time(self) -> bool:
        """Whether computing has lasted longer than its limit."""
        return time.monotonic() - self._begun_at >= self._limit

    def stage(self, name: str) -> Progress:
        """Enter a stage; the progress so far."""
        self._stage = name
        return self._tell(None, None)

    def begin(self, total: int, finished: int, estimate: float, limit: float | None) -> None:
        """Start computing, with the units that earlier attempts have finished.

        ``estimate`` are the seconds expected for all units, ``limit`` those after which it is halted.
        """
        self._total = total
        self._finished_units = self._begun_units = finished
        self._begun_at = time.monotonic()
        self._estimate, self._limit = estimate, math.inf if limit is None else limit
        self._stage = "computing"
        self._advance()

    def tick(self, units: int) -> None:
        """So many units of the present block are done."""
        self._block_units = units
        self._advance()

    def end_block(self) -> int:
        """The present block is done; the units that it had."""
        units, self._block_units = self._block_units, 0
        self._finished_units += units
        self._advance()
        return units

    def complete(self) -> Progress:
        """Every block is done, whatever of the total the work has skipped."""
        self._done = self._total
        return self.stage("finishing")

    def _advance(self) -> None:
        units = self._finished_units + self._block_units
        self._done = max(self._done, min(units, self._total))
        seconds = time.monotonic() - self._begun_at
        fresh = units - self._begun_units
        rate = fresh / seconds if fresh > 0 and seconds > 0 else None
        self._tell(rate, self._remaining(units, fresh, seconds))

    def _remaining(self, units: int, fresh: int, seconds: float) -> float | None:
        """Seconds until the end: by the estimate at first, then more and more by the pace so far.

        None once the estimate is used up while few units are done: a search that leaves out most of them
        cannot be told from one that is slow. Never more than its time limit leaves.
        """
        to_do = max(self._total - self._begun_units, 1)
        by_estimate = self._estimate * to_do / max(self._total, 1) - seconds
        trust = min(1.0, fresh / (TRUSTED_SHARE * to_do))
        by_limit = max(0.0, self._limit - seconds)
        if trust < 1.0 and by_estimate <= 0:
            return by_limit if math.isfinite(by_limit) else None
        by_pace = seconds / fresh * max(self._total - units, 0) if fresh else 0.0
        return min(trust * by_pace + (1.0 - trust) * by_estimate, by_limit)

    def _tell(self, rate: float | None, remaining: float | None) -> Progress:
        progress = Progress(self._stage, self._done, self._total, rate, remaining)
        self._report(progress)
        return progress
