"""The relational schema that CREATE TABLE statements declare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from sqlglot import exp
from sqlglot.expressions import DataType

from app.domain.views.relational_schema import NAME, Domain, ForeignKey, RelationDefinition
from app.services.views.column_types import ColumnType
from app.services.views.published import SqlDialect
from app.services.views.sql.text import SqlText

MOST_TABLES: Final = 500
MOST_COLUMNS: Final = 200
MOST_OF_A_NAME: Final = 100
_SERIALS: Final = frozenset({DataType.Type.SERIAL, DataType.Type.BIGSERIAL, DataType.Type.SMALLSERIAL})
_INTEGERS: Final = (DataType.INTEGER_TYPES - {DataType.Type.BIT}) | _SERIALS
_NUMBERS: Final = _INTEGERS | DataType.REAL_TYPES | {DataType.Type.BIT, DataType.Type.MONEY}
_TEXTS: Final = frozenset(
    {
        DataType.Type.TEXT,
        DataType.Type.VARCHAR,
        DataType.Type.NVARCHAR,
        DataType.Type.TINYTEXT,
        DataType.Type.MEDIUMTEXT,
        DataType.Type.LONGTEXT,
    }
)
_PADDED: Final = frozenset({DataType.Type.CHAR, DataType.Type.NCHAR, DataType.Type.BPCHAR})
_TIMESTAMPS: Final = frozenset(
    {DataType.Type.TIMESTAMP, DataType.Type.TIMESTAMPNTZ, DataType.Type.DATETIME, DataType.Type.DATETIME2}
)
_BINARY: Final = frozenset({DataType.Type.FLOAT, DataType.Type.DOUBLE})
_ROUNDED: Final = {
    "sqlite": _TIMESTAMPS | {DataType.Type.DATE},
    "tsql": frozenset({DataType.Type.DATETIME, DataType.Type.TIMESTAMP}),
}
"""Types of which a dialect keeps something else than the moment that a literal names."""
_SAYING_NOTHING: Final = (
    exp.DefaultColumnConstraint,
    exp.CommentColumnConstraint,
    exp.AutoIncrementColumnConstraint,
    exp.GeneratedAsIdentityColumnConstraint,
    exp.CollateColumnConstraint,
    exp.CharacterSetColumnConstraint,
    exp.ComputedColumnConstraint,
    exp.OnUpdateColumnConstraint,
    exp.IndexColumnConstraint,
    exp.ClusteredColumnConstraint,
    exp.NonClusteredColumnConstraint,
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

    def read(self) -> SqlTables:
        statements = self._text.statements()
        for own, start in statements:
            if not isinstance(own, exp.Create) or not _is_of_columns(own):
                self._text.refuse(
                    start,
                    "not-a-table",
                    "only CREATE TABLE with its columns is read here.",
                    "Write keys, NOT NULL and references into CREATE TABLE; leave out only statements that "
                    "declare no constraint.",
                )
            self._add(own)
        if not statements:
            self._text.refuse(0, "not-a-table", "there is no CREATE TABLE.")
        for source, reference in self._references:
            self._found.foreign_keys.append(ForeignKey(source, self._target(reference)))
        if self._text.dialect == "sqlite":
            self._found.warnings.append(
                "SQLite lets a column hold values of any type; the verdicts count on the declared types."
            )
        if self._text.dialect in ("snowflake", "bigquery", "spark") and any(
            own.keys for own in self._found.definitions.values()
        ):
            self._found.warnings.append(
                f"{self._text.dialect} does not enforce PRIMARY KEY and UNIQUE; the verdicts count on them."
            )
        return self._found

    def _add(self, node: exp.Create) -> None:
        named = node.this.this
        parts = tuple(self._text.folded(own) for own in named.parts if isinstance(own, exp.Identifier))
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
        for own in (*node.this.expressions, *self._partitions(node)):
            if isinstance(own, exp.ColumnDef):
                self._column(own, table)
            else:
                self._constraint(own, table)
        self._require_keys_that_null_escapes(named, table)
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
        if table.has_check:
            self._found.warnings.append(
                f"CHECK constraints of {table.name} are left out: they make no disclosure private, but a row "
                "that shows one may break them."
            )

    def _partitions(self, node: exp.Create) -> Iterator[exp.ColumnDef]:
        """Columns that are declared where a table is partitioned; refuses columns of other tables."""
        inherited = node.find(exp.InheritsProperty, exp.LikeProperty)
        if inherited is not None:
            self._text.refuse(inherited, "not-read", "columns of another table are not read.", "Name them.")
        for partitioned in node.find_all(exp.PartitionedByProperty):
            yield from partitioned.find_all(exp.ColumnDef)

    def _require_keys_that_null_escapes(self, named: exp.Expr, table: _Table) -> None:
        """Refuse a key for which NULL equals NULL: what it excludes cannot be declared."""
        null_is_equal = self._text.dialect == "tsql" or table.null_is_equal
        if null_is_equal and any(not table.never_null.issuperset(key) for key in table.keys):
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
        own, domain = self._type(kind)
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
        if own.family == "opaque":
            what = kind.sql()[:40] if isinstance(kind, exp.Expr) else "no type"
            self._found.warnings.append(
                f"{table.name}.{name} ({what}) is compared with other columns only: a query that compares it "
                "with a literal is not read exactly."
            )
        if isinstance(kind, DataType) and kind.this in _SERIALS:
            table.never_null.add(name)
        for constraint in node.constraints:
            self._constraint(constraint.args["kind"], table, name)

    def _constraint(self, node: exp.Expr, table: _Table, column: str | None = None) -> None:
        match node:
            case exp.Constraint():
                for own in node.expressions:
                    self._constraint(_with_columns(own, node), table)
            case exp.NotNullColumnConstraint() if column is not None:
                if not node.args.get("allow_null"):
                    table.never_null.add(column)
            case exp.PrimaryKeyColumnConstraint() if column is not None:
                if self._text.dialect != "sqlite" or table.types[-1].family == "number":
                    table.never_null.add(column)
                table.keys.append([column])
            case exp.PrimaryKey():
                names = list(self._names(node.expressions))
                table.keys.append(names)
                if self._text.dialect != "sqlite":
                    table.never_null |= set(names)
            case exp.UniqueColumnConstraint():
                listed = node.this.expressions if isinstance(node.this, exp.Schema) else []
                table.keys.append(list(self._names(listed)) or ([column] if column else []))
                table.null_is_equal |= bool(node.args.get("nulls"))
            case exp.Reference():
                table.references.append(node)
            case exp.ForeignKey():
                table.references.append(node.args["reference"])
            case exp.CheckColumnConstraint():
                table.has_check = True
            case _ if not isinstance(node, _SAYING_NOTHING):
                self._text.refuse(
                    node,
                    "not-read",
                    f"the constraint {node.key.upper()} is not read.",
                    "Leave it out if it ties no row to another.",
                )

    def _names(self, nodes: list[exp.Expr]) -> Iterator[str]:
        for node in nodes:
            own = node.find(exp.Identifier)
            if own is not None:
                yield self._text.folded(own)

    def _target(self, reference: exp.Reference) -> str:
        named = reference.this.this if isinstance(reference.this, exp.Schema) else reference.this
        name = self._text.folded(named.this)
        if name not in self._found.definitions:
            self._text.refuse(
                named, "unknown-relation", f"the table {name}, which is referred to, is not declared."
            )
        return name

    def _type(self, kind: Any) -> tuple[ColumnType, Domain]:  # noqa: ANN401 - a type, or none
        """How a type compares, and what it may hold; a type that is not known holds anything."""
        if not isinstance(kind, DataType):
            return ColumnType("opaque"), "any"
        own = kind.this
        if own == DataType.Type.BOOLEAN:
            if self._text.dialect in ("mysql", "sqlite"):
                return ColumnType("number"), "number"
            return ColumnType("boolean", frozenset({"true", "false"})), ("false", "true")
        if own == DataType.Type.ENUM:
            values = tuple(str(value.this) for value in kind.expressions)
            return ColumnType("text", frozenset(values)), values
        if own in _ROUNDED.get(self._text.dialect, ()):
            return ColumnType("opaque"), "any"
        if own == DataType.Type.DATE:
            return ColumnType("date"), "integer"
        if own in _TIMESTAMPS:
            return ColumnType("timestamp"), "number"
        if own in _NUMBERS:
            is_whole = own in _INTEGERS and self._text.dialect != "sqlite"
            return ColumnType("number", is_binary=own in _BINARY), "integer" if is_whole else "number"
        if own in _TEXTS:
            return ColumnType("text"), "any"
        return ColumnType("padded" if own in _PADDED else "opaque"), "any"


def _is_of_columns(node: exp.Create) -> bool:
    """Whether a table is created by naming its columns."""
    is_table = node.args.get("kind") == "TABLE" and not node.args.get("expression")
    return is_table and isinstance(node.this, exp.Schema)


def _with_columns(node: exp.Expr, constraint: exp.Constraint) -> exp.Expr:
    """A key whose columns stand behind CLUSTERED or NONCLUSTERED."""
    if not isinstance(node, exp.PrimaryKeyColumnConstraint | exp.UniqueColumnConstraint) or node.this:
        return node
    for own in constraint.expressions:
        if isinstance(own, exp.ClusteredColumnConstraint | exp.NonClusteredColumnConstraint):
            listed = own.this if isinstance(own.this, list) else [own.this]
            if isinstance(node, exp.PrimaryKeyColumnConstraint):
                return exp.PrimaryKey(expressions=listed)
            return exp.UniqueColumnConstraint(this=exp.Schema(expressions=listed))
    return node
