"""Views to be judged as the command line names them: files of a pattern, or the models of a dbt project."""

from __future__ import annotations

import argparse
import glob
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from app.cli.described_faults import told_at
from app.cli.structured_files import read_structured
from app.cli.tables_file import Json
from app.domain.errors import Fault, InvalidInput, refuse

if TYPE_CHECKING:
    from app.services.views.sql.inlining import WrittenOut

MOST_VIEWS: Final = 1_000
MOST_CHARACTERS: Final = 20_000
"""Of a view's query."""
MOST_CHARACTERS_OF_A_SCHEMA: Final = 200_000
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_WILD: Final = re.compile(r"[*?\[]")
_PLACE: Final = re.compile(r"Line ([0-9]+), column ([0-9]+): ")


@dataclass(frozen=True)
class Place:
    """A file, and a line in it."""

    path: str
    line: int


@dataclass(frozen=True)
class GivenView:
    """A view, and where its lines are written."""

    id: str
    query: str
    path: str
    origins: Sequence[tuple[int, int, Place]] = ()
    """First and last line of the query, and where the first of them is written; none: in its own file."""
    reads: Mapping[str, int] = field(default_factory=dict)
    """For the file of each view that it reads, the line of its own file that leads there."""

    def written_at(self, line: int) -> Place:
        """Where a line of the query is written."""
        for first, last, place in self.origins:
            if first <= line <= last:
                return replace(place, line=place.line + line - first)
        return Place(self.path, line)

    def own_place(self, line: int) -> Place:
        """The line of the view's own file that leads to a line of the query."""
        place = self.written_at(line)
        return place if place.path == self.path else Place(self.path, self.reads.get(place.path, 1))


@dataclass(frozen=True)
class GivenViews:
    """The schema and the views of a request, and the files that they are from."""

    shown: str
    schema: Json | str
    """The schema, or the name of one that the server holds."""
    schema_path: str
    views: tuple[GivenView, ...]
    keeping: tuple[str, ...] = ()
    """Ids of those whose tables may keep rows that their queries no longer return."""

    @property
    def body(self) -> Json:
        """The subject of a request."""
        views = [
            {"id": own.id, "query": own.query, **({"keeps_rows": True} if own.id in self.keeping else {})}
            for own in self.views
        ]
        return {"relational_schema": self.schema, "views": views}

    def view(self, id_: str) -> GivenView | None:
        """The view of this id."""
        return next((own for own in self.views if own.id == id_), None)

    @contextmanager
    def told(self) -> Iterator[None]:
        """Raise InvalidInput for a problem with a view or with the schema: by its file, line and column."""
        places = {"/relational_schema/sql": self.schema_path, "/relational_schema": self.schema_path}
        views = {f"/views/{number}": own for number, own in enumerate(self.views)}
        try:
            with told_at(places | {place: place for place in views}):
                yield
        except InvalidInput as error:
            raise InvalidInput([_told(own, views) for own in error.faults]) from error


def add_view_arguments(parser: argparse._ActionsContainer) -> None:
    """Declare the options by which views are named."""
    parser.add_argument(
        "--views",
        metavar="PATTERN|MANIFEST",
        help="instead of data: SQL files, one view each, such as 'models/**/*.sql' (in quotes), or the "
        "manifest.json of a dbt project",
    )
    parser.add_argument(
        "--relational-schema",
        metavar="FILE|NAME",
        help="the tables that the views read: CREATE TABLE statements (.sql), YAML or JSON, or a relational "
        "schema of the server",
    )
    parser.add_argument(
        "--catalog",
        type=Path,
        metavar="FILE",
        help="the catalog.json of the dbt project, in place of --relational-schema: no key is assumed",
    )


