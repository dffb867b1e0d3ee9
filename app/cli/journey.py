"""A journey file: which tables, columns, hierarchies, links and weights the demonstration works with.

TOML, or JSON of the same structure. Paths are relative to the file. Every member of the file::

    [dataset]                              name, file, identifier?, and a dialect: delimiter?, quote?,
                                           encoding?, header?, trim?, missing?, sheet?, leading_zeros?,
                                           rows_are? (persons)
    [dataset.attributes.NAME]              role? (quasi_identifier), type? (categorical), format?,
                                           on_unreadable?, hierarchy? (flat), on_unknown?, on_missing?,
                                           weight? (1), proposed_level? (0)
        hierarchy                          a file in the CSV form, separated by semicolons, or the
                                           definition of a builder
    [release]                              delimiter?, encoding?: how the file of a release is written, where
                                           that is not as [dataset] says – for anonymise and gate
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

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from app.cli.described_columns import Attribute, attributes_of
from app.cli.tables_file import Json, Section, read_tables_file
from app.domain.errors import InvalidInput

_DIALECT: Final = ("delimiter", "quote", "encoding", "header", "trim", "missing", "sheet", "leading_zeros")
FORMATS = ("csv", "csv.gz", "parquet", "arrow", "xlsx")
"""What the service reads."""

_MOST_IN_NAME: Final = 80
_FORMATS: Final = {
    ".csv": "csv",
    ".gz": "csv.gz",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".xlsx": "xlsx",
}


@dataclass(frozen=True)
class TableFile:
    """A table to be uploaded under a name; ``place`` is where a file describes it, if one does."""

    name: str
    path: Path
    identifier: str | None
    dialect: Mapping[str, Any]
    place: str | None = field(default=None, compare=False)

    @property
    def format(self) -> str:
        """The upload format that the file's suffix says."""
        return format_of(self.path)


def format_of(path: Path) -> str:
    """The upload format that the file's suffix says; InvalidInput if it says none."""
    try:
        return _FORMATS[path.suffix.lower()]
    except KeyError:
        raise InvalidInput.of(
            str(path),
            "unknown-format",
            f"The suffix of {path.name} names no format.",
            f"Use one of {', '.join(_FORMATS)}.",
        ) from None


def resource_name(text: str) -> str:
    """A name that the service takes."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", text)[:_MOST_IN_NAME] or "table"


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
    document = read_tables_file(path)
    document.only("dataset", "release", "dictionary", "dictionaries", "sensitivity", "optimisation")
    data, side = document.section("dataset"), document.section("dictionary")
    links, lookups = links_of(side.section("links"), path.parent)
    sensitivity = document.section("sensitivity", required=False)
    optimisation = document.section("optimisation", required=False)
    return Journey(
        dataset=table_of(data, path.parent, dataset, also=("attributes", "rows_are")),
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


def table_of(section: Section, folder: Path, instead: Path | None, also: tuple[str, ...]) -> TableFile:
    """The table that a section describes, or the file ``instead`` as described there."""
    section.only("name", "file", "identifier", *_DIALECT, *also)
    return TableFile(
        name=section.text("name"),
        path=instead or folder / section.text("file"),
        identifier=section.optional("identifier"),
        dialect=_dialect_of(section),
        place=section.pointer,
    )


def _dialect_of(section: Section) -> Json:
    """How the table is read, of what is said; InvalidInput for what cannot be meant."""
    for key in ("delimiter", "quote", "encoding"):
        section.optional(key)
    missing = section.content.get("missing", [""])
    if not isinstance(missing, list) or not all(isinstance(own, str) for own in missing):
        raise section.wrong("missing", "missing lists texts.", 'Write missing = ["", "NA"].')
    if not missing:
        raise section.wrong(
            "missing",
            "missing lists no text.",
            "Leave it out: empty cells are missing then; or list a text that no cell holds, and none is.",
        )
    return {key: section.content[key] for key in _DIALECT if key in section.content}


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
    weights = {
        own.name: {"leaves": own.weight, "inner": "harmonic"}
        for own in attributes
        if own.declaration["role"] not in ("weight", "person")
    }
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
