"""Predicates and counts of releases, against loops over leaves and rows."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import InvalidInput, NotSupported
from app.domain.hierarchies.builders import dates, intervals
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.hierarchies.predicates import AskedAttribute, Predicate
from app.domain.mechanisms.count_estimates import EstimateOptions
from app.domain.mechanisms.counted_release import CountedRelease
from app.domain.mechanisms.drawn_release import DrawnRelease
from app.domain.tables.table import Table
from tests.oracles.drawn_releases import drawn_of
from tests.oracles.effort import examples
from tests.unit.measures.ill_people import AGES, ILLNESSES, TOWNS, people

SEVERAL = Hierarchy.from_parents(
    {"a": [None], "b": [None], "ab": ["a", "b"], "x": ["a"], "y": ["ab"], "z": ["ab"], "w": ["b"]}
)
"""Values with several parents."""


def shares_by_hand(hierarchy, selected, top_is_missing):
    """The share of each node's leaves that are among some labels."""
    found = []
    for node in range(hierarchy.n_nodes):
        leaves = [hierarchy.labels[hierarchy.leaves[i]] for i in hierarchy.leaves_of(node)]
        found.append(sum(leaf in selected for leaf in leaves) / len(leaves))
    if top_is_missing:
        found[TOP] = 0.0
    return found


def shares_of(attribute, predicate):
    return attribute.shares([attribute.read(predicate, "/p")])[0].tolist()


numbers = st.decimals(-50, 50, places=1).map(lambda own: Decimal(str(own)))


@settings(max_examples=examples(60))
@given(
    values=st.lists(numbers, min_size=1, max_size=20),
    low=st.none() | numbers,
    high=st.none() | numbers,
    as_text=st.booleans(),
    missing=st.booleans(),
)
def test_an_interval_of_numbers_has_the_numbers_from_end_to_end(values, low, high, as_text, missing):
    leaves = [format(own, "f") for own in values]
    hierarchy = intervals(leaves, [5, 20])
    if low is None and high is None:
        low = Decimal(0)
    written = [None if own is None else str(own) if as_text else float(own) for own in (low, high)]
    attribute = AskedAttribute("n", hierarchy, "number", top_is_missing=missing)
    predicate = Predicate("n", None, *written)
    if low is not None and high is not None and low > high:
        with pytest.raises(InvalidInput, match="ends before it begins"):
            attribute.read(predicate, "/p")
        return
    inside = {
        leaf
        for leaf in leaves
        if (low is None or Fraction(leaf) >= Fraction(low))
        and (high is None or Fraction(leaf) <= Fraction(high))
    }
    assert shares_of(attribute, predicate) == pytest.approx(shares_by_hand(hierarchy, inside, missing))


@settings(max_examples=examples(60))
@given(
    first=st.integers(0, 400), length=st.integers(1, 500), low=st.integers(0, 900), more=st.integers(0, 400)
)
def test_an_interval_of_dates_has_the_days_from_end_to_end(first, length, low, more):
    days = [date(2019, 6, 1) + timedelta(first + i) for i in range(length)]
    hierarchy = dates([own.isoformat() for own in days], ["day", "month", "year"])
    attribute = AskedAttribute("d", hierarchy, "date", top_is_missing=False)
    begin = date(2019, 6, 1) + timedelta(low)
    end = begin + timedelta(more)
    inside = {own.isoformat() for own in days if begin <= own <= end}
    predicate = Predicate("d", None, begin.isoformat(), end.isoformat())
    assert shares_of(attribute, predicate) == pytest.approx(shares_by_hand(hierarchy, inside, False))
    months = {own.isoformat() for own in days if (begin.year, begin.month) <= (own.year, own.month)
              and own.year <= end.year}  # fmt: skip
    rough = Predicate("d", None, f"{begin:%Y-%m}", f"{end:%Y}")
    assert shares_of(attribute, rough) == pytest.approx(shares_by_hand(hierarchy, months, False))


def test_a_month_lies_in_an_interval_that_holds_all_of_it():
    hierarchy = dates(["2020-01", "2020-02", "2020-03"], ["month", "year"])
    attribute = AskedAttribute("m", hierarchy, "date", top_is_missing=True)
    for low, high, months in [
        ("2020-01-01", "2020-02-28", {"2020-01"}),
        ("2020-01-02", "2020-02-29", {"2020-02"}),
        ("2020", "2020", {"2020-01", "2020-02", "2020-03"}),
        ("2020-Q2", None, set()),
    ]:
        found = shares_of(attribute, Predicate("m", None, low, high))
        assert found == pytest.approx(shares_by_hand(hierarchy, months, True))


