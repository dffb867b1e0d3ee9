"""Attacks on random releases, against all worlds that an attacker holds possible."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.attacks.background_knowledge_attack import BACKGROUND_KNOWLEDGE_ATTACK
from app.domain.attacks.homogeneity_attack import HOMOGENEITY_ATTACK
from app.domain.attacks.linking_attack import LINKING_ATTACK
from app.domain.attacks.posterior_beliefs import POSTERIOR_BELIEFS
from app.domain.counting.counter import dictionary_of
from app.domain.dictionaries.dictionary import Dictionary, LinkedAttribute, link_identity
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.models.entry import MeasureContext
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import CellRule, TableRule, apply, identity
from app.domain.tables.table import Table
from tests.oracles import attackers_by_hand as by_hand
from tests.oracles.adult_by_hand import read_rows
from tests.oracles.effort import examples

VALUES = ("u", "v", "w")
PLACE = Hierarchy.from_parents(
    {"a": ["north"], "b": ["north"], "c": ["south"], "d": ["south"], "north": [None], "south": [None]}
)
COLOUR = Hierarchy.from_parents({"red": [None], "blue": [None]})


def flat(values):
    return Hierarchy.from_parents({value: [None] for value in sorted(set(values))})


def table(names, hierarchies, rows, sensitive):
    codes = np.stack([h.encode([row[j] for row in rows])[0] for j, h in enumerate(hierarchies)], axis=1)
    return Table(tuple(names), tuple(hierarchies), codes, sensitive=frozenset(sensitive))


def measured(measure, found, rule=None, dictionary=None, dictionaries=None, **parameters):
    context = MeasureContext(
        found,
        rule,
        dictionary,
        None,
        None,
        build_utility(found, "depth_sum"),
        MODEL_I,
        "zero",
        dictionaries=dictionaries or {},
    )
    asked = measure.parameters(**parameters)
    assert measure.supports(context, asked) is None
    return measure.compute(context, asked, lambda done: None)


def one_class(values):
    return table(("place", "value"), (flat(["here"]), flat(values)), [("here", v) for v in values], {"value"})


@pytest.mark.spec("LD-D08", "LD-E19")
@given(st.lists(st.sampled_from(VALUES), min_size=1, max_size=6), st.integers(0, 3), st.integers(1, 20))
@settings(max_examples=examples(120), deadline=None)
def test_statements_about_the_target_against_all_worlds(values, negations, twentieths):
    confidence = twentieths / 20
    result = measured(
        BACKGROUND_KNOWLEDGE_ATTACK, one_class(values), negations=negations, confidence=confidence
    )
    for step in result.steps:
        beliefs = [by_hand.strongest(values, i, step.negations) for i in range(len(values))]
        assert step.greatest_belief == pytest.approx(float(max(beliefs)), rel=1e-14)
        assert step.records_exposed == sum(belief >= Fraction(twentieths, 20) for belief in beliefs)


@pytest.mark.spec("LD-D08")
@given(st.lists(st.sampled_from(VALUES), min_size=3, max_size=5), st.data())
@settings(max_examples=examples(120), deadline=None)
def test_statements_about_others_never_tell_more(values, data):
    """Fact (iii) of section 3.4.1: k statements about anybody are at worst all about the target."""
    k = data.draw(st.integers(1, 2))
    statement = st.tuples(st.integers(0, len(values) - 1), st.sampled_from(VALUES))
    statements = data.draw(st.lists(statement, min_size=k, max_size=k))
    result = measured(BACKGROUND_KNOWLEDGE_ATTACK, one_class(values), negations=k)
    for value in set(values):
        told = by_hand.belief(values, statements, 0, value)
        assert float(told) <= result.steps[k].greatest_belief + 1e-12


@pytest.mark.spec("LD-D03")
@given(st.lists(st.sampled_from(VALUES), min_size=2, max_size=6), st.data())
@settings(max_examples=examples(120), deadline=None)
def test_known_records_against_all_worlds(values, data):
    target = data.draw(st.integers(0, len(values) - 1))
    others = [i for i in range(len(values)) if i != target]
    known = data.draw(st.lists(st.sampled_from(others), unique=True))
    result = measured(
        BACKGROUND_KNOWLEDGE_ATTACK,
        one_class(values),
        known_records=tuple(i + 1 for i in known),
        target=target + 1,
        negations=0,
        confidence=1.0,
    )
    believed = {own.value: own.belief for own in result.target.beliefs}
    for value in set(values):
        expected = by_hand.knowing(values, known, target, value)
        assert believed.get(value, 0.0) == pytest.approx(float(expected), rel=1e-14)
    unknown = [i for i in range(len(values)) if i not in known]
    certain = [i for i in unknown if by_hand.knowing(values, known, i, values[i]) == 1]
    assert (result.records_attacked, result.steps[0].records_exposed) == (len(unknown), len(certain))


JOINT = st.dictionaries(
    st.tuples(st.sampled_from(("p", "q")), st.sampled_from(VALUES)), st.integers(1, 2), min_size=2, max_size=4
)


def check_theorem_31(joint, data):
    """Beliefs of both measures, for all kinds of person together in one class or apart."""
    f = Counter(joint)
    together = data.draw(st.booleans())
    kinds = sorted({q for q, _ in f})
    q = data.draw(st.sampled_from(kinds))
    shown = {kind: "all" if together else kind for kind in kinds}
    pool = [row for row in f.elements() if shown[row[0]] == shown[q]]
    sample = data.draw(st.lists(st.sampled_from(range(len(pool))), unique=True, min_size=1, max_size=4))
    rows = [pool[i] for i in sample]
    target = next((i for i, row in enumerate(rows) if row[0] == q), None)
    if target is None:
        return
    expected = by_hand.worlds(f, shown, Counter(s for _, s in rows), shown[q], q)
    people = list(f.elements())
    hierarchies = [flat(row[j] for row in people) for j in (0, 1)]
    found = table(("q", "s"), hierarchies, rows, {"s"})
    links = tuple(
        link_identity(n, hierarchies[j], [row[j] for row in people]) for j, n in enumerate(found.attributes)
    )
    known = Dictionary(len(people), links)
    rule = TableRule((1, 0)) if together else identity(2)
    result = measured(
        BACKGROUND_KNOWLEDGE_ATTACK,
        found,
        rule,
        dictionaries={"known": known},
        knowledge="known",
        target=target + 1,
    )
    believed = {own.value: own.belief for own in result.target.beliefs if own.belief > 0}
    assert believed == pytest.approx({v: float(b) for v, b in expected.items()}, rel=1e-12)
    of_rows = measured(POSTERIOR_BELIEFS, found, rule, known, top=200)
    own = next(b for b in of_rows.exposed if target + 1 in b.records.rows)
    assert own.belief == pytest.approx(float(expected[rows[target][1]]), rel=1e-12)
    prior = Fraction(f[q, rows[target][1]], sum(n for (kind, _), n in f.items() if kind == q))
    assert own.prior == pytest.approx(float(prior), rel=1e-12)


@pytest.mark.spec("LD-D04")
@given(JOINT, st.data())
@settings(max_examples=examples(120), deadline=None)
def test_theorem_31_against_all_worlds(joint, data):
    check_theorem_31(joint, data)


@pytest.mark.deep
@given(JOINT, st.data())
@settings(max_examples=1000, deadline=None)
def test_theorem_31_against_all_worlds_of_many_populations(joint, data):
    check_theorem_31(joint, data)


TRIPLES = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(VALUES), st.sampled_from(VALUES)),
    min_size=1,
    max_size=14,
)


def check_eliminations(rows, tenths):
    hierarchies = [flat(row[j] for row in rows) for j in range(3)]
    found = table(("place", "s", "v"), hierarchies, rows, {"s", "v"})
    result = measured(BACKGROUND_KNOWLEDGE_ATTACK, found, attribute="v", confidence=tenths / 10)
    for own in result.eliminations:
        first = 1 if own.told == "s" else 2
        classes = [
            [(row[first], row[3 - first]) for row in rows if row[0] == place]
            for place in {row[0] for row in rows}
        ]
        positive, negative, exposed, without = by_hand.elimination(classes, Fraction(tenths, 10))
        assert (own.records_exposed, own.records_exposed_without) == (exposed, without)
        assert own.by_value.belief == pytest.approx(float(positive), rel=1e-14)
        assert (own.by_negation.belief if own.by_negation else 0) == pytest.approx(float(negative), rel=1e-14)


@pytest.mark.spec("LD-D03", "LD-D07")
@given(TRIPLES, st.integers(1, 10))
@settings(max_examples=examples(120), deadline=None)
def test_eliminations_against_loops(rows, tenths):
    check_eliminations(rows, tenths)


@pytest.mark.deep
@given(TRIPLES, st.integers(1, 10))
@settings(max_examples=1000, deadline=None)
def test_eliminations_in_thousands_of_releases(rows, tenths):
    check_eliminations(rows, tenths)


ROWS = st.lists(
    st.tuples(
        st.sampled_from(("a", "b", "c", "d", None)),
        st.sampled_from(("red", "blue", None)),
        st.sampled_from(VALUES),
    ),
    min_size=1,
    max_size=9,
)


def disclosed(found, data):
    """A rule for single cells: every cell as it is or any value above it."""
    codes = found.codes.copy()
    for i in range(found.n_records):
        for j in (0, 1):
            codes[i, j] = data.draw(st.sampled_from(sorted(found.hierarchies[j].up(int(codes[i, j])))))
    return CellRule(codes)


def check_candidates(rows, data):
    """Persons whose cells are sets of leaves, everything, or outside the hierarchy."""
    found = table(("place", "colour", "value"), (PLACE, COLOUR, flat(VALUES)), rows, {"value"})
    rule = disclosed(found, data)
    n = data.draw(st.integers(1, 6))
    links, means = [], []
    for hierarchy, name in ((PLACE, "place"), (COLOUR, "colour")):
        leaves = st.lists(st.integers(0, hierarchy.n_leaves - 1), unique=True, max_size=3).map(sorted)
        codes = data.draw(st.lists(st.one_of(st.none(), leaves), min_size=1, max_size=3))
        column = data.draw(st.lists(st.integers(0, len(codes) - 1), min_size=n, max_size=n))
        lists = [[] if own is None else own for own in codes]
        links.append(
            LinkedAttribute(
                name,
                hierarchy,
                np.array(column, dtype=np.int32),
                np.cumsum([0, *map(len, lists)]).astype(np.int64),
                np.array([leaf for own in lists for leaf in own], dtype=np.int32),
                np.array([own is None for own in codes]),
            )
        )
        means.append([codes[c] for c in column])
    known = Dictionary(n, tuple(links), np.arange(n), comparable_ids=True)
    shown = apply(rule, found)
    kept = [i for i in range(len(rows)) if tuple(shown[i, :2]) != (TOP, TOP)]

    def may_be(person, row):
        return all(
            shown[row, j] == TOP
            or means[j][person] is None
            or set(means[j][person]) & set(h.leaves_of(int(shown[row, j])).tolist())
            for j, h in enumerate((PLACE, COLOUR))
        )

    candidates = [[row for row in kept if may_be(person, row)] for person in range(n)]
    result = measured(LINKING_ATTACK, found, rule, known)
    sizes = Counter(len(own) for own in candidates)
    assert result.persons_without_candidate == sizes.pop(0, 0)
    assert {own.candidates: own.persons for own in result.by_candidates} == sizes
    only = [(person, own[0]) for person, own in enumerate(candidates) if len(own) == 1]
    assert result.persons_found == len(only)
    assert result.records_found.rows == tuple(sorted({row + 1 for _, row in only}))
    own = [person for person in range(min(n, len(rows))) if person in kept]
    assert result.own.persons_in_release == len(own)
    assert result.own.own_among_candidates == sum(person in candidates[person] for person in own)
    assert result.own.rightly_found == sum(person == row for person, row in only)
    assert result.own.expected_found == pytest.approx(
        sum(1 / len(candidates[person]) for person in own if person in candidates[person])
    )


@pytest.mark.spec("LD-D02")
@given(ROWS, st.data())
@settings(max_examples=examples(120), deadline=None)
def test_candidates_against_loops(rows, data):
    check_candidates(rows, data)


@pytest.mark.deep
@given(ROWS, st.data())
@settings(max_examples=1000, deadline=None)
def test_candidates_of_thousands_of_releases(rows, data):
    check_candidates(rows, data)


@pytest.mark.spec("LD-14", "LD-D02")
@given(ROWS, st.sampled_from(["own_category", "matches_everything", "excluded"]), st.integers(1, 20))
@settings(max_examples=examples(120), deadline=None)
def test_homogeneous_classes_however_missing_values_are_taken(rows, missing, twentieths):
    found = table(("place", "colour", "value"), (PLACE, COLOUR, flat(VALUES)), rows, {"value"})
    theta = twentieths / 20
    result = measured(HOMOGENEITY_ATTACK, found, missing=missing, theta=theta)
    steps = measured(BACKGROUND_KNOWLEDGE_ATTACK, found, missing=missing, confidence=theta, negations=0).steps

    def alike(one, other):
        return all(
            x == y or (missing == "matches_everything" and None in (x, y))
            for x, y in zip(one[:2], other[:2], strict=True)
        )

    judged = [row for row in rows if missing != "excluded" or None not in row[:2]]
    near = exposed = 0
    for row in judged:
        values = Counter(other[2] for other in judged if alike(row, other))
        size = sum(values.values())
        near += Fraction(max(values.values()), size) >= Fraction(twentieths, 20)
        exposed += Fraction(values[row[2]], size) >= Fraction(twentieths, 20)
    assert (result.near.records, steps[0].records_exposed) == (near, exposed)


def test_beliefs_do_not_depend_on_how_many_units_are_looked_at_at_once(monkeypatch):
    rng = np.random.default_rng(5)
    rows = [(f"{rng.integers(6)}", VALUES[rng.integers(3)]) for _ in range(60)]
    found = table(("q", "s"), (flat(r[0] for r in rows), flat(VALUES)), rows, {"s"})
    links = tuple(
        link_identity(n, h, [r[j] for r in rows])
        for j, (n, h) in enumerate([("q", found.hierarchies[0]), ("s", found.hierarchies[1])])
    )
    whole = measured(POSTERIOR_BELIEFS, found, TableRule((1, 0)), Dictionary(60, links), top=200)
    monkeypatch.setattr("app.domain.risk.bayes.PAIRS_AT_ONCE", 7)
    parts = measured(POSTERIOR_BELIEFS, found, TableRule((1, 0)), Dictionary(60, links), top=200)
    assert replace(parts, exposed=()) == replace(whole, exposed=())
    assert set(parts.exposed) == set(whole.exposed)


@pytest.mark.real_data
@pytest.mark.skipif("PRIVACY_RISK_DATA" not in os.environ, reason="PRIVACY_RISK_DATA is not set")
@pytest.mark.spec("LD-D02")
def test_who_is_found_and_given_away_in_adult():
    """51.43 % of the records are unique over all nine columns; the rest counted by dictionaries of Python."""
    names, *rows = read_rows(Path(os.environ["PRIVACY_RISK_DATA"]) / "arx-adult" / "adult.csv")
    hierarchies = [flat(row[j] for row in rows) for j in range(len(names))]
    found = table(names, hierarchies, rows, {"occupation"})
    itself = Dictionary(found.n_records, dictionary_of(found).links, found.own_ids, comparable_ids=True)
    linked = measured(LINKING_ATTACK, found, dictionary=itself, quasi_identifiers=tuple(names))
    sizes = Counter(Counter(map(tuple, rows)).values())
    assert {own.candidates: own.persons for own in linked.by_candidates} == {
        size: size * n for size, n in sorted(sizes.items())[:50]
    }
    assert linked.persons_found == linked.own.rightly_found == sizes[1]
    assert round(100 * linked.persons_found / len(rows), 2) == 51.43

    j = names.index("occupation")
    classes: dict[tuple[str, ...], Counter[str]] = {}
    for row in rows:
        classes.setdefault((*row[:j], *row[j + 1 :]), Counter())[row[j]] += 1
    attacked = measured(HOMOGENEITY_ATTACK, found, theta=0.8)
    near = [own for own in classes.values() if 5 * max(own.values()) >= 4 * own.total()]
    assert (attacked.near.classes, attacked.near.records) == (len(near), sum(own.total() for own in near))
    assert attacked.complete.classes == sum(len(own) == 1 for own in classes.values())
    known = measured(BACKGROUND_KNOWLEDGE_ATTACK, found, confidence=0.8, negations=0).steps[0]
    assert known.records_exposed == sum(
        n for own in classes.values() for n in own.values() if 5 * n >= 4 * own.total()
    )
