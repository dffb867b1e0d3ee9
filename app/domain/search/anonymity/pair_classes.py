"""Lower bounds of the records in small classes, from the classes of two attributes at a time.

Records that are equal in all attributes are equal in two of them: whoever is in a small class of a pair is in
a small class of every rule with the pair at these levels or finer ones. A table of base counts per pair, with
the groups of all levels summed by two products of 0/1 matrices, answers for all levels of the pair together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from app.domain.distinct import Longs
from app.domain.search.anonymity.class_sizes import ClassSizes, Floats, Indices, Levels

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

    finest: int
    size: int
    rows: Floats
    starts: Indices


def pair_bounds(classes: ClassSizes, heights: Levels, k: int) -> Iterator[PairBounds]:
    """The bounds of all pairs of attributes with more than one group."""
    axes = [_axis(classes, j, height) for j, height in enumerate(heights)]
    for i, j, base in classes.pair_counts(tuple(axis.finest for axis in axes)):
        if axes[i].size > 1 and axes[j].size > 1:
            found = _small(axes[i], axes[j], base, k)
            levels = [np.maximum(np.arange(heights[a] + 1) - axes[a].finest, 0) for a in (i, j)]
            yield PairBounds(i, j, found[np.ix_(*levels)])


def _small(first: _Axis, second: _Axis, base: Floats, k: int) -> Longs:
    """Records in classes below ``k``, per level of the two axes."""
    classes = first.rows @ base @ second.rows.T
    classes[classes >= k] = 0.0
    sums = np.add.reduceat(np.add.reduceat(classes, first.starts, axis=0), second.starts, axis=1)
    return sums.astype(np.int64)


def _axis(classes: ClassSizes, attribute: int, height: int) -> _Axis:
    finest = 0
    while classes.values(attribute, finest).size > MOST_GROUPS:
        finest += 1
    base = classes.values(attribute, finest)
    member = np.empty(base.size, dtype=np.intp)
    member[base.of] = np.arange(len(base.of))
    blocks: list[Floats] = []
    for level in range(finest, height + 1):
        groups = classes.values(attribute, level)
        block = np.zeros((groups.size, base.size))
        block[groups.of[member], np.arange(base.size)] = 1.0
        blocks.append(block)
    starts = np.cumsum([0, *(len(block) for block in blocks[:-1])])
    return _Axis(finest, base.size, np.concatenate(blocks), starts)