@pytest.mark.parametrize("hierarchy", [TOWNS, AGES, SEVERAL], ids=["tree", "uneven", "several parents"])
@pytest.mark.parametrize("missing", [False, True])
def test_a_set_has_the_leaves_below_all_of_its_values(hierarchy, missing):
    attribute = AskedAttribute("a", hierarchy, None, top_is_missing=missing)
    rng = np.random.default_rng(2)
    for _ in range(examples(30)):
        nodes = rng.choice(hierarchy.n_nodes, rng.integers(1, 4))
        leaves = {hierarchy.labels[hierarchy.leaves[i]] for node in nodes for i in hierarchy.leaves_of(node)}
        found = shares_of(attribute, Predicate("a", tuple(hierarchy.labels[node] for node in nodes)))
        assert found == pytest.approx(shares_by_hand(hierarchy, leaves, missing))


def test_a_label_of_several_nodes_means_the_leaf_then_the_highest_if_that_holds_the_others():
    chain = Hierarchy.from_rows([("Rome", "Rome", "Italy", "Italy"), ("Bari", "South", "Italy", "Italy")])
    attribute = AskedAttribute("town", chain, None, top_is_missing=False)
    assert shares_of(attribute, Predicate("town", ("Rome",))) == shares_by_hand(chain, {"Rome"}, False)
    assert shares_of(attribute, Predicate("town", ("Italy",)))[TOP] == 1.0
    apart = Hierarchy.from_parents({"n": [None], "s": [None], "x": ["n"], "y": ["s"]})
    twice = Hierarchy(tuple("both" if own in "ns" else own for own in apart.labels), apart.parents)
    with pytest.raises(InvalidInput, match="Several values in the hierarchy of 'town' are called 'both'"):
        AskedAttribute("town", twice, None, top_is_missing=False).read(Predicate("town", ("both",)), "/p")


def test_an_attribute_of_numbers_without_a_number_has_no_order():
    words = Hierarchy.from_rows([("low", "*"), ("high", "*")])
    with pytest.raises(InvalidInput, match="no order"):
        AskedAttribute("n", words, "number", top_is_missing=False).read(Predicate("n", None, 1), "/p")
    mixed = Hierarchy.from_rows([("1", "*"), ("2", "*"), ("unknown", "*")])
    found = AskedAttribute("n", mixed, "number", top_is_missing=False)
    assert shares_of(found, Predicate("n", None, 2)) == shares_by_hand(mixed, {"2"}, False)


def asked_of(table):
    return [
        AskedAttribute(name, hierarchy, None, top_is_missing=True)
        for name, hierarchy in zip(table.attributes, table.hierarchies, strict=True)
    ]


@pytest.mark.parametrize("at_once", [2**22, 40])
def test_counts_of_a_draw_are_those_of_loops_over_its_rows(monkeypatch, at_once):
    monkeypatch.setattr("app.domain.mechanisms.counted_release.NUMBERS_AT_ONCE", at_once)
    rng = np.random.default_rng(4)
    table = people(1, 80, missing=True)
    drawn = drawn_of(table, beta=3.0)
    counted = CountedRelease.drawn(drawn, asked_of(table))
    choices = {
        "town": [*TOWNS.labels[1:]], "age": [*AGES.labels[1:]], "ill": [*ILLNESSES.labels],
    }  # fmt: skip
    queries = [
        [
            Predicate(name, tuple(rng.choice(choices[name], rng.integers(1, 3)).tolist()))
            for name in choices
            if rng.integers(2)
        ]
        for _ in range(40)
    ]
    found = counted.estimates(counted.read(queries), EstimateOptions())
    published = drawn.published
    inverse = np.linalg.inv(published.matrix.dense())
    attributes = {own.name: own for own in asked_of(table)}
    for q, query in enumerate(queries):
        shares = {own.attribute: shares_of(attributes[own.attribute], own) for own in query}
        amounts, total = np.zeros(4), 0.0
        for codes in drawn.table.codes.tolist():
            share = 1.0
            for j, name in enumerate(("town", "age")):
                share *= shares[name][codes[j]] if name in shares else 1.0
            amounts[published.values.index(ILLNESSES.labels[codes[2]])] += share
            total += share
        chosen = [
            "ill" not in shares or shares["ill"][ILLNESSES.node_of(value)] == 1 for value in published.values
        ]
        assert found.records[q] == pytest.approx(total)
        assert found.estimates[q] == pytest.approx(sum((inverse @ amounts)[chosen]))


ORGANS = Hierarchy.from_rows(
    [("other", "lung", "*"), ("asthma", "lung", "*"), ("burn", "other", "*"), ("fall", "other", "*")]
)
"""A leaf and what stands above two others have the same label."""


