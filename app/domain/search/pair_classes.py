"""Lower bounds of the records in small classes, from the classes of two attributes at a time.

Records that are equal in all attributes are equal in two of them: whoever is in a small class of a pair is in
a small class of every rule with the pair at these levels or finer ones. A table of base counts per pair, with
the groups of all levels summed by two products of 0/1 matrices, answers for all levels of the pair together.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from app.domain.distinct import Ints, Longs
from app.domain.search.class_sizes import Floats, Indices, numbered, summed
from app.domain.tables import Table

MOST_GROUPS: Final = 512
"""Attributes are counted from their finest level with at most this many groups on."""


@dataclass(frozen=True, eq=False)
class PairBounds:
    """At least ``suppressed[a, b]`` records are suppressed with ``first`` at level a and ``second`` at b."""

    first: int
    second: int
    suppressed: Longs


@dataclass(frozen=True, eq=False)
class _Axis:
    """Groups of an attribute from level ``finest`` on, as 0/1 rows, level after level from ``starts``."""

    of_record: Indices
    size: int
    finest: int
    rows: Floats
    starts: Indices


def pair_bounds(table: Table, k: int) -> Iterator[PairBounds]:
    """The bounds of all pairs of attributes; never more than there are at any finer level."""
    counts = table.reduced.counts.astype(np.float64)
    axes = [_axis(table, j) for j in range(table.n_attributes)]
    for i, j in itertools.combinations(range(len(axes)), 2):
        if axes[i].size == 1 or axes[j].size == 1:
            continue
        found = _small(axes[i], axes[j], counts, k)
        shape = (table.heights[i] + 1, table.heights[j] + 1)
        levels = [
            np.maximum(np.arange(n) - axis.finest, 0)
            for n, axis in zip(shape, (axes[i], axes[j]), strict=True)
        ]
        yield PairBounds(i, j, found[np.ix_(*levels)])


def _small(first: _Axis, second: _Axis, counts: Floats, k: int) -> Longs:
    """Records in classes below ``k``, per level of the two axes."""
    keys = first.of_record * second.size
    keys += second.of_record
    base = summed(keys, counts, first.size * second.size).reshape(first.size, second.size)
    classes = first.rows @ base @ second.rows.T
    classes[classes >= k] = 0.0
    sums = np.add.reduceat(np.add.reduceat(classes, first.starts, axis=0), second.starts, axis=1)
    return sums.astype(np.int64)


def _axis(table: Table, attribute: int) -> _Axis:
    hierarchy, column = table.hierarchies[attribute], table.reduced.codes[:, attribute]
    finest = 0
    base = _groups(hierarchy.ancestors_at(0), column)
    while base.max() >= MOST_GROUPS:
        finest += 1
        base = _groups(hierarchy.ancestors_at(finest), column)
    size = int(base.max()) + 1
    node = np.empty(size, dtype=np.intp)
    node[base] = column
    blocks: list[Floats] = []
    for level in range(finest, hierarchy.height + 1):
        groups = _groups(hierarchy.ancestors_at(level), node)
        block = np.zeros((int(groups.max()) + 1, size))
        block[groups, np.arange(size)] = 1.0
        blocks.append(block)
    starts = np.cumsum([0, *(len(block) for block in blocks[:-1])])
    return _Axis(base, size, finest, np.concatenate(blocks), starts)


def _groups(becomes: Ints, nodes: npt.NDArray[np.integer]) -> Indices:
    return numbered(becomes[nodes].astype(np.intp), len(becomes)).of
