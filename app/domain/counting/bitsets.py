"""Sets of entities as bits: which entities of a dictionary are consistent with a disclosed node.

One index for all records: per linked attribute the entities ordered by code, from which the set of a node is
made when it is asked for; the sets used last are kept. |ρ| of a disclosed record is the size of an
intersection. Bits are those of little-endian 64-bit words, bits past the last entity are 0.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Bools, Ints, Longs, concatenated_ranges
from app.domain.counting.calibration import (
    SECONDS_PER_AND_OF_BITS,
    SECONDS_PER_BITSET,
    SECONDS_PER_MARKED_BIT,
    SECONDS_PER_ORDERED_CODE,
)
from app.domain.counting.compatibility import Compatibility
from app.domain.hierarchies.hierarchy import TOP
from app.domain.tables.distinct import sort_with_positions

Words = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]

KEPT_BYTES = 2**28
SHORT_CODES = 2**16
BLOCK = 1023
CODES_AT_ONCE = 2**13
SHARE_OF_FEW = 64
"""A node with less than this part of the entities is counted along its list, not by bits."""
ANDS_BETWEEN_CHECKS = 4
ROWS_AT_ONCE = 512
"""Entities up to which all their codes are looked at together."""


def words_for(n_members: int) -> int:
    """Words of a set among so many: enough, and cut into blocks of equal length without a rest."""
    n_words = (n_members + 63) // 64
    blocks = max(1, -(-n_words // BLOCK))
    return blocks * -(-n_words // blocks)


def size_of(words: Words) -> int:
    """How many bits are set, of a set of :func:`words_for` words.

    Summed in 16 bits, which is four times as fast as in 64: a block has fewer than 2^16 members.
    """
    blocks = max(1, -(-len(words) // BLOCK))
    bits = np.bitwise_count(words).reshape(blocks, -1)
    return sum(np.add.reduce(bits, axis=1, dtype=np.uint16).tolist())


def everybody(n_members: int) -> Words:
    """The set of all of so many members."""
    words = np.zeros(words_for(n_members), dtype=np.uint64)
    words[: n_members // 64] = np.uint64(2**64 - 1)
    if n_members % 64:
        words[n_members // 64] = np.uint64((1 << (n_members % 64)) - 1)
    return words


def members_of(words: Words) -> Longs:
    """Positions of the bits that are set, ascending."""
    used = np.flatnonzero(words)
    bits = np.unpackbits(words[used].view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    where, place = np.nonzero(bits)
    return used[where] * 64 + place


class _Kept:
    """Arrays made on demand, of which those used last are kept up to a number of bytes."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._n_bytes = 0
        self._arrays: OrderedDict[tuple[int, int], npt.NDArray[Any]] = OrderedDict()

    def get(self, key: tuple[int, int], make: Callable[[int, int], npt.NDArray[Any]]) -> npt.NDArray[Any]:
        found = self._arrays.get(key)
        if found is not None:
            self._arrays.move_to_end(key)
            return found
        found = make(*key)
        found.flags.writeable = False
        self._arrays[key] = found
        self._n_bytes += found.nbytes
        while self._n_bytes > self._max_bytes and len(self._arrays) > 1:
            self._n_bytes -= self._arrays.popitem(last=False)[1].nbytes
        return found


