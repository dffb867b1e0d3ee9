"""Classes of rules, counted from those of more specific rules.

Every class of a rule is made of whole classes of any rule that generalises no attribute further, and records
and sensitive values of these add up. There are far fewer classes than distinct records, so that adding up is
faster than counting anew. Some rules' classes are kept for that, and the fewest of them are taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Bools, Indices, Ints, Levels, Longs
from app.domain.classes.sensitive_counts import SensitiveCounts, count_values
from app.domain.models.judging import JudgedClasses, JudgedRecords, Others
from app.domain.search.full_domain.class_sizes import ClassSizes, Groups
from app.domain.tables.distinct import distinct_rows, one_of_each
from app.domain.tables.table import Table

MOST_KEPT: Final = 16
"""Rules whose classes are kept."""

Counts = Mapping[tuple[int, Others], SensitiveCounts]


@dataclass(frozen=True, eq=False)
class _Kept:
    """Classes of a rule: the halves of a distinct record of each, their records, and counts of their values.

    ``counts`` grows as more is asked of the rule.
    """

    groups: Groups
    halves: tuple[Indices, Indices]
    records: Longs
    counts: Counts


class MergedClasses(JudgedClasses):
    """The classes of one rule, (F,) more specific ones becoming the classes ``becomes``."""

    def __init__(
        self,
        records: JudgedRecords,
        class_of_group: Longs,
        n_classes: int,
        shows_nothing: Bools | None,
        parts: tuple[_Kept, Indices] | None,
    ) -> None:
        super().__init__(records, class_of_group, n_classes, None, shows_nothing)
        self._parts = parts

    @cached_property
    def _own(self) -> Longs:
        if self._parts is None:
            return self._per_class(self._records.per_group, self.class_of_group)
        finer, becomes = self._parts
        return np.bincount(becomes, finer.records, self.n_classes).astype(np.int64)

    def counts(self, attribute: str | None, others: Others = "apart") -> SensitiveCounts:
        """Values of a sensitive attribute per class, or per block, as of any classes."""
        key: tuple[int, Others] = (self._records.index(attribute), "apart")
        is_apart = others == "apart" or len(self._records.sensitive) == 1
        # Who has a value in several classes is one person of a class that they become.
        adds_up = self._parts is not None and self._records.person is None
        if is_apart and adds_up and self._parts is not None and key not in self._counts:
            finer, becomes = self._parts
            if key in finer.counts:
                own = finer.counts[key]
                found = count_values(
                    becomes[own.of_entry], own.values, own.counts, self.n_classes, own.n_values
                )
                self._counts[key] = SensitiveCounts(*found, own.totals, own.nodes)
        return super().counts(attribute, others)

    def kept(self, groups: Groups, sizes: ClassSizes) -> _Kept:
        """What other rules' classes can be made of."""
        members = one_of_each(groups.of, groups.size)
        return _Kept(groups, sizes.halves(members), self.records, self._counts)


class ClassesOfRules:
    """Makes the classes of rules, all of which divide the same distinct records.

    The first that are kept are the most specific ones.
    """

    def __init__(self, sizes: ClassSizes, records: JudgedRecords) -> None:
        self._sizes = sizes
        self._records = records
        self._kept: list[_Kept] = []
        self._levels: npt.NDArray[np.int16] = np.empty((0, 0), dtype=np.int16)
        self._amounts: Longs = np.empty(0, dtype=np.int64)
        self._used: Longs = np.empty(0, dtype=np.int64)
        self._now = 0

    def judged(self, levels: Levels, shows_nothing: Bools | None) -> JudgedClasses:
        """The classes of a rule; ``shows_nothing`` (d,) distinct records of whom it discloses nothing."""
        place = self._fewest(levels)
        if place is None and any(levels):
            # Whatever comes is made of the most specific classes at least.
            self.judged(tuple(0 for _ in levels), None)
            place = self._fewest(levels)
        if place is None:
            groups, parts = self._sizes.classes(levels), None
        else:
            finer = self._kept[place]
            groups, becomes = self._sizes.merged(levels, finer.groups, finer.halves)
            parts = finer, becomes
        of_group = groups.of.astype(np.int64, copy=False)
        nothing = None if shows_nothing is None else classes_of(shows_nothing, of_group, groups.size)
        found = MergedClasses(self._records, of_group, groups.size, nothing, parts)
        if place is None or self._levels[place].tolist() != list(levels):
            # Keep the classes of a rule, in the place of those that were used longest ago
            kept = found.kept(groups, self._sizes)
            place = len(self._kept)
            if place < MOST_KEPT:
                self._kept.append(kept)
                self._levels = np.array([*self._levels.tolist(), levels], dtype=np.int16)
                self._amounts, self._used = np.append(self._amounts, 0), np.append(self._used, 0)
            else:
                place = 1 + int(self._used[1:].argmin())
                self._kept[place], self._levels[place] = kept, levels
            self._amounts[place], self._used[place] = kept.groups.size, self._now
        return found

    def _fewest(self, levels: Levels) -> int | None:
        """Which of the rules kept has fewest classes of those that are no more general."""
        self._now += 1
        if not self._kept:
            return None
        fits = np.flatnonzero((self._levels <= np.array(levels, dtype=np.int16)).all(axis=1))
        if not len(fits):
            return None
        place = int(fits[self._amounts[fits].argmin()])
        self._used[place] = self._now
        return place


class ShowsNothing:
    """Of which distinct records of a table of quasi-identifiers a rule discloses nothing at all.

    It does not disclose an attribute where the level is the highest one, or the value is missing.

    Parameters
    ----------
    matters
        Whether it is asked for; if not, there are never any.

    Attributes
    ----------
    always
        (d,) distinct records of which no rule discloses anything; None if there are none.
    """

    def __init__(self, table: Table, *, matters: bool = True) -> None:
        tops = tuple(own.level_of_top for own in table.hierarchies)
        self._tops = tops if matters else None
        lacking = table.reduced_missing
        self.always: Bools | None = None
        self._patterns: Bools | None = None
        self._everybody: Bools = np.ones(len(lacking), dtype=bool)
        if not (matters and lacking.any()):
            return
        patterns = distinct_rows(list(lacking.T.astype(np.int8)), (2,) * lacking.shape[1], len(lacking))
        self._patterns, self._pattern_of = np.asarray(patterns.codes > 0), patterns.inverse
        if self._patterns.all(axis=1).any():
            self.always = np.asarray(lacking.all(axis=1))

    def at(self, levels: Levels) -> Bools | None:
        """(d,) the distinct records of which a rule discloses nothing; None if there are none."""
        if self._patterns is None:
            return self._everybody if levels == self._tops else None
        whole = np.array(levels) == self._tops
        found = np.asarray((self._patterns | whole).all(axis=1))
        return found[self._pattern_of] if found.any() else None


def classes_of(rows: Bools, of_group: Longs, n_classes: int) -> Bools:
    """(G,) the classes that some distinct records (d,) are in."""
    found = np.zeros(n_classes, dtype=bool)
    found[of_group[rows]] = True
    return found


def shown_by_classes(quasi: Table, levels: Levels, of_group: Longs, n_classes: int) -> Ints:
    """(G, q) what classes of a table's distinct records show at levels; any if a class has none."""
    one = one_of_each(of_group, n_classes)
    columns = zip(quasi.hierarchies, levels, quasi.reduced.codes[one].T, strict=True)
    return np.stack([tree.ancestors_at(level)[column] for tree, level, column in columns], axis=1)
