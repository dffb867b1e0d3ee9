"""Of what kind expressions are, and which of them may fail on some values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Final

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from app.services.views.column_types import ColumnType
from app.services.views.sql import never_failing as listed
from app.services.views.sql.declared_types import TYPE_NAMES, TYPE_WORDS, name_of
from app.services.views.sql.text import SqlText
from app.services.views.sql.values import NUMBER, Written, written

_DIGITS_OF_INTEGER: Final = 10
_MOST_OF_SHORT: Final = 300
_NUMBERS: Final = {listed.COUNT: "integer", listed.NUMBER: listed.SHORT}
_LITERALS: Final = {**_NUMBERS, listed.WORD: "text", listed.QUOTED: "text"}
_OF_MANY_ROWS: Final = (exp.From, exp.Join, exp.Lateral, exp.Subquery, exp.SetOperation, exp.Exists, exp.Any)
"""In these a subquery may have as many rows as it likes."""
_UNIT: Final = re.compile(r"\s*\(\s*'(\w+)'\s*,")


def kind_of(column: ColumnType) -> str:
    """The kind of a column; empty: nothing is listed for it."""
    if column.declared.startswith("numeric"):
        _, high, step = column.limits or (0, 10**_MOST_OF_SHORT, 1)
        is_short = high < 10**_MOST_OF_SHORT and step * 10**_MOST_OF_SHORT >= 1
        return listed.SHORT if is_short else "numeric"
    others = {"unknown": "", "opaque": column.name, "untyped": listed.UNDECLARED, "number": listed.UNDECLARED}
    return column.declared.partition("(")[0] or others.get(column.family, column.family)


class Kinds:
    """The kinds of the expressions of a text; what is not known never to fail is kept."""

    def __init__(self, text: SqlText) -> None:
        self.text = text
        self.shown: dict[int, tuple[str, ...]] = {}
        """Of a column its kind, of a query those of what it shows, by the node."""
        self.may_fail: list[exp.Expr] = []
        self._unlisted: set[int] = set()
        self._found: dict[int, tuple[exp.Expr, str]] = {}

    @cached_property
    def _are_types_known(self) -> bool:
        """Whether no word of another database or in quotes may stand for a type that somebody has made."""
        return all(
            own.text.lower() not in TYPE_WORDS
            if own.token_type == TokenType.IDENTIFIER
            else own.token_type.name not in TYPE_NAMES or " ".join(own.text.lower().split()) in TYPE_WORDS
            for own in self.text.tokens
        )

    @cached_property
    def _extract(self) -> str:
        """What EXTRACT is listed as: date_part, of which the parser makes the same, if the text has that."""
        tokens = self.text.tokens
        words = zip(tokens, tokens[2:], strict=False)
        called = [unit for own, unit in words if own.text.lower() == "date_part"]
        unwritten = any(unit.token_type != TokenType.STRING for unit in called)
        return "" if unwritten else "date_part" if called else "extract"

    def of_column(self, node: exp.Expr) -> str:
        """The kind of a column that shows the expression."""
        return _LITERALS.get(self.of(node), self.of(node))

    def merged(self, node: exp.Join, kinds: tuple[str, str]) -> None:
        """Two columns that USING or NATURAL makes one, which is either of them beside outer joins."""
        self._unless(node, listed.result_of("eq", kinds))
        if node.args.get("side"):
            self.together(node, kinds)

    def of(self, node: exp.Expr) -> str:
        """The kind; empty: it is not known, or the expression may fail."""
        if id(node) not in self._found:
            # Operands come before what is made of them: chains may be longer than the stack is deep.
            for own in (*reversed(list(node.walk())), node):
                is_expression = isinstance(own, exp.Condition) and not isinstance(own, exp.If | exp.Column)
                if id(own) not in self._found and (is_expression or own is node):
                    self._found[id(own)] = own, self._kind(own)
        return self._found[id(node)][1]

    def together(self, node: exp.Expr, kinds: Sequence[str]) -> str:
        """The kind that values of several are cast to, as the database chooses it; casts may fail."""
        among = {own for own in kinds if own not in _LITERALS}
        if among <= {*listed.WIDER}:
            among |= {_NUMBERS[own] for own in kinds if own in _NUMBERS}
            found = max(among, key=listed.WIDER.index, default="text")
        else:
            found = "text" if among <= listed.TEXTS else min(among) if len(among) == 1 else ""
        casts = (own == found or listed.result_of(f"as:{found.partition(' ')[0]}", (own,)) for own in among)
        return self._unless(node, found if all(casts) else "")

    def _unless(self, node: exp.Expr, kind: str) -> str:
        """The kind; keeps the node if there is none, unless a part of it is kept."""
        if not kind:
            parts = (own for own in node.iter_expressions() if not isinstance(own, exp.AggFunc))
            if not any(id(own) in self._unlisted for own in parts):
                self.may_fail.append(node)
            self._unlisted.add(id(node))
        return kind

    def _listed(self, node: exp.Expr, name: str, *operands: exp.Expr) -> str:
        return self._unless(node, listed.result_of(name, tuple(map(self.of, operands))))

    def _kind(self, node: exp.Expr) -> str:
        literal = written(node)
        if literal is not None:
            return _of_literal(literal)
        match node:
            case _ if id(node) in self.shown:
                return self.shown[id(node)][0] if len(self.shown[id(node)]) == 1 else ""
            case exp.Subquery() if not isinstance(node.parent, _OF_MANY_ROWS) and node.arg_key != "query":
                return self._unless(node, self.of(node.this) if _is_one_row(node.this) else "")
            case exp.Any() | exp.Subquery() | exp.Paren() | exp.Filter():
                return self.of(node.this)
            case exp.And() | exp.Or() | exp.Not() | exp.Is() | exp.Exists():
                return "boolean"
            case exp.Between():
                low, high = (self._listed(node, "lt", node.this, node.args[own]) for own in ("low", "high"))
                return low and high
            case exp.In():
                return self._in(node)
            case exp.EQ() | exp.NEQ() if isinstance(node.this, exp.Tuple):
                pairs = zip(node.this.expressions, node.expression.expressions, strict=False)
                return "boolean" if all(self._listed(node, "eq", *own) for own in pairs) else ""
            case exp.Array():
                return self.together(node, [self.of(own) for own in node.expressions])
            case exp.CurrentDate() | exp.CurrentTimestamp() | exp.Interval():
                return _OF_CLOCKS[type(node)]
            case exp.Add() | exp.Sub() if of := _MOVED.get((self.of(node.this), self.of(node.expression))):
                if node.find(exp.Column) is None:
                    return of
            case exp.Case():
                equal = [
                    self._listed(node, "eq", node.this, own.this) for own in node.args["ifs"] if node.this
                ]
                values = [*(own.args["true"] for own in node.args["ifs"]), node.args.get("default")]
                kind = self.together(node, [self.of(own) for own in values if own is not None])
                return kind if all(equal) else ""
            case exp.Coalesce() | exp.Greatest() | exp.Least():
                return self.together(node, [self.of(own) for own in (node.this, *node.expressions)])
            case exp.Concat():
                return "text" if all(self._listed(node, "concat", own) for own in node.expressions) else ""
            case exp.Nullif():
                return self._listed(node, "eq", node.this, node.expression) and self.of(node.this)
            case exp.Cast():
                to = name_of(node.to) if self._are_types_known else ""
                if to and written(node.this) is not None:
                    return kind_of(ColumnType(declared=to))
                return self._listed(node, f"as:{to.partition(' ')[0]}", node.this)
            case exp.Window():
                return self.of(node.this) if _is_framed_by_rows(node) else self._unless(node, "")
            case exp.Count() | exp.Grouping():
                return "bigint"
            case exp.Add() | exp.Sub() | exp.Mul() | exp.Div() | exp.Mod():
                operands = (node.this, node.expression)
                # Of literals alone, whether it fails is known before any row is looked at.
                if all(self.of(own) in _NUMBERS or written(own) is not None for own in operands):
                    return next((own for own in map(self.of, operands) if own not in _NUMBERS), listed.NUMBER)
            case exp.Extract():
                return self._listed(node, f"{self._extract}:{node.name.lower()}", node.expression)
        start, end = (node.meta.get(own, 0) for own in ("start", "end"))
        name = self.text.text[start : end + 1].lower() if end else node.key
        if isinstance(node, exp.TimestampTrunc):
            unit = _UNIT.match(self.text.text, end + 1)
            return self._listed(node, f"{name}:{unit and unit[1].lower()}", node.this)
        return self._listed(node, name, *node.iter_expressions())

    def _in(self, node: exp.In) -> str:
        left = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
        kinds, query = list(map(self.of, left)), node.args.get("query")
        if query is None:
            rows = [own.expressions if isinstance(own, exp.Tuple) else [own] for own in node.expressions]
            pairs = [(kind, self.of(own)) for row in rows for kind, own in zip(kinds, row, strict=False)]
            is_known = len(kinds) > 1 or bool(self.together(node, [kinds[0], *(own for _, own in pairs)]))
        else:
            shown = self.shown.get(id(query.unnest()), ())
            pairs, is_known = list(zip(kinds, shown, strict=False)), len(shown) == len(kinds)
        is_known &= all(listed.result_of("eq", own) for own in pairs)
        return self._unless(node, "boolean" if is_known else "")


_OF_CLOCKS: Final[dict[type[exp.Expr], str]] = {
    exp.CurrentDate: "date", exp.CurrentTimestamp: "timestamptz", exp.Interval: "interval",
}  # fmt: skip
_MOVED: Final = {
    ("date", "interval"): "timestamp",
    ("date", listed.COUNT): "date",
    ("timestamptz", "interval"): "timestamptz",
}
"""What a moment becomes that is moved; of the clock's whether that fails is known before any row is."""


