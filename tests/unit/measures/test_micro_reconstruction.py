"""What the group of a person tells of the shares of values, who is found by it, and when nothing is said."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest

from app.domain.attacks.micro_reconstruction import MICRO_RECONSTRUCTION
from app.domain.attacks.sought_groups import SoughtGroups
from app.domain.dictionaries.dictionary import Dictionary, link_identity
from app.domain.errors import InvalidInput
from app.domain.mechanisms.sample_perturb_scale import SAMPLE_PERTURB_SCALE, SamplePerturbScale
from app.domain.mechanisms.uniform_perturbation import UNIFORM_PERTURBATION, UniformPerturbation
from app.domain.models.reading import unreadable
from app.domain.rules.rule import TableRule
from app.domain.tables.table import Table
from tests.oracles.drawn_releases import context_of, drawn_by, drawn_of, measured
from tests.unit.measures.closeness_tables import of_classes
from tests.unit.measures.diversity_tables import flat
from tests.unit.measures.ill_people import AGES, ILLNESSES, TOWNS, people

ILL = tuple(ILLNESSES.labels[leaf] for leaf in ILLNESSES.leaves)
SAMPLED = {"p": 0.5, "p_cap": 0.5, "epsilon": 1.0}


def uniform(table, seed="a draw", rule=None, p=0.5):
    return drawn_by(UNIFORM_PERTURBATION, UniformPerturbation(p=p, p_cap=p), table, seed, rule)


def groups_of(codes):
    """{shown: how often each illness is there}."""
    found = defaultdict(Counter)
    for town, age, ill in codes.tolist():
        found[TOWNS.labels[town], AGES.labels[age]][ILLNESSES.labels[ill]] += 1
    return found


def likeliest(counts, p, m):
    """By expectation-maximisation from equal shares."""
    c, n = (1 - p) / m, counts.total()
    shares = dict.fromkeys(ILL, 1 / m)
    for _ in range(5000):
        shown = {v: p * shares[v] + c for v in ILL}
        back = math.fsum(counts[v] / shown[v] for v in ILL) * c
        shares = {v: shares[v] * (counts[v] / shown[v] * p + back) / n for v in ILL}
    return shares


@pytest.mark.parametrize("rule", [None, TableRule((1, 1, 0))])
def test_estimates_of_a_drawn_release_are_those_of_its_groups(rule):
    table, p, m = people(3, 300), 0.5, 4
    drawn, c = uniform(table, rule=rule), 0.125
    by_group = groups_of(drawn.table.codes)
    found = measured(MICRO_RECONSTRUCTION, context_of(table, drawn), top=200, errors=1.5, share=0.4)
    assert (found.groups, found.records, found.p, found.values) == (len(by_group), 300, p, m)
    assert {own.shows for own in found.worst} == set(by_group)
    for own in found.worst:
        counts, n = by_group[own.shows], own.records
        assert n == counts.total()
        shares = likeliest(counts, p, m)
        for value in own.values:
            shown = counts[value.value]
            estimated = (shown / n - c) / p
            assert (value.shown, value.estimated) == (shown, pytest.approx(estimated))
            assert value.likeliest == pytest.approx(shares[value.value], abs=1e-4)
            with_value = min(max(estimated * n, 0), n)
            variance = (with_value * 0.625 * 0.375 + (n - with_value) * c * 0.875) / p**2
            assert value.standard_error == pytest.approx(math.sqrt(variance) / n)
            right = value.likeliest * 0.625
            assert value.believed == pytest.approx(right / (right + (1 - value.likeliest) * c))
        first = own.values[0]
        assert own.told == pytest.approx(min(first.estimated, 1) - 1.5 * first.standard_error)
    assert [own.told for own in found.worst] == sorted((own.told for own in found.worst), reverse=True)
    exposed = [own for own in found.worst if own.told > 0.4]
    assert (found.groups_exposed, found.records_exposed) == (
        len(exposed),
        sum(own.records for own in exposed),
    )


def test_the_published_example_of_a_group_in_which_all_have_one_value():
    """Wang et al., example 1: no value of one record is believed by more than half; that of the group is."""
    k, values = 100, flat(f"x{i:02}" for i in range(1, 11))
    place = {label: node for node, label in enumerate(values.labels)}
    rows = [("male, 30", "x01")] * 1000 + [("others", f"x{i:02}") for i in range(2, 11) for _ in range(1000)]
    # Of the 1,000 with x1 all but k are spread over groups of their own.
    rows = [(f"group {i // k:02}" if i < 1000 else town, v) for i, (town, v) in enumerate(rows)]
    towns = flat(town for town, _ in rows)
    codes = np.array([[towns.labels.index(town), place[v]] for town, v in rows], dtype=np.int32)
    table = Table(("who", "illness"), (towns, values), codes, sensitive=frozenset({"illness"}))
    found = measured(MICRO_RECONSTRUCTION, context_of(table, uniform(table, p=4 / 9)), top=10)
    own = next(group for group in found.worst if group.shows == ("group 00",)).values[0]
    assert own.value == "x01"
    # Mean 1 and deviation 0.1125; outside 5 of these with a probability of less than 1e-6.
    assert abs(own.estimated - 1) < 5 * 0.1125
    assert own.believed_without_group == pytest.approx(0.5, abs=0.1)
    assert own.believed > 0.85
    planned = measured(MICRO_RECONSTRUCTION, context_of(table, None), p=4 / 9, top=10)
    own = planned.worst[0].values[0]
    assert (own.estimated, own.standard_error) == (1, pytest.approx(0.1125))
    assert (own.believed, own.believed_without_group) == (1, pytest.approx(0.5))
    assert "would have over draws" in planned.standard_errors
    assert planned.groups_exposed == 10


def known(rows, **columns):
    """A dictionary of these people by their attributes' labels, None where one is not known."""
    hierarchies = {"town": TOWNS, "age": AGES}
    links = tuple(link_identity(own, hierarchies[own], values) for own, values in columns.items())
    return Dictionary(rows, links)


