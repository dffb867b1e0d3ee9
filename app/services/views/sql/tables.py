"""The relational schema that CREATE TABLE statements declare."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from sqlglot import exp
from sqlglot.expressions import DataType
from sqlglot.tokenizer_core import TokenType

from app.domain.catalogue.catalogue_types import SqlDialect
from app.domain.views.relational_schema import MOST_LISTED, NAME, Domain, ForeignKey, RelationDefinition
from app.services.views.column_types import ColumnType
from app.services.views.sql.declared_types import SERIALS, UNKNOWN, declared_type
from app.services.views.sql.listed_values import (
    MOST_OF_A_COLUMN,
    enum_type,
    is_of_database,
    listed_by_check,
)
from app.services.views.sql.text import SqlText

MOST_TABLES: Final = 500
MOST_COLUMNS: Final = 200
MOST_OF_A_NAME: Final = 100
_PARTS: Final[dict[type[exp.Expr], frozenset[str]]] = {
    exp.Create: frozenset({"this", "kind", "exists"}),
    exp.Schema: frozenset({"this", "expressions"}),
    exp.Table: frozenset({"this", "db", "catalog"}),
    exp.ColumnDef: frozenset({"this", "kind", "constraints"}),
    exp.ColumnConstraint: frozenset({"this", "kind"}),
    exp.Constraint: frozenset({"this", "expressions"}),
    exp.NotNullColumnConstraint: frozenset({"allow_null"}),
    exp.PrimaryKeyColumnConstraint: frozenset({"include"}),
    exp.UniqueColumnConstraint: frozenset({"this", "nulls", "include"}),
    exp.PrimaryKey: frozenset({"this", "expressions", "include"}),
    exp.ForeignKey: frozenset({"expressions", "reference", "delete", "update", "options"}),
    exp.Reference: frozenset({"this", "expressions", "options"}),
}
"""Of what a table is declared, with its parts; any other may tie rows to each other."""
_PARTS_OF_A_TYPE: Final = frozenset({"this", "kind", "expression"})
_SAYING_NOTHING: Final = (
    exp.DefaultColumnConstraint,
    exp.GeneratedAsIdentityColumnConstraint,
    exp.ComputedColumnConstraint,
    exp.CollateColumnConstraint,
)


@dataclass
class SqlTables:
    """What the statements declare, and what makes a verdict weaker."""

    definitions: dict[str, RelationDefinition] = field(default_factory=dict)
    foreign_keys: list[ForeignKey] = field(default_factory=list)
    types: dict[str, tuple[ColumnType, ...]] = field(default_factory=dict)
    qualified: dict[str, tuple[str, ...]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


@dataclass
class _Table:
    """A table as its columns and constraints are read."""

    name: str
    names: list[str] = field(default_factory=list)
    types: list[ColumnType] = field(default_factory=list)
    domains: dict[str, Domain] = field(default_factory=dict)
    never_null: set[str] = field(default_factory=set)
    keys: list[list[str]] = field(default_factory=list)
    references: list[exp.Reference] = field(default_factory=list)
    has_check: bool = False
    unlisted: list[str] = field(default_factory=list)
    """Columns whose values are declared, and too many to be listed."""
    null_is_equal: bool = False
    """Whether a UNIQUE constraint says so."""


def read_tables(text: str, dialect: SqlDialect) -> SqlTables:
    """The tables of CREATE TABLE statements; InvalidInput says at which line and column one is not read."""
    return _Reader(SqlText(text, dialect)).read()


class _Reader:
    def __init__(self, text: SqlText) -> None:
        self._text = text
        self._found = SqlTables()
        self._references: list[tuple[str, exp.Reference]] = []
        self._room = MOST_LISTED
        self._enums: dict[tuple[str, ...], frozenset[str]] = {}

    def read(self) -> SqlTables:
        statements = self._text.statements()
        for own, start in statements:
            listed = enum_type(own)
            if listed is not None:
                self._add_enum(own, listed)
                continue
            is_table = own.args.get("kind") == "TABLE" and not own.args.get("expression")
            if not isinstance(own, exp.Create) or not is_table or not isinstance(own.this, exp.Schema):
                self._text.refuse(
                    start,
                    "not-a-table",
                    "only CREATE TABLE with its columns, and CREATE TYPE … AS ENUM, are read here.",
                    "Write keys, NOT NULL and references into CREATE TABLE; leave out only statements that "
                    "declare no constraint.",
                )
            self._require_known(own)
            self._add(own)
        # A key that has been read as a part of something else is refused.
        declared = sum(len(own.keys) for own in self._found.definitions.values())
        if declared != self._text.words(TokenType.UNIQUE) + self._text.words(TokenType.PRIMARY_KEY):
            self._text.refuse(0, "not-read", "a key is not read.", "Write it as a constraint of its table.")
        if not self._found.definitions:
            self._text.refuse(0, "not-a-table", "there is no CREATE TABLE.")
        for source, reference in self._references:
            named = reference.this.this if isinstance(reference.this, exp.Schema) else reference.this
            name = self._text.folded(named.this)
            if name not in self._found.definitions:
                self._text.refuse(
                    named, "unknown-relation", f"the table {name}, which is referred to, is not declared."
                )
            self._found.foreign_keys.append(ForeignKey(source, name))
        return self._found

    def _add_enum(self, node: exp.Expr, values: frozenset[str]) -> None:
        """Let columns have the type; its name must be one that no other type can have."""
        for own, known in ((node, _PARTS_OF_A_TYPE), (node.this, _PARTS[exp.Table])):
            self._text.require_arguments(own, known)
        parts = self._parts_of(node.this.parts)
        if parts in self._enums:
            self._text.refuse(node, "duplicate-type", f"the type {parts[-1]} is declared twice.")
        if is_of_database(parts[-1]) or self._text.is_in_string_quotes(node.this.this):
            self._text.refuse(
                node,
                "type-name",
                f"{parts[-1]!r} may be a type that the database has itself, or is no name.",
                "Call the type by another name, in double quotes if in any.",
            )
        self._enums[parts] = values

    def _parts_of(self, named: Iterable[exp.Expr]) -> tuple[str, ...]:
        return tuple(self._text.folded(own) for own in named if isinstance(own, exp.Identifier))

    def _add(self, node: exp.Create) -> None:
        named = node.this.this
        parts = self._parts_of(named.parts)
        table = _Table(parts[-1])
        if table.name in self._found.definitions:
            self._text.refuse(
                named, "duplicate-relation", f"two tables are called {table.name}.", "Declare one of them."
            )
        if not NAME.fullmatch(table.name) or len(table.name) > MOST_OF_A_NAME:
            self._text.refuse(
                named,
                "relation-name",
                f"a table's name has at most {MOST_OF_A_NAME} letters, digits and underscores, none of the "
                "digits first.",
            )
        if len(self._found.definitions) == MOST_TABLES:
            self._text.refuse(named, "too-many-tables", f"more than {MOST_TABLES} tables are declared.")
        declared = node.this.expressions
        for own in (own for own in declared if isinstance(own, exp.ColumnDef)):
            self._column(own, table)
        for own in (own for own in declared if not isinstance(own, exp.ColumnDef)):
            self._constraint(own, table)
        if not table.names:
            self._text.refuse(named, "no-column", f"{table.name} has no columns.", "Name them.")
        self._require_keys_that_are_known(named, table)
        self._found.definitions[table.name] = RelationDefinition(
            table.names,
            table.domains,
            table.keys,
            nullable=[name for name in table.names if name not in table.never_null],
        )
        self._found.types[table.name] = tuple(table.types)
        self._found.qualified[table.name] = parts
        self._references += [(table.name, own) for own in table.references]
        if not table.keys:
            self._found.warnings.append(
                f"{table.name} has no key, so that a row could stand in it twice; it is taken for a set."
            )
        if table.unlisted:
            self._found.warnings.append(
                f"{', '.join(table.unlisted)} of {table.name} may be taken to hold any value: a schema lists "
                f"{MOST_LISTED:,} values at most, and {MOST_OF_A_COLUMN} of a column. That makes no "
                "disclosure private, but a row that shows one may have a value that is not among them."
            )
        if table.has_check:
            self._found.warnings.append(
                f"CHECK constraints of {table.name} are left out, except for those that list a column's "
                "values: they make no disclosure private, but a row that shows one may break them."
            )

    def _require_known(self, node: exp.Create) -> None:
        """Refuse a table of which a clause is not known."""
        left: list[exp.Expr] = [node]
        while left:
            own = left.pop()
            known = _PARTS.get(type(own))
            if known is None:
                continue
            self._text.require_arguments(own, known)
            include = own.args.get("include")
            if include is not None and any(include.args.values()):
                self._text.refuse(
                    include, "not-read", "parameters of an index are not read.", "Leave them out."
                )
            left += own.iter_expressions()

    def _require_keys_that_are_known(self, named: exp.Expr, table: _Table) -> None:
        """Refuse a key of which it is not known which rows it excludes."""
        unknown = [
            name for name, own in zip(table.names, table.types, strict=True) if own.family == "unknown"
        ]
        if any(name in key for name in unknown for key in table.keys):
            self._text.refuse(
                named,
                "key-of-unknown-type",
                f"{table.name} has a key with a column of a type of which it is not known which values are "
                "equal.",
                "Views of this table cannot be checked if the key can exclude a row.",
            )
        if table.null_is_equal and any(not table.never_null.issuperset(key) for key in table.keys):
            self._text.refuse(
                named,
                "nullable-key",
                f"{table.name} has a UNIQUE constraint over a column that may be NULL, and two NULLs are "
                "equal for it.",
                "Declare the column NOT NULL only if it is; else a view of this table cannot be checked.",
            )

    def _column(self, node: exp.ColumnDef, table: _Table) -> None:
        name = self._text.folded(node.this)
        kind = node.args.get("kind")
        own, domain = self._type(node, table)
        if name in table.names:
            self._text.refuse(node, "duplicate-attribute", f"{table.name} has two columns {name}.")
        if len(table.names) == MOST_COLUMNS or len(name) > MOST_OF_A_NAME:
            self._text.refuse(
                node,
                "too-many-columns",
                f"a table has at most {MOST_COLUMNS} columns, with names of {MOST_OF_A_NAME} characters.",
            )
        table.names.append(name)
        table.types.append(own)
        table.domains[name] = domain
        if own.family in ("opaque", "unknown"):
            whom = "with columns of its type only" if own.family == "opaque" else "with nothing"
            self._found.warnings.append(
                f"{table.name}.{name} ({_named_type(kind)}) is compared {whom}: a query that compares it "
                "with anything else is not read exactly."
            )
        if isinstance(kind, DataType) and kind.this in SERIALS and own.family == "number":
            table.never_null.add(name)
        for constraint in node.constraints:
            self._constraint(constraint.args["kind"], table, name)

    def _constraint(self, node: exp.Expr, table: _Table, column: str | None = None) -> None:
        match node:
            case exp.Constraint():
                for own in node.expressions:
                    self._constraint(own, table)
            case exp.NotNullColumnConstraint() if column is not None:
                if not node.args.get("allow_null"):
                    table.never_null.add(column)
            case exp.PrimaryKeyColumnConstraint() if column is not None:
                table.never_null.add(column)
                table.keys.append([column])
            case exp.PrimaryKey():
                names = self._key(node, node.expressions, table)
                table.keys.append(names)
                table.never_null |= set(names)
            case exp.UniqueColumnConstraint() if column is not None and node.this is None:
                table.keys.append([column])
                table.null_is_equal |= bool(node.args.get("nulls"))
            case exp.UniqueColumnConstraint() if isinstance(node.this, exp.Schema) and not node.this.this:
                table.keys.append(self._key(node, node.this.expressions, table))
                table.null_is_equal |= bool(node.args.get("nulls"))
            case exp.Reference():
                table.references.append(node)
            case exp.ForeignKey():
                table.references.append(node.args["reference"])
            case exp.CheckColumnConstraint():
                listed = listed_by_check(node, lambda own: self._typed(own, table))
                for name, values in (listed or {}).items():
                    place = table.names.index(name)
                    if table.types[place].values is not None:
                        continue
                    if self._may_list(values):
                        table.types[place] = replace(table.types[place], values=values)
                        table.domains[name] = tuple(sorted(values, key=str))
                    else:
                        table.unlisted.append(name)
                table.has_check |= listed is None
            case _ if column is None or not isinstance(node, _SAYING_NOTHING):
                self._text.refuse(
                    node,
                    "not-read",
                    f"the constraint {node.key.upper()} is not read.",
                    "Leave it out if it ties no row to another.",
                )

    def _typed(self, column: exp.Identifier, table: _Table) -> tuple[str, ColumnType] | None:
        """Name and type of a column of the table that has been read.

        A value of a column of NUMERIC that is listed may be shown in several ways: its list says too little.
        """
        name = self._text.folded(column)
        if name not in table.names or table.domains[name] == "number":
            return None
        return name, table.types[table.names.index(name)]

    def _may_list(self, values: frozenset[str | int]) -> bool:
        """Whether a schema may list so many more."""
        if len(values) > min(self._room, MOST_OF_A_COLUMN):
            return False
        self._room -= len(values)
        return True

    def _key(self, node: exp.Expr, listed: list[exp.Expr], table: _Table) -> list[str]:
        """The columns of a key, each of them named and no more."""
        if not listed:
            self._text.refuse(node, "empty-key", "a key has no columns.", "Name them.")
        names = []
        for own in listed:
            if not isinstance(own, exp.Identifier):
                self._text.refuse(
                    own, "not-read", "a key of anything but columns is not read.", "Name columns."
                )
            names.append(self._text.folded(own))
            if names[-1] not in table.names:
                self._text.refuse(
                    own,
                    "unknown-attribute",
                    f"{table.name} has no column {own.name}.",
                    "Name one that it has.",
                )
        return names

    def _type(self, node: exp.ColumnDef, table: _Table) -> tuple[ColumnType, Domain]:
        """How a column compares, and what it may hold; which texts a collation tells apart is not known."""
        kind = node.args.get("kind")
        is_collated = node.find(exp.Collate, exp.CollateColumnConstraint) is not None
        if not isinstance(kind, DataType) or is_collated:
            return UNKNOWN
        named = kind.args.get("kind")
        if isinstance(named, exp.Identifier | exp.Dot) and not kind.expressions:
            values = self._enums.get(self._parts_of(named.find_all(exp.Identifier, bfs=False)))
            if values is not None and self._may_list(values):
                return ColumnType("text", values, declared="enum"), tuple(sorted(values))
            if values is not None:
                table.unlisted.append(self._text.folded(node.this))
                return ColumnType("text", declared="enum"), "any"
        return declared_type(kind, self._text.word_after(node.this))


def _named_type(kind: object) -> str:
    """The type as it is called, for a warning; of a long one only its kind."""
    return str(getattr(kind.this, "value", kind.this)).lower() if isinstance(kind, DataType) else "no type"
