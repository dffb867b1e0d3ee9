"""What there is: the first page, and the whole list of each kind."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import RedirectResponse, Response

from app.web import words
from app.web.forms import Form
from app.web.release_words import rows_of, title_of
from app.web.visits import Handler, Page, Visit
from app.web.words import address
from privacy_risk import AsyncClient, Json, ProblemError

NEWEST: Final = 6
"""Resources of each kind on the first page."""

SHOWN: Final = 25
"""Resources on a page of a list."""

KINDS: Final[Mapping[str, tuple[str, str]]] = {
    "datasets": ("Datasets", "Tables to be disclosed."),
    "uploads": ("Uploads", "Tables as they were sent, before it is said what their columns are."),
    "assessments": ("Assessments", "Scores of single rules."),
    "optimisations": ("Optimisations", "Questions for the best rule."),
    "frontiers": ("Frontiers", "All Pareto-optimal rules of risk and utility."),
    "rules": ("Rules", "What is shown of whom."),
    "evaluations": ("Verdicts", "Releases evaluated by a policy."),
    "policies": ("Policies", "What a release has to satisfy."),
    "runs": ("Runs", "Work in the background."),
    "hierarchies": ("Hierarchies", "How the values of an attribute generalise."),
    "dictionaries": ("Dictionaries", "What an attacker can look up, such as a census."),
    "sensitivity-profiles": ("Sensitivity profiles", "How much harm disclosure does."),
    "measurements": ("Measurements", "Single measures of a dataset or a rule."),
    "releases": ("Releases", "Tables as they are published."),
    "relational-schemas": ("Relational schemas", "The tables that views and secrets are queries of."),
    "mechanism-audits": ("Audits of mechanisms", "Attempts to refute what mechanisms promise."),
    "view-checks": ("View checks", "Whether views of a database disclose anything about secrets."),
}
"""Kinds of resource that have pages: the heading, and what they are."""

_FIRST: Final = ("datasets", "releases", "assessments", "optimisations", "evaluations", "runs", "policies")


async def overview(visit: Visit) -> Page:
    """The newest of everything."""
    pages = await asyncio.gather(*(_page(visit.client, kind, NEWEST, None) for kind in _FIRST))
    sections = [
        {"kind": kind, "title": KINDS[kind][0], "about": KINDS[kind][1], "items": items, "more": more}
        for kind, (items, more) in zip(_FIRST, pages, strict=True)
    ]
    is_empty = not sections[0]["items"]
    may_begin = {"data:write", "assess"} <= set(visit.key["scopes"])
    return Page(
        "overview.html",
        {"kinds": KINDS, "sections": sections, "is_empty": is_empty, "may_begin": is_empty and may_begin},
    )


def listing(kind: str) -> Handler:
    """The whole list of a kind, page by page."""

    async def page(visit: Visit) -> Page:
        items, more = await _page(visit.client, kind, SHOWN, visit.request.query_params.get("cursor"))
        title, about = KINDS[kind]
        return Page(
            "listing.html", {"kind": kind, "title": title, "about": about, "items": items, "more": more}
        )

    return page


async def make_example_data(visit: Visit, _: Form) -> Response:
    """Make the example data set, score its rule and look for the best one; what to look at then."""
    made = await visit.client.example_data.create()
    score, best = (request["body"] for request in made["next"])
    await visit.client.assessments.create(score)
    run = await visit.client.optimisations.start_run(best)
    return RedirectResponse(address("runs", run.id), 303)


async def _page(
    client: AsyncClient, kind: str, limit: int, cursor: str | None
) -> tuple[list[Json], str | None]:
    """Part of a list, each item with its name, what to say of it, and where it is."""
    try:
        if kind == "runs":
            runs = await client.runs.page(limit=limit, cursor=cursor)
            return [_run(one.document) for one in runs.items], runs.next_cursor
        resources = await getattr(client, kind.replace("-", "_")).page(limit=limit, cursor=cursor)
    except ProblemError as problem:
        if problem.status in (401, 422):
            raise
        return [], None
    found = resources.items
    if kind == "evaluations":
        # Their list has no verdicts, which are what is looked for in it.
        found = await asyncio.gather(*(client.evaluations.get(one.name) for one in found))
    return [_resource(kind, one.document) for one in found], resources.next_cursor


def _resource(kind: str, document: Json) -> Json:
    return {
        "name": title_of(document, _UNNAMED[kind]) if kind in _UNNAMED else document["name"],
        "href": address(kind, document["name"]),
        "table": document.get("dataset"),
        "facts": _FACTS[kind](document),
        "at": document["created_at"],
    }


_UNNAMED: Final = {"releases": "release", "optimisations": "best release"}
"""What those are called that pages made without asking for a name."""


def _run(document: Json) -> Json:
    resource = document["resource"]
    return {
        "name": resource["name"],
        "href": address("runs", document["id"]),
        "facts": [document["state"], resource["kind"]],
        "at": document["created_at"],
    }


def _named(document: Json, *keys: str) -> list[Any]:
    return [document[key] for key in keys if document.get(key)]


def _rule_name(document: Json) -> list[Any]:
    rule = document.get("rule") or {}
    return [rule.get("name") or rule.get("kind") or "rule"]


_FACTS: Final[Mapping[str, Any]] = {
    "datasets": lambda d: [f"{d['rows']:,} records", f"{len(d['attributes'])} columns", d["status"]],
    "uploads": lambda d: [f"{d['rows']:,} records", f"{len(d['columns'])} columns", d["format"]],
    "assessments": lambda d: [*_rule_name(d), *(f"against {name}" for name in _named(d, "dictionary"))],
    "optimisations": lambda d: [words.objective(d["objective"]), d["dataset"]],
    "frontiers": lambda d: _named(d, "dataset", "scope"),
    "rules": lambda d: _named(d, "dataset", "kind"),
    "evaluations": lambda d: [
        d["result"]["verdict"] if d["result"] else "no verdict yet",
        *(["revoked"] if d.get("revocation") else []),
        f"{d['policy']['name']}@{d['policy']['version']}",
        d["dataset"] or f"{d['views']:,} views",
    ],
    "policies": lambda d: _named(d, "title"),
    "hierarchies": lambda d: [f"{d['leaves']:,} values", f"{d['height']} levels", d["kind"]],
    "dictionaries": lambda d: [f"{d['entities']:,} entities"],
    "sensitivity-profiles": lambda d: _named(d, "dataset", "family"),
    "measurements": lambda d: [d["measure"], d["dataset"]],
    "releases": lambda d: [f"{d['rows']:,} {rows_of(d)}"],
    "relational-schemas": lambda d: [f"relations: {d['n_relations']:,}", f"warnings: {len(d['warnings']):,}"],
    "mechanism-audits": lambda d: [
        d["mechanism"],
        f"ε = {d['epsilon']:g}, δ = {d['delta']:g}",
        "exact" if d["runs"] is None else f"{d['runs']:,} draws of each table",
    ],
    "view-checks": lambda d: [f"secrets: {d['n_secrets']}", f"views: {d['n_views']}", d["language"]],
}
