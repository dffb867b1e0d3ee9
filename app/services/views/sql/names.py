"""Names of tables and columns in SQL, and what they stand for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NoReturn

from sqlglot import exp

from app.domain.views.queries import Term, Variable
from app.services.views.column_types import ColumnType
from app.services.views.published import SESSION_WORDS
from app.services.views.reading import ReadSchema
from app.services.views.sql.kinds import Kinds, kind_of
from app.services.views.sql.rows import Field
from app.services.views.sql.text import SqlText
from app.services.views.sql.values import LiteralBook

_OF_EVERY_TABLE: Final = frozenset({"ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"})
"""Columns that every table has, even if its declaration and a query around say otherwise."""


@dataclass(frozen=True)
class Source:
    """An item of FROM: its name, and its columns among those of the scope."""

    name: str
    first: int
    fields: tuple[Field, ...]


@dataclass
class Scope:
    """The columns that a query can name: those of its FROM, and of the queries around it."""

    number: int
    outer: Scope | None = None
    sources: list[Source] = field(default_factory=list)
    merged: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Columns that USING or NATURAL makes one; the first of them stands for all."""
    aliases: tuple[exp.Identifier, ...] = ()
    """The names that its SELECT gives to what it shows."""
    visible_from: int = 0
    """The first of its columns that can be named: for ON, the first behind the last comma of FROM."""

    @property
    def fields(self) -> tuple[Field, ...]:
        """All columns of FROM."""
        return tuple(own for source in self.sources for own in source.fields)

    def let_be_null(self, places: range) -> None:
        """An outer join may put NULL in the place of the item that has these."""
        self._change(places, lambda own: replace(own, may_be_null=True))

    def let_look_like(self, place: int, other: ColumnType) -> None:
        """A column may be shown as the one of this type looks that it is equal to."""
        self._change(
            range(place, place + 1),
            lambda own: (
                own if own.type.is_shown_as(other) else replace(own, type=replace(own.type, size=None))
            ),
        )

    def _change(self, places: range, change: Callable[[Field], Field]) -> None:
        self.sources = [
            replace(
                own,
                fields=tuple(
                    change(column) if place in places else column
                    for place, column in enumerate(own.fields, own.first)
                ),
            )
            for own in self.sources
        ]

    def term(self, index: int) -> Variable:
        """What stands for a column until the rows are put together."""
        return Variable(f"@{self.number}.{index}")

    def values(self, shown: Sequence[Term | None]) -> dict[Term, Term]:
        """What the columns are in a body."""
        return {self.term(i): term for i, term in enumerate(shown) if term is not None}


@dataclass(frozen=True)
class Named:
    """A column that was found: its field, and its place in its scope."""

    field: Field
    scope: Scope
    index: int

    @property
    def term(self) -> Variable:
        """What stands for it."""
        return self.scope.term(self.index)


def table_of(column: exp.Column) -> exp.Identifier | None:
    """The name of a table that stands before a column's."""
    table: exp.Identifier | None = column.args.get("table")
    return table


