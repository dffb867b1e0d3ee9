"""Conditions in other words: as comparisons of columns with literals, where that is the same on every row."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from sqlglot import exp

from app.services.views.sql.names import Named
from app.services.views.sql.values import written

_FLIPPED: Final[dict[type[exp.Expr], type[exp.Expr]]] = {
    exp.EQ: exp.EQ, exp.NEQ: exp.NEQ,
    exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE,
}  # fmt: skip
_ELEMENT: Final = re.compile(r"[^\s\\\"{},]+(?: [^\s\\\"{},]+)*")
"""Of an array in a text: what stands for itself without quotes."""
_LAST_YEAR: Final = 9998
"""The year after it is the last that a literal can say."""
ColumnOf = Callable[[exp.Expr], Named | None]
"""The column of a relation that an expression is; None: it is none."""


def rewritten(node: exp.Expr, column: ColumnOf, *, wanted: bool) -> exp.Expr | None:
    """A condition that is true exactly where this one is, or is false if that is wanted; None: none is known.

    Only its parts are read, never a subquery.
    """
    if node.find(exp.Query) is not None:
        return None
    match node:
        case exp.NullSafeEQ() | exp.NullSafeNEQ():
            return _same(node, column, equal=isinstance(node, exp.NullSafeEQ) == wanted)
        case exp.EQ() | exp.NEQ() if isinstance(node.this, exp.Tuple):
            pairs = _pairs(node.this, node.expression)
            return None if pairs is None else _tuples([pairs], equal=isinstance(node, exp.EQ) == wanted)
        case exp.In() if isinstance(node.this, exp.Tuple) and node.expressions:
            rows = [_pairs(node.this, own) for own in node.expressions]
            known = [own for own in rows if own is not None]
            return _tuples(known, equal=wanted) if len(known) == len(rows) else None
        case exp.EQ() if isinstance(node.expression, exp.Any):
            elements = _elements(node.expression.this)
            listed = None if elements is None else exp.In(this=node.this.copy(), expressions=elements)
            return listed if listed is None or wanted else exp.Not(this=listed)
        case exp.Between() if isinstance(node.this, exp.Extract):
            both = [exp.GTE(this=node.this.copy(), expression=node.args["low"].copy()),
                    exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())]  # fmt: skip
            return both[0].and_(both[1]) if wanted else exp.Not(this=exp.and_(*both))
        case exp.In() if isinstance(node.this, exp.Extract) and node.expressions:
            years = [exp.EQ(this=node.this.copy(), expression=own.copy()) for own in node.expressions]
            return exp.or_(*years) if wanted else exp.Not(this=exp.or_(*years))
        case exp.Like():
            return _listed(node.this, _pattern(node.expression), column, wanted=wanted)
        case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
            kind: type[exp.Expr] = type(node)
            left, right = node.this, node.expression
            if written(left) is not None:
                kind, left, right = _FLIPPED[kind], right, left
            if isinstance(left, exp.Extract):
                return _year(kind, left, right, column, wanted=wanted)
            if isinstance(left, exp.Lower | exp.Upper) and kind in (exp.EQ, exp.NEQ):
                return _listed(left.this, _folded(left, right), column, wanted=(kind is exp.EQ) == wanted)
    return None


def _same(node: exp.Expr, column: ColumnOf, *, equal: bool) -> exp.Expr | None:
    """Whether two are one value, NULL being one as well."""
    one, other = node.this, node.expression
    if written(one) is not None:
        one, other = other, one
    literal, left, right = written(other), column(one), column(other)
    if left is None or (literal is None and right is None):
        return None
    compared = (exp.EQ if equal else exp.NEQ)(this=one.copy(), expression=other.copy())
    if literal is None:
        return compared if not (left.field.may_be_null or (right and right.field.may_be_null)) else None
    if literal.kind == "null":
        absent = exp.Is(this=one.copy(), expression=exp.Null())
        return absent if equal else exp.Not(this=absent)
    if equal or not left.field.may_be_null:
        return compared
    return exp.or_(compared, exp.Is(this=one.copy(), expression=exp.Null()))


def _pairs(left: exp.Expr, right: exp.Expr) -> list[tuple[exp.Expr, exp.Expr]] | None:
    if not isinstance(right, exp.Tuple) or len(left.expressions) != len(right.expressions):
        return None
    return list(zip(left.expressions, right.expressions, strict=True))


def _tuples(rows: Sequence[Sequence[tuple[exp.Expr, exp.Expr]]], *, equal: bool) -> exp.Expr:
    """That the values left are those of a row, or differ from every row's in some place."""
    kind: type[exp.Expr] = exp.EQ if equal else exp.NEQ
    inner, outer = (exp.and_, exp.or_) if equal else (exp.or_, exp.and_)
    return outer(*(inner(*(kind(this=a.copy(), expression=b.copy()) for a, b in row)) for row in rows))


