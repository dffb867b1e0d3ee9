"""Blocks of a run computed on a Dask cluster, seen from the process of the run.

The work travels once, as it was loaded: workers need no database and no key. It goes only to workers that
have the same code and libraries and keep nothing on a disk. Everything that is known of the run stays here;
what a cluster forgets by being restarted is asked for again, and once this process ends, however it does,
the cluster drops what it was doing for it.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from concurrent.futures import CancelledError
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import structlog
from distributed import Client, Future
from distributed.scheduler import KilledWorker
from distributed.security import Security

from app.domain.errors import NotSupported
from app.domain.search.budget import Halted
from app.services.runs.run_execution import FinishedBlock, Work
from app.workers.child import Failure, WorkFailed
from app.workers.cluster import ClusterOptions
from app.workers.cluster.block_process import Order, packed
from app.workers.cluster.computing import Computed, compute
from app.workers.cluster.roster import Roster
from app.workers.cluster.versions import versions
from app.workers.executor import MAX_LOSSES
from app.workers.failures import internal_error, worker_lost

CONNECT_SECONDS: Final = 3.0
CLOSE_SECONDS: Final = 1.0
PAUSE_SECONDS: Final = 1.0
"""Between two attempts to reach a cluster that is away."""

POLL_SECONDS: Final = 0.2
PER_THREAD: Final = 2
"""Blocks that are given out per thread of the cluster: one that is computed, and one that is next."""

WAITING: Final = "waiting for the cluster"
COMPUTING: Final = "computing"

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class ComputedBlock(FinishedBlock):
    """A finished block, and where and when it was computed, in seconds since 1970."""

    worker: str
    began: float
    ended: float


class DaskCluster:
    """Computes blocks on the cluster of the options; a ``Cluster`` of run execution."""

    def __init__(self, options: ClusterOptions) -> None:
        self._options = options

    async def map_blocks(
        self, work: Work, numbers: Sequence[int], halted: Halted, enter_stage: Callable[[str], object]
    ) -> AsyncGenerator[ComputedBlock, None]:
        """Compute the blocks; see ``Cluster``.

        Raises WorkFailed for the block of the least number that failed, and NotSupported if every worker is
        refused or nothing says with which certificates to talk to the cluster.
        """
        if len(numbers) < 2 or work.seconds < self._options.least_seconds:
            return
        _require_certificates(self._options.address)
        order = Order(await asyncio.to_thread(packed, work), versions(), self._options.memory_bytes)
        job = _Job(order, deque(numbers))
        while job.is_open and not halted():
            try:
                async with _connected(self._options.address) as client:
                    blocks = _Round(client, job, halted, enter_stage).blocks()
                    async with aclosing(blocks):
                        async for block in blocks:
                            yield block
            except _Away as away:
                log.warning("cluster_away", address=self._options.address, why=str(away))
                if self._options.falls_back:
                    return
                enter_stage(WAITING)
                await asyncio.sleep(PAUSE_SECONDS)
            except NotSupported as refused:
                if not self._options.falls_back:
                    raise
                log.warning("cluster_refused", address=self._options.address, why=refused.message)
                return
        if job.failures and not halted():
            raise WorkFailed(job.failures[min(job.failures)])


class _Away(Exception):
    """The cluster cannot be worked with at present; the text says why."""


@dataclass
class _Job:
    """What is left of a run's blocks, whichever connection they are computed over."""

    order: Order
    waiting: deque[int]
    given_out: set[int] = field(default_factory=set)
    failures: dict[int, Failure] = field(default_factory=dict)
    losses: Counter[int] = field(default_factory=Counter)
    has_begun: bool = False
    """Whether workers were accepted: if all are refused later, good ones may come again."""

    @property
    def is_open(self) -> bool:
        """Whether blocks are neither finished nor have failed."""
        return bool(self.waiting or self.given_out)

    def taken(self, most: int) -> list[int]:
        """The next blocks, to be given out."""
        taken = [self.waiting.popleft() for _ in range(min(most, len(self.waiting)))]
        self.given_out.update(taken)
        return taken

    def settle(self, number: int, came: FinishedBlock | Failure | None) -> None:
        """Note what came of a block; None: the process that computed it died."""
        self.given_out.discard(number)
        if came is None:
            self.losses[number] += 1
            if self.losses[number] < MAX_LOSSES:
                self.waiting.append(number)
                return
            came = Failure(worker_lost(MAX_LOSSES))
        if isinstance(came, Failure):
            self.failures[number] = came

    def take_back(self) -> None:
        """Have what was given out computed again."""
        self.waiting.extendleft(sorted(self.given_out, reverse=True))
        self.given_out.clear()


