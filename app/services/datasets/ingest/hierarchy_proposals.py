"""Hierarchies that would suit the columns of an upload, beside the types and roles that are proposed."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, replace
from typing import Any, cast

from app.domain.catalogue.catalogue_types import UploadRef
from app.domain.hierarchies.hierarchy_definitions import LeafColumn, MadeOfLeaves
from app.domain.hierarchies.proposals import ColumnCounts, propose_hierarchy
from app.services.datasets.dataset_schema import Role
from app.services.datasets.ingest.pieces import read_piece
from app.services.datasets.ingest.proposals import AttributeProposal, SchemaProposal
from app.services.resources import Stored


def with_hierarchies(proposal: SchemaProposal, piece: bytes, upload: Stored) -> SchemaProposal:
    """The proposal of a schema with a hierarchy for each column that it would release.

    ``piece`` is the upload's first one, on whose first rows the proposal rests.
    """
    table = read_piece(piece).slice(0, proposal.rows_in_sample)
    is_whole = proposal.rows_in_sample == upload.summary["rows"]
    attributes = []
    for own in proposal.attributes:
        if not Role(own.role).is_disclosed:
            attributes.append(
                replace(own, hierarchy_reason="It is not to be released, so that it needs no hierarchy.")
            )
            continue
        cells = table.column(own.name).to_pylist()
        counts = Counter(cell for cell in cells if cell is not None)
        leaves = LeafColumn(UploadRef(upload.name), own.name)
        attributes.append(_with_hierarchy(own, counts, leaves, is_whole))
    return replace(proposal, attributes=tuple(attributes))


def _with_hierarchy(
    own: AttributeProposal, counts: Counter[str], leaves: LeafColumn, is_whole: bool
) -> AttributeProposal:
    known = ColumnCounts(own.name, cast(Any, own.type), counts, leaves, is_whole)
    found = propose_hierarchy(known)
    definition = None if found.definition is None else definition_document(found.definition)
    return replace(own, hierarchy=definition, hierarchy_reason=found.reason)


def definition_document(definition: MadeOfLeaves) -> dict[str, Any]:
    """A definition in the form in which hierarchies are created; what has its default is left out."""
    document: dict[str, Any] = {"kind": definition.kind}
    source = definition.leaves
    if isinstance(source, LeafColumn):
        document["upload"] = vars(source)
    else:
        document["range"] = vars(source)
    for field in fields(definition):
        value = getattr(definition, field.name)
        if field.name != "leaves" and value != field.default:
            document[field.name] = value
    return document
