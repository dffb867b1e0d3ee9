"""However much is asked, what a process keeps of it stays within its bound."""

from __future__ import annotations

import pytest

from app.persistence.encryption import KeyCache
from app.services.datasets.tables import BoundedCache

pytestmark = pytest.mark.anyio


async def test_values_beyond_the_bytes_of_a_cache_displace_what_was_not_used_for_longest():
    cache, loaded = BoundedCache(100), list[int]()

    def loading(number: int, size: int):
        async def load():
            loaded.append(number)
            return str(number), size

        return load

    for number in range(1_000):
        size = 1 + number % 120
        assert await cache.get(number, loading(number, size)) == str(number)
        assert await cache.get("used", loading(-1, 10)) == "-1"
        held = [key for key in range(number + 1) if key in cache._held]
        assert cache.bytes == 10 + sum(1 + key % 120 for key in held) <= 100
        assert (number in held) == (size <= 90)
        assert not cache._loading
    assert loaded.count(-1) == 1 + sum(1 for number in range(1_000) if 90 < 1 + number % 120 <= 100)
    cache.drop(lambda _: True)
    assert (cache.bytes, len(cache._held)) == (0, 0)


def test_keys_and_what_they_seal_beyond_a_number_displace_the_oldest():
    cache = KeyCache(capacity=8)
    for number in range(100):
        cache.put("tenant", f"key-{number}", bytes([number]))
        cache.note("tenant", f"resource-{number}", f"key-{number}")
        assert cache.get("tenant", "key-0") == b"\0", "it is used all the time"
    assert (len(cache._keys), len(cache._sealed_by)) == (8, 8)
    assert [cache.sealed_by("tenant", f"resource-{number}") for number in (91, 92)] == [None, "key-92"]