def fitting(codes, town, age):
    """The groups that agree with what is known, by every pair of values that is below both."""
    found = set()
    for t, a in {(t, a) for t, a, _ in codes.tolist()}:

        def below(hierarchy, node, label):
            if label is None:
                return True
            other = hierarchy.labels.index(label)
            return bool(set(hierarchy.leaves_of(node)) & set(hierarchy.leaves_of(other)))

        if below(TOWNS, t, town) and below(AGES, a, age):
            found.add((t, a))
    return found


@pytest.mark.parametrize("rule", [None, TableRule((1, 0, 0))])
def test_persons_of_a_dictionary_find_their_own_group_an_aggregate_or_one_by_coincidence(rule, monkeypatch):
    monkeypatch.setattr("app.domain.attacks.sought_groups.PAIRS_AT_ONCE", 20)
    table = people(4, 60)
    # Nobody of Lecce is old: who is known to be there and 20 or older fits fewer groups.
    codes = table.codes[(table.codes[:, 0] != TOWNS.node_of("Lecce")) | (table.codes[:, 1] == AGES.leaves[0])]
    table = replace(table, codes=codes)
    towns = ["Rome", "Rome", "Lecce", "Lecce", None, "Lazio", "Bari", "Lecce"]
    ages = ["20", "20", "20", None, "30", "20", "young", "70"]
    drawn = uniform(table, rule=rule)
    context = context_of(table, drawn, known(8, town=towns, age=ages))
    found = measured(MICRO_RECONSTRUCTION, context, top=200)
    numbers = [len(fitting(drawn.table.codes, t, a)) for t, a in zip(towns, ages, strict=True)]
    is_exact = [True, True, True, False, False, False, False, True]
    sought = found.sought
    assert sought.persons == 8
    assert sought.without_group == numbers.count(0)
    assert sought.of_own_group == sum(n == 1 and e for n, e in zip(numbers, is_exact, strict=True))
    assert sought.coinciding == sum(n == 1 and not e for n, e in zip(numbers, is_exact, strict=True))
    assert sought.of_aggregates == sum(n > 1 for n in numbers)
    assert found.groups == len({
        tuple(sorted(fitting(drawn.table.codes, t, a)))
        for t, a, n in zip(towns, ages, numbers, strict=True) if n == 1
    })  # fmt: skip
    assert sum(own.persons for own in found.worst) == sought.of_own_group
    assert sum(own.persons_coinciding for own in found.worst) == sought.coinciding
    assert all(own.known == ("town", "age") for own in found.aggregates)
    assert sorted(own.groups for own in found.aggregates) == sorted({
        (t, a): n for t, a, n in zip(towns, ages, numbers, strict=True) if n > 1
    }.values())  # fmt: skip
    if rule is None:
        assert sought.coinciding >= 1  # of Lecce, whatever the age: a single group
        assert sought.without_group == 1


