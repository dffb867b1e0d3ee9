"""Work that takes a while and whose result shows every byte of every block: chains of hashes."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from app.domain.search.budget import never
from app.persistence.addresses import create_engine
from app.persistence.encryption import MasterKey
from app.persistence.store import PostgresStore
from app.services.fingerprints import sha256_of
from app.services.resources import Kind, NewResource, Stored, TenantId
from app.services.runs import run_execution
from app.services.runs.run_execution import Conclusion, RunExecution
from app.workers.child import Execute
from tests.faults.least_losses import KEEP_SECONDS, LeastLoss

LINKS_PER_UNIT = 2_000
UNIT_SECONDS = 0.015
"""How long a unit lasts, most of which is waited, so that what watches the run gets a processor."""


@dataclass(frozen=True)
class HashChains:
    """``n_blocks`` chains of ``units_per_block`` · LINKS_PER_UNIT hashes each, UNIT_SECONDS a unit."""

    name: str
    n_blocks: int
    units_per_block: int

    @property
    def units(self) -> int:
        return self.n_blocks * self.units_per_block

    seconds = 0.0
    time_limit = None

    def run_block(self, index: int, tick, halted=never) -> bytes:
        digest = f"block {index}".encode()
        for unit in range(self.units_per_block):
            if halted():
                return b""
            time.sleep(UNIT_SECONDS)
            digest = _linked(digest, LINKS_PER_UNIT)
            tick(unit + 1)
        return digest

    def undisturbed(self, index: int) -> bytes:
        """What :meth:`run_block` gives, at once."""
        return _linked(f"block {index}".encode(), self.units_per_block * LINKS_PER_UNIT)

    def conclude(self, blocks: Mapping[int, bytes]) -> Conclusion:
        """The blocks that are finished, and the rule named after them if these are all."""
        finished = {index: block for index, block in blocks.items() if block}
        result = {"digests": [finished[index].hex() for index in sorted(finished)]}
        if len(finished) < self.n_blocks:
            return Conclusion(result, reproducible=False)
        return Conclusion(result, NewResource(Kind.RULE, self.name, sha256_of(result), {}, result))


def _linked(digest: bytes, links: int) -> bytes:
    for _ in range(links):
        digest = hashlib.sha256(digest).digest()
    return digest


def chains(name: str, n_blocks: int, units_per_block: int) -> NewResource:
    """The resource whose run computes these chains."""
    document = {"n_blocks": n_blocks, "units_per_block": units_per_block}
    return NewResource(Kind.OPTIMISATION, name, sha256_of(document), {}, document)


async def _prepare(tenant: TenantId, resource: Stored) -> HashChains | LeastLoss:
    assert resource.document is not None
    if "seed" in resource.document:
        return LeastLoss(**resource.document)
    return HashChains(resource.name, **resource.document)


@dataclass(frozen=True)
class ChainEntry:
    """The child's entry: plain values only, for it travels into the child."""

    runtime_url: str
    master_key: str

    def __call__(self) -> Execute:
        store = PostgresStore(
            create_engine(self.runtime_url, connections=2),
            MasterKey.from_text(self.master_key),
            lambda: datetime.now(UTC),
        )
        run_execution.KEEP_SECONDS = KEEP_SECONDS  # in the process of the run alone
        execution, loop = RunExecution(store, {Kind.OPTIMISATION: _prepare}), asyncio.Runner()
        return lambda *told: loop.run(execution.execute(*told))