def _elements(node: exp.Expr) -> list[exp.Expr] | None:
    """What an array of literals holds, be it ARRAY[…] or '{…}'."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Array):
        literals = [own for own in node.expressions if written(own) is not None]
        return [own.copy() for own in literals] if len(literals) == len(node.expressions) > 0 else None
    text = written(node)
    if text is None or text.kind != "text" or not (text.text.startswith("{") and text.text.endswith("}")):
        return None
    parts = [own.strip(" ") for own in text.text[1:-1].split(",")]
    if not all(_ELEMENT.fullmatch(own) for own in parts):
        return None
    return [exp.Null() if own.lower() == "null" else exp.Literal.string(own) for own in parts]


def _listed(
    of: exp.Expr, holds: Callable[[str], bool | None] | None, column: ColumnOf, *, wanted: bool
) -> exp.Expr | None:
    """That a column has one of its listed values of which something holds, or does not; None: not known."""
    found = column(of)
    values = None if found is None or found.field.type.family != "text" else found.field.type.values
    if holds is None or values is None:
        return None
    held = {own: holds(own) for own in map(str, values)}
    if None in held.values():
        return None
    kept = sorted(own for own, is_held in held.items() if is_held == wanted)
    if not kept:
        return exp.false()
    return exp.In(this=of.copy(), expressions=[exp.Literal.string(own) for own in kept])


def _pattern(node: exp.Expr) -> Callable[[str], bool] | None:
    """Whether a text is LIKE a pattern."""
    literal = written(node)
    if literal is None or literal.kind != "text" or "\\" in literal.text:
        return None
    parts = ({"%": ".*", "_": "."}.get(sign, re.escape(sign)) for sign in literal.text)
    pattern = re.compile("".join(parts), re.DOTALL)
    return lambda text: pattern.fullmatch(text) is not None


def _folded(function: exp.Expr, node: exp.Expr) -> Callable[[str], bool | None] | None:
    """Whether a text becomes the literal; None where locales differ: beyond ASCII, and of the Turkish I."""
    literal = written(node)
    if literal is None or literal.kind != "text":
        return None
    fold, unsure = (str.lower, "I") if isinstance(function, exp.Lower) else (str.upper, "i")
    return lambda text: None if unsure in text or not text.isascii() else fold(text) == literal.text


def _year(
    kind: type[exp.Expr], part: exp.Extract, year: exp.Expr, column: ColumnOf, *, wanted: bool
) -> exp.Expr | None:
    """A comparison of a date's year with a number, as one of the date with the days on which years begin."""
    literal, found = written(year), column(part.expression)
    if literal is None or literal.kind != "number" or not literal.text.isdecimal() or found is None:
        return None
    of, number = found.field.type.family, int(literal.text)
    if part.name.upper() != "YEAR" or of not in ("date", "timestamp") or not 1 <= number <= _LAST_YEAR:
        return None
    first, after = (
        exp.cast(exp.Literal.string(f"{own:04}-01-01"), exp.DataType.Type.DATE)
        for own in (number, number + 1)
    )

    def asks(comparison: type[exp.Expr], day: exp.Expr) -> exp.Expr:
        return comparison(this=part.expression.copy(), expression=day)

    within = exp.and_(asks(exp.GTE, first), asks(exp.LT, after))
    without = exp.or_(asks(exp.LT, first), asks(exp.GTE, after))
    true: dict[type[exp.Expr], exp.Expr] = {
        exp.EQ: within if wanted else without,
        exp.NEQ: without if wanted else within,
        exp.LT: asks(exp.LT if wanted else exp.GTE, first),
        exp.GTE: asks(exp.GTE if wanted else exp.LT, first),
        exp.GT: asks(exp.GTE if wanted else exp.LT, after),
        exp.LTE: asks(exp.LT if wanted else exp.GTE, after),
    }
    return true[kind]
