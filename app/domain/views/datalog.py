"""Queries written in Datalog.

``names(n) :- patient(p, n), diagnosis(p, 'cancer', m, w).``

Grammar, words in quotes are written as they are::

    query      = rule+                               all rules share the head's name and its length: a union
    rule       = atom ":-" item ("," item)* "."
    item       = atom | term operator term | "true"
    atom       = NAME "(" [term ("," term)*] ")"
    term       = VARIABLE | NUMBER | 'a text, with '' for a quote' | "_"
    operator   = "=" | "!=" | "<" | "<=" | ">" | ">="

A bare name is a variable, ``_`` a new one each time. What follows ``%`` on a line is a comment.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NoReturn, cast

from app.domain.errors import InvalidInput
from app.domain.views.queries import Atom, Comparison, Constant, Operator, Query, Rule, Term, Variable
from app.domain.views.ranges import MOST_DIGITS, Range, common, digits_of, exact
from app.domain.views.relational_schema import Relation, RelationalSchema

MOST_CHARACTERS: Final = 20_000
MOST_RULES: Final = 64
MOST_ATOMS: Final = 100
MOST_HEAD_TERMS: Final = 200
_EXAMPLE: Final = "Write for example: name(x) :- relation(x, 'a text', 5), x > 3."
_IN_PARTS: Final = (
    "Send parts of the union as queries of their own: if all of them are private, so is the union."
)
# Possessive repeats of single characters only: those of groups go wrong in Python 3.11.2.
_TOKEN: Final = re.compile(
    r"""
      (?P<space>    (?: \s | %[^\n]* )+ )
    | (?P<number>   -? (?: [0-9]++ \. [0-9]++ | [0-9]++ (?! \.[0-9] ) ) (?![\w.]*\w) )
    | (?P<name>     [^\W\d]\w* )
    | (?P<text>     '(?:[^']|'')*' )
    | (?P<operator> != | <= | >= | [=<>] )
    | (?P<mark>     :- | [(),.] )
    """,
    re.VERBOSE,
)


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    place: int


@dataclass(frozen=True)
class _PlacedAtom:
    atom: Atom
    place: int
    places: tuple[int, ...]
    """Of its terms."""


@dataclass(frozen=True)
class _PlacedComparison:
    comparison: Comparison
    places: tuple[int, int]
    """Of its sides."""


def parse_query(text: str, schema: RelationalSchema, *, keeps_duplicates: bool = False) -> Query:
    """Read a query over the schema; InvalidInput says at which line and column it stops making sense."""
    if len(text) > MOST_CHARACTERS:
        _refuse(text, 0, "query-too-large", f"a query has at most {MOST_CHARACTERS:,} characters.", _IN_PARTS)
    return Query(_Parser(text, schema).rules(), keeps_duplicates)


def head_of(text: str) -> str:
    """The name of a query that can be read."""
    return _tokens(text)[0].text


def subgoal_places(text: str) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Line and column, from 1, of the subgoals of each rule of a query that can be read."""
    found: list[tuple[tuple[int, int], ...]] = []
    names: list[int] = []
    for token, after in pairwise(_tokens(text)):
        if token.kind == "name" and after.text == "(":
            names.append(token.place)
        elif token.kind == "mark" and token.text == ".":
            # The first is the head.
            found.append(tuple(_line_and_column(text, place) for place in names[1:]))
            names = []
    return tuple(found)


def _line_and_column(text: str, place: int) -> tuple[int, int]:
    return text.count("\n", 0, place) + 1, place - (text.rfind("\n", 0, place) + 1) + 1


def _refuse(text: str, place: int, code: str, message: str, remedy: str) -> NoReturn:
    line, column = _line_and_column(text, place)
    raise InvalidInput.of("", code, f"Line {line}, column {column}: {message}", remedy)


