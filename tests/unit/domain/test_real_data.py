"""The public data sets: their hierarchies as they are, and counts against pandas' own grouping."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from app.domain.counting.counter import Counter, dictionary_of
from app.domain.hierarchies.builders import flat, intervals, leaf_range
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.risk.assessment import assess
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import TableRule, apply
from app.domain.sensitivity.sensitivity import build_sensitivity
from app.domain.sensitivity.weights import LeafWeights
from app.domain.tables.table import Table

DATA = os.environ.get("PRIVACY_RISK_DATA")
pytestmark = [
    pytest.mark.real_data,
    pytest.mark.skipif(not DATA, reason="PRIVACY_RISK_DATA does not point at the public data sets"),
]


def rows_of(name: str, delimiter: str = ";") -> list[list[str]]:
    with Path(DATA or "", name).open(newline="") as lines:
        return [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=delimiter) if row]


@pytest.fixture(scope="module")
def adult() -> Table:
    header, *rows = rows_of("arx-adult/adult.csv")
    hierarchies = [Hierarchy.from_rows(rows_of(f"arx-adult/adult_hierarchy_{name}.csv")) for name in header]
    columns = []
    for j, hierarchy in enumerate(hierarchies):
        codes, unknown = hierarchy.encode([row[j] for row in rows])
        assert not unknown
        columns.append(codes)
    ids = np.array([str(i) for i in range(len(rows))], dtype=object)
    return Table(tuple(header), tuple(hierarchies), np.stack(columns, axis=1), ids)


def grouped(codes: np.ndarray) -> np.ndarray:
    """Size of each record's group, by pandas."""
    frame = pd.DataFrame(codes)
    return frame.groupby(list(frame.columns))[0].transform("size").to_numpy()


def test_adult_has_its_published_size_and_lattice(adult):
    assert adult.codes.shape == (30_162, 9)
    assert np.prod([h + 1 for h in adult.heights]) == 12_960
    assert all(h.is_balanced for h in adult.hierarchies)
    assert adult.is_complete
    assert adult.reduced.size == 19_502


@pytest.mark.parametrize("seed", range(6))
def test_adult_counts_and_risk_are_those_of_pandas(adult, seed):
    rng = np.random.default_rng(seed)
    rule = TableRule(tuple(int(rng.integers(0, h + 1)) for h in adult.heights))
    weights = {name: LeafWeights(0.1 * (i + 1)) for i, name in enumerate(adult.attributes)}
    sensitivity = build_sensitivity(adult, "linear", weights)
    result = assess(adult, rule, dictionary_of(adult), sensitivity, build_utility(adult), "add_self")
    disclosed = apply(rule, adult)
    sizes = grouped(disclosed)
    np.testing.assert_array_equal(result.records.counts, sizes)
    expected = (sensitivity.phi(disclosed) / sizes).mean()
    assert result.risk_average == pytest.approx(expected, rel=1e-12)
    assert result.k_matching == result.k_equivalence == result.min_consistent == sizes.min()
    assert result.classes == len(np.unique(disclosed, axis=0))
    assert result.utility_average == sum(adult.heights) - sum(rule.levels)


def test_adult_linked_on_three_attributes_counts_those_only(adult):
    links = dictionary_of(adult).links
    dictionary = type(dictionary_of(adult))(adult.n_records, (links[1], links[0], links[5]))
    levels = (0, 1, 0, 1, 1, 1, 0, 0, 0)
    counts = Counter(adult, dictionary).count_records(apply(TableRule(levels), adult), levels)
    np.testing.assert_array_equal(counts.values, grouped(apply(TableRule(levels), adult)[:, [1, 0, 5]]))


def test_labels_that_repeat_between_levels_load_as_levels():
    header, *rows = rows_of("creditcard-int/creditcard_int.csv")
    heights = []
    for j, name in enumerate(header):
        h = Hierarchy.from_rows(rows_of(f"creditcard-int/creditcard_int_hierarchy_{name}.csv"))
        codes, unknown = h.encode([row[j] for row in rows])
        assert not unknown
        assert h.is_leaf[codes].all()
        heights.append(h.height)
    assert heights[header.index("PAY_5")] == 3
    assert heights[header.index("SEX")] == 1


def test_missing_values_of_uci_adult_match_everything():
    raw = rows_of("uci-adult-48842/adult.data", ",")[1:] + rows_of("uci-adult-48842/adult.test", ",")[1:]
    assert len(raw) == 48_842
    places = {"age": 0, "workclass": 1, "occupation": 6, "country": 13}
    columns = {k: [None if row[j] == "?" else row[j] for row in raw] for k, j in places.items()}
    hierarchies = [intervals(leaf_range("0", "99"), [10, 50])]
    hierarchies += [
        flat([v for v in columns[k] if v is not None]) for k in ("workclass", "occupation", "country")
    ]
    codes = np.stack([h.encode(columns[k])[0] for h, k in zip(hierarchies, places, strict=True)], axis=1)
    table = Table(tuple(places), tuple(hierarchies), codes)
    assert not table.is_complete
    rule = TableRule((1, 0, 0, 0))
    disclosed = apply(rule, table)
    counter = Counter(table, dictionary_of(table))
    counts = counter.count_records(disclosed, rule.levels).values
    ages = hierarchies[0].ancestors_at(1)[codes[:, 0]]
    for i in np.random.default_rng(5).integers(0, len(raw), 60):
        same = ages == ages[i]
        for j in (1, 2, 3):
            same &= (codes[i, j] == 0) | (codes[:, j] == 0) | (codes[:, j] == codes[i, j])
        assert counts[i] == same.sum()
    assert (codes[:, 1:] == 0).any(axis=1).sum() == 48_842 - 45_222
