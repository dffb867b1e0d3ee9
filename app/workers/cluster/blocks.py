"""Blocks of a run computed on a Dask cluster, seen from the process of the run.

The work travels once, as it was loaded: workers need no database and no key. It goes only to workers that
have the same code and libraries and keep nothing on a disk. Everything that is known of the run stays here;
what a cluster forgets by being restarted is asked for again, and once this process ends, however it does,
the cluster drops what it was doing for it.
"""

from __future__ import annotations

import asyncio
import math
import secrets
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from concurrent.futures import CancelledError
from contextlib import aclosing, asynccontextmanager
from typing import Any, Final

import structlog
from distributed import Client, Future
from distributed.security import Security

from app.domain.errors import NotSupported
from app.domain.search.budget import Halted
from app.services.runs.run_execution import FinishedBlock, Work
from app.workers.child import Failure, WorkFailed
from app.workers.cluster import ClusterOptions
from app.workers.cluster.block_process import Order, order_of
from app.workers.cluster.computing import compute
from app.workers.cluster.roster import Roster
from app.workers.executor import MAX_LOSSES
from app.workers.failures import internal_error, worker_lost

CONNECT_SECONDS: Final = 3.0
CLOSE_SECONDS: Final = 1.0
PAUSE_SECONDS: Final = 1.0
"""Between two attempts to reach a cluster that is away."""

POLL_SECONDS: Final = 0.2
LEAD_SECONDS: Final = 0.1
"""A thread of the cluster is given blocks for so long at once: each takes some 20 ms to come and go, which
nobody waits for while others are computed."""
LEAST_AT_ONCE, MOST_AT_ONCE = 2, 16
"""Blocks that a thread is given at once: one that is computed, and those that are next."""
RECENT: Final = 8
"""So many finished blocks tell how long the next will take."""

WAITING, COMPUTING = "waiting for the cluster", "computing"

log = structlog.get_logger(__name__)


class DaskCluster:
    """Computes blocks on the cluster of the options; a ``Cluster`` of run execution."""

    def __init__(self, options: ClusterOptions) -> None:
        self._options = options

    async def map_blocks(
        self, work: Work, numbers: Sequence[int], halted: Halted, enter_stage: Callable[[str], object]
    ) -> AsyncGenerator[FinishedBlock, None]:
        """Compute the blocks; see ``Cluster``.

        Raises WorkFailed for the block of the least number that failed, and NotSupported if every worker is
        refused or nothing says with which certificates to talk to the cluster.
        """
        if len(numbers) < 2 or work.seconds < self._options.least_seconds:
            return
        _require_certificates(self._options.address)
        order = await asyncio.to_thread(order_of, work, self._options.memory_bytes)
        job = _Job(order, set(numbers), halted, enter_stage)
        while job.open and not halted():
            try:
                async with _connected(self._options.address) as client, aclosing(job.over(client)) as blocks:
                    async for block in blocks:
                        yield block
            except (_Interrupted, _Away, NotSupported) as fault:
                log.warning("cluster_left", address=self._options.address, why=str(fault))
                if not isinstance(fault, _Interrupted):
                    if self._options.falls_back:
                        return
                    if isinstance(fault, NotSupported):
                        raise
                    enter_stage(WAITING)
                await asyncio.sleep(PAUSE_SECONDS)
        if job.failures and not halted():
            raise WorkFailed(job.failures[min(job.failures)])


class _Away(Exception):
    """There is no cluster to work with at present; the text says why."""


class _Interrupted(Exception):
    """The cluster has lost what it was doing; the text says how."""


