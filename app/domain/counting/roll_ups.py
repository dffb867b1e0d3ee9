"""Counting for many rows of codes at every combination of levels: each count is made from a finer one.

Where every code of the dictionary belongs to one class per level, the entities consistent with a row at some
levels are those of the same classes. A combination of levels with few cells is counted in a dense array,
rolled up from that of a neighbour; one with too many by sorting keys in which the last attribute's levels are
prefixes of each other, so that one sort serves all of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Bools, Integers, Ints, Longs
from app.domain.counting.calibration import (
    SECONDS_PER_DENSE_CELL,
    SECONDS_PER_ENTERED_ROW,
    SECONDS_PER_ROLLED_NODE,
    SECONDS_PER_SORTED_LEVEL,
    SECONDS_PER_SORTED_ROW,
)
from app.domain.counting.ordered_rows import Column, OrderedRows
from app.domain.counting.threads import in_order
from app.domain.tables.distinct import row_keys

DENSE_CELLS = 2**25
FEW_CELLS = 2**16
CELLS_PER_ROW = 8
ORDERED_BYTES = 36
COUNTED_BYTES = 20
"""Per row while it is sorted, and by each thread that then counts on one level."""

Counts = Integers
Node = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Ladder:
    """The classes of one attribute's codes, level by level, numbered by first appearance among the codes.

    ``classes`` (codes,) and the number of them, ``sizes``, per *rung*: levels that tell the same codes apart
    share one, ``rung_of_level``. ``up`` leads from the classes of the rung below to those of each rung, None
    for the first and where classes of the rung below are split.
    """

    classes: tuple[Ints, ...]
    sizes: tuple[int, ...]
    rung_of_level: tuple[int, ...]
    up: tuple[Ints | None, ...]

    @classmethod
    def of(cls, levels: Sequence[Ints], held: Bools) -> Ladder:
        """From the class of each code per level; −1, no class, is one of its own.

        ``held`` (codes,) marks the codes of the dictionary. Classes without any count nothing: they may be
        split, and are where their codes lie apart.
        """
        classes: list[Ints] = []
        sizes: list[int] = []
        rungs: list[int] = []
        for level in levels:
            numbered, size = _by_first_appearance(_split_empty(level, held))
            if not classes or not np.array_equal(numbered, classes[-1]):
                classes.append(numbered)
                sizes.append(size)
            rungs.append(len(classes) - 1)
        up: list[Ints | None] = [None]
        for below, above, size in zip(classes, classes[1:], sizes, strict=False):
            leads = np.zeros(size, dtype=np.int32)
            leads[below] = above
            up.append(leads if np.array_equal(leads[below], above) else None)
        return cls(tuple(classes), tuple(sizes), tuple(rungs), tuple(up))

    @property
    def is_nested(self) -> bool:
        """Whether the classes of every rung are runs of codes, each within one of the rung above."""
        return all(bool((np.diff(classes) >= 0).all()) for classes in self.classes)


def _split_empty(level: Ints, held: Bools) -> Ints:
    """The level with a class of its own for each run of codes of a class that holds no code."""
    size = int(level.max(initial=0)) + 2
    is_empty = (np.bincount(level[held] + 1, minlength=size) == 0)[level + 1]
    if not is_empty.any():
        return level
    runs = np.zeros(len(level), dtype=np.int32)
    np.cumsum(level[1:] != level[:-1], out=runs[1:])
    return np.where(is_empty, size + runs, level).astype(np.int32)


def _by_first_appearance(level: Ints) -> tuple[Ints, int]:
    values, first, inverse = np.unique(level, return_index=True, return_inverse=True)
    rank = np.empty(len(values), dtype=np.int32)
    rank[np.argsort(first)] = np.arange(len(values), dtype=np.int32)
    return rank[inverse.reshape(-1)], len(values)


class RollUps:
    """Entities that share their classes with each *part*, at every combination of levels.

    Parameters
    ----------
    ladders
        One per attribute, at least one.
    entities, weights
        Codes per attribute of the dictionary's rows, and how many entities each row stands for.
    parts
        Codes per attribute of the rows that are counted for.
    threads
        How many may work at once.
    """

    def __init__(
        self,
        ladders: Sequence[Ladder],
        entities: Sequence[Ints],
        weights: Longs,
        parts: Sequence[Ints],
        threads: int = 1,
    ) -> None:
        self._ladders = ladders
        self._entities = entities
        self._weights = weights
        self._parts = parts
        self._threads = threads
        n_rows = len(weights) + self.n_parts
        self._most_cells = max(FEW_CELLS, min(DENSE_CELLS, CELLS_PER_ROW * n_rows))
        nodes = list(itertools.product(*(range(len(ladder.sizes)) for ladder in ladders)))
        self._dense_nodes = [node for node in nodes if self._is_dense(node)]
        self._by_sort = self._fewest_sorts([node for node in nodes if not self._is_dense(node)])
        self._type: type[np.int32] | type[np.int64] = np.int32 if weights.sum() < 2**31 else np.int64
        self._wide: dict[tuple[int, int], Longs] = {}
        self._cells: dict[Node, Counts] = {}
        self._rows: dict[Node, Counts] = {}

    @property
    def n_parts(self) -> int:
        """Rows that are counted for."""
        return len(self._parts[0])

    @property
    def n_bytes(self) -> int:
        """Estimated memory of all counts, and of what is needed to make them."""
        cells = [math.prod(self._shape(node)) for node in self._dense_nodes]
        n_sorted = sum(map(len, self._by_sort[1].values()))
        rows = len(self._weights) + self.n_parts
        held = 4 * sum(cells) + 4 * n_sorted * self.n_parts
        by_sort = (ORDERED_BYTES + self._threads * COUNTED_BYTES) * rows if n_sorted else 0
        return held + max(16 * max(cells, default=0), by_sort)

    @property
    def seconds(self) -> float:
        """Estimated time to make all counts."""
        rows = len(self._weights) + self.n_parts
        n_sorted = sum(map(len, self._by_sort[1].values()))
        cells = sum(math.prod(self._shape(node)) for node in self._dense_nodes)
        return (
            (len(self._dense_nodes) + n_sorted) * SECONDS_PER_ROLLED_NODE
            + rows * (len(self._by_sort[1]) * SECONDS_PER_SORTED_ROW + n_sorted * SECONDS_PER_SORTED_LEVEL)
            + cells * SECONDS_PER_DENSE_CELL
            + len(self._weights) * SECONDS_PER_ENTERED_ROW
        )

    def prepare(self, visit: Callable[[], None]) -> None:
        """Make all counts that are not made yet; ``visit`` is called after each piece of the work."""
        for node in self._dense_nodes:
            if node not in self._cells:
                self._cells[node] = self._dense(node)
                visit()
        last, sorts = self._by_sort
        for others, rungs in sorts.items():
            if (*others[:last], rungs[0], *others[last + 1 :]) not in self._rows:
                self._sort(last, others, rungs)
                visit()

    def at(self, levels: Sequence[int]) -> Counts:
        """The counts of all parts at one level per attribute."""
        node = self.node_of(levels)
        if self._is_dense(node):
            if node not in self._cells:
                self._cells[node] = self._dense(node)
        elif node not in self._rows:
            last, sorts = self._by_sort
            others = next(
                others
                for others, rungs in sorts.items()
                if node[last] in rungs
                and node[:last] == others[:last]
                and node[last + 1 :] == others[last + 1 :]
            )
            self._sort(last, others, sorts[others])
        return self.of(slice(None)).counts(levels)

    def node_of(self, levels: Sequence[int]) -> Node:
        """The rungs that levels stand on: levels of one node tell the same codes apart."""
        return tuple(ladder.rung_of_level[level] for ladder, level in zip(self._ladders, levels, strict=True))

    def of(self, rows: slice | Ints | Longs) -> PartsAtLevels:
        """The counts of some parts, after :meth:`prepare`."""
        return PartsAtLevels(self, rows)

    def wide_classes(self, j: int, rung: int) -> Longs:
        """The classes of an attribute's codes on a rung, as wide as an index of cells."""
        if (j, rung) not in self._wide:
            self._wide[j, rung] = self._ladders[j].classes[rung].astype(np.int64)
        return self._wide[j, rung]

    # --- which way -----------------------------------------------------------------------------------

    def _shape(self, node: Node) -> tuple[int, ...]:
        return tuple(ladder.sizes[rung] for ladder, rung in zip(self._ladders, node, strict=True))

    def _is_dense(self, node: Node) -> bool:
        return math.prod(self._shape(node)) <= self._most_cells

    def _fewest_sorts(self, nodes: Sequence[Node]) -> tuple[int, dict[Node, list[int]]]:
        """The attribute to put last in the keys, and per node of the others its rungs that are sorted for."""
        best: tuple[int, dict[Node, list[int]]] = (0, {})
        for last, ladder in enumerate(self._ladders):
            sorts: dict[Node, list[int]] = {}
            for node in nodes:
                # An attribute that is not nested has no prefixes: every rung takes a sort of its own.
                own = 0 if ladder.is_nested else node[last]
                sorts.setdefault((*node[:last], own, *node[last + 1 :]), []).append(node[last])
            if not last or len(sorts) <= len(best[1]):
                best = last, sorts
        return best

    # --- dense ---------------------------------------------------------------------------------------

    def _dense(self, node: Node) -> Counts:
        finer = [
            (self._cells[below].size, j)
            for j, rung in enumerate(node)
            if rung and self._ladders[j].up[rung] is not None
            and (below := (*node[:j], rung - 1, *node[j + 1 :])) in self._cells
        ]  # fmt: skip
        if finer:
            _, j = min(finer)
            leads = self._ladders[j].up[node[j]]
            if leads is not None:
                return _rolled_up(self._cells[(*node[:j], node[j] - 1, *node[j + 1 :])], j, leads)
        shape = self._shape(node)
        columns = [
            ladder.classes[rung][codes]
            for ladder, rung, codes in zip(self._ladders, node, self._entities, strict=True)
        ]
        keys, _ = row_keys(columns, shape, len(self._weights))
        found = np.bincount(keys, self._weights, minlength=math.prod(shape))
        return self._typed(found).reshape(shape)

    def _typed(self, counts: npt.NDArray[Any]) -> Counts:
        typed: Counts = counts.astype(self._type, copy=False)
        return typed

    # --- sorted --------------------------------------------------------------------------------------

    def _sort(self, last: int, node: Node, rungs: Sequence[int]) -> None:
        """Counts of all parts at one node of the other attributes and some rungs of the last."""
        ladder, n_entities = self._ladders[last], len(self._weights)
        of_last = None if ladder.is_nested else ladder.classes[node[last]]
        # Of the last attribute its codes, where no classes of them are asked for.
        codes = np.arange(len(ladder.classes[0]), dtype=np.int32) if of_last is None else of_last
        own = Column((self._entities[last], self._parts[last]), codes, int(codes.max(initial=0)) + 1)
        rows = OrderedRows.of(self._columns(last, node), own)
        weights = np.zeros(n_entities + self.n_parts, dtype=self._type)
        weights[:n_entities] = self._weights
        total = self._typed(np.cumsum(weights[rows.order], dtype=self._type))
        del weights
        at = np.flatnonzero(rows.order >= n_entities)
        part = rows.order[at] - n_entities

        def counted(rung: int) -> Counts:
            """The counts of the parts on one rung of the ladder."""
            runs = rows.runs(None if of_last is not None else ladder.classes[rung], at)
            sums = np.diff(total[runs.last], prepend=total.dtype.type(0))
            found = np.empty(self.n_parts, dtype=self._type)
            found[part] = sums[runs.of]
            return found

        for rung, found in zip(rungs, in_order(counted, rungs, self._threads), strict=True):
            self._rows[(*node[:last], rung, *node[last + 1 :])] = found

    def _columns(self, last: int, node: Node) -> list[Column]:
        """Of all attributes but the last, entities before parts."""
        return [
            Column(
                (self._entities[j], self._parts[j]),
                self._ladders[j].classes[rung],
                self._ladders[j].sizes[rung],
            )
            for j, rung in enumerate(node)
            if j != last
        ]


