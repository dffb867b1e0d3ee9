"""The models of a dbt project as views: the compiled SQL of its manifest, over the tables that it reads.

Read are manifests of the versions 10 to 12 (dbt 1.6 and later), as
https://docs.getdbt.com/reference/artifacts/manifest-json documents them, of projects for PostgreSQL.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from app.cli.given_views import MOST_VIEWS, GivenViews, given_view, schema_of
from app.cli.tables_file import Json
from app.domain.errors import Fault, InvalidInput, refuse
from app.services.views.sql.inlining import NamedView, written_out

VERSIONS: Final = (10, 11, 12)
MOST_BYTES: Final = 256 * 1024**2
_VERSION: Final = re.compile(r"https://schemas\.getdbt\.com/dbt/(manifest|catalog)/v([0-9]{1,4})\.json")
_TYPE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_ ,()]{0,99}")
_DERIVED: Final = ("model", "snapshot")
"""Nodes that are made by a query; seeds and sources are tables."""
_AGAIN: Final = "Run dbt compile, and name the manifest.json that it writes."


def dbt_views(manifest: Path, schema: str | None, catalog: Path | None, is_held: bool) -> GivenViews:
    """The models of the manifest; InvalidInput for what is none, was not compiled or reads in a circle."""
    if (schema is None) == (catalog is None):
        raise InvalidInput.of(
            "--relational-schema", "exactly-one", "The columns of the tables are said once.",
            "Give either --relational-schema or --catalog.",
        )  # fmt: skip
    document = _artifact(manifest, "manifest", VERSIONS)
    adapter = document["metadata"].get("adapter_type")
    if adapter not in (None, "postgres"):
        raise InvalidInput.of(
            str(manifest), "unknown-dialect", f"The project is for {adapter}; only postgres is read.",
            "Other databases compare values in other ways.",
        )  # fmt: skip
    nodes = _models(document.get("nodes"), manifest)
    views = [
        NamedView(id_, own.get("relation_name") or "", own["compiled_code"]) for id_, own in nodes.items()
    ]
    try:
        found = written_out(views, "postgres")
    except InvalidInput as error:
        raise InvalidInput([_by_file(own, list(nodes.values()), manifest) for own in error.faults]) from None
    paths = {id_: _place_of(own) for id_, own in nodes.items()}
    given = tuple(given_view(id_, found[id_], paths) for id_, own in nodes.items() if not _is_ephemeral(own))
    if not given:
        raise _no_models(manifest)
    # Tables that are added to may hold what the query does not return any more.
    keeping = tuple(
        id_
        for id_, own in nodes.items()
        if own["resource_type"] == "snapshot" or _materialized(own) in ("incremental", "snapshot")
    )
    if catalog is not None:
        return GivenViews(str(manifest), _schema_of(catalog), str(catalog), given, keeping)
    assert schema is not None  # noqa: S101 - one of the two is given
    return GivenViews(str(manifest), schema_of(schema, is_held), schema, given, keeping)


def _artifact(path: Path, kind: str, versions: tuple[int, ...]) -> Json:
    """A file that dbt has written, of a version that is known."""
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InvalidInput.of(str(path), "unreadable", f"{path} cannot be read: {error.strerror}.") from error
    if len(content) > MOST_BYTES:
        raise InvalidInput.of(str(path), "too-large", f"{path} has more than {MOST_BYTES // 1024**2} MiB.")
    try:
        document: Json = json.loads(content.decode())
    except RecursionError:
        raise InvalidInput.of(str(path), "malformed", f"{path} is nested too deeply.", _AGAIN) from None
    except UnicodeDecodeError as error:
        raise InvalidInput.of(str(path), "malformed", f"{path} is no text in UTF-8.", _AGAIN) from error
    except json.JSONDecodeError as error:
        message = f"Line {error.lineno}, column {error.colno}: {path} is no JSON: {error.msg}."
        raise InvalidInput.of(str(path), "malformed", message, _AGAIN) from error
    metadata = document.get("metadata") if isinstance(document, dict) else None
    named = metadata.get("dbt_schema_version") if isinstance(metadata, dict) else None
    version = _VERSION.fullmatch(named) if isinstance(named, str) else None
    if version is None or version[1] != kind:
        raise InvalidInput.of(str(path), "malformed", f"{path} is no {kind} of a dbt project.", _AGAIN)
    if int(version[2]) not in versions:
        known = " to ".join(f"v{own}" for own in dict.fromkeys((versions[0], versions[-1])))
        message = f"{path} is a {kind} of the version v{version[2]}; read are {known}."
        raise InvalidInput.of(
            str(path), "unknown-version", message,
            "Compile the project with a version of dbt that writes one of these.",
        )  # fmt: skip
    return document


def _models(nodes: object, manifest: Path) -> dict[str, Json]:
    """The models by what they are called in the verdict; every one has compiled SQL."""
    if not isinstance(nodes, Mapping):
        raise InvalidInput.of(str(manifest), "malformed", f"{manifest} has no nodes.", _AGAIN)
    found: dict[str, Json] = {}
    faults: list[Fault] = []
    for unique_id, own in nodes.items():
        if not isinstance(own, Mapping) or own.get("resource_type") not in _DERIVED:
            continue
        fault = _unreadable(str(unique_id), own)
        if fault is not None:
            faults.append(Fault(f"{manifest}: {unique_id}", *fault))
        id_ = str(unique_id).partition(".")[2]
        if id_ in found:
            message = f"Two models are called {id_}."
            faults.append(
                Fault(f"{manifest}: {unique_id}", "duplicate-id", message, "Rename one of the two.")
            )
        found[id_] = dict(own)
    refuse(faults)
    if len(found) > MOST_VIEWS:
        raise InvalidInput.of(
            str(manifest), "too-many-views", f"{manifest} has more than {MOST_VIEWS:,} models.",
            "Judge parts of the project.",
        )  # fmt: skip
    if not found:
        raise _no_models(manifest)
    return found


def _unreadable(unique_id: str, own: Mapping[str, Any]) -> tuple[str, str, str] | None:
    """Why a model cannot be judged: code, message and remedy."""
    if own.get("language", "sql") != "sql":
        return "not-sql", f"The model {unique_id} is written in {own['language']}.", "Judge it by hand."
    code = own.get("compiled_code")
    if not isinstance(code, str) or not code.strip():
        return "not-compiled", f"The model {unique_id} has no compiled SQL in the manifest.", _AGAIN
    if not isinstance(own.get("relation_name") or "", str):
        return "malformed", f"The relation of the model {unique_id} is no text.", _AGAIN
    if not own.get("relation_name") and not _is_ephemeral(own):
        return "malformed", f"The model {unique_id} has no relation_name.", _AGAIN
    return None


def _is_ephemeral(own: Mapping[str, Any]) -> bool:
    """Whether the model is nothing in the database: those that read it have its query in theirs."""
    return _materialized(own) == "ephemeral"


def _materialized(own: Mapping[str, Any]) -> object:
    config = own.get("config")
    return config.get("materialized") if isinstance(config, Mapping) else None


def _no_models(manifest: Path) -> InvalidInput:
    return InvalidInput.of(
        str(manifest),
        "no-views",
        f"{manifest} has no model that is published: nothing would be judged.",
        _AGAIN,
    )


def _place_of(own: Mapping[str, Any]) -> str:
    """The file whose lines are those of the compiled SQL.

    Of the model's own file as long as compiling has left every line in its place, which is where people
    look; else of the file that dbt has compiled.
    """
    raw, original, compiled = own.get("raw_code"), own.get("original_file_path"), own.get("compiled_path")
    is_in_place = isinstance(raw, str) and raw.strip().count("\n") == own["compiled_code"].strip().count("\n")
    path = original if is_in_place or not isinstance(compiled, str) else compiled
    return path.replace("\\", "/") if isinstance(path, str) else "manifest.json"


def _by_file(fault: Fault, nodes: list[Json], manifest: Path) -> Fault:
    parts = fault.pointer.split("/")
    place = _place_of(nodes[int(parts[2])]) if len(parts) > 2 else str(manifest)
    return Fault(place, fault.code, fault.message, fault.remedy)


def _schema_of(path: Path) -> Json:
    """The tables of a catalog, each column with its type: no key, and every column may be NULL."""
    document = _artifact(path, "catalog", (1,))
    statements = list(_statements(document, path))
    if not statements:
        raise InvalidInput.of(
            str(path), "no-tables", f"{path} has no source and no seed.", "Run dbt docs generate."
        )
    return {"sql": "\n".join(statements)}


def _statements(document: Json, path: Path) -> Iterator[str]:
    nodes = {**(document.get("nodes") or {}), **(document.get("sources") or {})}
    for unique_id, own in nodes.items():
        if unique_id.partition(".")[0] not in ("source", "seed"):
            continue
        try:
            named = f"{_quoted(own['metadata']['schema'])}.{_quoted(own['metadata']['name'])}"
            columns = sorted(own["columns"].values(), key=lambda column: int(column["index"]))
            listed = ", ".join(f"{_quoted(column['name'])} {_type(column['type'])}" for column in columns)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise InvalidInput.of(
                str(path), "malformed", f"{path} does not tell the columns of {unique_id}.",
                "Run dbt docs generate.",
            ) from None  # fmt: skip
        yield f"CREATE TABLE {named} ({listed});"


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _type(name: str) -> str:
    """The type as it is written; ValueError for what is none."""
    if _TYPE.fullmatch(name) is None:
        raise ValueError("a type is a word with its sizes")
    return name
