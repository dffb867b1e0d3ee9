"""Puts a table onto the service: the upload, the hierarchies and the dataset.

Names are made of the content, so that the same table is sent once however often it is asked about.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Final
from weakref import WeakKeyDictionary

from privacy_risk.arguments import InvalidArgument, WrongType, type_name
from privacy_risk.client import Client
from privacy_risk.columns import Column, Roles, Said, decided, require_column
from privacy_risk.doubts import as_said, formats_told, require_decided
from privacy_risk.persons import rows_note
from privacy_risk.problems import ProblemError
from privacy_risk.spellings import spellings_notes
from privacy_risk.tables import Table, table_of
from privacy_risk.values import Json

_WITH_OWN_VALUES: Final = ("parents", "rows")
"""Kinds of definition that name their values; the others take them from the table."""
_SOURCES: Final = ("values", "range", "upload")
_NOT_FOUND: Final = 404
_INVALID: Final = 422
_READINGS: Final = ("format", "on_unreadable", "on_unknown", "map")
"""What a proposal, or a policy, says of how cells are read, as a dataset's attribute declares it."""
_INTERVALS: Final = 20
"""About so many intervals of the least width divide the range of a number."""


def content_name(stem: str, content: object) -> str:
    """``stem-0123456789abcdef``: a name that is the same for the same content."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), default=str)
    return f"{stem}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


@dataclass(frozen=True)
class Loaded:
    """A dataset on the service, what its columns are, and notes: what a row is, and what it does not have.

    ``files`` are how the table's file and that of a release are read, by the schema's members of a policy,
    where the upload's dialect does not say it.
    ``alone`` tells of sensitive numbers how many rows have one that no other person has, if that is known.
    """

    dataset: str
    roles: Roles
    notes: tuple[str, ...]
    files: Mapping[str, Json] = field(default_factory=dict)
    alone: Mapping[str, int | None] = field(default_factory=dict)


def load(
    client: Client, table: Table, said: Said, *, is_generalised: bool, keeps_identifier: bool = False
) -> Loaded:
    """Send the table with the columns as they are said or proposed; ``roles`` tells them.

    Quasi-identifiers and sensitive amounts get hierarchies if the table is to be generalised. Direct
    identifiers stay out of the dataset, unless ``keeps_identifier``: then the one that is said is in it, to
    tell whose record is whose, for a gate, which judges what a row is. Else InvalidArgument refuses to
    generalise what is in doubt.
    """
    said.by_column(table.columns)  # before anything is sent
    upload = uploaded(client, table)
    proposal, doubts = as_said(_proposal(client, upload), said.date_formats, said.readings)
    taken = decided(said, proposal)
    if not taken.of("quasi_identifier"):
        why = "; ".join(f"{own.name}: {own.reason.rstrip('.') or own.role}" for own in taken)
        raise InvalidArgument(
            "quasi_identifiers",
            f"No column of the table is a quasi-identifier ({why}).",
            "Name the columns that others may know of a person.",
        )
    for own in taken:
        # As the service refuses it where the identifier is in the dataset, which here it need not be.
        if (
            own.role == "identifier"
            and own.given_by == "you"
            and not table.upload
            and table.repeats(own.name)
        ):
            raise InvalidArgument(
                "roles",
                f"The column {own.name!r} repeats values, and an identifier is of one row.",
                f"Where a person has several rows, say that it names them: person={own.name!r} (--person "
                f"{own.name}). Or leave it out: roles={{{own.name!r}: 'other'}}.",
            )
    read = [own for own in proposal if taken[own["name"]].is_disclosed]
    require_decided(own for own in doubts if taken[own["column"]].is_disclosed)
    columns, attributes = [], []
    for own, proposed in zip(taken, proposal, strict=True):
        if own.role == "quasi_identifier" and own.type == "text" and table.is_of_whole_numbers(own.name):
            # The service takes what differs in every row for a number of persons; the caller says it is none.
            own, proposed = replace(own, type="number"), {**proposed, "type": "number"}
        is_kept = own.role == "identifier" and keeps_identifier and own.given_by == "you"
        is_kept |= own.role == "person"
        attribute = {"name": own.name, "type": "text" if is_kept else own.type, "role": own.role}
        if own.is_disclosed:
            attribute |= {key: proposed[key] for key in _READINGS if proposed.get(key) is not None}
        if is_generalised and (own.role == "quasi_identifier" or _is_banded(own, said, proposed)):
            definition, reason = _definition(own.name, own.role, said, proposed, table)
            attribute["hierarchy"] = _hierarchy(client, definition, source_of(upload, proposed))
            shown = definition if isinstance(definition, Mapping) else {"kind": "rows"}
            columns.append(replace(own, hierarchy=shown, hierarchy_reason=reason))
        else:
            columns.append(own)
        if is_kept or own.is_disclosed or own.role == "weight":
            attributes.append(attribute)
    rows_are = {} if said.rows_are is None else {"rows_are": said.rows_are}
    body = {"upload": upload, "attributes": attributes, **rows_are}
    made = client.datasets.create({"name": content_name("table", body), **body})
    note = rows_note(client, made.document, is_doubt_refused=is_generalised and not keeps_identifier)
    roles = Roles(tuple(columns), said.rows_are)
    unreadable = (
        f"Of {own['name']} cells that are no {own['type']} count as missing."
        for own in attributes
        if own.get("on_unreadable") == "missing"
    )
    notes = (note, *table.notes, *formats_told(read), *unreadable, *spellings_notes(client, made.document))
    amounts = [own.name for own in roles if (own.role, own.type) == ("sensitive", "number")]
    amounts = amounts if is_generalised else []  # a profile counts them itself
    person = next(iter(roles.of("person")), None)
    # The content of a table with one row per person is with the service.
    alone = {own: table.rows_alone(own, person) if table.upload is None else None for own in amounts}
    return Loaded(made.name, roles, notes, {"file": table.file} if table.file else {}, alone)


def alone_note(rows: int | None, how: str) -> str:
    """How many rows an amount singles out as it is, as the end of a sentence; empty where nobody knows."""
    if rows is None:
        return ""
    begun = ": " if how == "as it is" else "; as it is, "
    return f"{begun}{rows:,} {'row has' if rows == 1 else 'rows have'} one that no other person has"


def _is_banded(column: Column, said: Said, proposed: Json) -> bool:
    """Whether a sensitive column gets a hierarchy: of numbers what the caller says, or what is proposed."""
    is_amount = (column.role, column.type) == ("sensitive", "number")
    return is_amount and (column.name in said.hierarchies or bool(proposed.get("other_hierarchy")))


_proposals: WeakKeyDictionary[Client, dict[str, Json]] = WeakKeyDictionary()
"""What a service was asked for already: looking at ten thousand rows takes longer than all else together."""


def _proposal(client: Client, upload: str) -> Json:
    """The service's proposal of a schema; the upload's name stands for its content."""
    known = _proposals.setdefault(client, {})
    if upload not in known:
        known[upload] = client.uploads.propose_schema(upload)
    return known[upload]


def uploaded(client: Client, table: Table) -> str:
    """The upload's name; what is there already is not sent again."""
    if table.upload is not None:
        return table.upload
    sha256 = hashlib.sha256(table.content).hexdigest()
    name = content_name("table", sha256 if table.missing == ("",) else [sha256, *table.missing])
    try:
        found = client.uploads.get(name)
    except ProblemError as problem:
        if problem.status != _NOT_FOUND:
            raise
    else:
        if found.document["content_sha256"] == sha256:
            return name
    return client.uploads.create_from(name, table.content, missing=table.missing).name


