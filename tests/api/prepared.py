"""Databases that tests begin with: what takes many calls to make is made once and copied."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

import httpx
import uvloop
from prometheus_client import generate_latest

from app.persistence.addresses import create_engine
from app.persistence.encryption import MasterKey
from app.persistence.registry import PostgresRegistry
from app.persistence.store import PostgresStore
from tests.api.service import Api, build_api
from tests.conftest import DatabaseUrls, FixedClock, PostgresServer

Go = Callable[[Api, httpx.AsyncClient], Awaitable[None]]


@dataclass(frozen=True)
class Prepared:
    """A database that nobody is connected to, and the key of the one tenant in it.

    ``told`` is what was logged and counted until then.
    """

    database: str
    token: str
    told: str


def prepared(
    postgres: PostgresServer, master_key: MasterKey, go: Go, begins_with: Prepared | None = None
) -> Iterator[Prepared]:
    """A database in which a tenant has gone through ``go``, until it is not needed any more.

    The tenant is that of ``begins_with``, with all that it has there, or a new one.
    """
    database = postgres.clone(None if begins_with is None else begins_with.database)
    token, before = (None, "") if begins_with is None else (begins_with.token, begins_with.told)
    token, told = uvloop.run(_gone_through(go, postgres.urls(database), master_key, token))
    postgres.keep_rows(database)
    yield Prepared(database, token, before + told)
    postgres.leave(database)


async def _gone_through(
    go: Go, urls: DatabaseUrls, master_key: MasterKey, token: str | None
) -> tuple[str, str]:
    """The tenant's key, and what was logged and counted."""
    engine, clock = create_engine(urls.runtime), FixedClock()
    try:
        store, registry = (kind(engine, master_key, clock) for kind in (PostgresStore, PostgresRegistry))
        api = build_api(store, registry, clock)
        if token is None:
            _, token = await api.tenant_with_key()
        async with api.client(token) as client:
            await go(api, client)
        return token, api.log.getvalue() + generate_latest(api.metrics).decode()
    finally:
        await engine.dispose()