class EntityBitsets:
    """The sets of entities consistent with each node, for the linked attributes of one dictionary.

    Parameters
    ----------
    compatibilities
        One per linked attribute, in the dictionary's order.
    n_entities
        N.
    kept_bytes
        Most memory for the sets that are kept.
    """

    def __init__(
        self, compatibilities: Sequence[Compatibility], n_entities: int, kept_bytes: int = KEPT_BYTES
    ) -> None:
        self._compatibilities = tuple(compatibilities)
        self.n_entities = n_entities
        self.n_words = words_for(n_entities)
        self._sets = _Kept(kept_bytes)
        self._member = _Kept(kept_bytes // 8)
        self._steps = _Kept(kept_bytes // 8)
        self._sizes: dict[tuple[int, int], int] = {}
        self._orders: dict[int, tuple[Longs, Ints]] = {}

    @staticmethod
    def n_bytes(n_entities: int, n_linked: int, n_nodes: int, kept_bytes: int = KEPT_BYTES) -> int:
        """Memory at most: entities by code, codes by entity, and the sets of so many nodes that are kept."""
        sets = min(kept_bytes, 8 * words_for(n_entities) * n_nodes)
        return n_entities * (n_linked * (4 + 4) + 1) + sets + kept_bytes // 4

    def of(self, attribute: int, node: int) -> Words:
        """The entities consistent with a node of a linked attribute, uint64 (words,), read-only."""
        words: Words = self._sets.get((attribute, node), self._make)
        return words

    def size(self, attribute: int, node: int) -> int:
        """How many entities are consistent with a node of a linked attribute."""
        key = (attribute, node)
        if key not in self._sizes:
            if node == TOP:
                return self.n_entities
            starts, _ = self._order(attribute)
            codes = np.flatnonzero(self.is_member(attribute, node))
            self._sizes[key] = int((starts[codes + 1] - starts[codes]).sum())
        return self._sizes[key]

    def is_member(self, attribute: int, node: int) -> Bools:
        """Per code of a linked attribute, whether the node is consistent with it."""
        found: Bools = self._member.get(
            (attribute, node), lambda j, node: self._compatibilities[j].fitting(node)
        )
        return found

    def steps(self, attribute: int, node: int) -> Bytes:
        """Per code, the steps up from the node after which it is consistent, uint8; trees only."""
        found: Bytes = self._steps.get((attribute, node), self._make_steps)
        return found

    def thresholds(self, nodes: Sequence[int], rows: Longs) -> Bytes:
        """Steps up per entity and linked attribute (rows, q) from which on each is consistent."""
        if not nodes:
            return np.zeros((len(rows), 0), dtype=np.uint8)
        steps = np.concatenate([self.steps(j, node) for j, node in enumerate(nodes)])
        return steps.take(self._codes[rows])

    def listed(self, attribute: int, node: int) -> Ints:
        """The entities consistent with a node, in the order of their codes."""
        starts, order = self._order(attribute)
        codes = np.flatnonzero(self.is_member(attribute, node))
        return order[concatenated_ranges(starts[codes], starts[codes + 1] - starts[codes])]

    @staticmethod
    def seconds(n_entities: int, n_linked: int, n_nodes: int, n_rows: int) -> float:
        """Estimated time to order the entities, make the sets of so many nodes and count so many rows."""
        made = n_entities * (n_linked * SECONDS_PER_ORDERED_CODE + n_nodes * SECONDS_PER_MARKED_BIT)
        return made + n_rows * n_linked * (SECONDS_PER_BITSET + n_entities * SECONDS_PER_AND_OF_BITS)

    def count_rows(self, nodes: Ints) -> Longs:
        """|ρ| of rows of disclosed nodes (r, q) of the linked attributes, int64 (r,)."""
        return np.array([self.count(list(enumerate(row))) for row in nodes.tolist()], dtype=np.int64)

    def count(self, nodes: Sequence[tuple[int, int]]) -> int:
        """|ρ| for a record that discloses some (linked attribute, node); the others are ⊥."""
        shown = sorted((self.size(j, node), j, node) for j, node in nodes if node != TOP)
        if not shown:
            return self.n_entities
        few = self.n_entities // SHARE_OF_FEW
        if shown[0][0] <= few:
            return self._count_listed(self.listed(*shown[0][1:]), shown[1:])
        words = self.of(*shown[0][1:]).copy()
        for done, (_, j, node) in enumerate(shown[1:], start=1):
            np.bitwise_and(words, self.of(j, node), out=words)
            if done % ANDS_BETWEEN_CHECKS == 0 and size_of(words) <= few:
                return self._count_listed(members_of(words), shown[done + 1 :])
        return size_of(words)

    def _count_listed(self, rows: npt.NDArray[np.integer[Any]], shown: Sequence[tuple[int, int, int]]) -> int:
        for done, (_, j, node) in enumerate(shown):
            if len(rows) <= ROWS_AT_ONCE:
                return self._count_at_once(rows, shown[done:])
            link = self._compatibilities[j].link
            rows = rows[self.is_member(j, node)[link.column[rows]]]
        return len(rows)

    def _count_at_once(
        self, rows: npt.NDArray[np.integer[Any]], shown: Sequence[tuple[int, int, int]]
    ) -> int:
        passes = np.ones(self._first_codes[-1], dtype=bool)
        for _, j, node in shown:
            passes[self._first_codes[j] : self._first_codes[j + 1]] = self.is_member(j, node)
        return int(passes.take(self._codes[rows]).all(axis=1).sum())

    # --- what is made on demand -------------------------------------------------------------------

    @cached_property
    def _first_codes(self) -> list[int]:
        """Where the codes of each attribute begin, those of all attributes being numbered on."""
        sizes = [one.link.n_codes for one in self._compatibilities]
        return [0, *np.cumsum(sizes).tolist()]

    @cached_property
    def _codes(self) -> npt.NDArray[np.unsignedinteger[Any]]:
        """Codes (N, q), those of each attribute numbered on from the last one's."""
        small = self._first_codes[-1] <= SHORT_CODES
        shape = self.n_entities, len(self._compatibilities)
        found = np.empty(shape, dtype=np.uint16 if small else np.uint32)
        # In blocks that stay in the cache while they are filled column by column.
        for start in range(0, self.n_entities, CODES_AT_ONCE):
            block = found[start : start + CODES_AT_ONCE]
            for j, one in enumerate(self._compatibilities):
                column = one.link.column[start : start + CODES_AT_ONCE]
                np.add(column, self._first_codes[j], out=block[:, j], casting="unsafe")
        return found

    def _order(self, attribute: int) -> tuple[Longs, Ints]:
        """Entities by code: those of code c are ``order[starts[c]:starts[c + 1]]``."""
        if attribute not in self._orders:
            link = self._compatibilities[attribute].link
            starts = np.zeros(link.n_codes + 1, dtype=np.int64)
            np.cumsum(np.bincount(link.column, minlength=link.n_codes), out=starts[1:])
            if link.n_codes <= SHORT_CODES:
                order = np.argsort(link.column.astype(np.uint16), kind="stable")
            else:
                order = sort_with_positions(link.column.astype(np.int64), link.n_codes)[1]
            self._orders[attribute] = starts, order.astype(np.int32)
        return self._orders[attribute]

    def _make_steps(self, attribute: int, node: int) -> Bytes:
        hierarchy = self._compatibilities[attribute].link.hierarchy
        found = np.zeros(self._compatibilities[attribute].link.n_codes, dtype=np.uint8)
        while node != TOP:
            found += ~self.is_member(attribute, node)
            node = int(hierarchy.parent[node])
        return found

    def _make(self, attribute: int, node: int) -> Words:
        marks = np.zeros(64 * self.n_words, dtype=bool)
        marks[self.listed(attribute, node)] = True
        return np.packbits(marks, bitorder="little").view(np.uint64)


def sum_planes(sets: Iterable[tuple[Words, int]], n_words: int) -> list[Words]:
    """Bit planes, lowest first, of Σ weight · [member of the set]; weights are whole and at least 0.

    Plane b holds bit b of every member's sum. Three planes of one weight become one of that weight and one of
    the next by a full adder: n sets take about n adders, whatever the number of members is.
    """
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