def one_row(
    client: Client, table: Table, said: Said, asked: str | Mapping[str, object] | None
) -> tuple[Table, Said]:
    """The table with one row per person, whose column is an identifier then; as it is if nobody asks."""
    if asked is None:
        return table, said
    body = {"person": asked} if isinstance(asked, str) else dict(asked)
    require_column("one_row_per_person", body.get("person"), table.columns)
    upload = uploaded(client, table)
    name = content_name("persons", {"of": upload, **body})
    made = client.uploads.one_row_per_person(upload, {**body, "name": name}).document
    notes = (*made["notes"], *table.notes)
    roles = {str(body["person"]): "identifier", **said.roles}
    said = replace(said, roles=roles, rows_are=said.rows_are if said.person else "persons")
    return replace(table, rows=made["rows"], notes=notes, upload=name), said


def _definition(name: str, role: str, said: Said, proposed: Json, table: Table) -> tuple[Json | Path, str]:
    """How a column is generalised, and why so."""
    if name in said.hierarchies:
        return _given(name, said.hierarchies[name]), "as you say"
    if role != proposed["role"] and proposed.get("other_hierarchy"):
        proposed = {**proposed, "hierarchy": proposed["other_hierarchy"], "hierarchy_reason": f"as {role}"}
    if proposed.get("hierarchy"):
        # Of the table's own values, as a description has it: a range would dilute the loss by absent ones.
        own = {key: value for key, value in proposed["hierarchy"].items() if key != "range"}
        return own, str(proposed.get("hierarchy_reason") or "")
    if proposed["type"] == "date":
        return {"kind": "dates", "levels": ["day", "month", "year", "decade"]}, "from the day to the decade"
    extremes = table.range_of(name, proposed.get("format")) if proposed["type"] == "number" else None
    if extremes is not None and extremes[0] < extremes[1]:
        widths = _widths(extremes[1] - extremes[0])
        return {"kind": "intervals", "widths": widths}, f"intervals of {', '.join(widths)}"
    return {"kind": "flat"}, "shown or not"


