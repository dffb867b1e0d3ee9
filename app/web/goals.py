"""What a release is to reach: the form that asks for the best one, and the search that it starts."""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.responses import RedirectResponse, Response

from app.web import goal_terms
from app.web.data import LOOKED_THROUGH, of_dataset
from app.web.forms import Fault, Form
from app.web.goal_terms import Asked, Subject, asked_in, fields_of
from app.web.visits import Page, Visit, found
from app.web.words import ROWS_SAID, address
from privacy_risk import Json, ProblemError
from privacy_risk.loading import content_name

_AT_ONCE_SECONDS: Final = 4
"""A search that takes no longer is answered by the release; any other by its run, to be followed."""


async def goal(visit: Visit) -> Page:
    """The form, with what is recommended for these data, or with what an optimisation was asked."""
    subject = await _subject(visit)
    asked_before = visit.asked("from")
    before = None if asked_before is None else await found(visit.client.optimisations.get(asked_before))
    fields = None if before is None else fields_of(before.document)
    if fields is None:
        return _page(subject, Form())
    # Of what it did not ask nothing is recommended now.
    nothing = {f"{letter}/{name}": "" for letter in ("l", "t", "beta") for name in subject.diverse}
    given = {**(nothing if fields["template"] in ("l", "t", "beta") else {}), **fields}
    return _page(subject, Form({name: [value] for name, value in given.items()}))


async def set_goal(visit: Visit, form: Form) -> Page | Response:
    """Start the search for the best release: its page if it is found at once, else that of its run.

    Its name is made of that of the dataset, the question and the content: the same goal again leads to the
    same answer.
    """
    subject = await _subject(visit)
    if subject.doubt:
        return _page(subject, form.with_faults(Fault("", subject.doubt, f"To say it: {ROWS_SAID}.")))
    asked = asked_in(form, subject)
    if not isinstance(asked, Asked):
        return _page(subject, form.with_faults(*asked))
    question = asked.question
    name = content_name(f"{subject.name[:40]}-goal", {**question, "dataset_sha256": subject.sha256})
    try:
        run = await visit.client.optimisations.start_run(
            {"name": name, **question}, wait_seconds=_AT_ONCE_SECONDS
        )
    except ProblemError as problem:
        return _page(subject, form.refused(problem, asked.place))
    if run.state == "succeeded":
        return RedirectResponse(address("optimisations", name, "release"), 303)
    return RedirectResponse(address("runs", run.id, follow="yes"), 303)


async def _subject(visit: Visit) -> Subject:
    """The dataset that the address names, with the registers that an attacker of it could have."""
    dataset = (await visit.client.datasets.get(visit.ref)).document
    profile, dictionaries, sensitivities = await asyncio.gather(
        visit.client.datasets.profile(dataset["name"], limit=1),
        visit.client.dictionaries.page(limit=LOOKED_THROUGH),
        of_dataset(visit, "sensitivity_profiles", dataset["name"]),
    )
    registers = [one.document for one in dictionaries.items if _fits(one.document, dataset)]
    return Subject.of(
        dataset,
        profile,
        tuple(one["name"] for one in registers),
        tuple(one["name"] for one in sensitivities),
    )


def _fits(dictionary: Json, dataset: Json) -> bool:
    """Whether every link of a dictionary is to an attribute of the dataset, by the same hierarchy."""
    own = {one["name"]: one["hierarchy"] for one in dataset["attributes"]}
    links = dictionary["links"]
    return bool(links) and all(own.get(link["attribute"]) == link["hierarchy"] for link in links)


def _page(subject: Subject, form: Form) -> Page:
    return Page(
        "goal.html",
        {"subject": subject, "form": form, "terms": goal_terms},
        422 if form.faults else 200,
    )
