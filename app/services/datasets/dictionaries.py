"""Use cases on dictionaries: what an attacker can look up."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import ClassVar, Literal

from app.domain.classes.persons import ONE_ROW
from app.domain.errors import Fault, InvalidInput, refuse
from app.domain.hierarchies.builders import dates
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.tables.table import require_unique_ids
from app.services.datasets.dictionary_links import (
    DictionaryContent,
    Lookup,
    build_link,
    entity_ids,
    read_dictionary,
)
from app.services.datasets.hierarchies import hierarchy_of
from app.services.datasets.tables import TableResources
from app.services.datasets.text_columns import TextColumn, check_columns_exist
from app.services.fingerprints import new_resource
from app.services.ports import UnitOfWork
from app.services.resources import (
    Actor,
    Created,
    JsonObject,
    Kind,
    NewResource,
    Stored,
    reference,
    without_names,
)


@dataclass(frozen=True)
class IdentityTransform:
    """The dictionary's cell is a value of the dataset's hierarchy."""


@dataclass(frozen=True)
class LookupTransform:
    """The dictionary's cell is looked up: in an inline table, or in two columns of an upload."""

    table: Mapping[str, str] | None = None
    upload: str | None = None
    key: str | None = None
    value: str | None = None
    missing_entry: Literal["error", "missing", "elsewhere"] = "error"


@dataclass(frozen=True)
class AgeTransform:
    """The dictionary's cell is an age in completed years at the date; the dataset holds birth dates."""

    reference_date: str


Transform = IdentityTransform | LookupTransform | AgeTransform


@dataclass(frozen=True)
class Link:
    """Which column of the dictionary tells what about which attribute of a dataset.

    Without ``hierarchy`` the link takes that of whichever dataset the dictionary is used with.
    """

    attribute: str
    column: str
    hierarchy: str | None = None
    transform: Transform = IdentityTransform()


@dataclass(frozen=True)
class CreateDictionary:
    """A dictionary: either ``upload`` with ``links``, or ``from_dataset`` alone."""

    name: str
    upload: str | None = None
    links: tuple[Link, ...] = ()
    identifier: str | None = None
    same_entities_as: str | None = None
    from_dataset: str | None = None

    @property
    def columns(self) -> list[str]:
        """The columns of the upload that it is made of."""
        linked = [link.column for link in self.links]
        return linked if self.identifier is None else [*linked, self.identifier]


class DictionaryService(TableResources):
    """Create and read dictionaries."""

    kind: ClassVar[Kind] = Kind.DICTIONARY

    async def create(self, actor: Actor, request: CreateDictionary) -> Created:
        """Validate links and cells and store."""
        self._admit(actor, request.name)
        if request.from_dataset is not None:
            return await self._add(actor, await self._of_dataset(actor, request))
        _check_links(request)
        async with self._store.work(actor.tenant) as work:
            sources = await _read_sources(work, request)
            self._loader.require_room(sources.upload, request.columns, "/links")
            content = await read_dictionary(work, sources.document)
        new = await asyncio.to_thread(_resource, request, sources, content)
        return await self._add(actor, new)

    async def _of_dataset(self, actor: Actor, request: CreateDictionary) -> NewResource:
        if request.upload is not None or request.links or request.identifier or request.same_entities_as:
            raise InvalidInput.of(
                "/from_dataset",
                "contradiction",
                "A dictionary made from a dataset has that dataset's attributes, links and entities.",
                "Send from_dataset alone, or upload with links.",
            )
        async with self._store.work(actor.tenant) as work:
            dataset = await work.resources.get(Kind.DATASET, request.from_dataset or "")
        table = await self._loader.table(actor.tenant, dataset)
        if table.n_persons < table.n_records:
            said = f"{dataset.name!r} has several rows of one person, and a dictionary has one per entity."
            remedy = f"Make it of {ONE_ROW}."
            raise InvalidInput.of("/from_dataset", "repeated-entities", said, remedy)
        links = [
            {
                "attribute": name,
                "column": name,
                "hierarchy": None,
                "transform": "identity",
                "missing": int(table.is_missing(j).sum()),
                "elsewhere": 0,
            }
            for j, name in enumerate(table.attributes)
        ]
        document = {"from_dataset": reference(dataset)}
        summary = {
            "entities": table.n_records,
            "upload": None,
            "identifier": dataset.summary["identifier"],
            "same_entities_as": None,
            "from_dataset": dataset.name,
            "links": tuple(links),
            "warnings": (),
        }
        return _new(request.name, document, summary, (dataset.id,))


@dataclass(frozen=True, eq=False)
class _Sources:
    """The document of a dictionary, and the resources that it points to."""

    document: JsonObject
    upload: Stored
    hierarchies: tuple[Stored | None, ...]
    same_entities_as: Stored | None
    uses: tuple[str, ...]


def _check_links(request: CreateDictionary) -> None:
    """The faults of the request that can be seen without any data."""
    faults = []
    if request.upload is None or not request.links:
        faults.append(
            Fault(
                "/links",
                "nothing-linked",
                "A dictionary needs an upload and at least one link to an attribute of the dataset.",
                "Send upload and links, or from_dataset.",
            )
        )
    seen: set[str] = set()
    for index, link in enumerate(request.links):
        if link.attribute in seen:
            faults.append(
                Fault(
                    f"/links/{index}/attribute",
                    "duplicate-link",
                    f"The attribute {link.attribute!r} is linked twice.",
                    "Link each attribute once.",
                )
            )
        seen.add(link.attribute)
        faults += _faults_of_transform(f"/links/{index}/transform", link.transform)
    refuse(faults)


