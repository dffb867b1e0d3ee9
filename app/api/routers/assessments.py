"""Assessments over HTTP."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import Body, Path, Query, Request, Response
from starlette.responses import JSONResponse, StreamingResponse

from app.api.authentication import AnyKey, Assessor, DataReader
from app.api.bodies.limits import LARGEST_BYTES, takes_up_to
from app.api.bodies.reading import off_loop_if_large
from app.api.examples.assessments import ASSESSMENT_RUNS, ASSESSMENTS
from app.api.examples.form import first, names
from app.api.routers.answers import (
    ASKED,
    QUEUED,
    REFUSED,
    DryRun,
    answered,
    dry,
    problems,
    shown_answer,
    streamed,
    table_content,
)
from app.api.routers.collection import Collection
from app.api.schemas.assessments import Assessment, AssessmentSummary, NewAssessment, PlanAnswer
from app.api.schemas.common import Ref
from app.api.schemas.runs import StartedRun
from app.api.services import UseCases
from app.api.waiting import Asking
from app.services.resources import DataFormat, Scope

COLLECTION = Collection(
    "assessment",
    AssessmentSummary,
    (*ASSESSMENTS, *ASSESSMENT_RUNS),
    write_scope=Scope.ASSESS,
)

AssessmentRef = Annotated[Ref, Path(openapi_examples=names("proposal-score"))]
NewAssessmentBody = Annotated[NewAssessment, Body(openapi_examples=ASSESSMENTS)]

router = COLLECTION.router()


@router.post(
    "",
    status_code=201,
    response_model=Assessment,
    responses=ASKED | problems("invalid-input", "memory-limit", "not-supported", "not-found"),
)
@takes_up_to(LARGEST_BYTES)
async def create_assessment(
    actor: Assessor,
    services: UseCases,
    received: Request,
    response: Response,
    ask: Asking,
    body: NewAssessmentBody,
    dry_run: DryRun = False,
) -> Assessment | JSONResponse:
    """Score a rule.

    Risk, utility and anonymity of a dataset under a rule, against a dictionary or a set of them. A mean is
    never alone: its maximum and quantiles stand beside it, and the hypotheses that hold. Work that is too
    large to be answered at once becomes a run (202). Needs the scope `assess`.
    """
    request = await off_loop_if_large(received, body.request)
    if dry_run:
        return dry(PlanAnswer.model_validate(await services.assessments.plan(actor, request)))
    found = await ask.question(services.assessments, actor, request)
    return answered(Assessment, COLLECTION.path, found, response)


@router.post("/runs", status_code=202, deprecated=True, responses=QUEUED)
@takes_up_to(LARGEST_BYTES)
async def create_assessment_run(
    actor: Assessor,
    services: UseCases,
    ask: Asking,
    body: Annotated[NewAssessment, Body(openapi_examples=ASSESSMENT_RUNS)],
) -> StartedRun:
    """Score a rule in the background.

    Use `POST /v1/assessments`, where large work becomes a run by itself, and with `Prefer: respond-async`
    small work, too. Stores the assessment and queues its run; Location is the run's address. Needs the scope
    `assess`.
    """
    return await ask.in_background(services.assessments, actor, await asyncio.to_thread(body.request))


@router.post("/plans", responses=REFUSED)
@takes_up_to(LARGEST_BYTES)
async def plan_assessment(
    actor: Assessor,
    services: UseCases,
    received: Request,
    body: Annotated[NewAssessment, Body(openapi_examples=first(ASSESSMENTS))],
) -> PlanAnswer:
    """Estimate an assessment.

    What the work would cost, whether it is answered at once or by a run, and what stands in its way. Nothing
    is computed or stored. Needs the scope `assess`.
    """
    request = await off_loop_if_large(received, body.request)
    return PlanAnswer.model_validate(await services.assessments.plan(actor, request))


COLLECTION.add_list(router)


@router.get("/{ref}", responses=problems("not-found"))
async def get_assessment(actor: AnyKey, services: UseCases, ref: AssessmentRef) -> Assessment:
    """Get an assessment.

    With its result, which is null while a run is at work on it.
    """
    return shown_answer(Assessment, await services.assessments.view(actor, ref))


@router.get(
    "/{ref}/records",
    response_class=StreamingResponse,
    responses={**table_content(DataFormat.JSON, DataFormat.CSV, DataFormat.PARQUET), **problems("not-found")},
)
async def get_assessment_records(
    actor: DataReader,
    services: UseCases,
    ref: AssessmentRef,
    format: Annotated[DataFormat, Query(description="Form of the answer.")] = DataFormat.JSON,
) -> StreamingResponse:
    """Score of every record.

    Consistent entities, identification probability, sensitivity if the attacker succeeds (`phi`) and fails
    (`psi`, where there is one), loss and utility, record by record, as a stream; of a dictionary set the
    consistent entities of each dictionary (`count_` and its name). Of a rule for single records also the
    value that is disclosed of each attribute (`disclosed_` and its name) and, in a tree, the steps up to it
    from the record's own (`steps_` and its name). Needs the scope `data:read`.
    """
    return streamed(await services.assessments.records(actor, ref, format))