class _Round:
    """The blocks that one connection brings; what is under way when it ends is taken back."""

    def __init__(
        self, client: Client, job: _Job, halted: Halted, enter_stage: Callable[[str], object]
    ) -> None:
        self._client = client
        self._job = job
        self._halted = halted
        self._enter_stage = enter_stage
        self._roster = Roster(client, job.order.versions)
        self._began = time.monotonic()
        self._order: Future | None = None
        self._running: dict[asyncio.Task[Computed | Failure], tuple[int, frozenset[str]]] = {}
        """Blocks that are given out, each with the workers that may compute it."""

    async def blocks(self) -> AsyncGenerator[ComputedBlock, None]:
        """Finished blocks as they come, until none is open; _Away if the cluster fails."""
        try:
            while self._job.is_open and not self._halted():
                await self._give_out()
                pause = asyncio.create_task(asyncio.sleep(POLL_SECONDS))
                await asyncio.wait({*self._running, pause}, return_when=asyncio.FIRST_COMPLETED)
                pause.cancel()
                for task in [task for task in self._running if task.done()]:
                    number, _ = self._running.pop(task)
                    computed = task.result()
                    came = computed if isinstance(computed, Failure) else computed.came
                    self._job.settle(number, came)
                    if isinstance(computed, Computed) and isinstance(came, FinishedBlock):
                        at = (computed.worker, computed.began, computed.ended)
                        yield ComputedBlock(number, came.units, came.payload, *at)
        finally:
            for task in self._running:
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)
            await self._roster.leave()
            self._job.take_back()

    async def _give_out(self) -> None:
        """Give accepted workers as many blocks as they have room for."""
        if self._client.status != "running":
            raise _Away("the connection to its scheduler was lost")
        await self._roster.look()
        accepted = self._roster.accepted
        if not accepted:
            if not self._job.has_begun:
                self._roster.require_hope()
            if time.monotonic() - self._began > CONNECT_SECONDS:
                raise _Away("it has no worker")
            return
        if any(places.isdisjoint(accepted) for _, places in self._running.values()):
            raise _Away("the workers that had blocks are gone")
        if self._order is None:
            self._order = await self._client.scatter(
                self._job.order, workers=list(accepted), broadcast=True, hash=False
            )
            self._job.has_begun = True
            self._enter_stage(COMPUTING)
        room = PER_THREAD * sum(accepted.values()) - len(self._running)
        for number in self._job.taken(room):
            future = self._client.submit(
                compute, self._order, self._order.key, number,
                key=f"block-{number}-{secrets.token_hex(8)}",
                workers=list(accepted), allow_other_workers=False, pure=False,
            )  # fmt: skip
            self._running[asyncio.create_task(_outcome(future))] = number, frozenset(accepted)


async def _outcome(future: Future) -> Computed | Failure:
    """What came of a task; _Away if the cluster has forgotten it."""
    try:
        computed: Computed = await future
    except KilledWorker:
        return Failure(worker_lost(MAX_LOSSES))
    except (CancelledError, OSError):
        raise _Away("it has lost blocks") from None
    except Exception as error:
        return Failure(internal_error(error))
    return computed


@asynccontextmanager
async def _connected(address: str) -> AsyncIterator[Client]:
    """A client of the scheduler; _Away if there is none, or the connection fails."""
    try:
        client = await Client(address, asynchronous=True, set_as_default=False, timeout=CONNECT_SECONDS)
    except OSError:
        raise _Away("no scheduler answers, or not with certificates that this service trusts") from None
    try:
        yield client
    except OSError:
        raise _Away("the connection to its scheduler was lost") from None
    finally:
        await client.close(CLOSE_SECONDS)


def _require_certificates(address: str) -> None:
    if address.startswith("tls://") and Security().get_connection_args("client")["ssl_context"] is None:
        raise NotSupported(
            "The address of the cluster asks for TLS, and no certificates are named.",
            "Set DASK_DISTRIBUTED__COMM__TLS__CA_FILE, …__TLS__CLIENT__CERT and …__TLS__CLIENT__KEY.",
        )
