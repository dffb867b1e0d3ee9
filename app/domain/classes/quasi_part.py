"""The part of a table that its rules may generalise: the quasi-identifiers alone."""

from __future__ import annotations

import numpy as np

from app.domain.errors import InvalidInput
from app.domain.rules import TableRule
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
    return Table(
        tuple(table.attributes[j] for j in kept),
        tuple(table.hierarchies[j] for j in kept),
        np.asfortranarray(table.codes[:, kept]),
    )


def rule_for(table: Table, levels: tuple[int, ...]) -> TableRule:
    """The rule with these levels of the quasi-identifiers, sensitive attributes as they are."""
    found = [0] * table.n_attributes
    for j, level in zip(table.quasi_identifiers, levels, strict=True):
        found[j] = level
    return TableRule(tuple(found))
