"""Releases of each table beside each other: the list by table, what sets several apart, withdrawing one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from starlette.responses import RedirectResponse, Response

from app.web.forms import Form
from app.web.measured import before_and_after
from app.web.release_words import columns_of, rows_of, title_of
from app.web.visits import NoSuchPage, Page, Visit, found
from app.web.words import address, is_ref
from privacy_risk import Json

SHOWN: Final = 100
"""Releases on a page of the list."""

MOST_COMPARED: Final = 4


def by_table(releases: Sequence[Json]) -> list[dict[str, Any]]:
    """The releases of each table, the table of the newest one first."""
    tables: dict[str, list[Json]] = {}
    for own in releases:
        tables.setdefault(own["dataset"], []).append({**own, "title": title_of(own), "rows_of": rows_of(own)})
    return [{"dataset": name, "releases": own} for name, own in tables.items()]


async def ledger(visit: Visit) -> Page:
    """All releases by table, of which several can be picked to be compared."""
    page = await visit.client.releases.page(limit=SHOWN, cursor=visit.request.query_params.get("cursor"))
    tables = by_table([one.document for one in page.items])
    return Page("releases.html", {"tables": tables, "more": page.next_cursor, "said": None})


async def compared(visit: Visit) -> Page:
    """The picked releases beside each other: what each shows, and what was measured of it."""
    names = list(dict.fromkeys(visit.request.query_params.getlist("release")))
    if not all(is_ref(name) for name in names):
        raise NoSuchPage
    if not 2 <= len(names) <= MOST_COMPARED:
        shown = await ledger(visit)
        said = f"Pick two to {MOST_COMPARED} releases to be compared."
        return Page(shown.template, {**shown.shown, "said": said}, 422)
    columns = await asyncio.gather(*(_column(visit, name) for name in names))
    figures = list(dict.fromkeys(title for own in columns for title in own["figures"]))
    attributes = list(dict.fromkeys(name for own in columns for name in own["shown"]))
    return Page("compared_releases.html", {"columns": columns, "figures": figures, "attributes": attributes})


async def _column(visit: Visit, name: str) -> dict[str, Any]:
    """What is told of one of the releases."""
    release = (await visit.client.releases.get(name)).document
    told: dict[str, Any] = {"release": release, "title": title_of(release), "figures": {}, "shown": {}}
    drawn, rule_name = release.get("mechanism"), release["rule"]["name"]
    if drawn is not None:
        return {
            **told,
            "shown": dict.fromkeys(release["columns"], "as the mechanism leaves it"),
        }
    dataset, rule = await asyncio.gather(
        found(visit.client.datasets.get(release["dataset"])), found(visit.client.rules.get(rule_name))
    )
    if dataset is None or rule is None:
        return told
    rows, lost = await before_and_after(visit, dataset.document, rule.document, ())
    losses = {own["attribute"]: own["loss"] for own in (lost or {}).get("attributes", ())}
    levels = rule.document["levels"]
    columns = [] if levels is None else columns_of(dataset.document, levels, losses, {})
    return {
        **told,
        "figures": {row["title"]: row for row in rows},
        "shown": {own["name"]: own["shown"] for own in columns},
        "losses": losses,
    }


async def withdraw(visit: Visit, _: Form) -> Response:
    """Give the table of a release that a mechanism drew out no more."""
    await visit.client.releases.withdraw(visit.ref)
    return RedirectResponse(address("releases", visit.ref), 303)
