"""Attacks by a synthetic table: brute force, copies, shuffled columns, known intervals, refusals."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.analyses.compared_tables import ComparedColumn, ComparedTables
from app.domain.analyses.synthetic_attacks import (
    SCALE,
    TOP,
    _Asked,
    _Judge,
    _keys_of_codes,
    _multivariate,
    _Nearest,
    _Predicates,
    synthetic_attacks,
)
from app.domain.errors import InvalidInput
from tests.oracles.effort import examples

NUMBERS = np.array([np.nan, 3.0, 1.0, 1.0, 10.0, np.nan])
"""Of six codes; two are equal numbers, and two are none."""
COLUMNS = (
    ComparedColumn("size", [""] * 6, NUMBERS),
    ComparedColumn("colour", [""] * 6),
    ComparedColumn("weight", [""] * 6, NUMBERS[::-1].copy()),
    ComparedColumn("shape", [""] * 6),
)
ROWS = st.lists(st.tuples(*[st.integers(0, 5)] * 4), min_size=1, max_size=12).map(np.array)


def people(seed, records, wide=1_000):
    """Records of four columns drawn independently, two of which make nearly all of them unique."""
    rng = np.random.default_rng(seed)
    sizes = (wide, 6, wide, 4)
    return np.stack([rng.integers(1, own + 1, records) for own in sizes], axis=1).astype(np.int32)


def tables(original, synthetic, holdout=None):
    sizes = [
        int(max(t[:, j].max() for t in (original, synthetic, holdout) if t is not None)) for j in range(4)
    ]
    numbers = [np.concatenate([[np.nan], np.arange(1.0, size + 1)]) for size in sizes]
    columns = tuple(
        ComparedColumn(name, [""] * (size + 1), own if name in ("income", "area") else None)
        for name, size, own in zip(("income", "job", "area", "sex"), sizes, numbers, strict=True)
    )
    return ComparedTables(columns, original, synthetic, holdout)


def attacked(compared, seed=0, **asked):
    usual = {"attacks": 200, "linkable": (("income",), ("area",)), "secrets": ("job", "income")}
    return synthetic_attacks(compared, confidence=0.95, rng=np.random.default_rng(seed), **(usual | asked))


def results(found):
    return [
        found.singling_out.univariate,
        found.singling_out.multivariate,
        found.linkability,
        *(own.attack for own in found.inference),
    ]


def test_the_bound_of_the_risk_is_the_greatest_of_all_attacks():
    found = attacked(tables(people(1, 600), people(1, 600)[::-1], people(2, 600)), attacks=200)
    highs = [own.risk_high for own in results(found)]
    assert found.singling_out.univariate.main.attacks == 200
    assert found.risk_high == max(highs)
    assert attacked(tables(people(1, 600), people(3, 600))).risk_high is None


def test_a_few_predicates_of_one_column_do_not_decide():
    found = attacked(tables(*(people(own, 300, wide=40) for own in (1, 2, 3))), attacks=200)
    few, *others = results(found)
    assert few is None or few.main.attacks < 200
    assert found.risk_high == max(own.risk_high for own in others if own is not None)


def test_no_predicates_are_looked_for_once_none_are_new():
    rows = people(1, 400, wide=6)
    found = attacked(tables(rows, rows), attacks=10_000)
    assert found.singling_out.multivariate.main.attacks < 400


@settings(max_examples=examples(150))
@given(ROWS, st.data())
def test_predicates_select_the_records_that_a_scan_finds(rows, data):
    keys = [_keys_of_codes(column) for column in COLUMNS]
    asked = _Asked(keys, rows)
    bound = st.integers(-6, 4)
    conditions = st.lists(
        st.tuples(st.permutations(range(4)), *[st.tuples(bound, bound)] * 2), min_size=1, max_size=5
    )
    drawn = data.draw(conditions)
    columns = np.array([own[0][:2] for own in drawn])
    lows = np.array([[min(pair) for pair in own[1:]] for own in drawn])
    highs = np.array([[max(pair) for pair in own[1:]] for own in drawn])
    found = asked.counts(_Predicates(columns, lows, highs))
    for i in range(len(drawn)):
        expected = sum(
            all(lows[i, t] <= keys[j][row[j]] <= highs[i, t] for t, j in enumerate(columns[i]))
            for row in rows
        )
        assert found[i] == expected


def test_keys_order_numbers_and_keep_other_values_apart():
    assert _keys_of_codes(COLUMNS[0]).tolist() == [-1, 1, 0, 0, 2, -6]
    assert _keys_of_codes(COLUMNS[1]).tolist() == [-1, -2, -3, -4, -5, -6]


@settings(max_examples=examples(50))
@given(ROWS, st.integers(0, 100))
def test_predicates_made_of_records_are_different_and_select_one(rows, seed):
    keys = [_keys_of_codes(column) for column in COLUMNS]
    found = _multivariate(_Asked(keys, rows), 5, 3, np.random.default_rng(seed))
    texts = set()
    for own, lows, highs in zip(found.columns, found.lows, found.highs, strict=True):
        texts.add((*own, *lows, *highs))
        selected = [
            row
            for row in rows
            if all(low <= keys[j][row[j]] <= high for j, low, high in zip(own, lows, highs, strict=True))
        ]
        assert len(selected) == 1
        assert all(low == high or low == 0 or high == TOP for low, high in zip(lows, highs, strict=True))
    assert len(texts) == len(found) <= 5


def gower(one, other, j, original):
    """The distance of two values of a column, as it is defined."""
    if COLUMNS[j].numbers is None or one == other:
        return float(one != other)
    first, second = COLUMNS[j].numbers[[one, other]]
    if math.isnan(first) or math.isnan(second):
        return 1.0
    known = [x for x in COLUMNS[j].numbers[original[:, j]] if not math.isnan(x)]
    spread = max(known) - min(known) if known else 0.0
    return min(abs(first - second) / spread, 1.0) if spread else float(first != second)


@settings(max_examples=examples(150))
@given(ROWS, ROWS, st.integers(1, 4), st.permutations(range(4)), st.integers(1, 4))
def test_nearest_records_are_those_of_all_distances(original, synthetic, k, columns, width):
    near = _Nearest(ComparedTables(COLUMNS, original, synthetic), np.random.default_rng(0))
    for record in original:
        found = near.nearest(record, columns[:width], k)
        all_of_them = np.array(
            [
                sum(round(gower(record[j], row[j], j, original) * SCALE) for j in columns[:width])
                for row in synthetic
            ]
        )
        assert len(set(found.tolist())) == len(found) == min(k, len(synthetic))
        assert sorted(all_of_them[found]) == sorted(all_of_them)[: len(found)]


def test_equally_near_records_are_equally_likely():
    """χ² of 19 degrees of freedom beyond 43.8: once in a thousand."""
    same = np.ones((20, 4), dtype=np.int32)
    near = _Nearest(ComparedTables(COLUMNS, same, same), np.random.default_rng(3))
    drawn = np.bincount([near.nearest(same[0], [0, 1], 1)[0] for _ in range(2_000)], minlength=20)
    assert ((drawn - 100) ** 2 / 100).sum() < 43.8


@pytest.mark.parametrize(
    ("successes", "attacks", "low", "high"),
    [(0, 10, 0.0, 0.277533), (5, 10, 0.236593, 0.763407), (81, 263, 0.255289, 0.366192)],
)
def test_wilsons_interval(successes, attacks, low, high):
    found = _Judge(0.95).rate(successes, attacks)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-4)


@pytest.mark.parametrize(
    ("x", "n", "y", "m", "low", "high"),
    [(36, 40, 16, 80, 2.939, 7.152)],
)
def test_koopmans_interval_of_a_ratio_of_failures(x, n, y, m, low, high):
    """Koopman (1984), example 1."""
    judge = _Judge(0.95)
    risk, least, greatest = judge.excess(judge.rate(n - x, n), judge.rate(m - y, m))
    assert risk == pytest.approx(1 - (x / n) / (y / m))
    assert (1 - greatest, 1 - least) == pytest.approx((low, high), abs=2e-3)


def test_interval_of_risk_at_the_edges():
    judge = _Judge(0.95)
    assert judge.excess(judge.rate(3, 10), judge.rate(10, 10)) is None
    risk, low, high = judge.excess(judge.rate(10, 10), judge.rate(0, 10))
    assert (risk, high) == (1.0, 1.0)
    assert 0.6 < low < 1
    risk, low, high = judge.excess(judge.rate(0, 10), judge.rate(0, 10))
    assert risk == 0
    assert low < 0 < high


@pytest.mark.parametrize(("p", "q"), [(0.05, 0.05), (0.5, 0.3), (0.98, 0.9), (1.0, 0.6)])
def test_interval_covers_the_risk_as_often_as_it_says(p, q):
    """Of 100 attacks on each table, by enumeration of all outcomes: at least 93.5 %."""
    n, judge = 100, _Judge(0.95)
    log = np.array([math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) for i in range(n + 1)])
    i = np.arange(n + 1)

    def law(share):
        return np.exp(log) * share**i * (1 - share) ** (n - i)

    truth, covered = (p - q) / (1 - q), 0.0
    for x in np.flatnonzero(law(p) > 1e-5):
        for y in np.flatnonzero(law(q) > 1e-5):
            found = judge.excess(judge.rate(int(x), n), judge.rate(int(y), n))
            if found is not None and found[1] - 1e-12 <= truth <= found[2] + 1e-12:
                covered += law(p)[x] * law(q)[y]
    assert covered > 0.935


@pytest.mark.parametrize("held_out", [500, 1_000, 2_000])
def test_a_copy_of_the_table_is_a_leak(held_out):
    """Also with fewer or more records held out than the original has."""
    original = people(1, 1_000)
    found = attacked(tables(original, original.copy(), people(2, held_out)))
    single = found.singling_out.multivariate
    assert single.main.rate == 1
    assert single.risk_low > 0.9
    assert all(own.succeeds for own in results(found))
    assert all(own.attack.risk_low > 0.9 for own in found.inference)
    assert found.overlap == 0


def test_a_copy_is_linked_by_what_makes_records_unique():
    original, wide = people(1, 1_000, wide=1_000_000), people(2, 1_000, wide=1_000_000)
    found = attacked(tables(original, original.copy(), wide))
    assert found.linkability.risk_low > 0.9


@pytest.mark.parametrize("held_out", [300, 600])
def test_a_table_of_other_people_is_none(held_out):
    """Of 10 seeds and 4 intervals of 95 % each: more than 8 of 40 miss 0 less than once in 2,000 runs."""
    missed = 0
    for seed in range(10):
        original = people(3 * seed, 600, wide=40)
        shuffled = np.random.default_rng(seed).permuted(original, axis=0)
        compared = tables(original, shuffled, people(3 * seed + 2, held_out, wide=40))
        found = attacked(compared, seed, attacks=100)
        judged = results(found)[1:]
        missed += sum(not own.risk_low <= 0 <= own.risk_high for own in judged)
    assert missed <= 8


def test_without_records_held_out_there_is_no_residual_risk():
    original = people(1, 300)
    found = attacked(tables(original, original.copy()))
    assert found.overlap is None
    for own in results(found):
        assert own.control is own.compared is own.risk is own.risk_low is own.risk_high is None


def test_records_held_out_that_are_in_the_original_are_counted():
    original = people(1, 300)
    held = np.concatenate([original[:7], people(2, 100)])
    assert attacked(tables(original, original.copy(), held)).overlap == 7


def test_an_attack_that_is_no_better_than_guesses_fails():
    same = np.ones((60, 4), dtype=np.int32)
    found = attacked(tables(same, same, same))
    assert found.singling_out.univariate is found.singling_out.multivariate is None
    assert [own.attack.succeeds for own in found.inference] == [False, False]
    assert found.inference[0].attack.risk is None
    assert not found.linkability.succeeds


def test_the_same_seed_gives_the_same_answer():
    compared = tables(people(1, 200), people(2, 150), people(3, 100))
    assert attacked(compared) == attacked(compared)


@pytest.mark.parametrize(
    ("asked", "pointer", "code"),
    [
        ({"secrets": ("job", "height")}, "/secrets/1", "unknown-attribute"),
        ({"linkable": (("income",), ("height",))}, "/linkable/1/0", "unknown-attribute"),
        ({"linkable": (("income",), ("income", "job"))}, "/linkable", "not-disjoint"),
        ({"linkable": (("income",), ())}, "/linkable", "not-disjoint"),
    ],
)
def test_columns_that_cannot_be_attacked_are_refused(asked, pointer, code):
    with pytest.raises(InvalidInput) as refused:
        attacked(tables(people(1, 60), people(2, 60)), **asked)
    assert [(own.pointer, own.code) for own in refused.value.faults] == [(pointer, code)]


def test_tables_of_one_column_are_refused():
    compared = tables(people(1, 60), people(2, 60))
    narrow = replace(
        compared,
        columns=compared.columns[:1],
        original=compared.original[:, :1],
        synthetic=compared.synthetic[:, :1],
    )
    with pytest.raises(InvalidInput) as refused:
        attacked(narrow, linkable=None, secrets=())
    assert [own.code for own in refused.value.faults] == ["too-few-columns"]
