"""Which columns a requirement reads, and of what.

A requirement reads a column if what it computes rests on the values of the column that are released, and if
its threshold can only be kept by protecting somebody: a bound on usefulness, or one from the wrong side,
reads nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from app.domain.policies.protection import WorstCase

NO_COLUMNS: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True)
class Columns:
    """What there is to read.

    Attributes
    ----------
    quasi_identifiers, sensitive
        The disclosed columns by role.
    carried
        Slot of the policy → the columns that its dictionary, or any of its dictionaries, carries.
    weighed
        The columns whose disclosure the sensitivity profile weighs.
    worst
        What the dataset is like if nobody is protected; None: nothing is known of it.
    lacking
        The slots whose dictionary lacks more people who are told apart by what it carries than may be: that
        nobody finds them in it bounds nothing.
    """

    quasi_identifiers: frozenset[str]
    sensitive: frozenset[str]
    carried: Mapping[str, frozenset[str]] = field(default_factory=dict)
    weighed: frozenset[str] = NO_COLUMNS
    worst: WorstCase | None = None
    lacking: frozenset[str] = NO_COLUMNS

    @property
    def disclosed(self) -> frozenset[str]:
        """All of them."""
        return self.quasi_identifiers | self.sensitive

    def named(self, attribute: str | None) -> frozenset[str]:
        """The sensitive column of this name; None: the only one."""
        if attribute is not None:
            return frozenset({attribute}) & self.disclosed
        return self.sensitive if len(self.sensitive) == 1 else NO_COLUMNS


@dataclass(frozen=True)
class Readable:
    """What one requirement can read: the columns, those it groups records by, those its slots carry."""

    columns: Columns
    grouped: frozenset[str]
    carried: frozenset[str]


@dataclass(frozen=True)
class Reading:
    """The columns that a requirement reads.

    Attributes
    ----------
    tells_apart
        Those of them by which it bounds telling records apart.
    not_their_own
        Those of which a value that a record shows need not be its own, by a guarantee: who knows a person's
        value does not find the record by it. The values may still be what nobody should see at all.
    """

    read: frozenset[str] = NO_COLUMNS
    tells_apart: frozenset[str] = NO_COLUMNS
    not_their_own: frozenset[str] = NO_COLUMNS

    def __or__(self, other: Reading) -> Reading:
        return Reading(
            self.read | other.read,
            self.tells_apart | other.tells_apart,
            self.not_their_own | other.not_their_own,
        )


NOTHING_READ: Final = Reading()
