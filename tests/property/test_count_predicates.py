"""Predicates and counts of releases, against loops over leaves and rows."""

from __future__ import annotations

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


def test_an_estimate_of_the_time_grows_with_rows_queries_and_values():
    table = people(1, 60)
    counted = CountedRelease.drawn(drawn_of(table), asked_of(table))
    one, two = [[Predicate("town", ("Rome",))]], [[Predicate("town", ("Rome",)), Predicate("age", ("old",))]]
    seconds = [counted.seconds(counted.read(own)) for own in (one, two, two * 100)]
    assert 0 < seconds[0] < seconds[1] < seconds[2] / 10
