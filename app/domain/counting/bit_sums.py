"""Sums of weights over sets held as bits, for all members at a time: a number per bit, kept in bit planes.

Plane b holds bit b of every member's sum. Three planes of one weight become one of that weight and one of the
next by a full adder, so that a sum of n sets takes about n adders whatever the number of members is.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from app.domain.counting.bitsets import Words, everybody, words_for


def sum_planes(sets: Iterable[tuple[Words, int]], n_words: int) -> list[Words]:
    """Bit planes, lowest first, of Σ weight · [member of the set]; weights are whole and at least 0."""
    waiting: list[list[Words]] = []
    for words, weight in sets:
        bit = 0
        while weight:
            if weight & 1:
                _add(waiting, bit, words)
            weight >>= 1
            bit += 1
    planes: list[Words] = []
    while len(planes) < len(waiting):
        here = waiting[len(planes)]
        if len(here) == 2:
            _add(waiting, len(planes) + 1, here[0] & here[1])
            here = [here[0] ^ here[1]]
        planes.append(here[0] if here else np.zeros(n_words, dtype=np.uint64))
    return planes


def _add(waiting: list[list[Words]], bit: int, words: Words) -> None:
    """Put a plane of one bit to those that wait; three of them are replaced by their sum and carry."""
    while True:
        while len(waiting) <= bit:
            waiting.append([])
        here = waiting[bit]
        if len(here) < 2:
            here.append(words)
            return
        a, b = here
        either = a ^ b
        carry = a & b
        carry |= either & words
        either ^= words
        waiting[bit] = [either]
        bit, words = bit + 1, carry


def at_least(planes: list[Words], least: int, n_members: int) -> Words:
    """The members whose sum is at least ``least``; bits from ``n_members`` on are 0."""
    greater = np.zeros(words_for(n_members), dtype=np.uint64)
    equal = everybody(n_members)
    if least <= 0:
        return equal
    if least >> len(planes):
        return greater
    for bit in reversed(range(len(planes))):
        if least >> bit & 1:
            equal = equal & planes[bit]
        else:
            greater |= equal & planes[bit]
            equal = equal & ~planes[bit]
    return greater | equal