class _Job:
    """The blocks of one work; ``open`` are neither finished nor have failed, over whichever connections."""

    def __init__(
        self, order: Order, numbers: set[int], halted: Halted, enter_stage: Callable[[str], object]
    ) -> None:
        self.open = numbers
        self.failures: dict[int, Failure] = {}
        self._losses: Counter[int] = Counter()
        self._seconds: deque[float] = deque(maxlen=RECENT)
        self._order = order
        self._halted = halted
        self._enter_stage = enter_stage
        self._has_begun = False

    async def over(self, client: Client) -> AsyncGenerator[FinishedBlock, None]:
        """Finished blocks as they come over one connection, until none is open."""
        roster, seen = Roster(client, self._order.versions), time.monotonic()
        sending: asyncio.Task[Future] | None = None
        receivers: list[str] = []
        running: dict[asyncio.Task[FinishedBlock | Failure | None], tuple[int, str]] = {}
        try:
            while self.open and not self._halted():
                if client.status != "running":
                    raise _Interrupted("the connection to its scheduler was lost")
                accepted = await roster.accepted(require_one=not self._has_begun)
                if sending is None and accepted:
                    receivers = list(accepted)
                    scattered = client.scatter(self._order, workers=receivers, broadcast=True, hash=False)
                    sending = asyncio.create_task(scattered)
                elif sending is not None and not sending.done() and not accepted.keys() >= set(receivers):
                    sending.cancel()  # who is gone might never say that it has arrived
                    sending = None
                order = sending.result() if sending is not None and sending.done() else None
                if order is not None and not self._has_begun:
                    self._has_begun = True
                    self._enter_stage(COMPUTING)
                seen = time.monotonic() if accepted else seen
                if time.monotonic() - seen > CONNECT_SECONDS:
                    raise _Away("it has no worker")
                for task in [task for task, (_, place) in running.items() if place not in accepted]:
                    task.cancel()  # its worker is gone, and with it what it had computed
                    del running[task]
                places = Counter(place for _, place in running.values())
                at_once = self._at_once(sum(accepted.values()))
                free = deque(sorted(self.open.difference(number for number, _ in running.values())))
                for place, threads in accepted.items() if order is not None else ():
                    for _ in range(min(len(free), at_once * threads - places[place])):
                        task = asyncio.create_task(_outcome(client, order, free[0], place))
                        running[task] = free.popleft(), place
                pause: asyncio.Task[Any] = asyncio.create_task(asyncio.sleep(POLL_SECONDS))
                awaited = {*running, pause} if order is not None or sending is None else {sending, pause}
                await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
                for task in [task for task in running if task.done()]:
                    number, _ = running.pop(task)
                    block = self._settled(number, task.result())
                    if block is not None:
                        yield block
        finally:
            left = [*running, *roster.examinations.values(), *([sending] if sending else [])]
            for one in left:
                one.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    def _settled(self, number: int, came: FinishedBlock | Failure | None) -> FinishedBlock | None:
        """The block, if it is finished; one whose process has died is computed again, not for ever."""
        if came is None:
            self._losses[number] += 1
            if self._losses[number] < MAX_LOSSES:
                return None
            came = Failure(worker_lost(MAX_LOSSES))
        self.open.discard(number)
        if isinstance(came, Failure):
            self.failures[number] = came
            return None
        self._seconds.append(came.ended - came.began)
        return came

    def _at_once(self, threads: int) -> int:
        """How many blocks a thread is given: more of short ones, and never more than its share."""
        wanted = LEAST_AT_ONCE
        if self._seconds:
            mean = sum(self._seconds) / len(self._seconds)
            wanted = math.ceil(min(MOST_AT_ONCE, LEAD_SECONDS / max(mean, 1e-6)))
        share = math.ceil(len(self.open) / max(threads, 1))
        return min(max(wanted, LEAST_AT_ONCE), share)


async def _outcome(client: Client, order: Future, number: int, place: str) -> FinishedBlock | Failure | None:
    """What comes of a block that one worker computes; _Interrupted if the cluster forgets it."""
    try:
        came: FinishedBlock | Failure | None = await client.submit(
            compute, order, order.key, number, key=f"block-{number}-{secrets.token_hex(8)}",
            workers=[place], allow_other_workers=False, pure=False, priority=-number,
        )  # fmt: skip
    except (CancelledError, OSError):
        raise _Interrupted("it has lost blocks") from None
    except Exception as error:
        return Failure(internal_error(error))
    return came


@asynccontextmanager
async def _connected(address: str) -> AsyncIterator[Client]:
    """A client of the scheduler; _Away if there is none, _Interrupted if the connection fails later."""
    try:
        client = await Client(address, asynchronous=True, set_as_default=False, timeout=CONNECT_SECONDS)
    except OSError:
        raise _Away("no scheduler answers, or not with certificates that this service trusts") from None
    try:
        yield client
    except OSError:
        raise _Interrupted("the connection to its scheduler was lost") from None
    finally:
        await client.close(CLOSE_SECONDS)


def _require_certificates(address: str) -> None:
    if address.startswith("tls://") and Security().get_connection_args("client")["ssl_context"] is None:
        raise NotSupported(
            "The address of the cluster asks for TLS, and no certificates are named.",
            "Set DASK_DISTRIBUTED__COMM__TLS__CA_FILE, …__TLS__CLIENT__CERT and …__TLS__CLIENT__KEY.",
        )
