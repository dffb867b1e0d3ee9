"""|ρ| of every distinct record at every node of the lattice of linked attributes.

Counts depend on the linked attributes only; the walk visits each node of their lattice once for all records.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from app.domain.counting.roll_ups import Ladder, RollUps
from app.domain.distinct import group, row_keys
from app.domain.search.axes import Axis, Floats, Ints, Longs
from app.domain.search.context import SearchContext
from app.domain.search.walk import Coarser, Start, State, begin, step, walk_order

ROLLED_NODES = 5_000
ROLLED_BYTES = 2**31
SECONDS_PER_WALKED_NODE = 1e-4
SECONDS_PER_WALKED_ROW = 4e-8


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
        columns, sizes = [codes[:, j] for j in self.linked], [axes[j].n_codes for j in self.linked]
        keys, limit = row_keys(columns, sizes, len(codes))
        first, self.part_of = group(keys, limit)
        self._parts = {j: column[first] for j, column in zip(self.linked, columns, strict=True)}
        self._n_parts = len(first)
        self._context = context
        self._all_axes = axes

    @property
    def n_parts(self) -> int:
        """Distinct linked parts among the rows."""
        return self._n_parts

    @property
    def n_nodes(self) -> int:
        """Combinations of levels of the linked attributes, for each of which a part has a count."""
        return math.prod(self.shape)

    @cached_property
    def rolled(self) -> RollUps | None:
        """The counts at all nodes by roll-ups, None where a walk is cheaper or codes have several classes."""
        axes = [self._all_axes[j] for j in self.linked]
        if not axes or self.n_nodes > ROLLED_NODES:
            return None
        if not all(image.is_function for axis in axes for image in axis.images):
            return None
        rows, weights = self._entities
        ladders = [
            Ladder.of(
                [image.class_of for image in axis.images],
                np.bincount(rows[j], minlength=axis.n_codes) > 0,
            )
            for j, axis in zip(self.linked, axes, strict=True)
        ]
        rolled = RollUps(
            ladders,
            [rows[j] for j in self.linked],
            weights.astype(np.int64),
            [self._parts[j] for j in self.linked],
        )
        walked = self.n_nodes * (
            SECONDS_PER_WALKED_NODE + (self.n_parts + len(weights)) * SECONDS_PER_WALKED_ROW
        )
        return rolled if rolled.n_bytes <= ROLLED_BYTES and rolled.seconds <= walked else None

    @cached_property
    def _entities(self) -> tuple[list[Ints], Floats]:
        return entity_codes(self._context, self._all_axes)

    @cached_property
    def _start(self) -> Start:
        """Where a walk begins; the table's rows come first."""
        rows, entities = self._entities
        columns = [np.concatenate([self._parts[j], rows[j]]) for j in self._order]
        none = np.zeros(self.n_parts)
        weights = np.concatenate([none, entities]), np.concatenate([none + 1, np.zeros(len(entities))])
        return begin(columns, [axis.n_codes for axis in self._axes], weights)

    def at(self, levels: Sequence[int]) -> Longs:
        """|ρ| of each linked part at one level per attribute of the table."""
        if self.rolled is not None:
            return self.rolled.at([levels[j] for j in self.linked]).astype(np.int64)
        place = self.root
        for j in self._order:
            place = self.advance(place, levels[j])
        return place.counts

    @property
    def root(self) -> Place:
        """Where a walk begins: no attribute has a level."""
        return Place(self._start.state, self._start.row_of[: self.n_parts], 0)

    def advance(self, place: Place, level: int) -> Place:
        """Give the next linked attribute of the walk a level."""
        return Place(*self._advance(place.state, place.rows, place.depth, level), place.depth + 1)

    def everywhere(self, visit: Callable[[], None]) -> npt.NDArray[np.int32]:
        """|ρ| (nodes, parts) at all nodes, in lexicographic order of the linked attributes' levels.

        ``visit`` is called after each node.
        """
        table = np.empty((*(axis.n_levels for axis in self._axes), self.n_parts), dtype=np.int32)
        self._fill(table, self.root.state, self.root.rows, 0, visit)
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
        suffixes = self._start.suffixes
        after, moved = step(
            state, self._axes[k].images[level], Coarser(suffixes[k], None, False), suffixes[k + 1]
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
    codes = np.empty(reduced.codes.shape, dtype=np.int32, order="F")
    for j, axis in enumerate(axes):
        codes[:, j] = axis.of_node[reduced.codes[:, j]]
    return codes
