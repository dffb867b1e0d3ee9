"""What the classes of a release with levels of its own per record have to meet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from app.domain.criteria.anonymity import KAnonymity
from app.domain.criteria.criterion import Criterion
from app.domain.criteria.judging import JudgedClasses, JudgedRecords, failing_any
from app.domain.criteria.judging import withheld as withheld_by
from app.domain.distinct import Longs
from app.domain.hierarchies import TOP
from app.domain.search.anonymity.problem import AnonymityProblem
from app.domain.search.recoding.cells import Bools
from app.domain.tables import Table

NO_CLASS: Final = -1
SPARSE: Final = 16
"""Keys are numbered by marking them while there are at most so many possible ones per row, else sorted."""


class Demands:
    """Criteria on classes of the distinct records of a table.

    Classes are given as numbers (d,) from 0 to below ``limit``, not all of which need occur, with −1 for
    records in none. The class of the withheld records, if it is named, is left out while it has no more
    records than allowed, unless withheld records are to be judged.

    Attributes
    ----------
    allowed
        Records that may be withheld altogether.
    left_out
        (d,) distinct records that have to be withheld, for a missing quasi-identifier.
    necessary
        Criteria that every class meets which meets all, and that stay met when records join a class.
    least
        Records that a class has at least by k-anonymity, 1 without.
    """

    def __init__(self, table: Table, problem: AnonymityProblem) -> None:
        self._records = JudgedRecords(table, table.reduced.inverse)
        self._amounts = table.reduced.counts
        self._all = problem.privacy
        self._of_classes = [own for own in problem.privacy if not own.table_wide]
        self._table_wide = [own for own in problem.privacy if own.table_wide]
        self._judges_withheld = problem.suppressed == "own_block"
        self.allowed = problem.suppression_allowed(table.n_records)
        self.left_out: Bools = np.zeros(table.reduced.size, dtype=bool)
        if problem.missing == "excluded":
            self.left_out = (table.reduced.codes[:, table.quasi_identifiers] == TOP).any(axis=1)
        whole = self._records.whole
        asked = [own for own in self._of_classes if own.merging == "fewer_fail"]
        implied = [found for own in self._of_classes for found in own.implied(whole)]
        self.necessary: tuple[Criterion, ...] = tuple(dict.fromkeys((*asked, *implied)))
        self.least = max((own.k for own in self.necessary if isinstance(own, KAnonymity)), default=1)

    def failing(self, of: Longs, limit: int, withheld: int = NO_CLASS) -> Bools:
        """(limit,) which classes fail; none that does not occur."""
        return self._failing(self._of_classes, of, limit, withheld)

    def judged(self, of: Longs, limit: int, withheld: int = NO_CLASS) -> JudgedClasses:
        """The classes as criteria look at them, without gaps between their numbers."""
        if self.leaves_out(of, withheld):
            of = np.where(of == withheld, NO_CLASS, of)
        return self._records.judged(*dense(of, limit))

    def to_withhold(self, of: Longs, limit: int) -> Bools:
        """(d,) the records of classes that a rule for the table has to withhold."""
        numbers, n_classes = dense(np.where(self.left_out, NO_CLASS, of), limit)
        gone = withheld_by(self._records.judged(numbers, n_classes), self._all, self.allowed).classes
        return np.append(gone, True)[numbers]

    def met_together(self, of: Longs, limit: int, withheld: int = NO_CLASS) -> bool:
        """Whether the classes meet the criteria that are about all of them together.

        The disclosed ones have to by themselves, and with the block of the withheld ones if that is judged.
        """
        if not self._table_wide:
            return True
        readings = [np.where(of == withheld, NO_CLASS, of)]
        if withheld != NO_CLASS and not self.leaves_out(of, withheld):
            readings.append(of)
        for own in readings:
            judged = self._records.judged(*dense(own, limit))
            if judged.n_classes and not all(criterion.satisfied(judged) for criterion in self._table_wide):
                return False
        return True

    def leaves_out(self, of: Longs, withheld: int) -> bool:
        """Whether the class of the withheld records need not meet the criteria."""
        if withheld == NO_CLASS:
            return False
        return bool(self.may_be_withheld(self._amounts[of == withheld].sum()))

    def may_be_withheld(self, records: npt.NDArray[np.number]) -> Bools:
        """Whether so many withheld records need not meet the criteria."""
        return np.asarray(records <= self.allowed) & (not self._judges_withheld)

    def _failing(self, criteria: Sequence[Criterion], of: Longs, limit: int, withheld: int) -> Bools:
        numbers, n_classes = dense(of, limit)
        found = np.zeros(limit, dtype=bool)
        if n_classes:
            judged = self._records.judged(numbers, n_classes)
            found[of[of >= 0]] = failing_any(judged, criteria)[numbers[of >= 0]]
        if withheld != NO_CLASS and found[withheld] and self.leaves_out(of, withheld):
            found[withheld] = False
        return found


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
