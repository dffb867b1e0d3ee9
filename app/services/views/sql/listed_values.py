"""Columns whose values CREATE TABLE or CREATE TYPE lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from sqlglot import exp
from sqlglot.expressions import DataType

from app.services.views.column_types import ColumnType
from app.services.views.sql.conditions import operands
from app.services.views.sql.values import NotComparable, WrongType, value, written

MOST_OF_A_COLUMN: Final = 100
"""Values that are listed for one column; with more, it is taken to hold any. A larger domain is safe."""
_FAMILIES: Final = ("text", "number")
_NAMES: Final = """
    abstime aclitem bit bool boolean box bpchar bytea char cid cidr circle cstring date decimal event_trigger
    float4 float8 gtsvector inet int int2 int2vector int4 int8 integer internal interval json jsonb jsonpath
    line lseg macaddr macaddr8 money name numeric oid oidvector opaque path point polygon real record
    refcursor reltime smgr smallint bigint text tid time timestamp timestamptz timetz tinterval trigger
    tsquery tsvector txid_snapshot unknown uuid varbit varchar void xid xid8 xml
    int4range int8range numrange tsrange tstzrange daterange regclass regcollation regconfig regdatabase
    regdictionary regnamespace regoper regoperator regproc regprocedure regrole regtype any anyarray
    anyelement anyenum anynonarray anyrange
    """
_OF_DATABASE: Final = frozenset(_NAMES.split())
_BEGINNINGS: Final = ("pg_", "_", "anycompatible")
"""Of names of types of the database: its tables, arrays, and types of any kind."""
Listed = Mapping[str, frozenset[str | int]]
"""Column → all its values but NULL."""


def listed_by_check(
    node: exp.CheckColumnConstraint, type_of: Callable[[exp.Identifier], tuple[str, ColumnType] | None]
) -> Listed | None:
    """What a CHECK says of single columns; None: it says something else as well, or nothing that is read.

    A constraint holds where its condition is not false, so that NULL passes, and so does every value where
    the list names NULL. ``type_of`` gives the name and the type of a column of the table.
    """
    found: dict[str, frozenset[str | int]] = {}
    for part in operands(node.this.unnest(), exp.And):
        listed = _alternatives(part.unnest(), type_of)
        if listed is None or listed[0] in found:
            return None
        found[listed[0]] = listed[1]
    return found


def _alternatives(
    node: exp.Expr, type_of: Callable[[exp.Identifier], tuple[str, ColumnType] | None]
) -> tuple[str, frozenset[str | int]] | None:
    """The column, and what it equals one of."""
    values: set[str | int] = set()
    name = None
    for part in (own.unnest() for own in operands(node, exp.Or)):
        if not isinstance(part, exp.In | exp.EQ) or any(
            own for key, own in part.args.items() if key not in ("this", "expression", "expressions")
        ):
            return None
        column = part.this
        if not isinstance(column, exp.Column) or column.args.get("table") is not None:
            return None
        known = type_of(column.this)
        literals = part.expressions if isinstance(part, exp.In) else [part.expression]
        if not literals:
            return None
        own = None if known is None else _values(literals, known[1])
        if known is None or own is None or name not in (None, known[0]):
            return None
        name, values = known[0], values | own
    if name is None or not 0 < len(values) <= MOST_OF_A_COLUMN:
        return None
    return name, frozenset(values)


def _values(literals: Sequence[exp.Expr], of: ColumnType) -> set[str | int] | None:
    """The literals as values of the column; None: which values they equal is not known of all of them."""
    found: set[str | int] = set()
    for literal in map(written, literals):
        if literal is None or literal.kind == "null" or of.family not in _FAMILIES:
            return None
        try:
            own = value(literal, of)
        except (WrongType, NotComparable):
            return None
        if not isinstance(own, str | int):
            return None
        found.add(own)
    return found


def is_of_database(name: str) -> bool:
    """Whether a type of this name may be PostgreSQL's own, which comes before all that are declared."""
    return name in _OF_DATABASE or name.startswith(_BEGINNINGS) or name.endswith(("multirange", "_handler"))


def enum_type(node: exp.Expr) -> frozenset[str] | None:
    """The values of a type that CREATE TYPE … AS ENUM lists; None: it is no such statement."""
    listed = node.args.get("expression") if isinstance(node, exp.Create) else None
    if (
        not isinstance(listed, DataType)
        or listed.this != DataType.Type.ENUM
        or node.args.get("kind") != "TYPE"
    ):
        return None
    literals = [written(own) for own in listed.expressions]
    if not literals or any(own is None or own.kind != "text" for own in literals):
        return None
    return frozenset(own.text for own in literals if own is not None)
