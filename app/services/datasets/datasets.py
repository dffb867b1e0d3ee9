"""Use cases on datasets: an upload with its schema and hierarchies."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import ClassVar

from app.domain.direct_identifiers.person_signs import NO_SIGNS, PersonSigns
from app.domain.errors import InvalidInput, NotFound
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.tables.table import Table
from app.services.datasets.attribute_trees import AttributeTree, Shown, attribute_tree
from app.services.datasets.dataset_encoding import (
    EncodedAttribute,
    as_declared,
    encode,
    table_of,
    unreadable_rows,
)
from app.services.datasets.dataset_profiles import MOST_STORED_BYTES, STORED_AS, Profile, profile_of
from app.services.datasets.dataset_schema import (
    AttributeDeclaration,
    DatasetStatus,
    OnMissing,
    OnUnknown,
    OnUnreadable,
    Role,
    RowsAre,
    check_schema,
    declarations_of,
    few,
    flat_warning,
    identifier_of,
    person_of,
    rows_are_of,
)
from app.services.datasets.ingest.faults import ROWS_NAMED, in_rows
from app.services.datasets.ingest.pieces import Preview, first_rows
from app.services.datasets.persons import person_warnings, persons_of, signs_of, unsaid_warning
from app.services.datasets.tables import TableResources
from app.services.datasets.text_columns import TextColumn, read_columns
from app.services.fingerprints import new_resource
from app.services.gates.evidence_masking import shown_resource
from app.services.named import add_resource
from app.services.resources import (
    Actor,
    Created,
    JsonObject,
    Kind,
    NewResource,
    Scope,
    Stored,
    document_of,
    reference,
    require,
    without_names,
)


@dataclass(frozen=True)
class CreateDataset:
    """A dataset to be made from an upload; ``rows_are`` says that each row is a person."""

    name: str
    upload: str
    attributes: tuple[AttributeDeclaration, ...]
    rows_are: RowsAre | None = None


class DatasetService(TableResources):
    """Create, preview and profile datasets."""

    kind: ClassVar[Kind] = Kind.DATASET

    async def create(self, actor: Actor, request: CreateDataset) -> Created:
        """Validate schema and cells; unknown values make it ``needs_attention``, not an error."""
        self._admit(actor, request.name)
        source = await self._source(actor, request.upload, request.attributes, request.rows_are)
        if source.upload.summary["rows"] == 0:
            raise InvalidInput.of(
                "/upload", "empty-dataset", "The upload has no rows.", "A dataset needs at least one record."
            )
        encoded, table, profile = await asyncio.to_thread(_encoded, source, request.attributes)
        new = _resource(request, source, encoded, table, profile.person_signs)
        created = await self._add_with_profile(actor, new, profile)
        self._loader.keep_profile(actor.tenant, created.resource, profile, profile.n_bytes)
        if new.summary["status"] == DatasetStatus.READY:
            self._loader.keep_table(actor.tenant, created.resource, table)
        return created

    async def _add_with_profile(self, actor: Actor, new: NewResource, profile: Profile) -> Created:
        """Store it with its profile, a result of its content: it goes when no dataset has that any more."""
        async with self._store.work(actor.tenant) as work:
            stored, created = await add_resource(work, actor, new)
            if created and profile.n_bytes <= MOST_STORED_BYTES:
                await work.results.save(STORED_AS, stored.sha256, profile.to_json(), stored.id)
            await work.commit()
        return Created(shown_resource(actor, stored), created)

    async def preview(self, actor: Actor, ref: str, limit: int = 20) -> Preview:
        """The first rows; needs data:read."""
        require(actor, Scope.DATA_READ)
        dataset = await self.get(actor, ref)
        names = tuple(d.name for d in declarations_of(dataset))
        async with self._store.work(actor.tenant) as work:
            first = await anext(work.pieces.read(document_of(dataset)["upload"]["id"]))
        rows = await asyncio.to_thread(first_rows, first, names, limit)
        return Preview(names, rows, dataset.summary["rows"])

    async def profile(self, actor: Actor, ref: str, limit: int = 50) -> Profile:
        """Distinct, missing and unknown counts; with data:read also values, at most ``limit`` per list."""
        dataset = await self.get(actor, ref)
        declarations, rows_are = declarations_of(dataset), rows_are_of(dataset)

        async def load() -> tuple[Profile, int]:
            async with self._store.work(actor.tenant) as work:
                stored = await work.results.find(STORED_AS, dataset.sha256)
            profile = await made() if stored is None else Profile.from_json(stored)
            return profile, profile.n_bytes

        async def made() -> Profile:
            upload = document_of(dataset)["upload"]["id"]
            source = await self._source(actor, upload, declarations, rows_are)

            def profiled() -> Profile:
                encoded = encode(declarations, source.columns, source.hierarchies)
                return profile_of(declarations, source.columns, encoded, source.signs(declarations))

            return await asyncio.to_thread(profiled)

        profile: Profile = await self._loader.profile(actor.tenant, dataset, load)
        return profile.shown(limit if Scope.DATA_READ in actor.scopes else None)

    async def person_signs(self, actor: Actor, ref: str) -> PersonSigns:
        """Signs that one person has several rows; none where the schema says what a row is."""
        return (await self.profile(actor, ref)).person_signs

    async def tree(
        self, actor: Actor, ref: str, attribute: str, shown: Shown, sensitivity: str | None = None
    ) -> AttributeTree:
        """Part of a disclosed attribute's hierarchy with its records and, under a profile, its weights.

        Without data:read neither records nor weights are told; where labels come from the cells, as they do
        without a declared hierarchy or with unknown values attached to it, nothing is.
        """
        async with self._store.work(actor.tenant) as work:
            dataset = await work.resources.get(self.kind, ref)
            profile = (
                None
                if sensitivity is None
                else await work.resources.get(Kind.SENSITIVITY_PROFILE, sensitivity)
            )
        table = await self._loader.table(actor.tenant, dataset)
        if attribute not in table.attributes:
            raise NotFound("attribute", attribute)
        declared = next(own for own in declarations_of(dataset) if own.name == attribute)
        if declared.hierarchy is None or declared.on_unknown is OnUnknown.ATTACH:
            require(actor, Scope.DATA_READ)
        column, weights = table.attributes.index(attribute), None
        may_read = Scope.DATA_READ in actor.scopes
        if profile is not None:
            found = await self._loader.sensitivity(actor.tenant, profile, dataset)
            weights = found.shapes[column][0] if may_read and found.family != "constant" else None
        codes = table.codes[:, column] if may_read else None
        return await asyncio.to_thread(
            attribute_tree, attribute, table.hierarchies[column], codes, weights, table.n_records, shown
        )

    async def _source(
        self,
        actor: Actor,
        upload_ref: str,
        declarations: Sequence[AttributeDeclaration],
        rows_are: RowsAre | None = None,
    ) -> _Source:
        async with self._store.work(actor.tenant) as work:
            upload = await work.resources.get(Kind.UPLOAD, upload_ref)
            check_schema(declarations, upload, rows_are)
            stored = {
                d.name: await work.resources.get(Kind.HIERARCHY, d.hierarchy)
                for d in declarations
                if d.hierarchy is not None
            }
            is_unsaid = rows_are is None and person_of(declarations) is None
            if is_unsaid and upload.summary.get("one_row_per") is not None:
                rows_are, is_unsaid = "persons", False  # as the builder of the upload says
            # Where nobody said what a row is, a column that is not declared may say so.
            names = upload.summary["columns"] if is_unsaid else [d.name for d in declarations]
            columns = await read_columns(work, upload, names, "/attributes")
        return _Source(upload, columns, stored, is_unsaid, rows_are)


@dataclass(frozen=True, eq=False)
class _Source:
    upload: Stored
    columns: Mapping[str, TextColumn]
    stored_hierarchies: Mapping[str, Stored]
    is_unsaid: bool
    rows_are: RowsAre | None

    def signs(self, declarations: Sequence[AttributeDeclaration]) -> PersonSigns:
        """The signs of several rows per person, where nobody said what a row is."""
        weights = [own.name for own in declarations if own.role is Role.WEIGHT]
        return signs_of(self.columns, weights) if self.is_unsaid else NO_SIGNS

    @cached_property
    def hierarchies(self) -> dict[str, Hierarchy]:
        return {
            name: Hierarchy.from_document(document_of(stored))
            for name, stored in self.stored_hierarchies.items()
        }


def _encoded(
    source: _Source, declarations: Sequence[AttributeDeclaration]
) -> tuple[tuple[EncodedAttribute, ...], Table, Profile]:
    encoded = encode(declarations, source.columns, source.hierarchies)
    table = table_of(encoded, declarations, source.columns)
    profile = profile_of(declarations, source.columns, encoded, source.signs(declarations))
    return encoded, table, profile


def _resource(
    request: CreateDataset,
    source: _Source,
    encoded: Sequence[EncodedAttribute],
    table: Table,
    signs: PersonSigns,
) -> NewResource:
    attributes = [
        {
            "name": d.name,
            "type": d.type.value,
            "role": d.role.value,
            "hierarchy": None if d.hierarchy is None else reference(source.stored_hierarchies[d.name]),
            "on_unknown": d.on_unknown.value,
            "map": dict(d.map),
            **_reading(d),
        }
        for d in request.attributes
    ]
    document = {"upload": reference(source.upload), "attributes": attributes}
    if source.rows_are is not None:  # said in documents only where it was, so that others keep their hash
        document["rows_are"] = source.rows_are
    status = DatasetStatus.READY
    if any(attribute.needs_attention for attribute in encoded):
        status = DatasetStatus.NEEDS_ATTENTION
    by_name = {attribute.declaration.name: attribute for attribute in encoded}
    summary = {
        "status": status.value,
        "rows": table.n_records,
        "upload": source.upload.name,
        "identifier": identifier_of(request.attributes),
        "rows_are": source.rows_are,
        "person": person_of(request.attributes),
        "persons": None if table.persons is None else table.n_persons,
        "attributes": tuple(_attribute_summary(d, source, by_name.get(d.name)) for d in request.attributes),
        "warnings": few(
            (
                *([unsaid_warning(signs, table.n_records)] if signs.stops else ()),
                *chain.from_iterable(
                    person_warnings(own.name, persons_of(as_declared(source.columns[own.name], own)))
                    for own in request.attributes
                    if own.role is Role.PERSON
                ),
                *_reading_warnings(request.attributes, source),
                *_warnings(encoded),
            )
        ),
    }
    uses = [source.upload.id, *(stored.id for stored in source.stored_hierarchies.values())]
    return new_resource(Kind.DATASET, request.name, without_names(document), {}, summary, document, uses)


def _reading(declaration: AttributeDeclaration) -> JsonObject:
    """How cells are read, where that is not the usual way, so that other datasets keep their fingerprints."""
    said: JsonObject = {}
    if declaration.format is not None:
        said["format"] = declaration.format.value
    if declaration.on_unreadable is not OnUnreadable.REFUSE:
        said["on_unreadable"] = declaration.on_unreadable.value
    if declaration.on_missing is not OnMissing.REFUSE:
        said["on_missing"] = declaration.on_missing.value
    return said


def _attribute_summary(
    declaration: AttributeDeclaration, source: _Source, encoded: EncodedAttribute | None
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
        "unreadable": len(unreadable_rows(source.columns[declaration.name], declaration)),
        "unknown": 0 if encoded is None else encoded.n_unknown_rows,
        "unknown_values": 0 if encoded is None else int(encoded.unknown.sum()),
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
        if _keeps_or_loses(attribute):
            warnings.append(flat_warning(name))
    return tuple(warnings)


def _reading_warnings(declarations: Sequence[AttributeDeclaration], source: _Source) -> Iterator[str]:
    """How many cells are missing because they cannot be read."""
    for own in declarations:
        if own.on_unreadable is OnUnreadable.MISSING:
            rows = unreadable_rows(source.columns[own.name], own)
            if len(rows):
                written = "" if own.format is None else f" written like {own.format.value}"
                cells = "1 cell counts" if len(rows) == 1 else f"{len(rows)} cells count"
                yield (
                    f"{cells} as missing in {own.name!r}, being no {own.type.value}{written}, "
                    f"{in_rows(rows[:ROWS_NAMED].tolist(), len(rows))}."
                )


def _keeps_or_loses(attribute: EncodedAttribute) -> bool:
    """Whether searches have nothing between the values of a quasi-identifier and none of them."""
    declared = attribute.declaration
    has_role = declared.role is Role.QUASI_IDENTIFIER
    return has_role and declared.hierarchy is None and attribute.hierarchy.n_leaves > 1
