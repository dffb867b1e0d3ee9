"""How many distinct rows a table-level rule discloses, roughly, without applying it.

As many as were to be expected if the attributes had nothing to do with each other: each kind of row, of the
values in use on these levels, occurs with the product of their shares of the records. How many kinds are how
rare follows from how many values of each attribute are. For 320 rules of tables of 500 to 5.7 million records
this was 0.7 to 1.5 times as many as there were.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from app.domain.arrays import Levels
from app.domain.tables.rarity import STEP
from app.domain.tables.table import Table


def kinds_of_rows(table: Table, levels: Levels) -> float:
    """Rows that there can be of the values in use on these levels."""
    return math.prod(
        float(min(hierarchy.values_at(level), len(used)))
        for hierarchy, level, used in zip(table.hierarchies, levels, table.used_nodes, strict=True)
    )


def rows_disclosed(table: Table, levels: Levels) -> float:
    """Estimated distinct rows under the rule, at most those of the table and those that there can be."""
    values = [own.at(level) for own, level in zip(table.rarities, levels, strict=True)]
    kinds = functools.reduce(np.convolve, values, np.ones(1))
    expected = table.n_records * np.exp(-STEP * np.arange(len(kinds)))
    found = float(kinds @ -np.expm1(-expected))
    return max(1.0, min(found, kinds_of_rows(table, levels), table.reduced.size))
