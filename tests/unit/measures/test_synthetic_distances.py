"""Distances and resemblance of synthetic tables, against brute force."""

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.analyses.compared_tables import ComparedColumn, ComparedTables
from app.domain.analyses.synthetic_distances import nearest_two, synthetic_distances
from app.domain.analyses.synthetic_utility import synthetic_utility
from app.domain.errors import InvalidInput

NUMBERS = np.array([math.nan, 0.0, 1.0, 4.0, 10.0])


@st.composite
def tables(draw):
    """A column of numbers and two of texts; code 0 is missing."""
    texts = ["", "a", "b", "c", "d"]
    columns = (
        ComparedColumn("n", texts, NUMBERS),
        ComparedColumn("x", texts),
        ComparedColumn("y", texts),
    )
    codes = [
        np.array(
            draw(st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=least, max_size=8)), dtype=np.int32
        )
        for least in (1, 1, 1)
    ]
    return ComparedTables(columns, *codes)


def gower(own, other, span):
    if own[0] == 0 or other[0] == 0:
        first = float(own[0] != other[0])
    elif span:
        first = min(1.0, abs(NUMBERS[own[0]] - NUMBERS[other[0]]) / span)
    else:
        first = float(own[0] != other[0])
    return (first + (own[1] != other[1]) + (own[2] != other[2])) / 3


@given(tables())
def test_nearest_records_are_those_of_brute_force(own):
    known = [NUMBERS[row[0]] for row in own.original if row[0]]
    span = max(known) - min(known) if known else 0.0
    found = nearest_two(own, own.synthetic, own.original)
    for row, nearest in zip(own.synthetic, found, strict=True):
        distances = sorted(gower(row, other, span) for other in own.original)
        assert nearest == pytest.approx([*distances, math.inf][:2])


@given(tables())
def test_apparent_matches_are_those_of_a_join(own):
    found = synthetic_distances(
        own, quasi_identifiers=("x",), confidence=0.95, rng=np.random.default_rng(1)
    ).apparent_matches
    frames = [pd.DataFrame(codes, columns=list("nxy")) for codes in (own.original, own.synthetic)]
    first, second = (frame.drop_duplicates("x", keep=False) for frame in frames)
    pairs = first.merge(second, on="x")
    equal = (pairs.n_x == pairs.n_y).astype(int) + (pairs.y_x == pairs.y_y)
    assert (found.matches, found.share) == (len(pairs), len(pairs) / len(own.original))
    assert found.equal == (pytest.approx(equal.mean() / 2) if len(pairs) else None)


@given(tables())
def test_copies_are_those_of_brute_force(own):
    found = synthetic_distances(
        own, quasi_identifiers=("x", "y"), confidence=0.95, rng=np.random.default_rng(1)
    )
    original, synthetic = own.original.tolist(), own.synthetic.tolist()
    assert found.copies.equal == sum(row in original for row in synthetic)
    assert found.copies.of_unique == sum(original.count(row) == 1 for row in synthetic)
    parts = [row[1:] for row in original]
    assert found.quasi_identifier_copies.equal == sum(row[1:] in parts for row in synthetic)
    assert found.new_share == pytest.approx(1 - found.copies.equal / len(synthetic))
    assert found.nearer.size == min(len(original), len(own.holdout))
    assert found.nearer.low <= found.nearer.share <= found.nearer.high


@given(tables(), st.integers(1, 3))
@settings(deadline=None)
def test_the_marginal_score_is_that_of_brute_force(own, k):
    def score(other):
        sets = list(combinations(range(3), k))
        total = 0.0
        for chosen in sets:
            p, q = (
                [tuple(row[j] for j in chosen) for row in rows.tolist()] for rows in (own.original, other)
            )
            total += sum(abs(p.count(c) / len(p) - q.count(c) / len(q)) for c in {*p, *q}) / 2
        return 1_000 * (1 - total / len(sets))

    found = synthetic_utility(own, k=k, rng=np.random.default_rng(1)).marginals
    assert found.sets == found.of_sets == math.comb(3, k)
    assert (found.score, found.held_out) == pytest.approx((score(own.synthetic), score(own.holdout)))


def test_a_copy_is_at_distance_0_and_nearer_than_records_held_out():
    rng = np.random.default_rng(3)
    columns = tuple(ComparedColumn(str(j), [str(i) for i in range(9)]) for j in range(8))
    original, holdout = rng.integers(1, 9, (2, 300, 8)).astype(np.int32)
    found = synthetic_distances(
        ComparedTables(columns, original, original[:100], holdout),
        quasi_identifiers=(), confidence=0.95, rng=rng,
    )  # fmt: skip
    assert found.copies.share == 1
    assert found.synthetic.dcr_median == 0
    assert found.nearer.low > 0.9
    assert found.held_out.dcr_median > 0


def test_records_of_the_same_population_are_as_near_to_both():
    """Of 1,000 records drawn anew: the interval of 99.9 % contains one half, but once in a thousand seeds."""
    rng = np.random.default_rng(5)
    columns = tuple(ComparedColumn(str(j), [str(i) for i in range(9)]) for j in range(6))
    original, holdout, synthetic = rng.integers(1, 9, (3, 1_000, 6)).astype(np.int32)
    found = synthetic_distances(
        ComparedTables(columns, original, synthetic, holdout[:400]),
        quasi_identifiers=(), confidence=0.999, rng=rng,
    )  # fmt: skip
    assert found.nearer.size == 400
    assert found.nearer.low < 0.5 < found.nearer.high


def test_an_unknown_quasi_identifier_is_named():
    own = ComparedTables((ComparedColumn("x", ["", "a"]),), *[np.ones((60, 1), dtype=np.int32)] * 2)
    with pytest.raises(InvalidInput, match="'z' is not a column") as caught:
        synthetic_distances(own, quasi_identifiers=("z",), confidence=0.95, rng=np.random.default_rng(1))
    assert caught.value.faults[0].pointer == "/quasi_identifiers/0"