def given_views(arguments: argparse.Namespace) -> GivenViews | None:
    """The views that are named; None if none are. InvalidInput for what cannot be read or is no view."""
    if arguments.views is None:
        for option in ("relational_schema", "catalog", "changed_since"):
            if getattr(arguments, option, None) is not None:
                name = f"--{option.replace('_', '-')}"
                raise InvalidInput.of(name, "needs-views", f"{name} belongs to views.", "Add --views.")
        return None
    of_data = (
        "dataset", "dataset_id", "tables", "query", "address", "rule", "release", "stored_release", "key",
        "order", "dictionary", "sensitivity", "failure", "person", "rows_are", "original", "holdout",
    )  # fmt: skip
    for name in of_data:
        if getattr(arguments, name, None):
            option = "--from" if name == "address" else f"--{name.replace('_', '-')}"
            raise InvalidInput.of(
                option, "two-subjects", f"Views are judged by their queries: {option} is about data.",
                f"Leave {option} out, or --views.",
            )  # fmt: skip
    is_held = getattr(arguments, "server", None) is not None
    if arguments.views.endswith(".json") and not _WILD.search(arguments.views):
        # Manifests are read with the parser of SQL, which nothing else loads here.
        from app.cli.dbt_manifest import dbt_views

        return dbt_views(Path(arguments.views), arguments.relational_schema, arguments.catalog, is_held)
    if arguments.catalog is not None:
        raise InvalidInput.of(
            "--catalog", "needs-manifest", "--catalog belongs to the manifest of a dbt project.",
            "Name its manifest.json by --views, or give --relational-schema.",
        )  # fmt: skip
    if arguments.relational_schema is None:
        raise InvalidInput.of(
            "--relational-schema", "missing", "Nothing says which tables the views read.",
            "Give a file of CREATE TABLE statements.",
        )  # fmt: skip
    schema = schema_of(arguments.relational_schema, is_held)
    views = _of_files(arguments.views, schema)
    if not isinstance(schema, str):
        views = _without_views(views)
    return GivenViews(arguments.views, schema, arguments.relational_schema, views)


def schema_of(named: str, is_held: bool) -> Json | str:
    """The relational schema of a file, or the name of one that a server holds."""
    # What names files and stored things is loaded with all questions, of which these are one.
    from app.cli.gate_question import file_or_name

    found = file_or_name(named, "--relational-schema", is_held)
    if isinstance(found, str):
        return found
    if found.suffix.lower() != ".sql":
        return read_structured(found)
    return {"sql": text_of(found, MOST_CHARACTERS_OF_A_SCHEMA)}


