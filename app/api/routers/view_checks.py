"""Checks of query views over HTTP."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import Body, Path, Response

from app.api.authentication import AnyKey, Assessor
from app.api.bodies.limits import takes_up_to
from app.api.examples.form import first, names
from app.api.examples.view_checks import VIEW_CHECK_RUNS, VIEW_CHECKS
from app.api.routers.answers import ASKED, QUEUED, REFUSED, answered, problems, shown_answer
from app.api.routers.collection import Collection
from app.api.schemas.assessments import PlanAnswer
from app.api.schemas.common import Ref
from app.api.schemas.runs import StartedRun
from app.api.schemas.view_checks import NewViewCheck, ViewCheck, ViewCheckSummary
from app.api.services import UseCases
from app.api.waiting import Asking
from app.services.resources import Scope

COLLECTION = Collection(
    "view check", ViewCheckSummary, (*VIEW_CHECKS, *VIEW_CHECK_RUNS), write_scope=Scope.ASSESS
)
MOST_BYTES = 1024**2

router = COLLECTION.router()


@router.post(
    "",
    status_code=201,
    response_model=ViewCheck,
    responses=ASKED | problems("invalid-input", "memory-limit", "not-found"),
)
@takes_up_to(MOST_BYTES)
async def create_view_check(
    actor: Assessor,
    services: UseCases,
    response: Response,
    ask: Asking,
    body: Annotated[NewViewCheck, Body(openapi_examples=VIEW_CHECKS)],
) -> ViewCheck:
    """Check whether views disclose anything about secrets.

    Queries are written in Datalog or in SQL. The schema is a stored one, or is declared as relations or by
    `CREATE TABLE` statements. Each view is checked against each secret, by the queries and the schema alone:
    no data are looked at. Private means that seeing the view's whole answer changes no belief about the
    secret's answer, for any reader to whom rows are independent of each other except for the declared keys
    and dependencies. A disclosure comes with an example of a row that decides both answers. A pair that is
    not decided within five seconds is `UNKNOWN`, which denies.

    The check is kept with its result, and the same question is answered by it again. Of a question in which
    some queries are new, only their pairs are decided. One with so many new pairs that an answer would take
    long, or that is not decided within ten seconds, becomes a run (202). Needs the scope `assess`.
    """
    request = await asyncio.to_thread(body.request)
    found = await ask.question(services.view_checks, actor, request)
    return answered(ViewCheck, COLLECTION.path, found, response)


@router.post("/runs", status_code=202, deprecated=True, responses=QUEUED)
@takes_up_to(MOST_BYTES)
async def create_view_check_run(
    actor: Assessor,
    services: UseCases,
    ask: Asking,
    body: Annotated[NewViewCheck, Body(openapi_examples=VIEW_CHECK_RUNS)],
) -> StartedRun:
    """Check views in the background.

    Use `POST /v1/view-checks`, where large work becomes a run by itself, and with `Prefer: respond-async`
    small work, too. Stores the check and queues its run, whose progress counts pairs; Location is the run's
    address. Needs the scope `assess`.
    """
    return await ask.in_background(services.view_checks, actor, await asyncio.to_thread(body.request))


@router.post("/plans", responses=REFUSED)
@takes_up_to(MOST_BYTES)
async def plan_view_check(
    actor: Assessor,
    services: UseCases,
    body: Annotated[NewViewCheck, Body(openapi_examples=first(VIEW_CHECK_RUNS))],
) -> PlanAnswer:
    """Estimate a check of views.

    What it would cost, without the pairs that are known from earlier checks, whether it is answered at once
    or by a run, and what stands in its way. No pair is decided, and nothing is stored. Needs the scope
    `assess`.
    """
    request = await asyncio.to_thread(body.request)
    return PlanAnswer.model_validate(await services.view_checks.plan(actor, request))


COLLECTION.add_list(router)


@router.get("/{ref}", responses=problems("not-found"))
async def get_view_check(
    actor: AnyKey,
    services: UseCases,
    ref: Annotated[Ref, Path(openapi_examples=names(next(iter(VIEW_CHECKS))))],
) -> ViewCheck:
    """Get a check of views.

    With its result, which is null while a run is at work on it. Queries, examples and explanations may name
    values: they are shown with the scope `assess` or `data:read`.
    """
    return shown_answer(ViewCheck, await services.view_checks.view(actor, ref))
