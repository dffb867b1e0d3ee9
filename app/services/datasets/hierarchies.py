"""Use cases on hierarchies: how the values of an attribute generalise."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from app.domain.errors import NotFound
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.hierarchies.hierarchy_definitions import (
    HierarchyDefinition,
    LeafColumn,
    ParentsDefinition,
    RowsDefinition,
)
from app.services.datasets.hierarchy_building import build
from app.services.datasets.hierarchy_child import (
    LARGE_CHARACTERS,
    LARGE_LABELS,
    built_by_child,
    defined_by_child,
)
from app.services.datasets.hierarchy_resources import csv_resource, hierarchy_resource
from app.services.datasets.hierarchy_transport import check_labels, labels_of
from app.services.datasets.text_columns import read_columns
from app.services.gates.evidence_masking import shown_resource
from app.services.named import NamedResources
from app.services.resources import Actor, Created, Kind, Scope, Stored, require


@dataclass(frozen=True)
class CreateHierarchy:
    """A hierarchy to be stored under a name."""

    name: str
    definition: HierarchyDefinition


@dataclass(frozen=True)
class TreeNode:
    """One node of a preview: its code, label, depth, leaves below it, and children shown."""

    node: int
    label: str
    depth: int
    leaves: int
    n_children: int
    children: tuple[TreeNode, ...]


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
        labels = await asyncio.to_thread(labels_of, definition, column)
        check_labels(definition, labels)
        if labels > LARGE_LABELS:
            return await self._add(actor, await defined_by_child(request.name, definition, column))
        hierarchy = await asyncio.to_thread(build, definition, column)
        return await self._keep(actor, request.name, definition.kind, hierarchy)

    async def create_from_csv(self, actor: Actor, name: str, text: str, delimiter: str = ";") -> Created:
        """The same from the CSV form: one line per leaf, no header."""
        self._admit(actor, name)
        if len(text) > LARGE_CHARACTERS:
            return await self._add(actor, await built_by_child(name, text, delimiter))
        return await self._add(actor, await asyncio.to_thread(csv_resource, name, text, delimiter))

    async def tree(
        self, actor: Actor, ref: str, *, node: int | None = None, depth: int = 2, limit: int = 50
    ) -> TreeNode:
        """The node (⊥ if None) with ``depth`` generations below it, at most ``limit`` children each."""
        async with self._store.work(actor.tenant) as work:
            stored = await work.resources.get(self.kind, ref)
        return await asyncio.to_thread(lambda: _preview(hierarchy_of(stored), node or 0, depth, limit))

    async def _keep(self, actor: Actor, name: str, kind: str, hierarchy: Hierarchy) -> Created:
        return await self._add(actor, await asyncio.to_thread(hierarchy_resource, name, kind, hierarchy))

    async def _column(self, actor: Actor, source: LeafColumn) -> tuple[str, ...]:
        async with self._store.work(actor.tenant) as work:
            upload = await work.resources.get(Kind.UPLOAD, source.upload)
            columns = await read_columns(work, upload, [source.column], "/definition/leaves/column")
        return columns[source.column].values


def hierarchy_of(stored: Stored) -> Hierarchy:
    """The hierarchy that a stored resource holds."""
    if stored.document is None:
        raise ValueError("the document was not loaded")
    return Hierarchy.from_document(stored.document)


def _preview(hierarchy: Hierarchy, node: int, depth: int, limit: int) -> TreeNode:
    if not 0 <= node < hierarchy.n_nodes:
        raise NotFound("node", str(node))
    child, parent = hierarchy.edges
    order = np.lexsort((child, parent))
    child, parent = child[order], parent[order]

    def shown(code: int, generations: int) -> TreeNode:
        low, high = np.searchsorted(parent, [code, code + 1])
        below = child[low : min(high, low + limit)].tolist() if generations > 0 else []
        return TreeNode(
            node=code,
            label=hierarchy.labels[code],
            depth=int(hierarchy.depth[code]),
            leaves=int(hierarchy.leaf_count[code]),
            n_children=int(high - low),
            children=tuple(shown(inner, generations - 1) for inner in below),
        )

    return shown(node, depth)
