"""``profile``: the whole risk profile of a table, by one call to a service, embedded or running."""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from app.cli.files import file_sha256, stored_name
from app.cli.gate_tables import Tables
from app.cli.given_tables import GivenTable, given_table
from app.cli.journey import FORMATS, TableFile, resource_name
from app.cli.operations import Operations
from app.cli.profile_text import Profiled, profile_text
from app.cli.shared_arguments import (
    PERSON_WAYS,
    READING,
    add_json_argument,
    add_one_row_arguments,
    add_reading_arguments,
    add_server_argument,
    add_table_argument,
    add_tables_argument,
    add_workbook_arguments,
    date_formats_said,
    dialect_said,
    one_row_of,
    pair,
    require_one_description,
    workbook_said,
)
from app.cli.table_alone import NotHere, client_of_table, is_small
from app.cli.table_header import require_described, unknown_columns
from app.cli.table_pieces import proposed_dialect
from app.cli.tables_file import Json
from app.domain.errors import InvalidInput
from privacy_risk import Client, Resource
from privacy_risk.doubts import as_said, formats_told, require_decided
from privacy_risk.persons import rows_told
from privacy_risk.spellings import spellings_notes


@dataclass(frozen=True)
class Question:
    """The table to look at, and what is said of its columns; what is left out is proposed by the service.

    ``shown`` is what the table is called; one that is ``described`` has nothing else said of it.
    """

    table: TableFile
    shown: str
    described: Tables | None
    format: str
    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...]
    identifier: str | None
    hierarchies: Mapping[str, Path]
    hierarchy_pattern: str | None
    levels: Mapping[str, int]
    measure: Json
    one_row: Json | None = None
    person: str | None = None
    rows_are: str | None = None
    date_formats: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def named(self) -> tuple[str, ...]:
        """The columns of which something is said."""
        named = [own for own in (self.identifier, self.person) if own is not None]
        said = (*self.hierarchies, *self.levels, *self.date_formats)
        return (*self.quasi_identifiers, *self.sensitive, *named, *said)


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "profile",
        description="Measure all models of a table's quasi-identifiers and sensitive attributes by one call, "
        "and print what was found. A service that is running is asked; without one a small table is measured "
        "by the command itself, and for any other a service is started and stopped again. What is not said "
        "about the columns is proposed, and the answer names what was.",
    )
    add_table_argument(parser)
    add_tables_argument(parser)
    _add_column_arguments(parser)
    judging = parser.add_argument_group("judging")
    judging.add_argument(
        "--level",
        nargs="+",
        default=[],
        metavar="NAME=LEVEL",
        help="judge the table generalised to these levels; without any as it is",
    )
    judging.add_argument(
        "--missing", choices=("own_category", "matches_everything", "excluded"), default="own_category"
    )
    add_server_argument(parser)
    add_json_argument(parser)
    parser.set_defaults(run=run)


def _add_column_arguments(parser: argparse.ArgumentParser) -> None:
    """What the columns are, and how the file is read."""
    roles = parser.add_argument_group("columns")
    roles.add_argument(
        "--quasi-identifiers", nargs="+", default=[], metavar="NAME", help="what others may know of a person"
    )
    roles.add_argument(
        "--sensitive", nargs="+", default=[], metavar="NAME", help="what others must not learn"
    )
    add_one_row_arguments(roles)
    roles.add_argument("--identifier", metavar="NAME", help="column that numbers the records, one row each")
    roles.add_argument(
        "--hierarchy",
        nargs="+",
        default=[],
        metavar="NAME=FILE",
        help="hierarchy of a column: a line per value, from the value to its most general one, by semicolons",
    )
    roles.add_argument(
        "--hierarchies",
        metavar="PATTERN",
        help="the same for all columns that have such a file: dir/h_{}.csv",
    )
    reading = add_reading_arguments(parser)
    reading.add_argument("--format", choices=FORMATS, help="instead of what the file's suffix says")
    add_workbook_arguments(reading)


def run(arguments: argparse.Namespace, operations: Operations) -> int:
    """Profile the table; 0 once it is measured."""
    with given_table(arguments, arguments.table, arguments.tables) as given:
        question = _question(arguments, given)
        table = question.table
        if question.described is not None:
            require_described(table, question.described.attributes)
        profiled = _profiled(arguments.server, question, operations)
    if arguments.json:
        document = {
            "table": question.shown,
            "notes": profiled.notes,
            "quasi_identifiers": profiled.quasi_identifiers,
            "sensitive": profiled.sensitive,
            "left_aside": profiled.left_aside,
            "unreadable": profiled.unreadable,
            "proposed": profiled.proposed,
            "levels": question.levels,
            "seconds": {name: round(seconds, 6) for name, seconds in profiled.seconds.items()},
            "result": profiled.result,
        }
        print(json.dumps(document, ensure_ascii=False))
    else:
        print(profile_text(Path(question.shown).name, profiled))
    return 0


