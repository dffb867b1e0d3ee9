"""The same work for many items by several threads: NumPy lets them run beside each other in its inner loops.

How many there are changes no answer: results come in the order of their items.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

ITEMS_PER_THREAD = 2
"""Taken before their results are asked for, so that no thread waits while one of them takes longer."""

T = TypeVar("T")
R = TypeVar("R")


def in_order(work: Callable[[T], R], items: Iterable[T], threads: int) -> Iterator[R]:
    """What ``work`` makes of each item, in their order; one thread does it in that of the caller.

    Items are taken in the caller's thread, a few before their results are asked for. An exception of the
    work is raised in the place of its result; then, as when the caller stops asking, what was begun is
    waited for.
    """
    if threads == 1:
        yield from map(work, items)
        return
    left = iter(items)
    pending: deque[Future[R]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            pending.extend(pool.submit(work, item) for item in islice(left, ITEMS_PER_THREAD * threads))
            while pending:
                result = pending.popleft().result()
                pending.extend(pool.submit(work, item) for item in islice(left, 1))
                yield result
        finally:
            for future in pending:
                future.cancel()
