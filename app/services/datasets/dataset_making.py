"""How a dataset is made of an upload's columns, its schema and hierarchies: without a store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Self

from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.tables.table import Table
from app.services.datasets.dataset_encoding import (
    EncodedAttribute,
    as_declared,
    encode,
    table_of,
    unreadable_rows,
)
from app.services.datasets.dataset_profiles import Profile, profile_of
from app.services.datasets.dataset_schema import (
    AttributeDeclaration,
    DatasetStatus,
    OnUnknown,
    OnUnreadable,
    Role,
    RowsAre,
    check_schema,
    column_of,
    few,
    flat_warning,
)
from app.services.datasets.hierarchy_building import definition_of
from app.services.datasets.ingest.dialect import Dialect
from app.services.datasets.ingest.faults import ROWS_NAMED, in_rows
from app.services.datasets.person_signs import NO_SIGNS, PersonSigns, signs_of
from app.services.datasets.persons import person_warnings, persons_of
from app.services.datasets.spellings import spellings_of
from app.services.datasets.text_columns import TextColumn
from app.services.fingerprints import new_resource, plain
from app.services.resources import (
    JsonObject,
    Kind,
    NewResource,
    Stored,
    document_of,
    reference,
    without_names,
)


@dataclass(frozen=True)
class CreateDataset:
    """A dataset to be made from an upload; ``rows_are`` says that each row is a person."""

    name: str
    upload: str
    attributes: tuple[AttributeDeclaration, ...]
    rows_are: RowsAre | None = None

    def of_upload(self, upload: Stored) -> tuple[Self, bool]:
        """The request with what the upload says of its rows, and whether anybody said what a row is.

        Raises InvalidInput for a schema that the upload's columns do not have.
        """
        check_schema(self.attributes, upload, self.rows_are)
        if (self.rows_are or column_of(Role.PERSON, self.attributes)) is not None:
            return self, True
        if upload.summary.get("one_row_per"):
            return replace(self, rows_are="persons"), True  # as its builder says
        return self, False

    def columns_read(self, upload: Stored, *, is_said: bool) -> Sequence[str]:
        """The columns to read: where nobody said what a row is, one that is not declared may say so."""
        return [own.name for own in self.attributes] if is_said else list(upload.summary["columns"])


@dataclass(frozen=True, eq=False)
class DatasetSource:
    """What a dataset is made of: its schema, the columns of an upload, and hierarchies by attribute.

    ``is_said`` is whether somebody said what a row is; signs are looked for only where nobody did.
    """

    request: CreateDataset
    is_said: bool
    upload: Stored
    columns: Mapping[str, TextColumn]
    stored_hierarchies: Mapping[str, Stored]

    @cached_property
    def signs(self) -> PersonSigns:
        """Signs that one person has several rows."""
        weights = [own.name for own in self.request.attributes if own.role is Role.WEIGHT]
        return NO_SIGNS if self.is_said else signs_of(self.columns, weights)

    @cached_property
    def hierarchies(self) -> dict[str, Hierarchy]:
        """The declared hierarchies by attribute."""
        return {
            name: Hierarchy.from_document(document_of(stored))
            for name, stored in self.stored_hierarchies.items()
        }


def encoded_dataset(source: DatasetSource) -> tuple[tuple[EncodedAttribute, ...], Table, Profile]:
    """The columns in codes, the table of them, and what the profile of the dataset tells.

    Raises InvalidInput for cells that are not of their type, and identifiers that repeat or are missing.
    """
    declarations = source.request.attributes
    encoded = encode(declarations, source.columns, source.hierarchies)
    table = table_of(encoded, declarations, source.columns)
    return encoded, table, profile_of(declarations, source.columns, encoded, source.signs)


def new_dataset(source: DatasetSource, encoded: Sequence[EncodedAttribute], table: Table) -> NewResource:
    """The dataset as it is stored; unknown values make it ``needs_attention``."""
    request = source.request
    attributes = [
        {
            "name": d.name,
            "type": d.type.value,
            "role": d.role.value,
            "hierarchy": None if d.hierarchy is None else reference(source.stored_hierarchies[d.name]),
            "on_unknown": d.on_unknown.value,
            "map": dict(d.map),
            **reading_said(d),
        }
        for d in request.attributes
    ]
    document = {"upload": reference(source.upload), "attributes": attributes}
    if request.rows_are is not None:  # said in documents only where it was, so that others keep their hash
        document["rows_are"] = request.rows_are
    status = DatasetStatus.READY
    if any(attribute.needs_attention for attribute in encoded):
        status = DatasetStatus.NEEDS_ATTENTION
    by_name = {attribute.declaration.name: attribute for attribute in encoded}
    summary = {
        "status": status.value,
        "rows": table.n_records,
        "upload": source.upload.name,
        "identifier": column_of(Role.IDENTIFIER, request.attributes),
        "rows_are": request.rows_are,
        "person": column_of(Role.PERSON, request.attributes),
        "persons": None if table.persons is None else table.n_persons,
        "attributes": tuple(_attribute_summary(d, source, by_name.get(d.name)) for d in request.attributes),
        "warnings": few((*_column_warnings(source), *_warnings(encoded))),
    }
    uses = [source.upload.id, *(stored.id for stored in source.stored_hierarchies.values())]
    return new_resource(Kind.DATASET, request.name, without_names(document), {}, summary, document, uses)


NOT_READ: Final = (Role.IDENTIFIER, Role.OTHER)
"""Roles of columns of which nothing is said in a schema."""


def reading_document(
    declared: Sequence[AttributeDeclaration], hierarchies: Mapping[str, Stored], dialect: JsonObject
) -> JsonObject:
    """How columns and an upload's file are read, of what is not usual, as the schema of a policy says it."""
    usual = plain(Dialect())
    return {
        "columns": {own.name: _column_reading(own, hierarchies.get(own.name)) for own in declared},
        "file": {key: own for key, own in dialect.items() if own not in (usual[key], None, [])},
    }


