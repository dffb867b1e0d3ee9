"""Bayes-optimal beliefs: the dissertation's test vectors, its counterexample, criteria and edge cases."""

from dataclasses import replace

import numpy as np
import pytest

from app.domain.attacks.posterior_beliefs import POSTERIOR_BELIEFS
from app.domain.dictionaries.dictionary import Dictionary, link_identity
from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.rules.rule import RecordRule, TableRule, identity
from app.domain.tables.table import Table
from tests.unit.measures import diversity_tables as tables


def rows_of(counts):
    return [row for row, n in counts.items() for _ in range(n)]


def of_counts(table, population):
    """A table of (q, s) with these counts, and a dictionary of people with those."""
    names, rows, people = ("q", "s"), rows_of(table), rows_of(population)
    hierarchies = [tables.flat(row[j] for row in [*rows, *people]) for j in (0, 1)]
    links = tuple(
        link_identity(name, hierarchies[j], [row[j] for row in people]) for j, name in enumerate(names)
    )
    return tables.table(names, hierarchies, rows, {"s"}), Dictionary(len(people), links)


def believed(found, known, rule=None, **parameters):
    context = replace(tables.context_of(found, rule), dictionary=known)
    asked = POSTERIOR_BELIEFS.parameters(**parameters)
    assert POSTERIOR_BELIEFS.supports(context, asked) is None
    ticks = []
    result = POSTERIOR_BELIEFS.compute(context, asked, ticks.append)
    assert ticks[-1] == POSTERIOR_BELIEFS.cost(context, asked).units
    return result


POPULATION = {
    ("J", "HD"): 1,
    ("J", "VI"): 99,
    ("J", "C"): 50,
    ("O", "HD"): 180,
    ("O", "VI"): 270,
    ("O", "C"): 400,
}
SUPPRESSED = TableRule((1, 0))


@pytest.mark.spec("LD-S6", "LD-D04")
@pytest.mark.parametrize(
    ("counts", "prior", "belief"),
    [
        ({("J", "VI"): 1, ("O", "VI"): 1, ("O", "HD"): 2}, 0.66, 1991 / 2032),
        ({("J", "VI"): 1, ("O", "HD"): 1, ("O", "C"): 2}, 0.66, 17919 / 33130),
        ({("J", "HD"): 1, ("O", "HD"): 1, ("O", "VI"): 2}, 1 / 150, 41 / 2032),
        ({("J", "HD"): 1, ("O", "VI"): 1, ("O", "C"): 2}, 1 / 150, 369 / 33130),
        ({("J", "C"): 1, ("O", "C"): 1, ("O", "HD"): 1, ("O", "VI"): 1}, 1 / 3, 7421 / 16565),
    ],
)
def test_beliefs_about_the_japanese(counts, prior, belief):
    found, known = of_counts(counts, POPULATION)
    japanese = next(own for own in believed(found, known, SUPPRESSED).exposed if own.records.rows == (1,))
    assert (japanese.prior, japanese.belief) == pytest.approx((prior, belief), rel=1e-12)


THEOREM_32 = {("q1", "s1"): 1, ("q1", "s2"): 1, ("q2", "s1"): 35, ("q2", "s2"): 15}
F_32 = {("q1", "s1"): 3, ("q1", "s2"): 7, ("q2", "s1"): 5, ("q2", "s2"): 5}


@pytest.mark.spec("LD-S6", "LD-E22", "LD-D04")
def test_generalising_can_breach_what_was_private():
    """Theorem 3.2: apart no belief changes much; together q1 comes to s1 from 0.3 to above 0.59."""
    found, known = of_counts(THEOREM_32, F_32)
    rho = {"rho_1": 0.31, "rho_2": 0.58}
    apart = believed(found, known, identity(2), **rho)
    assert (apart.is_private, apart.upward.pairs, apart.downward.pairs) == (True, 0, 0)
    by_row = {own.records.rows[0]: own for own in apart.exposed}
    assert (by_row[1].prior, by_row[1].belief) == pytest.approx((0.3, 0.5))
    assert (by_row[3].prior, by_row[3].belief) == pytest.approx((0.5, 0.7))
    together = believed(found, known, SUPPRESSED, **rho)
    assert together.is_private is False
    worst = together.upward.worst
    # Both ways: s2 falls as far as s1 rises.
    assert (together.upward.pairs, together.upward.records, together.downward.pairs) == (1, 2, 1)
    assert (worst.records.rows, worst.value) == ((1, 2), "s1")
    weights = {"s1": 36 * 3 / 8, "s2": 16 * 7 / 12}
    assert (worst.prior, worst.belief) == pytest.approx((0.3, weights["s1"] / sum(weights.values())))
    assert 0.59 < worst.belief < 0.592
    # The two kinds of person are not believed alike (erratum 22).
    other = next(own for own in together.exposed if own.records.rows[0] == 3)
    assert other.belief != pytest.approx(worst.belief, abs=0.05)


@pytest.mark.spec("LD-D04")
def test_a_class_of_one_value_is_certain_whatever_is_known():
    found, known = of_counts({("J", "HD"): 1, ("O", "HD"): 3}, POPULATION)
    result = believed(found, known, SUPPRESSED)
    assert (result.positive.records, result.positive.greatest_belief) == (4, 1.0)
    assert result.negative.records == result.negative.records_ruled_out == 4
    # From 1/150 to 1, and VI from 0.66 to 0.
    assert result.upward.worst.value == "HD"
    assert result.greatest_increase == pytest.approx(149 / 150)
    assert result.greatest_decrease == pytest.approx(0.66)
    assert result.greatest_ratio == pytest.approx(150)


