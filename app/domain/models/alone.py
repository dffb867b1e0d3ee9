"""The records of a table as if each were alone in its class: what no protection at all looks like."""

from __future__ import annotations

import numpy as np

from app.domain.arrays import Ints, Longs
from app.domain.models.judging import JudgedClasses, JudgedRecords, Population
from app.domain.tables.table import Table


class AloneRecords(JudgedClasses):
    """One class per combination of sensitive values that occurs, each of a single record.

    Distributions are compared with that of the whole table. Of the population nobody else is like a record,
    and somebody is like none.

    Parameters
    ----------
    table
        The table whose hierarchies count.
    shown
        (n, m) the disclosed nodes of its records; None: those of the table.
    """

    def __init__(self, table: Table, shown: Ints | None = None) -> None:
        every = JudgedRecords(table, np.zeros(table.n_records, dtype=np.int32), shown)
        self.amounts: Longs = every.amounts
        """(G,) how many records of the table each stands for."""
        alone = every.one_of_each()
        somebody = Population(alone.amounts, outside=1, total=alone.n_groups + 1)
        super().__init__(alone, np.arange(alone.n_groups, dtype=np.int64), alone.n_groups, somebody)
