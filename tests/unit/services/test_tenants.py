from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from app.domain.errors import Forbidden, InvalidInput, Unauthenticated
from app.services.access.tenants import CreateApiKey, TenantService
from app.services.resources import Actor, Scope, TenantId
from tests.unit.services.memory_store import NOW, MemoryRegistry, MemoryStore

pytestmark = pytest.mark.anyio


class Clock:
    def __init__(self) -> None:
        self.now = NOW + timedelta(days=1)

    def __call__(self):
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def registry(store: MemoryStore) -> MemoryRegistry:
    return MemoryRegistry(store)


@pytest.fixture
def tenants(store: MemoryStore, registry: MemoryRegistry, clock: Clock) -> TenantService:
    return TenantService(store, registry, clock)


async def test_the_first_key_of_a_tenant_opens_it_and_only_it(tenants: TenantService) -> None:
    made = await tenants.bootstrap("acme")
    actor = await tenants.authenticate(made.first_key.token)
    assert (actor.tenant, actor.key_id, actor.scopes) == (
        made.tenant.id,
        made.first_key.key.id,
        frozenset(Scope),
    )


async def test_the_store_never_sees_a_secret(tenants: TenantService, store: MemoryStore) -> None:
    made = await tenants.bootstrap("acme")
    secret = made.first_key.token.partition(".")[2]
    assert secret not in repr(store.data(made.tenant.id))
    assert len(secret) == 43


async def test_a_tenant_that_exists_gets_no_second_key_unless_asked(tenants: TenantService) -> None:
    first = await tenants.bootstrap("acme")
    again = await tenants.bootstrap("acme")
    assert (again.tenant, again.created, again.first_key) == (first.tenant, False, None)
    asked = await tenants.bootstrap("acme", new_key=True)
    assert asked.first_key.token != first.first_key.token
    await tenants.authenticate(first.first_key.token)
    await tenants.authenticate(asked.first_key.token)


async def test_a_tenant_whose_creation_was_interrupted_gets_its_key_later(
    tenants: TenantService, registry: MemoryRegistry
) -> None:
    await registry.add_tenant("acme")
    made = await tenants.bootstrap("acme")
    assert (made.created, made.first_key is not None) == (False, True)


@pytest.mark.parametrize(
    "damage", ["wrong secret", "unknown prefix", "no secret", "no prefix", "empty", "dots", "not text"]
)
async def test_a_damaged_token_is_refused_without_saying_why(tenants: TenantService, damage: str) -> None:
    token = (await tenants.bootstrap("acme")).first_key.token
    prefix, _, secret = token.partition(".")
    damaged = {
        "wrong secret": f"{prefix}.{secret[:-1]}{'A' if secret[-1] != 'A' else 'B'}",
        "unknown prefix": f"{'0' * 16}.{secret}",
        "no secret": f"{prefix}.",
        "no prefix": f".{secret}",
        "empty": "",
        "dots": f"{prefix}..{secret}",
        "not text": f"\x00\udcff{prefix}.{secret}",
    }[damage]
    with pytest.raises(Unauthenticated, match=r"^The API key is not valid\.$"):
        await tenants.authenticate(damaged)


async def test_a_key_ends_at_its_expiry(tenants: TenantService, clock: Clock) -> None:
    admin = await tenants.authenticate((await tenants.bootstrap("acme")).first_key.token)
    ends = clock.now + timedelta(hours=1)
    issued = await tenants.create_key(admin, CreateApiKey("reader", frozenset({Scope.DATA_READ}), ends))
    clock.now = ends - timedelta(seconds=1)
    assert (await tenants.authenticate(issued.token)).scopes == {Scope.DATA_READ}
    clock.now = ends
    with pytest.raises(Unauthenticated, match="expired"):
        await tenants.authenticate(issued.token)


