"""Runs that compute chains of hashes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime

from app.persistence.addresses import create_engine
from app.persistence.encryption import MasterKey
from app.persistence.store import PostgresStore
from app.services.fingerprints import sha256_of
from app.services.resources import Kind, NewResource, Stored, TenantId
from app.services.runs import run_execution
from app.services.runs.run_execution import Cluster, RunExecution
from app.workers.child import Execute
from app.workers.cluster import ClusterOptions
from tests.faults.chain_work import HashChains
from tests.faults.least_losses import KEEP_SECONDS, LeastLoss


def chains(name: str, n_blocks: int, units_per_block: int, gate: str = "") -> NewResource:
    """The resource whose run computes these chains."""
    document = {"n_blocks": n_blocks, "units_per_block": units_per_block, "gate": gate}
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
    cluster: ClusterOptions | None = None

    def __call__(self) -> Execute:
        store = PostgresStore(
            create_engine(self.runtime_url, connections=2),
            MasterKey.from_text(self.master_key),
            lambda: datetime.now(UTC),
        )
        run_execution.KEEP_SECONDS = KEEP_SECONDS  # in the process of the run alone
        clusters: dict[Kind, Cluster] = {}
        if self.cluster is not None:
            from app.workers.cluster.blocks import DaskCluster

            clusters[Kind.OPTIMISATION] = DaskCluster(self.cluster)
        execution = RunExecution(store, {Kind.OPTIMISATION: _prepare}, clusters=clusters)
        loop = asyncio.Runner()
        return lambda *told: loop.run(execution.execute(*told))
