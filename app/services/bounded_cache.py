"""Values that are costly to load, kept while they fit into a number of bytes."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Any


class BoundedCache:
    """Least recently used values are dropped first; one load at a time per key.

    A value larger than the capacity is answered but not kept.
    """

    def __init__(self, capacity_bytes: int) -> None:
        self._capacity = capacity_bytes
        self._held: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._loading: dict[Hashable, asyncio.Task[Any]] = {}
        self.bytes = 0

    async def get(self, key: Hashable, load: Callable[[], Awaitable[tuple[Any, int]]]) -> Any:  # noqa: ANN401
        """The value of the key; ``load`` answers it with its size in bytes if it is not held."""
        if key in self._held:
            self._held.move_to_end(key)
            return self._held[key][0]
        if key not in self._loading:
            self._loading[key] = asyncio.create_task(self._load(key, load))
        # The task is everybody's who waits for it: one who leaves does not end it for the others.
        return await asyncio.shield(self._loading[key])

    async def _load(self, key: Hashable, load: Callable[[], Awaitable[tuple[Any, int]]]) -> Any:  # noqa: ANN401
        try:
            value, size = await load()
            self.keep(key, value, size)
            return value
        finally:
            del self._loading[key]

    def keep(self, key: Hashable, value: object, size: int) -> None:
        """Hold a value that is at hand."""
        if size > self._capacity or key in self._held:
            return
        self._held[key] = value, size
        self.bytes += size
        while self.bytes > self._capacity:
            _, (_, dropped) = self._held.popitem(last=False)
            self.bytes -= dropped
