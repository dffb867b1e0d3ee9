"""A journey file: which tables, columns, hierarchies, links and weights the demonstration works with.

TOML, or JSON of the same structure. Paths are relative to the file. Every member of the file::

    [dataset]                              name, file, identifier?, and a dialect: delimiter?, quote?,
                                           encoding?, header?, trim?, missing?, sheet?
    [dataset.attributes.NAME]              role? (quasi_identifier), type? (categorical), hierarchy? (flat),
                                           on_unknown?, weight? (1), proposed_level? (0)
        hierarchy                          a file in the CSV form, separated by semicolons, or the
                                           definition of a builder
    [dictionary]                           as [dataset]
    [dictionary.links.ATTRIBUTE]           column, and at most one of
        lookup                             {file, key, value}: two columns of a table
        reference_date                     the column is an age on this day, the attribute a birth date
    [dictionaries.SLOT]                    as [dictionary], file? – for gates whose policy names several;
                                           the demonstration leaves them aside
    [sensitivity]                          family? (multiplicative)
    [optimisation]                         utility_floor? (the proposed rule's utility)
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.domain.errors import InvalidInput

Json = dict[str, Any]

_DIALECT = ("delimiter", "quote", "encoding", "header", "trim", "missing", "sheet")
FORMATS = ("csv", "csv.gz", "parquet", "arrow", "xlsx")
"""What the service reads."""

_FORMATS = {
    ".csv": "csv",
    ".gz": "csv.gz",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".xlsx": "xlsx",
}


@dataclass(frozen=True)
class TableFile:
    """A table to be uploaded under a name."""

    name: str
    path: Path
    identifier: str | None
    dialect: Mapping[str, Any]

    @property
    def format(self) -> str:
        """The upload format that the file's suffix says."""
        try:
            return _FORMATS[self.path.suffix.lower()]
        except KeyError:
            raise InvalidInput.of(
                str(self.path),
                "unknown-format",
                f"The suffix of {self.path.name} names no format.",
                f"Use one of {', '.join(_FORMATS)}.",
            ) from None


@dataclass(frozen=True)
class Attribute:
    """A disclosed attribute; ``hierarchy`` is a file, a definition, or None for the flat one.

    ``has_weight`` says that the weight was given, and is not the usual one.
    """

    name: str
    declaration: Json
    hierarchy: Path | Json | None
    weight: float | str
    proposed_level: int
    has_weight: bool = False

    @property
    def hierarchy_name(self) -> str:
        """The name that the hierarchy is created under."""
        return self.name.replace("_", "-")


@dataclass(frozen=True)
class Journey:
    """All that the demonstration needs to know."""

    dataset: TableFile
    dictionary: TableFile
    attributes: tuple[Attribute, ...]
    links: tuple[Json, ...]
    lookups: tuple[TableFile, ...]
    family: str
    utility_floor: float | None


def load_journey(path: Path, dataset: Path | None = None, dictionary: Path | None = None) -> Journey:
    """Read a journey file; ``dataset`` and ``dictionary`` replace the tables that it names.

    Raises
    ------
    InvalidInput
        If the file cannot be read or lacks a member; the pointer names the place.
    """
    document = Section(read_tables_file(path), "")
    document.only("dataset", "dictionary", "dictionaries", "sensitivity", "optimisation")
    data, side = document.section("dataset"), document.section("dictionary")
    links, lookups = links_of(side.section("links"), path.parent)
    sensitivity = document.section("sensitivity", required=False)
    optimisation = document.section("optimisation", required=False)
    return Journey(
        dataset=table_of(data, path.parent, dataset, also=("attributes",)),
        dictionary=table_of(side, path.parent, dictionary, also=("links",)),
        attributes=attributes_of(data.section("attributes"), path.parent),
        links=links,
        lookups=lookups,
        family=sensitivity.only("family").get("family", "multiplicative"),
        utility_floor=optimisation.only("utility_floor").get("utility_floor"),
    )


def check_tables(tables: Iterable[TableFile], attributes: Iterable[Attribute]) -> None:
    """InvalidInput for tables of unknown format, OSError for tables and hierarchies that cannot be read."""
    files = [own.hierarchy for own in attributes if isinstance(own.hierarchy, Path)]
    for table in tables:
        _ = table.format
        files.append(table.path)
    for path in files:
        with path.open("rb"):
            pass


