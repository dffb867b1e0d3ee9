"""The condition language: what can be read, what is refused and where, and what is true of whom."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from app.domain.errors import InvalidInput
from app.domain.rules.condition_text import parse_condition, print_condition
from app.domain.rules.condition_truth import FALSE, TRUE, UNKNOWN, Column, check_condition, truths_of
from app.domain.rules.conditions import (
    Attribute,
    Comparison,
    Constant,
    Junction,
    Not,
    attributes_of,
    condition_of_json,
    condition_to_json,
)

AGE = Comparison(">=", Attribute("age"), Constant(Decimal(65)))
CITY = Comparison("!=", Attribute("city"), Constant("Dayton"))
BORN = Comparison("<", Attribute("birth date"), Constant("1975-05-10"))


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("age >= 65", AGE),
        ("AGE>=65", Comparison(">=", Attribute("AGE"), Constant(Decimal(65)))),
        ("age ≥ 65.0 AND city ≠ 'Dayton'", Junction("and", (AGE, CITY))),
        ("age >= 65 and city <> 'Dayton'", Junction("and", (AGE, CITY))),
        ("age >= 6.5e1", AGE),
        ("\"birth date\" < '1975-05-10'", BORN),
        ('"birth date" < 1975-05-10', BORN),
        ("not age >= 65 and city != 'Dayton'", Junction("and", (Not(AGE), CITY))),
        ("not (age >= 65 and city != 'Dayton')", Not(Junction("and", (AGE, CITY)))),
        (
            "age >= 65 or city != 'Dayton' and age >= 65",
            Junction("or", (AGE, Junction("and", (CITY, AGE)))),
        ),
        ("(age >= 65) and (age >= 65 and age >= 65)", Junction("and", (AGE, Junction("and", (AGE, AGE))))),
        ('\'it\'\'s\' = "a ""b"""', Comparison("=", Constant("it's"), Attribute('a "b"'))),
        ('"not" = größe', Comparison("=", Attribute("not"), Attribute("größe"))),
        ("a=-1", Comparison("=", Attribute("a"), Constant(Decimal(-1)))),
        ("市 = '東京'", Comparison("=", Attribute("市"), Constant("東京"))),
    ],
)
def test_a_text_is_read_as_the_condition_that_it_says(text, condition):
    assert parse_condition(text) == condition
    assert parse_condition(print_condition(condition)) == condition


def test_the_printed_form_is_one_that_a_person_would_write():
    condition = Junction("and", (AGE, Not(Junction("or", (CITY, BORN)))))
    assert print_condition(condition) == (
        "age >= 65 and not (city != 'Dayton' or \"birth date\" < 1975-05-10)"
    )


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("", "not-a-condition", "at the end"),
        ("age", "not-a-condition", "one of ="),
        ("age >=", "not-a-condition", "at the end"),
        ("age == 65", "not-a-condition", "character 6"),
        ("age >= 65 and", "not-a-condition", "a column"),
        ("age >= 65 city = 'x'", "not-a-condition", "character 11"),
        ("(age >= 65", "not-a-condition", "closing bracket"),
        ("age >= 65)", "not-a-condition", "character 10"),
        ("city = 'Dayton", "not-a-condition", "Character 8"),
        ("age >= 65years", "not-a-condition", "Character 8"),
        ("born < 1975-02-30", "not-a-condition", "calendar"),
        ("age = 0.1234567890123456", "number-too-long", "character 7"),
        ("age = 1e31", "number-too-long", "character 7"),
        ("age in (1)", "not-a-condition", "character 5"),
        ("age in (1, 2)", "not-a-condition", "Character 10"),
        ("(" * 200 + "a = 1" + ")" * 200, "not-a-condition", "deeply"),
        ("not " * 200 + "a = 1", "not-a-condition", "deeply"),
        ("not (" * 50 + "a = 1" + ")" * 50, "condition-too-large", "50 deep"),
        (" or ".join(["a = 1"] * 1001), "condition-too-large", "1000 comparisons"),
        ("a = '" + "x" * 100_000 + "'", "condition-too-large", "characters"),
    ],
)
def test_a_text_that_says_nothing_is_refused_where_it_breaks_off(text, code, words):
    with pytest.raises(InvalidInput) as refused:
        parse_condition(text, "/unless")
    (fault,) = refused.value.faults
    assert (fault.pointer, fault.code) == ("/unless", code)
    assert words in fault.message
    assert fault.remedy


