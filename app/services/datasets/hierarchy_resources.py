"""A hierarchy as the resource that is stored: its summary, its hash and its document."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.hierarchies.hierarchy_definitions import RowsDefinition
from app.services.datasets.hierarchy_building import build, csv_rows, delimiter_doubt
from app.services.fingerprints import new_resource
from app.services.notices import few
from app.services.resources import Kind, NewResource


def csv_resource(name: str, text: str, delimiter: str) -> NewResource:
    """The resource that the CSV form defines, with a doubt about the delimiter as a warning.

    InvalidInput names what is wrong in it.
    """
    definition = RowsDefinition(csv_rows(text, delimiter))
    hierarchy = build(definition, None)
    doubt = delimiter_doubt(definition.rows, delimiter)
    if doubt is not None:
        hierarchy = replace(hierarchy, warnings=(*hierarchy.warnings, doubt))
    return hierarchy_resource(name, definition.kind, hierarchy)


def hierarchy_resource(name: str, kind: str, hierarchy: Hierarchy) -> NewResource:
    """The resource of a hierarchy; its hash is that of its labels and edges."""
    summary = {
        "kind": kind,
        "height": hierarchy.height,
        "nodes": hierarchy.n_nodes,
        "leaves": hierarchy.n_leaves,
        "is_tree": hierarchy.is_tree,
        "is_balanced": hierarchy.is_balanced,
        "top_label": hierarchy.labels[0],
        "level_nodes": _level_nodes(hierarchy),
        "warnings": few(hierarchy.warnings),
    }
    document = hierarchy.to_document()
    meaning = {"labels": document["labels"], "parents": document["parents"]}
    return new_resource(Kind.HIERARCHY, name, meaning, {}, summary, document, ())


def _level_nodes(hierarchy: Hierarchy) -> tuple[int, ...]:
    """Number of different values that leaves become on each level, from the top (1) down, for trees."""
    if not hierarchy.is_tree:
        return ()
    return tuple(
        len(np.unique(hierarchy.ancestors_at(level)[hierarchy.leaves]))
        for level in reversed(range(hierarchy.height + 1))
    )