def _column_reading(declaration: AttributeDeclaration, hierarchy: Stored | None) -> JsonObject:
    """How one column is read, of what is not usual, and along what it is generalised."""
    said: JsonObject = {"type": declaration.type.value, **reading_said(declaration)}
    if declaration.on_unknown is not OnUnknown.REFUSE:
        said["on_unknown"] = declaration.on_unknown.value
    if declaration.map:
        said["map"] = dict(declaration.map)
    return said if hierarchy is None else {**said, "hierarchy": definition_of(hierarchy)}


def reading_said(declaration: AttributeDeclaration) -> JsonObject:
    """How cells are read, where that is not the usual way, so that other datasets keep their fingerprints."""
    said: JsonObject = {}
    if declaration.format is not None:
        said["format"] = declaration.format.value
    if declaration.on_unreadable is not OnUnreadable.REFUSE:
        said["on_unreadable"] = declaration.on_unreadable.value
    if declaration.on_missing != "refuse":
        said["on_missing"] = declaration.on_missing
    return said


def _attribute_summary(
    declaration: AttributeDeclaration, source: DatasetSource, encoded: EncodedAttribute | None
) -> JsonObject:
    stored = source.stored_hierarchies.get(declaration.name)
    column = as_declared(source.columns[declaration.name], declaration)
    return {
        "name": declaration.name,
        "type": declaration.type.value,
        "role": declaration.role.value,
        "hierarchy": None if stored is None else stored.name,
        "height": None if encoded is None else encoded.hierarchy.height,
        "leaves": None if encoded is None else encoded.hierarchy.n_leaves,
        "missing": column.n_missing,
        "spellings": len(spellings_of(column)),
        "unreadable": len(unreadable_rows(source.columns[declaration.name], declaration)),
        "unknown": 0 if encoded is None else encoded.n_unknown_rows,
        "unknown_values": 0 if encoded is None else int(encoded.unknown.sum()),
        "unknown_in": () if encoded is None else encoded.first_unknown_rows(),
    }


def _warnings(encoded: Sequence[EncodedAttribute]) -> tuple[str, ...]:
    warnings = []
    for attribute in encoded:
        name, rows = attribute.declaration.name, attribute.n_unknown_rows
        if attribute.needs_attention:
            warnings.append(
                f"{rows} cells of {name!r} are not in its hierarchy: map them, attach them or treat them as "
                "missing."
            )
        elif rows:
            warnings.append(f"{rows} cells of {name!r} are not in its hierarchy and count as missing.")
        warnings.extend(f"{name!r}: {warning}." for warning in attribute.hierarchy.warnings)
        # Of a flat quasi-identifier searches have nothing between its values and none of them.
        declared = attribute.declaration
        is_flat = declared.hierarchy is None and attribute.hierarchy.n_leaves > 1
        if is_flat and declared.role is Role.QUASI_IDENTIFIER:
            warnings.append(flat_warning(name))
    return tuple(warnings)


def _column_warnings(source: DatasetSource) -> Iterator[str]:
    """What is unusual about persons, and how many cells are missing because they cannot be read."""
    signs, n_rows = source.signs, source.upload.summary["rows"]
    if signs.person is not None:
        yield (
            f"{signs.doubt} Give {signs.person!r} the role person ({signs.persons:,} persons in {n_rows:,} "
            "rows), or say rows_are persons if each row is a person."
        )
    for own in source.request.attributes:
        if own.role is Role.PERSON:
            yield from person_warnings(own.name, persons_of(as_declared(source.columns[own.name], own)))
        if own.on_unreadable is OnUnreadable.MISSING:
            rows = unreadable_rows(source.columns[own.name], own)
            if len(rows):
                written = "" if own.format is None else f" written like {own.format.value}"
                cells = "1 cell counts" if len(rows) == 1 else f"{len(rows)} cells count"
                yield (
                    f"{cells} as missing in {own.name!r}, being no {own.type.value}{written}, "
                    f"{in_rows(rows[:ROWS_NAMED].tolist(), len(rows))}."
                )
