"""Conditions of SQL as alternatives of conjunctions.

What is no conjunction of comparisons and subqueries is noted and taken for true: the alternatives then fit
more rows than the condition, which is sound for a query of which all rows that fit are taken for critical.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Final

from sqlglot import exp

from app.domain.views.queries import Comparison, Constant, Operator, Term
from app.services.views.column_types import ColumnType
from app.services.views.published import NotExact
from app.services.views.sql.names import Named, Names, Scope
from app.services.views.sql.rewriting import rewritten
from app.services.views.sql.rows import Body, Rows
from app.services.views.sql.values import (
    NotComparable,
    Written,
    WrongType,
    value,
    written,
)

MOST_ALTERNATIVES: Final = 64
Alternatives = tuple[Body, ...]
"""Subgoals and comparisons; none of them: the condition never holds."""
TRUE: Final[Alternatives] = (Body(),)
FALSE: Final[Alternatives] = ()
Translate = Callable[[exp.Query, Scope, bool], Rows]
"""Translates a subquery; the flag says that only whether it has a row matters."""
_OPERATORS: Final[dict[type[exp.Expr], Operator]] = {
    exp.EQ: "=",
    exp.NEQ: "!=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_DENIED: Final[dict[Operator, Operator]] = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_UNDERSTOOD: Final = frozenset(
    {"this", "expression", "expressions", "query", "low", "high", "table", "negate"}
)
"""Parts of a condition that are read; any other may change what it says."""


class _NotConjunctive(Exception):
    """A condition that is no conjunction; the operator's name."""


