"""Literals of SQL as values of their columns, and which of them a database may take for equal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Final, Literal

from sqlglot import exp

from app.domain.views.ranges import Value, exact
from app.services.views.column_types import SECONDS_OF_A_DAY, ColumnType

MOST_DIGITS: Final = 60
_NUMBER: Final = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,2})?\s*")
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d(?P<time>[ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?")
_TRUE: Final = frozenset({"true", "t", "yes", "y", "on", "1"})
_FALSE: Final = frozenset({"false", "f", "no", "n", "off", "0"})


class WrongType(Exception):
    """A literal that is no value of its column's type."""

    code = "wrong-type"


class OutsideDomain(WrongType):
    """A literal of the right type that the column never has."""

    code = "outside-domain"


class NotComparable(Exception):
    """A literal of which it is not known which of the column's values it equals."""


@dataclass(frozen=True)
class Written:
    """A literal as it is written."""

    text: str
    kind: Literal["number", "text", "boolean", "null", "date", "timestamp"]


def written(node: exp.Expr) -> Written | None:
    """The literal that the expression is; None: it is none."""
    while isinstance(node, exp.Paren):
        node = node.this
    match node:
        case exp.Literal() | exp.National() | exp.RawString():
            is_text = not isinstance(node, exp.Literal) or node.is_string
            return Written(str(node.this), "text" if is_text else "number")
        case exp.Neg():
            inner = written(node.this)
            return Written(f"-{inner.text}", "number") if inner and inner.kind == "number" else None
        case exp.Boolean():
            return Written("true" if node.this else "false", "boolean")
        case exp.Null():
            return Written("", "null")
        case exp.Cast():
            return _cast(node)
    return None


def _cast(node: exp.Cast) -> Written | None:
    inner = written(node.this)
    if (
        inner is None
        or inner.kind != "text"
        or any(node.args.get(own) for own in ("format", "action", "default"))
    ):
        return None
    if node.to.is_type("date", "date32"):
        return Written(inner.text, "date")
    if node.to.is_type("timestamp", "datetime", "timestampntz", "datetime2"):
        return Written(inner.text, "timestamp")
    return inner if node.to.is_type("text", "varchar", "nvarchar") and not node.to.expressions else None


def value(literal: Written, of: ColumnType) -> Value:
    """The literal as a value of a column; WrongType or NotComparable if it is none that is known."""
    found = _value(literal, of)
    if of.values is not None and found not in of.values:
        raise OutsideDomain(f"is none of the column's values, which are {_some(of.values)}")
    return found


def _value(literal: Written, of: ColumnType) -> Value:
    match of.family, literal.kind:
        case "opaque", _:
            raise NotComparable
        case "untyped", "number" | "text" | "boolean":
            return _number(literal.text) if literal.kind == "number" else literal.text
        case "number", "number" | "text":
            number = _number(literal.text)
            return exact(float(number)) if of.is_binary else number
        case "number", "boolean":
            return int(literal.text == "true")
        case "text", "text":
            return literal.text
        case "padded", "text":
            return literal.text.rstrip(" ")
        case "boolean", "boolean" | "text":
            return _boolean(literal.text)
        case "boolean", "number" if literal.text in ("0", "1"):
            return _boolean(literal.text)
        case "date" | "timestamp", "text" | "date" | "timestamp":
            return _moment(literal, of)
        case "untyped", _:
            raise NotComparable
    raise WrongType(f"is no value of a column of {of.words}")


def _number(text: str) -> int | Fraction:
    if not _NUMBER.fullmatch(text) or len(text) > MOST_DIGITS:
        raise WrongType(f"is no number of at most {MOST_DIGITS} digits")
    return exact(Fraction(text.strip()))


def _boolean(text: str) -> str:
    if text.lower() in _TRUE:
        return "true"
    if text.lower() in _FALSE:
        return "false"
    raise WrongType("is no truth value")


def _moment(literal: Written, of: ColumnType) -> int | Fraction:
    text = literal.text.strip()
    match = _MOMENT.fullmatch(text)
    # What is left of a time in a column of dates, and of a zone, depends on the database.
    if match is None or (match.group("time") and "date" in (literal.kind, of.family)):
        raise NotComparable
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise WrongType("is no date that there is") from None
    since = found - datetime(1, 1, 1)
    microseconds = Fraction(since.microseconds, 10**6)
    return exact(since.days + 1 + (since.seconds + microseconds) / SECONDS_OF_A_DAY)


def _some(values: frozenset[Value]) -> str:
    named = sorted(map(str, values))
    return ", ".join(named[:10]) + (", …" if len(named) > 10 else "")


class LiteralBook:
    """The literals of all queries, so that two that a database may take for equal are noticed."""

    def __init__(self, *, ignores_case: bool) -> None:
        self._ignores_case = ignores_case
        self._seen: dict[tuple[str, object], Value] = {}

    def conflict(self, found: Value, of: ColumnType) -> Value | None:
        """A literal seen before that may equal this one though it is written otherwise; else None."""
        if of.family == "untyped" and (number := _as_number(found)) is not None:
            key: tuple[str, object] = ("number", number)
        elif self._ignores_case and isinstance(found, str) and of.family in ("untyped", "text", "padded"):
            key = ("text", found.casefold().rstrip(" "))
        else:
            return None
        first = self._seen.setdefault(key, found)
        return None if first == found and type(first) is type(found) else first


_TRUTH: Final[Mapping[str, int]] = {"true": 1, "false": 0}


def _as_number(found: Value) -> Fraction | None:
    if not isinstance(found, str):
        return Fraction(found)
    if found.lower() in _TRUTH:
        return Fraction(_TRUTH[found.lower()])
    return Fraction(found.strip()) if len(found) <= MOST_DIGITS and _NUMBER.fullmatch(found) else None
