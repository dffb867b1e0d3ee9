"""Classes that overlap, because a missing value matches everything (``wildcards``)."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from app.domain.classes.grouping import Bools
from app.domain.classes.sensitive_counts import matching_counts
from app.domain.classes.wildcards import matching_records
from app.domain.criteria.criterion import Others
from app.domain.criteria.judging import JudgedClasses, JudgedRecords, Population
from app.domain.distinct import Ints, Longs
from app.domain.hierarchies import TOP


class OverlappingClasses(JudgedClasses):
    """The classes of a table-level rule; sizes and values count whoever matches a class.

    Parameters
    ----------
    shown
        (G, q) what each class shows. ⊥ matches everything: on a level below the highest one it is missing in
        the original, and on the highest all classes show it.
    """

    overlaps = True

    def __init__(
        self,
        records: JudgedRecords,
        class_of_group: Longs,
        n_classes: int,
        shown: Ints,
        population: Population | None = None,
    ) -> None:
        super().__init__(records, class_of_group, n_classes, population)
        self._shown = shown

    @property
    def sizes(self) -> Longs:
        """(G,) records of each class and of those that match it."""
        return self._alike

    @cached_property
    def _alike(self) -> Longs:
        codes, wild = self._told
        return matching_records(codes, wild, self._own) if wild.any() else self._own

    @cached_property
    def _told(self) -> tuple[Ints, Bools]:
        """(G, p) what classes show of the attributes of which some class shows anything, and where ⊥."""
        is_nothing = self._shown == TOP
        told = ~is_nothing.all(axis=0)
        return self._shown[:, told], is_nothing[:, told]

    @property
    def shows_nothing(self) -> Bools:
        """(G,) classes of which every quasi-identifier is missing or withheld."""
        return np.asarray((self._shown == TOP).all(axis=1))

    def only(self, kept: Bools) -> OverlappingClasses:
        """The classes that are kept; those that are not match nobody any more."""
        if kept.all():
            return self
        of_group, n_classes, population = self._only(kept)
        return type(self)(self._records, of_group, n_classes, self._shown[kept], population)

    def _with_others(
        self, found: tuple[Longs, Ints, Longs], key: tuple[int, Others], n_values: int
    ) -> tuple[Longs, Ints, Longs]:
        """Starts, values and counts with those of whoever matches a class, or a block of one."""
        codes, wild = self._told
        if not wild.any():
            return found
        index, others = key
        if others == "in_classes":
            # Blocks match if their classes do and the other sensitive attributes are equal.
            owners = self._blocks_of(index)[1]
            codes = np.column_stack([codes[owners], self._others_of_block(index)])
            wild = np.column_stack([wild[owners], np.zeros(len(owners), dtype=bool)])
        return matching_counts(codes, wild, *found, n_values)

    def _others_of_block(self, index: int) -> Ints:
        """(B,) number of each block's combination of the other sensitive attributes."""
        rows, _ = self._rows
        of_row, owners = self._blocks_of(index)
        found = np.zeros(len(owners), dtype=np.int32)
        found[of_row] = self._records.others_of(index)[rows]
        return found
