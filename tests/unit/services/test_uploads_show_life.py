"""An upload shows that it is under way for as long as its body takes, and ends if it cannot."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from app.domain.errors import Unavailable
from app.services.datasets import uploads
from app.services.datasets.ingest.dialect import UploadLimits
from app.services.datasets.uploads import CreateUpload, UploadService
from app.services.leases import Lease
from app.services.resources import Actor
from tests.processes import HANG_SECONDS
from tests.unit.services import memory_store
from tests.unit.services.memory_store import MemoryStore

pytestmark = pytest.mark.anyio


async def test_a_slow_upload_shows_that_it_lives(store: MemoryStore, actor: Actor, monkeypatch):
    monkeypatch.setattr(uploads, "UPLOAD_LEASE", Lease(3600.0, 0.001))
    signs: list[str] = []
    enough = asyncio.Event()

    async def keep(self: object, upload_id: str) -> None:
        signs.append(upload_id)
        if len(signs) == 3:
            enough.set()

    async def slow() -> AsyncIterator[bytes]:
        yield b"a,b\n"
        async with asyncio.timeout(HANG_SECONDS):
            await enough.wait()
        yield b"1,2\n"

    monkeypatch.setattr(memory_store._Pieces, "keep", keep)
    created = await UploadService(store, UploadLimits()).create(actor, CreateUpload("members"), slow())
    assert set(signs) == {created.resource.id}


async def test_an_upload_that_can_show_no_life_ends_and_leaves_nothing(
    store: MemoryStore, actor: Actor, monkeypatch
):
    """What it had stored could be swept at any moment."""
    monkeypatch.setattr(uploads, "UPLOAD_LEASE", Lease(0.01, 0.001))

    async def keep(self: object, upload_id: str) -> None:
        raise Unavailable("away")

    async def endless() -> AsyncIterator[bytes]:
        yield b"a,b\n"
        await asyncio.Event().wait()

    monkeypatch.setattr(memory_store._Pieces, "keep", keep)
    with pytest.raises(Unavailable, match="interrupted"):
        await UploadService(store, UploadLimits()).create(actor, CreateUpload("members"), endless())
    assert store.data(actor.tenant).pieces == {}
