"""Use cases on relational schemas: the relations that queries read, kept under a name."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from app.domain.catalogue.catalogue_types import SqlDialect
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.views.relational_schema import ForeignKey, RelationDefinition
from app.services.datasets.dataset_schema import declarations_of
from app.services.fingerprints import new_resource
from app.services.named import NamedResources
from app.services.resources import Actor, Created, Kind, NewResource, Stored, document_of
from app.services.views.dataset_relations import DatasetSource, schema_of_datasets
from app.services.views.reading import ReadSchema, read_schema
from app.services.views.schema_documents import schema_document

MOST_DATASETS = 100


@dataclass(frozen=True)
class CreateRelationalSchema:
    """Relations as they are declared, CREATE TABLE statements, or the datasets whose records are the rows."""

    name: str
    relations: Mapping[str, RelationDefinition] = field(default_factory=dict)
    foreign_keys: Sequence[ForeignKey] = ()
    tables: str | None = None
    dialect: SqlDialect = "postgres"
    datasets: Sequence[str] = ()


class RelationalSchemaService(NamedResources):
    """Create and read relational schemas."""

    kind: ClassVar[Kind] = Kind.RELATIONAL_SCHEMA

    async def create(self, actor: Actor, request: CreateRelationalSchema) -> Created:
        """Read and store; InvalidInput lists what is wrong, NotFound names a dataset that there is not."""
        self._admit(actor, request.name)
        if request.datasets:
            sources = [await self._source(actor, ref) for ref in request.datasets]
            schema = await asyncio.to_thread(schema_of_datasets, sources)
            datasets = [own.dataset for own in sources]
            return await self._add(actor, _resource(request.name, "datasets", schema, datasets))
        schema = await asyncio.to_thread(
            read_schema, request.relations, request.foreign_keys, request.tables, request.dialect
        )
        kind = "relations" if request.tables is None else "sql"
        return await self._add(actor, _resource(request.name, kind, schema))

    async def _source(self, actor: Actor, ref: str) -> DatasetSource:
        async with self._store.work(actor.tenant) as work:
            dataset = await work.resources.get(Kind.DATASET, ref)
            stored = {
                own.name: await work.resources.get(Kind.HIERARCHY, own.hierarchy)
                for own in declarations_of(dataset)
                if own.hierarchy is not None
            }
        read = {
            name: await asyncio.to_thread(Hierarchy.from_document, document_of(own))
            for name, own in stored.items()
        }
        return DatasetSource(dataset, read)


def _resource(name: str, source: str, schema: ReadSchema, datasets: Sequence[Stored] = ()) -> NewResource:
    """The schema as it is stored; what it was read from has no meaning beside what it says."""
    document = schema_document(schema)
    summary = {
        "source": source,
        "datasets": [own.name for own in datasets],
        "n_relations": len(schema.definitions),
        "warnings": document["warnings"],
    }
    return new_resource(Kind.RELATIONAL_SCHEMA, name, document, {}, summary, {}, [own.id for own in datasets])
