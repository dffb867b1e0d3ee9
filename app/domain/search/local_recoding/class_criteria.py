"""What the classes of a release with levels of its own per record have to meet.

Where a missing value matches everything, they are those that measures tell. Records of one class show the
same and miss the same values: what a recoding suppresses of a record is no wildcard. Where no record shows
anything of an attribute, it tells no records apart, and those that miss it are in the class of those of which
it is suppressed. Suppressed records are one class, whatever they miss, and match no other: every other record
shows something.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Bools, Ints, Longs
from app.domain.classes.grouping import lacking_records
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.models.criterion import Criterion, of_units, version_of
from app.domain.models.judging import JudgedClasses, JudgedRecords, Population
from app.domain.models.overlapping import OverlappingClasses
from app.domain.models.suppression import (
    failing_any,
    first_broken,
    passes_with_block,
    ranks_by_disclosure,
    require_meaning,
    suppressed_classes,
)
from app.domain.risk.class_populations import shared_levels
from app.domain.search.class_entities import ClassEntities
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.tables.distinct import distinct_rows, one_of_each
from app.domain.tables.masks import rows_without_values, shows_nothing
from app.domain.tables.table import Table

NO_CLASS: Final = -1
SPARSE: Final = 16
"""Keys are numbered by marking them while there are at most so many possible ones per row, else sorted."""

CodesOf = Callable[[Longs], Ints]
"""(G, q) the quasi-identifiers that some classes, given by their numbers (G,), disclose."""


@dataclass(frozen=True, eq=False)
class Placed:
    """Distinct records in classes.

    Attributes
    ----------
    of
        (d,) number of each one's class, −1 for those in none.
    limit
        Numbers are below it; not all of them need occur.
    codes_of
        What classes disclose; only asked where a population counts or classes overlap.
    suppressed_class
        The class of the suppressed records, −1 if there is none.
    """

    of: Longs
    limit: int
    codes_of: CodesOf
    suppressed_class: int = NO_CLASS

    def without_suppressed(self) -> Placed:
        """The same with the suppressed records in no class."""
        if self.suppressed_class == NO_CLASS:
            return self
        of = np.where(self.of == self.suppressed_class, NO_CLASS, self.of)
        return Placed(of, self.limit, self.codes_of)


class ClassCriteria:
    """Criteria on classes of the distinct records of a table.

    The class of the suppressed records, if it is named, is left out while it has no more records than
    allowed, unless suppressed records are to be judged.

    Parameters
    ----------
    dictionary
        The population, where a criterion needs one.

    Attributes
    ----------
    allowed
        Records that may be suppressed altogether.
    left_out
        (d,) distinct records that have to be suppressed, for a missing quasi-identifier.
    necessary
        Criteria of the table alone that every class meets which meets all, and that stay met when records
        join a class.
    least
        Records that a class has at least by k-anonymity, 1 without.
    usual
        The same where classes do not overlap: who is short of company will need about as many.
    overlaps
        Whether a missing value matches everything, and there is one: nothing is known to be necessary then.
    shares_levels
        Whether all disclosed records need the same levels: δ-presence compares tuples of the population with
        those of the release, and only then has the population tuples of its own.
    """

    def __init__(self, table: Table, problem: AnonymityProblem, dictionary: Dictionary | None = None) -> None:
        require_meaning(table, problem.privacy, problem.missing, problem.suppressed)
        self.version = version_of(problem.privacy)
        problem = replace(problem, privacy=of_units(problem.privacy, persons=table.persons is not None))
        self._trees = [table.hierarchies[j] for j in table.quasi_identifiers]
        self._records = JudgedRecords(table, table.reduced.inverse, version=self.version)
        self._amounts = table.reduced.counts
        self._all = problem.privacy
        self._of_classes = [own for own in problem.privacy if not own.table_wide]
        self._table_wide = [own for own in problem.privacy if own.table_wide]
        self._judges_suppressed = problem.suppressed == "own_block"
        self._raw: Ints = table.reduced.codes[:, table.quasi_identifiers]
        self._missing: Bools = table.reduced_missing[:, table.quasi_identifiers]
        self._entities = None
        compares = [own for own in problem.privacy if own.needs_population]
        if dictionary is not None and compares:
            self._entities = ClassEntities(table, dictionary, self._raw)
        counting = [own for own in compares if not own.needs_beliefs]
        self._counts_people = bool(counting)
        # Only classes of fewer records have to be counted to tell whether they fail.
        self._enough = max((own.enough_records or 0 for own in counting), default=0)
        self._counts_all = any(own.enough_records is None for own in counting)
        self.shares_levels = any(own.needs_tuples for own in problem.privacy)
        self._bars_outsiders = any(own.bars_outsiders for own in problem.privacy)
        self.allowed = problem.suppression_allowed(table.n_records)
        self.left_out: Bools = lacking_records(table.reduced.codes, table.quasi_identifiers, problem.missing)
        self.overlaps = problem.missing == "matches_everything" and bool(self._missing.any())
        whole = self._records.whole
        asked = [own for own in self._of_classes if own.merging == "fewer_fail"]
        implied = [found for own in self._of_classes for found in own.implied(whole)]
        # What records as one class do not meet, classes that overlap may.
        necessary = dict.fromkeys(() if self.overlaps else (*asked, *implied))
        self.necessary: tuple[Criterion, ...] = tuple(own for own in necessary if not own.needs_population)
        self.least = max((own.least_class_size or 1 for own in self.necessary), default=1)
        self.usual = max((own.least_class_size or 1 for own in (*asked, *implied)), default=1)

    def failing(self, placed: Placed) -> Bools:
        """(limit,) which classes fail; none that does not occur."""
        found = np.zeros(placed.limit, dtype=bool)
        judged = self.judged(placed, counts_all=self._counts_all)
        inside = judged.class_of_group >= 0
        found[placed.of[inside]] = failing_any(judged, self._of_classes)[judged.class_of_group[inside]]
        suppressed = placed.suppressed_class
        if suppressed != NO_CLASS and found[suppressed] and self.leaves_out(placed.of, suppressed):
            found[suppressed] = False
        return found

    def likeness(self, placed: Placed) -> Callable[[Bools], Bools]:
        """From chosen classes (limit,) on, which are one of these or match one, as those that overlap do."""
        judged = self.judged(placed)
        if not isinstance(judged, OverlappingClasses):
            return lambda chosen: chosen
        inside = judged.class_of_group >= 0
        numbers, of = judged.class_of_group[inside], placed.of[inside]

        def like(chosen: Bools) -> Bools:
            """The chosen classes, and those that match the records of one of them."""
            is_chosen: Bools = np.zeros(judged.n_classes, dtype=bool)
            is_chosen[numbers[chosen[of]]] = True
            found = chosen.copy()
            found[of] = judged.like(is_chosen)[numbers]
            return found

        return like

    def to_suppress(self, placed: Placed) -> Bools:
        """(d,) the records of classes that a table-level rule has to suppress, suppressed ones included."""
        judged = self.judged(placed.without_suppressed())

        def ranks() -> Longs:
            first = one_of_each(judged.class_of_group, judged.n_classes)
            return ranks_by_disclosure(self._trees, placed.codes_of(placed.of[first]))

        gone = suppressed_classes(judged, self._all, ranks, self.allowed).classes
        return np.append(gone, True)[judged.class_of_group]

    def met_together(self, placed: Placed, codes: Ints) -> bool:
        """Whether the classes meet the criteria that are about all of them together.

        The disclosed ones have to by themselves, and with the block of the suppressed ones if that is judged.
        ``codes`` (d, q) are what the records disclose.
        """
        if self.shares_levels and not self._is_one_rule(codes):
            return False
        if not self._table_wide:
            return True
        judged = self.judged(placed)
        block = np.zeros(judged.n_classes, dtype=bool)
        block[
            judged.class_of_group[(placed.of == placed.suppressed_class) & (judged.class_of_group >= 0)]
        ] = True
        if first_broken(judged, block, self._table_wide) is not None:
            return False
        is_judged = block.any() and not self.leaves_out(placed.of, placed.suppressed_class)
        return not is_judged or passes_with_block(judged, self._table_wide, block)

    def leaves_out(self, of: Longs, suppressed: int) -> bool:
        """Whether the class of the suppressed records need not meet the criteria."""
        if suppressed == NO_CLASS:
            return False
        return bool(self.may_be_suppressed(self._amounts[(of == suppressed) | self.left_out].sum()))

    def may_be_suppressed(self, records: npt.NDArray[np.number]) -> Bools:
        """Whether so many suppressed records need not meet the criteria."""
        return np.asarray(records <= self.allowed) & (not self._judges_suppressed)

    def judged(self, placed: Placed, *, counts_all: bool = True) -> JudgedClasses:
        """The classes as criteria look at them, without gaps between their numbers.

        Records that have to be suppressed for a missing value are in none of them. Unless all are counted,
        the population is only of classes that may be too small.
        """
        of = np.where(self.left_out, NO_CLASS, placed.of) if self.left_out.any() else placed.of
        numbers, n_classes = dense(of, placed.limit)
        if self._entities is None and not self.overlaps:
            return self._records.judged(numbers, n_classes)
        own = np.empty(n_classes, dtype=np.int64)
        inside = numbers >= 0
        own[numbers[inside]] = of[inside]
        shown = placed.codes_of(own)
        if not self.overlaps:
            return self._records.judged(numbers, n_classes, self._population(numbers, shown, counts_all))
        told = told_apart(numbers, shown, self._missing)
        population = self._population(told.of, told.shown, counts_all)
        return OverlappingClasses(self._records, told.of, told.size, told.shown, told.is_wildcard, population)

    def _population(self, of: Longs, shown: Ints, counts_all: bool) -> Population | None:
        """The population of classes that records are in, ``of`` (d,), and that show something, (G, q).

        Nobody is outside a release whose records keep to one rule: ``met_together`` sees to that.
        """
        if self._entities is None:
            return None
        found = np.zeros(len(shown), dtype=np.int64)
        wanted = np.full(len(shown), self._counts_people)
        if not counts_all:
            inside = of >= 0
            wanted &= np.bincount(of[inside], self._amounts[inside], len(shown)) < self._enough
        if wanted.any():
            found[wanted] = self._entities.of(shown[wanted])
        return self._entities.population(found, shown)

    def _is_one_rule(self, codes: Ints) -> bool:
        """Whether all disclosed records share their levels, with nobody outside who may not be."""
        kept = ~rows_without_values(codes)
        levels = shared_levels(self._trees, codes[kept], self._raw[kept])
        if levels is None:
            return False
        if self._entities is None or not self._bars_outsiders:
            return True
        return self._entities.outside(levels, ~kept) == 0


@dataclass(frozen=True, eq=False)
class ToldApart:
    """The G classes that are told apart.

    Attributes
    ----------
    of
        (d,) class of each distinct record, −1 for none.
    shown, is_wildcard
        (G, q) what each class shows, and where that matches everything.
    """

    of: Longs
    shown: Ints
    is_wildcard: Bools

    @property
    def size(self) -> int:
        """G, the classes that are told apart."""
        return len(self.shown)


def told_apart(of: Longs, shown: Ints, missing: Bools) -> ToldApart:
    """The classes that are told apart, of finer ones.

    Parameters
    ----------
    of
        (d,) number of each distinct record's class, each of the G occurring, −1 for none. Records of a class
        show the same and, unless that is nothing at all, miss the same.
    shown
        (G, q) what the classes show.
    missing
        (d, q) the original values that are missing.
    """
    first = one_of_each(of, len(shown))
    is_shown = ~shows_nothing(shown)
    tells = is_shown.any(axis=0)
    is_wildcard = missing[first] & np.asarray(is_shown.any(axis=1))[:, None]
    if not is_wildcard[:, ~tells].any():
        return ToldApart(of, shown, is_wildcard)
    is_wildcard &= tells
    columns = [*shown.T, *is_wildcard.T.astype(np.int8)]
    sizes = [*(shown.max(axis=0, initial=0) + 1).tolist(), *(2,) * shown.shape[1]]
    merged = distinct_rows(columns, sizes, len(shown))
    becomes = np.append(merged.inverse, -1).astype(np.int64)
    width = shown.shape[1]
    return ToldApart(becomes[of], merged.codes[:, :width], merged.codes[:, width:].astype(bool))


def codes_by_row(of: Longs, limit: int, codes: Ints) -> CodesOf:
    """What classes disclose, from the class (r,) and the codes (r, q) of rows; −1 is no class."""

    def found(classes: Longs) -> Ints:
        shown: Ints = codes[one_of_each(of, limit)[classes]]
        return shown

    return found


def class_of_suppressed(codes: Ints, of: Longs) -> int:
    """The class whose records are ⊥ in all of their codes; −1 if there is none."""
    rows = np.flatnonzero(rows_without_values(codes))
    return int(of[rows[0]]) if len(rows) else NO_CLASS


def dense(of: Longs, limit: int) -> tuple[Longs, int]:
    """The numbers of the classes that occur without gaps, −1 staying, and how many occur."""
    occurs = np.zeros(limit + 1, dtype=np.int64)
    occurs[of] = 1
    # The last place takes what is in no class.
    occurs[-1] = 0
    becomes = np.cumsum(occurs) - 1
    n_classes = int(becomes[-1]) + 1
    becomes[-1] = NO_CLASS
    return becomes[of], n_classes


def numbered(keys: Longs, limit: int) -> tuple[Longs, int]:
    """Numbers of keys in [0, limit), ascending with them, and how many different keys there are."""
    if limit <= SPARSE * len(keys) + 4096:
        return dense(keys, limit)
    found, inverse = np.unique(keys, return_inverse=True)
    return inverse.reshape(-1).astype(np.int64), len(found)
