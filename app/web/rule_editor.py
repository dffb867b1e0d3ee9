"""A rule made by hand: a level per attribute, with its scores beside it before it is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from starlette.responses import RedirectResponse, Response

from app.web.choices import NONE, Choices, attackers, names_of_dataset, offered
from app.web.forms import Fault, Form
from app.web.measured import WHOLE_LOSS
from app.web.new_names import name_faults
from app.web.rules import sample_of
from app.web.visits import Page, Visit, found
from app.web.words import address, heights_of
from privacy_risk import Json, ProblemError
from privacy_risk.collection import Answered
from privacy_risk.pools import AwaitedPool

LEVELS: Final = "rule/levels/"
"""What the name of an attribute's field begins with: its place in the request."""
SMALLEST: Final = "rule/suppress_classes_below"
_STATE: Final = (SMALLEST, "dictionary", "sensitivity")

GENERATIONS: Final = 10
"""As many does the interface show at once; of higher hierarchies the lowest levels have no example."""


async def editor(visit: Visit) -> Page:
    """The rule that the query describes, and its scores."""
    query = visit.request.query_params
    form = Form({name: query.getlist(name) for name in query})
    return await _page(visit, form)


async def edited(visit: Visit, form: Form) -> Page | Response:
    """Show the rule, by an address that can be handed on, or store it under its name."""
    state = {name: sent[0] for name, sent in form.sent.items() if name in _STATE or name.startswith(LEVELS)}
    if form.text("do") != "store":
        return RedirectResponse(address("datasets", visit.ref, "rule", **state) + "#scores", 303)
    dataset = (await visit.client.datasets.get(visit.ref)).document
    asked = _asked(form, heights_of(dataset))
    faulty = (asked if isinstance(asked, Form) else form).with_faults(*name_faults(form))
    if faulty.faults or isinstance(asked, Form):
        return await _page(visit, faulty)
    body = {"name": form.text("name"), "dataset": dataset["name"], "rule": asked}
    try:
        rule = await visit.client.rules.create(body)
    except ProblemError as problem:
        return await _page(visit, form.refused(problem, _place))
    return RedirectResponse(address("rules", rule.name), 303)


def _place(place: str) -> str:
    """A conflict is told of no place: somebody has the name."""
    return place or "name"


def _asked(form: Form, heights: Mapping[str, int]) -> Json | Form:
    """The rule that the fields describe; the form with its faults if they describe none."""
    faults: list[Fault] = []
    levels: dict[str, int] = {}
    for attribute, height in heights.items():
        written = form.text(LEVELS + _escaped(attribute), "0")
        if not (written.isascii() and written.isdecimal()) or int(written[:9]) > height:
            said = f"{attribute} has no such level."
            faults.append(Fault(LEVELS + _escaped(attribute), said, f"Choose 0 to {height}."))
        else:
            levels[attribute] = int(written)
    rule: dict[str, Any] = {"kind": "table_level", "levels": levels}
    smallest = form.text(SMALLEST)
    if smallest and not (smallest.isascii() and smallest.isdecimal() and 2 <= int(smallest[:12]) <= 2**31):
        faults.append(
            Fault(SMALLEST, "This is no number of records.", "Give a whole number from 2, or nothing.")
        )
    elif smallest:
        rule["suppress_classes_below"] = int(smallest)
    return form.with_faults(*faults) if faults else rule


def _escaped(attribute: str) -> str:
    """An attribute as a part of a place in the notation of RFC 6901."""
    return attribute.replace("~", "~0").replace("/", "~1")


@dataclass(frozen=True)
class Preview:
    """What is known of a rule that is not stored: each part None where it cannot be had."""

    classes: Json | None = None
    loss: Json | None = None
    score: Json | None = None
    sample: Json | None = None
    notes: tuple[str, ...] = ()


