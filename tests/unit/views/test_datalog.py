"""Queries are read as they are written, and refused with line, column and reason."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import InvalidInput
from app.domain.views.datalog import MOST_CHARACTERS, parse_query
from app.domain.views.queries import Atom, Comparison, Constant, Variable
from app.domain.views.ranges import in_digits
from app.domain.views.relational_schema import ForeignKey, RelationDefinition, built

SCHEMA = built(
    {
        "R": RelationDefinition(["a", "b"], {"b": "number"}),
        "T": RelationDefinition(["c"], {"c": ("x", 1)}),
    }
)


def test_a_query_is_read_with_texts_numbers_comments_and_anonymous_variables():
    query = parse_query(
        "Q(x, 'it''s') :- % a comment, with (\n R(x, -1.50), R(_, _), x != 7.\nQ(x,y):-R(x,y).", SCHEMA
    )
    first, second = query.rules
    assert first.goal == (Variable("x"), Constant("it's"))
    assert first.atoms[0] == Atom("R", (Variable("x"), Constant(Fraction(-3, 2))))
    assert len({*first.atoms[1].terms, Variable("x")}) == 3
    assert first.comparisons == (Comparison(Variable("x"), "!=", Constant(7)),)
    assert second.atoms == (Atom("R", (Variable("x"), Variable("y"))),)


def test_a_query_of_no_row_is_read():
    assert parse_query("Q(1) :- true.", SCHEMA).rules[0].atoms == ()


FAULTS = {
    "": ("datalog-syntax", "Line 1, column 1: a name is expected, not the end."),
    "Q(x)": ("datalog-syntax", "Line 1, column 5: ':-' is expected, not the end."),
    "Q(x) :- R(x, y)": ("datalog-syntax", "Line 1, column 16: '.' is expected, not the end."),
    "Q(x) :-\n  R(x, y),\n  N(x).": ("unknown-relation", "Line 3, column 3: the schema has no relation 'N'."),
    "Q(x) :- R(x).": ("wrong-arity", "Line 1, column 9: R has 2 columns, not 1."),
    "Q(z) :- R(x, y).": ("unsafe-variable", "the variable z of the head occurs in no relation."),
    "Q() :- R(x, y), z < 3.": ("unsafe-variable", "Line 1, column 17: the variable z"),
    "Q() :- R(x, y), x < 3.": ("no-order", "Line 1, column 17: < compares numbers"),
    "Q() :- R(x, y), y < 'a'.": ("no-order", "Line 1, column 17"),
    "Q() :- T(x), x > 0.": ("no-order", "Line 1, column 14"),
    "Q(x) :- R(x, y). Q(x, y) :- R(x, y).": ("heads-differ", "Line 1, column 18"),
    "Q(x) :- R(x, y). P(x) :- R(x, y).": ("heads-differ", "Line 1, column 18"),
    "Q() :- R('a, y).": ("datalog-syntax", "Line 1, column 10: this text has no closing quote."),
    "Q() :- R('\0', y).": ("datalog-syntax", "NUL"),
    "Q() :- R(\0, y).": ("datalog-syntax", r"'\x00' is unexpected"),
    "Q() :- R(x, 1e5).": ("datalog-syntax", "Line 1, column 13"),
    "Q() :- R(x, 5x).": ("datalog-syntax", "Line 1, column 13"),
    "Q() :- R(x y).": ("datalog-syntax", "Line 1, column 12: ',' is expected, not 'y'."),
    "Q() :- R(x, y) x.": ("datalog-syntax", "Line 1, column 16: '.' is expected"),
    "Q() :- x.": ("datalog-syntax", "Line 1, column 9: a comparison"),
    "Q() :- R(x, " + "9" * 61 + ").": (
        "number-too-long",
        "Line 1, column 13: a number has at most 60 digits.",
    ),
    "Q(" + "x, " * 200 + "x) :- R(x, y).": ("query-too-large", "column 603: a head has at most 200 terms."),
    "Q() :- R(x, 'a').": (
        "outside-domain",
        "Line 1, column 13: the column 'b' of R never has this value: its domain is number.",
    ),
    "Q() :- T(2).": (
        "outside-domain",
        "the column 'c' of T never has this value: its domain is a list of 2.",
    ),
    "Q() :- R(x, y),\n x = y, y != 'a'.": ("outside-domain", "Line 2, column 14: the column 'b' of R"),
    "Q() :- R(x, y), T(x), 'z' = x.": ("outside-domain", "Line 1, column 23: the column 'c' of T"),
    "Q() :- " + ", ".join(["R(x, y)"] * 101) + ".": ("query-too-large", "at most 100 subgoals"),
    "Q() :- R(x, y). " * 65: ("query-too-large", "at most 64 rules"),
    " " * (MOST_CHARACTERS + 1): ("query-too-large", "a query has at most 20,000 characters"),
    "DROP TABLE R": ("datalog-syntax", "Line 1, column 6: '(' is expected, not 'TABLE'."),
    "Q() :- R(x, y);": ("datalog-syntax", "Line 1, column 15: ';' is unexpected."),
}


@pytest.mark.parametrize("text", FAULTS)
def test_a_fault_is_told_with_its_line_and_column(text):
    code, message = FAULTS[text]
    with pytest.raises(InvalidInput) as raised:
        parse_query(text, SCHEMA)
    fault = raised.value.faults[0]
    assert fault.code == code
    assert fault.message.startswith("Line ")
    assert message in fault.message


@given(st.text("QRTxy(),.:-<=!'_ 1\n%\0é", max_size=40))
@settings(max_examples=100)
def test_any_text_at_all_is_read_or_refused_with_its_place(text):
    try:
        parse_query(text, SCHEMA)
    except InvalidInput as error:
        assert error.faults[0].message.startswith("Line ")  # noqa: PT017


SCHEMAS = {
    "no-relation": ({}, ()),
    "relation-name": ({"a b": RelationDefinition(["x"])}, ()),
    "no-attribute": ({"R": RelationDefinition([])}, ()),
    "duplicate-attribute": ({"R": RelationDefinition(["x", "x"])}, ()),
    "unknown-attribute": ({"R": RelationDefinition(["x"], keys=[["y"]])}, ()),
    "empty-domain": ({"R": RelationDefinition(["x"], {"x": ()})}, ()),
    "empty-key": ({"R": RelationDefinition(["x"], keys=[[]])}, ()),
    "number-too-long": ({"R": RelationDefinition(["x"], {"x": (1, 10**60)})}, ()),
    "too-many-values": (
        {f"R{i}": RelationDefinition(["x"], {"x": tuple(range(1000))}) for i in range(21)},
        (),
    ),
    "empty-dependency": ({"R": RelationDefinition(["x"], dependencies=[([], ["x"])])}, ()),
    "nullable-dependency": (
        {"R": RelationDefinition(["x", "y"], dependencies=[(["x"], ["y"])], nullable=["y"])},
        (),
    ),
    "unknown-relation": ({"R": RelationDefinition(["x"])}, [ForeignKey("R", "S")]),
}


@pytest.mark.parametrize("code", SCHEMAS)
def test_a_schema_that_makes_no_sense_is_refused(code):
    relations, foreign_keys = SCHEMAS[code]
    with pytest.raises(InvalidInput) as raised:
        built(relations, foreign_keys)
    assert code in {fault.code for fault in raised.value.faults}
    assert all(fault.message.endswith(".") for fault in raised.value.faults)


@pytest.mark.parametrize(
    "number", [10**60, -(10**60), 1e60, 1e-60, 10**5000], ids=["long", "negative", "large", "small", "huge"]
)
def test_a_listed_number_that_no_query_can_write_is_refused_at_its_place(number):
    with pytest.raises(InvalidInput) as raised:
        built({"R": RelationDefinition(["x"], {"x": (1, number)})})
    (fault,) = raised.value.faults
    assert (fault.pointer, fault.code) == ("/relations/R/domains/x/1", "number-too-long")
    assert fault.remedy


@pytest.mark.parametrize("number", [10**60 - 1, 1 - 10**60, 1e59, 1e-59, 0.1])
def test_a_listed_number_that_a_query_can_write_is_taken(number):
    schema = built({"R": RelationDefinition(["x"], {"x": (number,)})})
    (value,) = schema.relations["R"].ranges[0].values
    assert parse_query(f"Q() :- R({in_digits(value)}).", schema).rules[0].atoms[0].terms == (Constant(value),)


@given(st.fractions(), st.integers(0, 30))
@settings(max_examples=50)
def test_numbers_in_digits_are_exact(fraction, places):
    assert Fraction(in_digits(fraction)) == fraction
    decimal = Fraction(fraction.numerator, 10**places)
    assert "/" not in in_digits(decimal)
    assert Fraction(in_digits(decimal)) == decimal


def test_a_long_number_is_read_in_linear_time():
    began = time.process_time()
    for text in ("9" * 19_000 + "x", "9" * 9_000 + "." + "9" * 9_000 + "x", "9" * 19_000):
        with pytest.raises(InvalidInput):
            parse_query(f"Q() :- R(x, {text}).", SCHEMA)
    assert time.process_time() - began < 0.5


def test_a_block_is_what_all_keys_and_dependencies_start_from():
    def block(**more):
        return built({"R": RelationDefinition(["a", "b", "c"], **more)}).relations["R"].block

    assert block() == (0, 1, 2)
    assert block(keys=[["a"]]) == (0,)
    assert block(keys=[["a", "b"], ["b", "c"]]) == (1,)
    assert block(keys=[["a"], ["b"]]) == ()
    assert block(dependencies=[(["b"], ["c"])]) == (1,)
    assert block(dependencies=[(["a", "b"], ["b"])]) == (0, 1, 2)