def _rolled_up(cells: Counts, axis: int, leads: Ints) -> Counts:
    """Sums over the classes that lead to the same one."""
    if not bool((np.diff(leads) >= 0).all()):
        order = np.argsort(leads, kind="stable")
        cells, leads = cells.take(order, axis=axis), leads[order]
    starts = np.flatnonzero(np.append(True, leads[1:] != leads[:-1]))
    rolled: Counts = np.add.reduceat(cells, starts, axis=axis, dtype=cells.dtype)
    return rolled


class PartsAtLevels:
    """The counts of some parts; what is shared by levels of the last attributes is kept.

    Cheapest where nodes are asked for in lexicographic order and parts are near each other.
    """

    def __init__(self, rolled: RollUps, rows: slice | Ints | Longs) -> None:
        self._rolled = rolled
        self._at = rows
        self._classes: dict[tuple[int, int], Longs] = {}
        self._prefixes: dict[Node, Longs] = {}

    def node_of(self, levels: Sequence[int]) -> Node:
        """The rungs that levels stand on: levels of one node have the same counts."""
        return self._rolled.node_of(levels)

    def counts(self, levels: Sequence[int]) -> Counts:
        """Entities consistent with each of the parts at one level per attribute."""
        rolled = self._rolled
        node = rolled.node_of(levels)
        if node in rolled._rows:
            found: Counts = rolled._rows[node][self._at]
            return found
        return rolled._cells[node].reshape(-1).take(self._cell(node))

    def _cell(self, node: Node) -> Longs:
        k = len(node) - 1
        own = self._class(k, node[k])
        if not k:
            return own
        before = self._prefixes.get(node[:k])
        if before is None:
            before = self._prefixes[node[:k]] = self._cell(node[:k])
        return before * self._rolled._ladders[k].sizes[node[k]] + own

    def _class(self, j: int, rung: int) -> Longs:
        found = self._classes.get((j, rung))
        if found is None:
            codes = self._rolled._parts[j][self._at]
            found = self._classes[j, rung] = self._rolled.wide_classes(j, rung)[codes]
        return found
