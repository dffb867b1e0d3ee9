"""Verdicts on query views against perfect privacy by its definition."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.views.decision import decide
from app.domain.views.evaluation import is_disclosure
from app.domain.views.severity import severity_of
from app.domain.views.work import Budget, Work
from tests.oracles.effort import examples
from tests.oracles.plain_patterns import is_private
from tests.oracles.query_view_cases import STAND_FOR, Case, product_schema, tiny_case, unbounded_case
from tests.oracles.query_views import Relation, Rule, World, is_variable

RANDOM = st.integers(0, 2**32).map(Random)
SOME = settings(max_examples=examples(150))
FEW = settings(max_examples=examples(70))


def is_right_on_every_instance(case: Case, random: Random) -> None:
    """The verdict is that of the definition, and a proof of what it says for a reader's prior."""
    found = case.verdict()
    private = case.world.is_private(case.secret, case.view, bags=case.bags)
    assert found.verdict == ("PRIVATE" if private else "DISCLOSES"), f"{found}\n{case}"
    independent = case.world.are_independent(case.secret, case.view, random, bags=case.bags)
    constrained = any(own.keys or own.dependencies for own in case.world.schema.values())
    assert independent or not private, case
    assert not independent or private or constrained, case


def is_right_by_least_supports(case: Case) -> None:
    found = case.verdict()
    private = case.world.is_private_by_supports(case.secret, case.view, bags=case.bags)
    assert found.verdict == ("PRIVATE" if private else "DISCLOSES"), f"{found}\n{case}"


@pytest.mark.spec("PP-T2.1", "PP-D5", "PP-D10", "PP-E24")
@given(RANDOM)
@SOME
def test_the_verdict_is_that_of_the_definition_on_every_instance(random):
    is_right_on_every_instance(tiny_case(random, 9), random)


@pytest.mark.spec("PP-D5", "PP-D11")
@given(RANDOM)
@SOME
def test_keys_with_columns_that_may_be_null_exclude_no_row_with_null_in_them(random):
    while True:
        case = tiny_case(random, 9, keys=True, nullable=True)
        if any(set(key) & set(own.nullable) for own in case.world.schema.values() for key in own.keys):
            break
    is_right_on_every_instance(case, random)


@pytest.mark.spec("PP-D12")
@pytest.mark.parametrize("kind", ["any", "number", "integer", "mixed"])
@given(random=RANDOM)
@FEW
def test_the_verdict_on_unbounded_columns_is_that_of_least_supports(kind, random):
    is_right_by_least_supports(unbounded_case(random, kind))


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(5))
def test_ten_thousand_pairs_are_decided_as_defined(seed):
    random, verdicts = Random(seed), Counter()
    for _ in range(2_000):
        case = tiny_case(random)
        is_right_on_every_instance(case, random)
        verdicts[case.verdict().method] += 1
    assert verdicts["pattern"] > 100
    assert verdicts["enumeration"] > 20


@pytest.mark.deep
@pytest.mark.parametrize("kind", ["any", "number", "integer", "mixed"])
def test_a_thousand_pairs_over_unbounded_columns_are_decided_as_defined(kind):
    random = Random(kind)
    for _ in range(400):
        is_right_by_least_supports(unbounded_case(random, kind))


@pytest.mark.spec("PP-D1")
@given(RANDOM)
@FEW
def test_both_oracles_agree(random):
    case = tiny_case(random, 9)
    by_definition = case.world.is_private(case.secret, case.view, bags=case.bags)
    assert case.world.is_private_by_supports(case.secret, case.view, bags=case.bags) == by_definition


@given(RANDOM)
@SOME
def test_a_verdict_does_not_depend_on_how_the_question_is_put(random):
    case = tiny_case(random)
    verdict = case.verdict().verdict
    turned = replace(case, secret=case.view, view=case.secret, bags=case.bags[::-1])
    assert turned.verdict().verdict == verdict
    renamed = replace(case, secret=tuple(map(_renamed, case.secret)))
    assert renamed.verdict().verdict == verdict
    shuffled = replace(case, view=tuple(_shuffled(rule, random) for rule in case.view))
    assert shuffled.verdict().verdict == verdict
    if not case.bags[0] and not any(own.nullable for own in case.world.schema.values()):
        repeated = replace(case, secret=tuple(_repeated(rule, random) for rule in case.secret))
        assert repeated.verdict().verdict == verdict


def _renamed(rule: Rule) -> Rule:
    def own(term):
        return f"?new_{term[1:]}" if is_variable(term) else term

    return Rule(
        tuple(map(own, rule.goal)),
        tuple((atom[0], *map(own, atom[1:])) for atom in rule.atoms),
        tuple((own(a), op, own(b)) for a, op, b in rule.comparisons),
    )