class Conditions:
    """Reads conditions, and collects by which operators they are not conjunctive."""

    def __init__(self, names: Names, translate: Translate) -> None:
        self._names = names
        self._text = names.text
        self._translate = translate
        self.reasons: list[NotExact] = []
        self.extras: list[Body] = []
        self._subqueries: dict[int, Rows] = {}

    def note(self, node: exp.Expr, operator: str) -> None:
        """Note that a query is not conjunctive by this operator, which a function names as it is written."""
        start, end = (node.meta.get(own, 0) for own in ("start", "end"))
        if isinstance(node, exp.Func) and end and operator == node.sql_name():
            operator = self._text.text[start : end + 1].upper()
        found = NotExact(operator, self._text.place(node))
        if found not in self.reasons:
            self.reasons.append(found)

    def alternatives(self, node: exp.Expr, scope: Scope, *, wanted: bool = True) -> Alternatives:
        """The alternatives in which the condition is true, or false if that is what is wanted."""
        while isinstance(node, exp.Paren | exp.Not):
            wanted = wanted != isinstance(node, exp.Not)
            node = node.this
        if node.args.get("negate"):
            wanted = not wanted
        if isinstance(node, exp.And | exp.Or):
            parts = [self.alternatives(own, scope, wanted=wanted) for own in operands(node, type(node))]
            if isinstance(node, exp.And) == wanted:
                return self._all(parts, node)
            return self._any(parts, node)
        try:
            return self._leaf(node, scope, wanted)
        except _NotConjunctive as error:
            self.note(node, str(error) or operator_name(node, wanted=wanted))
            self.examine(node, scope)
            return TRUE

    def examine(self, node: exp.Expr, scope: Scope, shown: Sequence[str] = ()) -> None:
        """Look at an expression that is not understood: its names must exist, what it reads counts.

        It may also name what is ``shown`` by the SELECT that it stands in.
        """
        for own in node.walk(prune=lambda own: isinstance(own, exp.Query)):
            if isinstance(own, exp.Query):
                self.extras += [body.closed() for body in self._rows(own, scope, only=True).bodies]
            elif (
                isinstance(own, exp.Column)
                and not isinstance(own.this, exp.Star)
                and (own.args.get("table") is not None or not self._names.matching(own.this, shown))
            ):
                self._names.column(own, scope)

    def _rows(self, query: exp.Query, scope: Scope, *, only: bool) -> Rows:
        """A subquery, which is translated once, even if it turns out not to be conjunctive."""
        if id(query) not in self._subqueries:
            self._subqueries[id(query)] = self._translate(query, scope, only)
        return self._subqueries[id(query)]

    def equal(self, node: exp.Expr, one: Named, other: Named) -> Alternatives:
        """Whether two columns are equal, as a join by USING asks."""
        try:
            return self._compared(node, (one, "="), other)
        except _NotConjunctive as error:
            self.note(node, str(error))
            return TRUE

    def _all(self, parts: Sequence[Alternatives], node: exp.Expr) -> Alternatives:
        found = TRUE
        for part in parts:
            if len(found) * len(part) > MOST_ALTERNATIVES:
                self._too_many(node, part)
                continue
            found = tuple(a.beside(b) for a, b in product(found, part))
        return tuple(dict.fromkeys(found))

    def _any(self, parts: Sequence[Alternatives], node: exp.Expr) -> Alternatives:
        found = tuple(dict.fromkeys(own for part in parts for own in part))
        if len(found) > MOST_ALTERNATIVES:
            self._too_many(node, found)
            return TRUE
        return found

    def _too_many(self, node: exp.Expr, left_out: Alternatives) -> None:
        self.note(node, f"more than {MOST_ALTERNATIVES} alternatives")
        self.extras += [body.closed() for body in left_out if body.atoms]

    def column(self, node: exp.Expr, scope: Scope) -> Named | None:
        """The column of a relation that an expression is, or always equals; None: it is none."""
        node = node.unnest()
        found = self._names.column(node, scope) if isinstance(node, exp.Column) else None
        if isinstance(node, exp.Coalesce) and (first := self.column(node.this, scope)) is not None:
            # What stands behind a column that is never NULL has no say but in the type.
            kind = first.field.type.family
            alike = all(own is not None and own.kind == kind for own in map(written, node.expressions))
            is_kept = alike and kind in ("text", "number", "date") and not first.field.may_be_null
            found = first if is_kept else None
        return found if found is not None and found.field.is_plain else None

    def _leaf(self, node: exp.Expr, scope: Scope, wanted: bool) -> Alternatives:
        plainer = None if node.find(exp.Query) else rewritten(node, lambda own: self.column(own, scope))
        if plainer is not None:
            self.examine(node, scope)
            return self.alternatives(plainer, scope, wanted=wanted)
        if any(value for name, value in node.args.items() if name not in _UNDERSTOOD):
            raise _NotConjunctive
        match node:
            case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
                operator = _OPERATORS[type(node)]
                return self._compare(
                    node, node.this, operator if wanted else _DENIED[operator], node.expression, scope
                )
            case exp.Between():
                low = self._compare(node, node.this, ">=" if wanted else "<", node.args["low"], scope)
                high = self._compare(node, node.this, "<=" if wanted else ">", node.args["high"], scope)
                return self._all([low, high], node) if wanted else self._any([low, high], node)
            case exp.In():
                return self._in(node, scope, wanted)
            case exp.Exists() if wanted and isinstance(node.this, exp.Query):
                return self._subquery(node, node.this, scope, ())
            case exp.Is():
                return self._is(node, scope, wanted)
            case exp.Boolean():
                return TRUE if bool(node.this) == wanted else FALSE
            case exp.Null():
                return FALSE
            case exp.Column():
                found = self._names.column(node, scope)
                if found.field.is_plain and found.field.type.family == "boolean":
                    text = "true" if wanted else "false"
                    return _one(found.term, "=", Constant(text))
        raise _NotConjunctive

    def _compare(
        self, node: exp.Expr, left: exp.Expr, operator: Operator, right: exp.Expr, scope: Scope
    ) -> Alternatives:
        one, other = self._operand(left, scope), self._operand(right, scope)
        if isinstance(one, Written) and isinstance(other, Named):
            turned: dict[Operator, Operator] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
            one, other, operator = other, one, turned.get(operator, operator)
        return self._compared(node, (one, operator), other)

    def _compared(
        self, node: exp.Expr, one: tuple[Named | Written, Operator], right: Named | Written
    ) -> Alternatives:
        left, operator = one
        if any(isinstance(own, Written) and own.kind == "null" for own in (left, right)):
            return FALSE
        if isinstance(left, Named):
            kind = left.field.type
        elif isinstance(right, Written) and left.kind == right.kind and left.kind != "null":
            kind = ColumnType(left.kind)
        else:
            raise _NotConjunctive("comparison of different types")
        if isinstance(right, Named) and not kind.compares_with(right.field.type):
            raise _NotConjunctive("comparison of different types")
        if operator not in ("=", "!="):
            self._require_order(node, [kind, *([right.field.type] if isinstance(right, Named) else [])])
            # What a column is above or below need be none of its values.
            kind = replace(kind, values=None, declared="")
        terms = [
            own.term if isinstance(own, Named) else self._constant(node, own, kind) for own in (left, right)
        ]
        return _one(terms[0], operator, terms[1])

    def _require_order(self, node: exp.Expr, kinds: Sequence[ColumnType]) -> None:
        if all(kind.is_ordered for kind in kinds):
            return
        if any(kind.family == "untyped" for kind in kinds):
            self._text.refuse(
                node,
                "no-order",
                "a comparison by order, and of a column no order is known.",
                "Declare its domain as number, integer or a list of numbers, or its type in CREATE TABLE.",
            )
        raise _NotConjunctive("order of texts" if kinds[0].family == "text" else "order of values")

    def _operand(self, node: exp.Expr, scope: Scope) -> Named | Written:
        found = written(node) or self.column(node, scope)
        if found is None:
            is_column = isinstance(node.unnest(), exp.Column)
            raise _NotConjunctive("comparison with a computed column" if is_column else operator_name(node))
        return found

    def _constant(self, node: exp.Expr, literal: Written, of: ColumnType) -> Constant:
        """The literal as a value of the column; refuses one that is none."""
        try:
            found = value(literal, of)
        except WrongType as error:
            self._text.refuse(
                node, error.code, f"{literal.text[:60]!r} {error}.", "Write a value as the column has it."
            )
        except NotComparable:
            raise _NotConjunctive("literal of another type") from None
        other = self._names.book.conflict(found, of)
        if other is not None:
            self._text.refuse(
                node,
                "ambiguous-literal",
                f"whether {str(found)!r} equals {str(other)!r}, which is written elsewhere, depends on the "
                "column's type and on how the database compares texts.",
                "Write both alike, or declare the type of the column.",
            )
        return Constant(found)

    def _in(self, node: exp.In, scope: Scope, wanted: bool) -> Alternatives:
        query = node.args.get("query")
        if not (node.expressions if query is None else wanted):
            raise _NotConjunctive
        if query is not None:
            left = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
            return self._subquery(node, query, scope, [self._operand(own, scope) for own in left])
        parts = [
            self._compare(node, node.this, "=" if wanted else "!=", own, scope) for own in node.expressions
        ]
        return self._any(parts, node) if wanted else self._all(parts, node)

    def _is(self, node: exp.Is, scope: Scope, wanted: bool) -> Alternatives:
        operand = self._operand(node.this, scope)
        if not isinstance(operand, Named):
            raise _NotConjunctive
        if isinstance(node.expression, exp.Null):
            if not wanted:
                return _one(operand.term, "=", operand.term)
            if not operand.field.may_be_null:
                return FALSE
        elif isinstance(node.expression, exp.Boolean) and (wanted or not operand.field.may_be_null):
            literal = Written("true" if node.expression.this else "false", "boolean")
            return self._compared(node, (operand, "=" if wanted else "!="), literal)
        raise _NotConjunctive

    def _subquery(
        self, node: exp.Expr, query: exp.Query, scope: Scope, left: Sequence[Named | Written]
    ) -> Alternatives:
        """That the subquery has a row, equal to what stands left."""
        rows = self._rows(query, scope, only=not left)
        if left and len(left) != len(rows.fields):
            self._text.refuse(node, "wrong-arity", f"the subquery has {len(rows.fields)} columns.")
        if not rows.is_plain or any(not own.is_plain for own in rows.fields[: len(left)]):
            self.reasons += rows.reasons
            raise _NotConjunctive("subquery that is not conjunctive")
        found: list[Body] = []
        for body in (own for group in rows.groups for own in group.bodies):
            equal: list[Comparison] = []
            for operand, term, field in zip(left, body.shown, rows.fields, strict=False):
                mine = (
                    operand.term if isinstance(operand, Named) else self._constant(node, operand, field.type)
                )
                if isinstance(operand, Named) and not operand.field.type.compares_with(field.type):
                    raise _NotConjunctive("comparison of different types")
                equal.append(Comparison(mine, "=", term or Constant(None)))
            found.append(Body(body.atoms, body.places, (*body.comparisons, *equal)))
        if len(found) > MOST_ALTERNATIVES:
            raise _NotConjunctive(f"more than {MOST_ALTERNATIVES} alternatives")
        return tuple(found)


