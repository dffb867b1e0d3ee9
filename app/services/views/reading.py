"""Schemas and queries read from whatever language they are written in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from app.domain.catalogue.catalogue_types import QueryLanguage, SqlDialect
from app.domain.errors import InvalidInput, pointing_into
from app.domain.views.datalog import head_of, parse_query, subgoal_places
from app.domain.views.ranges import Range
from app.domain.views.relational_schema import ForeignKey, RelationalSchema, RelationDefinition, built
from app.services.views.column_types import ColumnType, type_of
from app.services.views.published import Part, Place, PublishedQuery

MOST_CHARACTERS_OF_TABLES: Final = 200_000


@dataclass(frozen=True)
class WrittenQuery:
    """A query with its name."""

    id: str
    query: str
    keeps_duplicates: bool = False


@dataclass(frozen=True)
class ReadSchema:
    """The relations as they are decided on, and how SQL compares their columns."""

    relational: RelationalSchema
    types: Mapping[str, Sequence[ColumnType]]
    qualified: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The names by which CREATE TABLE calls them, with those of their databases."""
    warnings: Sequence[str] = ()
    definitions: Mapping[str, RelationDefinition] = field(default_factory=dict)
    """The relations as they are declared."""


def read_schema(
    relations: Mapping[str, RelationDefinition],
    foreign_keys: Sequence[ForeignKey],
    tables: str | None,
    dialect: SqlDialect,
) -> ReadSchema:
    """The schema of declarations or of CREATE TABLE statements; InvalidInput lists what is wrong with it."""
    if tables is None:
        schema = built(relations, foreign_keys)
        types = {name: list(map(type_of, own.ranges)) for name, own in schema.relations.items()}
        return ReadSchema(schema, types, definitions=relations)
    if relations or foreign_keys:
        raise InvalidInput.of(
            "/sql",
            "two-schemas",
            "The schema is given as relations and as SQL.",
            "Leave out relations and foreign_keys, or sql.",
        )
    # The parser is loaded by the first check that needs it.
    from app.services.views.sql.tables import read_tables

    with pointing_into("/sql"):
        found = read_tables(tables, dialect)
        try:
            schema = built(found.definitions, found.foreign_keys)
        except InvalidInput as error:
            raise InvalidInput([replace(own, pointer="") for own in error.faults]) from None
    schema = limited(schema, found.types)
    return ReadSchema(schema, found.types, found.qualified, found.warnings, found.definitions)


def limited(schema: RelationalSchema, types: Mapping[str, Sequence[ColumnType]]) -> RelationalSchema:
    """The schema with no number in a column that its type cannot hold."""

    def own(range_: Range, kind: ColumnType) -> Range:
        return replace(range_, limits=kind.limits) if range_.values is None else range_

    found = {name: tuple(map(own, it.ranges, types[name])) for name, it in schema.relations.items()}
    relations = {name: replace(it, ranges=found[name]) for name, it in schema.relations.items()}
    return replace(schema, relations=relations)


def reader(
    language: QueryLanguage, dialect: SqlDialect, schema: ReadSchema
) -> Callable[[WrittenQuery], PublishedQuery]:
    """What reads the queries of a check; it raises InvalidInput with the line and column of a fault."""
    if language == "datalog":
        return lambda written: _from_datalog(written, schema.relational)
    from app.services.views.sql.queries import SqlReader

    sql = SqlReader(schema, dialect)

    def from_sql(written: WrittenQuery) -> PublishedQuery:
        if written.keeps_duplicates:
            raise InvalidInput.of(
                "",
                "keeps-duplicates",
                "SQL says by itself whether an answer keeps duplicates.",
                "Leave keeps_duplicates out, and write DISTINCT or not.",
            )
        return sql.read(written.query)

    return from_sql


def _from_datalog(written: WrittenQuery, schema: RelationalSchema) -> PublishedQuery:
    query = parse_query(written.query, schema, keeps_duplicates=written.keeps_duplicates)
    places = tuple(tuple(Place(*own) for own in rule) for rule in subgoal_places(written.query))
    part = Part(query, len(query.rules[0].goal), written.keeps_duplicates, written_at=places)
    return PublishedQuery((part,), head=head_of(written.query))
