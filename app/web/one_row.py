"""One row per person: a form that makes another upload of one in which persons have several rows."""

from __future__ import annotations

from typing import Any, Final

from starlette.responses import RedirectResponse, Response

from app.web.forms import Form, name_faults
from app.web.visits import Page, Visit
from app.web.words import address
from privacy_risk import ProblemError

KEPT: Final = ("most_frequent", "first", "last", "mean", "sum")


async def choose(visit: Visit) -> Page:
    """The form."""
    return await _page(visit, Form())


async def make(visit: Visit, form: Form) -> Page | Response:
    """Make the upload and go on to it; or the form with what is wrong."""
    form = form.with_faults(*name_faults(form))
    if form.faults:
        return await _page(visit, form)
    body: dict[str, Any] = {name: form.text(name) or None for name in ("name", "person", "order_by")}
    kept = {name.partition("/")[2]: form.text(name) for name in form.sent if name.startswith("columns/")}
    body["columns"] = {name: how for name, how in kept.items() if how != "most_frequent"}
    body["on_missing"] = "own_person" if form.is_on("on_missing") else "refuse"
    try:
        upload = await visit.client.uploads.one_row_per_person(visit.ref, body)
    except ProblemError as problem:
        return await _page(visit, form.refused(problem))
    return RedirectResponse(address("uploads", upload.name), 303)


async def _page(visit: Visit, form: Form) -> Page:
    upload = (await visit.client.uploads.get(visit.ref)).document
    shown = {"form": form, "upload": upload, "kept": [(how, how.replace("_", " ")) for how in KEPT]}
    shown |= {"columns": [(name, name) for name in upload["columns"]]}
    shown |= {"may_write": "data:write" in visit.key["scopes"]}
    return Page("one_row.html", shown, 422 if form.faults else 200)
