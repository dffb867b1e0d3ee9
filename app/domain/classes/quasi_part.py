"""The part of a table that its rules may generalise: the quasi-identifiers alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from app.domain.arrays import Ints
from app.domain.errors import InvalidInput
from app.domain.rules.rule import TableRule
from app.domain.tables.distinct import DistinctRows, distinct_rows
from app.domain.tables.table import Table


@dataclass(frozen=True, eq=False)
class _QuasiPart(Table):
    """The quasi-identifiers of ``whole``, whose distinct records are known or will be needed."""

    whole: Table = field(kw_only=True)

    @cached_property
    def reduced(self) -> DistinctRows:
        """The distinct records of the part, found among those of the whole."""
        whole = self.whole.reduced
        columns = [whole.codes[:, j] for j in self.whole.quasi_identifiers]
        rows = distinct_rows(columns, self.sizes, whole.size)
        counts = np.bincount(rows.inverse, whole.counts, rows.size).astype(np.int64)
        return DistinctRows(rows.codes, counts, rows.inverse[whole.inverse])


def quasi_part(table: Table) -> Table:
    """The table without its sensitive attributes; itself if it has none.

    InvalidInput if nothing is left.
    """
    if not table.sensitive:
        return table
    kept = required_quasi_identifiers(table)
    return _QuasiPart(
        tuple(table.attributes[j] for j in kept),
        tuple(table.hierarchies[j] for j in kept),
        table.codes[:, kept],
        persons=table.persons,
        whole=table,
    )


def required_quasi_identifiers(table: Table) -> tuple[int, ...]:
    """Positions of the quasi-identifiers; InvalidInput if all attributes are sensitive."""
    if not table.quasi_identifiers:
        raise InvalidInput.of(
            "/dataset",
            "no-quasi-identifiers",
            "All attributes of the dataset have the role sensitive: there is nothing to generalise.",
            "Give attributes that an attacker may know the role quasi_identifier.",
        )
    return table.quasi_identifiers


def group_of_row(table: Table, part: Table) -> Ints:
    """(R,) which distinct record of the part each distinct record of the table is."""
    if part is table:
        return np.arange(table.reduced.size, dtype=np.int32)
    found = np.empty(table.reduced.size, dtype=np.int32)
    found[table.reduced.inverse] = part.reduced.inverse
    return found


def rule_for(table: Table, levels: tuple[int, ...]) -> TableRule:
    """The rule with these levels of the quasi-identifiers, sensitive attributes as they are."""
    found = [0] * table.n_attributes
    for j, level in zip(table.quasi_identifiers, levels, strict=True):
        found[j] = level
    return TableRule(tuple(found))
