"""What of SQL is read at all.

Every other clause and function is refused, for it may change what a query depends on.
The list names what is known, so that what a parser comes to understand later is refused as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NoReturn

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import TokenType

from app.services.views.sql.never_failing import NAMES
from app.services.views.sql.text import SqlText

MOST_OF_A_NAME: Final = 63
"""Bytes of it that PostgreSQL tells apart."""
_BOTH: Final = frozenset({"this", "expression"})
_ONE: Final = frozenset({"this"})
_SET: Final = _BOTH | {"with_", "distinct", "order", "limit", "offset"}
_PARTS: Final[dict[type[exp.Expr], frozenset[str]]] = {
    exp.Select: frozenset(
        {"with_", "expressions", "distinct", "from_", "joins", "where", "group", "having"}
        | {"order", "limit", "offset", "windows"}
    ),
    **dict.fromkeys((exp.Union, exp.Intersect, exp.Except), _SET),
    exp.Subquery: frozenset({"this", "alias", "with_", "order", "limit", "offset", "joins"}),
    exp.With: frozenset({"expressions", "recursive"}),
    exp.CTE: frozenset({"this", "alias", "materialized"}),
    exp.From: _ONE,
    exp.Join: frozenset({"this", "on", "using", "side", "kind", "method"}),
    exp.Table: frozenset({"this", "db", "catalog", "alias", "joins"}),
    exp.Lateral: frozenset({"this", "alias"}),
    exp.Values: frozenset({"expressions", "alias"}),
    exp.TableAlias: frozenset({"this", "columns"}),
    exp.Group: frozenset({"expressions"}),
    exp.Order: frozenset({"expressions"}),
    exp.Ordered: frozenset({"this", "desc", "nulls_first"}),
    exp.Limit: frozenset({"expression"}),
    exp.Offset: frozenset({"expression"}),
    exp.Fetch: frozenset({"direction", "count", "limit_options"}),
    exp.LimitOptions: frozenset({"rows", "with_ties"}),
    exp.Distinct: frozenset({"on", "expressions"}),
    exp.Column: frozenset({"this", "table"}),
    exp.Identifier: frozenset({"this", "quoted"}),
    exp.Alias: frozenset({"this", "alias"}),
    exp.Tuple: frozenset({"expressions"}),
    exp.Literal: frozenset({"this", "is_string"}),
    exp.Star: frozenset(),
    exp.Null: frozenset(),
    exp.Cast: frozenset({"this", "to"}),
    exp.DataType: frozenset({"this", "expressions", "nested"}),
    exp.DataTypeParam: _ONE,
    exp.In: frozenset({"this", "expressions", "query"}),
    exp.Between: frozenset({"this", "low", "high"}),
    exp.Case: frozenset({"this", "ifs", "default"}),
    exp.If: frozenset({"this", "true"}),
    exp.Is: _BOTH | {"negate"},
    exp.Like: _BOTH | {"negate"},
    exp.ILike: _BOTH | {"negate"},
    exp.DPipe: _BOTH | {"safe"},
    exp.Div: _BOTH | {"typed", "safe"},
    exp.Window: frozenset({"this", "partition_by", "order", "spec", "over", "alias"}),
    exp.WindowSpec: frozenset({"kind", "start", "start_side", "end", "end_side"}),
    exp.Count: frozenset({"this", "expressions", "big_int"}),
    exp.Coalesce: frozenset({"this", "expressions"}),
    exp.Greatest: frozenset({"this", "expressions", "ignore_nulls"}),
    exp.Least: frozenset({"this", "expressions", "ignore_nulls"}),
    exp.Concat: frozenset({"expressions", "safe", "coalesce"}),
    exp.Round: frozenset({"this", "decimals"}),
    exp.Substring: frozenset({"this", "start", "length"}),
    exp.TimestampTrunc: frozenset({"this", "unit"}),
    exp.Interval: frozenset({"this", "unit"}),
    exp.Array: frozenset({"expressions", "value_constructor"}),
    exp.GroupConcat: frozenset({"this", "separator"}),
    **dict.fromkeys((exp.Lag, exp.Lead, exp.NthValue), frozenset({"this", "offset", "default"})),
    **dict.fromkeys(
        (
            *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ),
            *(exp.And, exp.Or, exp.Add, exp.Sub, exp.Mul, exp.Mod),
            *(exp.Filter, exp.Extract, exp.Nullif),
        ),
        _BOTH,
    ),
    **dict.fromkeys(
        (
            *(exp.Where, exp.Having, exp.Paren, exp.Not, exp.Neg, exp.Boolean, exp.Exists, exp.Any, exp.Var),
            *(exp.Stddev, exp.StddevSamp, exp.StddevPop, exp.Variance, exp.VariancePop),
            *(exp.ArrayAgg, exp.FirstValue, exp.LastValue, exp.Ntile, exp.CurrentDate, exp.CurrentTimestamp),
            *(exp.Sum, exp.Avg, exp.Lower, exp.Upper, exp.Length, exp.Abs, exp.Trim),
        ),
        _ONE,
    ),
    **dict.fromkeys((exp.Min, exp.Max), _ONE | {"expressions"}),
    **dict.fromkeys(
        (
            *(exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist),
            *(exp.Rollup, exp.Cube, exp.GroupingSets, exp.Grouping),
        ),
        frozenset({"expressions"}),
    ),
}
"""The nodes that are read, with their parts."""
_POSTGRES: Final = Dialect.get_or_raise("postgres").parser_class
_CALLED: Final = {*_POSTGRES.FUNCTIONS, *_POSTGRES.FUNCTION_PARSERS, *_POSTGRES.NO_PAREN_FUNCTION_PARSERS}
_SYNTAX: Final = """
    and any case cast char coalesce count date_part date_trunc exists extract filter first greatest grouping
    least like mod next nullif or time timestamp
    array_agg cume_dist first_value lag last_value lead now nth_value ntile percent_rank string_agg
    """
_OF_POSTGRES: Final = {*NAMES, *_SYNTAX.split()}
"""Those that PostgreSQL has by this name, and words that are none there."""
_WITHOUT_QUERIES: Final = (
    *(exp.Order, exp.Limit, exp.Fetch, exp.Offset, exp.Group, exp.Distinct),
    *(exp.AggFunc, exp.Window, exp.Filter),
)
"""In these, no subquery is read."""
_BEFORE_GROUPS: Final = (exp.Where, exp.Join, exp.Group)
_OF_A_JOIN: Final = frozenset({"this", "alias", "joins"})
_ITEMS: Final = (exp.Table, exp.Subquery, exp.Lateral, exp.Values)
"""What FROM may have."""
_OF_ITEMS: Final = (exp.From, exp.Join, exp.Subquery)


@dataclass(frozen=True)
class _Above:
    """What stands above a node, up to the query that it is a part of."""

    forbidding: exp.Expr | None = None
    """In this, no subquery is read."""
    has_no_groups: bool = False
    """Whether rows are not grouped yet, so that an aggregate is one of a query around."""


def require_known(query: exp.Query, text: SqlText) -> None:
    """Refuse a query of which a part is not known, with its line and column."""
    _require_own_words(text)
    left = [(query, _Above())]
    selects = arrays = 0
    while left:
        node, above = left.pop()
        selects += isinstance(node, exp.Select) and not _is_of_values(node)
        arrays += isinstance(node, exp.Array)
        known = _PARTS.get(type(node))
        if known is None:
            _refuse_unknown(node, text)
        text.require_arguments(node, _OF_A_JOIN if is_join(node) else known)
        if (fault := _fault(node, above)) is not None:
            text.refuse(fault[0], "not-read", *fault[1:])
        if isinstance(node, exp.Identifier) and len(node.name.encode()) > MOST_OF_A_NAME:
            message = f"the database cuts names off after {MOST_OF_A_NAME} bytes."
            text.refuse(node, "name-too-long", message, "Write a shorter name.")
        inner = _Above()
        if not isinstance(node, exp.Query):
            forbidding = node if isinstance(node, _WITHOUT_QUERIES) else above.forbidding
            inner = _Above(forbidding, isinstance(node, _BEFORE_GROUPS) or above.has_no_groups)
        left += [(own, inner) for own in reversed(list(node.iter_expressions()))]
    if (text.words(TokenType.SELECT), text.words(TokenType.ARRAY)) != (selects, arrays):
        text.refuse(
            query, "not-read", "a part of the query is not read.", "Write it as joins and subqueries."
        )


def _require_own_words(text: SqlText) -> None:
    """Refuse what the parser takes for PostgreSQL's own, but what somebody else has made."""
    for word, following in pairwise(text.tokens):
        is_called = following.token_type == TokenType.L_PAREN and word.text.upper() in _CALLED
        is_own = word.token_type != TokenType.IDENTIFIER and word.text.lower() in _OF_POSTGRES
        is_other = word.token_type != TokenType.STRING and word.text in ("==", "<=>", "!")
        is_other &= (word.text, following.text) not in (("!", "~~"), ("!", "~~*"))
        if is_other or (is_called and not is_own):
            message = f"{word.text[:60]} is none of PostgreSQL's own functions and operators that are read."
            text.refuse(word.start, "unknown-function", message, "Write what it does, or leave it out.")


