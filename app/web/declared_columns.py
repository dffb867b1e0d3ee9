"""What was recognised of an upload, to be corrected, and the dataset that is made of it."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from starlette.responses import RedirectResponse, Response

from app.web import profiles
from app.web.data import LOOKED_THROUGH
from app.web.forms import Fault, Form, name_faults
from app.web.uploads import ENCODINGS
from app.web.visits import Page, Visit, found
from app.web.words import address, number, share, words
from privacy_risk import Json, ProblemError
from privacy_risk.loading import source_of, with_source

SAMPLE_ROWS: Final = 5
MOST_NAMED: Final = 60
MADE_AT_ONCE: Final = 4
"""Hierarchies: a tenant is refused more than a few direct computations at once."""
LONGEST_SHOWN: Final = 60
"""Characters of a cell in the sample."""

ROLES: Final = (
    ("quasi_identifier", "quasi-identifier"),
    ("sensitive", "sensitive"),
    ("identifier", "identifier"),
    ("person", "person"),
    ("weight", "weight"),
    ("other", "left out"),
)
DISCLOSED: Final = ("quasi_identifier", "sensitive")
_READ: Final = (*DISCLOSED, "weight")
"""Roles of columns whose cells matter."""
TYPES: Final = (
    ("categorical", "categories"),
    ("number", "numbers"),
    ("date", "dates"),
    ("text", "texts"),
)
FORMATS: Final[Mapping[str, tuple[str, ...]]] = {
    "date": (
        "yyyy-mm-dd", "dd.mm.yyyy", "dd/mm/yyyy", "dd-mm-yyyy", "mm/dd/yyyy", "mm-dd-yyyy", "yyyy/mm/dd",
        "yyyymmdd",
        "yyyy-mm-dd hh:mm:ss", "dd.mm.yyyy hh:mm:ss", "dd/mm/yyyy hh:mm:ss", "dd-mm-yyyy hh:mm:ss",
        "mm/dd/yyyy hh:mm:ss", "mm-dd-yyyy hh:mm:ss", "yyyy/mm/dd hh:mm:ss",
    ),
    "number": (
        "1234.56", "1234,56", "1.234,56", "1,234.56", "1'234.56", "1 234,56",
        "$1,234.56", "£1,234.56", "€1,234.56", "€1.234,56", "1.234,56 €", "1 234,56 €",
    ),
}  # fmt: skip
"""How cells may be written, by the type that is written so."""
ON_UNREADABLE: Final = (("refuse", "refuse the table"), ("missing", "count as missing"))
UNREADABLE: Final = "missing"
"""Beyond the rows that were looked at there may be such cells; the profile says how many there were."""
ON_UNKNOWN: Final = (
    ("refuse", "refuse the table"),
    ("attach", "put them below the top"),
    ("missing", "count as missing"),
)
UNDECIDED: Final = "undecided"
PROPOSED: Final = "proposed"
FLAT: Final = "flat"
_NOTHING_RELEASED: Final = Fault(
    "attributes/0/role",
    "No column would be released: each is left out or an identifier.",
    "Choose quasi-identifier for what others may know of a person, sensitive for what nobody is to learn; of "
    "one column at least.",
)
_STORED: Final = "stored:"
_ARROW: Final = re.compile(r"\s*(?:→|->)\s*")


@dataclass(frozen=True)
class Recognised:
    """An upload, what is proposed for its columns (no proposal without data:read), and what there is."""

    upload: Json
    columns: Sequence[Json]
    rows_in_sample: int
    hierarchies: Sequence[str]
    notes: Sequence[str] = ()
    readings: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Column → formats of which somebody has to say which it is."""


def field_of(place: int, name: str) -> str:
    """The name of a column's field: its place in the dataset's body."""
    return f"attributes/{place}/{name}"


async def recognised(visit: Visit) -> Page:
    """What was recognised, to be corrected."""
    return await _page(visit, await _recognised(visit), Form())


