"""Conditions in other words: as comparisons of columns with literals that are true or false alike."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from fractions import Fraction
from typing import Final

from sqlglot import exp

from app.domain.views.ranges import Value, exact, is_multiple
from app.services.views.column_types import ColumnType, shown
from app.services.views.sql.names import Named
from app.services.views.sql.values import NotComparable, Written, WrongType, value, written

_ELEMENT: Final = re.compile(r"[^\s\\\"{},]+(?: [^\s\\\"{},]+)*")
"""Of an array in a text: what stands for itself without quotes."""
_LAST_YEAR: Final = 9998
"""The year after it is the last that a literal can say."""
_STEPS: Final = (exp.Extract, exp.TimestampTrunc)
_DAYS: Final = {"day": Fraction(1), "hour": Fraction(1, 24), "minute": Fraction(1, 24 * 60)}
ColumnOf = Callable[[exp.Expr], Named | None]
"""The column of a relation that an expression is; None: it is none."""


def rewritten(node: exp.Expr, column: ColumnOf) -> exp.Expr | None:
    """A condition of the same truth value as this one on every row; None: none is known."""
    match node:
        case exp.NullSafeEQ() | exp.NullSafeNEQ():
            same = _same(node, column)
            return exp.Not(this=same) if same and isinstance(node, exp.NullSafeNEQ) else same
        case exp.EQ() | exp.NEQ() | exp.In() if isinstance(node.this, exp.Tuple):
            rows = node.expressions if isinstance(node, exp.In) else [node.expression]
            width = len(node.this.expressions)
            if not rows or any(type(own) is not exp.Tuple or len(own.expressions) != width for own in rows):
                return None
            pairs = (zip(node.this.expressions, own.expressions, strict=True) for own in rows)
            found = exp.or_(*(exp.and_(*(_asks(exp.EQ, *own) for own in row)) for row in pairs))
            return exp.Not(this=found) if isinstance(node, exp.NEQ) else found
        case exp.EQ() if isinstance(node.expression, exp.Any):
            elements = _elements(node.expression.this.unnest())
            return None if not elements else exp.In(this=node.this.copy(), expressions=elements)
        case exp.Between() if isinstance(node.this, _STEPS):
            low, high = node.args["low"], node.args["high"]
            return exp.and_(_asks(exp.GTE, node.this, low), _asks(exp.LTE, node.this, high))
        case exp.In() if isinstance(node.this, _STEPS) and node.expressions:
            return exp.or_(*(_asks(exp.EQ, node.this, own) for own in node.expressions))
        case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
            if isinstance(node.this, _STEPS):
                return _step(node, column)
            if isinstance(node.this, exp.Lower | exp.Upper) and isinstance(node, exp.EQ | exp.NEQ):
                listed = _listed(node.this.this, _folded(node), column)
                return exp.Not(this=listed) if listed and isinstance(node, exp.NEQ) else listed
        case exp.Like():
            return _listed(node.this, _pattern(node.expression), column)
    return None


def _asks(kind: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return kind(this=left.copy(), expression=right.copy())


def _same(node: exp.Expr, column: ColumnOf) -> exp.Expr | None:
    """Whether a column is what stands right of it, NULL being one value as well."""
    literal, left, right = written(node.expression), column(node.this), column(node.expression)
    if left is None or (literal is None and right is None):
        return None
    if literal is not None and literal.kind == "null":
        return _asks(exp.Is, node.this, exp.Null())
    equal = _asks(exp.EQ, node.this, node.expression)
    if right is not None and (left.field.may_be_null or right.field.may_be_null):
        return None
    return exp.and_(equal, exp.Not(this=_asks(exp.Is, node.this, exp.Null())))


def _elements(node: exp.Expr) -> list[exp.Expr] | None:
    """What an array of literals holds, be it ARRAY[…] or '{…}'."""
    if isinstance(node, exp.Array):
        return None if any(written(own) is None for own in node.expressions) else node.copy().expressions
    text = written(node)
    if text is None or text.kind != "text" or (text.text[:1], text.text[-1:]) != ("{", "}"):
        return None
    parts = [own.strip(" ") for own in text.text[1:-1].split(",")]
    if not all(map(_ELEMENT.fullmatch, parts)):
        return None
    return [exp.Null() if own.lower() == "null" else exp.Literal.string(own) for own in parts]


def _listed(of: exp.Expr, holds: Callable[[str], bool | None], column: ColumnOf) -> exp.Expr | None:
    """That a column has one of its listed values of which something holds; None: not known."""
    found = column(of)
    if found is None or found.field.type.family != "text" or found.field.type.values is None:
        return None
    held = {own: holds(own) for own in sorted(map(str, found.field.type.values))}
    if None in held.values():
        return None
    # Without any that holds it is none of all, which NULL is not known to be.
    kept = [own for own, is_held in held.items() if is_held]
    listed = exp.In(this=of.copy(), expressions=[exp.Literal.string(own) for own in kept or held])
    return listed if kept else exp.Not(this=listed)


def _pattern(node: exp.Expr) -> Callable[[str], bool | None]:
    """Whether a text is LIKE a pattern."""
    literal = written(node)
    if literal is None or literal.kind != "text" or "\\" in literal.text:
        return lambda text: None
    parts = ({"%": ".*", "_": "."}.get(sign, re.escape(sign)) for sign in literal.text)
    pattern = re.compile("".join(parts), re.DOTALL)
    return lambda text: pattern.fullmatch(text) is not None


def _folded(node: exp.Expr) -> Callable[[str], bool | None]:
    """Whether a text becomes the literal; not known where locales differ, as in the Turkish I."""
    literal = written(node.expression)
    fold, unsure = (str.lower, "I") if isinstance(node.this, exp.Lower) else (str.upper, "i")
    if literal is None or literal.kind != "text":
        return lambda text: None
    return lambda text: None if unsure in text or not text.isascii() else fold(text) == literal.text


def _step(node: exp.Expr, column: ColumnOf) -> exp.Expr | None:
    """A comparison of a moment's year, day or hour, as one of the moment with where these begin."""
    part, literal = node.this, written(node.expression)
    of = part.expression if isinstance(part, exp.Extract) else part.this
    found, ends = column(of), None if literal is None else _ends(part, literal)
    if found is None or ends is None or found.field.type.family not in ("date", "timestamp"):
        return None
    first, after = (exp.Literal.string(shown(own, ColumnType("date"))) for own in ends)
    if isinstance(node, exp.EQ | exp.NEQ):
        within = exp.and_(_asks(exp.GTE, of, first), _asks(exp.LT, of, after))
        return exp.Not(this=within) if isinstance(node, exp.NEQ) else within
    kind = exp.LT if isinstance(node, exp.LT | exp.LTE) else exp.GTE
    return _asks(kind, of, first if isinstance(node, exp.LT | exp.GTE) else after)


def _ends(part: exp.Expr, literal: Written) -> tuple[Value, Value] | None:
    """The beginning that a literal names of a year, day or hour, and the next one; None: it names none."""
    if isinstance(part, exp.Extract):
        year = int(literal.text) if literal.kind == "number" and literal.text.isdecimal() else 0
        is_known = part.name.upper() == "YEAR" and 1 <= year <= _LAST_YEAR
        return (date(year, 1, 1).toordinal(), date(year + 1, 1, 1).toordinal()) if is_known else None
    try:
        first, unit = value(literal, ColumnType("timestamp")), _DAYS.get(part.text("unit").lower())
    except (WrongType, NotComparable):
        return None
    if unit is None or isinstance(first, str) or not is_multiple(first, unit):
        return None
    return first, exact(first + unit)
