"""What was read before is believed, remembered within bounds, and never across tenants."""

from __future__ import annotations

import asyncio

import pytest

from app.domain.errors import NotFound
from app.services.answers import SharedAnswers
from app.services.json_text import SMALL, is_small
from app.services.recollection import Memory, Recollection
from app.services.resources import Actor, Kind, NewResource, TenantId
from tests.unit.services.memory_store import MemoryStore

pytestmark = pytest.mark.anyio


async def add(store: MemoryStore, tenant: TenantId, name: str, text: str = "") -> str:
    async with store.work(tenant) as work:
        stored, _ = await work.resources.add(NewResource(Kind.RULE, name, "a" * 64, {}, {"text": text}))
        await work.commit()
    return stored.id


async def get(recollection: Recollection, tenant: TenantId, name: str) -> str:
    async with recollection.work(tenant) as work:
        return (await work.resources.get(Kind.RULE, name)).id


async def test_what_is_known_is_believed_and_told(store: MemoryStore, actor: Actor) -> None:
    memory, id_ = Memory(), await add(store, actor.tenant, "known")
    first, again = (Recollection(store, memory, faith=True) for _ in range(2))
    assert await get(first, actor.tenant, "known") == id_
    assert first.believed == {}
    store.tenants.clear()
    assert await get(again, actor.tenant, "known") == id_
    assert again.believed == {(Kind.RULE, "known"): id_}


async def test_that_there_is_nothing_is_believed_too(store: MemoryStore, actor: Actor) -> None:
    memory = Memory()
    for believed in ({}, {(Kind.RULE, "nothing"): None}):
        recollection = Recollection(store, memory, faith=True)
        with pytest.raises(NotFound):
            await get(recollection, actor.tenant, "nothing")
        assert recollection.believed == believed


async def test_without_faith_everything_is_read(store: MemoryStore, actor: Actor) -> None:
    memory = Memory()
    memory.keep(actor.tenant, Kind.RULE, "new", None)
    id_ = await add(store, actor.tenant, "new")
    doubting = Recollection(store, memory, faith=False)
    assert await get(doubting, actor.tenant, "new") == id_
    assert doubting.believed == {}
    assert await get(Recollection(store, memory, faith=True), actor.tenant, "new") == id_


async def test_nothing_is_remembered_across_tenants(store: MemoryStore, actor: Actor) -> None:
    memory = Memory()
    await add(store, actor.tenant, "ours")
    await get(Recollection(store, memory, faith=True), actor.tenant, "ours")
    with pytest.raises(NotFound):
        await get(Recollection(store, memory, faith=True), TenantId("another"), "ours")


async def test_the_longest_unused_and_the_large_are_not_kept(store: MemoryStore, actor: Actor) -> None:
    memory = Memory(most=2)
    for name in ("one", "two"):
        await add(store, actor.tenant, name)
        await get(Recollection(store, memory, faith=True), actor.tenant, name)
    await get(Recollection(store, memory, faith=True), actor.tenant, "one")
    await add(store, actor.tenant, "three")
    await get(Recollection(store, memory, faith=True), actor.tenant, "three")
    await add(store, actor.tenant, "large", "x" * SMALL)
    await get(Recollection(store, memory, faith=True), actor.tenant, "large")
    known = [name for name in ("one", "two", "three", "large") if memory.knows(actor.tenant, Kind.RULE, name)]
    assert known == ["one", "three"]


@pytest.mark.parametrize(
    ("value", "small"),
    [
        (None, True), (1.5, True), ("x" * SMALL, False), (["x"] * (SMALL // 4), True), ([0] * SMALL, False),
        ({"a": {"b": ["x" * SMALL]}}, False), ([[[[]]]] * 3, True),
    ],
)  # fmt: skip
def test_a_document_is_small_by_its_values_and_characters(value: object, small: bool) -> None:
    assert is_small(value) is small


async def test_who_asks_at_the_same_time_shares_one_answer() -> None:
    answers, computed = SharedAnswers(), 0

    async def compute() -> dict[str, int]:
        nonlocal computed
        computed += 1
        number = computed
        await asyncio.sleep(0)
        return {"number": number}

    async def ask(tenant: str, *, later: float = 0) -> dict[str, int]:
        with answers.of(TenantId(tenant), "a") as shared:
            await asyncio.sleep(later)
            return await shared.once(compute)

    # The second holds the question before the first is done, and asks for its answer only then.
    found = await asyncio.gather(ask("one"), ask("one", later=0.05), ask("two"))
    assert found[0] == found[1] != found[2]
    assert computed == 2
    assert await ask("one") == {"number": 3}, "nothing is kept"


async def test_who_waited_for_one_that_failed_computes_itself() -> None:
    answers = SharedAnswers()
    attempts = iter([RuntimeError("broken"), None])

    async def compute() -> dict[str, int]:
        await asyncio.sleep(0)
        if (error := next(attempts)) is not None:
            raise error
        return {"number": 1}

    async def ask() -> dict[str, int]:
        with answers.of(TenantId("one"), "a") as shared:
            return await shared.once(compute)

    failed, found = await asyncio.gather(ask(), ask(), return_exceptions=True)
    assert isinstance(failed, RuntimeError)
    assert found == {"number": 1}