def _profiled(server: str | None, question: Question, operations: Operations) -> Profiled:
    """The profile by a service that runs, or in this process where that can tell it, or else by a service."""
    if server is None and is_small(question.table.path) and operations.running_service() is None:
        with suppress(NotHere), client_of_table() as client:
            return Profiling(client, question, {"service": 0.0}).run()
    # Imported here: a table that is measured in this process needs nothing of it.
    from app.cli.gate_service import service_client

    start = time.perf_counter()
    with service_client(server, operations) as client:
        started = time.perf_counter() - start
        return Profiling(client, question, {"service": started}).run()


@dataclass
class Profiling:
    """Loads one table with one client and measures it."""

    client: Client
    question: Question
    seconds: dict[str, float] = field(default_factory=dict)

    def run(self) -> Profiled:
        """All steps, the last of which is the one call that measures."""
        question = self.question
        if question.described is not None:
            return self._described(question.described)
        with self._step("upload"):
            table, dialect = question.table, dict(question.table.dialect)
            content = {"sha256": file_sha256(table.path), "format": question.format, **dialect}
            name = stored_name(table.name, content)
            upload = self.client.uploads.create_from(name, table.path, question.format, **dialect).name
            upload, notes = self._one_row(upload)
        proposal, doubts = as_said(self.client.uploads.propose_schema(upload), question.date_formats)
        declared, left_aside = _declared(question, proposal)
        taken = {own["name"] for own in declared if own["name"] not in question.hierarchies}
        require_decided(own for own in doubts if own["column"] in taken)
        with self._step("hierarchies"):
            self._create_hierarchies(declared)
        with self._step("dataset"):
            body: Json = {"upload": upload, "attributes": declared}
            body |= {} if question.rows_are is None else {"rows_are": question.rows_are}
            dataset = self.client.datasets.create({"name": stored_name(table.name, body), **body})
        found = self._measured(dataset, declared, left_aside, is_proposed=not question.quasi_identifiers)
        told = (*notes, *question.notes, *formats_told(declared))
        return replace(found, notes=(*found.notes, *told))

    def _one_row(self, upload: str) -> tuple[str, tuple[str, ...]]:
        """The upload that is measured, and what is said of how it was made, if it was."""
        if self.question.one_row is None:
            return upload, ()
        body = {"name": f"{upload}-persons", **self.question.one_row}
        made = self.client.uploads.one_row_per_person(upload, body)
        return made.name, tuple(made.document["notes"])

    def _described(self, tables: Tables) -> Profiled:
        with self._step("dataset"):
            # Imported here: tables that nothing describes need nothing of it.
            from app.cli.gate_loading import Loading

            dataset = Loading(self.client).dataset(tables)
        declared = [own.declaration for own in tables.attributes]
        return self._measured(dataset, declared, {}, is_proposed=False)

    def _measured(
        self, dataset: Resource, declared: Sequence[Json], left_aside: Mapping[str, str], *, is_proposed: bool
    ) -> Profiled:
        question = self.question
        body: Json = {"name": f"{dataset.name}-profile", "dataset": dataset.name}
        body |= {"measure": {"kind": "privacy_profile", "singled_out": True, **question.measure}}
        if question.levels:
            body["rule"] = {"kind": "table_level", "levels": dict(question.levels)}
        with self._step("profile"):
            result = dict(self.client.measurements.answer(body).document["result"])
        return Profiled(
            _of_role(declared, "quasi_identifier"),
            _of_role(declared, "sensitive"),
            left_aside,
            is_proposed,
            result,
            self.seconds,
            {
                own["name"]: f"cells that are no {own['type']} and count as missing: {own['unreadable']:,}"
                for own in dataset.document.get("attributes", ())
                if own.get("unreadable")
            },
            (
                rows_told(dataset.document, self.client.datasets.profile(dataset.name, limit=1), PERSON_WAYS),
                *spellings_notes(self.client, dataset.document),
            ),
        )

    @contextmanager
    def _step(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - start

    def _create_hierarchies(self, declared: Sequence[Json]) -> None:
        """Create the hierarchies that there are files for, and name them in the declarations."""
        question = self.question
        for number, attribute in enumerate(declared, start=1):
            path = question.hierarchies.get(attribute["name"])
            if path is None and question.hierarchy_pattern is not None:
                found = Path(question.hierarchy_pattern.replace("{}", attribute["name"]))
                path = found if found.is_file() else None
            if path is not None and attribute["role"] != "identifier":
                content = path.read_bytes()
                name = stored_name(f"{number}-{attribute['name']}", hashlib.sha256(content).hexdigest())
                attribute["hierarchy"] = self.client.hierarchies.create_from_csv(name, content).name
                # The file lists the cells as they stand in the table, not as they would be read.
                if attribute.pop("format", None) is not None:
                    attribute["type"] = "categorical"
                attribute.pop("on_unreadable", None)


def _declared(question: Question, proposal: Sequence[Json]) -> tuple[list[Json], dict[str, str]]:
    """The schema's columns, and why others are left aside; InvalidInput for columns that are not there."""
    columns = [column["name"] for column in proposal]
    asked = {
        **dict.fromkeys(question.quasi_identifiers, "quasi_identifier"),
        **dict.fromkeys(question.sensitive, "sensitive"),
    }
    if question.identifier is not None:
        asked[question.identifier] = "identifier"
    asked |= {} if question.person is None else {question.person: "person"}
    unknown = [name for name in dict.fromkeys(question.named) if name not in columns]
    if unknown:
        raise unknown_columns(unknown, columns)
    declared, left_aside = [], {}
    for column in proposal:
        name, role = column["name"], column["role"]
        if question.quasi_identifiers or name in asked:
            role = asked.get(name, "other")
        if role == "other":
            left_aside[name] = "not named" if question.quasi_identifiers else column["reason"]
        else:
            type_ = "text" if role in ("identifier", "person") else column["type"]
            reading = _reading(column, type_)
            declared.append({"name": name, "type": type_, "role": role, **reading})
    return declared, left_aside


def _reading(column: Json, type_: str) -> Json:
    """How the cells are read: as proposed, and what is of another type further down counts as missing."""
    if type_ not in ("number", "date"):
        return {}
    proposed = {"format": column.get("format")} if column.get("format") is not None else {}
    return {**proposed, "on_unreadable": "missing"}


def _of_role(declared: Sequence[Json], role: str) -> tuple[str, ...]:
    return tuple(column["name"] for column in declared if column["role"] == role)


def _format_by_suffix(table: TableFile) -> str:
    """The format that the suffix says; the error names the option beside the suffixes."""
    try:
        return table.format
    except InvalidInput as error:
        raise InvalidInput(
            [replace(fault, remedy=f"{fault.remedy.rstrip('.')}, or say --format.") for fault in error.faults]
        ) from None


def _question(arguments: argparse.Namespace, given: GivenTable) -> Question:
    """The question; InvalidInput for what cannot be read or does not fit together."""
    one_row = one_row_of(arguments)
    if given.tables is not None:
        return _described_question(arguments, given, given.tables)
    path = given.path
    table = TableFile(resource_name(path.name.split(".")[0]), path, arguments.identifier, {})
    format_ = arguments.format or _format_by_suffix(table)
    read = proposed_dialect(path, format_, {**dialect_said(arguments), **workbook_said(arguments)})
    require_decided(map(vars, read.doubts))
    dialect = {name: "" if value is None else value for name, value in vars(read.dialect).items()}
    table = replace(table, dialect=dialect)
    both = sorted(set(arguments.quasi_identifiers) & set(arguments.sensitive))
    if both:
        raise InvalidInput.of(
            "--sensitive", "two-roles", f"{both[0]!r} is named both a quasi-identifier and sensitive.",
            "Name it once.",
        )  # fmt: skip
    pairs = (pair("--hierarchy", text) for text in arguments.hierarchy)
    hierarchies = {name: Path(file) for name, file in pairs}
    for file in hierarchies.values():
        if not file.is_file():
            raise InvalidInput.of(str(file), "unreadable", f"There is no file {file}.")
    asked = Question(
        table,
        given.shown,
        None,
        format_,
        tuple(arguments.quasi_identifiers),
        tuple(arguments.sensitive),
        arguments.identifier or (None if one_row is None else one_row["person"]),
        hierarchies,
        arguments.hierarchies,
        {name: _level(level) for name, level in (pair("--level", own) for own in arguments.level)},
        {"missing": arguments.missing},
        one_row,
        arguments.person,
        "persons" if one_row and not arguments.person else arguments.rows_are,
        date_formats_said(arguments),
        read.notes,
    )
    unknown = [name for name in dict.fromkeys(asked.named) if read.columns and name not in read.columns]
    if unknown:
        raise unknown_columns(unknown, read.columns)
    return asked


def _described_question(arguments: argparse.Namespace, given: GivenTable, tables: Tables) -> Question:
    """The question about a table of which a file says everything; InvalidInput for options that do, too."""
    require_one_description(arguments, ("quasi_identifiers", "sensitive", "identifier", "hierarchy", "person",
                "rows_are", "hierarchies", "format", *READING))  # fmt: skip
    names = tuple(own.name for own in tables.attributes)
    return Question(
        tables.dataset,
        given.shown,
        tables,
        tables.dataset.format,
        names,
        (),
        tables.dataset.identifier,
        {},
        None,
        {name: _level(level) for name, level in (pair("--level", own) for own in arguments.level)},
        {"missing": arguments.missing},
    )


def _level(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,3}", text):
        raise InvalidInput.of("--level", "malformed", f"{text!r} is no level.", "Levels are 0, 1, 2, ….")
    return int(text)
