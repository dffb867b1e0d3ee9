"""Random k-anonymous rules, a baseline of optimal ones (Definitions: random k-anonymous rules)."""

from __future__ import annotations

import numpy as np

from app.domain.errors import InvalidInput
from app.domain.rules.rule import TableRule, apply_to_codes, identity
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.table import Table


def random_anonymous_rule(table: Table, k: int, rng: np.random.Generator) -> TableRule:
    """From the identity, one level of a random attribute at a time until every class has k records.

    The attribute is uniform among those that are not suppressed yet. Classes are of identical disclosed
    records (the usual definition), ⊥ equal to ⊥. Raises InvalidInput if the table has fewer than k records,
    NotSupported if a hierarchy is no tree.
    """
    if k > table.n_records:
        raise InvalidInput.of(
            "/measure/k",
            "k-too-large",
            f"No rule makes {table.n_records} records {k}-anonymous.",
            f"Choose k of at most {table.n_records}.",
        )
    rule = identity(table.n_attributes)
    while records_of_smallest_class(table, rule) < k:
        open_ = [j for j, height in enumerate(table.heights) if rule.levels[j] < height]
        chosen = open_[rng.integers(len(open_))]
        rule = TableRule(tuple(level + (j == chosen) for j, level in enumerate(rule.levels)))
    return rule


def records_of_smallest_class(table: Table, rule: TableRule) -> int:
    """How many records the smallest class of identical disclosed records has."""
    reduced = table.reduced
    codes = apply_to_codes(rule, table, reduced.codes)
    columns = [codes[:, j] for j in range(table.n_attributes)]
    rows = distinct_rows(columns, table.sizes, reduced.size)
    return int(np.bincount(rows.inverse, reduced.counts).min())
