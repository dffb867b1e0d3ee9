"""What the types of CREATE TABLE say of their columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sqlglot.expressions import DataType, DType

from app.domain.views.relational_schema import Domain
from app.services.views.column_types import PADDED, ColumnType

SERIALS: Final = frozenset({DataType.Type.SERIAL, DataType.Type.BIGSERIAL, DataType.Type.SMALLSERIAL})
_INTEGERS: Final = SERIALS | {DataType.Type.SMALLINT, DataType.Type.INT, DataType.Type.BIGINT}
_UNTOLD: Final = (DataType.Type.FLOAT, DataType.Type.DOUBLE, DataType.Type.INTERVAL)
_TYPES: Final[dict[DType, tuple[ColumnType, Domain]]] = {
    **dict.fromkeys(_INTEGERS, (ColumnType("number", size=0), "integer")),
    DataType.Type.DECIMAL: (ColumnType("number"), "number"),
    DataType.Type.TEXT: (ColumnType("text"), "any"),
    DataType.Type.VARCHAR: (ColumnType("text"), "any"),
    DataType.Type.BOOLEAN: (ColumnType("boolean", frozenset({"true", "false"})), ("false", "true")),
    DataType.Type.DATE: (ColumnType("date"), "integer"),
    DataType.Type.TIME: (ColumnType("time"), "number"),
    DataType.Type.TIMESTAMP: (ColumnType("timestamp"), "number"),
    DataType.Type.UUID: (ColumnType("opaque", name="uuid"), "any"),
    DataType.Type.CHAR: (ColumnType("opaque", name=PADDED), "any"),
    DataType.Type.TIMESTAMPTZ: (ColumnType("opaque", name="timestamptz"), "any"),
    **dict.fromkeys(_UNTOLD, (ColumnType("unknown"), "any")),
}
"""How types compare, and what they may hold. Of any other it is not known which values are equal: doubles
round what they are compared with, and a text may ignore case."""
_NAMES_OF_TYPES: Final = """
    smallint integer bigint int int2 int4 int8 serial bigserial smallserial numeric decimal dec text varchar
    character char boolean bool date time timestamp timestamptz uuid real float4 float8
    interval
    """
TYPE_WORDS: Final = frozenset({*_NAMES_OF_TYPES.split(), "double precision"})
"""Words by which PostgreSQL calls these types. The parser knows other words of other databases, which here
are names of types that somebody has made, whatever they are.
"""
_CALLED: Final = {
    **{"INT": "integer", "SERIAL": "integer", "SMALLSERIAL": "smallint", "BIGSERIAL": "bigint"},
    **{"DECIMAL": "numeric", "FLOAT": "real", "DOUBLE": "double precision"},
}
TYPE_NAMES: Final = {own.value: _CALLED.get(own.value, own.value.lower()) for own in _TYPES}
"""What PostgreSQL calls them."""
UNKNOWN: Final[tuple[ColumnType, Domain]] = (ColumnType("unknown"), "any")


def declared_type(kind: DataType, words: str) -> tuple[ColumnType, Domain]:
    """How a column of a type compares, and what it may hold; ``words``: the first ones that name the type."""
    if words not in TYPE_WORDS and words.partition(" ")[0] not in TYPE_WORDS:
        return UNKNOWN
    own, domain = _TYPES.get(kind.this, UNKNOWN)
    own = replace(own, declared=name_of(kind))
    return (own if own.size is not None else replace(own, size=_size(kind))), domain


def name_of(kind: DataType) -> str:
    """What PostgreSQL calls the type, with its size; empty: it is none of those that are known here."""
    name = TYPE_NAMES.get(kind.this.value, "")
    sizes = ",".join(own.name for own in kind.expressions)
    if name == "varchar" and not sizes:
        return "text"
    return f"{name}({sizes})" if name and sizes else name


def _size(kind: DataType) -> int | None:
    """Of NUMERIC the digits behind the point, of CHAR the characters; None: the values differ in it."""
    written = [own.name for own in kind.expressions]
    if not all(own.isdecimal() for own in written):
        return None
    match kind.this, written:
        case DataType.Type.DECIMAL, [_]:
            return 0
        case DataType.Type.DECIMAL, [_, scale]:
            return int(scale)
        case DataType.Type.CHAR, []:
            return 1
        case DataType.Type.CHAR, [length]:
            return int(length)
    return None