async def declare(visit: Visit, form: Form) -> Page | Response:
    """Make the hierarchies and the dataset, and go on to its profile; or the form with what is wrong.

    Hierarchies are called by what they hold, so that a second attempt finds those of the first.
    """
    upload = (await visit.client.uploads.get(visit.ref)).document
    attributes, form = _declared(upload, form)
    name, form = form.text("name") or upload["name"], form.with_faults(*name_faults(form))
    # Columns that are left out are not said, so that they are not read either.
    places = [place for place, own in enumerate(attributes) if own["role"] != "other"]
    if not any(own["role"] in DISCLOSED for own in attributes):
        form = form.with_faults(_NOTHING_RELEASED)
    if not form.faults:
        form = await _with_hierarchies(visit, upload, attributes, form)
    if not form.faults:
        is_new = await found(visit.client.datasets.get(name)) is None
        try:
            body = {"name": name, "upload": upload["name"], "attributes": [attributes[own] for own in places]}
            body |= {"rows_are": "persons"} if form.is_on("rows_are") else {}
            dataset = (await visit.client.datasets.create(body)).document
        except ProblemError as problem:
            form = form.refused(problem, partial(_place, attributes, places))
        else:
            if dataset["status"] == "ready":
                return RedirectResponse(await profiles.begun(visit, dataset), 303)
            if is_new:
                # Under its name a corrected one is to be made.
                await visit.client.datasets.delete(dataset["name"])
            form = form.with_faults(
                *[
                    Fault(
                        field_of(place, "on_unknown"),
                        f"{number(own['unknown'])} cells of {own['name']} hold values that its hierarchy "
                        "does not have.",
                        "Choose another hierarchy, replace them, or say what becomes of them.",
                    )
                    for place, own in zip(places, dataset["attributes"], strict=True)
                    if own["unknown"]
                ]
            )
    return await _page(visit, await _recognised(visit), form)


def _place(attributes: Sequence[Json], places: Sequence[int], pointer: str) -> str:
    """The field for a place in the body, which has the columns at ``places`` of the form.

    Of what is wrong with a whole column, the field that mends it.
    """
    column = re.fullmatch(r"attributes/(\d+)(/.+)?", pointer)
    if column is None:
        return pointer if pointer == "rows_are" else "name" if pointer in ("", "name") else ""
    place = places[int(column[1])]
    may_be_unreadable = attributes[place].get("on_unreadable") == "refuse"
    whole = "/on_unreadable" if may_be_unreadable else "/role"
    return f"attributes/{place}{column[2] or whole}"


async def _recognised(visit: Visit) -> Recognised:
    upload = (await visit.client.uploads.get(visit.ref)).document
    if not visit.reads_data:
        unseen = {"type": "categorical", "role": "other", "format": None}
        columns = [{"name": name, **unseen} for name in upload["columns"]]
        return Recognised(upload, columns, 0, await _stored_hierarchies(visit))
    proposal, stored = await asyncio.gather(
        visit.client.uploads.propose_schema(visit.ref), _stored_hierarchies(visit)
    )
    rows, notes = proposal["rows_in_sample"], proposal.get("notes") or ()
    readings = {own["column"]: own["choices"] for own in proposal.get("doubts", ())}
    return Recognised(upload, proposal["attributes"], rows, stored, notes, readings)


async def _stored_hierarchies(visit: Visit) -> list[str]:
    page = await visit.client.hierarchies.page(limit=LOOKED_THROUGH)
    return [own.name for own in page.items]


async def _page(visit: Visit, known: Recognised, form: Form) -> Page:
    upload = known.upload
    made = (await visit.client.datasets.page(limit=LOOKED_THROUGH)).items
    names = {own.name for own in made}
    sample = await visit.client.uploads.preview(visit.ref, SAMPLE_ROWS) if visit.reads_data else None
    columns = [_column(known, place, form) for place in range(len(known.columns))]
    return Page(
        "recognised.html",
        {
            "form": form,
            "upload": upload,
            "notes": [*upload["notes"], *known.notes],
            "looked_at": known.rows_in_sample,
            "sample": sample,
            "longest": LONGEST_SHOWN,
            "columns": columns,
            "left_out": [own["name"] for own in columns if own["role"] not in DISCLOSED],
            "roles": {role: [own["name"] for own in columns if own["role"] == role] for role in DISCLOSED},
            "made": [own.name for own in made if own.document["upload"] == upload["name"]],
            "name": next(
                own for own in _numbered(upload["name"]) if own not in names
            ),
            "again": address("start", **_dialect_said(upload)),
            "encoding": dict(ENCODINGS).get(_dialect_said(upload)["encoding"] or "none"),
            "choices": {
                "unreadable": UNREADABLE,
                "roles": ROLES, "types": TYPES, "on_unreadable": ON_UNREADABLE, "on_unknown": ON_UNKNOWN,
            },
            "may_write": "data:write" in visit.key["scopes"],
        },
        422 if form.faults else 200,
    )  # fmt: skip


