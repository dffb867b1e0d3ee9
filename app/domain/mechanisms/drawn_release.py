"""A release that a mechanism made, as whoever has it sees it.

It is all that a reader has: the published rows, in an order that says nothing of the records', what the
hierarchies say of their values, and what the mechanism published beside them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app.domain.tables.table import Table


@dataclass(frozen=True, eq=False)
class DrawnRelease:
    """Published rows, and what a reader needs to count them.

    Parameters
    ----------
    table
        A row per published record: the nodes that it shows, of the hierarchies of the dataset. Nobody knows
        which record of the dataset it is of.
    mechanism
        The mechanism's name.
    published
        What it published, of the mechanism's own type.
    """

    table: Table
    mechanism: str
    published: Any
