"""A query in SQL as what is decided, and by which operators it is not conjunctive."""

from __future__ import annotations

from sqlglot import exp

from app.domain.catalogue.catalogue_types import SqlDialect
from app.domain.errors import InvalidInput
from app.services.views.published import PublishedQuery
from app.services.views.reading import ReadSchema
from app.services.views.sql.grammar import require_known
from app.services.views.sql.names import Names
from app.services.views.sql.rows import parts_of
from app.services.views.sql.text import SqlText, created_view, one_query
from app.services.views.sql.translation import Room, Translation
from app.services.views.sql.values import LiteralBook


class SqlReader:
    """Reads the queries of one check."""

    def __init__(self, schema: ReadSchema, dialect: SqlDialect) -> None:
        self._schema = schema
        self._dialect = dialect
        self._room = Room()
        self._book = LiteralBook()

    def read(self, text: str) -> PublishedQuery:
        """The query; InvalidInput says at which line and column it is not understood."""
        own = SqlText(text, self._dialect)
        names = Names(own, self._schema, self._book)
        try:
            # Of a view that is called like a table, others may read the one for the other.
            created = created_view(own)
            relations = list(self._schema.relational.relations)
            if created is not None and names.matching(created.this, relations):
                own.refuse(
                    created,
                    "named-as-table",
                    f"the view is called like the table {created.name!r} of the schema.",
                    "If the table holds what the view shows, take it out of the schema; else rename the "
                    "view.",
                )
            rows = Translation(names, self._room).rows()
        except RecursionError:
            raise InvalidInput.of(
                "", "nested-too-deep", "Line 1, column 1: the query is nested too deeply.", "Use WITH."
            ) from None
        shows_all = not rows.is_sealed and all(field.is_plain for field in rows.fields)
        return PublishedQuery(parts_of(rows), rows.reasons, shows_all=shows_all)


def reads_tables(text: str, dialect: SqlDialect) -> bool:
    """Whether a query names any table or WITH, whatever the schema; InvalidInput if it cannot be read."""
    own = SqlText(text, dialect)
    query = one_query(own)
    require_known(query, own)
    return query.find(exp.Table) is not None
