"""Relational schemas as plain documents: what is stored of one is all that a check needs to know of it."""

from __future__ import annotations

from app.domain.views.relational_schema import ForeignKey, RelationDefinition, built
from app.services.fingerprints import plain
from app.services.resources import JsonObject
from app.services.views.column_types import ColumnType
from app.services.views.reading import ReadSchema, limited

_OF_A_TYPE = ("family", "name", "size", "declared")


def schema_document(schema: ReadSchema) -> JsonObject:
    """The schema as JSON types: relations as they are declared, how SQL compares, and what is unusual."""
    return plain(
        {
            "relations": {
                name: {
                    "attributes": own.attributes,
                    "domains": own.domains,
                    "keys": own.keys,
                    "fds": own.dependencies,
                    "nullable": own.nullable,
                }
                for name, own in schema.definitions.items()
            },
            "foreign_keys": [
                {"from": own.source, "to": own.target} for own in schema.relational.foreign_keys
            ],
            "types": {
                name: [{key: getattr(own, key) for key in _OF_A_TYPE} for own in types]
                for name, types in schema.types.items()
            },
            "qualified": schema.qualified,
            "warnings": schema.warnings,
        }
    )


def schema_of(document: JsonObject) -> ReadSchema:
    """The schema of a document."""
    definitions = {
        name: RelationDefinition(
            own["attributes"],
            {name: tuple(sent) if isinstance(sent, list) else sent for name, sent in own["domains"].items()},
            own["keys"],
            [(determining, determined) for determining, determined in own["fds"]],
            own["nullable"],
        )
        for name, own in document["relations"].items()
    }
    foreign_keys = [ForeignKey(own["from"], own["to"]) for own in document["foreign_keys"]]
    relational = built(definitions, foreign_keys)
    types = {
        name: tuple(
            # Schemas that were stored before say less of their types.
            ColumnType(own["family"], range_.values, own["name"], own.get("size"), own.get("declared", ""))
            for own, range_ in zip(described, relational.relations[name].ranges, strict=True)
        )
        for name, described in document["types"].items()
    }
    qualified = {name: tuple(parts) for name, parts in document["qualified"].items()}
    return ReadSchema(limited(relational, types), types, qualified, tuple(document["warnings"]), definitions)
