"""Which columns a requirement reads, and whether it protects anybody by them.

A requirement reads a column if what it computes rests on the values of the column that are released, and if
its threshold can only be kept by protecting somebody: a bound on usefulness, or one from the wrong side,
reads nothing. Nor does it protect anybody if the table as it is, every record alone in its class and found by
whoever looks for it, keeps it as well.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from app.domain.errors import InvalidInput, NotSupported
from app.domain.models.criterion import Criterion
from app.domain.models.judging import AloneRecords
from app.domain.risk.models import RiskModel
from app.domain.sensitivity.sensitivity import Sensitivity
from app.domain.tables.numbers import highest_accepted
from app.domain.tables.table import Table

NO_COLUMNS: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, eq=False)
class WorstCase:
    """What a dataset is like if nobody is protected.

    Attributes
    ----------
    alone
        Its records with every one alone in its class.
    greatest_loss
        The greatest finite loss that the weights of the harm allow for any of its records.
    """

    alone: AloneRecords
    greatest_loss: float = math.inf


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


def greatest_loss(
    table: Table, sensitivity: Sensitivity, failure: Sensitivity | None, model: RiskModel, n_entities: int
) -> float:
    """The greatest finite loss of a record that is disclosed as it is and found, or taken for another.

    ``n_entities`` are those of the largest dictionary; who adds the record itself has one more. 0 if no loss
    is finite.
    """
    ones = np.ones(table.n_records, dtype=np.int64)
    phi = sensitivity.phi(table.codes, sensitivity.groups)
    losses = [model.of(ones, phi, None, n_entities + 1)]
    if failure is not None:
        losses.append(failure.phi(table.codes, failure.groups))
    return max((float(own[np.isfinite(own)].max(initial=0.0)) for own in losses), default=0.0)


def model_protects(model: Criterion, worst: WorstCase | None, failing_share: float = 0.0) -> bool:
    """Whether more than the allowed share of the records would fail if every record were alone."""
    if failing_share >= 1 or model.asks_nothing:
        return False
    if worst is None:
        return True
    allowed = failing_share * int(worst.alone.amounts.sum())
    failing = failing_records(model, worst)
    return failing is None or failing > highest_accepted(allowed)


def values_protected(model: Criterion, worst: WorstCase | None) -> bool:
    """Whether a criterion that also asks for classes of some size asks anything of the sensitive values."""
    alone = model.of_values_alone
    if alone is model or not model.is_of_values:
        return model.is_of_values
    if alone.asks_nothing:
        return False
    return worst is None or failing_records(alone, worst) != 0


def risk_cap_protects(cap: float, worst: WorstCase | None) -> bool:
    """Whether a cap on the risk is below the greatest that there can be."""
    return worst is None or cap < worst.greatest_loss


def failing_records(model: Criterion, worst: WorstCase) -> int | None:
    """How many of the records fail if every one is alone; None if that cannot be told."""
    try:
        failing = model.failing_alone(worst.alone)
    except (InvalidInput, NotSupported):
        return None
    return int(worst.alone.amounts[failing].sum())
