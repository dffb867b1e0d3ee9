from __future__ import annotations

import pytest

from app.services.resources import Actor, Scope, TenantId
from tests.unit.services.memory_store import MemoryStore
from tests.unit.services.world import World


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def actor() -> Actor:
    return Actor(TenantId("tenant-1"), "key-1", frozenset(Scope))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def world(store: MemoryStore, actor: Actor) -> World:
    return World(store, actor)
