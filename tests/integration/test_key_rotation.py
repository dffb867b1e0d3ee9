"""The master key is changed while somebody works: what goes on, what is refused, and what mends it."""

from __future__ import annotations

import secrets

import pytest

from app.domain.errors import Unavailable
from app.persistence.doctor import refuse_unsafe
from app.persistence.encryption import MasterKey
from app.persistence.key_rotation import rotate_master_key
from app.persistence.registry import PostgresRegistry
from app.persistence.store import PostgresStore
from app.services.resources import Kind, RunState
from tests.integration.population import resource

pytestmark = pytest.mark.anyio


@pytest.fixture
def new_key(database_urls, master_key):
    """The key that the tests change to; changed back, for the tenants of the other tests."""
    new = MasterKey.generate()
    yield new
    rotate_master_key(database_urls.owner, new, master_key)


@pytest.fixture
async def begun(store, registry, tenant):
    """A run that a worker has claimed, with one block finished."""
    async with store.work(tenant) as work:
        asked, _ = await work.resources.add(resource(Kind.OPTIMISATION))
        run = await work.runs.create(asked, "1" * 64, {})
        await work.commit()
    claim = await registry.claim(run.id, "worker", 15)
    async with store.work(tenant) as work:
        await work.runs.save_block(claim, 0, b"block zero")
        await work.commit()
    return claim


async def test_a_run_that_was_given_back_goes_on_behind_its_blocks_with_the_new_key(
    store, engine, clock, tenant, begun, database_urls, master_key, new_key
):
    """As the page on operating has it: workers are asked to end, the key is changed, they are started."""
    async with store.work(tenant) as work:
        await work.runs.release(begun, spend_attempt=False)
        await work.commit()
    rotate_master_key(database_urls.owner, master_key, new_key)
    after, registry = (kind(engine, new_key, clock) for kind in (PostgresStore, PostgresRegistry))
    claim = await registry.claim(begun.run_id, "worker", 15)
    assert claim.attempt == begun.attempt
    async with after.work(tenant) as work:
        assert await work.runs.blocks(begun.run_id) == {0: b"block zero"}
        await work.runs.finish(claim, RunState.SUCCEEDED, result={"risk": 0.5}, error=None)
        await work.commit()
    async with after.work(tenant) as work:
        assert await work.runs.result(begun.run_id) == {"risk": 0.5}


async def test_a_worker_that_was_left_running_ends_its_run_with_the_keys_that_it_holds(
    store, engine, clock, tenant, begun, database_urls, master_key, new_key
):
    rotate_master_key(database_urls.owner, master_key, new_key)
    async with store.work(tenant) as work:
        await work.runs.finish(begun, RunState.SUCCEEDED, result={"risk": 0.5}, error=None)
        await work.commit()
    async with PostgresStore(engine, new_key, clock).work(tenant) as work:
        assert await work.runs.result(begun.run_id) == {"risk": 0.5}


async def test_a_process_with_the_old_key_that_holds_none_yet_is_refused_and_changes_nothing(
    engine, clock, tenant, begun, database_urls, master_key, new_key
):
    rotate_master_key(database_urls.owner, master_key, new_key)
    async with PostgresStore(engine, master_key, clock).work(tenant) as work:
        with pytest.raises(Unavailable, match="master key is another one"):
            await work.runs.finish(begun, RunState.SUCCEEDED, result={"risk": 0.5}, error=None)
    async with PostgresStore(engine, new_key, clock).work(tenant) as work:
        run = await work.runs.get(begun.run_id)
        assert (run.state, run.attempt) == (RunState.RUNNING, begun.attempt)
        assert await work.runs.blocks(begun.run_id) == {0: b"block zero"}


async def test_what_was_uploaded_with_the_old_key_meanwhile_is_mended_by_rotating_again(
    store, engine, clock, tenant, database_urls, master_key, new_key
):
    rotate_master_key(database_urls.owner, master_key, new_key)
    upload_id = secrets.token_hex(16)
    async with store.work(tenant) as work:
        await work.pieces.stage(upload_id, 0, 1, b"late")
        await work.pieces.publish(upload_id, resource(Kind.UPLOAD, "late"))
        await work.commit()
    with pytest.raises(Unavailable, match=master_key.id):
        await refuse_unsafe(engine, new_key)
    assert rotate_master_key(database_urls.owner, master_key, new_key) == 1
    await refuse_unsafe(engine, new_key)
    async with PostgresStore(engine, new_key, clock).work(tenant) as work:
        assert [piece async for piece in work.pieces.read(upload_id)] == [b"late"]
