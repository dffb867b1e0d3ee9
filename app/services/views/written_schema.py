"""A relational schema as it is written, and as a document that is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property

from app.domain.views.relational_schema import ForeignKey, RelationDefinition
from app.services.fingerprints import plain, sha256_of
from app.services.resources import JsonObject


@dataclass(frozen=True)
class WrittenSchema:
    """Relations and foreign keys, or the statements that declare them."""

    relations: Mapping[str, RelationDefinition] = field(default_factory=dict)
    foreign_keys: Sequence[ForeignKey] = ()
    sql: str | None = None

    def document(self) -> JsonObject:
        """All of it as plain JSON; :meth:`of` reads it back."""
        document: JsonObject = {
            "relations": {name: asdict(own) for name, own in self.relations.items()},
            "foreign_keys": [asdict(own) for own in self.foreign_keys],
            "sql": self.sql,
        }
        return plain(document)

    @cached_property
    def sha256(self) -> str:
        """Hash of what is written: tables, columns, and every constraint."""
        return sha256_of(self.document())

    @classmethod
    def of(cls, document: JsonObject) -> WrittenSchema:
        """The schema of a document."""
        return cls(
            {name: _definition(own) for name, own in document["relations"].items()},
            tuple(ForeignKey(**own) for own in document["foreign_keys"]),
            document["sql"],
        )


def _definition(document: JsonObject) -> RelationDefinition:
    domains = {
        name: tuple(own) if isinstance(own, list) else own for name, own in document["domains"].items()
    }
    dependencies = [(own[0], own[1]) for own in document["dependencies"]]
    return RelationDefinition(**{**document, "domains": domains, "dependencies": dependencies})
