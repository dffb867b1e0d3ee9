"""What the types of CREATE TABLE say of their columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sqlglot.expressions import DataType

from app.domain.views.relational_schema import Domain
from app.services.views.column_types import PADDED, ColumnType

SERIALS: Final = frozenset({DataType.Type.SERIAL, DataType.Type.BIGSERIAL, DataType.Type.SMALLSERIAL})
_INTEGERS: Final = SERIALS | {DataType.Type.SMALLINT, DataType.Type.INT, DataType.Type.BIGINT}
_TYPES: Final[dict[object, tuple[ColumnType, Domain]]] = {
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
}
"""How types compare, and what they may hold. Of any other it is not known which values are equal: doubles
round what they are compared with, and a text may ignore case."""
_NAMES_OF_TYPES: Final = """
    smallint integer bigint int int2 int4 int8 serial bigserial smallserial numeric decimal dec text varchar
    character char boolean bool date time timestamp timestamptz uuid
    """
_WORDS: Final = frozenset(_NAMES_OF_TYPES.split())
"""Words by which PostgreSQL calls these types. The parser knows other words of other databases, which here
are names of types that somebody has made, whatever they are.
"""
UNKNOWN: Final[tuple[ColumnType, Domain]] = (ColumnType("unknown"), "any")


def declared_type(kind: DataType, word: str) -> tuple[ColumnType, Domain]:
    """How a column of a type compares, and what it may hold; ``word``: the first one that names the type."""
    if word not in _WORDS:
        return UNKNOWN
    own, domain = _TYPES.get(kind.this, UNKNOWN)
    return (own if own.size is not None else replace(own, size=_size(kind))), domain


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
