"""A process that creates a release and is killed at a moment that it is told."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Any

from app.domain.mechanisms.perturbation import Perturbation
from app.persistence.addresses import create_engine
from app.persistence.draws import PostgresDraws
from app.persistence.encryption import MasterKey
from app.persistence.store import PostgresStore
from app.services.datasets.tables import TableLoader
from app.services.releases import mechanism_releases
from app.services.releases.releases import ReleaseService
from app.services.releases.requests import ChosenMechanism, CreateRelease
from app.services.resources import Actor, Scope, TenantId
from tests.conftest import FixedClock

REQUEST = CreateRelease("drawn", "people", mechanism=ChosenMechanism("perturbation", Perturbation(beta=2.0)))


def die(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_at(moment: str) -> None:
    """Let the process be killed once the secret is sealed, all is drawn, or the bytes are written."""
    if moment == "sealed":
        mechanism_releases.drawn_release = die  # type: ignore[assignment]
        return
    store = PostgresDraws.store

    async def store_and_die(self: PostgresDraws, draw_id: str, *rest: Any) -> Any:
        if moment == "written":
            await store(self, draw_id, *rest)
        die()

    PostgresDraws.store = store_and_die  # type: ignore[method-assign]


async def main(url: str, key: str, tenant: str, moment: str) -> None:
    die_at(moment)
    store = PostgresStore(create_engine(url), MasterKey.from_text(key), FixedClock())
    actor = Actor(TenantId(tenant), "key", frozenset(Scope))
    await ReleaseService(store, TableLoader(store)).create(actor, REQUEST)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
