"""Whose key documents and results are encrypted under, and who can read them when it is destroyed."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import replace

import psycopg
import pytest

from app.domain.errors import Conflict, NotFound
from app.persistence.encryption import place, seal
from app.persistence.store import PostgresStore
from app.persistence.transactions import DOCUMENTS_KEY
from app.services.resources import Kind, RunState
from tests.integration.population import resource

pytestmark = pytest.mark.anyio


async def dataset_of_an_upload(store, tenant, name):
    """The ids of an upload and of a dataset on it; two of them are of equal content."""
    upload_id = secrets.token_hex(16)
    async with store.work(tenant) as work:
        await work.pieces.stage(upload_id, 0, 1, b"a piece")
        await work.pieces.publish(upload_id, resource(Kind.UPLOAD, name))
        dataset, _ = await work.resources.add(resource(Kind.DATASET, name, uses=[upload_id]))
        await work.commit()
    return upload_id, dataset.id


async def ask(store, tenant, name, dataset_id):
    """Answer an equal question about a dataset at once."""
    async with store.work(tenant) as work:
        asked = resource(Kind.MEASUREMENT, name, uses=[dataset_id])
        stored, _ = await work.questions.answer(asked, {"of": "equal data"}, "key", {})
        await work.commit()
    return stored.id


def sealed_by(urls, table, tenant):
    with psycopg.connect(urls.admin) as connection:
        query = f"SELECT sealed_by FROM {table} WHERE tenant_id = %s"
        return {key for (key,) in connection.execute(query, [tenant])}


@pytest.fixture
def other_process(store, engine, master_key, clock):
    """What another process, which holds no keys yet, sees."""
    return PostgresStore(engine, master_key, clock)


async def test_all_that_is_built_on_an_upload_can_be_read_with_its_key_alone(
    store, other_process, tenant, database_urls
):
    upload_id, dataset_id = await dataset_of_an_upload(store, tenant, "people")
    await ask(store, tenant, "asked", dataset_id)
    async with store.work(tenant) as work:
        await work.results.save("profile", "7" * 64, {"values": ["Gary"]}, dataset_id)
        await work.resources.add(resource(Kind.HIERARCHY, "places"))
        await work.commit()
    assert sealed_by(database_urls, "results", tenant) == {upload_id}
    assert sealed_by(database_urls, "resources", tenant) == {upload_id, None}
    with psycopg.connect(database_urls.admin) as connection:
        connection.execute("SET session_replication_role = replica")  # results would go with their key
        connection.execute("DELETE FROM data_keys WHERE id = %s", [upload_id])
    async with other_process.work(tenant) as work:
        for unreadable in (
            work.resources.get(Kind.UPLOAD, "people"),
            work.resources.get(Kind.DATASET, "people"),
            work.questions.view(Kind.MEASUREMENT, "asked"),
            work.results.find("profile", "7" * 64),
        ):
            with pytest.raises(NotFound, match="data key"):
                await unreadable
        await work.resources.get(Kind.HIERARCHY, "places")


async def test_the_result_of_a_run_is_encrypted_as_what_it_is_about(store, registry, tenant, database_urls):
    upload_id, dataset_id = await dataset_of_an_upload(store, tenant, "people")
    async with store.work(tenant) as work:
        asked, _ = await work.resources.add(resource(Kind.OPTIMISATION, uses=[dataset_id]))
        run = await work.runs.create(asked, "1" * 64, {})
        await work.commit()
    claim = await registry.claim(run.id, "worker", 15)
    async with store.work(tenant) as work:
        await work.runs.finish(claim, RunState.SUCCEEDED, result={"risk": 0.5}, error=None)
        await work.commit()
    assert sealed_by(database_urls, "results", tenant) == {upload_id}


@pytest.fixture
async def unfinished(store, registry, tenant):
    """The upload that a run rests on which has stored two blocks, and its worker's claim."""
    upload_id, dataset_id = await dataset_of_an_upload(store, tenant, "people")
    async with store.work(tenant) as work:
        asked, _ = await work.resources.add(resource(Kind.OPTIMISATION, "asked", uses=[dataset_id]))
        run = await work.runs.create(asked, "4" * 64, {})
        await work.commit()
    claim = await registry.claim(run.id, "worker", 15)
    async with store.work(tenant) as work:
        await work.runs.save_block(claim, 0, b"zero")
        await work.runs.save_block(claim, 1, b"one")
        await work.commit()
    return upload_id, claim


async def test_blocks_of_an_unfinished_run_can_be_read_with_the_key_of_their_upload_alone(
    tenant, unfinished, database_urls, engine, master_key, clock
):
    upload_id, claim = unfinished
    assert sealed_by(database_urls, "run_blocks", tenant) == {upload_id}
    # Each as another process, which holds no keys yet.
    async with PostgresStore(engine, master_key, clock).work(tenant) as work:
        assert await work.runs.blocks(claim.run_id) == {0: b"zero", 1: b"one"}
    with psycopg.connect(database_urls.admin) as connection:
        connection.execute("DELETE FROM data_keys WHERE id = %s", [upload_id])
    async with PostgresStore(engine, master_key, clock).work(tenant) as work:
        with pytest.raises(NotFound, match="data key"):
            await work.runs.blocks(claim.run_id)


