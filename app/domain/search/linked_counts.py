"""|ρ| of every distinct record at every node of the lattice of linked attributes.

Counts depend on the linked attributes only; the walk visits each node of their lattice once for all records.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.domain.distinct import group, row_keys
from app.domain.search.axes import Axis, Floats, Ints, Longs
from app.domain.search.context import SearchContext
from app.domain.search.walk import Coarser, State, begin, step, walk_order


@dataclass(frozen=True, eq=False)
class Place:
    """Where a walk is: the first ``depth`` linked attributes have a level; ``rows`` (parts,) of the state."""

    state: State
    rows: Longs
    depth: int

    @property
    def counts(self) -> Longs:
        """|ρ| of each linked part, once all linked attributes have a level."""
        return _counts(self.state, self.rows)


class LinkedCounts:
    """Counts for the distinct linked parts of some rows of axis codes.

    Parameters
    ----------
    axes
        One per attribute of the table.
    codes
        Axis codes (r, m) of the rows.
    order
        The order in which a walk takes all attributes; None: the best one for these counts.

    Attributes
    ----------
    linked
        Positions of the linked attributes, in the table's order.
    shape
        Number of levels of each.
    part_of
        For each row, the number of its linked part.
    """

    def __init__(
        self, context: SearchContext, axes: Sequence[Axis], codes: Ints, order: Sequence[int] | None = None
    ) -> None:
        self.linked = [j for j, axis in enumerate(axes) if axis.linked]
        self.shape = tuple(axes[j].n_levels for j in self.linked)
        self._order = walk_order(axes, self.linked) if order is None else [j for j in order if axes[j].linked]
        self._axes = [axes[j] for j in self._order]
        keys, limit = row_keys(
            [codes[:, j] for j in self._order], [a.n_codes for a in self._axes], len(codes)
        )
        first, self.part_of = group(keys, limit)
        rows, entities = entity_codes(context, axes)
        columns = [np.concatenate([codes[first, j], rows[j]]) for j in self._order]
        none = np.zeros(len(first))
        weights = np.concatenate([none, entities]), np.concatenate([none + 1, np.zeros(len(entities))])
        start = begin(columns, [axis.n_codes for axis in self._axes], weights)
        self._suffixes = start.suffixes
        self._state, self._row_of = start.state, start.row_of[: len(first)]

    @property
    def n_parts(self) -> int:
        return len(self._row_of)

    @property
    def n_nodes(self) -> int:
        return math.prod(self.shape)

    def at(self, levels: Sequence[int]) -> Longs:
        """|ρ| of each linked part at one level per attribute of the table."""
        place = self.root
        for j in self._order:
            place = self.advance(place, levels[j])
        return place.counts

    @property
    def root(self) -> Place:
        """Where a walk begins: no attribute has a level."""
        return Place(self._state, self._row_of, 0)

    def advance(self, place: Place, level: int) -> Place:
        """Give the next linked attribute of the walk a level."""
        return Place(*self._advance(place.state, place.rows, place.depth, level), place.depth + 1)

    def everywhere(self, visit: Callable[[], None]) -> npt.NDArray[np.int32]:
        """|ρ| (nodes, parts) at all nodes, in lexicographic order of the linked attributes' levels.

        ``visit`` is called after each node.
        """
        table = np.empty((*(axis.n_levels for axis in self._axes), self.n_parts), dtype=np.int32)
        self._fill(table, self._state, self._row_of, 0, visit)
        back = [self._order.index(j) for j in self.linked]
        return np.ascontiguousarray(table.transpose(*back, len(back))).reshape(self.n_nodes, self.n_parts)

    def _fill(
        self,
        table: npt.NDArray[np.int32],
        state: State,
        rows: Longs,
        k: int,
        visit: Callable[[], None],
    ) -> None:
        if k == len(self._axes):
            table[...] = _counts(state, rows)
            visit()
            return
        for level in range(self._axes[k].n_levels):
            after, moved = self._advance(state, rows, k, level)
            self._fill(table[level], after, moved, k + 1, visit)

    def _advance(self, state: State, rows: Longs, k: int, level: int) -> tuple[State, Longs]:
        after, moved = step(
            state, self._axes[k].images[level], Coarser(self._suffixes[k], None, False), self._suffixes[k + 1]
        )
        return after, moved[rows]


def _counts(state: State, rows: Longs) -> Longs:
    found: Longs = state.columns[0][rows].astype(np.int64)
    return found


def entity_codes(context: SearchContext, axes: Sequence[Axis]) -> tuple[list[Ints], Floats]:
    """Axis codes of the dictionary's distinct rows per attribute, and how many entities each stands for."""
    reduced = context.dictionary.reduced
    column_of = {link.attribute: i for i, link in enumerate(context.dictionary.links)}
    codes = []
    for attribute, axis in zip(context.table.attributes, axes, strict=True):
        if attribute in column_of:
            codes.append(axis.of_entry[reduced.codes[:, column_of[attribute]]])
        else:
            codes.append(np.full(reduced.size, axis.of_entry[0], dtype=np.int32))
    return codes, reduced.counts.astype(np.float64)


def record_codes(context: SearchContext, axes: Sequence[Axis]) -> Ints:
    """Axis codes (d, m) of the table's distinct records."""
    reduced = context.table.reduced
    return np.stack([axis.of_node[reduced.codes[:, j]] for j, axis in enumerate(axes)], axis=1)
