"""Idempotency keys, API keys, tenants, the audit chain, and the doctor who looks at all of it."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import psycopg
import pytest

from app.domain.errors import Conflict, InvalidInput, NotFound, Unavailable
from app.persistence.addresses import create_engine
from app.persistence.doctor import examine, readiness, refuse_unsafe
from app.persistence.encryption import MasterKey
from app.persistence.records import first_broken_event
from app.persistence.transactions import tenant_transaction
from app.services.leases import KEY_LEASE
from app.services.resources import IdempotentReply, Scope

pytestmark = pytest.mark.anyio

ROUTE = "POST /v1/rules"
REPLY = IdempotentReply(201, b'{"secret": "shown once"}', {"location": "/v1/rules/x"})


async def begin(store, tenant, key="key", fingerprint="body", route=ROUTE, owner="first"):
    async with store.work(tenant) as work:
        answer = await work.idempotency.begin(route, key, fingerprint, owner)
        await work.commit()
    return answer


async def complete(store, tenant, key="key", owner="first", reply=REPLY):
    async with store.work(tenant) as work:
        is_kept = await work.idempotency.complete(ROUTE, key, owner, reply)
        await work.commit()
    return is_kept


async def renew(store, tenant, owner="first"):
    async with store.work(tenant) as work:
        is_held = await work.idempotency.renew(ROUTE, "key", owner)
        await work.commit()
    return is_held


async def abandon(store, tenant, owner="first"):
    async with store.work(tenant) as work:
        await work.idempotency.abandon(ROUTE, "key", owner)
        await work.commit()


def lease_left(database_urls, tenant):
    """Seconds that the tenant's one key is held from now on, by the database's clock."""
    left = "extract(epoch FROM lease_until - clock_timestamp())"
    query = f"SELECT {left} FROM idempotency_keys WHERE tenant_id = %s"
    with psycopg.connect(database_urls.admin) as connection:
        ((seconds,),) = connection.execute(query, [tenant]).fetchall()
    return float(seconds)


def let_leases_pass(database_urls, seconds):
    """As if so much time had gone by."""
    with psycopg.connect(database_urls.admin) as connection:
        connection.execute(
            "UPDATE idempotency_keys SET lease_until = lease_until - make_interval(secs => %s)", [seconds]
        )


async def test_the_second_request_with_a_key_gets_the_first_ones_reply(store, tenant, second_tenant):
    assert await begin(store, tenant) is None
    with pytest.raises(Conflict):
        await begin(store, tenant)
    await complete(store, tenant)
    assert await begin(store, tenant) == REPLY
    assert await begin(store, tenant, route="POST /v1/datasets") is None
    assert await begin(store, second_tenant) is None


async def test_a_key_with_another_request_is_refused(store, tenant):
    await begin(store, tenant)
    with pytest.raises(InvalidInput):
        await begin(store, tenant, fingerprint="other")
    await complete(store, tenant)
    with pytest.raises(InvalidInput):
        await begin(store, tenant, fingerprint="other")


async def test_of_two_clients_with_one_key_at_once_one_goes_on(store, tenant, database_urls):
    async def all_at_once():
        asking = (begin(store, tenant, owner=str(number)) for number in range(6))
        answers = await asyncio.gather(*asking, return_exceptions=True)
        return sorted(type(answer).__name__ for answer in answers)

    assert await all_at_once() == ["Conflict"] * 5 + ["NoneType"]
    let_leases_pass(database_urls, 10)
    assert await all_at_once() == ["Conflict"] * 5 + ["NoneType"], "a lease that has ended goes to one, too"


async def test_an_abandoned_key_is_free_and_an_answered_one_is_not(store, tenant):
    await begin(store, tenant)
    await abandon(store, tenant)
    assert await begin(store, tenant) is None
    await complete(store, tenant)
    await abandon(store, tenant)
    assert await begin(store, tenant) == REPLY


async def test_a_key_whose_process_died_works_again_within_ten_seconds(store, tenant, database_urls):
    await begin(store, tenant)
    assert 0 < lease_left(database_urls, tenant) <= KEY_LEASE.seconds < 10
    with pytest.raises(Conflict) as caught:
        await begin(store, tenant, owner="second")
    assert 1 <= caught.value.retry_after <= KEY_LEASE.seconds
    let_leases_pass(database_urls, caught.value.retry_after)
    assert await begin(store, tenant, "key", "a corrected body", owner="second") is None


async def test_whoever_holds_a_key_renews_it_for_one_lease(store, tenant, database_urls):
    await begin(store, tenant)
    let_leases_pass(database_urls, KEY_LEASE.seconds - 1)
    assert lease_left(database_urls, tenant) <= 1
    assert await renew(store, tenant)
    assert KEY_LEASE.seconds - 1 < lease_left(database_urls, tenant) <= KEY_LEASE.seconds


async def test_who_lost_a_key_can_neither_renew_nor_answer_nor_free_it(store, tenant, database_urls):
    """A process that was held up for longer than its lease, and goes on when another one has its place."""
    newer = IdempotentReply(200, b"{}", {})
    await begin(store, tenant)
    let_leases_pass(database_urls, 10)
    await begin(store, tenant, owner="second")
    assert not await renew(store, tenant)
    assert not await complete(store, tenant)
    await abandon(store, tenant)
    with pytest.raises(Conflict):
        await begin(store, tenant, owner="third")
    assert await complete(store, tenant, owner="second", reply=newer)
    assert not await complete(store, tenant)
    assert await begin(store, tenant, owner="third") == newer


async def test_replies_are_kept_a_day(store, tenant, clock):
    await begin(store, tenant, "answered")
    await complete(store, tenant, "answered")
    clock.advance(24 * 3600 - 1)
    assert await begin(store, tenant, "answered") == REPLY
    clock.advance(1)
    assert await begin(store, tenant, "answered") is None


async def test_no_keys_of_dead_requests_remain(store, registry, tenant, database_urls):
    for key in ("dead", "dead too"):
        await begin(store, tenant, key)
    await registry.apply_retention(tenant, 50)
    let_leases_pass(database_urls, 10)
    await begin(store, tenant, "alive")
    await registry.apply_retention(tenant, 50)
    with psycopg.connect(database_urls.admin) as connection:
        query = "SELECT key FROM idempotency_keys WHERE tenant_id = %s"
        assert connection.execute(query, [tenant]).fetchall() == [("alive",)]


async def test_a_reply_is_not_stored_in_clear(store, tenant, database_urls):
    await begin(store, tenant)
    await complete(store, tenant)
    with psycopg.connect(database_urls.admin) as connection:
        query = "SELECT reply FROM idempotency_keys WHERE tenant_id = %s"
        (reply,) = connection.execute(query, [tenant]).fetchone()
    assert b"shown once" not in reply


async def test_an_api_key_is_found_by_its_prefix_until_revoked(store, registry, tenant, clock):
    expires = clock.now + timedelta(days=1)
    async with store.work(tenant) as work:
        made = await work.api_keys.add("ci", "prefix1", b"s" * 32, frozenset({Scope.ASSESS}), expires)
        await work.commit()
    assert await registry.find_api_key("prefix1") == (made, b"s" * 32)
    assert await registry.find_api_key("prefix2") is None
    clock.advance(5)
    await registry.touch_api_key(made.id)
    clock.advance(5)
    await registry.touch_api_key(made.id)
    (found, _) = await registry.find_api_key("prefix1")
    assert found.last_used_at == clock.now - timedelta(seconds=5), "written once a minute at most"
    async with store.work(tenant) as work:
        revoked = await work.api_keys.revoke(made.id)
        clock.advance(5)
        assert (await work.api_keys.revoke(made.id)) == revoked
        assert await work.api_keys.list() == [revoked]
        await work.commit()
    (found, _) = await registry.find_api_key("prefix1")
    assert found.revoked_at == clock.now - timedelta(seconds=5)
    async with store.work(tenant) as work:
        with pytest.raises(NotFound):
            await work.api_keys.revoke("nobody's")


async def test_a_tenant_is_made_once_however_many_ask(registry):
    answers = await asyncio.gather(*(registry.add_tenant("acme") for _ in range(5)))
    assert sum(created for _, created in answers) == 1
    assert len({tenant.id for tenant, _ in answers}) == 1
    assert [tenant.name for tenant in await registry.list_tenants()].count("acme") == 1


async def record(store, tenant, action):
    async with store.work(tenant) as work:
        await work.audit.record("key", action, "subject", {"n": 1e20, "text": "é"})
        await work.commit()


async def test_audit_events_form_one_chain_that_shows_every_tampering(
    store, tenant, master_key, database_urls
):
    await asyncio.gather(*(record(store, tenant, f"action {number}") for number in range(6)))
    assert await audit_finding(database_urls, master_key) == (True, "")
    with psycopg.connect(database_urls.admin) as connection:
        connection.execute(
            "UPDATE audit_events SET action = 'harmless' WHERE tenant_id = %s AND number = 4", [tenant]
        )
    passed, message = await audit_finding(database_urls, master_key)
    assert not passed
    assert "event 4" in message
    with psycopg.connect(database_urls.admin) as connection:
        connection.execute("DELETE FROM audit_events WHERE tenant_id = %s AND number = 3", [tenant])
    assert "event 3" in (await audit_finding(database_urls, master_key))[1]
    with psycopg.connect(database_urls.admin) as connection:
        connection.execute("DELETE FROM audit_events WHERE tenant_id = %s AND number > 2", [tenant])
    assert "event 3" in (await audit_finding(database_urls, master_key))[1], "its end is missing"
    with psycopg.connect(database_urls.admin) as connection:
        connection.execute("DELETE FROM audit_events WHERE tenant_id = %s", [tenant])
    assert "event 1" in (await audit_finding(database_urls, master_key))[1]
    with psycopg.connect(database_urls.admin) as connection:
        connection.execute("DELETE FROM audit_heads WHERE tenant_id = %s", [tenant])


@pytest.mark.parametrize(
    ("lost", "number"), [("number BETWEEN 3 AND 5", 3), ("number < 6", 1), (None, 1), ("false", None)]
)
async def test_a_chain_is_looked_through_in_lots_to_its_last_event(
    store, engine, tenant, database_urls, monkeypatch, lost, number
):
    """Also where whole lots are missing and what was noted of the last event is gone with them."""
    monkeypatch.setattr("app.persistence.records._AT_ONCE", 2)
    for step in range(7):
        await record(store, tenant, f"action {step}")
    with psycopg.connect(database_urls.admin) as connection:
        connection.execute("DELETE FROM audit_heads WHERE tenant_id = %s", [tenant])
        if lost is None:
            connection.execute(
                "INSERT INTO audit_events SELECT tenant_id, -9, key_id, action, subject, details, at,"
                " previous_sha256, sha256 FROM audit_events WHERE tenant_id = %s AND number = 1", [tenant]
            )  # fmt: skip
        else:
            connection.execute(f"DELETE FROM audit_events WHERE tenant_id = %s AND ({lost})", [tenant])
    async with tenant_transaction(engine, tenant) as transaction:
        found = await first_broken_event(transaction)
    # What looks through all tenants of the file's database is to find it sound again.
    with psycopg.connect(database_urls.admin) as connection:
        connection.execute("DELETE FROM audit_events WHERE tenant_id = %s", [tenant])
    assert found == number


async def audit_finding(database_urls, master_key):
    (finding,) = [it for it in await examine(database_urls.runtime, master_key) if it.name == "audit"]
    return finding.passed, "" if finding.passed else finding.message


async def test_the_doctor_finds_a_sound_database_sound(engine, master_key, tenant, tmp_path, database_urls):
    findings = await examine(database_urls.runtime, master_key, tmp_path)
    assert [finding.name for finding in findings] == [
        "migrations", "role", "row-level security", "keys", "audit", "signing keys",
        "webhook addresses", "disk",
    ]  # fmt: skip
    assert [finding for finding in findings if not finding.passed] == []
    await refuse_unsafe(engine, master_key)
    assert await readiness(engine) == {"database": True, "disk": True, "migrations": True}


@pytest.mark.parametrize(("role", "reason"), [("owner", "owns the tables"), ("admin", "superuser")])
async def test_a_role_that_could_see_everything_is_refused(role, reason, database_urls, master_key, tenant):
    engine = create_engine(getattr(database_urls, role))
    try:
        with pytest.raises(Unavailable, match=reason):
            await refuse_unsafe(engine, master_key)
    finally:
        await engine.dispose()


async def test_another_master_key_is_refused_with_what_is_at_stake(engine, master_key, tenant):
    with pytest.raises(Unavailable, match="cannot be read"):
        await refuse_unsafe(engine, MasterKey.generate())


async def test_a_table_without_row_security_and_an_old_revision_are_refused(
    engine, database_urls, master_key
):
    with psycopg.connect(database_urls.owner) as connection:
        connection.execute("CREATE TABLE forgotten (tenant_id uuid)")
        connection.execute("UPDATE alembic_version SET version_num = '0001'")
    try:
        with pytest.raises(Unavailable, match=r"revision 0001.*forgotten"):
            await refuse_unsafe(engine, master_key)
        assert await readiness(engine) == {"database": True, "disk": True, "migrations": False}
    finally:
        with psycopg.connect(database_urls.owner) as connection:
            connection.execute("DROP TABLE forgotten")
            connection.execute("UPDATE alembic_version SET version_num = '0002'")


async def test_a_database_that_is_gone_is_unavailable(master_key, clock, registry):
    from app.persistence.store import PostgresStore

    engine = create_engine("postgresql://nobody@/nothing?host=/tmp/no-such-folder")
    try:
        with pytest.raises(Unavailable):
            async with PostgresStore(engine, master_key, clock).work("tenant") as work:
                await work.runs.get("x")
        assert await readiness(engine) == {"database": False, "disk": True, "migrations": False}
    finally:
        await engine.dispose()
