"""Sets of entities as bits count what the other engines count."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.counting.bit_sums import at_least, sum_planes
from app.domain.counting.bitsets import EntityBitsets, everybody, members_of, size_of, words_for
from app.domain.counting.counter import Counter
from app.domain.rules.rule import RecordRule, apply
from tests.property.effort import examples
from tests.property.search_instances import contexts


@settings(max_examples=examples(100), deadline=None)
@given(
    st.integers(1, 200),
    st.lists(st.tuples(st.integers(0, 2**32), st.integers(0, 9)), max_size=12),
    st.integers(-1, 60),
)
def test_members_whose_weights_reach_a_sum_are_those_that_loops_find(n, sets, least):
    total = np.zeros(n, dtype=int)
    planes_of = []
    for seed, weight in sets:
        marks = np.zeros(64 * ((n + 63) // 64), dtype=bool)
        marks[:n] = np.random.default_rng(seed).random(n) < 0.5
        total += weight * marks[:n]
        planes_of.append((np.packbits(marks, bitorder="little").view(np.uint64), weight))
    found = at_least(sum_planes(planes_of, (n + 63) // 64), least, n)
    assert members_of(found).tolist() == np.flatnonzero(total >= least).tolist()
    assert size_of(found) == int((total >= least).sum())


@pytest.mark.parametrize("n", [0, 1, 64, 65_472, 65_473, 200_001])
def test_sets_of_any_size_know_their_size(n):
    marks = np.zeros(64 * words_for(n), dtype=bool)
    marks[:n] = np.random.default_rng(n).random(n) < 0.9
    words = np.packbits(marks, bitorder="little").view(np.uint64)
    assert size_of(words) == int(marks.sum())
    assert members_of(words).tolist() == np.flatnonzero(marks).tolist()
    assert size_of(everybody(n)) == n
    assert members_of(everybody(n)).tolist() == list(range(n))


@settings(max_examples=examples(100), deadline=None)
@given(contexts(), st.integers(0, 2**32), st.sampled_from([0, 200, 2**20]))
def test_bits_count_what_keys_count(context, seed, kept_bytes):
    rng = np.random.default_rng(seed)
    table = context.table
    steps = np.stack([rng.integers(0, h + 1, table.n_records) for h in table.heights], axis=1)
    counter = Counter(table, context.dictionary)
    nodes = apply(RecordRule(steps.astype(np.int16)), table)[:, list(counter.linked)]
    wanted = counter.count(nodes, engine="sorted_keys").values
    index = EntityBitsets(counter.compatibilities, context.dictionary.n_entities, kept_bytes)
    assert index.count_rows(nodes).tolist() == wanted.tolist()
    assert counter.count(nodes, engine="bitsets").values.tolist() == wanted.tolist()
    for row, count in zip(nodes.tolist(), wanted.tolist(), strict=True):
        bits = [index.of(j, node) for j, node in enumerate(row) if node]
        if bits:
            assert size_of(np.bitwise_and.reduce(bits)) == count
