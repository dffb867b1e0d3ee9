"""What was found of one criterion: a value for each part that it is about, compared with its threshold.

A part is a dictionary, a group of records, both or neither. All parts must pass; the one with the least
margin stands for the criterion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.catalogue.catalogue_types import Guarantee
from app.domain.errors import NotSupported
from app.domain.policies.comparison import Comparison, Value, holds, margin


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
class Hypothesis:
    """What a claim rests on, whether it holds (yes, no, assumed), and why."""

    id: str
    holds: str
    reason: str


@dataclass(frozen=True)
class Finding:
    """All parts of a criterion. ValueError without any: what was not looked at must not pass.

    ``of_records`` is how many records the value of the worst part is a share of; None if it is no share.
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
