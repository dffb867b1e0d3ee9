"""The files that a gate judges, described as the demonstration's journey files describe them.

Without a description the policy's own schema says what the columns are and how they are read; where it does
not, each is categorical, with the hierarchy that only knows the value and its absence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from app.cli.described_columns import Attribute, attributes_of
from app.cli.journey import TableFile, links_of, table_of
from app.cli.table_header import unknown_columns
from app.cli.tables_file import Json, Section, read_tables_file
from app.domain.errors import InvalidInput
from privacy_risk.release_policy import file_of, hierarchies_of, readings_of

THE_DICTIONARY: Final = ""
"""The slot that ``[dictionary]`` stands for: every one that has no section of its own."""


@dataclass(frozen=True)
class Linked:
    """How a dictionary's columns belong to the dataset's; ``path`` is None if the file is named elsewhere."""

    name: str
    path: Path | None
    identifier: str | None
    dialect: Json
    links: tuple[Json, ...]
    lookups: tuple[TableFile, ...]


@dataclass(frozen=True)
class Tables:
    """The dataset's columns with their weights, the dictionaries by slot, and what a release's file is."""

    dataset: TableFile
    attributes: tuple[Attribute, ...]
    dictionaries: Mapping[str, Linked]
    family: str
    release: Json
    """How a release's file is written: as the dataset's own, unless it is said."""
    rows_are: str | None = None


def load_tables(path: Path, dataset: Path | None = None) -> Tables:
    """Read a journey file for the table ``dataset``, or for the one that it names.

    What it says of an optimisation is left aside.

    Raises
    ------
    InvalidInput
        If the file cannot be read or lacks a member; the pointer names the place.
    """
    document = read_tables_file(path)
    document.only("dataset", "release", "dictionary", "dictionaries", "sensitivity", "optimisation")
    data = document.section("dataset")
    table = table_of(data, path.parent, dataset, also=("attributes", "rows_are"))
    dictionaries: dict[str, Linked] = {}
    if "dictionary" in document.content:
        dictionaries[THE_DICTIONARY] = _linked(document.section("dictionary"), path.parent)
    slots = document.section("dictionaries", required=False)
    dictionaries |= {slot: _linked(slots.section(slot), path.parent) for slot in slots.content}
    sensitivity = document.section("sensitivity", required=False)
    return Tables(
        dataset=table,
        attributes=attributes_of(data.section("attributes"), path.parent),
        dictionaries=dictionaries,
        family=sensitivity.only("family").get("family", "multiplicative"),
        release=_release_of(document, table),
        rows_are=data.choice("rows_are", ("persons",), "") if "rows_are" in data.content else None,
    )


def roles_of_policy(policy: Json) -> Mapping[str, object]:
    """Column → role as the policy's schema says; empty if it has no schema of that form."""
    schema = policy.get("schema")
    roles = schema.get("attributes") if isinstance(schema, Mapping) else None
    return roles if isinstance(roles, Mapping) else {}


def tables_of_policy(
    policy: Json,
    dataset: Path,
    folder: Path = Path(),
    dialect: Mapping[str, Any] = MappingProxyType({}),
    *,
    person: str | None = None,
    rows_are: str | None = None,
    date_formats: Mapping[str, str] = MappingProxyType({}),
) -> Tables:
    """The columns as the policy's schema names and reads them, without those that it drops; what a row is.

    A release's file has the dataset's markers of missing values. InvalidInput if the policy names no columns,
    or not one of which a format is said; InvalidArgument for a hierarchy's file that is not in its folder.
    """
    roles = roles_of_policy(policy)
    if not roles:
        raise InvalidInput.of(
            "--tables",
            "missing",
            "Nothing says what the columns of the dataset are: the policy has no schema.",
            "Describe them in a file (python -m app sample DIRECTORY makes one) and give it as --tables.",
        )
    dialect = {**file_of(policy), **dialect}
    roles = {**roles, **({} if person is None else {person: "person"})}
    rows_are = rows_are or policy["schema"].get("rows_are")
    identifiers = [name for name, role in roles.items() if role == "identifier"]
    dates = {name: {"type": "date", "format": written} for name, written in date_formats.items()}
    read = {**readings_of(policy), **dates}
    along = {name: own for name, own in hierarchies_of(policy, folder).items() if name not in dates}
    attributes = tuple(
        Attribute(
            name,
            {
                "type": "categorical",
                **{key: own for key, own in read.get(name, {}).items() if key != "hierarchy"},
                "name": name,
                "role": role,
            },
            along.get(name),
            1.0,
            0,
        )
        for name, role in roles.items()
        if role not in ("identifier", "dropped")
    )
    if unknown := [name for name in dates if name not in roles]:
        raise unknown_columns(unknown, list(roles), dict.fromkeys(unknown, "--date-format"))
    table = TableFile(
        name=dataset.name.split(".")[0],
        path=dataset,
        identifier=next(iter(identifiers), None),
        dialect=dialect,
    )
    release = file_of(policy, "release") | {key: own for key, own in dialect.items() if key == "missing"}
    return Tables(table, attributes, {}, "multiplicative", release, rows_are)


def _release_of(document: Section, table: TableFile) -> Json:
    """How a release's file is written.

    What leaves is looked at as it is written, whatever is done with the dataset's own file.
    """
    as_written = {name: value for name, value in table.dialect.items() if name != "trim"}
    if "release" not in document.content:
        return as_written
    section = document.section("release")
    section.only("delimiter", "encoding")
    said = {key: section.text(key) for key in section.content}
    return said | {name: value for name, value in as_written.items() if name == "missing"}


def _linked(section: Section, folder: Path) -> Linked:
    file = folder / section.text("file") if "file" in section.content else None
    table = table_of(section, folder, file or Path(), also=("links",))
    links, lookups = links_of(section.section("links"), folder)
    return Linked(table.name, file, table.identifier, dict(table.dialect), links, lookups)
