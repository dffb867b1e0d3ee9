"""Conditions against three-valued logic by hand, and their two forms against each other."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import InvalidInput
from app.domain.rules.condition_text import parse_condition, print_condition
from app.domain.rules.condition_truth import check_condition, truths_of
from app.domain.rules.conditions import Attribute, Comparison, Constant, condition_of_json, condition_to_json
from tests.oracles.conditions import COLUMNS, conditions, relations, truth_by_hand
from tests.oracles.effort import examples

SOME = settings(max_examples=examples(200))
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ANY_NUMBER = st.one_of(
    st.decimals(min_value=-(10**9), max_value=10**9, places=5, allow_nan=False, allow_infinity=False),
    st.integers(-(10**30) + 1, 10**30 - 1).map(lambda n: n),
)


@given(conditions())
@SOME
def test_a_condition_survives_its_text_and_its_tree(condition):
    assert parse_condition(print_condition(condition)) == condition
    assert condition_of_json(json.loads(json.dumps(condition_to_json(condition)))) == condition


@given(ANY_TEXT, ANY_TEXT)
@SOME
def test_any_name_and_any_text_survive(name, text):
    condition = Comparison("<", Attribute(name), Constant(text))
    assert parse_condition(print_condition(condition)) == condition
    assert condition_of_json(json.loads(json.dumps(condition_to_json(condition)))) == condition


@given(ANY_NUMBER)
@SOME
def test_any_number_survives_exactly(number):
    tree = {"op": "=", "left": {"attr": "a"}, "right": {"const": float(number)}}
    if isinstance(number, int):
        tree["right"]["const"] = number
    condition = condition_of_json(tree)
    assert condition.right.value == number
    assert parse_condition(print_condition(condition)) == condition
    assert condition_of_json(json.loads(json.dumps(condition_to_json(condition)))) == condition


@given(st.text(max_size=40))
@SOME
def test_any_text_at_all_is_read_or_refused_with_its_place(text):
    try:
        condition = parse_condition(text, "/unless")
    except InvalidInput as error:
        assert error.faults[0].pointer == "/unless"  # noqa: PT017
    else:
        assert parse_condition(print_condition(condition)) == condition


@given(conditions(), relations())
@SOME
def test_truths_are_those_of_three_valued_logic(condition, relation):
    check_condition(condition, COLUMNS)
    expected = [{False: 0, None: 1, True: 2}[truth_by_hand(condition, row)] for row in relation.rows]
    assert next(truths_of([condition], relation.columns(), len(relation.rows))).tolist() == expected
