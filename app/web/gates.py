"""Judging a release by a policy: a finished file that is sent here, a stored rule, or a stored release.

A policy of synthetic tables judges a dataset as it is, too, and asks what it is compared with.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, Final

from starlette.responses import RedirectResponse, Response

from app.web.choices import NONE, attackers, named, names, names_of_dataset, offered
from app.web.forms import Fault, Form, SentFile
from app.web.sent_tables import DELIMITERS, ENCODINGS, FIELD, stored_table, upload_name
from app.web.visits import Page, Visit
from app.web.words import address
from privacy_risk import Json, ProblemError

SECONDS: Final = 10
"""How long a page waits for a verdict that needs a run, before it shows the run."""

MATCHING: Final = (
    ("key", "by a key column of the file, which holds the identifier of each record"),
    ("order", "by their order: it is that of the dataset’s records, and that is meant"),
    ("none", "not at all: nobody knows whose row is whose"),
)
"""How it is known which record each row of the file is."""


STORED: Final = "release/name"
"""The field of a stored release, by its place in the request."""


async def evaluate(visit: Visit) -> Page:
    """The form: first the dataset, then what is judged, against whom."""
    query = visit.request.query_params
    return await _page(visit, Form({name: query.getlist(name) for name in query}))


async def judge(visit: Visit, form: Form, file: SentFile) -> Page | Response:
    """The verdict's page, or that of the run that will bring it; what is wrong stands beside its field."""
    form = replace(form, sent={**form.sent, FIELD: (file.name,)})
    body: dict[str, Any] = {
        "dataset": named(form, "dataset"),
        "dictionaries": {
            name.removeprefix("dictionaries/").replace("~1", "/").replace("~0", "~"): form.text(name)
            for name in form.sent
            if name.startswith("dictionaries/") and form.text(name)
        },
    }
    body |= {name: form.text(name) for name in ("sensitivity", "original", "holdout") if form.text(name)}
    if form.text("of") == "table":
        body["rule"] = {"kind": "identity"}
        return await _judged(visit, form, body)
    if form.text("of") == "rule":
        body["rule"] = form.text("rule")
        return await _judged(visit, form, body)
    if form.text("of") == "release":
        body["release"] = {"name": form.text(STORED)}
        return await _judged(visit, form, body)
    matching: dict[str, str] = {}
    if form.text("matching") == "key":
        matching["key"] = form.text("release/key")
        if not matching["key"]:
            fault = Fault("release/key", "No key column is named.", "Name it, or choose another way.")
            return await _page(visit, form.with_faults(fault))
    elif form.text("matching") == "order":
        matching["order"] = "records"
    # What is not there is told before the file is read.
    await asyncio.gather(visit.client.policies.get(visit.ref), visit.client.datasets.get(body["dataset"]))
    form, upload = await stored_table(visit, form, file, upload_name(f"{body['dataset']}-release"))
    if upload is None:
        return await _page(visit, form)
    body["release"] = {"upload": upload.name, **matching}
    answer: Page | Response | None = None
    try:
        answer = await _judged(visit, form, body, upload.document["notes"])
    finally:
        if not isinstance(answer, Response):
            await visit.client.uploads.delete(upload.name)
    return answer


async def _judged(visit: Visit, form: Form, body: Json, notes: list[str] | None = None) -> Page | Response:
    try:
        verdict = await visit.client.evaluations.create(visit.ref, body, wait_seconds=SECONDS)
    except ProblemError as problem:
        form = form.refused(problem, _place)
        form = form.with_faults(*(Fault(FIELD, note) for note in notes or ()))
        return await _page(visit, form)
    if verdict.run is None or verdict.run.is_final:
        return RedirectResponse(address("evaluations", verdict.name), 303)
    return RedirectResponse(address("runs", verdict.run.id), 303)


def _place(place: str) -> str:
    if place in ("release/key", STORED) or not place.startswith("release"):
        return place
    return "matching" if place == "release/order" else FIELD


async def _page(visit: Visit, form: Form) -> Page:
    policy, datasets = await asyncio.gather(visit.client.policies.get(visit.ref), names(visit, "datasets"))
    asked = form.text("dataset") or visit.asked("dataset")
    chosen = asked if asked in datasets else next(iter(datasets), None)
    asked_for = [own["requirement"] for own in policy.document["document"].get("requirements") or ()]
    kinds = [own["measure"]["kind"] for own in asked_for if own["kind"] == "measure"]
    is_synthetic = any(kind.startswith("synthetic_") for kind in kinds)
    shown: dict[str, Any] = {
        "policy": policy.document["document"],
        "name": policy.document["name"],
        "datasets": offered(datasets),
        "dataset": None,
        "form": form,
        "of": form.text("of") or visit.asked("of") or ("table" if is_synthetic else "file"),
        "compared": [NONE, *offered(datasets)] if is_synthetic else [],
    }
    if chosen is not None:
        document, dictionaries, profiles, rules, releases = await asyncio.gather(
            visit.client.datasets.get(chosen),
            attackers(visit),
            names_of_dataset(visit, "sensitivity_profiles", chosen),
            names_of_dataset(visit, "rules", chosen),
            names_of_dataset(visit, "releases", chosen),
        )
        shown |= {
            "dataset": document.document,
            "slots": [
                _slot(slot, dictionaries) for slot in policy.document["document"].get("dictionaries") or ()
            ],
            "profiles": [NONE, *offered(profiles)],
            "profile": next(iter(profiles), ""),
            "rules": offered(rules),
            "releases": offered(releases),
            "matchings": MATCHING,
            "delimiters": DELIMITERS,
            "encodings": ENCODINGS,
        }
    return Page("evaluate.html", shown, 422 if form.faults else 200)


def _slot(slot: Json, dictionaries: list[tuple[str, str]]) -> Json:
    """A dictionary that the policy asks for: its field has the name of its place in the request."""
    is_required = slot.get("required", True)
    return {
        "field": "dictionaries/" + slot["name"].replace("~", "~0").replace("/", "~1"),
        "name": slot["name"],
        "description": slot.get("description") or "",
        "choices": dictionaries if is_required and dictionaries else [NONE, *dictionaries],
    }