def labels(rng, hierarchy, n, vague):
    """Of n persons, leaves' labels, and of some an inner node's or none."""
    leaves = [hierarchy.labels[leaf] for leaf in hierarchy.leaves]
    inner = [hierarchy.labels[node] for node in range(1, hierarchy.n_nodes) if not hierarchy.is_leaf[node]]
    return [rng.choice([*inner, None]) if rng.random() < vague else str(rng.choice(leaves)) for _ in range(n)]


@pytest.mark.parametrize("rule", [None, TableRule((1, 0, 0)), TableRule((2, 1, 0)), TableRule((2, 2, 0))])
@pytest.mark.parametrize("vague", [0.0, 0.4])
def test_a_missing_value_is_a_category_of_its_own_for_who_is_known_exactly(rule, vague, monkeypatch):
    """By every pair: rows that show nothing, where others do, are theirs only if no other row is."""
    monkeypatch.setattr("app.domain.attacks.sought_groups.PAIRS_AT_ONCE", 20)
    rng = np.random.default_rng(7)
    for seed in range(6):
        table = people(seed, 40)
        codes = table.codes.copy()
        codes[rng.integers(0, 40, 3), rng.integers(0, 2, 3)] = 0
        table = replace(table, codes=codes[codes[:, 0] != TOWNS.leaves[seed % TOWNS.n_leaves]])
        towns, ages = labels(rng, TOWNS, 25, vague), labels(rng, AGES, 25, vague)
        drawn = uniform(table, rule=rule)
        found = measured(
            MICRO_RECONSTRUCTION, context_of(table, drawn, known(25, town=towns, age=ages)), top=200
        ).sought
        shown = np.unique(drawn.table.codes[:, :2], axis=0)
        is_empty = (shown == 0).all(axis=0)
        numbers, exact = [], []
        for town, age in zip(towns, ages, strict=True):
            fits = fitting(drawn.table.codes, town, age)
            whole = {own for own in fits if not any(own[j] == 0 and not is_empty[j] for j in (0, 1))}
            known_exactly = all(
                one is not None and len(hierarchy.leaves_of(hierarchy.labels.index(one))) == 1
                for one, hierarchy in ((town, TOWNS), (age, AGES))
            )
            exact.append(known_exactly)
            numbers.append(len(whole if known_exactly and whole else fits))
        assert found.without_group == numbers.count(0)
        assert found.of_aggregates == sum(n > 1 for n in numbers)
        assert found.of_own_group == sum(n == 1 and e for n, e in zip(numbers, exact, strict=True))
        assert found.coinciding == sum(n == 1 and not e for n, e in zip(numbers, exact, strict=True))


def test_rows_without_a_value_come_last_also_where_several_nodes_show_it():
    nodes = [("Rome", "20"), ("Rome", None), ("Bari", "young"), ("Bari", None)]
    codes = np.array(
        [[TOWNS.node_of(t), 0 if a is None else AGES.node_of(a)] for t, a in nodes], dtype=np.int32
    )
    persons = known(3, town=["Rome", "Bari", "Rome"], age=["20", "20", "70"])
    found = SoughtGroups(people(1), persons, (0, 1), codes, lambda _: None)
    of_kind = {
        tuple(own): found.groups(kind).tolist() for kind, own in enumerate(found._kinds.codes.tolist())
    }
    assert sorted(of_kind.values()) == [[0], [1], [2]]
    assert found.number.tolist() == [1, 1, 1]


def test_one_row_without_a_value_hides_no_exposure():
    table = towns_and_streets(5, [(200,)])
    codes = np.concatenate([table.codes, [[table.codes[0, 0], 0, table.codes[0, 2]]]]).astype(np.int32)
    towns = [table.hierarchies[0].labels[node] for node in table.hierarchies[0].leaves]
    links = (
        link_identity("town", table.hierarchies[0], towns),
        link_identity("street", table.hierarchies[1], ["s00"] * 5),
    )
    for own in (table, replace(table, codes=codes)):
        found = measured(MICRO_RECONSTRUCTION, context_of(own, uniform(own), Dictionary(5, links)))
        assert (found.sought.of_own_group, found.sought.exposed, found.groups_exposed) == (5, 5, 5)


