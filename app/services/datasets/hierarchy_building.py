"""From a hierarchy's definition to the hierarchy, and to the resource that is stored of it."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Final

import numpy as np

from app.domain.errors import Fault, InvalidInput
from app.domain.hierarchies import builders
from app.domain.hierarchies.bounds import bounded
from app.domain.hierarchies.cell_formats import read_cell
from app.domain.hierarchies.coded import code_prefixes, coded, rare_values
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.hierarchies.hierarchy_definitions import (
    CodePrefixesDefinition,
    DatesDefinition,
    FlatDefinition,
    FreeBoundsDefinition,
    HierarchyDefinition,
    IntervalsDefinition,
    LeafColumn,
    LeafRange,
    LeafSource,
    LeafValues,
    MadeOfLeaves,
    MaskingDefinition,
    OrderedGroupsDefinition,
    ParentsDefinition,
    RareValuesDefinition,
    RowsDefinition,
)
from app.services.datasets.dataset_schema import few
from app.services.datasets.text_columns import TextColumn
from app.services.fingerprints import new_resource
from app.services.resources import JsonObject, Kind, NewResource, Stored, document_of

MAX_HEIGHT: Final = 999
MAX_LABEL: Final = 1000
"""What answers have room for."""

_POINTER = "/definition"


def build(definition: HierarchyDefinition, column: Mapping[str, int] | None) -> Hierarchy:
    """The hierarchy that is defined; ``column``: rows per leaf where the leaves are those of an upload.

    Raises InvalidInput with pointers below /definition. Leaves of an upload are not repeated in messages.
    """
    hierarchy = _any(definition, column)
    if hierarchy.height > MAX_HEIGHT:
        raise InvalidInput.of(
            _POINTER,
            "too-many-levels",
            f"The hierarchy has {hierarchy.height} levels; at most {MAX_HEIGHT} are allowed.",
            "Leave levels out.",
        )
    if any(len(label) > MAX_LABEL for label in hierarchy.labels):
        raise InvalidInput.of(
            _POINTER,
            "label-too-long",
            f"A label is longer than {MAX_LABEL} characters.",
            "Shorten it, or leave its attribute without a hierarchy.",
        )
    return hierarchy


def rows_per_leaf(column: TextColumn, source: LeafColumn) -> dict[str, int]:
    """Rows per distinct value that is not missing, nor unreadable where a format is given."""
    counts: Counter[str] = Counter()
    for cell, rows in zip(column.values, column.rows_per_value.tolist(), strict=True):
        value = cell if source.format is None else read_cell(cell, source.format)
        if value is not None:
            counts[value] += rows
    return dict(counts)


def _any(definition: HierarchyDefinition, column: Mapping[str, int] | None) -> Hierarchy:
    if isinstance(definition, ParentsDefinition):
        return Hierarchy.from_parents(definition.parents, definition.top_label, f"{_POINTER}/parents")
    if isinstance(definition, RowsDefinition):
        return Hierarchy.from_rows(definition.rows, f"{_POINTER}/rows")
    try:
        return _built(definition, column)
    except InvalidInput as error:
        discreet = isinstance(definition.leaves, LeafColumn)
        raise InvalidInput([_placed(fault, discreet) for fault in error.faults]) from None


def _built(definition: MadeOfLeaves, column: Mapping[str, int] | None) -> Hierarchy:
    leaves = _leaves(definition.leaves, column)
    match definition:
        case IntervalsDefinition():
            return builders.intervals(leaves, definition.widths, definition.origin)
        case FreeBoundsDefinition():
            return bounded(leaves, definition.bounds, definition.labels)
        case OrderedGroupsDefinition():
            return builders.ordered_groups(leaves, definition.group_sizes)
        case MaskingDefinition():
            return builders.masking(leaves, definition.side, definition.char, definition.pad)
        case CodePrefixesDefinition():
            return code_prefixes(leaves, definition.lengths)
        case DatesDefinition():
            return builders.dates(leaves, definition.levels)
        case FlatDefinition():
            return builders.flat(leaves)
        case RareValuesDefinition():
            if column is None:
                raise InvalidInput.of(
                    "/upload",
                    "no-counts",
                    "Values that are listed, or a range, say nothing of how often each occurs.",
                    "Take the leaves from an upload's column.",
                )
            return rare_values(dict(sorted(column.items())), definition.at_least, definition.other)
        case _:
            return coded(leaves, definition)


def _leaves(source: LeafSource, column: Mapping[str, int] | None) -> Sequence[str]:
    if isinstance(source, LeafColumn):
        return sorted(column or ())
    if isinstance(source, LeafRange):
        return builders.leaf_range(source.first, source.last, source.step)
    return source.values


def _placed(fault: Fault, discreet: bool) -> Fault:
    """The fault below /definition; without its message where that may repeat a cell."""
    if discreet and fault.pointer == "/values":
        return Fault(
            f"{_POINTER}/leaves/column",
            fault.code,
            f"A value of the column does not suit this kind of hierarchy ({fault.code}).",
            fault.remedy,
        )
    return replace(fault, pointer=_POINTER + fault.pointer)


_USUAL_DELIMITERS: Final = (",", ";", "\t", "|")


def csv_rows(text: str, delimiter: str) -> tuple[tuple[str, ...], ...]:
    """Rows of the CSV form; blank lines are skipped."""
    try:
        reader = csv.reader(
            io.StringIO(text.removeprefix("\ufeff"), newline=""), delimiter=delimiter, strict=True
        )
        return tuple(tuple(row) for row in reader if row)
    except (csv.Error, TypeError):
        raise InvalidInput.of(
            "/body",
            "not-csv",
            "The text cannot be read as CSV.",
            "Check the delimiter (one character) and close every quote.",
        ) from None


def delimiter_doubt(rows: Sequence[Sequence[str]], delimiter: str) -> str | None:
    """A warning where rows of one label each would be of several under another usual delimiter."""
    if any(len(row) != 1 for row in rows):
        return None
    for other in _USUAL_DELIMITERS:
        parts = {row[0].count(other) for row in rows}
        if other != delimiter and len(parts) == 1 and parts != {0}:
            return (
                f"Every row is read as a single label, and every one holds as many {other!r}: if these "
                "separate levels, create the hierarchy with that delimiter."
            )
    return None


def csv_resource(name: str, text: str, delimiter: str) -> NewResource:
    """The resource that the CSV form defines, with a doubt about the delimiter as a warning.

    InvalidInput names what is wrong in it.
    """
    definition = RowsDefinition(csv_rows(text, delimiter))
    hierarchy = build(definition, None)
    doubt = delimiter_doubt(definition.rows, delimiter)
    if doubt is not None:
        hierarchy = replace(hierarchy, warnings=(*hierarchy.warnings, doubt))
    return hierarchy_resource(name, definition, hierarchy)


def hierarchy_resource(name: str, definition: HierarchyDefinition, hierarchy: Hierarchy) -> NewResource:
    """The resource of what a definition made; its hash is that of its labels and edges."""
    summary = {
        "kind": definition.kind,
        "height": hierarchy.height,
        "nodes": hierarchy.n_nodes,
        "leaves": hierarchy.n_leaves,
        "is_tree": hierarchy.is_tree,
        "is_balanced": hierarchy.is_balanced,
        "top_label": hierarchy.labels[0],
        # Of trees: how many different values leaves become on each level, from the top (1) down.
        "level_nodes": tuple(
            len(np.unique(hierarchy.ancestors_at(level)[hierarchy.leaves]))
            for level in reversed(range(hierarchy.height + 1 if hierarchy.is_tree else 0))
        ),
        "warnings": few(hierarchy.warnings),
    }
    document = hierarchy.to_document()
    meaning = {"labels": document["labels"], "parents": document["parents"]}
    # Bounds and names of groups may come from data: with the labels they are sealed, the summary is not.
    kept = document | _defining(definition)
    return new_resource(Kind.HIERARCHY, name, meaning, {}, summary, kept, ())


def _defining(definition: HierarchyDefinition) -> JsonObject:
    """What is kept of a definition beside what it makes: of one whose leaves are a column's, or a range.

    The others say no more than their labels do.
    """
    if isinstance(definition, ParentsDefinition | RowsDefinition) or isinstance(
        definition.leaves, LeafValues
    ):
        return {}
    said = {key: own for key, own in asdict(definition).items() if key != "leaves" and own is not None}
    leaves = {"range": asdict(definition.leaves)} if isinstance(definition.leaves, LeafRange) else {}
    return {"definition": {"kind": definition.kind, **said, **leaves}}


def definition_of(stored: Stored) -> JsonObject:
    """A definition of what a stored hierarchy is; one whose leaves are a column's names no column.

    Those that were stored before definitions were kept are told by their values.
    """
    document = document_of(stored)
    if "definition" in document:
        return dict(document["definition"])
    hierarchy = Hierarchy.from_document(document)
    labels = hierarchy.labels
    if hierarchy.is_tree and hierarchy.is_balanced:
        levels = [hierarchy.ancestors_at(level)[hierarchy.leaves] for level in range(hierarchy.height + 1)]
        rows = [[labels[node] for node in nodes] for nodes in zip(*levels, strict=True)]
        return {"kind": RowsDefinition.kind, "rows": rows}
    above = {
        labels[node]: [labels[parent] if parent else None for parent in hierarchy.parents[node]]
        for node in range(1, hierarchy.n_nodes)
    }
    return {"kind": ParentsDefinition.kind, "parents": above, "top_label": labels[0]}