async def _page(visit: Visit, form: Form) -> Page:
    dataset = (await visit.client.datasets.get(visit.ref)).document
    heights = heights_of(dataset)
    dictionaries, profiles, start, labels = await asyncio.gather(
        attackers(visit),
        names_of_dataset(visit, "sensitivity_profiles", dataset["name"]),
        _start(visit, dataset["name"]),
        asyncio.gather(*(_labels(visit, dataset["name"], name, height) for name, height in heights.items())),
    )
    is_previewed = any(name.startswith(LEVELS) for name in form.sent)
    preview = Preview()
    if is_previewed and not form.faults:
        form, preview = await _previewed(visit, form, dataset["name"], heights)
    fields = [
        {"name": LEVELS + _escaped(name), "attribute": name, "levels": shown, "level": start.get(name, 0)}
        for (name, _), shown in zip(heights.items(), labels, strict=True)
    ]
    shown = {
        "dataset": dataset,
        "fields": fields,
        "dictionaries": [NONE, *dictionaries],
        "profiles": [NONE, *offered(profiles)],
        "form": form,
        "preview": preview,
        "is_previewed": is_previewed and not form.faults,
    }
    return Page("rule_editor.html", shown, 422 if form.faults else 200)


async def _start(visit: Visit, dataset: str) -> Mapping[str, int]:
    """The levels of the stored rule that the query names, where it has any."""
    name = visit.asked("from")
    rule = None if name is None else await found(visit.client.rules.get(name))
    if rule is None or rule.document["dataset"] != dataset:
        return {}
    return rule.document["levels"] or {}


async def _labels(visit: Visit, dataset: str, attribute: str, height: int) -> Choices:
    """The levels of an attribute, each with what it makes of one value."""
    tree = await found(
        visit.client.datasets.tree(dataset, quote(attribute, safe=""), depth=GENERATIONS, limit=1)
    )
    chain = [] if tree is None else _first_chain(tree["root"])
    return [(str(level), level_in_words(level, height, chain)) for level in range(height + 1)]


def _first_chain(node: Json) -> list[str]:
    """The labels from a node down to the first value below it."""
    chain = [node["label"]]
    while node["children"]:
        node = node["children"][0]
        chain.append(node["label"])
    return chain


def level_in_words(level: int, height: int, chain: list[str]) -> str:
    """A level with the example that a chain from the top down gives of it."""
    if level == height:
        return f"{level}: suppressed"
    depth = height - level
    example = chain[depth] if depth < len(chain) else chain[-1] if 1 < len(chain) <= GENERATIONS else None
    what = f"{level}: as it is" if level == 0 else str(level)
    if example is None:
        return what
    return f"{what}, such as {example}" if level == 0 else f"{what}: such as {example}"


async def _previewed(
    visit: Visit, form: Form, dataset: str, heights: Mapping[str, int]
) -> tuple[Form, Preview]:
    rule = _asked(form, heights)
    if isinstance(rule, Form):
        return rule, Preview()
    about: dict[str, Any] = {"dataset": dataset, "rule": rule}
    measurements, assessments = visit.client.measurements, visit.client.assessments
    notes: list[str] = []
    try:
        counted = {**about, "measure": {"kind": "equivalence_classes"}}
        classes = await _unless_costly(measurements, counted, notes)
        loss = await _unless_costly(measurements, {**about, "measure": WHOLE_LOSS}, notes)
        score = None
        if form.text("dictionary") and form.text("sensitivity"):
            against = {name: form.text(name) for name in ("dictionary", "sensitivity")}
            score = await _unless_costly(assessments, {**about, **against}, notes)
    except ProblemError as problem:
        return form.refused(problem), Preview()
    sample = await sample_of(visit, dataset, rule)
    if sample is not None:
        sample = {**sample, "previous": None, "next": None}
    return form, Preview(classes, loss, score, sample, tuple(dict.fromkeys(notes)))


async def _unless_costly(questions: Answered[AwaitedPool], body: Json, notes: list[str]) -> Json | None:
    """The result; None, with a note, where the key may not ask, or the work is too much for a preview."""
    try:
        if (await questions.plan(body))["route"] == "run":
            notes.append("This takes too long to be scored here: store the rule, then score it by a run.")
            return None
        result: Json = (await questions.create(body)).document["result"]
    except ProblemError as problem:
        if problem.status == 403:
            notes.append("Your key may not score rules (scope assess).")
        elif problem.code == "not-supported":
            notes.append(str(problem.document.get("detail", "")))
        else:
            raise
        return None
    return result
