"""Use cases on datasets: an upload with its schema and hierarchies."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import ClassVar, Final

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
    OnUnknown,
    OnUnreadable,
    Role,
    RowsAre,
    check_schema,
    column_of,
    declarations_of,
    few,
    flat_warning,
    rows_are_of,
)
from app.services.datasets.hierarchy_building import definition_of
from app.services.datasets.ingest.dialect import Dialect, reading_of
from app.services.datasets.ingest.faults import ROWS_NAMED, in_rows
from app.services.datasets.ingest.pieces import Preview, first_rows
from app.services.datasets.person_signs import NO_SIGNS, PersonSigns, signs_of
from app.services.datasets.persons import person_warnings, persons_of
from app.services.datasets.spellings import spellings_of
from app.services.datasets.tables import TableResources
from app.services.datasets.text_columns import TextColumn, read_columns
from app.services.fingerprints import new_resource, plain
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

_NOT_READ: Final = (Role.IDENTIFIER, Role.OTHER)


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
        source = await self._source(actor, request)
        if source.upload.summary["rows"] == 0:
            raise InvalidInput.of(
                "/upload", "empty-dataset", "The upload has no rows.", "A dataset needs at least one record."
            )
        encoded, table, profile = await asyncio.to_thread(_encoded, source)
        new = _resource(source, encoded, table)
        # The profile is a result of its content: it goes when no dataset has that any more.
        async with self._store.work(actor.tenant) as work:
            stored, is_new = await add_resource(work, actor, new)
            if is_new and profile.n_bytes <= MOST_STORED_BYTES:
                await work.results.save(STORED_AS, stored.sha256, profile.to_json(), stored.id)
            await work.commit()
        created = Created(shown_resource(actor, stored), is_new)
        self._loader.keep_profile(actor.tenant, created.resource, profile, profile.n_bytes)
        if new.summary["status"] == DatasetStatus.READY:
            self._loader.keep_table(actor.tenant, created.resource, table)
        return created

    async def preview(self, actor: Actor, ref: str, limit: int = 20) -> Preview:
        """The first rows; needs data:read."""
        require(actor, Scope.DATA_READ)
        dataset = await self.get(actor, ref)
        names = tuple(d.name for d in declarations_of(dataset))
        async with self._store.work(actor.tenant) as work:
            upload = await work.resources.get(Kind.UPLOAD, document_of(dataset)["upload"]["id"])
            first = await anext(work.pieces.read(upload.id))
        rows = await asyncio.to_thread(first_rows, first, names, limit, reading_of(upload.summary["dialect"]))
        return Preview(names, rows, dataset.summary["rows"])

    async def reading(self, actor: Actor, ref: str) -> JsonObject:
        """How its columns and its upload's file are read, as the schema of a policy says it.

        Needs data:read where cells are replaced, for it names them.
        """
        async with self._store.work(actor.tenant) as work:
            dataset = await work.resources.get(self.kind, ref)
            declared = [own for own in declarations_of(dataset) if own.role not in _NOT_READ]
            if any(own.map for own in declared):
                require(actor, Scope.DATA_READ)
            upload = await work.resources.described(Kind.UPLOAD, document_of(dataset)["upload"]["id"])
            hierarchies = {
                own.name: await work.resources.get(Kind.HIERARCHY, own.hierarchy)
                for own in declared
                if own.hierarchy is not None
            }
        usual, dialect = plain(asdict(Dialect())), upload.summary["dialect"]
        columns = await asyncio.to_thread(
            lambda: {own.name: _column_reading(own, hierarchies.get(own.name)) for own in declared}
        )
        return {
            "columns": columns,
            "file": {key: own for key, own in dialect.items() if own not in (usual[key], None, [])},
        }

    async def profile(self, actor: Actor, ref: str, limit: int = 50) -> Profile:
        """Distinct, missing and unknown counts; with data:read also values, at most ``limit`` per list."""
        dataset = await self.get(actor, ref)

        async def load() -> tuple[Profile, int]:
            async with self._store.work(actor.tenant) as work:
                stored = await work.results.find(STORED_AS, dataset.sha256)
            profile = await made() if stored is None else Profile.from_json(stored)
            return profile, profile.n_bytes

        async def made() -> Profile:
            upload, declarations = document_of(dataset)["upload"]["id"], declarations_of(dataset)
            request = CreateDataset(dataset.name, upload, declarations, rows_are_of(dataset))
            _, _, profile = await asyncio.to_thread(_encoded, await self._source(actor, request))
            return profile

        profile: Profile = await self._loader.profile(actor.tenant, dataset, load)
        return profile.shown(limit if Scope.DATA_READ in actor.scopes else None)

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

    async def _source(self, actor: Actor, request: CreateDataset) -> _Source:
        declarations = request.attributes
        async with self._store.work(actor.tenant) as work:
            upload = await work.resources.get(Kind.UPLOAD, request.upload)
            check_schema(declarations, upload, request.rows_are)
            stored = {
                d.name: await work.resources.get(Kind.HIERARCHY, d.hierarchy)
                for d in declarations
                if d.hierarchy is not None
            }
            is_said = (request.rows_are or column_of(Role.PERSON, declarations)) is not None
            if not is_said and upload.summary.get("one_row_per"):
                request, is_said = replace(request, rows_are="persons"), True  # as its builder says
            # Where nobody said what a row is, a column that is not declared may say so.
            names = [d.name for d in declarations] if is_said else upload.summary["columns"]
            columns = await read_columns(work, upload, names, "/attributes")
        return _Source(request, is_said, upload, columns, stored)


@dataclass(frozen=True, eq=False)
class _Source:
    request: CreateDataset
    is_said: bool
    upload: Stored
    columns: Mapping[str, TextColumn]
    stored_hierarchies: Mapping[str, Stored]

    @cached_property
    def signs(self) -> PersonSigns:
        weights = [own.name for own in self.request.attributes if own.role is Role.WEIGHT]
        return NO_SIGNS if self.is_said else signs_of(self.columns, weights)

    @cached_property
    def hierarchies(self) -> dict[str, Hierarchy]:
        return {
            name: Hierarchy.from_document(document_of(stored))
            for name, stored in self.stored_hierarchies.items()
        }


def _encoded(source: _Source) -> tuple[tuple[EncodedAttribute, ...], Table, Profile]:
    declarations = source.request.attributes
    encoded = encode(declarations, source.columns, source.hierarchies)
    table = table_of(encoded, declarations, source.columns)
    return encoded, table, profile_of(declarations, source.columns, encoded, source.signs)


def _resource(source: _Source, encoded: Sequence[EncodedAttribute], table: Table) -> NewResource:
    request = source.request
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


def _reading(declaration: AttributeDeclaration) -> JsonObject:
    """How cells are read, where that is not the usual way, so that other datasets keep their fingerprints."""
    said: JsonObject = {}
    if declaration.format is not None:
        said["format"] = declaration.format.value
    if declaration.on_unreadable is not OnUnreadable.REFUSE:
        said["on_unreadable"] = declaration.on_unreadable.value
    if declaration.on_missing != "refuse":
        said["on_missing"] = declaration.on_missing
    return said


def _column_reading(declaration: AttributeDeclaration, hierarchy: Stored | None) -> JsonObject:
    """How one column is read, of what is not usual, and along what it is generalised."""
    said: JsonObject = {"type": declaration.type.value, **_reading(declaration)}
    if declaration.on_unknown is not OnUnknown.REFUSE:
        said["on_unknown"] = declaration.on_unknown.value
    if declaration.map:
        said["map"] = dict(declaration.map)
    return said if hierarchy is None else {**said, "hierarchy": definition_of(hierarchy)}


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


def _column_warnings(source: _Source) -> Iterator[str]:
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
