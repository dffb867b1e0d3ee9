"""How many persons the records of a class are about, and how large a share of it one of them has.

Where a column names the person of each record, a class of s records, r_p of them about person p, has
π = |{p : r_p > 0}| persons, and its largest share is λ = max_p r_p / s. k-anonymity by persons bounds π, the
(X, Y)-anonymity of Wang and Fung (2006); the prosecutor's risk is λ, their (X, Y)-linkability (Definitions:
several records per person). Records of one person cannot be joined in a release: the column of persons does
not leave, and rows leave in a secret order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from app.domain.arrays import Floats, Integers, Longs
from app.domain.tables.distinct import starts_of_runs

BITS_OF_KEY: Final = 62
ONE_ROW: Final = "one row per person, which the service makes of an upload (one-row-per-person)"
"""The way on where a model needs one record of each person."""


@dataclass(frozen=True, eq=False)
class ClassPersons:
    """The persons of G classes.

    Attributes
    ----------
    persons
        (G,) π: different persons of each class, at least 1.
    rows
        (R,) r_p: records of each person in each class, class after class.
    """

    persons: Longs
    rows: Longs

    @cached_property
    def _starts(self) -> Longs:
        return np.cumsum(self.persons) - self.persons

    @cached_property
    def records(self) -> Longs:
        """(G,) s: records of each class."""
        return np.add.reduceat(self.rows, self._starts)

    @cached_property
    def largest_share(self) -> Floats:
        """(G,) λ: the largest share that one person has of the records of a class."""
        return np.asarray(np.maximum.reduceat(self.rows, self._starts) / self.records)

    @cached_property
    def expected_matches(self) -> Floats:
        """(G,) Σ_p r_p² / s: records attributed to the right person, in expectation, by a random choice."""
        return np.asarray(np.add.reduceat(self.rows * self.rows, self._starts) / self.records)

    def records_above(self, risk: float) -> int:
        """Records whose person has a larger share of their class than ``risk``."""
        shares = self.rows / np.repeat(self.records, self.persons)
        return int(self.rows[shares > risk].sum())


def class_persons(of_record: Integers, person: Integers, n_classes: int, n_persons: int) -> ClassPersons:
    """Count the persons of each class.

    Parameters
    ----------
    of_record, person
        (n,) class of each record in [0, ``n_classes``), each of which has a record, and person in
        [0, ``n_persons``).
    """
    owners, rows = runs_of_persons(of_record, person, n_classes, n_persons)
    return ClassPersons(np.bincount(owners, minlength=n_classes), rows)


def runs_of_persons(keys: Integers, person: Integers, limit: int, n_persons: int) -> tuple[Longs, Longs]:
    """The key of each different pair of a key and a person, ascending, and how many rows have the pair.

    Keys are in [0, ``limit``). One sort of the pairs: a pair is one number, the person in its low bits.
    """
    bits = max(0, n_persons - 1).bit_length()
    if limit.bit_length() + bits > BITS_OF_KEY:
        found, numbers = np.unique(keys.astype(np.int64), return_inverse=True)
        of_run, rows = runs_of_persons(numbers, person, len(found), n_persons)
        return found[of_run], rows
    pairs = keys.astype(np.int64)
    pairs <<= bits
    pairs |= person
    pairs.sort()
    starts = starts_of_runs(pairs)
    owners: Longs = pairs[starts]
    owners >>= bits
    return owners, np.diff(starts, append=len(pairs))
