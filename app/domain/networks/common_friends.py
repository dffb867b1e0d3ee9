"""Friends that two people have in common, without the square of the network's matrix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from app.domain.arrays import Integers, Longs, concatenated_ranges
from app.domain.networks.graph import Graph

_AT_ONCE: Final = 1 << 21
_PAIRS_AT_ONCE: Final = 1 << 13


def common_friends(graph: Graph, first: Integers, second: Integers) -> Longs:
    """How many people both of each pair have an edge to, (p,)."""
    parts = shared_friends(graph, first, second)
    found = [np.bincount(pairs, minlength=part.stop - part.start) for part, pairs, _ in parts]
    return np.concatenate([np.empty(0, dtype=np.int64), *found])


def shared_friends(
    graph: Graph, first: Integers, second: Integers
) -> Iterator[tuple[slice, Longs, Integers]]:
    """Whom both have an edge to, some pairs at a time: which pairs, place in these (ascending), friend.

    The friends of the one with fewer are looked up among the other's: time O(Σ min·log max) over the pairs,
    memory some 100 MB at most, unless one person has more than two million friends.
    """
    starts, friends = graph.links.indptr.astype(np.int64), graph.links.indices
    amounts = np.diff(starts)
    is_less = amounts[first] <= amounts[second]
    fewer, more = np.where(is_less, first, second), np.where(is_less, second, first)
    lengths = amounts[fewer]
    ends = np.cumsum(lengths)
    begin = 0
    while begin < len(fewer):
        limit = ends[begin] - lengths[begin] + _AT_ONCE
        end = min(max(begin + 1, int(np.searchsorted(ends, limit, side="right"))), begin + _PAIRS_AT_ONCE)
        part = slice(begin, end)
        sought = friends[concatenated_ranges(starts[fewer[part]], lengths[part])]
        pair = np.repeat(np.arange(end - begin), lengths[part])
        low, last = starts[more[part]][pair], starts[more[part] + 1][pair]
        high = last.copy()
        # Bisected all at once, each among the friends of its pair.
        while (is_open := low < high).any():
            middle = (low + high) // 2
            below = is_open & (friends[np.minimum(middle, len(friends) - 1)] < sought)
            low, high = np.where(below, middle + 1, low), np.where(is_open & ~below, middle, high)
        hit = (low < last) & (friends[np.minimum(low, len(friends) - 1)] == sought)
        yield part, pair[hit], sought[hit]
        begin = end
