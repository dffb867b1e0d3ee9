"""Dictionaries: what they are, what links them with a dataset, and the forms that make one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.responses import RedirectResponse, Response

from app.web.choices import NONE, Choices, named, names, offered
from app.web.forms import Fault, Form, SentFile
from app.web.new_names import name_faults
from app.web.sent_tables import DELIMITERS, ENCODINGS, FIELD, stored_table, upload_name
from app.web.visits import NoSuchPage, Page, Visit
from app.web.words import address, heights_of
from privacy_risk import Json, ProblemError

TRANSFORMS: Final = {
    "identity": "the same values as in the dataset",
    "lookup": "looked up in a table",
    "age": "ages in years, where the dataset has birth dates",
}
"""How a cell of the dictionary becomes values of the attribute."""

KIND: Final = "transform/kind"


async def dictionary(visit: Visit) -> Page:
    """A dictionary: whom it holds, and what each of its columns tells."""
    document = (await visit.client.dictionaries.get(visit.ref)).document
    links = [
        {**link, "said": TRANSFORMS.get(link["transform"], link["transform"])} for link in document["links"]
    ]
    return Page("dictionary.html", {"dictionary": document, "links": links})


async def begin(visit: Visit) -> Page:
    """The first step: whose dictionary it is, and the file with its entities."""
    return await _first_step(visit, Form())


async def send(visit: Visit, form: Form, file: SentFile) -> Page | Response:
    """Keep the file as an upload, and go on to its columns."""
    form, upload = await stored_table(visit, form, file, upload_name(file.name.rpartition(".")[0]))
    if upload is None:
        return await _first_step(visit, form)
    goal = address("dictionaries", "links", dataset=form.text("dataset"), upload=upload.name)
    return RedirectResponse(goal, 303)


async def _first_step(visit: Visit, form: Form) -> Page:
    datasets, uploads = await asyncio.gather(names(visit, "datasets"), names(visit, "uploads"))
    shown = {
        "form": form,
        "datasets": offered(datasets),
        "dataset": visit.asked("dataset") or "",
        "uploads": offered(uploads),
        "delimiters": DELIMITERS,
        "encodings": ENCODINGS,
        "file": FIELD,
    }
    return Page("dictionary_file.html", shown, 422 if form.faults else 200)


async def links(visit: Visit) -> Page:
    """The second step: what each column tells of which attribute."""
    return await _second_step(visit, Form())


async def link(visit: Visit, form: Form) -> Page | Response:
    """Make the dictionary; what is wrong stands beside its field."""
    document = (await visit.client.datasets.get(named(form, "dataset"))).document
    attributes = _attributes(document)
    chosen = [number for number in range(len(attributes)) if form.text(f"links/{number}/column")]
    faults = name_faults(form)
    if not chosen:
        said = "Choose a column for one attribute or more."
        faults.append(Fault("links/0/column", "No column is linked.", said))
    if faults:
        return await _second_step(visit, form.with_faults(*faults))
    body: dict[str, Any] = {
        "name": form.text("name"),
        "upload": form.text("upload"),
        "links": [_link(form, number, attributes[number]) for number in chosen],
    }
    if form.text("identifier"):
        body["identifier"] = form.text("identifier")
    if form.is_on("same_entities_as"):
        body["same_entities_as"] = document["name"]
    try:
        made = await visit.client.dictionaries.create(body)
    except ProblemError as problem:
        return await _second_step(visit, form.refused(problem, lambda place: field_of(place, chosen)))
    return RedirectResponse(address("dictionaries", made.name), 303)


def _attributes(dataset: Json) -> list[Json]:
    return [one for one in dataset["attributes"] if one["name"] in heights_of(dataset)]


def _link(form: Form, number: int, attribute: Json) -> Json:
    """What a column tells, as the request has it."""
    here = f"links/{number}/"
    kind = form.text(here + KIND, "identity")
    transform = {"kind": kind}
    wanted = {"lookup": ("upload", "key", "value", "missing_entry"), "age": ("reference_date",)}
    for name in wanted.get(kind, ()):
        transform[name] = form.text(f"{here}transform/{name}")
    linked = {"attribute": attribute["name"], "column": form.text(here + "column"), "transform": transform}
    return linked | ({"hierarchy": attribute["hierarchy"]} if attribute["hierarchy"] else {})


def field_of(place: str, chosen: Sequence[int]) -> str:
    """The field of a place in the request, whose links are those of the attributes chosen alone."""
    parts = place.split("/")
    if place == "links":  # all of them together
        return f"links/{chosen[0]}/column"
    if parts[0] != "links" or len(parts) < 2 or not parts[1].isdecimal() or int(parts[1]) >= len(chosen):
        return place or "name"
    here = f"links/{chosen[int(parts[1])]}"
    rest = "/".join(parts[2:])
    if rest == "transform" or rest.endswith("/kind"):
        return f"{here}/{KIND}"
    return f"{here}/{rest}" if rest.startswith("transform/") else f"{here}/column"


async def _second_step(visit: Visit, form: Form) -> Page:
    dataset, upload = visit.asked("dataset"), visit.asked("upload")
    if form.sent:
        dataset, upload = named(form, "dataset"), named(form, "upload")
    if not dataset or not upload:
        raise NoSuchPage
    document, table, uploads = await asyncio.gather(
        visit.client.datasets.get(dataset), visit.client.uploads.get(upload), names(visit, "uploads")
    )
    columns: Choices = [("", "not in it"), *offered(table.document["columns"])]
    fields = [
        _fields(number, one, table.document, form)
        for number, one in enumerate(_attributes(document.document))
    ]
    shown = {
        "form": form,
        "dataset": document.document,
        "upload": table.document,
        "columns": columns,
        "identifiers": [NONE, *offered(table.document["columns"])],
        "fields": fields,
        "transforms": list(TRANSFORMS.items()),
        "uploads": [NONE, *offered(uploads)],
    }
    return Page("dictionary_links.html", shown, 422 if form.faults else 200)


def _fields(number: int, attribute: Json, upload: Json, form: Form) -> Mapping[str, Any]:
    """The fields of an attribute; the column of the same name is proposed for it."""
    here = f"links/{number}"
    is_named = attribute["name"] in upload["columns"]
    return {
        "attribute": attribute["name"],
        "here": here,
        "column": attribute["name"] if is_named else "",
        "is_open": form.text(f"{here}/{KIND}", "identity") != "identity"
        or any(fault.field.startswith(f"{here}/transform") for fault in form.faults),
    }