def _fault(node: exp.Expr, above: _Above) -> tuple[exp.Expr, str, str] | None:
    """What a part may not consist of where its kind does not say it: the place, the fault and a remedy."""
    match node:
        case exp.Table() if not isinstance(node.this, exp.Identifier):
            return node, "FROM has a function, which is not read.", "Name tables and subqueries."
        case exp.Lateral() if not isinstance(node.this, exp.Subquery):
            return node, "LATERAL has a function, which is not read.", "Name tables and subqueries."
        case exp.Subquery() if node.args.get("joins") and not isinstance(node.parent, _OF_ITEMS):
            return node, "a join is not read here.", "Write SELECT."
        case exp.From() | exp.Join() if not isinstance(node.this, _ITEMS):
            message = f"FROM has {node.this.key.upper()}, which is not read."
            return node.this, message, "Name tables and subqueries."
        case exp.Join() if node.args.get("method") not in (None, "NATURAL"):
            return node, f"{node.args['method']} JOIN is not read.", "Write the condition as ON."
        case exp.Limit() | exp.Offset() if not _is_count(node.expression):
            return node.expression, f"only a number is read after {node.key.upper()}.", "Write a number."
        case exp.Fetch() if node.args.get("count") is not None and not _is_count(node.args["count"]):
            return node.args["count"], "only a number is read here.", "Write a number."
        case exp.Group() if any(isinstance(own, exp.Tuple) for own in node.expressions):
            return node, "GROUP BY of sets of columns is not read.", "Name the columns."
        case exp.AggFunc() if above.has_no_groups:
            return node, f"{node.sql_name()} is not read here.", "Write it in a subquery."
        case exp.Query() if above.forbidding is not None:
            return node, f"a subquery in {above.forbidding.key.upper()} is not read.", "Leave it out."
    return None


