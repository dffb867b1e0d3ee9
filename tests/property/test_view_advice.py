"""Advice on disclosures against perfect privacy by its definition."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.views.datalog import parse_query
from app.domain.views.queries import Constant, Query
from app.domain.views.relational_schema import RelationDefinition
from app.services.views.reading import WrittenQuery
from app.services.views.view_checks import ViewCheck, checked
from tests.oracles.effort import examples
from tests.oracles.query_view_cases import Case, tiny_case
from tests.oracles.query_views import Rule, in_datalog

RANDOM = st.integers(0, 2**32).map(Random)
SOME = settings(max_examples=examples(80))


def advised(case: Case, *advice: str):
    relations = {
        name: RelationDefinition(
            own.attributes,
            {name: tuple(range_.values) for name, range_ in zip(own.attributes, own.ranges, strict=True)},
            [[own.attributes[i] for i in key] for key in case.world.schema[name].keys],
            [
                ([own.attributes[i] for i in x], [own.attributes[i] for i in y])
                for x, y in case.world.schema[name].dependencies
            ],
            [own.attributes[i] for i in own.nullable],
        )
        for name, own in case.schema.relations.items()
    }
    secret = WrittenQuery("s", in_datalog(case.secret, "S"), case.bags[0])
    view = WrittenQuery("v", in_datalog(case.view, "V"), case.bags[1])
    (pair,) = checked(ViewCheck(relations, (), [secret], [view], advice=advice))["pairs"]
    return pair


def rules_of(query: Query) -> tuple[Rule, ...]:
    """A query as the oracle takes it."""

    def own(term):
        return term.value if isinstance(term, Constant) else f"?{term.name}"

    return tuple(
        Rule(
            tuple(map(own, rule.goal)),
            tuple((atom.relation, *map(own, atom.terms)) for atom in rule.atoms),
            tuple((own(c.left), c.operator, own(c.right)) for c in rule.comparisons),
        )
        for rule in query.rules
    )


@given(RANDOM)
@SOME
def test_every_change_that_is_offered_is_private_by_the_definition(random):
    case = tiny_case(random, 9)
    pair = advised(case, "changes")
    if pair["verdict"] != "DISCLOSES":
        assert pair["advice"] is None
        return
    found = pair["advice"]["changes"]
    assert set(pair["advice"]) - {"changes"} == {"patterns", "leakage"}
    assert pair["advice"]["patterns"] is pair["advice"]["leakage"] is None
    for change in found["found"]:
        query = parse_query(change["query"], case.schema, keeps_duplicates=case.bags[1])
        assert case.world.is_private(case.secret, rules_of(query), bags=case.bags), (case, change)


@given(RANDOM)
@SOME
def test_every_row_that_decides_both_answers_is_of_a_pattern(random):
    case = tiny_case(random, 9)
    pair = advised(case, "patterns")
    if pair["verdict"] != "DISCLOSES":
        return
    found = pair["advice"]["patterns"]
    assert found["count"] >= 1
    if found["truncated"]:
        return
    assert found["count"] == len(found["found"])
    assert any(own["verified"] for own in found["found"])

    def fits(row, side):
        names = case.schema.relations[row[0]].attributes
        cells = dict(zip(names, row[1:], strict=True))
        return row[0] == side["relation"] and all(cells[own] == v for own, v in side["values"].items())

    for one in case.world.critical(case.secret, bag=case.bags[0]):
        for other in case.world.critical(case.view, bag=case.bags[1]):
            if one[0] == other[0] and case.world.schema[one[0]].links(one, other):
                assert any(fits(one, own["secret"]) and fits(other, own["view"]) for own in found["found"]), (
                    case,
                    one,
                    other,
                )


@given(RANDOM)
@SOME
def test_the_largest_change_of_a_belief_is_that_of_all_instances(random):
    case = tiny_case(random, 9)
    pair = advised(case, "leakage")
    if pair["verdict"] != "DISCLOSES":
        return
    found = pair["advice"]["leakage"]
    most, answers = most_changed(case)
    assert Fraction(found["change"]) == most, case
    prior, posterior = Fraction(found["prior"]), Fraction(found["posterior"])
    assert abs(posterior - prior) == most
    named = tuple(
        tuple(sorted(map(tuple, found[side]), key=str)) for side in ("secret_answer", "view_answer")
    )
    assert answers[named] == (prior, posterior)


def most_changed(case: Case):
    """The largest change, and per pair of answers prior and posterior, one instance after the other."""
    facts = case.world.facts
    known = [list(case.world.valuations(rule)) for rule in (*case.secret, *case.view)]
    joint: Counter = Counter()
    for number in range(2 ** len(facts)):
        if case.world.consistent[number]:
            instance = {fact for i, fact in enumerate(facts) if number >> i & 1}
            own = known[: len(case.secret)], known[len(case.secret) :]
            joint[tuple(answer(rules, instance, bag) for rules, bag in zip(own, case.bags, strict=True))] += 1
    secrets, views = Counter(), Counter()
    for (s, v), number in joint.items():
        secrets[s] += number
        views[v] += number
    total = sum(joint.values())
    answers = {
        (s, v): (Fraction(secrets[s], total), Fraction(joint[s, v], views[v])) for s in secrets for v in views
    }
    return max(abs(posterior - prior) for prior, posterior in answers.values()), answers


def answer(rules, instance, bag):
    found = [goal for rule in rules for goal, rows in rule if instance.issuperset(rows)]
    return tuple(sorted(found if bag else set(found), key=str))
