"""A run: how far it is, live where the browser can follow it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Final

from starlette.responses import RedirectResponse, Response, StreamingResponse

from app.web.visits import Page, Visit, found
from app.web.words import address, number
from privacy_risk import Json
from privacy_risk import Run as RunDocument

_SECONDS_BETWEEN: Final = 1
_MOST_LOOKS: Final = 600
"""A stream ends after that many looks; the browser begins another."""

RESULTS: Final = {
    "optimisation": ("optimisations", "release"),
    "assessment": ("assessments",),
    "frontier": ("frontiers",),
    "evaluation": ("evaluations",),
    "view_check": ("view-checks",),
    "mechanism_audit": ("mechanism-audits",),
}
"""Kinds whose results have a page: what stands before its name, and behind it."""


async def run(visit: Visit) -> Page | Response:
    """A run as it stands; whoever follows it is led on to its result."""
    seen = await visit.client.runs.get(visit.ref)
    place = await _place_of_result(visit, seen)
    if seen.state == "succeeded" and place is not None and visit.asked("follow"):
        return RedirectResponse(place, 303)
    return Page(
        "run.html",
        {
            "run": seen.document,
            "is_final": seen.is_final,
            "told": told(seen),
            "result": place,
        },
    )


async def _place_of_result(visit: Visit, seen: RunDocument) -> str | None:
    """The page of what the run works on; None if there is none, or none yet."""
    resource = seen.document["resource"]
    if resource["kind"] == "draw":
        # A release has a page once it is drawn, and perhaps another name than was asked for.
        made = await found(visit.client.runs.result(seen.id))
        return None if made is None else address("releases", made["release"])
    page = RESULTS.get(resource["kind"])
    return None if page is None else address(page[0], resource["name"], *page[1:])


async def progress(visit: Visit) -> Response:
    """The same as server-sent events, an event for each look at the run, until it is final."""
    first = await visit.client.runs.get(visit.ref)
    return StreamingResponse(
        _events(visit, first), media_type="text/event-stream", headers={"Cache-Control": "no-store"}
    )


async def _events(visit: Visit, seen: RunDocument) -> AsyncIterator[str]:
    said = None
    # The client of the visit is closed by the time that a stream is sent.
    async with visit.client_again() as client:
        for _ in range(_MOST_LOOKS):
            if told(seen) != said:
                said = told(seen)
                yield f"data: {json.dumps(said)}\n\n"
            if seen.is_final:
                return
            if await visit.request.is_disconnected():
                return
            began = time.monotonic()
            seen = await client.runs.get(seen.id, wait_seconds=_SECONDS_BETWEEN)
            if not seen.is_final:  # a service that ends lets nobody wait
                await asyncio.sleep(_SECONDS_BETWEEN - (time.monotonic() - began))


def told(seen: RunDocument) -> Json:
    """State and progress in words and as a share."""
    progress = seen.progress
    done = total = 0
    words = ""
    if progress is not None and progress.total:
        done, total = progress.done, progress.total
        words = f"{progress.stage}: {number(done)} of {number(total)}"
        if progress.remaining_seconds is not None:
            words += f", about {number(round(progress.remaining_seconds))} s left"
    return {"state": seen.state, "final": seen.is_final, "done": done, "total": total, "words": words}