def _tokens(text: str) -> list[_Token]:
    found, place = [], 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            what = (
                "this text has no closing quote" if text[place] == "'" else f"{text[place]!a} is unexpected"
            )
            _refuse(text, place, "datalog-syntax", f"{what}.", _EXAMPLE)
        token = _Token(match.lastgroup or "", match.group(), place)
        if token.kind == "text" and "\0" in token.text:
            _refuse(
                text, place, "datalog-syntax", "a text with the character NUL matches no value.", _EXAMPLE
            )
        if token.kind == "number" and digits_of(token.text) > MOST_DIGITS:
            _refuse(
                text,
                place,
                "number-too-long",
                f"a number has at most {MOST_DIGITS} digits.",
                "Write so long a number as a text, here and in the schema.",
            )
        if token.kind != "space":
            found.append(token)
        place = match.end()
    return [*found, _Token("end", "the end", len(text))]


class _Parser:
    def __init__(self, text: str, schema: RelationalSchema) -> None:
        self._text = text
        self._schema = schema
        self._tokens = _tokens(text)
        self._next = 0
        self._anonymous = 0

    def rules(self) -> tuple[Rule, ...]:
        """All of the text."""
        rules: list[Rule] = []
        head = None
        while self._peek().kind != "end" or not rules:
            place = self._peek().place
            name, rule = self._rule()
            if head not in (None, (name, len(rule.goal))):
                self._refuse(
                    place,
                    "heads-differ",
                    "all rules of a query share one head: its name and its number of terms.",
                    "Give the rules one head, or send them as queries of their own.",
                )
            head = name, len(rule.goal)
            rules.append(rule)
            if len(rules) > MOST_RULES:
                self._refuse(place, "query-too-large", f"a query has at most {MOST_RULES} rules.", _IN_PARTS)
        return tuple(rules)

    def _rule(self) -> tuple[str, Rule]:
        head = self._atom()
        self._take(":-")
        atoms: list[_PlacedAtom] = []
        comparisons: list[_PlacedComparison] = []
        while True:
            self._item(atoms, comparisons)
            if self._peek().text != ",":
                break
            self._take(",")
        self._take(".")
        if len(atoms) > MOST_ATOMS:
            self._refuse(
                atoms[MOST_ATOMS].place,
                "query-too-large",
                f"a rule has at most {MOST_ATOMS} subgoals.",
                "Leave out subgoals that repeat others: they change nothing.",
            )
        if len(head.places) > MOST_HEAD_TERMS:
            self._refuse(
                head.places[MOST_HEAD_TERMS],
                "query-too-large",
                f"a head has at most {MOST_HEAD_TERMS} terms.",
                "Write each variable once: a term that is repeated, or a constant, tells nothing.",
            )
        ranges = self._ranges(atoms)
        self._require_bound(head.atom.terms, head.place, ranges, "the head")
        for own in comparisons:
            self._require_comparable(own, ranges, atoms)
        body = tuple(own.atom for own in atoms), tuple(own.comparison for own in comparisons)
        return head.atom.relation, Rule(head.atom.terms, *body)

    def _item(self, atoms: list[_PlacedAtom], comparisons: list[_PlacedComparison]) -> None:
        token, after = self._peek(), self._peek(1)
        if token.kind == "name" and after.text == "(":
            atoms.append(self._atom())
        elif token.text == "true" and after.kind != "operator":
            self._next += 1
        else:
            left = self._term()
            operator = self._peek()
            if operator.kind != "operator":
                self._expected("a comparison such as =, != or <")
            self._next += 1
            places = token.place, self._peek().place
            comparison = Comparison(left, cast(Operator, operator.text), self._term())
            comparisons.append(_PlacedComparison(comparison, places))

    def _atom(self) -> _PlacedAtom:
        name = self._peek()
        if name.kind != "name":
            self._expected("a name")
        self._next += 1
        self._take("(")
        terms: list[Term] = []
        places: list[int] = []
        while self._peek().text != ")":
            if terms:
                self._take(",")
            places.append(self._peek().place)
            terms.append(self._term())
        self._take(")")
        return _PlacedAtom(Atom(name.text, tuple(terms)), name.place, tuple(places))

    def _term(self) -> Term:
        token = self._peek()
        self._next += 1
        match token.kind:
            case "number":
                return Constant(exact(token.text))
            case "text":
                return Constant(token.text[1:-1].replace("''", "'"))
            case "name" if token.text == "_":
                self._anonymous += 1
                return Variable(f"_#{self._anonymous}")
            case "name":
                return Variable(token.text)
            case _:
                self._next -= 1
                self._expected("a variable, a number or a 'text'")

    def _ranges(self, atoms: Sequence[_PlacedAtom]) -> dict[Term, Range]:
        """What each variable may be; refuses what the schema does not have."""
        ranges: list[tuple[Term, Range]] = []
        for own in atoms:
            relation = self._schema.relations.get(own.atom.relation)
            if relation is None:
                self._refuse(
                    own.place,
                    "unknown-relation",
                    f"the schema has no relation {own.atom.relation!r}.",
                    f"Name one of {', '.join(sorted(self._schema.relations)[:10])}.",
                )
            if len(own.atom.terms) != len(relation.attributes):
                self._refuse(
                    own.place,
                    "wrong-arity",
                    f"{relation.name} has {len(relation.attributes)} columns, not {len(own.atom.terms)}.",
                    f"Write {relation.name}({', '.join(relation.attributes[:10])}).",
                )
            for column, (term, range_) in enumerate(zip(own.atom.terms, relation.ranges, strict=True)):
                if isinstance(term, Constant) and term.value not in range_:
                    self._refuse_value(own.places[column], relation, column)
                ranges.append((term, range_))
        return common(ranges)

    def _require_bound(
        self, terms: Sequence[Term], place: int, ranges: dict[Term, Range], where: str
    ) -> None:
        for term in terms:
            if isinstance(term, Variable) and term not in ranges:
                name = term.name.partition("#")[0]
                self._refuse(
                    place,
                    "unsafe-variable",
                    f"the variable {name} of {where} occurs in no relation.",
                    "Use it in a relation of the same rule. If a text is meant, write it in single quotes.",
                )

    def _require_comparable(
        self, placed: _PlacedComparison, ranges: dict[Term, Range], atoms: Sequence[_PlacedAtom]
    ) -> None:
        own, place = placed.comparison, placed.places[0]
        sides = own.left, own.right
        self._require_bound(sides, place, ranges, "a comparison")
        if own.operator in ("=", "!="):
            for term, other, at in zip(sides, reversed(sides), reversed(placed.places), strict=True):
                if (
                    isinstance(other, Constant)
                    and isinstance(term, Variable)
                    and other.value not in ranges[term]
                ):
                    self._refuse_value(at, *self._column_without(other, term, atoms))
            return
        for term in sides:
            if isinstance(term, Constant):
                ordered = not isinstance(term.value, str)
            else:
                ordered = ranges[term].is_ordered
            if not ordered:
                self._refuse(
                    place,
                    "no-order",
                    f"{own.operator} compares numbers, and one side is none.",
                    "Declare the column's domain as number, integer or a list of numbers, or use = or !=.",
                )

    def _column_without(
        self, constant: Constant, variable: Term, atoms: Sequence[_PlacedAtom]
    ) -> tuple[Relation, int]:
        """The first column that the variable stands in and that never has the constant."""
        relations = self._schema.relations
        columns = (
            (relations[own.atom.relation], column)
            for own in atoms
            for column, term in enumerate(own.atom.terms)
            if term == variable
        )
        return next(
            (relation, column)
            for relation, column in columns
            if constant.value not in relation.ranges[column]
        )

    def _refuse_value(self, place: int, relation: Relation, column: int) -> NoReturn:
        name, range_ = relation.attributes[column], relation.ranges[column]
        domain = range_.kind if range_.values is None else f"a list of {len(range_.values):,}"
        self._refuse(
            place,
            "outside-domain",
            f"the column {name!r} of {relation.name} never has this value: its domain is {domain}.",
            "Write a value as the domain has it (1212 and '1212' differ), or declare a larger domain.",
        )

    def _peek(self, ahead: int = 0) -> _Token:
        return self._tokens[min(self._next + ahead, len(self._tokens) - 1)]

    def _take(self, text: str) -> None:
        if self._peek().text != text or self._peek().kind != "mark":
            self._expected(repr(text))
        self._next += 1

    def _expected(self, what: str) -> NoReturn:
        token = self._peek()
        found = token.text if token.kind == "end" else repr(token.text[:40])
        self._refuse(token.place, "datalog-syntax", f"{what} is expected, not {found}.", _EXAMPLE)

    def _refuse(self, place: int, code: str, message: str, remedy: str) -> NoReturn:
        _refuse(self._text, place, code, message, remedy)