@pytest.mark.deep
def test_persons_known_exactly_are_looked_up_and_others_compared_in_parts(monkeypatch):
    """100,000 persons and as many groups would be 10,000 million pairs."""
    n = 300
    numbers = flat(f"{i:06}" for i in range(n * n))
    values = flat(["v", "w"])
    codes = np.stack([numbers.leaves, np.resize(values.leaves, n * n)], axis=1).astype(np.int32)
    table = Table(("number", "ill"), (numbers, values), codes, sensitive=frozenset({"ill"}))
    texts = [numbers.labels[leaf] for leaf in numbers.leaves]
    context = context_of(table, None, Dictionary(n * n, (link_identity("number", numbers, texts),)))
    asked = MICRO_RECONSTRUCTION.parameters(p=0.5)
    with monkeypatch.context() as patched:
        patched.setattr(SoughtGroups, "_fits", lambda *_: pytest.fail("pairs are compared"))
        found = MICRO_RECONSTRUCTION.compute(context, asked, lambda _: None)
    assert found.sought.of_own_group == n * n
    assert MICRO_RECONSTRUCTION.cost(context, asked).seconds < 2
    monkeypatch.setattr("app.domain.attacks.sought_groups.PAIRS_AT_ONCE", 20)
    small, ticks = people(4, 60), []
    vague = context_of(
        small, None, known(4, town=["Rome", None, "Lazio", "Bari"], age=["20", "20", "20", None])
    )
    MICRO_RECONSTRUCTION.compute(vague, asked, ticks.append)
    assert len(ticks) >= 4
    assert ticks == sorted(ticks)
    assert ticks[-1] == MICRO_RECONSTRUCTION.cost(vague, asked).units


def test_who_is_known_by_one_attribute_of_two_is_never_known_exactly():
    table = people(4, 60)
    context = context_of(table, uniform(table), known(2, town=["Rome", "Bari"]))
    found = measured(MICRO_RECONSTRUCTION, context)
    assert (found.sought.of_aggregates, found.groups, found.worst) == (2, 0, ())
    rome = next(own for own in found.aggregates if own.groups)
    drawn = context.drawn.table.codes
    of_rome = drawn[drawn[:, 0] == TOWNS.node_of("Rome")]
    assert {own.records for own in found.aggregates} >= {len(of_rome)}
    assert sum(own.likeliest for own in rome.values) == pytest.approx(1)
    nodes = np.unique(table.codes[:, :2], axis=0)
    assert not SoughtGroups(table, context.dictionary, (0, 1), nodes, lambda _: None).is_exact.any()


def test_copies_of_samples_of_a_published_size_have_standard_errors_that_are_met():
    """Of 200 groups of 1,000, half of each with one value, the ratio of squares has the deviation 0.1."""
    values = tuple(f"v{i:02}" for i in range(14))
    table = of_classes([(500, *[39] * 12, 32)] * 200, values)
    drawn = drawn_by(SAMPLE_PERTURB_SCALE, SamplePerturbScale(p=0.5, p_cap=0.5), table)
    found = measured(MICRO_RECONSTRUCTION, context_of(table, drawn), top=200)
    assert "size is published" in found.standard_errors
    assert found.groups_exposed is not None
    first = [own.values[0] for own in found.worst]
    assert {own.value for own in first} == {"v00"}
    errors = np.array([own.estimated - 0.5 for own in first])
    expected = np.array([own.standard_error for own in first])
    assert 0.7 < (errors**2).mean() / (expected**2).mean() < 1.3


def towns_and_streets(n_towns, counts):
    """A table of so many towns, each with groups of these counts of values."""
    streets, values = flat(f"s{i:02}" for i in range(len(counts))), flat(f"v{i:02}" for i in range(14))
    towns = flat(f"t{i:02}" for i in range(n_towns))
    rows = [
        (towns.leaves[town], streets.leaves[street], values.leaves[value])
        for town in range(n_towns)
        for street, own in enumerate(counts)
        for value, amount in enumerate(own)
        for _ in range(amount)
    ]
    codes = np.array(rows, dtype=np.int32)
    return Table(("town", "street", "ill"), (towns, streets, values), codes, sensitive=frozenset({"ill"}))


