"""A dataset in numbers: what its columns hold and what its hierarchies do not know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.domain.hierarchies.hierarchy import Hierarchy
from app.services.datasets.dataset_encoding import encode, mapped
from app.services.datasets.dataset_schema import AttributeDeclaration
from app.services.datasets.text_columns import TextColumn


@dataclass(frozen=True)
class ValueCount:
    """A value and the number of rows that have it."""

    value: str
    rows: int


@dataclass(frozen=True)
class AttributeProfile:
    """One column in numbers; ``unknown`` lists values outside the hierarchy, most frequent first."""

    name: str
    role: str
    distinct: int
    missing: int
    unknown_rows: int
    unknown_distinct: int
    unknown: tuple[ValueCount, ...] | None
    frequent: tuple[ValueCount, ...] | None


@dataclass(frozen=True)
class Profile:
    """A dataset in numbers; the lists of values are None without the scope data:read."""

    rows: int
    attributes: tuple[AttributeProfile, ...]


def profile_of(
    declarations: Sequence[AttributeDeclaration],
    columns: Mapping[str, TextColumn],
    hierarchies: Mapping[str, Hierarchy],
    shown: int | None,
) -> Profile:
    """Profile the declared columns; lists hold at most ``shown`` values, none are made if it is None."""
    unknown = {
        attribute.declaration.name: attribute.unknown
        for attribute in encode(declarations, columns, hierarchies)
    }
    profiles = []
    for declaration in declarations:
        column = mapped(columns[declaration.name], declaration.map)
        outside = unknown.get(declaration.name, np.zeros(len(column.values), dtype=bool))
        profiles.append(
            AttributeProfile(
                name=declaration.name,
                role=declaration.role.value,
                distinct=len(column.values),
                missing=column.n_missing,
                unknown_rows=int(column.rows_per_value[outside].sum()),
                unknown_distinct=int(outside.sum()),
                unknown=None if shown is None else _most_frequent(column, outside, shown),
                frequent=None if shown is None else _most_frequent(column, np.ones_like(outside), shown),
            )
        )
    return Profile(columns[declarations[0].name].n_rows, tuple(profiles))


def _most_frequent(column: TextColumn, chosen: npt.NDArray[np.bool_], limit: int) -> tuple[ValueCount, ...]:
    indices = np.flatnonzero(chosen)
    rows = column.rows_per_value
    order = sorted(indices.tolist(), key=lambda i: (-int(rows[i]), column.values[i]))
    return tuple(ValueCount(column.values[i], int(rows[i])) for i in order[:limit])
