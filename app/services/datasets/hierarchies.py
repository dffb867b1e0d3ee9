"""Use cases on hierarchies: how the values of an attribute generalise."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import ClassVar

from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.hierarchies.hierarchy_definitions import (
    HierarchyDefinition,
    LeafColumn,
    ParentsDefinition,
    RowsDefinition,
)
from app.services.datasets.attribute_trees import CountedNode, Shown, counted_nodes
from app.services.datasets.hierarchy_building import (
    build,
    csv_resource,
    definition_of,
    hierarchy_resource,
    rows_per_leaf,
)
from app.services.datasets.hierarchy_child import (
    LARGE_CHARACTERS,
    LARGE_LABELS,
    built_by_child,
    defined_by_child,
)
from app.services.datasets.hierarchy_transport import check_labels, labels_of
from app.services.datasets.text_columns import read_columns
from app.services.gates.evidence_masking import shown_resource
from app.services.named import NamedResources
from app.services.resources import (
    Actor,
    Created,
    JsonObject,
    Kind,
    Scope,
    Stored,
    document_of,
    require,
)


@dataclass(frozen=True)
class CreateHierarchy:
    """A hierarchy to be stored under a name."""

    name: str
    definition: HierarchyDefinition
    from_data: bool = False
    """Whether labels, or what is above them, were taken from records, though they are written out here."""


class HierarchyService(NamedResources):
    """Create, read and preview hierarchies."""

    kind: ClassVar[Kind] = Kind.HIERARCHY

    async def get(self, actor: Actor, ref: str) -> Stored:
        """The resource without its document, by id or name; NotFound otherwise."""
        async with self._store.work(actor.tenant) as work:
            return shown_resource(actor, await work.resources.described(self.kind, ref))

    async def create(self, actor: Actor, request: CreateHierarchy) -> Created:
        """Build, validate and store; InvalidInput names what is wrong in the definition."""
        self._admit(actor, request.name)
        definition = request.definition
        column = None
        if not isinstance(definition, ParentsDefinition | RowsDefinition) and isinstance(
            definition.leaves, LeafColumn
        ):
            require(actor, Scope.DATA_READ)  # every key of the tenant will see the values as labels
            column = await self._column(actor, definition.leaves)
        from_data = request.from_data or column is not None
        labels = await asyncio.to_thread(labels_of, definition, column)
        check_labels(definition, labels)
        if labels > LARGE_LABELS:
            new = await defined_by_child(request.name, definition, column)
        else:
            hierarchy = await asyncio.to_thread(build, definition, column)
            new = await asyncio.to_thread(hierarchy_resource, request.name, definition, hierarchy)
        # Its labels do not tell whether data decided what it holds.
        return await self._add(actor, replace(new, summary={**new.summary, "from_data": from_data}))

    async def create_from_csv(self, actor: Actor, name: str, text: str, delimiter: str = ";") -> Created:
        """The same from the CSV form: one line per leaf, no header."""
        self._admit(actor, name)
        if len(text) > LARGE_CHARACTERS:
            return await self._add(actor, await built_by_child(name, text, delimiter))
        return await self._add(actor, await asyncio.to_thread(csv_resource, name, text, delimiter))

    async def tree(
        self, actor: Actor, ref: str, *, node: int | None = None, depth: int = 2, limit: int = 50
    ) -> CountedNode:
        """The node (⊥ if None) with ``depth`` generations below it, at most ``limit`` children each."""
        async with self._store.work(actor.tenant) as work:
            stored = await work.resources.get(self.kind, ref)
        shown = Shown(node or 0, depth, limit)
        return await asyncio.to_thread(lambda: counted_nodes(hierarchy_of(stored), shown))

    def _definition_of(self, stored: Stored) -> JsonObject:
        return definition_of(stored)

    async def _column(self, actor: Actor, source: LeafColumn) -> dict[str, int]:
        """Rows per distinct value that is not missing, nor unreadable where a format is given."""
        async with self._store.work(actor.tenant) as work:
            upload = await work.resources.get(Kind.UPLOAD, source.upload)
            columns = await read_columns(work, upload, [source.column], "/definition/leaves/column")
        return rows_per_leaf(columns[source.column], source)


def is_from_data(stored: Stored) -> bool:
    """Whether records may have decided what the hierarchy holds.

    Of those stored before that was recorded, all may have that are not of labels written out.
    """
    written_out = (ParentsDefinition.kind, RowsDefinition.kind)
    return bool(stored.summary.get("from_data", stored.summary["kind"] not in written_out))


def hierarchy_of(stored: Stored) -> Hierarchy:
    """The hierarchy that a stored resource holds."""
    return Hierarchy.from_document(document_of(stored))
