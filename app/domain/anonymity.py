"""k-anonymity as a special case: the two counts of section 15, which differ (E-33)."""

from __future__ import annotations

from app.domain.counting.counter import Counter
from app.domain.distinct import DistinctRows


def matching_k(table_counter: Counter, disclosed: DistinctRows, levels: tuple[int, ...] | None = None) -> int:
    """Least number of original records that are consistent with a disclosed record.

    ``table_counter`` counts the table against itself; ``disclosed`` are its distinct disclosed records;
    ``levels`` the table-level rule that they come from, if they do.
    """
    return int(table_counter.count_records(disclosed.codes, levels).values.min())


def equivalence_k(disclosed: DistinctRows) -> int:
    """Least number of identical disclosed records, ⊥ being equal to ⊥: the usual definition."""
    return int(disclosed.counts.min())
