"""What the first levels of a walk have led to, kept so that rules that begin alike share it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Generic, TypeVar

MAX_BYTES = 256 * 1024**2
STATES_PER_ROOT = 2.0

T = TypeVar("T")


class StateCache(Generic[T]):
    """States by the levels that led to them, the least recently used dropped above a number of bytes."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._states: dict[tuple[int, ...], tuple[T, int]] = {}

    def get(self, prefix: tuple[int, ...]) -> T | None:
        """The state, None if it is not kept."""
        found = self._states.pop(prefix, None)
        if found is None:
            return None
        self._states[prefix] = found
        return found[0]

    def put(self, prefix: tuple[int, ...], state: T, n_bytes: int) -> None:
        """Keep a state of a size; the last one is kept whatever its size."""
        self._states[prefix] = state, n_bytes
        self._bytes += n_bytes
        while self._bytes > self._max_bytes and len(self._states) > 1:
            self._bytes -= self._states.pop(next(iter(self._states)))[1]


def states_worth_keeping(shape: Sequence[int]) -> float:
    """How many of the states that precede some rules, asked for in any order, are worth keeping.

    Many states are each used by few rules, few leave much to do for every rule: the square root of the number
    of rules balances the two.
    """
    return STATES_PER_ROOT * math.sqrt(math.prod(shape))


def depth_worth_keeping(shape: Sequence[int]) -> int:
    """How many of the first attributes (with their numbers of levels) such states have a level for."""
    most = states_worth_keeping(shape)
    depth, n_states = 0, 1
    while depth < len(shape) and (depth == 0 or n_states * shape[depth] <= most):
        n_states *= shape[depth]
        depth += 1
    return depth
