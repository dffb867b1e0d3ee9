"""|ρ| of every distinct record at every node of its lattice.

Counts depend on the linked attributes only; a walk visits each node of their lattice once for all records.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Floats, Ints, Longs
from app.domain.counting.calibration import (
    SECONDS_PER_COUNT_ROW,
    SECONDS_PER_WALKED_NODE,
    SECONDS_PER_WALKED_ROW,
)
from app.domain.counting.roll_ups import Ladder, PartsAtLevels, RollUps
from app.domain.search.axes import Axis
from app.domain.search.context import SearchContext
from app.domain.search.profiles import Profiles
from app.domain.search.walk import GeneralisedSuffix, Start, State, begin, step, walk_order
from app.domain.tables.distinct import group, row_keys

ROLLED_NODES = 5_000
ROLLED_BYTES = 2**31


@dataclass(frozen=True, eq=False)
class Place:
    """Where a walk is: the first ``depth`` linked attributes have a level; ``rows`` (parts,) of the state."""

    state: State
    rows: Longs
    depth: int

    @property
    def counts(self) -> Longs:
        """|ρ| of each linked part, once all linked attributes have a level."""
        found: Longs = self.state.columns[0][self.rows].astype(np.int64)
        return found


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
            self._context.threads,
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
        k, suffixes = place.depth, self._start.suffixes
        after, moved = step(
            place.state,
            self._axes[k].images[level],
            GeneralisedSuffix(suffixes[k], None, False),
            suffixes[k + 1],
        )
        return Place(after, moved[place.rows], k + 1)

    def everywhere(self, visit: Callable[[], None]) -> npt.NDArray[np.int32]:
        """|ρ| (nodes, parts) at all nodes, in lexicographic order of the linked attributes' levels.

        ``visit`` is called after each node.
        """
        table = np.empty((*(axis.n_levels for axis in self._axes), self.n_parts), dtype=np.int32)
        self._fill(table, self.root, visit)
        back = [self._order.index(j) for j in self.linked]
        return np.ascontiguousarray(table.transpose(*back, len(back))).reshape(self.n_nodes, self.n_parts)

    def _fill(self, table: npt.NDArray[np.int32], place: Place, visit: Callable[[], None]) -> None:
        if place.depth == len(self._axes):
            table[...] = place.counts
            visit()
            return
        for level in range(self._axes[place.depth].n_levels):
            self._fill(table[level], self.advance(place, level), visit)


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


class RecordCounts:
    """Counts of distinct records, prepared for as many at a time as memory allows.

    Parameters
    ----------
    axes, profiles
        Those of the dictionary in ``context``.
    codes, profile
        Axis codes (d, m) and profile (d,) of the distinct records.
    max_bytes
        Memory for the counts that are held at once.
    """

    def __init__(
        self,
        context: SearchContext,
        axes: Sequence[Axis],
        profiles: Profiles,
        codes: Ints,
        profile: Ints,
        max_bytes: int,
    ) -> None:
        self._context = context
        self._axes = axes
        self._profiles = profiles
        self._codes = codes
        self._profile = profile
        self._max_bytes = max_bytes
        self._counts = LinkedCounts(context, axes, codes)
        self._counted: tuple[range, LinkedCounts, npt.NDArray[np.int32]] | None = None
        self.absent: npt.NDArray[np.bool_] = (self._counts.at([0] * len(axes)) == 0)[self._counts.part_of]

    @property
    def n_bytes(self) -> int:
        """Estimated memory; a walk holds the counts twice while they are brought into the table's order."""
        if self._counts.rolled is not None:
            return self._counts.rolled.n_bytes
        return 2 * min(4 * self._counts.n_nodes * self._counts.n_parts, self._max_bytes)

    @property
    def is_rolled(self) -> bool:
        """Whether :meth:`at_levels` answers: nothing is added to what the dictionary counts."""
        return self._counts.rolled is not None and self._profiles.thresholds is None

    @property
    def n_entities(self) -> int:
        """Entities of the dictionary."""
        return self._context.dictionary.n_entities

    def at_levels(self, rows: slice) -> PartsAtLevels:
        """Counts of a range of records, prepared before, by the levels of the linked attributes."""
        if self._counts.rolled is None:
            raise ValueError("these counts are not rolled up")
        return self._counts.rolled.of(rows if self._are_parts else self._counts.part_of[rows])

    @cached_property
    def _are_parts(self) -> bool:
        """Whether each record is a linked part of its own, in the same order."""
        return np.array_equal(self._counts.part_of, np.arange(self._counts.n_parts))

    @property
    def seconds(self) -> float:
        """Estimated time to count once, for all records or for those that fit."""
        if self._counts.rolled is not None:
            return self._counts.rolled.seconds
        rows = self._counts.n_nodes * (self._counts.n_parts + self._context.dictionary.reduced.size)
        return rows * SECONDS_PER_COUNT_ROW

    @property
    def fits(self) -> bool:
        """Whether the counts of all records at all nodes may be held at once."""
        return (
            self._counts.rolled is not None
            or 4 * self._counts.n_nodes * self._counts.n_parts <= self._max_bytes
        )

    @property
    def rows_that_fit(self) -> int:
        """Distinct records whose counts may be held at once."""
        return max(1, self._max_bytes // (4 * self._counts.n_nodes))

    def entities(self, rows: Longs) -> Floats:
        """N for some records: where the own entity is counted although the dictionary lacks it, one more."""
        return self._context.dictionary.n_entities + self._profiles.outside[self._profile[rows]].astype(float)

    def prepare(self, rows: range, visit: Callable[[], None]) -> None:
        """Count for a range of distinct records, or for all once and for good if that fits."""
        if self._counts.rolled is not None:
            self._counts.rolled.prepare(visit)
            return
        wanted = range(len(self._codes)) if self.fits else rows
        if self._counted is None or self._counted[0] != wanted:
            counts = self._counts
            if not self.fits:
                counts = LinkedCounts(self._context, self._axes, self._codes[rows.start : rows.stop])
            self._counted = wanted, counts, counts.everywhere(visit)

    def of(self, rows: Longs) -> Floats:
        """|ρ| as the absent policy defines it (nodes, rows); the rows must have been prepared."""
        of_parts = self._of_parts(rows)
        sizes = [axis.n_levels for axis in self._axes]
        narrow = [axis.n_levels if axis.linked else 1 for axis in self._axes]
        spread = np.broadcast_to(of_parts.reshape(*narrow, len(rows)), (*sizes, len(rows)))
        whole = spread.reshape(-1, len(rows)).astype(np.float64)
        if self._profiles.thresholds is not None:
            thresholds = self._profiles.thresholds[self._profile[rows]]
            own = np.ones((1, len(rows)), dtype=bool)
            for j, levels in enumerate(self._profiles.reached):
                reached = levels[thresholds[:, j]].T
                own = (own[:, None, :] & reached[None, :, :]).reshape(-1, len(rows))
            whole += ~own
        return whole

    def _of_parts(self, rows: Longs) -> npt.NDArray[np.integer]:
        """Entities of the dictionary at the nodes of the linked attributes (nodes, rows)."""
        if self._counts.rolled is not None:
            found = self._counts.rolled.of(self._counts.part_of[rows])
            nodes = itertools.product(*map(range, self._counts.shape))
            return np.stack([found.counts(levels) for levels in nodes])
        if self._counted is None:
            raise ValueError("counts are prepared before they are used")
        counted, linked, table = self._counted
        return table[:, linked.part_of[rows - counted.start]]