def _numbered(name: str) -> list[str]:
    return [name, *(f"{name}-{number}" for number in range(2, LOOKED_THROUGH + 3))]


def _dialect_said(upload: Json) -> dict[str, str | None]:
    """The query of the form in which the file can be read otherwise."""
    delimiter, encoding = (upload["dialect"].get(name) for name in ("delimiter", "encoding"))
    known = (own for own, _ in ENCODINGS if own and codecs.lookup(own).name == encoding)
    # Where no names were found the other reading is the one that takes them from the first line.
    header = "true" if upload["dialect"].get("header") is False else None
    return {
        "delimiter": "tab" if delimiter == "\t" else delimiter,
        "encoding": next(known, None),
        "header": header,
    }


def _column(known: Recognised, place: int, form: Form) -> Json:
    """What is shown of a column."""
    own = known.columns[place]
    role = form.text(field_of(place, "role"), own["role"])
    stray = own.get("unreadable_in_sample", 0)
    proposed = own.get("hierarchy")
    first = [kind for kind in FORMATS if kind == own["type"]]
    kinds = [*first, *(kind for kind in FORMATS if kind not in first)]
    readings = known.readings.get(own["name"], ())
    asked = [(UNDECIDED, f"say which: {' or '.join(readings)}")] if readings else []
    return {
        **own,
        "role": role,
        "proposed_role": own["role"],
        "place": f"attributes/{place}",
        "is_direct": "direct identifier" in own.get("reason", "").casefold(),
        "format": UNDECIDED if readings else own.get("format"),
        "formats": [*asked, ("", "as it stands"), *((one, one) for kind in kinds for one in FORMATS[kind])],
        "hierarchies": _hierarchy_choices(known, proposed),
        "proposed": json.dumps(proposed) if proposed else None,
        "hierarchy_chosen": PROPOSED if proposed else "",
        "stray": None if not stray else _stray(own, known.rows_in_sample),
        "is_open": bool(stray)
        or any(form.at(field_of(place, name)) for name in ("map", "on_unreadable", "on_unknown")),
    }


def _hierarchy_choices(known: Recognised, proposed: Json | None) -> list[tuple[str, str]]:
    own = [(PROPOSED, f"as proposed: {_told(proposed)}")] if proposed else []
    flat = [] if proposed and proposed["kind"] == "flat" else [(FLAT, "flat: each value, then nothing")]
    stored = [(_STORED + name, f"stored: {name}") for name in known.hierarchies]
    return [*own, *flat, ("", "none"), *stored]


def _told(definition: Json) -> str:
    """A definition in a few words."""
    said = [str(one) for one in definition.get("levels") or definition.get("widths") or ()]
    said += [str(definition[name]) for name in ("country", "system") if name in definition]
    return words(definition["kind"]) + (f" ({', '.join(said)})" if said else "")


def _stray(own: Json, rows: int) -> str:
    """How many cells are of another type, where, and what they look like."""
    cells = own["unreadable_in_sample"]
    first = ", ".join(number(row) for row in own["unreadable_rows"])
    looks = ", ".join(own["unreadable_shapes"])
    return (
        f"{number(cells)} of {number(rows)} cells looked at ({share(cells, rows)}) "
        f"{'is' if cells == 1 else 'are'} no {own['type']}: "
        f"row{'' if cells == 1 else 's'} {first}{' and more' if cells > len(own['unreadable_rows']) else ''}"
        + (f"; built like {looks}, where 9 is a digit and a letters" if looks else "")
        + "."
    )


