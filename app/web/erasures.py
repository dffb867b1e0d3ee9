"""Deleting with what is built on it: a page lists what goes; then all of it goes, or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from starlette.responses import RedirectResponse, Response

from app.web.forms import Form, FormHandler
from app.web.overview import KINDS
from app.web.visits import Handler, Page, Visit
from app.web.words import address
from privacy_risk import Json, ProblemError

DELETED: Final = ("datasets", "uploads", "releases")
"""Kinds that pages delete; what is built on one of these is of any kind."""


def confirm(kind: str) -> Handler:
    """What goes with it, to be confirmed."""

    async def page(visit: Visit) -> Page:
        try:
            *listed, own = await _collection(visit, kind).dependents(visit.ref)
        except ProblemError as problem:
            if problem.status != 409:
                raise
            return _page(kind, visit.ref, problem.document["details"]["users"], is_at_work=True)
        return _page(kind, own["name"], listed)

    return page


def erase(kind: str) -> FormHandler:
    """Delete what was confirmed; what has come to it since is listed first."""

    async def send(visit: Visit, form: Form) -> Page | Response:
        *listed, own = await _collection(visit, kind).dependents(visit.ref)
        if not {_place(one) for one in listed} <= set(form.sent.get("goes", ())):
            return _page(kind, own["name"], listed, is_new=True)
        await _collection(visit, kind).delete(visit.ref, with_dependents=True)
        return RedirectResponse(address(kind), 303)

    return send


def _collection(visit: Visit, kind: str) -> Any:  # noqa: ANN401 - a collection of the client
    return getattr(visit.client, kind)


def _place(one: Json) -> str:
    """The kind, as in addresses, and the name."""
    return f"{one['href'].split('/')[2]}/{one['name']}"


def _page(
    kind: str, name: str, listed: Sequence[Json], *, is_new: bool = False, is_at_work: bool = False
) -> Page:
    """The list; ``is_new`` if it holds what was not confirmed, ``is_at_work`` if it is of runs that go on."""
    things = []
    for one in listed:
        own = one["href"].split("/")[2]
        title = KINDS[own][0] if own in KINDS else own.replace("-", " ").capitalize()
        link = address(own, one["name"]) if own in KINDS else None
        things.append({"place": _place(one), "name": one["name"], "title": title, "link": link})
    shown = {"kind": kind, "name": name, "listed": things, "is_new": is_new, "is_at_work": is_at_work}
    return Page("erase.html", shown, 409 if is_new else 200)
