"""A relational schema as it is given, and as a document that is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property

from app.domain.catalogue.catalogue_types import SqlDialect
from app.domain.views.relational_schema import ForeignKey, RelationDefinition
from app.services.fingerprints import plain, resource_sha256
from app.services.resources import JsonObject, Kind
from app.services.views.reading import ReadSchema, read_schema
from app.services.views.schema_documents import schema_document, schema_of


@dataclass(frozen=True)
class WrittenSchema:
    """Relations and foreign keys, or the statements that declare them, or the document of a stored schema."""

    relations: Mapping[str, RelationDefinition] = field(default_factory=dict)
    foreign_keys: Sequence[ForeignKey] = ()
    sql: str | None = None
    stored: JsonObject | None = None

    def read(self, dialect: SqlDialect) -> ReadSchema:
        """The schema as queries are read by it; InvalidInput lists what is wrong with it."""
        if self.stored is not None:
            return schema_of(self.stored)
        return read_schema(self.relations, self.foreign_keys, self.sql, dialect)

    def document(self) -> JsonObject:
        """All of it as plain JSON; :meth:`of` reads it back."""
        document: JsonObject = {
            "relations": {name: asdict(own) for name, own in self.relations.items()},
            "foreign_keys": [asdict(own) for own in self.foreign_keys],
            "sql": self.sql,
            **({} if self.stored is None else {"stored": self.stored}),
        }
        return plain(document)

    @cached_property
    def sha256(self) -> str:
        """Hash of what is read: tables, columns, and every constraint.

        It is the hash of the stored schema that says the same. InvalidInput for what cannot be read.
        """
        document = schema_document(self.read("postgres")) if self.stored is None else self.stored
        return resource_sha256(Kind.RELATIONAL_SCHEMA, document, {})

    @classmethod
    def of(cls, document: JsonObject) -> WrittenSchema:
        """The schema of a document."""
        return cls(
            {name: _definition(own) for name, own in document["relations"].items()},
            tuple(ForeignKey(**own) for own in document["foreign_keys"]),
            document["sql"],
            document.get("stored"),
        )


def _definition(document: JsonObject) -> RelationDefinition:
    domains = {
        name: tuple(own) if isinstance(own, list) else own for name, own in document["domains"].items()
    }
    dependencies = [(own[0], own[1]) for own in document["dependencies"]]
    return RelationDefinition(**{**document, "domains": domains, "dependencies": dependencies})