def test_a_syntax_tree_is_read_and_written():
    tree = {
        "op": "and",
        "args": [
            {"op": ">=", "left": {"attr": "age"}, "right": {"const": 65}},
            {"op": "not", "args": [{"op": "=", "left": {"attr": "x"}, "right": {"const": -0.5}}]},
            {"op": "!=", "left": {"attr": "city"}, "right": {"const": "Dayton"}},
        ],
    }
    condition = condition_of_json(tree)
    assert condition == Junction(
        "and", (AGE, Not(Comparison("=", Attribute("x"), Constant(Decimal("-0.5")))), CITY)
    )
    assert condition_to_json(condition) == tree
    assert attributes_of(condition) == ("age", "x", "city")


ATTR, ONE = {"attr": "a"}, {"const": 1}
SIMPLE = {"op": "=", "left": ATTR, "right": ONE}


@pytest.mark.parametrize(
    ("tree", "pointer", "code"),
    [
        (None, "", "not-a-condition"),
        ([], "", "not-a-condition"),
        ({"op": "xor", "args": [SIMPLE, SIMPLE]}, "/op", "unknown-operator"),
        ({"args": []}, "/op", "unknown-operator"),
        ({"op": ["="], "left": ATTR, "right": ONE}, "/op", "unknown-operator"),
        ({"op": "=", "left": ATTR}, "", "wrong-members"),
        (SIMPLE | {"args": []}, "", "wrong-members"),
        ({"op": "and", "args": [SIMPLE]}, "/args", "wrong-arguments"),
        ({"op": "or", "args": []}, "/args", "wrong-arguments"),
        ({"op": "not", "args": [SIMPLE, SIMPLE]}, "/args", "wrong-arguments"),
        ({"op": "not", "args": SIMPLE}, "/args", "wrong-arguments"),
        ({"op": "or", "args": [SIMPLE, {"op": "not", "args": [3]}]}, "/args/1/args/0", "not-a-condition"),
        (SIMPLE | {"right": {"const": None}}, "/right", "not-an-operand"),
        (SIMPLE | {"right": {"const": True}}, "/right", "not-an-operand"),
        (SIMPLE | {"right": {"const": [1]}}, "/right", "not-an-operand"),
        (SIMPLE | {"left": {"attr": "a", "const": 1}}, "/left", "not-an-operand"),
        (SIMPLE | {"left": "a"}, "/left", "not-an-operand"),
        (SIMPLE | {"right": {"const": 10**31}}, "/right/const", "number-too-long"),
        (SIMPLE | {"right": {"const": 0.1 + 0.2}}, "/right/const", "number-too-long"),
        (SIMPLE | {"right": {"const": float("inf")}}, "/right/const", "number-too-long"),
    ],
)
def test_a_tree_that_says_nothing_is_refused_where_it_does_not(tree, pointer, code):
    with pytest.raises(InvalidInput) as refused:
        condition_of_json(tree)
    (fault,) = refused.value.faults
    assert (fault.pointer, fault.code) == (pointer, code)
    assert fault.message
    assert fault.remedy


def test_a_tree_too_deep_is_refused_and_not_followed():
    tree = SIMPLE
    for _ in range(5000):
        tree = {"op": "not", "args": [tree]}
    with pytest.raises(InvalidInput, match="50 deep"):
        condition_of_json(tree)
    wide = {"op": "or", "args": [SIMPLE] * 1001}
    with pytest.raises(InvalidInput, match="1000 comparisons"):
        condition_of_json(wide)


TYPES = {"age": "number", "born": "date", "city": "text", "zip": "text"}


