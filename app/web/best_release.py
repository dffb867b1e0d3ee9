"""The best release that a search has found: in words, before and after, and what can be done with it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from typing import Any, Final

from starlette.responses import RedirectResponse, Response

from app.web.alternatives import TITLES, chosen, columns_mixed, compared, is_compared
from app.web.data import LOOKED_THROUGH
from app.web.forms import Fault, Form, as_name
from app.web.goal_terms import Subject, fields_of
from app.web.measured import before_and_after
from app.web.release_words import columns_of, examples_of, sentences
from app.web.rules import sample_of
from app.web.searches import Search, map_of
from app.web.visits import NoSuchPage, Page, Visit, found
from app.web.words import address, heights_of
from privacy_risk import Json, ProblemError
from privacy_risk.columns import Column, Roles
from privacy_risk.release_policy import policy_of, with_reasons
from privacy_risk.usual import APART, OTHERS


async def best_release(visit: Visit) -> Page:
    """What a search has found as a release; why there is none; or how far it is."""
    return await _page(visit, Form())


async def _page(visit: Visit, naming: Form) -> Page:
    """The page; ``naming`` is what was sent to make the release, with what is wrong with its name."""
    search = (await visit.client.optimisations.get(visit.ref)).document
    result = search["result"]
    shown: dict[str, Any] = {"search": search, "result": result, "fields": fields_of(search)}
    if result is None:
        run = await found(visit.client.runs.get(search["name"]))
        return Page("best_release.html", {**shown, "run": None if run is None else run.document})
    is_one = visit.asked("alternative") is not None
    if is_compared(search) and result["alternatives"] and not is_one:
        return Page("alternatives.html", {**shown, **compared(search, shown["fields"])})
    if not (result["alternatives"] if is_compared(search) else result["rule"]):
        dataset = (await visit.client.datasets.get(search["dataset"])).document
        profile = await visit.client.datasets.profile(dataset["name"], limit=1)
        subject = Subject.of(dataset, profile, (), ())
        return Page("no_release.html", {**shown, "others": list(_less(shown["fields"], subject, result))})
    name, result = chosen(search, visit.asked("alternative"))
    facts, releases = await asyncio.gather(
        facts_of(visit, search["dataset"], name, result), _releases_of(visit, search["dataset"])
    )
    points = Search("optimisations", search, heights_of(facts["dataset"]))
    own_map = await map_of(visit, points) if points.points else {"map": None}
    return Page(
        "best_release.html",
        {
            **shown,
            **facts,
            **own_map,
            "result": result,
            "title": TITLES[result["id"]] if is_compared(search) else "The best release found",
            "release": releases.get(name),
            "naming": naming,
            "free_name": _free_name(search, visit.asked("alternative"), releases),
            "form": Form(),
            "has_policy": _has_policy(shown["fields"]),
        },
        422 if naming.faults else 200,
    )


async def _releases_of(visit: Visit, dataset: str) -> dict[str, Json]:
    """The newest releases of the table, by the names of their rules."""
    page = await visit.client.datasets.releases(dataset, limit=LOOKED_THROUGH)
    return {one.document["rule"]["name"]: one.document for one in reversed(page.items)}


def _free_name(search: Json, alternative: str | None, releases: dict[str, Json]) -> str:
    """What a release of the table may be called that nobody names: like the table, and what was chosen."""
    stem = f"{search['dataset']}-{as_name((alternative or 'release').replace('_', '-'))}"
    taken = {own["name"] for own in releases.values()}
    names = itertools.chain([stem], (f"{stem}-{n}" for n in itertools.count(2)))
    return next(name for name in names if name not in taken)


async def facts_of(visit: Visit, dataset_name: str, rule_name: str, result: Json | None) -> dict[str, Any]:
    """What is told of a dataset under a stored rule; ``result`` is that of the search that found it."""
    dataset, rule = await asyncio.gather(
        visit.client.datasets.get(dataset_name), visit.client.rules.get(rule_name)
    )
    privacy = [own["criterion"] for own in (result or {}).get("privacy") or ()]
    (figures, lost), sample = await asyncio.gather(
        before_and_after(visit, dataset.document, rule.document, privacy),
        sample_of(visit, dataset_name, rule_name),
    )
    levels = rule.document["levels"]
    suppressed = (result or {}).get("suppressed_records")
    if suppressed is None and lost is not None:
        suppressed = lost["judged"]["records_suppressed"]
    losses = {} if lost is None else {own["attribute"]: own["loss"] for own in lost["attributes"]}
    columns = [] if levels is None else columns_of(dataset.document, levels, losses, examples_of(sample))
    if levels is None and "columns" in (result or {}):
        columns = columns_mixed(dataset.document, result or {})
    smallest = next((row["after"] for row in figures if row["name"] == "k"), None)
    if smallest is None:
        smallest = (result or {}).get("smallest_class")
    rows = dataset.document["rows"]
    return {
        "dataset": dataset.document,
        "columns": columns,
        "figures": figures,
        "sample": sample,
        "suppressed": suppressed or 0,
        "sentences": list(sentences(columns, rows, smallest, suppressed or 0, result)),
        "singles_out": smallest == 1,
        "is_empty": bool(columns)
        and all(own["level"] == own["height"] for own in columns if own["role"] == "quasi_identifier"),
    }


_LIMITS: Final = (2.0, 5.0, 10.0, 20.0)
"""Suppression limits that are offered, in per cent."""


def _less(fields: dict[str, str] | None, subject: Subject, result: Json) -> Iterator[dict[str, Any]]:
    """Goals that ask for less than one that no rule meets: what each gives up, and its fields."""
    if fields is None:
        return
    if "floor" in fields:
        floor = float(fields["floor"]) / 2
        yield {"said": f"Ask for a utility of {floor:g}", "fields": {**fields, "floor": f"{floor:g}"}}
        return
    refused = [own["criterion"] for own in result.get("infeasible_because", ()) if own["criterion"]]
    if fields["others"] == "in_classes" and len(subject.sensitive) > 1:
        said = f"Take it that whoever knows somebody {OTHERS[APART]}"
        yield {"said": said, "fields": {**fields, "others": APART}}
    for own in refused:
        name, field = own.get("attribute"), f"l/{own.get('attribute')}"
        if field in fields and int(fields[field]) > 2 and own["kind"] == "distinct_l_diversity":
            fewer = min(int(fields[field]) - 1, subject.sensitive.get(name, 2))
            yield {"said": f"Ask for ℓ = {fewer} of {name}", "fields": {**fields, field: f"{fewer}"}}
    if refused:
        # Neither smaller classes nor fewer records change what all of them as one class do not meet.
        return
    if int(fields["k"]) > 2:
        fewer = max(int(fields["k"]) // 2, 2)
        yield {"said": f"Ask for k = {fewer}", "fields": {**fields, "k": f"{fewer}"}}
    limit = next((own for own in _LIMITS if own > float(fields["suppressed"])), None)
    if limit is not None:
        said = f"Allow up to {limit:g} % of the records to be suppressed"
        yield {"said": said, "fields": {**fields, "suppressed": f"{limit:g}"}}


_NO_NAME: Final = Fault("name", "The release has no name.", "Say whom or what it is for.")


async def make_release(visit: Visit, form: Form) -> Page | Response:
    """Store the release of the rule that was found, under the name that it is given.

    It is in the dataset's ledger then, and can be downloaded.
    """
    search = (await visit.client.optimisations.get(visit.ref)).document
    asked = visit.asked("alternative")
    rule = chosen(search, asked)[0]
    releases = await _releases_of(visit, search["dataset"])
    if rule not in releases:  # a second tab, or the back button, makes nothing twice
        name = as_name(form.text("name", _free_name(search, asked, releases)))
        if not name:
            return await _page(visit, form.with_faults(_NO_NAME))
        try:
            await visit.client.releases.create({"name": name, "dataset": search["dataset"], "rule": rule})
        except ProblemError as problem:
            return await _page(visit, form.refused(problem, lambda _: "name"))
    place = address("optimisations", search["name"], "release", alternative=asked)
    return RedirectResponse(f"{place}#download", 303)


async def save_policy(visit: Visit, form: Form) -> Response:
    """Store the policy that asks the same of the next release, with the reasons that were given; show it."""
    search = (await visit.client.optimisations.get(visit.ref)).document
    if not _has_policy(fields_of(search)):
        raise NoSuchPage
    objective, dataset = search["objective"], await visit.client.datasets.get(search["dataset"])
    upload = await found(visit.client.uploads.get(dataset.document["upload"]))
    roles = _roles(dataset.document, [] if upload is None else upload.document["columns"])
    banded = objective.get("persons_per_value") or {}
    reasons = {name: form.text(f"reason/{name}") for name in roles.of("sensitive") if name not in banded}
    reading = await visit.client.datasets.reading(search["dataset"])
    policy = policy_of(objective, roles, reading)
    policy = with_reasons(policy, reasons)
    await visit.client.policies.create(policy)
    ref = f"{policy['name']}@{policy['version']}"
    name = chosen(search, visit.asked("alternative"))[0]
    return RedirectResponse(address("policies", ref, dataset=search["dataset"], rule=name), 303)


def _has_policy(fields: dict[str, str] | None) -> bool:
    """Whether a policy can ask for what was asked of a search: for criteria of classes alone."""
    return fields is not None and fields["template"] != "register"


def _roles(dataset: Json, columns: list[str]) -> Roles:
    """The roles of the dataset's columns, and of others of its upload, which do not leave."""
    own = {
        attribute["name"]: Column(attribute["name"], attribute["type"], attribute["role"], "service", "")
        for attribute in dataset["attributes"]
    }
    left_out = [name for name in columns if name not in own]
    order = columns or list(own)
    dropped = {name: Column(name, "text", "other", "service", "") for name in left_out}
    return Roles(tuple({**own, **dropped}[name] for name in order), dataset.get("rows_are"))