async def test_a_revoked_key_is_refused_for_good(tenants: TenantService) -> None:
    made = await tenants.bootstrap("acme")
    admin = await tenants.authenticate(made.first_key.token)
    issued = await tenants.create_key(admin, CreateApiKey("reader", frozenset({Scope.DATA_READ})))
    assert (await tenants.revoke_key(admin, issued.key.id)).revoked_at is not None
    with pytest.raises(Unauthenticated, match="revoked"):
        await tenants.authenticate(issued.token)


async def test_a_key_can_not_give_what_it_lacks(tenants: TenantService, actor: Actor) -> None:
    admin = Actor(actor.tenant, "key-1", frozenset({Scope.ADMIN, Scope.ASSESS}))
    await tenants.create_key(admin, CreateApiKey("assessor", frozenset({Scope.ASSESS})))
    with pytest.raises(Forbidden) as refused:
        await tenants.create_key(admin, CreateApiKey("reader", frozenset({Scope.DATA_READ})))
    assert refused.value.scope == "data:read"


async def test_keys_need_admin_and_tenants_need_operator(tenants: TenantService) -> None:
    weak = Actor(TenantId("t"), "k", frozenset({Scope.ASSESS, Scope.DATA_READ, Scope.DATA_WRITE}))
    for refused in (
        tenants.create_key(weak, CreateApiKey("x", frozenset({Scope.ASSESS}))),
        tenants.list_keys(weak),
        tenants.revoke_key(weak, "k"),
        tenants.create_tenant(weak, "other"),
        tenants.list_tenants(weak),
    ):
        with pytest.raises(Forbidden):
            await refused


async def test_a_tenant_made_over_http_has_no_operator(tenants: TenantService, actor: Actor) -> None:
    made = await tenants.create_tenant(actor, "acme")
    assert made.first_key.key.scopes == frozenset(Scope) - {Scope.OPERATOR}


async def test_keys_in_the_past_or_without_scopes_are_refused(
    tenants: TenantService, actor: Actor, clock: Clock
) -> None:
    scopes = frozenset({Scope.ASSESS})
    for expires_at in (clock.now, (clock.now + timedelta(days=1)).replace(tzinfo=None)):
        with pytest.raises(InvalidInput) as refused:
            await tenants.create_key(actor, CreateApiKey("late", scopes, expires_at))
        assert refused.value.faults[0].pointer == "/expires_at"
    with pytest.raises(InvalidInput) as refused:
        await tenants.create_key(actor, CreateApiKey("none", frozenset()))
    assert refused.value.faults[0].pointer == "/scopes"


async def test_the_last_use_is_noted_once_a_minute(
    tenants: TenantService, registry: MemoryRegistry, store: MemoryStore, clock: Clock
) -> None:
    made = await tenants.bootstrap("acme")
    await tenants.authenticate(made.first_key.token)
    keys = store.data(made.tenant.id).keys
    key, secret = keys[made.first_key.key.id]
    keys[key.id] = replace(key, last_used_at=clock.now), secret
    clock.now += timedelta(seconds=59)
    await tenants.authenticate(made.first_key.token)
    assert registry.touched == [key.id]
    clock.now += timedelta(seconds=1)
    await tenants.authenticate(made.first_key.token)
    assert registry.touched == [key.id, key.id]


async def test_keys_leave_their_traces_in_the_audit(tenants: TenantService, store: MemoryStore) -> None:
    made = await tenants.bootstrap("acme")
    admin = await tenants.authenticate(made.first_key.token)
    issued = await tenants.create_key(admin, CreateApiKey("reader", frozenset({Scope.DATA_READ})))
    await tenants.revoke_key(admin, issued.key.id)
    assert [(by, action) for by, action, _, _ in store.data(made.tenant.id).audit] == [
        ("bootstrap", "tenant.create"),
        ("bootstrap", "api_key.create"),
        (admin.key_id, "api_key.create"),
        (admin.key_id, "api_key.revoke"),
    ]