def _one(left: Term, operator: Operator, right: Term) -> Alternatives:
    return (Body(comparisons=(Comparison(left, operator, right),)),)


def operands(node: exp.Expr, kind: type[exp.Expr]) -> list[exp.Expr]:
    """What a chain of one operator joins, from left to right; chains may be longer than the stack is deep."""
    found: list[exp.Expr] = []
    left = [node]
    while left:
        own = left.pop()
        if type(own) is kind:
            left += [own.args["expression"], own.this]
        else:
            found.append(own)
    return found


_WORDS: Final[dict[type[exp.Expr], str]] = {
    exp.Exists: "EXISTS",
    exp.In: "IN",
    exp.Is: "IS NULL",
    exp.Add: "arithmetic",
    exp.Sub: "arithmetic",
    exp.Mul: "arithmetic",
    exp.Div: "arithmetic",
    exp.Mod: "arithmetic",
    exp.Neg: "arithmetic",
    exp.DPipe: "||",
    exp.TimestampTrunc: "DATE_TRUNC",
    exp.Tuple: "row of values",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM",
    exp.NullSafeNEQ: "IS DISTINCT FROM",
    exp.Window: "window function",
    exp.GroupConcat: "STRING_AGG",
    exp.Select: "scalar subquery",
    exp.Subquery: "scalar subquery",
    exp.Column: "condition that is a column",
}


def operator_name(node: exp.Expr, *, wanted: bool = True) -> str:
    """What the operator is called, for a reader of the verdict."""
    if isinstance(node, exp.Alias | exp.Paren):
        return operator_name(node.this)
    name = _WORDS.get(type(node))
    if name is None:
        name = node.sql_name() if isinstance(node, exp.Func) else node.key.upper()
    return name if wanted else f"NOT {name}"
