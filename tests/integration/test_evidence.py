"""Signing keys and evidence at rest: one key at a time, nothing changed, nothing lost with its subject."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from app.domain.errors import NotFound
from app.persistence.doctor import examine
from app.services.resources import Kind
from tests.integration.population import add_evidence, populate, resource

pytestmark = pytest.mark.anyio


async def test_the_first_signatures_at_once_make_one_key(store, tenant):
    async def sign():
        async with store.work(tenant) as work:
            key_id = (await work.signing_keys.signer()).key.id
            await work.commit()
        return key_id

    key_ids = await asyncio.gather(*(sign() for _ in range(5)))
    async with store.work(tenant) as work:
        (key,) = await work.signing_keys.list()
    assert set(key_ids) == {key.id}
    assert key.valid_until is None


async def test_a_rotated_key_ends_when_the_next_begins_and_not_before_what_it_signed(store, tenant, clock):
    async with store.work(tenant) as work:
        about, _ = await work.resources.add(resource(Kind.EVALUATION))
        await add_evidence(work, about)
        await work.commit()
    clock.advance(-3)  # this process's clock is behind the one that signed
    async with store.work(tenant) as work:
        fresh = await work.signing_keys.rotate()
        await work.commit()
    async with store.work(tenant) as work:
        newest, old = await work.signing_keys.list()
        assert (await work.signing_keys.signer()).key.id == fresh.id == newest.id
    assert old.valid_until == newest.valid_from == about.created_at


async def test_what_is_rolled_back_makes_no_key(store, tenant):
    async with store.work(tenant) as work:
        await work.signing_keys.signer()
    async with store.work(tenant) as work:
        assert await work.signing_keys.list() == []


async def test_evidence_is_kept_once_and_outlives_what_it_is_about(store, tenant):
    async with store.work(tenant) as work:
        about, _ = await work.resources.add(resource(Kind.EVALUATION))
        first = await add_evidence(work, about)
        await work.signing_keys.rotate()
        assert await add_evidence(work, about) == first
        await work.commit()
    async with store.work(tenant) as work:
        await work.resources.delete(Kind.EVALUATION, about.id)
        await work.commit()
    async with store.work(tenant) as work:
        kept = await work.evidence.get(first)
        assert (await work.evidence.get(about.name)).id == first
        listed, following = await work.evidence.list(name="EVAL", limit=1, cursor=None)
        with pytest.raises(NotFound):
            await work.evidence.get("no such")
    assert (kept.resource_name, kept.resource_sha256) == (about.name, about.sha256)
    assert kept.envelope is not None
    assert [own.id for own in listed] == [first]
    assert following is None


async def test_pages_of_evidence_follow_each_other(store, tenant):
    async with store.work(tenant) as work:
        made = []
        for number in range(5):
            about, _ = await work.resources.add(resource(Kind.EVALUATION, f"evaluation {number}"))
            made.append(await add_evidence(work, about))
        found, cursor = [], None
        while True:
            page, cursor = await work.evidence.list(name=None, limit=2, cursor=cursor)
            found += [own.id for own in page]
            if cursor is None:
                break
    assert found == made[::-1]


async def test_the_doctor_notices_an_exchanged_signing_key(
    store, registry, tenant, second_tenant, database_urls, master_key
):
    await populate(store, registry, tenant)
    await populate(store, registry, second_tenant)

    async def finding():
        findings = await examine(database_urls.runtime, master_key)
        return next(own for own in findings if own.name == "signing keys")

    assert (await finding()).passed
    with psycopg.connect(database_urls.admin) as superuser:
        superuser.execute(
            "UPDATE signing_keys SET public_key = (SELECT public_key FROM signing_keys"
            " WHERE tenant_id = %s) WHERE tenant_id = %s",
            [second_tenant, tenant],
        )
    assert not (await finding()).passed
