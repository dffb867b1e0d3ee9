"""Rules that suppress small classes, against a loop over the records."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.class_suppression import suppress_classes
from app.domain.rules.rule import TableRule
from app.domain.tables.table import Table
from tests.oracles.effort import examples

PARENTS = {"a": ["x"], "b": ["x"], "c": ["y"], "x": [None], "y": [None]}
ABOVE = {"a": ("a", "x", None), "b": ("b", "x", None), "c": ("c", "y", None)}
TREE = Hierarchy.from_parents(PARENTS)


@settings(max_examples=examples(60))
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=30),
    st.tuples(st.integers(0, 2), st.integers(0, 2)),
    st.integers(1, 8),
)
def test_records_of_small_classes_are_suppressed_and_all_others_are_as_the_levels_say(rows, levels, k):
    columns = [TREE.encode([row[j] for row in rows])[0] for j in range(2)]
    table = Table(("p", "q"), (TREE, TREE), np.stack(columns, axis=1))
    rule, suppressed = suppress_classes(table, TableRule(levels), k)
    plain = [tuple(ABOVE[cell][level] for cell, level in zip(row, levels, strict=True)) for row in rows]
    sizes = Counter(plain)
    expected = [row if sizes[row] >= k else (None, None) for row in plain]
    labels = [(None, *TREE.labels[1:])[code] for row in rule.codes.tolist() for code in row]
    assert list(zip(labels[::2], labels[1::2], strict=True)) == expected
    assert suppressed.tolist() == [sizes[row] < k for row in plain]