def _faults_of_transform(pointer: str, transform: Transform) -> list[Fault]:
    if isinstance(transform, AgeTransform):
        try:
            date.fromisoformat(transform.reference_date)
        except ValueError:
            return [
                Fault(
                    f"{pointer}/reference_date",
                    "not-a-date",
                    f"{transform.reference_date!r} is not a date.",
                    "Write it like 2009-11-20.",
                )
            ]
    if isinstance(transform, LookupTransform):
        columns = (transform.upload, transform.key, transform.value)
        if (transform.table is None) == (None in columns) or any(columns) != all(columns):
            return [
                Fault(
                    pointer,
                    "wrong-lookup",
                    "A lookup is either an inline table, or an upload with its key and value columns.",
                    "Send table alone, or upload, key and value.",
                )
            ]
    return []


async def _read_sources(work: UnitOfWork, request: CreateDictionary) -> _Sources:
    resources = work.resources
    upload = await resources.get(Kind.UPLOAD, request.upload or "")
    check_columns_exist(upload, request.columns, "/links")
    same = None
    if request.same_entities_as is not None:
        same = await resources.get(Kind.DATASET, request.same_entities_as)
    hierarchies, links, uses = [], [], [upload.id]
    for link in request.links:
        hierarchy = None
        if link.hierarchy is not None:
            hierarchy = await resources.get(Kind.HIERARCHY, link.hierarchy)
            uses.append(hierarchy.id)
        transform, used = await _transform_document(work, link.transform)
        uses += used
        hierarchies.append(hierarchy)
        links.append(
            {
                "attribute": link.attribute,
                "column": link.column,
                "hierarchy": None if hierarchy is None else reference(hierarchy),
                "transform": transform,
            }
        )
    document = {
        "from_dataset": None,
        "upload": reference(upload),
        "identifier": request.identifier,
        "same_entities_as": None if same is None else reference(same),
        "links": links,
    }
    if same is not None:
        uses.append(same.id)
    return _Sources(document, upload, tuple(hierarchies), same, tuple(uses))


async def _transform_document(work: UnitOfWork, transform: Transform) -> tuple[JsonObject, list[str]]:
    """The transform as JSON, and the ids of what it uses."""
    if isinstance(transform, IdentityTransform):
        return {"kind": "identity"}, []
    if isinstance(transform, AgeTransform):
        return {"kind": "age", "reference_date": transform.reference_date}, []
    upload = None
    if transform.upload is not None:
        upload = await work.resources.get(Kind.UPLOAD, transform.upload)
    document = {
        "kind": "lookup",
        "table": None if transform.table is None else dict(transform.table),
        "upload": None if upload is None else reference(upload),
        "key": transform.key,
        "value": transform.value,
        "missing_entry": transform.missing_entry,
    }
    return document, [] if upload is None else [upload.id]


def _resource(request: CreateDictionary, sources: _Sources, content: DictionaryContent) -> NewResource:
    if request.identifier is not None:
        require_unique_ids(entity_ids(content.columns[request.identifier]), content.n_entities, "dictionary")
    same = sources.same_entities_as
    if same is not None and request.identifier is None and same.summary["rows"] != content.n_entities:
        raise InvalidInput.of(
            "/same_entities_as",
            "other-entities",
            f"The dictionary has {content.n_entities} rows, the dataset {same.summary['rows']}.",
            "Without an identifier, row i of both must be the same entity; or declare the identifier.",
        )
    links = []
    parts = zip(sources.document["links"], content.lookups, sources.hierarchies, strict=True)
    for link, lookup, hierarchy in parts:
        column = content.columns[link["column"]]
        elsewhere = _elsewhere(link, column, lookup, hierarchy)
        links.append(
            {
                "attribute": link["attribute"],
                "column": link["column"],
                "hierarchy": None if hierarchy is None else hierarchy.name,
                "transform": link["transform"]["kind"],
                "missing": column.n_missing,
                "elsewhere": elsewhere,
            }
        )
    warnings = [
        f"{link['elsewhere']} values linked to {link['attribute']!r} are outside its hierarchy: "
        "these entities are consistent only with a suppressed value."
        for link in links
        if link["elsewhere"]
    ]
    if not content.n_entities:
        warnings.append("The dictionary has no entities: every identification probability is 0.")
    summary = {
        "entities": content.n_entities,
        "upload": sources.upload.name,
        "identifier": request.identifier,
        "same_entities_as": None if same is None else same.name,
        "from_dataset": None,
        "links": tuple(links),
        "warnings": tuple(warnings),
    }
    return _new(request.name, sources.document, summary, sources.uses)


def _elsewhere(
    link: JsonObject, column: TextColumn, lookup: Lookup | None, hierarchy: Stored | None
) -> int | None:
    """Entities outside the link's hierarchy; without one the link is only checked in itself."""
    if hierarchy is not None:
        return build_link(link, column, lookup, hierarchy_of(hierarchy)).n_elsewhere
    if link["transform"]["kind"] == "age":
        build_link(link, column, lookup, dates([link["transform"]["reference_date"]], ["day"]))
    elif link["transform"]["kind"] == "lookup":
        build_link(link, column, lookup, Hierarchy(("*",), ((),)))
    return None


def _new(name: str, document: JsonObject, summary: JsonObject, uses: tuple[str, ...]) -> NewResource:
    return new_resource(Kind.DICTIONARY, name, without_names(document), {}, summary, document, uses)
