"""|ρ| of the distinct records under one dictionary, at every node of their lattices."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from app.domain.counting.roll_ups import PartsAtLevels
from app.domain.search.axes import Axis, Floats, Ints, Longs
from app.domain.search.context import SearchContext
from app.domain.search.profiles import Profiles
from app.domain.search.records.linked_counts import LinkedCounts

SECONDS_PER_COUNT_ROW = 4e-8


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