def is_join(node: exp.Expr) -> bool:
    """Whether this is a join in parentheses: a subquery of the parser that has no query in it."""
    inner = node.this if isinstance(node, exp.Subquery) else None
    if isinstance(inner, exp.Subquery):
        return bool(inner.args.get("joins")) or is_join(inner)
    return isinstance(inner, exp.Table | exp.Lateral)


def _is_of_values(node: exp.Select) -> bool:
    """Whether the parser has made the SELECT, of VALUES that stand for a query."""
    start = node.args.get("from_")
    return start is not None and isinstance(start.this, exp.Values) and start.this.alias == "_values"


def _is_count(node: exp.Expr | None) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and str(node.this).isdigit()


def _refuse_unknown(node: exp.Expr, text: SqlText) -> NoReturn:
    if isinstance(node, exp.Placeholder | exp.Parameter | exp.SessionParameter):
        text.refuse(node, "parameter", "a query with a parameter stands for many.", "Write the value.")
    if isinstance(node, exp.Func) and not isinstance(node, exp.Binary):
        text.refuse(
            node,
            "unknown-function",
            f"{(node.name or node.key.upper())[:60]} is no function that is known to read no table and to "
            "give one value for each row.",
            "Write what it does, or leave it out of the query.",
        )
    text.refuse(node, "not-read", f"{node.key.upper()} is not read.", "Leave it out of the query.")
