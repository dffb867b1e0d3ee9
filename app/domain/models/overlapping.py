"""Classes that overlap, because a missing value matches everything (``wildcards``)."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from app.domain.arrays import Bools, Ints, Longs
from app.domain.classes.grouping import EquivalenceClasses
from app.domain.classes.sensitive_counts import matching_counts
from app.domain.classes.wildcards import matches_between, matching_records
from app.domain.models.judging import JudgedClasses, JudgedRecords, Others, Population, with_top
from app.domain.tables.masks import rows_without_values, shows_nothing


class OverlappingClasses(JudgedClasses):
    """The classes of a rule; sizes and values count whoever matches a class.

    Parameters
    ----------
    shown
        (G, q) what each class shows.
    is_wildcard
        (G, q) where it is ⊥ because the original value is missing, which matches everything; no two classes
        are alike in both.
    """

    overlaps = True

    def __init__(
        self,
        records: JudgedRecords,
        class_of_group: Longs,
        n_classes: int,
        shown: Ints,
        is_wildcard: Bools,
        population: Population | None = None,
    ) -> None:
        super().__init__(records, class_of_group, n_classes, population)
        self._shown = shown
        self._is_wildcard = is_wildcard

    @property
    def sizes(self) -> Longs:
        """(G,) records of each class and of those that match it."""
        return self._matching

    @cached_property
    def _matching(self) -> Longs:
        codes, wild = self._told
        return matching_records(codes, wild, self._own) if wild.any() else self._own

    @cached_property
    def _told(self) -> tuple[Ints, Bools]:
        """(G, p) what classes show, and where that matches everything, of attributes that tell some apart."""
        told = ~shows_nothing(self._shown).all(axis=0) | self._is_wildcard.any(axis=0)
        return self._shown[:, told], self._is_wildcard[:, told]

    @property
    def shows_nothing(self) -> Bools:
        """(G,) classes of which every quasi-identifier is missing or suppressed."""
        return rows_without_values(self._shown)

    def like(self, chosen: Bools) -> Bools:
        """(G,) classes that match one of the chosen ones (G,), which do themselves."""
        found = chosen.copy()
        for matches in matches_between(*self._told):
            for receivers, groups, givers, groups_of_givers in matches.both_ways():
                is_chosen = np.zeros(matches.n_groups, dtype=bool)
                is_chosen[groups_of_givers[chosen[givers]]] = True
                found[receivers[is_chosen[groups]]] = True
        return found

    def only(self, kept: Bools) -> OverlappingClasses:
        """The classes that are kept; those that are not match nobody any more."""
        if kept.all():
            return self
        of_group, n_classes, population = self._only(kept)
        shown, is_wildcard = self._shown[kept], self._is_wildcard[kept]
        return OverlappingClasses(self._records, of_group, n_classes, shown, is_wildcard, population)

    def with_block(self, gone: Bools) -> OverlappingClasses:
        """With the own block, which is no wildcard: it matches nobody who shows something."""
        of_group, n_classes, population = self._with_block(gone)
        shown, is_wildcard = with_top(self._shown[~gone]), self._is_wildcard[~gone]
        is_wildcard = np.concatenate([np.zeros((1, is_wildcard.shape[1]), dtype=bool), is_wildcard])
        return OverlappingClasses(self._records, of_group, n_classes, shown, is_wildcard, population)

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


def judged_classes(
    records: JudgedRecords,
    classes: EquivalenceClasses,
    of_group: Longs | None = None,
    population: Population | None = None,
    shows_nothing: Bools | None = None,
) -> JudgedClasses:
    """The classes of a release as criteria look at them.

    ``of_group`` says which class each group of the records is in; None: groups are the classes, and one more
    of those that are in none.
    """
    if of_group is None:
        of_group = np.append(np.arange(classes.n_classes, dtype=np.int64), -1)
    of_group = of_group[: records.n_groups]
    if classes.is_wildcard is None:
        return records.judged(of_group, classes.n_classes, population, shows_nothing)
    return OverlappingClasses(
        records, of_group, classes.n_classes, classes.codes, classes.is_wildcard, population
    )
