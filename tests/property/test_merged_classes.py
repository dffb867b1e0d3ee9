"""Classes that are made of more specific ones against counting the records of each."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.classes.quasi_part import group_of_row, quasi_part
from app.domain.models.judging import JudgedRecords
from app.domain.search.full_domain import classes as merged_classes
from app.domain.search.full_domain.class_sizes import ClassSizes
from app.domain.search.full_domain.classes import ClassesOfRules
from tests.oracles.effort import examples
from tests.oracles.least_loss import classes_by_hand, tables
from tests.oracles.trees import ByHand


@given(st.data())
@settings(deadline=None, max_examples=examples(80))
def test_merged_classes_have_the_records_and_values_of_those_counted_anew(data):
    """In any sequence of rules, more of them than are kept."""
    table = data.draw(tables())
    quasi, rows = quasi_part(table), table.reduced
    records = JudgedRecords(table, group_of_row(table, quasi), rows.codes, rows.counts)
    made = ClassesOfRules(ClassSizes(quasi), records)
    rule = st.tuples(*(st.integers(0, height) for height in quasi.heights))
    rules = data.draw(st.lists(rule, min_size=1, max_size=merged_classes.MOST_KEPT + 8))
    trees = [ByHand(table.hierarchies[j]) for j in table.quasi_identifiers]
    attribute = min(table.sensitive)
    values = table.codes[:, table.position(attribute)].tolist()
    for levels in rules:
        found = made.judged(levels, None)
        shown = classes_by_hand(table, levels, trees)
        by_hand = {row: Counter() for row in shown}
        for row, value in zip(shown, values, strict=True):
            by_hand[row][value] += 1
        counts = found.counts(attribute)
        of_record = found.class_of_group[quasi.reduced.inverse]
        assert found.n_classes == len(by_hand)
        assert len(set(zip(of_record.tolist(), shown, strict=True))) == len(by_hand)
        for g, row in set(zip(of_record.tolist(), shown, strict=True)):
            own = slice(counts.starts[g], counts.starts[g + 1])
            nodes = counts.nodes[counts.values[own]]
            assert dict(zip(nodes.tolist(), counts.counts[own].tolist(), strict=True)) == by_hand[row]
            assert found.records[g] == sum(by_hand[row].values())
            assert np.all(np.diff(counts.values[own]) > 0)
