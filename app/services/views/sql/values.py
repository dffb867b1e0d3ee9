"""Literals of SQL as values of their columns, and which of them a database may take for equal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Final, Literal

from sqlglot import exp

from app.domain.views.ranges import Value, exact
from app.services.views.column_types import SECONDS_OF_A_DAY, ColumnType

MOST_DIGITS: Final = 60
MOST_EXACT_DIGITS: Final = 15
"""Of a number that a column of doubles has as it is written."""
MOST_EXACT_INTEGER: Final = 2**24
"""Up to which even a column of single precision tells all integers apart."""
NUMBER: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,2})?", re.ASCII)
_QUOTED_INTEGER: Final = re.compile(r"-?\d{1,15}", re.ASCII)
_SHORT_INTEGER: Final = re.compile(r"[+-]?\d{1,5}", re.ASCII)
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z' -]*")
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d(?P<time>[ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?", re.ASCII)
_TIME: Final = re.compile(r"(?!24)\d\d:\d\d(:\d\d(\.\d{1,6})?)?", re.ASCII)
"""24:00 is a time of its own, which a day does not reach."""
_MOMENTS: Final = frozenset(
    {
        "now",
        "today",
        "tomorrow",
        "yesterday",
        "epoch",
        "infinity",
        "inf",
        "nan",
        "noon",
        "midnight",
        "allballs",
    }
)
"""Words that a database may read as a number or a moment."""
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
    kind: Literal["number", "text", "boolean", "null", "date", "time", "timestamp"]


def written(node: exp.Expr) -> Written | None:
    """The literal that the expression is; None: it is none."""
    node = node.unnest()
    match node:
        case exp.Literal():
            return Written(str(node.this), "text" if node.is_string else "number")
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
    """DATE, TIME and TIMESTAMP before a text; what other casts make of a literal is not known."""
    inner = written(node.this)
    if inner is None or inner.kind != "text" or node.to.expressions:
        return None
    match node.to.this:
        case exp.DataType.Type.DATE:
            return Written(inner.text, "date")
        case exp.DataType.Type.TIME:
            return Written(inner.text, "time")
        case exp.DataType.Type.TIMESTAMP:
            return Written(inner.text, "timestamp")
    return None


def value(literal: Written, of: ColumnType) -> Value:
    """The literal as a value of a column; WrongType or NotComparable if it is none that is known."""
    found = _value(literal, of)
    if not of.has(found):
        named = sorted(map(str, of.values or [f"those of {of.declared}"]))
        more = ", …" if len(named) > 10 else ""
        raise OutsideDomain(f"is none of the column's values, which are {', '.join(named[:10])}{more}")
    return found


def _value(literal: Written, of: ColumnType) -> Value:
    match of.family, literal.kind:
        case "opaque" | "unknown", _:
            raise NotComparable
        case "untyped", "number" | "text" | "boolean":
            return _exact_number(literal.text) if literal.kind == "number" else literal.text
        case "number", "number":
            return _exact_number(literal.text)
        case "number", "text":
            _number(literal.text.strip())
            # How a database rounds a fraction in quotes depends on its column's type.
            if not _QUOTED_INTEGER.fullmatch(literal.text):
                raise NotComparable
            return int(literal.text)
        case "text", "text":
            return literal.text
        case "boolean", "boolean" | "text":
            if literal.text.lower() in _TRUE:
                return "true"
            if literal.text.lower() in _FALSE:
                return "false"
            raise WrongType("is no truth value")
        case "date" | "timestamp", "text" | "date" | "timestamp":
            return _moment(literal, of)
        case "time", "text" | "time":
            if not _TIME.fullmatch(literal.text):
                raise NotComparable
            try:
                found = datetime.fromisoformat(f"0001-01-01T{literal.text}")
            except ValueError:
                raise WrongType("is no time of day that there is") from None
            return exact(_share_of_a_day(found - datetime(1, 1, 1)))
        case "untyped", _:
            raise NotComparable
    raise WrongType(f"is no value of a column of {of.words}")


def _number(text: str) -> int | Fraction:
    if not NUMBER.fullmatch(text) or len(text) > MOST_DIGITS:
        raise WrongType(f"is no number of at most {MOST_DIGITS} digits")
    return exact(Fraction(text))


def _exact_number(text: str) -> int | Fraction:
    """A number that no column of numbers rounds."""
    number = _number(text)
    digits = re.sub(r"[eE].*|[^0-9]", "", text).strip("0")
    if len(digits) > MOST_EXACT_DIGITS:
        raise NotComparable
    return number


def _moment(literal: Written, of: ColumnType) -> int | Fraction:
    text = literal.text
    match = _MOMENT.fullmatch(text)
    # What is left of a time in a column of dates, and of a zone, depends on the database.
    if match is None or (match.group("time") and "date" in (literal.kind, of.family)):
        raise NotComparable
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise WrongType("is no date that there is") from None
    since = found - datetime(1, 1, 1)
    return exact(since.days + 1 + _share_of_a_day(since))


def _share_of_a_day(since: timedelta) -> Fraction:
    return (since.seconds + Fraction(since.microseconds, 10**6)) / SECONDS_OF_A_DAY


class LiteralBook:
    """The literals of all queries, so that two that a database may take for equal are noticed."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, object], Value] = {}
        self._number: Value | None = None

    def conflict(self, found: Value, of: ColumnType) -> Value | None:
        """A literal seen before that may equal this one though it is written otherwise; else None.

        Of a column whose type is not known only words, and short numbers, are known to differ: a date, an
        interval or an address can be written in several ways.
        """
        if of.family != "untyped":
            return None
        key = _kind(found)
        first = self._seen.setdefault(key, found)
        if first != found or type(first) is not type(found):
            return first
        if key[0] == "number":
            self._number = found if self._number is None else self._number
            return self._seen.get(_OTHER)
        return self._number if key == _OTHER else None


_OTHER: Final[tuple[str, object]] = ("other", None)
_TRUTH: Final[Mapping[str, int]] = {
    text: truth for words, truth in ((_TRUE, 1), (_FALSE, 0)) for text in words
}


def _kind(found: Value) -> tuple[str, object]:
    """What tells a literal surely apart from others, whatever the type of its column is."""
    if not isinstance(found, str):
        is_short = isinstance(found, int) and abs(found) <= MOST_EXACT_INTEGER
        return ("number", Fraction(found)) if is_short else _OTHER
    text = found.strip().lower()
    if text in _TRUTH:
        return "number", Fraction(_TRUTH[text])
    if _SHORT_INTEGER.fullmatch(text):
        return "number", Fraction(text)
    return ("word", text) if _WORD.fullmatch(text) and text not in _MOMENTS else _OTHER