def text_of(path: Path, most: int) -> str:
    """A file's text; InvalidInput, with line and column, for one that is none, is empty or is too long."""
    try:
        with path.open("rb") as file:
            content = file.read(4 * most + 4)
    except OSError as error:
        raise InvalidInput.of(str(path), "unreadable", f"{path} cannot be read: {error.strerror}.") from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if len(content) > 4 * most:
            raise _too_long(path, most) from None
        before = content[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        message = f"Line {line}, column {column}: the file is no text in UTF-8."
        raise InvalidInput.of(str(path), "malformed", message, "Save it in UTF-8.") from error
    if len(text) > most:
        raise _too_long(path, most)
    if not text.strip():
        raise InvalidInput.of(str(path), "empty", "Line 1, column 1: the file is empty.", "Write the query.")
    return text


def _too_long(path: Path, most: int) -> InvalidInput:
    return InvalidInput.of(
        str(path), "too-large", f"The file has more than {most:,} characters.", "Write it in parts."
    )


def _of_files(pattern: str, schema: Json | str) -> tuple[GivenView, ...]:
    """A view per file that the pattern names."""
    parts = Path(pattern).parts
    plain = next((number for number, part in enumerate(parts) if _WILD.search(part)), len(parts) - 1)
    base = Path(*parts[:plain])
    named = map(Path, glob.glob(pattern, recursive=True, include_hidden=True))
    found = sorted(path for path in named if not path.is_dir())
    if not found:
        raise InvalidInput.of(
            "--views", "no-views", f"No file is named by {pattern}: nothing would be judged.",
            "Write the pattern in quotes, such as 'models/**/*.sql'.",
        )  # fmt: skip
    if len(found) > MOST_VIEWS:
        raise InvalidInput.of(
            "--views", "too-many-views", f"{pattern} names more than {MOST_VIEWS:,} files.",
            "Judge parts of the folder: views that are private one by one are so together.",
        )  # fmt: skip
    tables = _tables(schema)
    views: dict[str, GivenView] = {}
    faults: list[Fault] = []
    for path in found:
        try:
            own = _of_file(path, base, tables)
            if own.id in views:
                raise InvalidInput.of(
                    str(path), "duplicate-id", f"{path} and {views[own.id].path} are both called {own.id}.",
                    "Rename one of the two.",
                )  # fmt: skip
            views[own.id] = own
        except InvalidInput as error:
            faults += error.faults
    refuse(faults)
    return tuple(views.values())


def _without_views(views: Sequence[GivenView]) -> tuple[GivenView, ...]:
    """The views over tables alone: those that read others of them with the queries of these in front.

    What is no SQL is left as it is: a policy may be about queries in Datalog, and else tells what is wrong.
    """
    from app.services.views.sql.inlining import view_of_file, written_out

    paths = {own.id: own.path for own in views}
    named = []
    for own in views:
        with suppress(InvalidInput):
            named.append(view_of_file(own.id, own.query, tuple(own.id.lower().split(".")), "postgres"))
    try:
        found = written_out(named, "postgres")
    except InvalidInput as error:
        places = {f"/views/{number}": paths[own.id] for number, own in enumerate(named)}
        faults = (
            replace(own, pointer=places.get(own.pointer.removesuffix("/query"), "--views"))
            for own in error.faults
        )
        raise InvalidInput(list(faults)) from None
    return tuple(
        given_view(own.id, found[own.id], paths) if own.id in found and found[own.id].reads else own
        for own in views
    )


def given_view(id_: str, found: WrittenOut, paths: Mapping[str, str]) -> GivenView:
    """A view that is written out; ``paths``: of each view the file that its lines are in."""
    origins = [(own.first, own.last, Place(paths[own.view], own.own_first)) for own in found.origins]
    reads = {paths[view]: line for view, line in found.reads.items()}
    return GivenView(id_, found.query, paths[id_], origins, reads)


def _of_file(path: Path, base: Path, tables: Mapping[str, str]) -> GivenView:
    if not path.resolve().is_relative_to(base.resolve()):
        raise InvalidInput.of(
            str(path), "outside", f"{path} is a link to a file outside of {base}.",
            "Put the file itself there, or name its own folder.",
        )  # fmt: skip
    id_ = ".".join(path.relative_to(base).with_suffix("").parts)
    if _ID.fullmatch(id_) is None:
        raise InvalidInput.of(
            str(path), "invalid-name", f"{path} gives no name for a view: {id_!r}.",
            "File names have ASCII letters, digits, '.', '_' and '-'.",
        )  # fmt: skip
    table = tables.get(path.stem.casefold())
    if table is not None:
        raise InvalidInput.of(
            str(path), "named-as-table", f"{path} is called like the table {table!r} of the schema.",
            "If the table holds what the view shows, take it out of the schema; else rename the file.",
        )  # fmt: skip
    return GivenView(id_, text_of(path, MOST_CHARACTERS), path.as_posix())


def _tables(schema: Json | str) -> dict[str, str]:
    """The tables of a schema, as names are compared.

    None if it cannot be read, which is told later, and of a server's, which compares the names itself.
    """
    from app.services.views.sql.tables import read_tables

    if isinstance(schema, str):
        return {}

    relations = schema.get("relations")
    names = list(relations) if isinstance(relations, Mapping) else []
    if isinstance(schema.get("sql"), str):
        try:
            names = list(read_tables(schema["sql"], "postgres").definitions)
        except InvalidInput:
            names = []
    return {str(name).casefold(): str(name) for name in names}


def _told(fault: Fault, views: Mapping[str, GivenView]) -> Fault:
    """The fault by the file of the view, with the line and column that are of that file."""
    start = "/".join(fault.pointer.split("/")[:3])
    view = views.get(start)
    if view is None:
        return fault
    named = _PLACE.search(fault.message)
    if named is None:
        return replace(fault, pointer=view.path)
    place = view.written_at(int(named[1]))
    message = fault.message.replace(named[0], f"Line {place.line}, column {named[2]}: ", 1)
    if place.path != view.path:
        message = f"{message} {view.path} reads it."
    return replace(fault, pointer=place.path, message=message)
