"""What was found of one criterion: a value for each part that it is about, compared with its threshold.

A part is a dictionary, a group of records, both or neither. All parts must pass; the one with the least
margin stands for the criterion.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from app.domain.arrays import Bools
from app.domain.catalogue.catalogue_types import Guarantee, Hypothesis
from app.domain.errors import InvalidInput, NotSupported
from app.domain.mechanisms.guarantee import PrivacyGuarantee
from app.domain.policies.comparison import Comparison, Value, holds, margin
from app.domain.rules.steps import labels_shown
from app.domain.tables.table import Table, no_attribute


@dataclass(frozen=True)
class Group:
    """Records that share an original value of an attribute; ``value`` is its label, a cell of the data."""

    number: int
    records: int
    value: str


@dataclass(frozen=True)
class Part:
    """One value, whether it keeps the threshold, and by how much (at least 0 exactly if it does)."""

    value: Value
    passes: bool
    margin: float
    dictionary: str | None = None
    group: Group | None = None


@dataclass(frozen=True)
class WorstRecords:
    """The first of the records that a failure is about, rows from 1, and how many there are."""

    rows: tuple[int, ...]
    records: int


@dataclass(frozen=True)
class Finding:
    """All parts of a criterion. ValueError without any: what was not looked at must not pass.

    ``of_records`` is how many records the value of the worst part is a share of; None if it is no share.
    ``promised`` is the guarantee that was judged, as it stands.
    """

    comparison: Comparison
    threshold: Value
    parts: tuple[Part, ...]
    guarantee: Guarantee
    explanation: str
    worst_records: WorstRecords | None = None
    hypotheses: tuple[Hypothesis, ...] = ()
    standard_error: float | None = None
    of_records: int | None = None
    promised: PrivacyGuarantee | None = None

    def __post_init__(self) -> None:
        if not self.parts:
            raise ValueError("a criterion without a value cannot be judged")

    @property
    def passes(self) -> bool:
        """Whether every part does."""
        return all(part.passes for part in self.parts)

    @property
    def worst(self) -> Part:
        """The part that fails most, or passes by the least; the first of equals."""
        return worst_of(self.parts)


def held(
    value: Value,
    comparison: Comparison,
    threshold: Value,
    dictionary: str | None = None,
    group: Group | None = None,
) -> Part:
    """A value compared with a threshold; NotSupported for what cannot be compared, NaN among it."""
    try:
        passes, room = holds(value, comparison, threshold), margin(value, comparison, threshold)
    except ValueError:
        raise NotSupported(
            "The value that was found cannot be compared with the threshold.",
            "Give a threshold of the value's kind, or name another value.",
        ) from None
    return Part(value, passes, room, dictionary, group)


def worst_of(parts: Sequence[Part]) -> Part:
    """The part of the least margin, one that fails before one that passes, the first of equals."""
    return min(parts, key=lambda part: (part.passes, part.margin))


def groups_of(table: Table, attribute: str) -> Iterator[tuple[Group, Bools]]:
    """The groups by original value of an attribute, numbered from 1 in the hierarchy's order, with (n,) who.

    Records without a value are a group, too. InvalidInput for an attribute that the table does not have.
    """
    if attribute not in table.attributes:
        raise InvalidInput([no_attribute("/scope/groups", attribute, table.attributes)])
    j = table.position(attribute)
    column, used = table.codes[:, j], table.used_nodes[j]
    labels = labels_shown(table.hierarchies[j], used)
    for number, (node, label) in enumerate(zip(used.tolist(), labels, strict=True), start=1):
        members: Bools = column == node
        yield Group(number, int(np.count_nonzero(members)), label or ""), members
