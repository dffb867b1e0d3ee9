"""Runs over HTTP: look, wait, follow, stop, cancel, read."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent

from app.api.authentication import AnyKey, Assessor
from app.api.examples.form import names
from app.api.routers.answers import COMMON, problems
from app.api.routers.collection import CreatedIn, Cursor, Limit
from app.api.routes import PREFIX, Route
from app.api.schemas.common import Ref
from app.api.schemas.runs import Run, RunListing, RunMap
from app.api.services import UseCases
from app.api.waiting import LONGEST_WAIT_SECONDS, preferred_wait
from app.services.resources import RunState

router = APIRouter(prefix=f"{PREFIX}/runs", tags=["runs"], route_class=Route, responses=COMMON)

RunRef = Annotated[
    Ref,
    Path(
        description="Id of a run, or name of what it works on: its latest run; 409 if several kinds have it.",
        openapi_examples=names("trial-optimum", "members-optimum"),
    ),
]


async def _run_id(actor: AnyKey, services: UseCases, ref: RunRef) -> str:
    return (await services.runs.find(actor, ref)).id


RunId = Annotated[str, Depends(_run_id)]
"""Id of the run that the path names; found before a stream begins, so that its absence is a 404."""


@router.get("")
async def list_runs(
    actor: AnyKey,
    services: UseCases,
    created: CreatedIn,
    state: Annotated[RunState | None, Query(description="Only runs in this state.")] = None,
    name: Annotated[
        str | None,
        Query(max_length=100, pattern=r"^[^\x00]*$", description="Only work on what has this in its name."),
    ] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> RunListing:
    """List runs.

    The tenant's runs, newest first, a page at a time.
    """
    runs, next_cursor = await services.runs.list(
        actor, state=state, name=name, created=created, limit=limit, cursor=cursor
    )
    return RunListing(items=[Run.of(run) for run in runs], next_cursor=next_cursor)


@router.get("/{ref}", responses=problems("not-found", "conflict"))
async def get_run(
    actor: AnyKey,
    services: UseCases,
    run_id: RunId,
    request: Request,
    response: Response,
    _: Annotated[
        str | None,
        Header(
            alias="prefer",
            description=f"`wait=20` waits up to 20 s (at most {LONGEST_WAIT_SECONDS}) for the run's end.",
            openapi_examples={"wait": {"value": "wait=20"}},
        ),
    ] = None,
) -> Run:
    """Get a run.

    As it stands, or with `Prefer: wait=20` as soon as it is final.
    """
    seconds = preferred_wait(request, response)
    if seconds is None:
        return Run.of(await services.runs.get(actor, run_id))
    return Run.of(await services.runs.wait(actor, run_id, seconds))


@router.get("/{ref}/events", response_class=EventSourceResponse, responses=problems("not-found"))
async def follow_run(
    actor: AnyKey,
    services: UseCases,
    run_id: RunId,
    last_event_id: Annotated[
        int, Header(ge=0, le=2**53, description="Number of the last event seen; those after it follow.")
    ] = 0,
) -> AsyncIterator[ServerSentEvent]:
    """Follow a run.

    Server-sent events with its progress and changes of state; the stream ends when the run is final. A
    client that reconnects with `Last-Event-ID` misses none.
    """
    async for event in services.runs.events(actor, run_id, last_event_id):
        yield ServerSentEvent(event=event.type, id=str(event.number), data=event.data)


@router.get("/{ref}/result", responses=problems("not-found", "conflict"))
async def get_run_result(actor: AnyKey, services: UseCases, run_id: RunId) -> dict[str, Any]:
    """Get a run's result.

    What the run found, the same as the result of its optimisation or assessment. Refused with 409 while
    there is none.
    """
    return await services.runs.result(actor, run_id)


@router.get("/{ref}/map", responses=problems("not-found", "conflict"))
async def get_run_map(actor: AnyKey, services: UseCases, run_id: RunId) -> RunMap:
    """Get the map of rules.

    Risk and utility of the rules that an optimisation looked at: all of them where there are few, else
    those that no other beats in both.
    """
    return RunMap.model_validate(await services.runs.risk_map(actor, run_id))


@router.post("/{ref}/stop", responses=problems("not-found", "conflict", "not-supported"))
async def stop_run(actor: Assessor, services: UseCases, run_id: RunId) -> Run:
    """Stop a run for the best so far.

    The run of an optimisation soon succeeds with the best rule found so far: `status` of its result is
    `heuristic`, with a lower bound and the gap to it, unless the rule is proven to be the best already. Such
    a result is not `reproducible` and answers no other run. A run that is still queued will succeed with
    what can be said without searching; one that has succeeded stays as it is. A frontier shows the points
    found so far and is not `complete`; one of single records has no point before all records were looked at.
    An evaluation ends with a verdict in which the criteria that were not computed say so, a check of views
    with the pairs that were decided: all others are `UNKNOWN`. Scores, measures, releases and audits have no
    best so far: 422. Refused with 409 if the run ended without a result.
    Needs the scope `assess`.
    """
    return Run.of(await services.runs.stop(actor, run_id))


@router.post("/{ref}/cancel", responses=problems("not-found", "conflict"))
async def cancel_run(actor: Assessor, services: UseCases, run_id: RunId) -> Run:
    """Cancel a run.

    A queued run ends at once, a running one within a second; it has no result then. Refused with 409 if
    the run is final already. Needs the scope `assess`.
    """
    return Run.of(await services.runs.cancel(actor, run_id))