def ills_of(labels, hierarchy, seed="a draw"):
    """A table of nothing but ills, and a release of it."""
    codes = hierarchy.encode(labels)[0][:, None]
    table = Table(("ill",), (hierarchy,), codes, sensitive=frozenset({"ill"}))
    return table, drawn_of(table, seed, beta=1.0)


def counted_by_hand(drawn, share_of):
    """(estimate, standard error) of the records, each with its value's share, by the dense matrix."""
    published = drawn.published
    dense = published.matrix.dense()
    shown = Counter(drawn.table.hierarchies[0].labels[node] for node in drawn.table.codes[:, 0].tolist())
    amounts = np.array([shown[value] for value in published.values])
    shares = np.array([share_of[value] for value in published.values])
    true, weights = np.linalg.inv(dense) @ amounts, np.linalg.inv(dense).T @ shares
    variance = np.maximum(true, 0) @ (dense.T @ weights**2 - shares**2)
    return weights @ amounts, np.sqrt(max(variance, 0.0))


@pytest.mark.parametrize(
    ("values", "inside"),
    [(("other",), {"other"}), (("lung",), {"other", "asthma"}), (("other", "burn"), {"other", "burn"})],
)
def test_a_drawn_leaf_that_is_called_as_a_group_of_others_is_counted_as_the_leaf(values, inside):
    labels = ["other"] * 40 + ["asthma"] * 20 + ["burn"] * 30 + ["fall"] * 10
    table, drawn = ills_of(labels, ORGANS)
    counted = CountedRelease.drawn(drawn, asked_of(table))
    found = counted.estimates(counted.read([[Predicate("ill", values)]]), EstimateOptions())
    right = counted_by_hand(drawn, {own: float(own in inside) for own in labels})
    assert (found.estimates[0], found.standard_errors[0]) == pytest.approx(right)
    assert found.standard_errors[0] > 0
    assert not found.is_biased[0]


def test_a_drawn_value_that_stands_for_several_counts_with_its_share_of_those_asked_for():
    """Some records are only known to be of the lung, where there are two ills."""
    labels = ["lung"] * 30 + ["asthma"] * 20 + ["burn"] * 40
    table, drawn = ills_of(labels, ORGANS)
    counted = CountedRelease.drawn(drawn, asked_of(table))
    asked = [[Predicate("ill", (own,))] for own in ("asthma", "lung", "burn")]
    found = counted.estimates(counted.read(asked), EstimateOptions())
    shares = [{"lung": 0.5, "asthma": 1.0}, {"lung": 1.0, "asthma": 1.0}, {"burn": 1.0}]
    right = [counted_by_hand(drawn, dict.fromkeys(labels, 0.0) | own) for own in shares]
    assert list(zip(found.estimates, found.standard_errors, strict=True)) == [pytest.approx(r) for r in right]
    assert found.is_spread.tolist() == found.is_biased.tolist() == [True, False, False]
    # Over draws the mean is that of the records, each with its share.
    total = 0.0
    for seed in range(200):
        _, again = ills_of(labels, ORGANS, f"draw {seed}")
        counted = CountedRelease.drawn(again, asked_of(table))
        total += counted.estimates(counted.read(asked[:1]), EstimateOptions()).estimates[0]
    assert total / 200 == pytest.approx(35, abs=5 * right[0][1] / np.sqrt(200))


def test_intervals_are_finite_at_every_level():
    table = people(1, 80)
    counted = CountedRelease.drawn(drawn_of(table), asked_of(table))
    queries = counted.read([[Predicate("ill", ("flu",))]])
    widths = []
    for level in (5e-324, 0.5, 0.95, 0.999999, 1 - 2**-53):
        (found,) = [counted.estimates(queries, EstimateOptions(level))]
        assert np.isfinite([found.low, found.high]).all()
        widths.append(float(found.high[0] - found.low[0]) / 2 / found.standard_errors[0])
    # None is narrower than by the normal law alone, nor far wider, though of few records.
    normal = [0, 0.6744897501960817, 1.959963984540054, 4.891638475699, 8.2923611]
    assert widths == sorted(widths)
    assert all(own <= width < 2 * own + 1.5 for own, width in zip(normal, widths, strict=True))