@pytest.mark.parametrize(
    ("text", "code", "words", "remedy"),
    [
        ("height > 3", "unknown-attribute", "'height'", "age, born, city, zip"),
        ("age = '65'", "incompatible-types", "a number is compared with a text", "without quotes"),
        ("47906 = zip", "incompatible-types", "a number is compared with a text", "'47906'"),
        ("born < 1975", "incompatible-types", "a date is compared with a number", "dates with dates"),
        ("born = 'May'", "not-a-date", "character 8", "1975-05-10"),
        ("'1975-02-30' = born", "not-a-date", "character 1", "1975-05-10"),
        ("age < born", "incompatible-types", "a number is compared with a date", "as the schema"),
        ("city = born", "incompatible-types", "a text is compared with a date", "as the schema"),
        ("1 = 'one'", "incompatible-types", "a number is compared with a text", "as the schema"),
    ],
)
def test_unlike_things_are_not_compared(text, code, words, remedy):
    condition = parse_condition(text)
    with pytest.raises(InvalidInput) as refused:
        check_condition(condition, TYPES, "/unless")
    (fault,) = refused.value.faults
    assert (fault.pointer, fault.code) == ("/unless", code)
    assert words in fault.message
    assert remedy in fault.remedy
    in_tree = condition_of_json(condition_to_json(condition))
    with pytest.raises(InvalidInput) as refused:
        check_condition(in_tree, TYPES, "/unless")
    (fault,) = refused.value.faults
    assert fault.pointer in ("/unless/left", "/unless/right")
    assert "character" not in fault.message


def test_every_unknown_column_is_named_and_likeness_is_enough():
    condition = parse_condition("age > 1 and (a = 1 or b = c) and born < 1975-05-10 and city < zip")
    with pytest.raises(InvalidInput) as refused:
        check_condition(condition, TYPES)
    assert [fault.message.split("'")[1] for fault in refused.value.faults] == ["a", "b", "c"]
    check_condition(parse_condition("born != 1975-05-10 or city = 1975-05-10 or 1 < 2"), TYPES)


def column(type_, cells):
    values = list(dict.fromkeys(cell for cell in cells if cell is not None))
    positions = [-1 if cell is None else values.index(cell) for cell in cells]
    return Column(type_, (*values, None), np.array(positions, dtype=np.int32))


COLUMNS = {
    "n": column("number", ["1.5", "1.50", "-2", "1e3", None]),
    "m": column("number", ["1.500", "2", "-2.0", "999.99999999999999999999", "7"]),
    "d": column("date", ["1975-05-10", "1999-12-31", None, "0001-01-01", "2000-01-01"]),
    "t": column("text", ["Z", "a", "é", "\uffff", "\U00010000"]),
}


@pytest.mark.parametrize(
    ("text", "truths"),
    [
        ("n = 1.5", [TRUE, TRUE, FALSE, FALSE, UNKNOWN]),
        ("1.5 < n", [FALSE, FALSE, FALSE, TRUE, UNKNOWN]),
        ("1.5 <= n", [TRUE, TRUE, FALSE, TRUE, UNKNOWN]),
        ("n != 1000", [TRUE, TRUE, TRUE, FALSE, UNKNOWN]),
        ("not n = 1.5", [FALSE, FALSE, TRUE, TRUE, UNKNOWN]),
        ("n = m", [TRUE, FALSE, TRUE, FALSE, UNKNOWN]),
        ("n > m", [FALSE, FALSE, FALSE, TRUE, UNKNOWN]),
        ("n >= n", [TRUE, TRUE, TRUE, TRUE, UNKNOWN]),
        ("d < 1980-01-01", [TRUE, FALSE, UNKNOWN, TRUE, FALSE]),
        ("t < 'a'", [TRUE, FALSE, FALSE, FALSE, FALSE]),
        ("t > '\uffff'", [FALSE, FALSE, FALSE, FALSE, TRUE]),
        ("n = 1.5 and 1 > 2", [FALSE, FALSE, FALSE, FALSE, FALSE]),
        ("n = 1.5 or 1 < 2", [TRUE, TRUE, TRUE, TRUE, TRUE]),
        ("n = 1.5 and 'a' = 'a'", [TRUE, TRUE, FALSE, FALSE, UNKNOWN]),
        ("n = 1.5 or 'a' > 'b'", [TRUE, TRUE, FALSE, FALSE, UNKNOWN]),
        ("d = 2000-01-01 or n = 1000", [FALSE, FALSE, UNKNOWN, TRUE, TRUE]),
    ],
)
def test_comparisons_know_three_truths(text, truths):
    assert next(truths_of([parse_condition(text)], COLUMNS, 5)).tolist() == truths