def _widths(span: float) -> list[str]:
    """Round widths, each twice the one before, that divide a range of this length."""
    tenth = 10.0 ** math.floor(math.log10(span / _INTERVALS))
    least = next(tenth * factor for factor in (1, 2, 5, 10) if tenth * factor * _INTERVALS >= span)
    widths = [least * 2**step for step in range(4)]
    return [f"{width:.10f}".rstrip("0").rstrip(".") for width in widths]


def _given(name: str, hierarchy: object) -> Json | Path:
    """A hierarchy as the caller gives it: a definition, rows from the value upwards, or a file of them."""
    if isinstance(hierarchy, Mapping):
        if not isinstance(hierarchy.get("kind"), str):
            raise InvalidArgument(
                "hierarchies",
                f"The definition for {name!r} has no kind.",
                "Give it as POST /v1/hierarchies takes it.",
            )
        return hierarchy
    if isinstance(hierarchy, str | PathLike):
        path = Path(hierarchy)
        if not path.is_file():
            raise InvalidArgument(
                "hierarchies", f"There is no file {path}, for {name!r}.", "Name one that is there."
            )
        return json.loads(path.read_bytes()) if path.suffix == ".json" else path
    if isinstance(hierarchy, Sequence):
        if not hierarchy or not all(isinstance(row, list | tuple) and row for row in hierarchy):
            raise InvalidArgument(
                "hierarchies",
                f"The rows for {name!r} are not all lists.",
                "Give a list per value, from the value to its most general one.",
            )
        return {"kind": "rows", "rows": [[str(cell) for cell in row] for row in hierarchy]}
    try:
        rows = list(table_of(hierarchy, "hierarchies").cells())
    except WrongType:
        raise WrongType(
            "hierarchies",
            f"A {type_name(hierarchy)}, for {name!r}, is no hierarchy.",
            "Give a definition, rows from the value to its most general one, or a file of them.",
        ) from None
    return {"kind": "rows", "rows": rows}


def source_of(upload: str, attribute: Json) -> Json:
    """The column that a hierarchy takes its values from, as the attribute reads it.

    Leaves are what the cells mean: dates and numbers, however they are written.
    """
    written = {"format": attribute["format"]} if attribute.get("format") else {}
    return {"upload": upload, "column": attribute["name"], **written}


def with_source(definition: Json, source: Json) -> Json:
    """The definition with the values of a column, unless it names its own."""
    return definition if has_own_values(definition) else {**definition, "upload": source}


def has_own_values(definition: Json | None) -> bool:
    """Whether a definition names its values, or where they are."""
    named = definition or {}
    return named.get("kind") in _WITH_OWN_VALUES or any(key in named for key in _SOURCES)


def _hierarchy(client: Client, definition: Json | Path, source: Json) -> str:
    """The name of the stored hierarchy; its values are the column's where the definition names none."""
    if isinstance(definition, Path):
        content = definition.read_bytes()
        name = content_name("hierarchy", hashlib.sha256(content).hexdigest())
        return client.hierarchies.create_from_csv(name, content).name
    definition = with_source(definition, source)
    body = {"name": content_name("hierarchy", definition), "definition": definition}
    try:
        return client.hierarchies.create(body).name
    except ProblemError as problem:
        if problem.status != _INVALID:
            raise
        # The caller gave it by the column's name, and knows nothing of the address that it goes to.
        lines = str(problem).split("\n")[1:] or [str(problem.document.get("detail", ""))]
        faults = "; ".join(line.strip().removeprefix("/definition") for line in lines)
        raise InvalidArgument(
            "hierarchies", f"That of {source['column']!r} cannot be made.", faults
        ) from problem
