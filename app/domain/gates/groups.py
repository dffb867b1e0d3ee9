"""Groups of records for whom a criterion must hold one by one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from app.domain.arrays import Bools
from app.domain.errors import InvalidInput
from app.domain.gates.findings import Group
from app.domain.hierarchies.hierarchy import TOP
from app.domain.tables.table import Table


def groups_of(table: Table, attribute: str) -> Iterator[tuple[Group, Bools]]:
    """The groups by original value of an attribute, numbered from 1 in the hierarchy's order, with (n,) who.

    Records without a value are a group, too. InvalidInput for an attribute that the table does not have.
    """
    if attribute not in table.attributes:
        raise InvalidInput.of(
            "/scope/groups",
            "unknown-attribute",
            f"There is no attribute {attribute!r}.",
            f"The attributes are: {', '.join(table.attributes)}.",
        )
    j = table.position(attribute)
    column, labels = table.codes[:, j], table.hierarchies[j].labels
    for number, node in enumerate(np.unique(column).tolist(), start=1):
        members: Bools = column == node
        label = labels[node] if node != TOP else ""
        yield Group(number, int(np.count_nonzero(members)), label), members