def _declared(upload: Json, form: Form) -> tuple[list[dict[str, Any]], Form]:
    """The attributes of the dataset's body, hierarchies not made yet, and the form with what is wrong."""
    attributes = [
        _attribute(name, partial(_said, form, place)) for place, name in enumerate(upload["columns"])
    ]
    for place, attribute in enumerate(attributes):
        if attribute["role"] not in _READ:
            continue
        if attribute.get("format") == UNDECIDED:
            fault = f"It cannot be told what of the dates of {attribute['name']} is the month."
            form = form.with_faults(Fault(field_of(place, "format"), fault, "Choose how they are written."))
        try:
            attribute["map"] = mapping_of(_said(form, place, "map"))
        except ValueError as fault:
            remedy = "Write a cell → a value in each line."
            form = form.with_faults(Fault(field_of(place, "map"), str(fault), remedy))
    return attributes, form


def _said(form: Form, place: int, name: str, default: str = "") -> str:
    return form.text(field_of(place, name), default)


def _attribute(name: str, said: Callable[..., str]) -> dict[str, Any]:
    """A column as a dataset declares it; what makes no difference to its role is not said."""
    role = said("role", "other")
    type_ = "text" if role in ("identifier", "person") else said("type", "categorical")
    attribute: dict[str, Any] = {"name": name, "type": type_, "role": role}
    if role in _READ:
        attribute["on_unknown"] = said("on_unknown", "refuse")
        if type_ in FORMATS:
            format_ = said("format")
            attribute |= {"format": format_} if format_ else {}
            attribute["on_unreadable"] = said("on_unreadable", UNREADABLE)
    return attribute


def mapping_of(text: str) -> dict[str, str]:
    """``cell → value`` in lines as a mapping; ValueError for a line that is none, or a cell named twice."""
    mapping: dict[str, str] = {}
    for place, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        parts = _ARROW.split(line.strip())
        if len(parts) != 2 or not all(parts):
            raise ValueError(f"Line {place} is no replacement.")
        if parts[0] in mapping:
            raise ValueError(f"Line {place} replaces a cell that another line replaces, too.")
        mapping[parts[0]] = parts[1]
    return mapping


async def _with_hierarchies(
    visit: Visit, upload: Json, attributes: Sequence[dict[str, Any]], form: Form
) -> Form:
    """Name the hierarchies in the attributes, made where they are not stored; the form with what is wrong."""
    some = asyncio.Semaphore(MADE_AT_ONCE)

    async def name(place: int, attribute: dict[str, Any]) -> ProblemError | None:
        chosen = _said(form, place, "hierarchy")
        if attribute["role"] not in DISCLOSED or not chosen:
            return None
        try:
            attribute["hierarchy"] = chosen.removeprefix(_STORED)
            if not chosen.startswith(_STORED):
                definition = _definition(chosen, _said(form, place, PROPOSED))
                async with some:
                    attribute["hierarchy"] = await _made(visit, upload, attribute, definition)
        except ProblemError as problem:
            return problem
        return None

    problems = await asyncio.gather(*(name(place, own) for place, own in enumerate(attributes)))
    for place, problem in enumerate(problems):
        if problem is not None:
            form = form.refused(problem, partial(_always, field_of(place, "hierarchy")))
    return form


def _always(field: str, _: str) -> str:
    return field


def _definition(chosen: str, proposed: str) -> dict[str, Any]:
    """The definition that was chosen; the proposed one comes back with the form, not to be found anew."""
    if chosen == PROPOSED:
        with contextlib.suppress(ValueError):
            found = json.loads(proposed)
            if isinstance(found, dict):
                return found
    return {"kind": FLAT}


async def _made(visit: Visit, upload: Json, attribute: Mapping[str, Any], definition: Json) -> str:
    """The name of a hierarchy of this definition, whose leaves are read as the attribute is."""
    # Of the table's own values, as everywhere: a range would dilute the loss by absent ones.
    own = {name: said for name, said in definition.items() if name != "range"}
    definition = with_source(own, source_of(upload["name"], attribute))
    content = json.dumps([upload["sha256"], definition], sort_keys=True)
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", attribute["name"]).strip("-._")[:MOST_NAMED] or "column"
    name = f"{stem}-{hashlib.sha256(content.encode()).hexdigest()[:10]}"
    return (await visit.client.hierarchies.create({"name": name, "definition": definition})).name
