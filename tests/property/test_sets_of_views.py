"""What is said of several views at once, and of what nothing is said; and how hard a verdict can be."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.views.decision import WORST
from app.domain.views.relational_schema import ForeignKey, RelationDefinition
from app.domain.views.wording import SETS_OF_VIEWS, SETS_WITH_FOREIGN_KEYS
from app.services.views.reading import WrittenQuery
from app.services.views.view_checks import ViewCheck, checked
from tests.oracles.effort import examples
from tests.oracles.query_view_cases import Case, drawn_kinds, product_schema, tiny_case
from tests.oracles.query_views import Relation, Rule, World, drawn_query, in_datalog

RANDOM = st.integers(0, 2**32).map(Random)
SOME = settings(max_examples=examples(60))


def views_beside(case: Case, random: Random) -> list[Case]:
    """The case, and another view or two of its schema beside the same secret."""
    kinds = drawn_kinds(random, keys=False)
    more = [
        replace(
            case,
            view=drawn_query(random, case.world.schema, kinds),
            bags=(case.bags[0], random.random() < 0.3),
        )
        for _ in range(random.randint(1, 2))
    ]
    return [case, *more]


@pytest.mark.spec("PP-T2.1", "PP-D5")
@given(RANDOM)
@SOME
def test_views_are_private_together_exactly_if_each_is(random):
    """By their answers together, on every instance, with keys as without."""
    cases = views_beside(tiny_case(random, 8), random)
    private = all(own.verdict().verdict == "PRIVATE" for own in cases)
    first = cases[0]
    independent = first.world.are_jointly_independent(
        first.secret,
        [own.view for own in cases],
        random,
        bags=(first.bags[0], *(own.bags[1] for own in cases)),
    )
    constrained = any(own.keys or own.dependencies for own in first.world.schema.values())
    assert independent or not private, "\n".join(map(str, cases))
    assert not independent or private or constrained, "\n".join(map(str, cases))


@given(RANDOM)
@SOME
def test_a_list_is_as_its_worst_member_and_each_pair_as_it_is_alone(random):
    cases = views_beside(tiny_case(random, 8), random)
    definitions = {
        name: RelationDefinition(
            [f"c{i}" for i in range(len(own.columns))],
            {f"c{i}": values for i, values in enumerate(own.columns)},
            [[f"c{i}" for i in key] for key in own.keys],
            [([f"c{i}" for i in x], [f"c{i}" for i in y]) for x, y in own.dependencies],
            [f"c{i}" for i in own.nullable],
        )
        for name, own in cases[0].world.schema.items()
    }
    secret = WrittenQuery("s", in_datalog(cases[0].secret, "S"), cases[0].bags[0])
    views = [WrittenQuery(f"v{i}", in_datalog(own.view, "V"), own.bags[1]) for i, own in enumerate(cases)]

    def judged(*of: WrittenQuery):
        return checked(ViewCheck(definitions, (), [secret], of))

    together, alone = judged(*views), [judged(own) for own in views]
    verdicts = [own["verdict"] for own in alone]
    assert verdicts == [own.verdict().verdict for own in cases]
    assert together["verdict"] == min(verdicts, key=WORST.index)
    assert together["gate"] == ("ALLOW" if set(verdicts) == {"PRIVATE"} else "DENY")
    order = random.sample(range(len(views)), len(views))
    shuffled = judged(*(views[i] for i in order))["pairs"]
    for i, own in enumerate(alone):
        expected = without_times(own["pairs"][0])
        assert without_times(together["pairs"][i]) == expected
        assert without_times(shuffled[order.index(i)]) == expected


def without_times(pair):
    return {**pair, "work": {name: own for name, own in pair["work"].items() if name != "ms"}}


ONE_COLUMN = {"R": RelationDefinition(["a"]), "T": RelationDefinition(["a"])}


@pytest.mark.parametrize(
    ("foreign_keys", "ignored", "claimed"),
    [
        ([], False, SETS_OF_VIEWS),
        ([ForeignKey("R", "T")], False, SETS_WITH_FOREIGN_KEYS),
        ([ForeignKey("R", "T")], True, SETS_OF_VIEWS),
    ],
)
def test_what_is_claimed_of_views_together_is_said_and_what_nothing_is_said_about(
    foreign_keys, ignored, claimed
):
    for number in (1, 2):
        views = [WrittenQuery(f"v{i}", f"V() :- R({i}).") for i in range(2, 2 + number)]
        asked = ViewCheck(ONE_COLUMN, foreign_keys, [WrittenQuery("s", "S() :- R(1).")], views, ignored)
        said = checked(asked)["assumptions"]
        assert claimed in said
        assert len({SETS_OF_VIEWS, SETS_WITH_FOREIGN_KEYS} & set(said)) == 1
        (uncovered,) = [own for own in said if "Not covered" in own]
        for what in ("correlated in other ways", "already hold a view that discloses", "other releases"):
            assert what in uncovered


def test_a_private_view_tells_a_reader_more_who_already_holds_one_that_discloses():
    """So nothing is said about such readers: beside the number of rows, that of another row is a clue."""
    secret, private, number = (Rule((), (("R", 1),)),), (Rule((), (("R", 2),)),), (Rule((), (("R", "?x"),)),)
    world = World({"R": Relation(((1, 2),))})
    schema = product_schema(world.schema)
    assert Case(world, schema, secret, private).verdict().verdict == "PRIVATE"
    assert Case(world, schema, secret, number, (False, True)).verdict().verdict == "DISCLOSES"
    instances = [set(own) for own in ((), (1,), (2,), (1, 2))]
    of_one_row = [own for own in instances if len(own) == 1]
    knowing = [own for own in of_one_row if 2 in own]
    assert sum(1 in own for own in of_one_row) / len(of_one_row) == 1 / 2
    assert sum(1 in own for own in knowing) == 0


def test_rows_that_are_correlated_otherwise_make_a_private_view_tell():
    """To a reader who knows that two rows come together, either tells the other."""
    secret, view = (Rule((), (("R", 1),)),), (Rule((), (("R", 2),)),)
    world = World({"R": Relation(((1, 2),))})
    assert Case(world, product_schema(world.schema), secret, view).verdict().verdict == "PRIVATE"
    likely = {frozenset(): 0.5, frozenset({1, 2}): 0.5}
    seen = {own: chance for own, chance in likely.items() if 2 in own}
    assert sum(chance for own, chance in likely.items() if 1 in own) == 0.5
    assert sum(chance for own, chance in seen.items() if 1 in own) == sum(seen.values())


Clause = tuple[tuple[str, int, bool], ...]
"""Of each literal: x (for all) or y (there is), which of them, and whether it is the variable itself."""


def drawn_formula(random: Random, universal: int, existential: int, clauses: int) -> list[Clause]:
    every = [("x", i) for i in range(universal)] + [("y", i) for i in range(existential)]
    return [
        tuple((*own, random.random() < 0.5) for own in random.sample(every, random.randint(1, 3)))
        for _ in range(clauses)
    ]


def is_true_for_all(formula: list[Clause], universal: int, existential: int) -> bool:
    """Whether for all x there are y that make every clause true, by trying them all."""
    return all(
        any(
            all(any((x if name == "x" else y)[i] == wanted for name, i, wanted in own) for own in formula)
            for y in product((False, True), repeat=existential)
        )
        for x in product((False, True), repeat=universal)
    )


def of_formula(formula: list[Clause], universal: int) -> Case:
    """A pair of conjunctive queries that is private exactly if for all x there are y.

    Each clause is a relation. The secret asks for a row of it with the clause's own variables and the mark s,
    and for all rows that make the clause true, with the mark 0; of T it asks for the rows s and 0. The row
    T(1) is needed for the answer x only with s = 1, and not even then if some y find it with s = 0.
    """
    rows: list[tuple[object, ...]] = [("T", "?s"), ("T", 0)]
    rows += [("D", f"?x{i}") for i in range(universal)]
    schema = {"T": Relation(((0, 1),)), "D": Relation(((0, 1),))}
    for number, own in enumerate(formula):
        name = f"C{number}"
        schema[name] = Relation(((0, 1),) * (len(own) + 1))
        rows.append((name, *(f"?{letter}{i}" for letter, i, _ in own), "?s"))
        for cells in product((0, 1), repeat=len(own)):
            if any(cell == wanted for cell, (*_, wanted) in zip(cells, own, strict=True)):
                rows.append((name, *cells, 0))
    secret = Rule(tuple(f"?x{i}" for i in range(universal)), tuple(rows))
    view = Rule((), (("T", 1),))
    return Case(World({}), product_schema(schema), (secret,), (view,))


def is_decided_as_the_formula(random: Random, universal: int, existential: int) -> bool:
    """Whether the formula is true for all; the verdict says so."""
    formula = drawn_formula(random, universal, existential, random.randint(2, 5))
    true = is_true_for_all(formula, universal, existential)
    assert of_formula(formula, universal).verdict().verdict == ("PRIVATE" if true else "DISCLOSES"), formula
    return true


@pytest.mark.spec("PP-T2.2")
def test_a_pair_is_private_exactly_if_a_formula_is_true_for_all_x_and_some_y():
    """The reduction of Theorem 2.2: deciding privacy is as hard as that, so that there must be limits."""
    found = [is_decided_as_the_formula(Random(seed), 2, 2) for seed in range(14)]
    assert {True, False} == set(found)


@pytest.mark.deep
@pytest.mark.spec("PP-T2.2")
@pytest.mark.parametrize("sizes", [(1, 3), (2, 2), (3, 2), (3, 3)])
def test_many_formulas_of_all_and_some_are_decided(sizes):
    found = [is_decided_as_the_formula(Random(seed), *sizes) for seed in range(60)]
    assert 5 < sum(found) < 55
