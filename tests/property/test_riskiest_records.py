"""The riskiest records and what singles them out, against loops over sets of attributes."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.analyses.riskiest_records import RISKIEST_RECORDS, RiskiestParameters
from app.domain.counting.counter import dictionary_of
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.models.entry import MeasureContext
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import apply, identity
from app.domain.sensitivity.sensitivity import constant_sensitivity
from app.domain.tables.table import Table
from tests.oracles.effort import examples
from tests.oracles.explained_rules import computed, losses_when_shown, questions


@settings(max_examples=examples(200), deadline=None)
@given(questions(), st.integers(1, 4))
def test_the_riskiest_records_come_with_a_smallest_set_that_singles_them_out(question, top):
    context, brute = question
    table = context.table
    found = computed(RISKIEST_RECORDS, context, RiskiestParameters(top))
    everything = range(table.n_attributes)
    losses = losses_when_shown(context, brute, everything)
    order = sorted(range(table.n_records), key=lambda row: (-losses[row], row))
    assert [record.row - 1 for record in found.records] == order[:top]
    disclosed = apply(context.rule, table)
    linked = [link.attribute for link in context.dictionary.links]

    def count(row, names):
        codes = [
            int(node) if name in names else TOP
            for name, node in zip(table.attributes, disclosed[row], strict=True)
        ]
        return brute.count(row, codes)

    for record in found.records:
        row = record.row - 1
        known = [n for n, node in zip(table.attributes, disclosed[row], strict=True) if node and n in linked]
        assert record.loss == losses[row]
        assert record.consistent == count(row, known)
        assert record.alone == {name: count(row, [name]) for name in known}
        sets = [s for k in range(len(known) + 1) for s in itertools.combinations(known, k)]
        assert record.singled_out_by == next(s for s in sets if count(row, s) == record.consistent)
        assert record.is_smallest


def test_beyond_twelve_attributes_the_set_is_irreducible_and_says_so():
    bit = Hierarchy.from_parents({"0": [None], "1": [None]})
    others = [0] * 10
    rows = [[0, 0, *others, 0], [1, 0, *others, 1], [0, 1, *others, 1]]
    table = Table(tuple(f"a{j}" for j in range(13)), (bit,) * 13, np.array(rows, dtype=np.int32) + 1)
    context = MeasureContext(
        table, identity(13), dictionary_of(table), constant_sensitivity(table), None, build_utility(table),
        MODEL_I, "zero",
    )  # fmt: skip
    first, second, third = computed(RISKIEST_RECORDS, context, RiskiestParameters(3)).records
    # The last attribute alone would do for the first record, but it is the first to be dropped.
    assert (first.singled_out_by, first.is_smallest) == (("a0", "a1"), False)
    assert (second.singled_out_by, second.is_smallest) == (("a0",), False)
    assert (third.singled_out_by, third.consistent) == (("a1",), 1)
    assert (first.alone["a12"], first.alone["a0"], second.alone["a12"]) == (1, 2, 2)