def test_counts_under_a_rule_are_those_of_its_rows():
    table = people(3, 80)
    rows = Counter(map(tuple, table.codes.tolist()))
    counted = CountedRelease.under_rule(
        np.array(list(rows), dtype=np.int32), np.array(list(rows.values())), table.sizes, asked_of(table)
    )
    queries = [
        [Predicate("town", ("Lazio",)), Predicate("ill", ("flu", "gout"))],
        [],
        [Predicate("ill", ("flu",))],
    ]
    found = counted.estimates(counted.read(queries), EstimateOptions(clip=True))
    labels = [(TOWNS.labels[town], ILLNESSES.labels[ill]) for town, _, ill in table.codes.tolist()]
    assert found.estimates.tolist() == [
        sum(town in ("Rome", "Ostia") and ill in ("flu", "gout") for town, ill in labels),
        80,
        sum(ill == "flu" for _, ill in labels),
    ]
    assert not found.standard_errors.any()
    assert not found.is_biased.any()
    assert counted.drawn_attribute is None


def test_a_release_without_a_matrix_is_refused_by_the_name_of_its_mechanism():
    table = people(1)
    with pytest.raises(NotSupported, match="'synthesis' comes with no transition matrix"):
        CountedRelease.drawn(DrawnRelease(table, "synthesis", object()), asked_of(table))


def test_of_many_values_that_there_are_not_the_first_are_told_without_holding_them_all():
    table = people(1, 60)
    counted = CountedRelease.drawn(drawn_of(table), asked_of(table))
    queries = [[Predicate("town", ("nowhere",) * 50_000)]] * 4
    tracemalloc.start()
    try:
        with pytest.raises(InvalidInput) as refused:
            counted.read(queries)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [own.pointer for own in refused.value.faults] == [
        f"/queries/0/where/0/values/{i}" for i in range(50)
    ]
    assert peak < 2**20
    with pytest.raises(InvalidInput) as refused:
        counted.read([[Predicate("nothing", ("x",))] * 1_000])
    assert len(refused.value.faults) == 50


def test_nested_groups_that_are_all_named_take_no_more_memory_than_their_leaves():
    """Each of 400 groups holds all 2,000 leaves: together they have 800,000."""
    depth, n = 400, 2_000
    parents = {"g0": [None], **{f"g{i}": [f"g{i - 1}"] for i in range(1, depth)}}
    nested = Hierarchy.from_parents(parents | {f"v{i}": [f"g{depth - 1}"] for i in range(n)})
    attribute = AskedAttribute("a", nested, None, top_is_missing=False)
    selection = attribute.read(Predicate("a", tuple(parents)), "/p")
    assert attribute.shares([selection]).all()
    tracemalloc.start()
    try:
        attribute.shares([selection])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2**18


def test_an_estimate_of_the_time_grows_with_rows_queries_and_values():
    table = people(1, 60)
    counted = CountedRelease.drawn(drawn_of(table), asked_of(table))
    one, two = [[Predicate("town", ("Rome",))]], [[Predicate("town", ("Rome",)), Predicate("age", ("old",))]]
    seconds = [counted.seconds(counted.read(own)) for own in (one, two, two * 100)]
    assert 0 < seconds[0] < seconds[1] < seconds[2] / 10


def test_an_estimate_of_the_time_knows_that_rows_are_gone_through_for_every_batch_of_queries(monkeypatch):
    """Of a great hierarchy few queries are prepared at a time, and each time the rows are reduced anew."""
    table = people(1, 60)
    counted = CountedRelease.drawn(drawn_of(table), asked_of(table))
    queries = counted.read([[Predicate("town", ("Rome",))]] * 100)
    together = counted.seconds(queries)
    monkeypatch.setattr("app.domain.mechanisms.counted_release.NUMBERS_AT_ONCE", 1)
    monkeypatch.setattr("app.domain.mechanisms.counted_release.SECONDS_PER_ROW", 1.0)
    assert counted.seconds(queries) > 100 * together
    rows = len({tuple(own) for own in drawn_of(table).table.codes.tolist()})
    assert counted.seconds(queries) == pytest.approx(100 * 2 * rows, rel=0.01)


def test_many_queries_of_a_great_hierarchy_of_drawn_values_take_bounded_memory_and_their_time_is_known():
    """Few of its 20,000 values occur, so that what is published says nothing of the work."""
    great = Hierarchy.from_rows([(f"v{i}", f"g{i % 50}", "*") for i in range(20_000)])
    table, drawn = ills_of(["v1", "v2", "v3"] * 20, great)
    counted = CountedRelease.drawn(drawn, asked_of(table))
    queries = counted.read([[Predicate("ill", ("g1",))]] * 1_000)
    one = counted.seconds(queries[:1])
    # 10,000 of them are above the 10 s that a request may take.
    assert 10 * counted.seconds(queries) == pytest.approx(10_000 * one, rel=0.01)
    assert 10_000 * one > 1
    tracemalloc.start()
    try:
        found = counted.estimates(queries, EstimateOptions())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100 * 2**20
    assert len(found.estimates) == 1_000
