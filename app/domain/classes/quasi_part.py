"""The part of a table that its rules may generalise: the quasi-identifiers alone."""

from __future__ import annotations

import numpy as np

from app.domain.distinct import DistinctRows, Ints, distinct_rows
from app.domain.errors import InvalidInput
from app.domain.rules.rule import TableRule
from app.domain.tables import Table


def quasi_part(table: Table) -> Table:
    """The table without its sensitive attributes; itself if it has none.

    InvalidInput if nothing is left.
    """
    if not table.sensitive:
        return table
    kept = table.quasi_identifiers
    if not kept:
        raise InvalidInput.of(
            "/dataset",
            "no-quasi-identifiers",
            "All attributes of the dataset have the role sensitive: there is nothing to generalise.",
            "Give attributes that an attacker may know the role quasi_identifier.",
        )
    part = Table(
        tuple(table.attributes[j] for j in kept),
        tuple(table.hierarchies[j] for j in kept),
        table.codes[:, kept],
    )
    # The distinct records of the part are among those of the whole, which are known or will be needed.
    part.__dict__["reduced"] = _reduced(table, part)
    return part


def _reduced(table: Table, part: Table) -> DistinctRows:
    whole = table.reduced
    columns = [whole.codes[:, j] for j in table.quasi_identifiers]
    rows = distinct_rows(columns, part.sizes, whole.size)
    counts = np.bincount(rows.inverse, whole.counts, rows.size).astype(np.int64)
    return DistinctRows(rows.codes, counts, rows.inverse[whole.inverse])


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
