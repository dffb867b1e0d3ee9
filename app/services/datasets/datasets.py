"""Use cases on datasets: an upload with its schema and hierarchies."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from app.domain.errors import InvalidInput, NotFound
from app.services.datasets.attribute_trees import AttributeTree, Shown, attribute_tree
from app.services.datasets.dataset_making import (
    NOT_READ,
    CreateDataset,
    DatasetSource,
    encoded_dataset,
    new_dataset,
    reading_document,
)
from app.services.datasets.dataset_profiles import MOST_STORED_BYTES, STORED_AS, Profile
from app.services.datasets.dataset_schema import (
    DatasetStatus,
    OnUnknown,
    declarations_of,
    rows_are_of,
)
from app.services.datasets.ingest.dialect import reading_of
from app.services.datasets.ingest.pieces import Preview, first_rows
from app.services.datasets.tables import TableResources
from app.services.datasets.text_columns import read_columns
from app.services.gates.evidence_masking import shown_resource
from app.services.named import add_resource
from app.services.resources import Actor, Created, JsonObject, Kind, Scope, document_of, require


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
        encoded, table, profile = await asyncio.to_thread(encoded_dataset, source)
        new = new_dataset(source, encoded, table)
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
            declared = [own for own in declarations_of(dataset) if own.role not in NOT_READ]
            if any(own.map for own in declared):
                require(actor, Scope.DATA_READ)
            upload = await work.resources.described(Kind.UPLOAD, document_of(dataset)["upload"]["id"])
            hierarchies = {
                own.name: await work.resources.get(Kind.HIERARCHY, own.hierarchy)
                for own in declared
                if own.hierarchy is not None
            }
        dialect = upload.summary["dialect"]
        return await asyncio.to_thread(reading_document, declared, hierarchies, dialect)

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
            _, _, profile = await asyncio.to_thread(encoded_dataset, await self._source(actor, request))
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

    async def _source(self, actor: Actor, request: CreateDataset) -> DatasetSource:
        async with self._store.work(actor.tenant) as work:
            upload = await work.resources.get(Kind.UPLOAD, request.upload)
            request, is_said = request.of_upload(upload)
            stored = {
                d.name: await work.resources.get(Kind.HIERARCHY, d.hierarchy)
                for d in request.attributes
                if d.hierarchy is not None
            }
            names = request.columns_read(upload, is_said=is_said)
            self._loader.require_room(upload, names, "/attributes")
            columns = await read_columns(work, upload, names, "/attributes")
        return DatasetSource(request, is_said, upload, columns, stored)