def test_rows_of_several_groups_are_several_samples():
    """Of 40 towns of 5 groups, with 4.1 and 1.8 times the rows that are sampled, and one of few rows.

    The ratio of squares of errors of the towns has the deviation 0.22; an error as of one sample of 57 for
    all would make it some 0.3.
    """
    counts = [(140, *[8] * 11, 6, 0)] * 4 + [(60, 20, 20), (20, 10)]
    table = towns_and_streets(40, counts)
    n = sum(map(sum, counts))
    true = sum(own[0] for own in counts) / n
    drawn = drawn_by(SAMPLE_PERTURB_SCALE, SamplePerturbScale(p=0.5, p_cap=0.5), table)
    found = measured(MICRO_RECONSTRUCTION, context_of(table, drawn), quasi_identifiers=("town",), top=40)
    assert drawn.published.sample_size == 57
    first = [own.values[0] for own in found.worst]
    ratios = [((own.estimated - true) / own.standard_error) ** 2 for own in first]
    assert 0.5 < np.mean(ratios) < 1.7
    assert {own.records for own in found.worst} == {n}
    # With the error of one sample nothing would be exposed.
    low = measured(MICRO_RECONSTRUCTION, context_of(table, drawn), quasi_identifiers=("town",), share=0.4)
    assert low.groups_exposed > 30
    streets = Dictionary(1, (link_identity("street", table.hierarchies[1], ["s00"]),))
    sought = measured(MICRO_RECONSTRUCTION, context_of(table, drawn, streets))
    (aggregate,) = sought.aggregates
    assert (aggregate.groups, aggregate.records) == (40, 40 * 234)
    errors = [
        own.values[0].standard_error
        for own in measured(MICRO_RECONSTRUCTION, context_of(table, drawn), top=200).worst
        if own.records == 234
    ]
    assert aggregate.values[0].standard_error == pytest.approx(np.mean(errors) / math.sqrt(40), rel=0.05)


def test_rows_of_several_groups_that_are_within_the_sample_have_the_errors_of_independent_draws():
    table = towns_and_streets(3, [(24, 8, 8)] * 10)
    drawn = drawn_by(SAMPLE_PERTURB_SCALE, SamplePerturbScale(p=0.5, p_cap=0.5), table)
    found = measured(MICRO_RECONSTRUCTION, context_of(table, drawn), quasi_identifiers=("town",))
    for own in (one for group in found.worst for one in group.values):
        having = min(max(own.estimated, 0), 1)
        a, c = 0.5 + 0.5 / 14, 0.5 / 14
        variance = (having * a * (1 - a) + (1 - having) * c * (1 - c)) / 0.25 / 400
        assert own.standard_error == pytest.approx(math.sqrt(variance))
        assert own.believed is not None


@pytest.mark.parametrize(("mode", "known"), [("balanced_fixed", True), ("balanced", True), ("paper", False)])
def test_nothing_is_believed_of_a_person_of_whom_there_may_be_no_row(mode, known):
    """Of a thousand records 57 are sampled: a shown value is a copy, and whose it is nobody knows."""
    table = towns_and_streets(1, [(600, *[30] * 13), (30, 10), (3, 1)])
    asked = SamplePerturbScale(p=0.5, p_cap=0.5, mode=mode, accept_known_leak=mode == "paper")
    drawn = drawn_by(SAMPLE_PERTURB_SCALE, asked, table)
    found = measured(MICRO_RECONSTRUCTION, context_of(table, drawn))
    for group in found.worst:
        is_said = known and group.records <= 57
        for own in group.values:
            assert (own.believed is not None, own.believed_without_group is not None) == (is_said, is_said)
    whole = measured(MICRO_RECONSTRUCTION, context_of(table, drawn), quasi_identifiers=("town",))
    assert whole.worst[0].values[0].believed is None


