"""The ways for many rows give what the plain ones give: sums, quantiles, bins, distinct rows, counts."""

from __future__ import annotations

import math
from collections import Counter as Tally

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.classes import sensitive_counts
from app.domain.classes.grouping import EquivalenceClasses
from app.domain.counting.counter import Counter, dictionary_of
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.risk import summaries
from app.domain.rules.rule import RecordRule, apply
from app.domain.tables import distinct, numbers
from app.domain.tables.distinct import distinct_rows, group, group_numbers, recoded_rows, sorted_positions
from app.domain.tables.numbers import exact_sum
from app.domain.tables.table import Table
from tests.oracles.effort import examples

SEEDS = st.integers(0, 2**32 - 1)


@given(st.lists(st.floats(-1e250, 1e250), max_size=40), st.integers(1, 5))
@settings(max_examples=examples(200), deadline=None)
def test_sums_of_many_are_correctly_rounded(values, at_once):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numbers, "SUMMED_IN_PARTS", 1)
        patch.setattr(numbers, "SUMMED_AT_ONCE", at_once)
        assert exact_sum(np.array(values)) == math.fsum(values)


@pytest.mark.parametrize("scale", [1.0, 1e-320, 1e300])
def test_sums_of_many_of_any_size_are_correctly_rounded(scale):
    rng = np.random.default_rng(3)
    values = rng.standard_normal(50_000) * 10.0 ** -rng.integers(0, 30, 50_000) * scale * 1e-5
    values = np.append(values, -values[:40_000])
    assert exact_sum(values) == math.fsum(values.tolist())


@given(SEEDS, st.integers(1, 60), st.booleans())
@settings(max_examples=examples(200), deadline=None)
def test_quantiles_of_many_are_those_of_few(seed, n, has_infinite):
    rng = np.random.default_rng(seed)
    values = rng.choice([0.0, 1e-9, 0.1, 0.1 + 1e-17, 0.1 + 1e-16, 0.25, 7.0], n) * rng.choice([1.0, 1.1], n)
    if has_infinite:
        values[rng.integers(0, n)] = math.inf
    records = np.append(rng.integers(0, 4, n - 1), 1)
    expected = summaries.quantiles(values, records)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(summaries, "MANY", 0)
        assert summaries.quantiles(values, records) == expected


@given(SEEDS, st.integers(1, 80))
@settings(max_examples=examples(100), deadline=None)
def test_bins_are_half_open_and_the_last_is_closed(seed, n):
    rng = np.random.default_rng(seed)
    losses = rng.choice([0.0, 0.35, 0.7, 7.0, 6.65], n) * rng.choice([1.0, rng.random()], n)
    found = summaries.histogram_of_losses(losses, np.ones(n, dtype=np.int64))
    assert sum(found.records) == n
    for low, high, records in zip(found.edges, found.edges[1:], found.records, strict=False):
        closed = high == found.edges[-1]
        assert records == sum(low <= loss and (loss < high or closed) for loss in losses.tolist())


@given(SEEDS, st.integers(0, 50), st.integers(1, 400))
@settings(max_examples=examples(200), deadline=None)
def test_groups_are_numbered_alike_in_every_way(seed, n, limit):
    keys = np.random.default_rng(seed).integers(0, limit, n)
    expected, inverse = np.unique(keys, return_index=True, return_inverse=True)[1:]
    given_keys = keys.copy()
    for dense, most in ((0, 2**62), (10_000, 2**62), (0, 1)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(distinct, "DENSE_KEYS_PER_ROW", dense)
            patch.setattr(distinct, "ROWS_AT_ONCE", 7)
            patch.setattr(distinct, "KEY_LIMIT", most)
            first, numbers_ = group(keys, limit)
        assert np.array_equal(first, expected)
        assert np.array_equal(numbers_, inverse)
        assert np.array_equal(keys, given_keys)


@given(SEEDS, st.integers(0, 50), st.integers(1, 400))
@settings(max_examples=examples(100), deadline=None)
def test_keys_are_numbered_and_sorted_in_place_as_beside_them(seed, n, limit):
    keys = np.random.default_rng(seed).integers(0, limit, n)
    distinct_keys, inverse = np.unique(keys, return_inverse=True)
    for most in (2**62, 1):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(distinct, "ROWS_AT_ONCE", 7)
            patch.setattr(distinct, "KEY_LIMIT", most)
            numbers_, n_groups = group_numbers(keys.copy(), limit)
            order, different = sorted_positions(keys.copy(), limit)
        assert np.array_equal(numbers_, inverse)
        assert np.array_equal(order, np.argsort(keys, kind="stable"))
        assert n_groups == different == len(distinct_keys)
        assert numbers_.dtype == order.dtype == np.int32


WAYS = {
    "by a cell for every key": {"DENSE_KEYS_PER_ROW": 10**9},
    "by sorting": {"DENSE_KEYS_PER_ROW": 0},
    "by the numbers of the values in use": {"DENSE_KEYS_PER_ROW": 0, "MANY": 0, "KEY_LIMIT": 2**12},
    "by the ranks of prefixes": {"DENSE_KEYS_PER_ROW": 0, "KEY_LIMIT": 40},
    "by digits that are joined in twos": {"DENSE_KEYS_PER_ROW": 0, "NARROW_LIMIT": 40},
}


@pytest.mark.parametrize("way", WAYS)
@given(seed=SEEDS, n=st.integers(1, 60), m=st.integers(1, 6))
@settings(max_examples=examples(60), deadline=None)
def test_rows_are_reduced_alike_in_every_way(way, seed, n, m):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 9, m).tolist()
    kinds = rng.choice([np.int8, np.int32, np.int64], m)
    columns = [rng.integers(0, size, n).astype(kind) for size, kind in zip(sizes, kinds, strict=True)]
    expected, inverse, counts = np.unique(
        np.stack(columns, axis=1), axis=0, return_inverse=True, return_counts=True
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distinct, "ROWS_AT_ONCE", 7)
        for name, value in WAYS[way].items():
            patch.setattr(distinct, name, value)
        found = distinct_rows(columns, sizes, n)
    assert np.array_equal(found.codes, expected)
    assert np.array_equal(found.counts, counts)
    assert np.array_equal(found.inverse, inverse.reshape(-1))
    assert found.codes.dtype == found.inverse.dtype == np.int32


