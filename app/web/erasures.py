"""Deleting with what is built on it: a page lists what goes; then all of it goes or, in doubt, no more."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, Final

from starlette.responses import RedirectResponse, Response

from app.web.data import LOOKED_THROUGH
from app.web.forms import Form, FormHandler
from app.web.overview import KINDS
from app.web.visits import Handler, Page, Visit, found
from app.web.words import address, is_ref
from privacy_risk import Json, ProblemError

Thing = tuple[str, str]
"""A kind, as in addresses, and a name."""

DELETED: Final = ("datasets", "uploads", "releases")
"""Kinds that pages delete; what is built on one of these is of any kind."""

_REFERRED: Final = {
    "dataset": "datasets",
    "upload": "uploads",
    "from_dataset": "datasets",
    "dictionary": "dictionaries",
    "sensitivity": "sensitivity-profiles",
    "failure": "sensitivity-profiles",
    "rule": "rules",
    "release": "releases",
}
"""Members of documents that name what they are built on, and of what kind that is."""

_BUILT: Final = (
    "datasets", "dictionaries", "sensitivity-profiles", "rules", "assessments", "optimisations", "frontiers",
    "measurements", "releases", "evaluations",
)  # fmt: skip
"""Kinds that are looked through; what else uses it the interface names when it refuses."""

_IRREGULAR: Final = {"dictionary": "dictionaries", "hierarchy": "hierarchies", "policy": "policies"}


def confirm(kind: str) -> Handler:
    """What goes with it, to be confirmed."""

    async def page(visit: Visit) -> Page:
        own = (await _collection(visit, kind).get(visit.ref)).document
        return _page((kind, own["name"]), await _built_on(visit, (kind, own["name"])))

    return page


def erase(kind: str) -> FormHandler:
    """Delete what was confirmed; what else turns out to use it is listed first."""

    async def send(visit: Visit, form: Form) -> Page | Response:
        target = (kind, visit.ref)
        confirmed = {thing for text in form.sent.get("goes", ()) if (thing := _thing(text))}
        refused = await _erased(visit, target, confirmed)
        if refused is None:
            return RedirectResponse(address(kind), 303)
        problem, users = refused
        listed = dict.fromkeys([*await _built_on(visit, target), *users])
        return _page(target, list(listed), problem)

    return send


async def _erased(
    visit: Visit, target: Thing, confirmed: set[Thing]
) -> tuple[ProblemError, list[Thing]] | None:
    """Delete it, and before it what uses it; None when it is gone, else what refused, and because of whom."""
    waiting = [target]
    while waiting:
        kind, name = waiting[-1]
        try:
            await _collection(visit, kind).delete(name)
        except ProblemError as problem:
            if problem.status == 404 and len(waiting) > 1:  # it was listed as the user of several
                waiting.pop()
                continue
            users = list(_users(problem))
            if not users or not set(users) <= confirmed:
                if problem.status == 409:
                    return problem, users
                raise
            waiting += users
        else:
            waiting.pop()
    return None


async def _built_on(visit: Visit, target: Thing) -> list[Thing]:
    """What names the target in its document, or names what does: among the newest of each kind."""
    pages = await asyncio.gather(
        *(found(_collection(visit, kind).page(limit=LOOKED_THROUGH)) for kind in _BUILT)
    )
    uses = {
        (kind, one.name): set(_references(one.document))
        for kind, page in zip(_BUILT, pages, strict=True)
        for one in (page.items if page else ())
    }
    known, edge = [target], {target}
    while edge:
        edge = {thing for thing, of in uses.items() if of & edge and thing not in known}
        known += sorted(edge)
    return known[1:]


def _references(document: Json) -> Iterator[Thing]:
    for member, kind in _REFERRED.items():
        own = document.get(member)
        name = own.get("name") if isinstance(own, dict) else own
        if isinstance(name, str):
            yield kind, name


def _users(problem: ProblemError) -> Iterator[Thing]:
    """Who uses what could not be deleted, as the interface names them."""
    for user in problem.document.get("details", {}).get("users", ()):
        kind = _IRREGULAR.get(user["kind"], f"{user['kind']}s")
        yield kind.replace("_", "-"), user["name"]


def _thing(text: str) -> Thing | None:
    """What a field of the form names; None of what cannot be deleted so."""
    kind, _, name = text.partition("/")
    return (kind, name) if kind in KINDS and kind != "runs" and is_ref(name) else None


def _collection(visit: Visit, kind: str) -> Any:  # noqa: ANN401 - a collection of the client
    return getattr(visit.client, kind.replace("-", "_"))


def _page(target: Thing, listed: list[Thing], problem: ProblemError | None = None) -> Page:
    own = [(kind, name, KINDS.get(kind, (kind.replace("-", " ").capitalize(),))[0]) for kind, name in listed]
    said = None if problem is None else str(problem.document.get("detail", ""))
    shown = {"kind": target[0], "name": target[1], "listed": own, "said": said}
    return Page("erase.html", shown, 200 if problem is None else 409)