def _of_literal(literal: Written) -> str:
    if literal.kind == "number":
        if literal.text.isdecimal() and len(literal.text) < _DIGITS_OF_INTEGER:
            return listed.COUNT
        # Its exponent has two digits at most.
        is_short = NUMBER.fullmatch(literal.text) and len(literal.text) < _MOST_OF_SHORT - 100
        return listed.NUMBER if is_short else "numeric"
    if literal.kind in ("text", "null"):
        return listed.QUOTED if literal.kind == "null" or "\\" in literal.text else listed.WORD
    return literal.kind


def _is_framed_by_rows(node: exp.Window) -> bool:
    """Whether a window's frame ends so many whole rows away as is written, or where no number says."""
    spec = node.args.get("spec") or exp.WindowSpec(kind="ROWS")
    ends = map(written, spec.iter_expressions())
    are_rows = all(own and own.text.isdecimal() and spec.args["kind"].upper() == "ROWS" for own in ends)
    return are_rows and node.args.get("alias") is None


def _is_one_row(query: exp.Expr) -> bool:
    """Whether a subquery that stands for a value has one row at most, whatever there is."""
    return (
        isinstance(query, exp.Select)
        and query.args.get("group") is None
        and all(own.find(exp.AggFunc) and not own.find(exp.Window) for own in query.expressions)
    )