class Names:
    """Finds what names stand for."""

    def __init__(self, text: SqlText, schema: ReadSchema, book: LiteralBook) -> None:
        self.text = text
        self.schema = schema
        self.book = book
        self.kinds = Kinds(text)

    def fields(self, relation: str) -> tuple[Field, ...]:
        """The columns of a relation."""
        found = self.schema.relational.relations[relation]
        return tuple(
            Field(name, kind, number in found.nullable)
            for number, (name, kind) in enumerate(
                zip(found.attributes, self.schema.types[relation], strict=True)
            )
        )

    def matching(self, name: exp.Identifier, among: Sequence[str]) -> list[int]:
        """The places of a name: as the dialect folds it, or else in any case if it is not quoted."""
        folded = self.text.folded(name)
        found = [i for i, own in enumerate(among) if own == folded]
        if found or self.text.is_exact(name):
            return found
        return [i for i, own in enumerate(among) if own.casefold() == folded.casefold()]

    def relation(self, table: exp.Table) -> str:
        """The relation that the table names; refuses a name that is none, or several."""
        parts = [own for own in (table.args.get("catalog"), table.args.get("db")) if own is not None]
        names = list(self.schema.relational.relations)
        found = [names[i] for i in self.matching(table.this, names)]
        for depth, part in enumerate(reversed(parts), 2):
            found = [
                own
                for own in found
                if len(qualified := self.schema.qualified.get(own, ())) >= depth
                and self.matching(part, [qualified[-depth]])
            ]
        if len(found) == 1:
            return found[0]
        self.text.refuse(
            table,
            "unknown-relation" if not found else "ambiguous-name",
            f"the schema has {'no' if not found else 'more than one'} relation {table.name!r}"
            f"{' of that qualified name' if parts else ''}.",
            f"Name one of {', '.join(sorted(names)[:10])}.",
        )

    def column(self, column: exp.Column, scope: Scope) -> Named:
        """The column; refuses a name that stands for none, or for several."""
        is_alone = table_of(column) is None and not self.text.is_exact(column.this)
        if is_alone and self.text.folded(column.this) in SESSION_WORDS:
            self.text.refuse(
                column,
                "ambiguous-column",
                f"{column.name} without quotes stands for who asks, not for a column.",
                "Write the column's name in quotes.",
            )
        if self.text.folded(column.this) in _OF_EVERY_TABLE:
            self.text.refuse(
                column,
                "ambiguous-column",
                f"{column.name} is a column that every table has for the database itself.",
                "Call the column by another name.",
            )
        level: Scope | None = scope
        while level is not None:
            found = self._in(column, level)
            if found is not None:
                self._require_nearest(column, found)
                self.kinds.shown[id(column)] = (kind_of(found.field.type),)
                return found
            if self.matching(column.this, [own.name for own in level.aliases]) and not table_of(column):
                self._refuse_several(
                    column,
                    "is a name that this SELECT gives to what it shows; conditions know it from outside only",
                )
            level = level.outer
        table = column.args.get("table")
        known = [own for own in scope.sources if table is None or self.matching(table, [own.name])]
        columns = dict.fromkeys(own.name for source in known for own in source.fields)
        self.text.refuse(
            column,
            "unknown-column",
            f"no table of FROM has the column {f'{table.name}.' if table else ''}{column.name}.",
            f"Name one of {', '.join(list(columns)[:10])}." if columns else "",
        )

    def _require_nearest(self, column: exp.Column, found: Named) -> None:
        """Refuse a name that fits in upper or lower case only, and that a query around may have as it is."""
        table = table_of(column)
        names = [own.name for own in found.scope.sources]
        is_exact = found.field.name == self.text.folded(column.this)
        if is_exact and (table is None or self.text.folded(table) in names):
            return
        level = found.scope.outer
        while level is not None:
            if self._in(column, level) is not None:
                self._refuse_several(column, "is a column here, and of a query around, in other letters")
            level = level.outer

    def _refuse_several(self, column: exp.Column, why: str) -> NoReturn:
        self.text.refuse(
            column, "ambiguous-column", f"{column.name} {why}.", "Write the table's name before it."
        )

    def is_column(self, column: exp.Column, scope: Scope) -> bool:
        """Whether the name stands for a column of this scope."""
        return self._in(column, scope) is not None

    def _in(self, column: exp.Column, scope: Scope) -> Named | None:
        table = table_of(column)
        found: list[Named] = []
        merged: tuple[int, ...] = ()
        seen = {name: own for name, own in scope.merged.items() if own[0] >= scope.visible_from}
        if table is None and (names := self.matching(column.this, list(seen))):
            merged = seen[list(seen)[names[0]]]
            found = [Named(scope.fields[merged[0]], scope, merged[0])]
        found += [
            Named(source.fields[i], scope, source.first + i)
            for source in scope.sources
            if source.first >= scope.visible_from and (table is None or self.matching(table, [source.name]))
            for i in self.matching(column.this, [own.name for own in source.fields])
            if source.first + i not in merged
        ]
        if len(found) > 1:
            self._refuse_several(column, "is a column of more than one table of FROM")
        return found[0] if found else None
