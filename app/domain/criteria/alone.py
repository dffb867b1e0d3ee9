"""The records of a table as if each were alone in its class: what no protection at all looks like."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from app.domain.attacks.bayes import BayesBlock
from app.domain.classes.sensitive_counts import SensitiveCounts
from app.domain.criteria.criterion import Judged, Others
from app.domain.criteria.judging import JudgedRecords
from app.domain.distinct import Ints, Longs
from app.domain.errors import NotSupported
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.tables import Table

_ONE: Final = 1


class AloneRecords(Judged):
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
        self._of = JudgedRecords(table, np.zeros(table.n_records, dtype=np.int32), shown)
        self.amounts: Longs = self._of.amounts
        """(G,) how many records of the table each stands for."""

    @property
    def records(self) -> Longs:
        """(G,) ones."""
        return np.full(len(self.amounts), _ONE, dtype=np.int64)

    @property
    def sizes(self) -> Longs:
        """(G,) ones: nobody is like them."""
        return self.records

    def table_records(self) -> int:
        """Records of the table."""
        return self._of.n_records

    def counts(self, attribute: str | None, others: Others = "apart") -> SensitiveCounts:
        """The value of each; other sensitive attributes do not split a class of one."""
        column = self._of.column(self._of.index(attribute))
        starts = np.arange(len(self.amounts) + 1, dtype=np.int64)
        return SensitiveCounts(
            starts, column.numbers.astype(np.int32), self.records, column.totals, column.nodes
        )

    def class_of_block(self, attribute: str | None) -> Longs:
        """(G,) each its own."""
        return np.arange(len(self.amounts), dtype=np.int64)

    def hierarchy(self, attribute: str | None) -> Hierarchy:
        """The hierarchy of a sensitive attribute."""
        return self._of.hierarchy(self._of.index(attribute))

    def population(self) -> Longs:
        """(G,) ones."""
        return self.records

    def outside(self) -> int:
        """Somebody."""
        return _ONE

    def beliefs(self, attribute: str | None) -> Iterator[tuple[BayesBlock, Longs]]:
        """NotSupported: what is believed of a record beforehand depends on the population."""
        raise NotSupported(
            "Of records that are alone no population is asked.", "Judge the beliefs in a release instead."
        )
