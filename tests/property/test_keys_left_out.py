"""Verdicts with the keys left out, and what keys add to them, against every instance of small schemas."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.views.decision import decide
from app.domain.views.keys import KeysAdd, what_keys_add
from app.domain.views.relational_schema import RelationDefinition, built
from tests.oracles.effort import examples
from tests.oracles.query_view_cases import Case, product_schema, tiny_case
from tests.oracles.query_views import Fact, Relation, Rule, World

RANDOM = st.integers(0, 2**32).map(Random)
SOME = settings(max_examples=examples(150))


def without_keys(own: Relation) -> Relation:
    """The relation without its keys, and without dependencies that determine every other column."""
    every = set(range(len(own.columns)))
    left = tuple((x, y) for x, y in own.dependencies if {*x, *y} != every)
    return replace(own, keys=(), dependencies=left)


def shares_a_key(own: Relation, one: Fact, other: Fact) -> bool:
    every = set(range(len(own.columns)))
    keys = [*own.keys, *(x for x, y in own.dependencies if {*x, *y} == every)]
    proper = [set(key) for key in keys if set(key) != every]
    return any(all(one[1 + i] == other[1 + i] is not None for i in key) for key in proper)


def added_by_definition(case: Case) -> KeysAdd:
    """What keys add, by all instances with the keys: rows that decide the answers, and exclude each other."""
    one, other = (
        case.world.critical(query, bag=bag)
        for query, bag in zip((case.secret, case.view), case.bags, strict=True)
    )
    pairs = [(a, b, case.world.schema[str(a[0])]) for a in one for b in other if a[0] == b[0]]
    excluding = [(a, b) for a, b, own in pairs if a != b and shares_a_key(own, a, b)]
    for a, b in excluding:
        assert never_together(case.world, a, b), (case, a, b)
    if excluding:
        return "certain_exclusion"
    linked = any(own.links(a, b) for a, b, own in pairs)
    return "dependence_of_unknown_direction" if linked else "nothing"


def never_together(world: World, one: Fact, other: Fact) -> bool:
    """Whether no instance that keeps the keys has both rows, though it may have either."""
    sets = [number for number, fine in enumerate(world.consistent) if fine]
    bits = [1 << world.facts.index(own) for own in (one, other)]
    assert all(any(own & bit for own in sets) for bit in bits)
    return not any(own & bits[0] and own & bits[1] for own in sets)


def is_right(case: Case) -> tuple[str, KeysAdd | None]:
    """Check both against the definition; what they are."""
    secret, view = case.branches()
    keyless = {name: without_keys(own) for name, own in case.world.schema.items()}
    found = decide(secret, view, case.schema.without_keys())
    private = World(keyless).is_private(case.secret, case.view, bags=case.bags)
    assert found.verdict == ("PRIVATE" if private else "DISCLOSES"), f"{found}\n{case}"
    assert decide(secret, view, product_schema(keyless)).verdict == found.verdict, case
    if not private:
        return found.verdict, None
    kind, proof = what_keys_add(case.verdict(), secret, view, case.schema)
    assert kind == added_by_definition(case), f"{kind}\n{case}"
    if kind == "certain_exclusion":
        assert proof.witness is not None
        rows = [
            (own.deciding.relation, *own.deciding.cells) for own in (proof.witness.secret, proof.witness.view)
        ]
        own = case.world.schema[rows[0][0]]
        assert rows[0] != rows[1], case
        assert shares_a_key(own, *rows), case
        assert never_together(case.world, *rows), case
    return found.verdict, kind


@given(RANDOM)
@SOME
def test_with_the_keys_left_out_a_verdict_is_that_of_every_instance_without_keys(random):
    is_right(tiny_case(random, 9, keys=True))


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(4))
def test_what_keys_add_to_two_thousand_pairs_is_as_defined(seed):
    random, found = Random(seed), Counter()
    for number in range(2_000):
        case = tiny_case(random, 9, keys=True, nullable=number % 3 == 0)
        while number % 2 and not any(len(own.keys) > 1 for own in case.world.schema.values()):
            case = tiny_case(random, 9, keys=True)
        found[is_right(case)] += 1
    assert found["DISCLOSES", None] > 100
    assert found["PRIVATE", "nothing"] > 100
    assert found["PRIVATE", "certain_exclusion"] > 30
    assert found["PRIVATE", "dependence_of_unknown_direction"] > 0


@pytest.mark.parametrize(
    ("keys", "view", "added"),
    [
        ([(0,)], ("R", 1, 2), "certain_exclusion"),
        ([(0,)], ("R", 2, 2), "nothing"),
        ([(0,), (1,)], ("R", 1, 2), "certain_exclusion"),
        # The belief rises from 2/7 to 1/2: specification, QV-24.
        ([(0,), (1,)], ("R", 2, 2), "dependence_of_unknown_direction"),
    ],
)
def test_the_pairs_of_one_and_of_two_keys_are_told_apart(keys, view, added):
    schema = {"R": Relation(((1, 2), (1, 2)), tuple(keys))}
    case = Case(World(schema), product_schema(schema), (Rule((), (("R", 1, 1),)),), (Rule((), (view,)),))
    assert is_right(case) == ("PRIVATE", added)


def test_a_key_that_may_be_null_excludes_by_its_own_columns_only():
    """Two rows of which the second key is NULL share only the first; by it they exclude each other."""
    definition = RelationDefinition(["a", "b", "c"], {}, [["a"], ["b"]], nullable=["b"])
    schema = built({"R": definition})
    assert schema.relations["R"].keys == ((0,), (1,))
    (first, second) = schema.tied_by_one_key({"R"})
    assert first.relations["R"].is_tied(("x", None, "y"))
    assert not second.relations["R"].is_tied(("x", None, "y"))


def test_a_dependency_that_determines_all_columns_is_a_key_and_another_is_none():
    definition = RelationDefinition(["a", "b", "c"], {}, [], [(["a"], ["b", "c"]), (["b"], ["c"])])
    left = built({"R": definition}).without_keys()
    assert left.relations["R"].dependencies == (((1,), (2,)),)
    assert not left.has_keys({"R"})
