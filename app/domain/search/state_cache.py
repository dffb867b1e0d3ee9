"""States of a walk that were reached before, so that neighbouring rules share them."""

from __future__ import annotations

from app.domain.search.walk import State

MAX_BYTES = 256 * 1024**2


class StateCache:
    """States by the levels that led to them, the least recently used dropped above a number of bytes."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._states: dict[tuple[int, ...], State] = {}

    def get(self, prefix: tuple[int, ...]) -> State | None:
        state = self._states.pop(prefix, None)
        if state is not None:
            self._states[prefix] = state
        return state

    def put(self, prefix: tuple[int, ...], state: State) -> None:
        self._states[prefix] = state
        self._bytes += _bytes_of(state)
        while self._bytes > self._max_bytes and len(self._states) > 1:
            self._bytes -= _bytes_of(self._states.pop(next(iter(self._states))))


def _bytes_of(state: State) -> int:
    return state.prefix.nbytes + state.rest.nbytes + sum(column.nbytes for column in state.columns)
