"""A process that makes a release, at once or by a run, and is killed at a moment that it is told."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Any

from app.composition.run_process import run_execution
from app.domain.mechanisms.perturbation import Perturbation
from app.domain.mechanisms.stability_histogram import StabilityHistogram
from app.domain.search.budget import never
from app.persistence.addresses import create_engine
from app.persistence.draws import PostgresDraws
from app.persistence.encryption import MasterKey
from app.persistence.registry import PostgresRegistry
from app.persistence.store import PostgresStore
from app.persistence.transactions import TenantTransaction
from app.services.datasets.tables import TableLoader
from app.services.releases import draw_work, mechanism_releases
from app.services.releases.releases import ReleaseService
from app.services.releases.requests import ChosenMechanism, CreateRelease
from app.services.resources import Actor, Scope, TenantId
from tests.conftest import FixedClock

REQUEST = CreateRelease("drawn", "people", mechanism=ChosenMechanism("perturbation", Perturbation(beta=2.0)))


def private_request(name: str, delta: float) -> CreateRelease:
    """A further release of whole records that spends an ε of 1 and this δ."""
    parameters = StabilityHistogram(epsilon=1.0, delta=delta, least_records=20)
    return CreateRelease(
        name,
        "people",
        mechanism=ChosenMechanism("stability_histogram", parameters),
        independent_of_earlier=True,
    )


def die(*_: Any, **__: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_at(moment: str) -> None:
    """Let the process be killed at a moment.

    Once the data are loaded, the secret sealed, all drawn, all written, or all committed that was written.
    """
    if moment == "loaded":
        PostgresDraws.begin = die  # type: ignore[method-assign,assignment]
        return
    if moment == "sealed":
        mechanism_releases.drawn_release = draw_work.drawn_release = die  # type: ignore[assignment]
        return
    store, commit = PostgresDraws.store, TenantTransaction.commit

    async def commit_and_die(self: TenantTransaction) -> None:
        await commit(self)
        die()

    async def store_and_die(self: PostgresDraws, draw_id: str, *rest: Any) -> Any:
        if moment == "drawn":
            die()
        stored = await store(self, draw_id, *rest)
        if moment == "written":
            die()
        TenantTransaction.commit = commit_and_die  # type: ignore[method-assign]
        return stored

    PostgresDraws.store = store_and_die  # type: ignore[method-assign]


async def main(
    url: str, key_text: str, tenant: str, moment: str, run_id: str = "", *, request: CreateRelease = REQUEST
) -> None:
    die_at(moment)
    engine, key = create_engine(url), MasterKey.from_text(key_text)
    store = PostgresStore(engine, key, FixedClock())
    if run_id:
        claim = await PostgresRegistry(engine, key, FixedClock()).claim(run_id, "worker", 0.0)
        assert claim is not None
        loader = TableLoader(store)
        await run_execution(store, loader, loader).execute(claim, lambda progress: None, never)
        return
    actor = Actor(TenantId(tenant), "key", frozenset(Scope))
    await ReleaseService(store, TableLoader(store)).create(actor, request)


def fork_victims(url: str, key_text: str, tenant: str) -> None:
    """For each line of a moment, a name, a δ and maybe a run make that release in a copy of this process.

    Everything is loaded in a copy, so that many of them take seconds. What ended each is told in a line.
    """
    for line in sys.stdin:
        moment, name, delta, *run_id = line.split()
        child = os.fork()
        if not child:
            asyncio.run(
                main(url, key_text, tenant, moment, *run_id, request=private_request(name, float(delta)))
            )
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 4:
        fork_victims(*sys.argv[1:])
    else:
        asyncio.run(main(*sys.argv[1:]))
