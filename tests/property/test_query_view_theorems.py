"""What the decision on query views rests on: the theorems, as they are corrected, and the facts derived."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.views.query_classes import is_row_determined
from tests.oracles.effort import examples
from tests.oracles.query_view_cases import Case, product_schema, tiny_case
from tests.oracles.query_views import (
    Fact,
    Kinds,
    Relation,
    Rule,
    World,
    drawn_query,
    is_variable,
)

RANDOM = st.integers(0, 2**32).map(Random)
SOME = settings(max_examples=examples(60))
PLAIN = dict.fromkeys(("keys", "nullable", "comparisons", "unions", "bags"), False)


def discloses(case: Case, row: Fact) -> bool:
    """Whether the product says that the row decides the secret."""
    view = (Rule((), (row,)),)
    return replace(case, view=view, bags=(case.bags[0], False)).verdict().verdict == "DISCLOSES"


def by_restricted_queries(world: World, rule: Rule, row: Fact) -> bool:
    """Algorithm 1: some set of subgoals that are jointly the row leaves a query that is not contained."""
    places = [i for i, atom in enumerate(rule.atoms) if atom[0] == row[0]]
    for size in range(1, len(places) + 1):
        for chosen in combinations(places, size):
            equal = _jointly(rule, chosen, row)
            if equal is not None and not _is_contained(world, rule, chosen, equal):
                return True
    return False


def _jointly(rule: Rule, chosen: tuple[int, ...], row: Fact) -> dict[object, object] | None:
    """One valuation that makes all of the subgoals the row."""
    value: dict[object, object] = {}
    for i in chosen:
        for term, cell in zip(rule.atoms[i][1:], row[1:], strict=True):
            if (value.setdefault(term, cell) if is_variable(term) else term) != cell:
                return None
    return value


def _is_contained(world: World, rule: Rule, chosen: tuple[int, ...], value: dict[object, object]) -> bool:
    def own(term: object) -> object:
        return value.get(term, term)

    rest = Rule(
        tuple(map(own, rule.goal)),
        tuple((a[0], *map(own, a[1:])) for i, a in enumerate(rule.atoms) if i not in chosen),
    )
    found = [(goal, frozenset(rows)) for goal, rows in world.valuations(rule)]
    return all(
        any(goal == other and needed <= frozenset(rows) for other, needed in found)
        for goal, rows in world.valuations(rest)
    )


@pytest.mark.spec("PP-T2.3", "PP-T2.4", "PP-E1", "PP-E3")
@given(RANDOM)
@SOME
def test_a_row_decides_exactly_if_a_set_of_subgoals_leaves_a_query_that_is_not_contained(random):
    case = tiny_case(random, 9, **PLAIN)
    (rule,) = case.secret
    row = random.choice(case.world.facts)
    assert discloses(case, row) == by_restricted_queries(case.world, rule, row), (case, row)


@pytest.mark.spec("PP-D2", "PP-T2.7", "PP-T2.8", "PP-E6", "PP-E7", "PP-E19")
@given(RANDOM)
@SOME
def test_a_row_decides_exactly_if_a_consistent_valuation_needs_it(random):
    case = tiny_case(random, 9, keys=True, bags=False)
    # No query can name NULL; the relations have a row without it.
    row = random.choice([own for own in case.world.facts if None not in own])
    critical = case.world.critical(case.secret)
    linked = {own for own in critical if own[0] == row[0] and case.world.schema[row[0]].links(own, row)}
    assert discloses(case, row) == bool(linked & critical), (case, row)
    assert case.world.least_critical(case.secret) == critical
    assert needed(case) == critical


def needed(case: Case) -> set[Fact]:
    """Rows of a consistent valuation whose answer no valuation finds in the other rows."""
    schema = case.world.schema
    every = [(goal, frozenset(rows)) for rule in case.secret for goal, rows in case.world.valuations(rule)]
    fine = [
        (goal, rows)
        for goal, rows in every
        if not any(schema[str(a[0])].excludes(a, b) for a in rows for b in rows)
    ]
    return {
        row
        for goal, rows in fine
        for row in rows
        if not any(goal == other and found <= rows - {row} for other, found in every)
    }


@pytest.mark.spec("PP-D6")
@given(RANDOM)
@SOME
def test_keys_make_no_row_decide_that_does_not_without_them(random):
    case = tiny_case(random, 9, keys=True)
    free = World({name: replace(own, keys=(), dependencies=()) for name, own in case.world.schema.items()})
    assert case.world.critical(case.secret) <= free.critical(case.secret)


@pytest.mark.spec("PP-D8", "PP-T2.16")
@given(RANDOM)
@SOME
def test_where_a_query_is_determined_by_rows_every_row_that_fits_decides(random):
    case = tiny_case(random, 9, unions=False)
    (branch,), _ = case.branches()
    if is_row_determined(branch.normal, case.schema, keeps_duplicates=case.bags[0]):
        schema = case.world.schema
        fits = {
            row
            for rule in case.secret
            for _, rows in case.world.valuations(rule)
            if not any(schema[str(a[0])].excludes(a, b) for a in rows for b in rows)
            for row in rows
        }
        assert case.world.critical(case.secret, bag=case.bags[0]) == fits, case


@pytest.mark.spec("PP-D9")
@given(RANDOM)
@SOME
def test_keeping_duplicates_is_showing_all_variables(random):
    case = tiny_case(random, 9, unions=False, nullable=False)
    (rule,) = case.secret
    every = dict.fromkeys(term for atom in rule.atoms for term in atom[1:] if is_variable(term))
    whole = (replace(rule, goal=(*rule.goal, *every)),)
    kept = replace(case, bags=(True, False)).verdict().verdict
    assert kept == replace(case, secret=whole, bags=(False, False)).verdict().verdict
    assert case.world.critical(case.secret, bag=True) == case.world.critical(whole)


@pytest.mark.spec("PP-D7", "PP-E18")
@given(RANDOM)
@SOME
def test_what_the_example_says_becomes_more_likely_for_every_prior_that_rules_nothing_out(random):
    case = tiny_case(random, 8, keys=False, bags=False)
    witness = case.verdict().witness
    if witness is None:
        return
    odds = {fact: Fraction(random.randint(1, 5), 6) for fact in case.world.facts}
    secret, both, view = (Fraction(0) for _ in range(3))
    for weight, instance in _instances(odds):
        s, v = (
            any(goal == side.answer and instance.issuperset(rows) for goal, rows in found)
            for found, side in (
                ([own for rule in case.secret for own in case.world.valuations(rule)], witness.secret),
                ([own for rule in case.view for own in case.world.valuations(rule)], witness.view),
            )
        )
        secret, view, both = secret + s * weight, view + v * weight, both + (s and v) * weight
    assert both / view > secret, case


@pytest.mark.spec("PP-T2.1", "PP-E18")
def test_a_prior_that_is_certain_of_the_row_learns_nothing_from_it():
    """So one prior alone decides nothing: the verdict is about all of them."""
    row = ("R", 1)
    case = Case(World({"R": Relation(((0, 1),))}), product_schema({"R": Relation(((0, 1),))}), (), ())
    case = replace(case, secret=(Rule((), (row,)),), view=(Rule((), (row,)),))
    assert case.verdict().verdict == "DISCLOSES"
    for chance, posterior in ((Fraction(1), Fraction(1)), (Fraction(1, 2), Fraction(1))):
        weights = [w for w, own in _instances({row: chance, ("R", 0): Fraction(1, 2)}) if row in own]
        assert sum(weights) == chance
        assert sum(weights) / sum(weights) == posterior


def _instances(odds: dict[Fact, Fraction]) -> Iterator[tuple[Fraction, set[Fact]]]:
    facts = list(odds)
    for number in range(2 ** len(facts)):
        weight, instance = Fraction(1), set()
        for i, fact in enumerate(facts):
            weight *= odds[fact] if number >> i & 1 else 1 - odds[fact]
            if number >> i & 1:
                instance.add(fact)
        yield weight, instance


@pytest.mark.spec("PP-D3", "PP-T2.5", "PP-E2", "PP-E20")
@given(RANDOM)
@SOME
def test_with_as_many_spare_values_as_variables_a_listed_domain_decides_as_an_unbounded_one(random):
    """Spare are values that neither query names."""
    kinds = Kinds(atoms=3, variables=2, unions=random.random() < 0.3)
    schema = {"R": Relation(((0, 1, 2, "f1", "f2", "f3"),) * 2)}
    secret, view = drawn_query(random, schema, kinds), drawn_query(random, schema, kinds)
    rules = (*secret, *view)
    named = {term for rule in rules for atom in rule.atoms for term in atom[1:] if not is_variable(term)}
    most = max(len({t for atom in rule.atoms for t in atom[1:] if is_variable(t)}) for rule in rules)
    least = {"R": Relation(((*sorted(named | {0}), *(f"f{i}" for i in range(most))),) * 2)}
    listed = Case(World(least), product_schema(least), secret, view).verdict()
    unbounded = {"R": Relation(((0, 1, 2, "f1", "f2", "f3", "f4", "f5", "f6"),) * 2)}
    free = Case(World(unbounded), product_schema(unbounded), secret, view).verdict()
    assert listed.verdict == free.verdict, (least, secret, view)


@pytest.mark.spec("PP-T2.6", "PP-E11", "PP-E12", "PP-E13")
def test_the_rows_of_example_2_3_are_linked_to_the_formulas_by_their_last_columns():
    """(t, 1, 0) decides S exactly if t fulfils its formula; (0, 0, 0, 0, 0) decides it though t does not."""
    columns = ((0, 1),) * 5
    world = World({"R": Relation(columns)})
    a = "?1", "?2", "?3"
    secret = Rule(
        a, (("R", *a, "?4", 0), ("R", 1, *a[1:], 0, 0), ("R", a[0], 0, 0, 0, 0), ("R", a[0], 0, 1, 0, 0))
    )
    view = Rule(
        a, (("R", *a, 1, "?5"), ("R", 1, *a[1:], 1, 1), ("R", a[0], 1, 0, 1, 1), ("R", a[0], 1, 1, 1, 1))
    )
    one, other = world.least_critical([secret]), world.least_critical([view])
    assert len(one) == len(other) == 10
    rows = [(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]
    assert {t for t in rows if ("R", *t, 1, 0) in one} == {t for t in rows if not t[0] and t[1]}
    assert {t for t in rows if ("R", *t, 1, 0) in other} == {t for t in rows if not t[0] and not t[1]}
    assert ("R", 0, 0, 0, 0, 0) in one
    stated = {(1, 0, 1, 1, 1), (0, 1, 0, 1, 1), (0, 1, 1, 1, 1)}
    found = [goal for goal, needed in world.valuations(view) if {row[1:] for row in needed} <= stated]
    assert (0, 0, 1) not in found
    with_row = stated | {(0, 0, 1, 1, 0)}
    found = [goal for goal, needed in world.valuations(view) if {row[1:] for row in needed} <= with_row]
    assert (0, 0, 1) in found
