"""Clients of the application, each of a tenant of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from app.persistence.addresses import create_engine
from app.persistence.encryption import MasterKey
from app.persistence.registry import PostgresRegistry
from app.persistence.store import PostgresStore
from tests.api.journey import walk
from tests.api.service import Api, build_api
from tests.api.tables import rows_of_tables
from tests.conftest import DatabaseUrls, FixedClock, PostgresServer


@dataclass(frozen=True)
class JourneysEnd:
    """A database in which one tenant has gone through the examples, and that tenant's key."""

    database: str
    token: str


@pytest.fixture(scope="session")
def master_key() -> MasterKey:
    return MasterKey.generate()


@pytest.fixture(scope="session")
def journeys_end(postgres: PostgresServer, master_key: MasterKey) -> Iterator[JourneysEnd]:
    """The examples, gone through once; tests get copies of what they leave."""
    database = postgres.clone()
    token = asyncio.run(_go(postgres.urls(database), master_key))
    yield JourneysEnd(database, token)
    postgres.drop(database)


async def _go(urls: DatabaseUrls, master_key: MasterKey) -> str:
    """Go through the examples up to the releases, as a new tenant; its key."""
    engine, clock = create_engine(urls.runtime), FixedClock()
    try:
        store, registry = (
            PostgresStore(engine, master_key, clock),
            PostgresRegistry(engine, master_key, clock),
        )
        api = build_api(store, registry, clock)
        _, token = await api.tenant_with_key()
        async with api.client(token) as client:
            async for step, response in walk(api, client, before="access"):
                assert response.status_code < 400 or step.operation_id == "cancel_run", response.text
        return token
    finally:
        await engine.dispose()


@pytest.fixture(scope="module")
def file_database(postgres: PostgresServer) -> Iterator[str]:
    """The database of this file's tests that begin with nothing."""
    name = postgres.clone()
    yield name
    postgres.drop(name)


@pytest.fixture
def database_urls(request: pytest.FixtureRequest, postgres: PostgresServer) -> Iterator[DatabaseUrls]:
    """The addresses of the file's database, or of a copy of the journey's end if the test begins there."""
    if "journeys_end" not in request.fixturenames:
        yield postgres.urls(request.getfixturevalue("file_database"))
        return
    end: JourneysEnd = request.getfixturevalue("journeys_end")
    name = postgres.clone(end.database)
    yield postgres.urls(name)
    postgres.drop(name)


@pytest.fixture
def api(store: PostgresStore, registry: PostgresRegistry, clock: Any) -> Api:
    return build_api(store, registry, clock)


@pytest.fixture
async def client(anyio_backend: str, api: Api) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a new tenant, with a key of every scope."""
    _, token = await api.tenant_with_key()
    async with api.client(token) as client:
        yield client


@pytest.fixture
async def other_client(anyio_backend: str, api: Api) -> AsyncIterator[httpx.AsyncClient]:
    """A client of another new tenant."""
    _, token = await api.tenant_with_key()
    async with api.client(token) as client:
        yield client


@pytest.fixture
async def anonymous(anyio_backend: str, api: Api) -> AsyncIterator[httpx.AsyncClient]:
    """A client without a key."""
    async with api.client(None) as client:
        yield client


@pytest.fixture
async def unchanged(anyio_backend: str, database_urls: Any) -> AsyncIterator[None]:
    """Asserts that the test wrote nothing."""
    before = rows_of_tables(database_urls.admin)
    yield
    assert rows_of_tables(database_urls.admin) == before


@pytest.fixture
async def journey(api: Api, journeys_end: JourneysEnd) -> AsyncIterator[httpx.AsyncClient]:
    """A client whose tenant has gone through the examples up to the releases.

    In a database of the test's own, see :func:`database_urls`.
    """
    async with api.client(journeys_end.token) as client:
        yield client
