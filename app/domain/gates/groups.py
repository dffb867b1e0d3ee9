"""Groups of records for whom a criterion must hold one by one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from app.domain.arrays import Bools
from app.domain.errors import InvalidInput
from app.domain.gates.findings import Group
from app.domain.rules.steps import labels_shown
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
    column, used = table.codes[:, j], table.used_nodes[j]
    labels = labels_shown(table.hierarchies[j], used)
    for number, (node, label) in enumerate(zip(used.tolist(), labels, strict=True), start=1):
        members: Bools = column == node
        yield Group(number, int(np.count_nonzero(members)), label or ""), members