@pytest.mark.spec("LD-D04")
def test_without_dependence_beliefs_are_the_shares_of_the_class():
    population = {(q, s): n * m for q, n in (("J", 2), ("O", 3)) for s, m in (("a", 1), ("b", 4))}
    found, known = of_counts({("J", "a"): 1, ("O", "a"): 2, ("O", "b"): 1}, population)
    result = believed(found, known, SUPPRESSED)
    assert {own.value: own.belief for own in result.exposed} == pytest.approx({"a": 3 / 4, "b": 1 / 4})


@pytest.mark.spec("LD-D04")
@pytest.mark.parametrize(("delta", "records"), [(0.25, 0), (0.2501, 3)])
def test_a_positive_disclosure_is_strictly_above(delta, records):
    found, known = of_counts({("J", "a"): 3, ("J", "b"): 1}, {("J", "a"): 1, ("J", "b"): 1})
    assert believed(found, known, delta=delta).positive.records == records


@pytest.mark.spec("LD-D04")
@pytest.mark.parametrize(("epsilon", "records"), [(0.25, 0), (0.2501, 3), (0.7501, 4)])
def test_a_negative_disclosure_is_of_another_value_and_strictly_below(epsilon, records):
    found, known = of_counts({("J", "a"): 3, ("J", "b"): 1}, {("J", "a"): 1, ("J", "b"): 1})
    result = believed(found, known, epsilon=epsilon)
    assert (result.negative.records, result.negative.records_ruled_out) == (records, 0)


@pytest.mark.spec("LD-D04")
def test_values_of_the_population_that_the_class_lacks_are_ruled_out():
    found, known = of_counts({("J", "a"): 2, ("J", "b"): 2}, {("J", "a"): 1, ("J", "b"): 1, ("J", "c"): 98})
    result = believed(found, known)
    assert result.negative.records_ruled_out == 4
    assert (result.downward.pairs, result.downward.records) == (1, 4)
    assert (result.downward.worst.value, result.downward.worst.prior) == ("c", 0.98)


@pytest.mark.spec("LD-14", "LD-D04")
def test_a_population_that_contradicts_the_release_gives_no_number():
    found, known = of_counts({("J", "a"): 2, ("O", "b"): 3}, {("J", "b"): 1, ("O", "b"): 2})
    result = believed(found, known)
    assert (result.records_with_number, result.records_contradicted, result.records_inconsistent) == (3, 2, 0)
    assert result.is_private is None
    found, known = of_counts({("J", "a"): 2, ("O", "b"): 3}, {("O", "a"): 1, ("O", "b"): 2})
    result = believed(found, known, SUPPRESSED)
    assert (result.records_with_number, result.records_contradicted, result.records_inconsistent) == (3, 0, 2)


def test_a_missing_value_has_no_prior_and_its_share_of_the_class():
    found, known = of_counts({("J", "a"): 3, ("J", "b"): 1}, {("J", "a"): 1, ("J", "b"): 1})
    codes = found.codes.copy()
    codes[3, 1] = TOP
    found = Table(found.attributes, found.hierarchies, codes, sensitive=found.sensitive)
    result = believed(found, known)
    missing = next(own for own in result.exposed if own.records.rows == (4,))
    assert (missing.prior, missing.belief) == (None, 0.25)
    assert believed(found, known, missing_sensitive="excluded").positive.records == 3


def test_attributes_that_the_dictionary_lacks_say_nothing_more():
    rows = [("J", "x", "a"), ("J", "y", "b"), ("O", "x", "a"), ("O", "y", "b")]
    hierarchies = [tables.flat(row[j] for row in rows) for j in range(3)]
    found = tables.table(("q", "z", "s"), hierarchies, rows, {"s"})
    people = rows_of({("J", "a"): 3, ("J", "b"): 1, ("O", "a"): 1, ("O", "b"): 1})
    links = tuple(
        link_identity(n, found.hierarchies[j], [p[i] for p in people])
        for i, (n, j) in enumerate([("q", 0), ("s", 2)])
    )
    result = believed(found, Dictionary(len(people), links), TableRule((1, 1, 0)))
    assert result.known == ("q",)
    weights = 2 * (3 / 4) / (4 / 6), 2 * (1 / 4) / (2 / 6)
    by_row = {own.records.rows[0]: own.belief for own in result.exposed}
    assert by_row[1] == pytest.approx(weights[0] / sum(weights))


def test_rules_for_single_records_are_judged_by_what_each_class_shows():
    city = Hierarchy.from_parents(
        {"a": ["north"], "b": ["north"], "c": ["south"], "north": [None], "south": [None]}
    )
    sick = tables.flat(("no", "yes"))
    rows = [("a", "yes"), ("b", "no"), ("c", "no"), ("c", "yes")]
    found = tables.table(("city", "sick"), (city, sick), rows, {"sick"})
    people = rows_of(
        {("a", "yes"): 3, ("a", "no"): 1, ("b", "yes"): 1, ("b", "no"): 3, ("c", "no"): 1, ("c", "yes"): 1}
    )
    links = tuple(
        link_identity(n, h, [p[i] for p in people])
        for i, (n, h) in enumerate([("city", city), ("sick", sick)])
    )
    rule = RecordRule(np.array([[1, 0], [1, 0], [0, 0], [0, 0]], dtype=np.int16))
    result = believed(found, Dictionary(len(people), links), rule)
    by_row = {own.records.rows[0]: own.belief for own in result.exposed}
    assert by_row == pytest.approx({1: 3 / 4, 2: 3 / 4, 3: 1 / 2, 4: 1 / 2})


def test_the_thresholds_of_a_breach_are_in_order():
    found, known = of_counts(THEOREM_32, F_32)
    with pytest.raises(InvalidInput) as refused:
        believed(found, known, rho_1=0.5, rho_2=0.5)
    assert refused.value.faults[0].pointer == "/measure/rho_1"
