"""From a stored dictionary to the domain's, linked to the hierarchies of one dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np

from app.domain.counting.counter import dictionary_of
from app.domain.dictionaries.dictionary import (
    Dictionary,
    LinkedAttribute,
    link_age,
    link_identity,
    link_lookup,
)
from app.domain.errors import Fault, InvalidInput, refuse
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.tables.table import Table
from app.services.datasets.dataset_encoding import missing_identifier
from app.services.datasets.ingest.faults import ROWS_NAMED, in_rows
from app.services.datasets.text_columns import TextColumn, read_columns
from app.services.ports import UnitOfWork
from app.services.resources import JsonObject, Kind, Stored, document_of

Lookup = Mapping[str, str | None]


@dataclass(frozen=True, eq=False)
class DictionaryContent:
    """What a dictionary's document points to: its columns, and the lookup of each link that has one."""

    n_entities: int
    columns: Mapping[str, TextColumn]
    lookups: tuple[Lookup | None, ...]


async def read_dictionary(work: UnitOfWork, document: JsonObject) -> DictionaryContent:
    """Read the columns and lookups of a dictionary's document."""
    upload = await work.resources.get(Kind.UPLOAD, document["upload"]["id"])
    names = [link["column"] for link in document["links"]]
    if document["identifier"] is not None:
        names.append(document["identifier"])
    columns = await read_columns(work, upload, names, "/links")
    lookups = [
        await _read_lookup(work, link["transform"], f"/links/{index}/transform")
        for index, link in enumerate(document["links"])
    ]
    return DictionaryContent(upload.summary["rows"], columns, tuple(lookups))


async def _read_lookup(work: UnitOfWork, transform: JsonObject, pointer: str) -> Lookup | None:
    if transform["kind"] != "lookup":
        return None
    if transform["table"] is not None:
        table: Lookup = transform["table"]
        return table
    upload = await work.resources.get(Kind.UPLOAD, transform["upload"]["id"])
    columns = await read_columns(work, upload, [transform["key"], transform["value"]], pointer)
    keys, values = columns[transform["key"]].cells(), columns[transform["value"]].cells()
    lookup: dict[str, str | None] = {}
    contradictions = []
    for row, (key, value) in enumerate(zip(keys, values, strict=True), start=1):
        if key is not None and lookup.setdefault(key, value) != value:
            contradictions.append(row)
    if contradictions:
        raise InvalidInput.of(
            pointer,
            "ambiguous-lookup",
            f"The lookup gives a key another value than before "
            f"{in_rows(contradictions[:ROWS_NAMED], len(contradictions))}.",
            "Give every key one value.",
        )
    return lookup


def build_dictionary(
    document: JsonObject, content: DictionaryContent, dataset: Stored, table: Table
) -> Dictionary:
    """The dictionary for one dataset, whose links must fit it."""
    links = tuple(
        build_link(
            link,
            content.columns[link["column"]],
            lookup,
            table.hierarchies[table.position(link["attribute"])],
        )
        for link, lookup in zip(document["links"], content.lookups, strict=True)
    )
    same = document["same_entities_as"] is not None and (
        document["same_entities_as"]["sha256"] == dataset.sha256
    )
    if document["identifier"] is not None:
        ids = content.columns[document["identifier"]]
        # Identifiers of records say nothing of persons who have several.
        comparable = table.entity_ids is not None and table.persons is None
        return Dictionary(content.n_entities, links, entity_ids(ids), comparable)
    if same and table.persons is None and content.n_entities == table.n_records:
        return Dictionary(content.n_entities, links, table.own_ids, comparable_ids=True)
    return Dictionary(content.n_entities, links)


def as_dictionary(source: Table, table: Table, *, same: bool) -> Dictionary:
    """A dataset as the dictionary for a table: ``same`` if it is the same dataset."""
    whole = dictionary_of(source)
    if same:
        return Dictionary(source.n_records, whole.links, source.own_ids, comparable_ids=True)
    comparable = source.entity_ids is not None and table.entity_ids is not None and table.persons is None
    return Dictionary(source.n_records, whole.links, source.entity_ids, comparable)


def build_link(
    link: JsonObject, column: TextColumn, lookup: Lookup | None, hierarchy: Hierarchy
) -> LinkedAttribute:
    """One link over a hierarchy."""
    # Position −1 of a missing cell means the None at the end.
    values: Sequence[str | None] = [*column.values, *([None] if column.n_missing else [])]
    positions, transform, attribute = column.positions, link["transform"], link["attribute"]
    if transform["kind"] == "identity":
        return link_identity(attribute, hierarchy, values, positions)
    if transform["kind"] == "age":
        reference = date.fromisoformat(transform["reference_date"])
        return link_age(attribute, hierarchy, values, reference, positions)
    return link_lookup(attribute, hierarchy, values, lookup or {}, transform["missing_entry"], positions)


def entity_ids(ids: TextColumn) -> np.ndarray[Any, np.dtype[np.object_]]:
    """The identifiers as the domain takes them; InvalidInput if one is missing."""
    if ids.n_missing:
        raise InvalidInput([missing_identifier("/identifier", ids)])
    return np.array(ids.cells(), dtype=object)


def check_links_fit(dictionary: Stored, dataset: Stored, table: Table, pointer: str) -> None:
    """Raise InvalidInput at ``pointer`` for links to what the dataset lacks or generalises otherwise."""
    declared = {attribute["name"]: attribute for attribute in document_of(dataset)["attributes"]}
    faults = []
    for link in document_of(dictionary)["links"]:
        attribute = link["attribute"]
        if attribute not in table.attributes:
            faults.append(_not_disclosed(dictionary, attribute, dataset, table, pointer))
            continue
        own = declared[attribute]["hierarchy"]
        if link["hierarchy"] is not None and (own is None or own["sha256"] != link["hierarchy"]["sha256"]):
            theirs = f"the hierarchy {link['hierarchy']['name']!r}"
            ours = "a flat one" if own is None else f"{own['name']!r}"
            faults.append(_other_hierarchy(dictionary, attribute, theirs, dataset, ours, pointer))
    refuse(faults)


def check_dataset_fits(
    dictionary: Stored, made: Dictionary, dataset: Stored, table: Table, pointer: str
) -> None:
    """The same for a dictionary that was ``made`` of a dataset."""
    faults = []
    for link in made.links:
        if link.attribute not in table.attributes:
            faults.append(_not_disclosed(dictionary, link.attribute, dataset, table, pointer))
            continue
        own = table.hierarchies[table.position(link.attribute)]
        if (own.labels, own.parents) != (link.hierarchy.labels, link.hierarchy.parents):
            faults.append(
                _other_hierarchy(dictionary, link.attribute, "one hierarchy", dataset, "another", pointer)
            )
    refuse(faults)


def _not_disclosed(dictionary: Stored, attribute: str, dataset: Stored, table: Table, pointer: str) -> Fault:
    return Fault(
        pointer,
        "unknown-attribute",
        f"The dictionary {dictionary.name!r} links {attribute!r}, which the dataset {dataset.name!r} does "
        "not disclose.",
        "Use a dictionary of what the dataset discloses: " + ", ".join(table.attributes) + ".",
    )


def _other_hierarchy(
    dictionary: Stored, attribute: str, theirs: str, dataset: Stored, ours: str, pointer: str
) -> Fault:
    return Fault(
        pointer,
        "other-hierarchy",
        f"The dictionary {dictionary.name!r} links {attribute!r} through {theirs}, the dataset "
        f"{dataset.name!r} uses {ours}.",
        "Use a dictionary that is linked to this dataset's hierarchy.",
    )
