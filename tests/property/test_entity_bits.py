"""Sets of entities as bits count what the other engines count."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.counting.bitsets import (
    CODES_AT_ONCE,
    EntityBitsets,
    at_least,
    everybody,
    members_of,
    size_of,
    sum_planes,
    words_for,
)
from app.domain.counting.counter import Counter
from app.domain.counting.sorted_keys import _sums_at
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.rules.rule import RecordRule, apply
from app.domain.tables.table import Table
from tests.oracles.effort import examples
from tests.oracles.pairs_of_records import dictionary_of
from tests.oracles.search_instances import contexts


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


def test_few_entities_of_many_are_counted_by_their_codes():
    """Nodes of few entities are counted along their lists; the codes are filled in several blocks."""
    rng, n, names = np.random.default_rng(5), 2 * CODES_AT_ONCE + 9, ("a", "b", "c")
    tree = Hierarchy.from_rows([[str(i), f"group {i // 10}", "*"] for i in range(100)])
    people = tree.leaves[np.minimum(rng.integers(0, 100, (n, 3)), rng.integers(0, 100, (n, 3)))]
    table = Table(names, (tree,) * 3, people[:50].astype(np.int32))
    index = EntityBitsets(Counter(table, dictionary_of(table, people.tolist())).compatibilities, n)
    rare = tree.leaves[-15:]
    nodes = np.stack([rng.choice(own, 60) for own in (rare, tree.leaves, tree.parent[tree.leaves])], axis=1)
    # Whoever comes first and last in a block, and the entity next to each, are asked for by name.
    edges = [0, 1, CODES_AT_ONCE - 1, CODES_AT_ONCE, 2 * CODES_AT_ONCE, n - 1]
    for row in (*nodes, *people[edges]):
        shown = np.array([[tree.parent[leaf], leaf] for leaf in range(tree.n_nodes)])
        fits = (shown[people] == row[None, :, None]).any(axis=2).all(axis=1)
        assert index.count(list(enumerate(row.tolist()))) == int(fits.sum())


@settings(max_examples=examples(200), deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5)), min_size=1, max_size=12),
    st.lists(st.integers(0, 9), max_size=12),
    st.sampled_from([10, 10**6]),
)
def test_weights_are_summed_under_every_key_that_is_asked_for(entries, wanted, limit):
    """Both ways to do it, and keys below, between and above those that there are."""
    keys, weights = (np.array(column, dtype=np.int64) for column in zip(*entries, strict=True))
    found = _sums_at(keys, weights, np.array(wanted, dtype=np.int64), limit)
    assert found.tolist() == [sum(weight for key, weight in entries if key == own) for own in wanted]