def test_rows_of_many_values_are_told_apart():
    sizes = [46_341, 46_342, 2]
    last = [size - 1 for size in sizes]
    rows = [last, [0, 0, 0], [46_340, 0, 1], last, [46_339, 46_341, 1]]
    columns = list(np.array(rows, dtype=np.int32).T)
    found = distinct_rows(columns, sizes, len(rows))
    assert found.codes.tolist() == [[0, 0, 0], [46_339, 46_341, 1], [46_340, 0, 1], last]
    assert found.inverse.tolist() == [3, 0, 2, 3, 1]


@given(SEEDS, st.integers(1, 40), st.integers(1, 4))
@settings(max_examples=examples(200), deadline=None)
def test_recoded_rows_are_the_distinct_rows_of_recoded_columns(seed, n, m):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 7, m)
    columns = [np.sort(rng.integers(0, size, n)).astype(np.int32) for size in sizes]
    recodings = [np.sort(rng.integers(0, size, size)).astype(np.int32) for size in sizes]
    recoded = [recoding[column] for recoding, column in zip(recodings, columns, strict=True)]
    expected = distinct_rows(recoded, sizes.tolist(), n)
    for dense, limit in ((0, 2**62), (1000, 2**62), (0, 1)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(distinct, "DENSE_KEYS_PER_ROW", dense)
            patch.setattr(distinct, "ROWS_AT_ONCE", 7)
            if limit == 1:
                patch.setattr(distinct, "KEY_LIMIT", 40)
            found = recoded_rows(columns, recodings, [np.unique(column) for column in columns], n)
        for name in ("codes", "counts", "inverse"):
            assert np.array_equal(getattr(found, name), getattr(expected, name)), (name, dense, limit)


@given(SEEDS, st.integers(0, 40), st.sampled_from([4, 20_000]), st.sampled_from([1, 3, 7]))
@settings(max_examples=examples(200), deadline=None)
def test_values_of_classes_are_counted_alike_in_every_way(seed, n, n_classes, n_nodes):
    rng = np.random.default_rng(seed)
    of_record = rng.integers(-1, n_classes, n).astype(np.int32)
    shown, reference = rng.integers(-1, n_nodes, (2, n)).astype(np.int32)
    reference = np.where(shown >= 0, shown, reference)
    classes = EquivalenceClasses(
        (0,), np.zeros((n_classes, 1), np.int32), np.ones(n_classes), of_record, 0, 0
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sensitive_counts, "ROWS_AT_ONCE", 7)
        found = sensitive_counts.sensitive_counts(classes, shown, reference, n_nodes)
    nodes = sorted({node for node in reference.tolist() if node >= 0})
    assert found.nodes.tolist() == nodes
    assert found.totals.tolist() == [reference.tolist().count(node) for node in nodes]
    both = Tally(zip(of_record.tolist(), shown.tolist(), strict=True))
    expected = sorted((own, node, count) for (own, node), count in both.items() if own >= 0 and node >= 0)
    values = found.nodes[found.values].tolist()
    assert list(zip(found.of_entry.tolist(), values, found.counts.tolist(), strict=True)) == expected


@given(SEEDS, st.integers(1, 25))
@settings(max_examples=examples(100), deadline=None)
def test_the_least_count_of_many_rows_is_found_without_counting_all(seed, n):
    rng = np.random.default_rng(seed)
    trees = (
        Hierarchy.from_rows([[f"v{i}", f"g{i // 2}"] for i in range(6)]),
        Hierarchy.from_parents({"x": [None], "y": ["x"], "z": [None]}),
    )
    codes = np.stack([rng.integers(0, tree.n_nodes, n) for tree in trees], axis=1).astype(np.int32)
    table = Table(("a", "b"), trees, codes)
    steps = rng.integers(0, 3, (n, 2)).astype(np.int16)
    disclosed = apply(RecordRule(steps), table)
    rows = distinct_rows([disclosed[:, 0], disclosed[:, 1]], table.sizes, n)
    dictionary = dictionary_of(table)
    assert np.array_equal(dictionary.reduced.counts, table.reduced.counts)
    for j, link in enumerate(dictionary.links):
        assert np.array_equal(link.column[:], dictionary.reduced.codes[dictionary.reduced.inverse, j])
    counter = Counter(table, dictionary, memory_ceiling=0)
    assert counter.least(rows.codes, rows.counts) == counter.count_records(rows.codes).values.min()
