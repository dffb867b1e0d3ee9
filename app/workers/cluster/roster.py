"""Which workers of a cluster may be given work: those that would compute the same bytes, and keep nothing."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping
from typing import Any, Final

from distributed import Client, Worker

from app.domain.errors import NotSupported
from app.workers.cluster.versions import differences, versions

LOOK_SECONDS: Final = 1.0
"""Between two looks at who has come and gone."""

ANSWER_SECONDS: Final = 30.0
"""A scheduler that does not say so for this long stands still."""


class Roster:
    """The workers of a scheduler, each examined once; ``examinations`` find why it is refused, or None."""

    def __init__(self, client: Client, needed: Mapping[str, str]) -> None:
        self._client = client
        self._needed = needed
        self.examinations: dict[str, asyncio.Task[str | None]] = {}
        self._looked_at = -math.inf
        self._workers: Mapping[str, Mapping[str, Any]] = {}

    async def accepted(self, require_one: bool) -> dict[str, int]:
        """Address → threads of those that are there now and may be given work.

        NotSupported if one is required, and every worker is refused.
        """
        if time.monotonic() - self._looked_at >= LOOK_SECONDS:
            self._looked_at = time.monotonic()
            async with asyncio.timeout(
                ANSWER_SECONDS
            ):  # its TimeoutError is an OSError: the connection fails
                identity = await self._client.scheduler.identity(n_workers=-1)
            self._workers = identity["workers"]
            for at in self._workers.keys() - self.examinations.keys():
                self.examinations[at] = asyncio.create_task(self._fault(at))
        faults = {at: self.examinations[at].result() for at in self._workers if self.examinations[at].done()}
        if require_one and faults and all(faults.get(at) for at in self._workers):
            raise NotSupported(
                "Every worker of the cluster is refused: "
                + "; ".join(
                    f"{self._workers[at]['name']} at {at} {why}" for at, why in sorted(faults.items())
                )
                + ".",
                "Start workers with the code and the libraries of this service, and with --memory-limit 0.",
            )
        return {at: self._workers[at]["nthreads"] for at, fault in faults.items() if fault is None}

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
