"""Of which records a table-level rule discloses no quasi-identifier at all.

A rule does not disclose an attribute where the level is the highest one, or the value is missing.
"""

from __future__ import annotations

import numpy as np

from app.domain.arrays import Bools, Levels
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.table import Table


class ShowsNothing:
    """Tells it of the distinct records of a table, all of whose attributes are quasi-identifiers.

    Parameters
    ----------
    matters
        Whether it is asked for; if not, there are never any.

    Attributes
    ----------
    always
        (d,) distinct records of which no rule discloses anything; None if there are none.
    """

    def __init__(self, table: Table, *, matters: bool = True) -> None:
        self._heights = table.heights if matters else None
        lacking = table.reduced_missing
        self.always: Bools | None = None
        self._patterns: Bools | None = None
        self._everybody: Bools = np.ones(len(lacking), dtype=bool)
        if not (matters and lacking.any()):
            return
        patterns = distinct_rows(list(lacking.T.astype(np.int8)), (2,) * lacking.shape[1], len(lacking))
        self._patterns, self._pattern_of = np.asarray(patterns.codes > 0), patterns.inverse
        if self._patterns.all(axis=1).any():
            self.always = np.asarray(lacking.all(axis=1))

    def at(self, levels: Levels) -> Bools | None:
        """(d,) the distinct records of which a rule discloses nothing; None if there are none."""
        if self._patterns is None:
            return self._everybody if levels == self._heights else None
        whole = np.array(levels) == self._heights
        found = np.asarray((self._patterns | whole).all(axis=1))
        return found[self._pattern_of] if found.any() else None