class Section:
    """A table of the file, which knows where it stands."""

    def __init__(self, content: object, pointer: str) -> None:
        if not isinstance(content, dict):
            raise InvalidInput.of(
                pointer or "/", "wrong-type", f"{pointer or 'The file'} must be a table of members."
            )
        self.content: Json = content
        self.pointer = pointer

    def section(self, key: str, required: bool = True) -> Section:
        """The table below a key, empty if it may be missing and is; InvalidInput if it may not."""
        content = self.content.get(key, {})
        if required and key not in self.content:
            raise self._missing(key)
        return Section(content, f"{self.pointer}/{key}")

    def text(self, key: str) -> str:
        """The text at a key; InvalidInput if there is none."""
        if key not in self.content:
            raise self._missing(key)
        if not isinstance(self.content[key], str):
            raise InvalidInput.of(
                f"{self.pointer}/{key}", "wrong-type", f"{self.pointer}/{key} must be a text."
            )
        return str(self.content[key])

    def _missing(self, key: str) -> InvalidInput:
        place = f"{self.pointer}/{key}"
        return InvalidInput.of(place, "missing", f"The journey file lacks {place}.", "Add it.")

    def only(self, *keys: str) -> Json:
        """The members, none of which may be another than these."""
        unknown = sorted(self.content.keys() - set(keys))
        if unknown:
            raise InvalidInput.of(
                f"{self.pointer}/{unknown[0]}",
                "unknown-member",
                f"{self.pointer or 'The file'} has no member {unknown[0]!r}.",
                f"Allowed are {', '.join(keys)}.",
            )
        return self.content


def read_tables_file(path: Path) -> object:
    """What the file holds; InvalidInput if it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8")
        return json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise InvalidInput.of(str(path), "unreadable", f"{path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise InvalidInput.of(str(path), "malformed", f"{path} cannot be parsed: {error}.") from error


def table_of(section: Section, folder: Path, instead: Path | None, also: tuple[str, ...]) -> TableFile:
    """The table that a section describes, or the file ``instead`` as described there."""
    content = section.only("name", "file", "identifier", *_DIALECT, *also)
    return TableFile(
        name=section.text("name"),
        path=instead or folder / section.text("file"),
        identifier=content.get("identifier"),
        dialect={key: content[key] for key in _DIALECT if key in content},
    )


def attributes_of(sections: Section, folder: Path) -> tuple[Attribute, ...]:
    """The disclosed attributes."""
    if not sections.content:
        raise InvalidInput.of(sections.pointer, "empty", "The journey discloses no attribute.", "Name one.")
    attributes = []
    for name in sections.content:
        content = sections.section(name).only(
            "role", "type", "hierarchy", "on_unknown", "weight", "proposed_level"
        )
        declaration = {
            "name": name,
            "type": content.get("type", "categorical"),
            "role": content.get("role", "quasi_identifier"),
        }
        if "on_unknown" in content:
            declaration["on_unknown"] = content["on_unknown"]
        hierarchy = content.get("hierarchy")
        attributes.append(
            Attribute(
                name=name,
                declaration=declaration,
                hierarchy=folder / hierarchy if isinstance(hierarchy, str) else hierarchy,
                weight=content.get("weight", 1.0),
                proposed_level=content.get("proposed_level", 0),
                has_weight="weight" in content,
            )
        )
    return tuple(attributes)


def declared(table: TableFile, attributes: Sequence[Attribute], hierarchies: Mapping[str, str]) -> list[Json]:
    """The columns of a dataset as the service takes them; ``hierarchies``: attribute → name of its own."""
    identifiers = [] if table.identifier is None else [table.identifier]
    return [
        *({"name": name, "type": "text", "role": "identifier"} for name in identifiers),
        *(with_hierarchy(own.declaration, own.name, hierarchies) for own in attributes),
    ]


def with_hierarchy(stated: Json, attribute: str, hierarchies: Mapping[str, str]) -> Json:
    """What is stated of an attribute, with the name of its hierarchy if it has one."""
    return stated | ({"hierarchy": hierarchies[attribute]} if attribute in hierarchies else {})


def harm_of(attributes: Sequence[Attribute], family: str) -> Json:
    """A sensitivity profile by the attributes' weights, but for its name and its dataset."""
    weights = {own.name: {"leaves": own.weight, "inner": "harmonic"} for own in attributes}
    return {"family": family, "attributes": weights}


def links_of(sections: Section, folder: Path) -> tuple[tuple[Json, ...], tuple[TableFile, ...]]:
    """A dictionary's links as the service takes them, without hierarchies, and the tables they look up in."""
    links, lookups = [], []
    for name in sections.content:
        section = sections.section(name)
        content = section.only("column", "lookup", "reference_date")
        transform: Json = {"kind": "identity"}
        if "lookup" in content:
            lookup = section.section("lookup")
            lookup.only("file", "key", "value")
            table = folder / lookup.text("file")
            lookups.append(TableFile(table.name.split(".")[0], table, None, {}))
            transform = {
                "kind": "lookup",
                "upload": lookups[-1].name,
                "key": lookup.text("key"),
                "value": lookup.text("value"),
            }
        elif "reference_date" in content:
            transform = {"kind": "age", "reference_date": str(content["reference_date"])}
        links.append({"attribute": name, "column": section.text("column"), "transform": transform})
    return tuple(links), tuple(lookups)
