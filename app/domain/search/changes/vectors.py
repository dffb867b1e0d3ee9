"""The vectors of a lattice in order of utility, and which of them are settled."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from typing import Final, Protocol

import numpy as np

from app.domain.harm.weights import Floats
from app.domain.search.canonical import outer_sum

Vector = tuple[int, ...]
"""Per attribute the number of its choice, 0 the least general."""

VECTORS_HELD: Final = 2_000_000
MOST_VECTORS: Final = 2_000_000
"""Most vectors of a larger lattice that are looked at."""
_AT_ONCE: Final = 4096


def are_held(terms: Sequence[Floats]) -> bool:
    """Whether a lattice of these terms is small enough to be held in memory whole."""
    return math.prod(map(len, terms)) <= VECTORS_HELD


def in_order(terms: Sequence[Floats]) -> Iterator[tuple[float, Vector]]:
    """Utility and vector, the greatest utility first; at most :data:`MOST_VECTORS` of those not held.

    Utilities are sums of one term per attribute and choice, which never rise.
    """
    return _all_in_order(terms) if are_held(terms) else _first_in_order(terms)


def _all_in_order(terms: Sequence[Floats]) -> Iterator[tuple[float, Vector]]:
    utilities = outer_sum(terms).reshape(-1)
    order = np.argsort(-utilities, kind="stable")
    shape = tuple(map(len, terms))
    for start in range(0, len(order), _AT_ONCE):
        places = order[start : start + _AT_ONCE]
        vectors = np.stack(np.unravel_index(places, shape), axis=1).tolist()
        yield from zip(utilities[places].tolist(), map(tuple, vectors), strict=True)


def _first_in_order(terms: Sequence[Floats]) -> Iterator[tuple[float, Vector]]:
    values = [own.tolist() for own in terms]

    def entry(vector: Vector, last: int) -> tuple[float, Vector, int]:
        return -sum(own[number] for own, number in zip(values, vector, strict=True)), vector, last

    # A vector is reached from one other alone: that with its last raised attribute one lower.
    open_ = [entry((0,) * len(values), 0)]
    for _ in range(MOST_VECTORS):
        if not open_:
            return
        less, vector, last = heapq.heappop(open_)
        for j in range(last, len(values)):
            if vector[j] + 1 < len(values[j]):
                heapq.heappush(open_, entry((*vector[:j], vector[j] + 1, *vector[j + 1 :]), j))
        yield -less, vector


class Settled(Protocol):
    """Vectors that need not be asked about."""

    def add_below(self, vector: Vector) -> None:
        """Settle the vector and all with no greater number anywhere."""

    def __contains__(self, vector: Vector) -> bool: ...


def nothing_settled(terms: Sequence[Floats]) -> Settled:
    """No vector of a lattice is settled yet."""
    return _HeldSettled(terms) if are_held(terms) else _ListedSettled(terms)


class _HeldSettled:
    """By a flag for every vector."""

    def __init__(self, terms: Sequence[Floats]) -> None:
        self._flags = np.zeros(tuple(map(len, terms)), dtype=bool)

    def add_below(self, vector: Vector) -> None:
        self._flags[tuple(slice(0, number + 1) for number in vector)] = True

    def __contains__(self, vector: Vector) -> bool:
        return bool(self._flags[vector])


class _ListedSettled:
    """By the greatest settled vectors."""

    def __init__(self, terms: Sequence[Floats]) -> None:
        self._greatest = np.empty((0, len(terms)), dtype=np.int16)

    def add_below(self, vector: Vector) -> None:
        new = np.array(vector, dtype=np.int16)
        kept = self._greatest[(self._greatest > new).any(axis=1)]
        self._greatest = np.vstack([kept, new])

    def __contains__(self, vector: Vector) -> bool:
        return bool((self._greatest >= np.array(vector, dtype=np.int16)).all(axis=1).any())
