"""Clients of the application, each of a tenant of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from app.persistence.registry import PostgresRegistry
from app.persistence.store import PostgresStore
from tests.api.journey import walk
from tests.api.service import Api, build_api
from tests.api.tables import rows_of_tables


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
async def journey(api, client) -> httpx.AsyncClient:
    """A client whose tenant has gone through the examples up to the releases."""
    async for step, response in walk(api, client, before="access"):
        assert response.status_code < 400 or step.operation_id == "cancel_run", response.text
    return client
