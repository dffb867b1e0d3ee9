"""Hierarchies that would suit the columns of an upload, beside the types and roles that are proposed."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, cast

from app.domain.catalogue.catalogue_types import UploadRef
from app.domain.hierarchies.hierarchy_definitions import LeafColumn, MadeOfLeaves
from app.domain.hierarchies.proposals import ColumnCounts, HierarchyProposal, propose_bands, propose_hierarchy
from app.services.datasets.dataset_encoding import as_declared
from app.services.datasets.dataset_schema import AttributeDeclaration, AttributeType, OnUnreadable, Role
from app.services.datasets.ingest.dialect import Dialect
from app.services.datasets.ingest.pieces import read_piece
from app.services.datasets.ingest.proposals import AttributeProposal, SchemaProposal
from app.services.datasets.text_columns import TextColumn, columns_of


def with_hierarchies(
    proposal: SchemaProposal, piece: bytes, upload: str, dialect: Dialect | None = None, *, is_whole: bool
) -> SchemaProposal:
    """The proposal of a schema with a hierarchy for each column that it would release.

    ``piece`` is the first one of the upload of that name, on whose first rows the proposal rests;
    ``is_whole`` says that there are no other rows, and will be none.
    """
    table = read_piece(piece).slice(0, proposal.rows_in_sample)
    columns = columns_of([table], dialect)
    return replace(
        proposal,
        attributes=tuple(
            _with_hierarchy(own, columns[own.name], upload, is_whole) for own in proposal.attributes
        ),
    )


def _with_hierarchy(
    own: AttributeProposal, column: TextColumn, upload: str, is_whole: bool
) -> AttributeProposal:
    role = Role(own.role)
    if not role.is_disclosed:
        return replace(own, hierarchy_reason="It is not to be released, so that it needs no hierarchy.")
    read = own.on_unreadable or OnUnreadable.REFUSE
    declared = AttributeDeclaration(
        own.name, AttributeType(own.type), role, format=own.format, on_unreadable=read
    )
    values = as_declared(column, declared)
    counts = dict(zip(values.values, values.rows_per_value.tolist(), strict=True))
    leaves = LeafColumn(UploadRef(upload), own.name, own.format)
    known = ColumnCounts(own.name, cast(Any, own.type), counts, leaves, is_whole)
    found, bands = propose_hierarchy(known), propose_bands(known)
    if bands is None:
        definition = found.definition
        return replace(own, hierarchy=_document(found), hierarchy_reason=found.reason, definition=definition)
    chosen, other = (bands, found) if role is Role.SENSITIVE else (found, bands)
    return replace(
        own,
        hierarchy=_document(chosen),
        hierarchy_reason=chosen.reason,
        other_hierarchy=_document(other),
        definition=chosen.definition,
    )


def _document(found: HierarchyProposal) -> dict[str, Any] | None:
    return None if found.definition is None else definition_document(found.definition)


def definition_document(definition: MadeOfLeaves) -> dict[str, Any]:
    """A definition in the form in which hierarchies are created; what has its default is left out."""
    document: dict[str, Any] = {"kind": definition.kind}
    source = definition.leaves
    if isinstance(source, LeafColumn):
        document["upload"] = {name: value for name, value in vars(source).items() if value is not None}
    else:
        document["range"] = vars(source)
    for field in fields(definition):
        value = getattr(definition, field.name)
        if field.name != "leaves" and value != field.default:
            document[field.name] = value
    return document