def test_no_group_of_a_single_row_is_exposed_by_an_estimate_above_one():
    """It is (1 − c)/p = 1.10 of the value that the row shows, with an error of 0.32."""
    table = towns_and_streets(30, [(1,)])
    drawn = uniform(table, p=0.9)
    found = measured(MICRO_RECONSTRUCTION, context_of(table, drawn), share=0.45, top=1)
    (group,) = found.worst
    assert found.groups_exposed == 0
    (value,) = group.values
    assert value.estimated > 1
    assert value.estimated - 2 * value.standard_error > 0.37 > group.told


def test_copies_of_samples_of_unknown_sizes_have_estimates_and_no_standard_error():
    table = people(5, 300)
    asked = SamplePerturbScale(**SAMPLED, mode="balanced")
    drawn = drawn_by(SAMPLE_PERTURB_SCALE, asked, table)
    found = measured(MICRO_RECONSTRUCTION, context_of(table, drawn), top=3)
    assert (found.groups_exposed, found.records_exposed, found.worst[0].told) == (None, None, None)
    assert "published in copies" in found.standard_errors
    assert [own.records for own in found.worst] == sorted(
        (own.total() for own in groups_of(drawn.table.codes).values()), reverse=True
    )[:3]
    for own in found.worst:
        shown = own.values[0]
        assert shown.standard_error is None
        assert shown.estimated == pytest.approx((shown.shown / own.records - 0.125) / 0.5)


def test_of_a_dataset_without_quasi_identifiers_all_rows_are_one_group():
    values = flat(["v", "w"])
    codes = np.resize(values.leaves, (90, 1)).astype(np.int32)
    table = Table(("ill",), (values,), codes, sensitive=frozenset({"ill"}))
    sampled = drawn_by(SAMPLE_PERTURB_SCALE, SamplePerturbScale(p=0.5, p_cap=0.5), table)
    for drawn in (uniform(table), sampled):
        found = measured(MICRO_RECONSTRUCTION, context_of(table, drawn))
        assert (found.groups, found.records, found.quasi_identifiers) == (1, 90, ())
        assert found.worst[0].shows == ()
        assert found.worst[0].values[0].standard_error > 0
    assert measured(MICRO_RECONSTRUCTION, context_of(table, None), p=0.5).groups == 1
    assert (
        MICRO_RECONSTRUCTION.cost(context_of(table, None), MICRO_RECONSTRUCTION.parameters(p=0.5)).units == 1
    )
    # Of one with quasi-identifiers all rows are one group if none is asked for.
    whole = people(3, 300)
    everybody = measured(MICRO_RECONSTRUCTION, context_of(whole, uniform(whole)), quasi_identifiers=())
    assert (everybody.groups, everybody.records) == (1, 300)


def test_what_is_refused_and_why():
    table = people(1)
    drawn = context_of(table, drawn_of(table))
    reason = unreadable(MICRO_RECONSTRUCTION, drawn, MICRO_RECONSTRUCTION.parameters())
    assert "uniform_perturbation or of sample_perturb_scale" in reason
    with pytest.raises(InvalidInput, match="nothing says with which probability"):
        measured(MICRO_RECONSTRUCTION, context_of(table, None))
    with pytest.raises(InvalidInput, match="The release says itself"):
        measured(MICRO_RECONSTRUCTION, context_of(table, uniform(table)), p=0.5)
    with pytest.raises(InvalidInput, match="among the quasi-identifiers"):
        measured(MICRO_RECONSTRUCTION, context_of(table, None), p=0.5, quasi_identifiers=("town", "ill"))
    with pytest.raises(InvalidInput, match="The release has drawn 'ill'"):
        measured(MICRO_RECONSTRUCTION, context_of(table, uniform(table)), attribute="age")
    asked = MICRO_RECONSTRUCTION.parameters(p=0.5)
    suppressed = replace(context_of(table, None), rule=TableRule((0, 0, 1)))
    with pytest.raises(InvalidInput, match="No row shows a value"):
        MICRO_RECONSTRUCTION.compute(suppressed, asked, lambda _: None)
    of_towns = replace(
        context_of(replace(table, sensitive=frozenset({"town"})), None), rule=TableRule((1, 0, 0))
    )
    assert "generalised" in MICRO_RECONSTRUCTION.supports(of_towns, asked)
    nobody = Dictionary(1, ())
    reason = MICRO_RECONSTRUCTION.supports(context_of(table, None, nobody), asked)
    assert "none of the quasi-identifiers" in reason
