"""How many distinct rows a table-level rule discloses, roughly, without applying it.

Rows that may be of many kinds fill these unevenly: of n rows and M kinds about n · y / (y + s) are distinct,
y a power of M / n. How unevenly, s, is told by how many of the table's own rows are distinct. For 155 rules
of tables of 100 to 5.7 million records this was 0.15 to 2.8 times as many as there were.
"""

from __future__ import annotations

import math
from typing import Final

from app.domain.arrays import Levels
from app.domain.tables.table import Table

POWER: Final = 0.45
LEAST_UNEVEN: Final = 2.0


def kinds_of_rows(table: Table, levels: Levels) -> float:
    """Rows that there can be of the values in use on these levels."""
    return math.prod(
        float(min(hierarchy.values_at(level), len(used)))
        for hierarchy, level, used in zip(table.hierarchies, levels, table.used_nodes, strict=True)
    )


def rows_disclosed(table: Table, levels: Levels) -> float:
    """Estimated distinct rows under the rule, at most those of the table and those that there can be."""
    n, distinct = table.n_records, table.reduced.size
    as_they_are = math.pow(kinds_of_rows(table, (0,) * len(levels)) / n, POWER)
    uneven = max(LEAST_UNEVEN, as_they_are * (n / distinct - 1.0))
    kinds = kinds_of_rows(table, levels)
    y = math.pow(kinds / n, POWER)
    return max(1.0, min(kinds, distinct, n * y / (y + uneven)))
