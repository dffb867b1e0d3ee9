"""The one function that counts, over three engines chosen by estimated cost and a memory ceiling."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from app.domain.arrays import Bools, Ints, Longs
from app.domain.counting.bitsets import EntityBitsets
from app.domain.counting.calibration import (
    SECONDS_PER_CODE,
    SECONDS_PER_COUNT,
    SECONDS_PER_CUBE_CELL,
    SECONDS_PER_SORTED_KEY,
)
from app.domain.counting.compatibility import Classes, Compatibility
from app.domain.counting.cube import Cube, cube_cells
from app.domain.counting.sorted_keys import DictionaryRows, count_group
from app.domain.counting.threads import in_order
from app.domain.dictionaries.dictionary import Dictionary, LinkedAttribute, link_nodes, own_rows
from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import TOP
from app.domain.tables.distinct import distinct_rows, group, row_keys
from app.domain.tables.table import Table

Engine = Literal["cube", "sorted_keys", "bitsets"]

MEMORY_CEILING = 1 << 30
SECONDS_WORTH_A_CUBE = 0.02


@dataclass(frozen=True, eq=False)
class Counts:
    """Consistent entities per disclosed row, int64 (r,), and the engine that counted them."""

    values: Longs
    engine: Engine


@dataclass(frozen=True)
class Cost:
    """Estimated seconds and bytes of a piece of work, and the engine that would do it."""

    seconds: float
    bytes: int
    engine: Engine


class Matching:
    """What of a table and a dictionary fits, whatever the rule; it serves every counter of the two.

    ``compatibilities`` are those of the linked attributes, in the dictionary's order.
    """

    def __init__(self, table: Table, dictionary: Dictionary) -> None:
        self.compatibilities = tuple(
            Compatibility(link, table.used_nodes[table.position(link.attribute)]) for link in dictionary.links
        )
        self.most_bytes = sum(own.most_bytes for own in self.compatibilities)
        """Bytes that it may come to keep."""
        if dictionary.comparable_ids:
            self.most_bytes += 8 * table.n_records
        self._own_rows: Longs | None = None

    def own_rows(self, table: Table, dictionary: Dictionary) -> Longs:
        """:func:`own_rows` of the two that it was made of, found once."""
        # They are not held here: who keeps this may have dropped them.
        if self._own_rows is None:
            self._own_rows = own_rows(table, dictionary)
        return self._own_rows


class Counter:
    """Counts the entities of one dictionary that are consistent with disclosed records of one table.

    Both sides are reduced to distinct combinations once; what is prepared per attribute and level is kept.
    ``linked`` are the positions in the table of the linked attributes, in the dictionary's order;
    ``matching`` is that of the two where another counter has it already. So many ``threads`` share the least
    count and what the table's own counter needs.
    """

    def __init__(
        self,
        table: Table,
        dictionary: Dictionary,
        memory_ceiling: int = MEMORY_CEILING,
        matching: Matching | None = None,
        threads: int = 1,
    ) -> None:
        _require_links_fit(table, dictionary)
        self.table = table
        self.dictionary = dictionary
        self.memory_ceiling = memory_ceiling
        self.threads = threads
        self.linked = tuple(table.position(link.attribute) for link in dictionary.links)
        self.matching = matching or Matching(table, dictionary)
        self.compatibilities = self.matching.compatibilities
        self._rows = DictionaryRows(dictionary)
        self._cube: Cube | None = None

    def count(self, nodes: Ints, levels: Sequence[int] | None = None, engine: Engine | None = None) -> Counts:
        """Count for rows of disclosed nodes (r, q) of the linked attributes.

        ``levels``, one per linked attribute, says that the rows come from one table-level rule, which saves
        work; ``engine`` forces one. Counts are exact integers whatever the engine.
        """
        chosen = engine or self.choose(len(nodes), 1).engine
        if not self.dictionary.n_entities:
            return Counts(np.zeros(len(nodes), dtype=np.int64), chosen)
        if chosen == "cube":
            if self._cube is None:
                self._cube = Cube(self.dictionary, self.compatibilities)
            return Counts(self._cube.count(nodes), chosen)
        counts = np.zeros(len(nodes), dtype=np.int64)
        groups = list(self._groups(nodes, levels))
        if chosen == "bitsets" or (engine is None and self._suits_bits(len(groups), nodes)):
            return Counts(self._bitsets.count_rows(nodes), "bitsets")
        for positions, layers in groups:
            counts[positions] = self._count_layers(nodes[positions], layers)
        return Counts(counts, chosen)

    def count_records(self, codes: Ints, levels: Sequence[int] | None = None) -> Counts:
        """Count for disclosed records (r, m) of the table; counts each distinct linked part once."""
        chosen = None if levels is None else [levels[j] for j in self.linked]
        if self.linked == tuple(range(codes.shape[1])):
            return self.count(codes, chosen)
        sizes = [self.table.sizes[j] for j in self.linked]
        rows = distinct_rows([codes[:, j] for j in self.linked], sizes, len(codes))
        counted = self.count(rows.codes, chosen)
        return Counts(counted.values[rows.inverse], counted.engine)

    def least(self, codes: Ints, at_least: Longs, levels: Sequence[int] | None = None) -> int:
        """The least count of disclosed records (r, m) of the table, none of which is below ``at_least`` (r,).

        Rows that cannot be the least are not counted, and nothing is once no row can be below the least.
        """
        if levels is not None or not self.linked or self.choose(len(codes), 1).engine == "cube":
            return int(self.count_records(codes, levels).values.min())
        nodes = codes[:, list(self.linked)]
        floor, least = int(at_least.min()), int(np.iinfo(np.int64).max)
        # Where much is disclosed, few are consistent.
        groups = sorted(
            self._groups(nodes, None),
            key=lambda group: -sum(math.log(kinds.size + 1) for _, kinds in group[1]),
        )

        def least_of(group: tuple[slice | Longs, list[tuple[int, Classes]]]) -> int:
            positions, layers = group
            held = at_least[positions] < least
            if least <= floor or not held.any():
                return least
            return int(self._count_layers(nodes[positions][held], layers).min())

        for found in in_order(least_of, groups, self.threads):
            least = min(least, found)
        return least

    @cached_property
    def of_table_itself(self) -> Counter:
        """The counter of the table against itself, for k-anonymity in the matching sense."""
        itself = dictionary_of(self.table, self.threads)
        return Counter(self.table, itself, self.memory_ceiling, threads=self.threads)

    @cached_property
    def own_rows(self) -> OwnRows:
        """Where each record's own entity is; NotSupported if the identifiers cannot be compared."""
        return OwnRows(self)

    def choose(self, n_rows: int, n_rules: int) -> Cost:
        """The cheaper engine, with its cost, for some rules of about ``n_rows`` distinct linked rows each."""
        q, size = len(self.linked), self.dictionary.reduced.size
        keys = n_rules * (
            SECONDS_PER_COUNT + (size + n_rows) * (SECONDS_PER_SORTED_KEY + q * SECONDS_PER_CODE)
        )
        by_keys = Cost(keys, 8 * (size + n_rows) * (q + 6), "sorted_keys")
        if self._cube is None and by_keys.seconds < SECONDS_WORTH_A_CUBE:
            return by_keys
        if self._cube is None and self._least_cube_cells * SECONDS_PER_CUBE_CELL > by_keys.seconds:
            return by_keys
        largest, touched = self._cube_cells
        if 8 * largest > self.memory_ceiling:
            return by_keys
        built = 0.0 if self._cube is not None else touched * SECONDS_PER_CUBE_CELL
        gathers = n_rules * (SECONDS_PER_COUNT + n_rows * (q + 1) * SECONDS_PER_CODE)
        by_cube = Cost(built + gathers, 8 * largest, "cube")
        return min(by_cube, by_keys, key=lambda cost: cost.seconds)

    @cached_property
    def _bitsets(self) -> EntityBitsets:
        return EntityBitsets(self.compatibilities, self.dictionary.n_entities)

    def _suits_bits(self, n_groups: int, nodes: Ints) -> bool:
        """Whether rows that disclose in many different ways are counted faster by the bits of their nodes."""
        q, n, size = len(self.linked), self.dictionary.n_entities, self.dictionary.reduced.size
        per_row = SECONDS_PER_SORTED_KEY + q * SECONDS_PER_CODE
        by_keys = n_groups * (SECONDS_PER_COUNT + size * per_row) + len(nodes) * per_row
        if by_keys < SECONDS_WORTH_A_CUBE:
            return False
        n_nodes = sum(len(np.unique(column)) for column in nodes.T)
        return EntityBitsets.seconds(n, q, n_nodes, len(nodes)) < by_keys

    @cached_property
    def _least_cube_cells(self) -> int:
        """Cells that making the cube touches at least: those of its first axis, nodes unclassified."""
        sizes = [max(1, c.link.n_codes) for c in self.compatibilities]
        cells = math.prod(sizes)
        if not sizes or 8 * cells > self.memory_ceiling:
            return cells
        return cells + cells // sizes[0] * len(self.compatibilities[0].link.pairs[0])

    @cached_property
    def _cube_cells(self) -> tuple[int, int]:
        return cube_cells(self.compatibilities, self.memory_ceiling // 8)

    def _groups(
        self, nodes: Ints, levels: Sequence[int] | None
    ) -> Iterator[tuple[slice | Longs, list[tuple[int, Classes]]]]:
        """Rows that disclose the same attributes on the same layers, with the classes of these."""
        columns = []
        for j, link in enumerate(self.dictionary.links):
            column = nodes[:, j]
            columns.append((column != TOP).astype(np.int32) if levels else link.hierarchy.depth[column])
        if not len(nodes):
            return
        if all(column[0] == column.min() == column.max() for column in columns):
            yield slice(None), self._layers([int(column[0]) for column in columns], levels)
            return
        sizes = [link.hierarchy.height + 2 for link in self.dictionary.links]
        first, inverse = group(*row_keys(columns, sizes, len(nodes)))
        for number, row in enumerate(first.tolist()):
            layers = self._layers([int(column[row]) for column in columns], levels)
            yield np.flatnonzero(inverse == number), layers

    def _layers(self, depths: Sequence[int], levels: Sequence[int] | None) -> list[tuple[int, Classes]]:
        return [
            (j, compatibility.at_level(levels[j]) if levels else compatibility.at_depth(depths[j]))
            for j, compatibility in enumerate(self.compatibilities)
            if depths[j]
        ]

    def _count_layers(self, nodes: Ints, layers: Sequence[tuple[int, Classes]]) -> Longs:
        disclosed = [j for j, _ in layers]
        classes = [kinds for _, kinds in layers]
        node_classes = [kinds.of_node.take(nodes[:, j]) for j, kinds in layers]
        return count_group(self._rows, disclosed, node_classes, classes, len(nodes))


def _require_links_fit(table: Table, dictionary: Dictionary) -> None:
    if len(set(dictionary.attributes)) != len(dictionary.attributes):
        raise InvalidInput.of(
            "/links", "duplicate-link", "An attribute of the dataset is linked twice.", "Link it once."
        )
    for link in dictionary.links:
        own = table.hierarchies[table.position(link.attribute)]
        theirs = link.hierarchy
        if own is not theirs and (own.labels, own.parents) != (theirs.labels, theirs.parents):
            raise InvalidInput.of(
                f"/links/{link.attribute}",
                "other-hierarchy",
                f"The dictionary links {link.attribute!r} through another hierarchy than the dataset's.",
                "Use a dictionary that is linked to this dataset's hierarchy.",
            )


def dictionary_of(table: Table, threads: int = 1) -> Dictionary:
    """The table itself as a dictionary: every record its own entity, on all disclosed attributes."""

    def linked(j: int) -> LinkedAttribute:
        used = table.used_nodes[j]
        return link_nodes(table.attributes[j], table.hierarchies[j], table.codes[:, j], used)

    links = tuple(in_order(linked, range(table.n_attributes), threads))
    dictionary = Dictionary(
        table.n_records, links, table.own_ids, comparable_ids=table.entity_ids is not None
    )
    reduced = table.reduced
    codes = np.empty(reduced.codes.shape, dtype=np.int32, order="F")
    for j, used in enumerate(table.used_nodes):
        place = np.zeros(table.sizes[j], dtype=np.int32)
        place[used] = np.arange(len(used), dtype=np.int32)
        codes[:, j] = place[reduced.codes[:, j]]
    # The nodes are numbered in their order: the distinct rows are those of the table, in the same order.
    vars(dictionary)["reduced"] = replace(reduced, codes=codes)
    return dictionary


class OwnRows:
    """Where each record's own entity is in the dictionary, and when its row is consistent (``add_self``)."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self.row: Longs = counter.matching.own_rows(counter.table, counter.dictionary)

    def consistent(self, codes: Ints, levels: Sequence[int] | None = None) -> Bools:
        """Per record (n,), whether its own dictionary row exists and is consistent with its codes (n, m).

        ``levels``, one per attribute of the table, says that a table-level rule made the codes, which saves
        work.
        """
        present = self.row >= 0
        everybody = bool(present.all())
        rows = self.row if everybody else self.row[present]
        passed = np.ones(len(rows), dtype=bool)
        for j, compatibility in zip(self._counter.linked, self._counter.compatibilities, strict=True):
            nodes = codes[:, j] if everybody else codes[present, j]
            level = None if levels is None else levels[j]
            passed &= compatibility.consistent(nodes, compatibility.link.column.take(rows), level)
        if everybody:
            return passed
        result = np.zeros(len(codes), dtype=bool)
        result[present] = passed
        return result