async def test_data_go_only_when_no_run_is_about_them_which_takes_its_blocks_along(
    store, tenant, unfinished, database_urls
):
    _, claim = unfinished
    async with store.work(tenant) as work:
        for kind, name in ((Kind.OPTIMISATION, "asked"), (Kind.DATASET, "people"), (Kind.UPLOAD, "people")):
            with pytest.raises(Conflict, match="in use by"):
                await work.resources.delete(kind, name)
        await work.runs.release(claim, spend_attempt=False)
        assert (await work.runs.request_cancel(claim.run_id)).state is RunState.CANCELLED
        await work.commit()
    assert sealed_by(database_urls, "run_blocks", tenant) == set()
    async with store.work(tenant) as work:
        for kind, name in ((Kind.OPTIMISATION, "asked"), (Kind.DATASET, "people"), (Kind.UPLOAD, "people")):
            await work.resources.delete(kind, name)
        await work.commit()


async def test_blocks_that_an_older_version_stored_are_read_and_replaced(
    other_process, tenant, unfinished, database_urls, master_key
):
    """They are under the tenant's key."""
    upload_id, claim = unfinished
    with psycopg.connect(database_urls.admin) as connection:
        query = "SELECT wrapped_key FROM data_keys WHERE tenant_id = %s AND id = %s"
        ((wrapped,),) = connection.execute(query, [tenant, DOCUMENTS_KEY]).fetchall()
        key = master_key.unwrap(wrapped, tenant, DOCUMENTS_KEY)
        old = seal(key, b"old", place(tenant, "run_block", claim.run_id, 0))
        changed = "UPDATE run_blocks SET payload = %s, sealed_by = NULL WHERE run_id = %s AND number = 0"
        connection.execute(changed, [old, claim.run_id])
    async with other_process.work(tenant) as work:
        assert await work.runs.blocks(claim.run_id) == {0: b"old", 1: b"one"}
        await work.runs.save_block(claim, 0, b"new")
        assert await work.runs.blocks(claim.run_id) == {0: b"new", 1: b"one"}
        await work.commit()
    assert sealed_by(database_urls, "run_blocks", tenant) == {upload_id}


@pytest.mark.parametrize("by_run", [False, True])
async def test_a_result_that_equal_data_lead_to_outlives_the_upload_that_it_came_from(
    store, other_process, tenant, database_urls, by_run
):
    _, first_dataset = await dataset_of_an_upload(store, tenant, "first")
    second, second_dataset = await dataset_of_an_upload(store, tenant, "second")
    await ask(store, tenant, "of-first", first_dataset)
    if by_run:
        async with store.work(tenant) as work:
            # Its own hash is another one: only the run leads to the result.
            asked = replace(resource(Kind.MEASUREMENT, "of-second", uses=[second_dataset]), sha256="3" * 64)
            stored, _ = await work.resources.add(asked)
            run = await work.runs.create(stored, resource(Kind.MEASUREMENT).sha256, {})
            assert run.state is RunState.SUCCEEDED
            await work.commit()
    else:
        await ask(store, tenant, "of-second", second_dataset)
    async with store.work(tenant) as work:
        for kind, name in ((Kind.MEASUREMENT, "of-first"), (Kind.DATASET, "first"), (Kind.UPLOAD, "first")):
            await work.resources.delete(kind, name)
        await work.commit()
    assert sealed_by(database_urls, "results", tenant) == {second}
    async with other_process.work(tenant) as work:
        _, result = await work.questions.view(Kind.MEASUREMENT, "of-second")
    assert result == {"of": "equal data"}


async def test_a_result_that_nothing_leads_to_goes_with_the_upload(store, tenant, database_urls):
    _, dataset_id = await dataset_of_an_upload(store, tenant, "people")
    async with store.work(tenant) as work:
        await work.results.save("profile", "6" * 64, {"values": ["Gary"]}, dataset_id)
        await work.resources.delete(Kind.DATASET, "people")
        await work.resources.delete(Kind.UPLOAD, "people")
        await work.commit()
    assert sealed_by(database_urls, "results", tenant) == set()


async def test_what_an_older_version_stored_is_read_and_built_upon(
    store, other_process, tenant, database_urls, master_key
):
    """It is under the tenant's key; a dataset that is made of such an upload now is under the upload's."""
    upload_id = secrets.token_hex(16)
    async with store.work(tenant) as work:
        await work.pieces.stage(upload_id, 0, 1, b"a piece")
        old, _ = await work.resources.add(resource(Kind.HIERARCHY, "old"))
        await work.commit()
    with psycopg.connect(database_urls.admin) as connection:
        # As before there was a choice: the document of the upload under the tenant's key.
        connection.execute("UPDATE resources SET id = %s, kind = 'upload' WHERE id = %s", [upload_id, old.id])
    async with other_process.work(tenant) as work:
        assert (await work.resources.described(Kind.UPLOAD, "old")).id == upload_id
        await work.resources.add(resource(Kind.DATASET, "new", uses=[upload_id]))
        await work.commit()
    assert sealed_by(database_urls, "resources", tenant) == {None, upload_id}


@pytest.mark.parametrize("is_first", [True, False])
async def test_no_result_outlives_its_key_whoever_is_first(store, tenant, database_urls, is_first):
    """It is kept, by a transaction that holds nothing, while another one deletes what it is about."""
    _, dataset_id = await dataset_of_an_upload(store, tenant, "people")

    async def erase():
        async with store.work(tenant) as work:
            await work.resources.delete(Kind.DATASET, "people")
            await work.resources.delete(Kind.UPLOAD, "people")
            await work.commit()

    async with store.work(tenant) as work:
        values = await work.results.new("profile", "5" * 64, {"values": ["Gary"]}, [dataset_id])
        if is_first:
            await work.results.put(values)
            erasing = asyncio.create_task(erase())
            await asyncio.sleep(0.2)
            await work.commit()
            await erasing
        else:
            await erase()
            with pytest.raises(NotFound):
                await work.results.put(values)
    assert sealed_by(database_urls, "results", tenant) == set()