def _shuffled(rule: Rule, random: Random) -> Rule:
    return replace(rule, atoms=tuple(random.sample(rule.atoms, len(rule.atoms))))


def _repeated(rule: Rule, random: Random) -> Rule:
    return replace(rule, atoms=(*rule.atoms, random.choice(rule.atoms)))


@pytest.mark.spec("PP-D4")
@given(RANDOM)
@SOME
def test_a_larger_domain_makes_no_disclosure_private(random):
    case = tiny_case(random)
    if case.verdict().verdict == "DISCLOSES":
        larger = {
            name: replace(own, columns=tuple((*values, 7, 8) for values in own.columns))
            for name, own in case.world.schema.items()
        }
        assert replace(case, schema=product_schema(larger)).verdict().verdict == "DISCLOSES", case


@given(RANDOM)
@SOME
def test_keeping_duplicates_makes_no_disclosure_private(random):
    case = replace(tiny_case(random), bags=(False, False))
    if case.verdict().verdict == "DISCLOSES":
        assert replace(case, bags=(False, True)).verdict().verdict == "DISCLOSES", case
        assert replace(case, bags=(True, False)).verdict().verdict == "DISCLOSES", case


@given(RANDOM)
@SOME
def test_a_witness_verifies_only_as_it_is(random):
    case = tiny_case(random)
    witness = case.verdict().witness
    if witness is not None:
        work = Work(Budget(), lambda: False)
        queries = case.parsed()
        assert is_disclosure(witness, *queries, case.schema, work)
        side = replace(witness.secret, others=witness.secret.others | {witness.secret.deciding})
        assert not is_disclosure(replace(witness, secret=side), *queries, case.schema, work)
        side = replace(witness.view, answer=(*witness.view.answer, 0))
        assert not is_disclosure(replace(witness, view=side), *queries, case.schema, work)


@given(RANDOM)
@SOME
def test_a_severity_is_certain_only_if_some_answer_of_the_view_has_a_row_of_the_secret_in_every_instance(
    random,
):
    free = dict.fromkeys(("keys", "nullable", "comparisons", "unions"), False)
    case = tiny_case(random, 9, **free)
    (secret,), (view,) = case.branches()
    if severity_of(secret, view, case.schema, Work(Budget(), lambda: False)) == "certain":
        assert case.world.gives_a_row_away(case.secret, case.view, bags=case.bags), case


@pytest.mark.spec("PP-T2.2")
@given(RANDOM, st.integers(1, 200))
@SOME
def test_a_small_budget_leaves_pairs_open_and_never_turns_a_verdict(random, steps):
    case = tiny_case(random)
    secret, view = case.branches()
    found = decide(secret, view, case.schema, budget=Budget(steps=steps))
    assert found.verdict in (case.verdict().verdict, "UNKNOWN")
    if found.verdict == "UNKNOWN":
        assert found.reason == "BUDGET_EXCEEDED"
        # Each pair of branches notices by a step of its own that nothing is left, or by two: a first look
        # is a search within the search.
        assert found.steps <= steps + 2 * len(secret) * len(view)


def with_self_joins(random: Random, subgoals: int, most: int) -> tuple[Rule, Rule]:
    """Two queries over unbounded columns, each relation up to so often in either; about half are private."""

    def rule(tag: int) -> Rule:
        def term():
            return f"?{random.choice('uvwx')}" if random.random() < 0.7 else 0

        atoms = [
            (f"R{i // most}", *random.choice([(tag, term()), (tag, term()), (term(), term())]))
            for i in range(subgoals)
        ]
        used = sorted({own for atom in atoms for own in atom[1:] if is_variable(own)})
        return Rule(tuple(used[: random.randint(0, 1)]), tuple(atoms))

    one, other = rule(1), rule(2)
    return one, other


@pytest.mark.spec("PP-T2.5", "PP-T2.10", "PP-T2.17", "PP-E10")
@given(RANDOM, st.integers(2, 4))
@SOME
def test_what_is_left_out_of_the_pattern_check_changes_no_verdict(random, most):
    """Theorems 2.5, 2.10 and 2.17: queries too wide to enumerate, against the check of all pairs of sets."""
    secret, view = with_self_joins(random, random.randint(2, 8), most)
    names = {atom[0] for rule in (secret, view) for atom in rule.atoms}
    values = STAND_FOR["any"]
    case = Case(
        World({}), product_schema({name: Relation((values, values)) for name in names}), (secret,), (view,)
    )
    assert case.verdict().verdict == ("PRIVATE" if is_private(secret, view) else "DISCLOSES"), case
