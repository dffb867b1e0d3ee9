"""Classes of a table's rules, for criteria to judge."""

from __future__ import annotations

import numpy as np

from app.domain.models.judging import JudgedRecords
from app.domain.rules.rule import TableRule, apply


def judged(table, levels=None):
    """The classes of a rule; None: all records as one."""
    records = JudgedRecords(table, np.arange(table.n_records, dtype=np.int32))
    if levels is None:
        return records.whole
    shown = apply(TableRule(levels), table)[:, list(table.quasi_identifiers)]
    _, classes = np.unique(shown, axis=0, return_inverse=True)
    return records.judged(classes.astype(np.int64), int(classes.max()) + 1)
