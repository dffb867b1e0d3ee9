"""The readable form of conditions: ``age >= 65 and not (city = 'Dayton')``.

Grammar, loosest first; words in capitals or not::

    condition   = all ("or" all)*
    all         = one ("and" one)*
    one         = "not" one | "(" condition ")" | operand operator operand
    operator    = = | != <> ≠ | < | <= ≤ | > | >= ≥
    operand     = city | "a name with spaces" | 'a text' | 65 | -0.5 | 1975-05-10

Inside quotes the quote itself is written twice. A date without quotes is the same as in single quotes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Final, NoReturn

from app.domain.errors import InvalidInput
from app.domain.rules.conditions import (
    MAX_DEPTH,
    Attribute,
    Comparison,
    Condition,
    Connective,
    Constant,
    Junction,
    Not,
    Operand,
    Operator,
    exact_number,
    require_small,
)

MAX_CHARACTERS: Final = 100_000
_WORDS: Final = ("and", "or", "not")
_NAME: Final = re.compile(r"[^\W\d]\w*")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_OPERATORS: Final[dict[str, Operator]] = {
    "=": "=", "!=": "!=", "<>": "!=", "≠": "!=", "<": "<", "<=": "<=", "≤": "<=", ">": ">", ">=": ">=",
    "≥": ">=",
}  # fmt: skip
_TOKEN: Final = re.compile(
    r"""
      (?P<date>    [0-9]{4}-[0-9]{2}-[0-9]{2} (?![\w.]) )
    | (?P<number>  [+-]? (?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+) (?:[eE][+-]?[0-9]{1,3})? (?![\w.]) )
    | (?P<name>    [^\W\d]\w* )
    | (?P<quoted>  "(?:[^"]|"")*" )
    | (?P<text>    '(?:[^']|'')*' )
    | (?P<operator> != | <> | <= | >= | [=<>≠≤≥] )
    | (?P<open>    \( )
    | (?P<close>   \) )
    """,
    re.VERBOSE,
)
_SPACE: Final = re.compile(r"\s*")


def parse_condition(text: str, pointer: str = "") -> Condition:
    """Read the text form; InvalidInput at ``pointer`` says at which character it stops making sense."""
    if len(text) > MAX_CHARACTERS:
        raise InvalidInput.of(
            pointer,
            "condition-too-large",
            f"A condition has at most {MAX_CHARACTERS} characters.",
            "Split the rule into several statements: their conditions are combined by and.",
        )
    parser = _Parser(_tokens(text, pointer), len(text) + 1, pointer)
    condition = parser.whole()
    require_small(condition, pointer)
    return condition


def print_condition(condition: Condition) -> str:
    """The text form; ``parse_condition`` gives back the same condition."""
    match condition:
        case Comparison(operator, left, right):
            return f"{print_operand(left)} {operator} {print_operand(right)}"
        case Not(argument):
            return f"not ({print_condition(argument)})"
        case Junction(connective, arguments):
            parts = [(print_condition(part), isinstance(part, Junction)) for part in arguments]
            return f" {connective} ".join(f"({text})" if nested else text for text, nested in parts)


def print_operand(operand: Operand) -> str:
    """A name, a number or a text as the text form has it."""
    match operand:
        case Attribute(name):
            bare = _NAME.fullmatch(name) is not None and name.lower() not in _WORDS
            return name if bare else '"' + name.replace('"', '""') + '"'
        case Constant(str(text)):
            return text if is_date(text) else "'" + text.replace("'", "''") + "'"
        case Constant(number):
            return format(number, "f")


def is_date(text: str) -> bool:
    """Whether it is a day of the calendar in the form 1975-05-10."""
    if _DATE.fullmatch(text) is None:
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    at: int

    @property
    def word(self) -> str:
        """The word of the language that it is, else its kind."""
        lower = self.text.lower()
        return lower if self.kind == "name" and lower in _WORDS else self.kind


def _tokens(text: str, pointer: str) -> list[_Token]:
    found = []
    place = _end_of_space(text, 0)
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            _refuse(
                pointer,
                f"Character {place + 1} starts nothing that belongs to a condition.",
                "Write texts in 'single' and names with spaces in \"double\" quotes and close every quote; "
                "the operators are = != < <= > >=.",
            )
        found.append(_Token(str(match.lastgroup), match[0], place + 1))
        place = _end_of_space(text, match.end())
    return found


def _end_of_space(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return place if match is None else match.end()


class _Parser:
    """Reads tokens from left to right, one function per rule of the grammar."""

    def __init__(self, tokens: Sequence[_Token], end: int, pointer: str) -> None:
        self._tokens = [*tokens, _Token("end", "", end)]
        self._next = 0
        self._pointer = pointer
        self._open = 0

    def whole(self) -> Condition:
        condition = self._joined("or")
        if self._word != "end":
            self._expected("and, or, or the end")
        return condition

    @property
    def _word(self) -> str:
        return self._tokens[self._next].word

    def _take(self) -> _Token:
        token = self._tokens[self._next]
        self._next += 1
        return token

    def _joined(self, connective: Connective) -> Condition:
        parts = [self._joined("and") if connective == "or" else self._one()]
        while self._word == connective:
            self._take()
            parts.append(self._joined("and") if connective == "or" else self._one())
        return parts[0] if len(parts) == 1 else Junction(connective, tuple(parts))

    def _one(self) -> Condition:
        if self._word not in ("not", "open"):
            return self._comparison()
        # A printed condition opens a bracket beside every "not".
        if self._open >= 2 * MAX_DEPTH:
            _refuse(
                self._pointer,
                f"At character {self._tokens[self._next].at} the condition is nested too deeply.",
                f"Nest at most {MAX_DEPTH} deep.",
            )
        self._open += 1
        if self._take().word == "not":
            condition: Condition = Not(self._one())
        else:
            condition = self._joined("or")
            if self._word != "close":
                self._expected("and, or, or a closing bracket")
            self._take()
        self._open -= 1
        return condition

    def _comparison(self) -> Condition:
        left = self._operand()
        if self._word != "operator":
            self._expected("one of = != < <= > >=")
        operator = _OPERATORS[self._take().text]
        return Comparison(operator, left, self._operand())

    def _operand(self) -> Operand:
        token = self._tokens[self._next]
        match token.word:
            case "name":
                operand: Operand = Attribute(token.text, token.at)
            case "quoted":
                operand = Attribute(token.text[1:-1].replace('""', '"'), token.at)
            case "text":
                operand = Constant(token.text[1:-1].replace("''", "'"), token.at)
            case "number":
                number = exact_number(Decimal(token.text), self._pointer, f" at character {token.at}")
                operand = Constant(number, token.at)
            case "date" if is_date(token.text):
                operand = Constant(token.text, token.at)
            case "date":
                _refuse(
                    self._pointer,
                    f"At character {token.at} there is a date that is on no calendar.",
                    "Write dates like 1975-05-10.",
                )
            case _:
                self._expected("a column, a number, a date or a text in single quotes")
        self._take()
        return operand

    def _expected(self, what: str) -> NoReturn:
        token = self._tokens[self._next]
        where = "at the end" if token.kind == "end" else f"at character {token.at}"
        _refuse(
            self._pointer,
            f"The condition cannot be read {where}: {what} is expected there.",
            "Write conditions like: age >= 65 and not (city = 'Dayton' or city = 'Gary').",
        )


def _refuse(pointer: str, message: str, remedy: str) -> NoReturn:
    raise InvalidInput.of(pointer, "not-a-condition", message, remedy)
