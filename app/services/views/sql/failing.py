"""Expressions that may fail on some rows, where a database may try them on rows that no condition keeps.

A query that fails says so, and whether it does depends on every row for which an expression was tried: by
`10 / (a - 1) > 2` a row with a = 1 is known, even if another condition leaves it out. In which order
conditions are asked, and whether a subquery of FROM is computed before, is the database's choice. What the
outermost SELECT shows is computed of the rows that are left.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from app.services.views.sql.values import written

_ARITHMETIC: Final = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg, exp.Abs)
_OF_MANY_ROWS: Final = (exp.From, exp.Join, exp.Subquery, exp.SetOperation, exp.Exists, exp.Any)
"""In these a subquery may have as many rows as it likes."""
_BEFORE_SHOWN: Final = (exp.Where, exp.Having, exp.From, exp.Join, exp.With)


def failing(query: exp.Query) -> exp.Expr | None:
    """An expression that may fail, and that may be tried before all conditions are known to hold."""
    return next((node for node in query.walk() if _may_fail(node) and _is_tried_early(node)), None)


def _is_tried_early(node: exp.Expr) -> bool:
    above = node.parent
    while above is not None and not isinstance(above, _BEFORE_SHOWN):
        # The condition of a count leaves out rows, and has been tried on them.
        if isinstance(above, exp.Case) and isinstance(above.parent, exp.Count):
            return True
        above = above.parent
    return above is not None


def _may_fail(node: exp.Expr) -> bool:
    match node:
        case exp.Like() | exp.ILike():
            pattern = written(node.expression)
            return pattern is None or "\\" in pattern.text
        case exp.Substring():
            length = node.args.get("length")
            literal = written(length) if length is not None else None
            return length is not None and (literal is None or not literal.text.isdigit())
        case exp.Cast():
            return written(node) is None and node.find(exp.Column) is not None
        case exp.Subquery() if not isinstance(node.parent, _OF_MANY_ROWS) and node.arg_key != "query":
            return not _is_one_row(node.this)
    # Numbers may be too large, or divided by nothing.
    return isinstance(node, _ARITHMETIC) and node.find(exp.Column) is not None


def _is_one_row(query: exp.Expr) -> bool:
    """Whether a subquery that stands for a value has one row at most, whatever there is."""
    if not isinstance(query, exp.Select) or query.args.get("group") is not None:
        return False
    return all(_is_aggregate(own.unalias()) for own in query.expressions)


def _is_aggregate(shown: exp.Expr) -> bool:
    found = next(shown.find_all(exp.AggFunc), None)
    return found is not None and shown.find(exp.Window) is None
