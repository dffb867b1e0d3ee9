"""A dataset in numbers, column by column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from heapq import nsmallest
from typing import Annotated, Any, Final

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, MaxLen

from app.domain.catalogue.catalogue_types import Example
from app.domain.hierarchies.spellings import reading
from app.services.datasets.dataset_encoding import EncodedAttribute, as_declared
from app.services.datasets.dataset_schema import AttributeDeclaration, Role
from app.services.datasets.person_signs import NO_SIGNS, PersonSign, PersonSigns
from app.services.datasets.spellings import Spelling, spellings_of
from app.services.datasets.text_columns import TextColumn
from app.services.resources import JsonObject


@dataclass(frozen=True)
class ValueCount:
    """A value and how many rows have it."""

    value: Annotated[str, Example("Lafayette")]
    """The value."""
    rows: Annotated[int, Ge(0), Example(2)]
    """Rows that have it."""


@dataclass(frozen=True)
class AttributeProfile:
    """One column in numbers; ``unknown`` lists values outside the hierarchy, most frequent first.

    ``spellings`` are texts of the file that are read as one value with others, or as missing, rarest first;
    ``rarest`` is how many rows have the sensitive value that fewest have, all spellings of it counted and a
    missing one being a value. None for other roles, and in profiles stored before it was told.
    """

    name: str
    role: str
    distinct: int
    missing: int
    unknown_rows: int
    unknown_distinct: int
    unknown: tuple[ValueCount, ...] | None
    frequent: tuple[ValueCount, ...] | None
    spellings: tuple[Spelling, ...] | None
    rarest: int | None = None


@dataclass(frozen=True)
class Profile:
    """A dataset in numbers."""

    rows: Annotated[int, Ge(0), Example(12)]
    """Rows."""
    attributes: Annotated[tuple[AttributeProfile, ...], MaxLen(10_000)]
    """The columns."""
    person_signs: PersonSigns = NO_SIGNS
    """Signs that one person has several rows; none where the dataset says what a row is."""

    def shown(self, limit: int | None) -> Profile:
        """With at most so many values per list, or without lists."""
        return replace(
            self,
            attributes=tuple(
                replace(
                    one,
                    unknown=None if limit is None or one.unknown is None else one.unknown[:limit],
                    frequent=None if limit is None or one.frequent is None else one.frequent[:limit],
                    spellings=None if limit is None else one.spellings,
                )
                for one in self.attributes
            ),
        )

    @property
    def n_bytes(self) -> int:
        """The memory that it takes, about."""
        lists = [one for own in self.attributes for one in (own.unknown, own.frequent) if one is not None]
        return _BYTES_PER_ATTRIBUTE * len(self.attributes) + sum(
            _BYTES_PER_VALUE + len(count.value) for values in lists for count in values
        )

    def to_json(self) -> JsonObject:
        """As a document, of which :meth:`from_json` makes the profile again."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: JsonObject) -> Profile:
        """The profile of such a document."""
        attributes, found = tuple(map(_attribute, document["attributes"])), document["person_signs"]
        signs = tuple(PersonSign(**{**one, "columns": tuple(one["columns"])}) for one in found["signs"])
        return cls(document["rows"], attributes, PersonSigns(**{**found, "signs": signs}))


def _attribute(document: JsonObject) -> AttributeProfile:
    lists: dict[str, Any] = {name: _counts(document[name]) for name in ("unknown", "frequent")}
    spellings = document["spellings"]
    lists["spellings"] = None if spellings is None else tuple(Spelling(**one) for one in spellings)
    return AttributeProfile(**{**document, **lists})


def _counts(documents: Sequence[JsonObject] | None) -> tuple[ValueCount, ...] | None:
    return None if documents is None else tuple(ValueCount(**one) for one in documents)


STORED_AS: Final = "dataset_profile_3"
"""What kind of result a stored profile is; earlier ones had no signs of several rows, and no spellings."""

MOST_STORED_BYTES: Final = 4 * 1024**2
"""A profile that takes more memory than this is not stored: it is mostly long texts."""

MOST_SHOWN: Final = 200
"""Most values of a list of a profile."""

_BYTES_PER_ATTRIBUTE: Final = 600
_BYTES_PER_VALUE: Final = 150


def profile_of(
    declarations: Sequence[AttributeDeclaration],
    columns: Mapping[str, TextColumn],
    encoded: Sequence[EncodedAttribute],
    person_signs: PersonSigns = NO_SIGNS,
) -> Profile:
    """Profile the declared columns, of which those that are disclosed were encoded."""
    unknown = {attribute.declaration.name: attribute.unknown for attribute in encoded}
    profiles = []
    for declaration in declarations:
        column = as_declared(columns[declaration.name], declaration)
        outside = unknown.get(declaration.name, np.zeros(len(column.values), dtype=bool))
        profiles.append(
            AttributeProfile(
                name=declaration.name,
                role=declaration.role.value,
                distinct=len(column.values),
                missing=column.n_missing,
                unknown_rows=int(column.rows_per_value[outside].sum()),
                unknown_distinct=int(outside.sum()),
                unknown=_most_frequent(column, outside),
                frequent=_most_frequent(column, np.ones_like(outside)),
                spellings=spellings_of(column),
                rarest=_rarest(column) if declaration.role is Role.SENSITIVE else None,
            )
        )
    return Profile(columns[declarations[0].name].n_rows, tuple(profiles), person_signs)


def _rarest(column: TextColumn) -> int:
    """Rows of the value that fewest have, as a person reads values; one without any is missing."""
    rows: Counter[str | None] = Counter({None: column.n_missing} if column.n_missing else {})
    for value, n in zip(column.values, column.rows_per_value.tolist(), strict=True):
        rows[reading(value)] += n
    return min(rows.values(), default=0)


def _most_frequent(column: TextColumn, chosen: npt.NDArray[np.bool_]) -> tuple[ValueCount, ...]:
    """The chosen values with the most rows, those of equally many in the order of their texts."""
    indices = np.flatnonzero(chosen)
    rows = column.rows_per_value[indices]
    sure, least = np.ones(len(rows), dtype=bool), 0
    if len(rows) > MOST_SHOWN:
        # Of identifiers there are as many as records: not all of them are put in order.
        least = int(np.partition(rows, len(rows) - MOST_SHOWN)[len(rows) - MOST_SHOWN])
        sure = rows > least
    ours = zip(indices[sure].tolist(), rows[sure].tolist(), strict=True)
    found = sorted(
        (ValueCount(column.values[i], n) for i, n in ours), key=lambda count: (-count.rows, count.value)
    )
    tied = (column.values[i] for i in indices[~sure & (rows == least)].tolist())
    return (*found, *(ValueCount(value, least) for value in nsmallest(MOST_SHOWN - len(found), tied)))
