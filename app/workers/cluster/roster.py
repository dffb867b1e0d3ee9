"""Which workers of a cluster may be given work: those that would compute the same bytes, and keep nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any, Final

from distributed import Client, Worker

from app.domain.errors import NotSupported
from app.workers.cluster.versions import differences, versions

LOOK_SECONDS: Final = 1.0
"""Between two looks at who has come and gone."""


class Roster:
    """The workers of a scheduler, each examined once: ``accepted`` has their threads by address."""

    def __init__(self, client: Client, needed: Mapping[str, str]) -> None:
        self._client = client
        self._needed = needed
        self._examined: dict[str, asyncio.Task[str | None]] = {}
        self._looked_at = -LOOK_SECONDS
        self._workers: Mapping[str, Mapping[str, Any]] = {}

    async def look(self) -> None:
        """See who is there now, and begin to examine who is new."""
        if time.monotonic() - self._looked_at < LOOK_SECONDS and self.accepted:
            return
        self._looked_at = time.monotonic()
        self._workers = (await self._client.scheduler.identity(n_workers=-1))["workers"]
        for address in self._workers.keys() - self._examined.keys():
            self._examined[address] = asyncio.create_task(self._fault(address))

    @property
    def accepted(self) -> dict[str, int]:
        """Address → threads."""
        return {
            address: worker["nthreads"]
            for address, worker in self._workers.items()
            if self._examined[address].done() and self._examined[address].result() is None
        }

    def require_hope(self) -> None:
        """NotSupported if there are workers, and every one is refused."""
        examined = [(address, self._examined[address]) for address in sorted(self._workers)]
        if examined and all(task.done() and task.result() for _, task in examined):
            raise NotSupported(
                "Every worker of the cluster is refused: "
                + "; ".join(f"{self._workers[at]['name']} at {at} {task.result()}" for at, task in examined)
                + ".",
                "Start workers with the code and the libraries of this service, and with --memory-limit 0.",
            )

    async def leave(self) -> None:
        """Examine nobody any more."""
        for task in self._examined.values():
            task.cancel()
        await asyncio.gather(*self._examined.values(), return_exceptions=True)

    async def _fault(self, address: str) -> str | None:
        """Why a worker is refused; None: it is not."""
        if address.partition("://")[0] != self._client.scheduler.address.partition("://")[0]:
            return "does not encrypt what other workers send to it"
        answers = await self._client.run(_described, workers=[address], on_error="return")
        found = answers.get(address)
        if not isinstance(found, tuple):
            return f"cannot load this service's code ({type(found).__name__})"
        theirs, spills = found
        if different := differences(self._needed, theirs):
            return f"has {', '.join(different)}"
        return "would write what it holds to its disk" if spills else None


def _described(dask_worker: Worker) -> tuple[dict[str, str], bool]:
    """A worker's versions, and whether it moves data from its memory to a disk."""
    return versions(), type(dask_worker.data) is not dict
