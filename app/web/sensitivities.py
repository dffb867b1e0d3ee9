"""Sensitivity profiles: the harm that disclosure does, and the form that weighs attributes."""

from __future__ import annotations

from typing import Any, Final

from starlette.responses import RedirectResponse, Response

from app.web.forms import Fault, Form
from app.web.new_names import name_faults
from app.web.visits import Page, Visit
from app.web.words import address, heights_of
from privacy_risk import Json, ProblemError

OFFERED: Final = ("linear", "multiplicative_centered", "multiplicative")
"""Families of which weights of attributes say all; the others are made by the interface."""

WEIGHTS: Final = {
    "leaves": "by value; more general values weigh less",
    "nodes": "value by value, general ones included",
    "constant": "the same for every value that is not suppressed",
}
VIEWPOINTS: Final = (
    ("", "not said"),
    ("data_subject", "to the people that the data are about"),
    ("organisation", "to the organisation that holds them"),
)


async def profile(visit: Visit) -> Page:
    """A profile: the weights of each attribute, and how they become one number."""
    document = (await visit.client.sensitivity_profiles.get(visit.ref)).document
    weights = [
        {"attribute": name, **own, "said": WEIGHTS.get(own["kind"], own["kind"])}
        for name, own in document["attributes"].items()
    ]
    families = dict(await _families(visit))
    return Page(
        "sensitivity.html",
        {
            "profile": document,
            "weights": weights,
            "family": families.get(document["family"], document["family"]),
            "viewpoint": dict(VIEWPOINTS).get(document["viewpoint"] or ""),
        },
    )


async def weigh(visit: Visit) -> Page:
    """The form: a weight per attribute."""
    return await _page(visit, Form())


async def weighed(visit: Visit, form: Form) -> Page | Response:
    """Make the profile; what is wrong stands beside its field."""
    dataset = (await visit.client.datasets.get(visit.ref)).document
    faults, attributes = name_faults(form), {}
    for field, attribute in _fields(dataset).items():
        try:
            weight = form.number(field, 0.0)
        except ValueError:
            weight = None
        if weight is None or weight < 0:
            faults.append(Fault(field, f"The weight of {attribute} is no number from 0.", "Give one."))
        else:
            attributes[attribute] = {"leaves": weight}
    if faults:
        return await _page(visit, form.with_faults(*faults))
    body: dict[str, Any] = {
        "name": form.text("name"),
        "dataset": dataset["name"],
        "family": form.text("family"),
        "attributes": attributes,
    }
    body |= {name: form.text(name) for name in ("unit", "viewpoint") if form.text(name)}
    try:
        made = await visit.client.sensitivity_profiles.create(body)
    except ProblemError as problem:
        return await _page(visit, form.refused(problem, _place))
    return RedirectResponse(address("sensitivity-profiles", made.name), 303)


def _place(place: str) -> str:
    """Weights of attributes have a field each; a conflict is told of no place: somebody has the name."""
    return "/".join([*place.split("/")[:2], "leaves"]) if place.startswith("attributes/") else place or "name"


def _fields(dataset: Json) -> dict[str, str]:
    """The field of each disclosed attribute: its place in the request."""
    return {
        "attributes/" + name.replace("~", "~0").replace("/", "~1") + "/leaves": name
        for name in heights_of(dataset)
    }


async def _families(visit: Visit) -> list[tuple[str, str]]:
    catalogue = await visit.client.catalogue()
    return [(one["name"], one["title"]) for one in catalogue["sensitivity_families"]]


async def _page(visit: Visit, form: Form) -> Page:
    dataset = (await visit.client.datasets.get(visit.ref)).document
    shown = {
        "dataset": dataset,
        "form": form,
        "fields": _fields(dataset),
        "roles": {one["name"]: one["role"] for one in dataset["attributes"]},
        "families": [(name, said) for name, said in await _families(visit) if name in OFFERED],
        "viewpoints": VIEWPOINTS,
    }
    return Page("sensitivity_weights.html", shown, 422 if form.faults else 200)
