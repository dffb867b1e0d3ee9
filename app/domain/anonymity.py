"""k-anonymity as a special case: two counts that differ (Definitions: two counts of k-anonymity)."""

from __future__ import annotations

from dataclasses import dataclass

from app.domain.counting.counter import Counter
from app.domain.distinct import DistinctRows, Ints, Longs


@dataclass(frozen=True, eq=False)
class Classes:
    """Distinct disclosed records: ``codes`` (d, m) and the number of records of each, ``counts`` (d,)."""

    codes: Ints
    counts: Longs


def matching_k(
    table_counter: Counter, disclosed: Classes | DistinctRows, levels: tuple[int, ...] | None = None
) -> int:
    """Least number of original records that are consistent with a disclosed record.

    ``table_counter`` counts the table against itself; ``disclosed`` are its distinct disclosed records;
    ``levels`` the table-level rule that they come from, if they do.
    """
    return table_counter.least(disclosed.codes, disclosed.counts, levels)


def equivalence_k(disclosed: Classes | DistinctRows) -> int:
    """Least number of identical disclosed records, ⊥ being equal to ⊥: the usual definition."""
    return int(disclosed.counts.min())
