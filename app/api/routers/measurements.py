"""Measurements over HTTP."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import Body, Path, Response
from starlette.responses import JSONResponse

from app.api.authentication import AnyKey, Assessor
from app.api.bodies.limits import LARGEST_BYTES, takes_up_to
from app.api.examples import measurements as measurement_examples
from app.api.examples.form import first, names
from app.api.routers.answers import ASKED, QUEUED, REFUSED, DryRun, answered, dry, problems, shown_answer
from app.api.routers.collection import Collection
from app.api.schemas.assessments import PlanAnswer
from app.api.schemas.common import Ref
from app.api.schemas.measurements import Measurement, MeasurementSummary, NewMeasurement
from app.api.schemas.runs import StartedRun
from app.api.services import UseCases
from app.api.waiting import Asking
from app.services.resources import Scope

COLLECTION = Collection(
    "measurement",
    MeasurementSummary,
    (*measurement_examples.NAMES, *measurement_examples.RUNS),
    write_scope=Scope.ASSESS,
)

router = COLLECTION.router()


@router.post(
    "",
    status_code=201,
    response_model=Measurement,
    responses=ASKED | problems("invalid-input", "memory-limit", "not-supported", "not-found", "withdrawn"),
)
@takes_up_to(LARGEST_BYTES)
async def create_measurement(
    actor: Assessor,
    services: UseCases,
    response: Response,
    ask: Asking,
    body: Annotated[NewMeasurement, Body(openapi_examples=measurement_examples.MEASUREMENTS)],
    dry_run: DryRun = False,
) -> Measurement | JSONResponse:
    """Compute a measure.

    One measure of the catalogue, for a dataset or a stored release and whatever else the measure needs. Work
    that is too large to be answered at once becomes a run (202); a measure that does not cover the case is
    refused with `not-supported` and the reason. A release that was withdrawn is not measured. Needs the scope
    `assess`.
    """
    request = await asyncio.to_thread(body.request)
    if dry_run:
        return dry(PlanAnswer.model_validate(await services.measurements.plan(actor, request)))
    found = await ask.question(services.measurements, actor, request)
    return answered(Measurement, COLLECTION.path, found, response)


@router.post("/runs", status_code=202, deprecated=True, responses=QUEUED | problems("withdrawn"))
@takes_up_to(LARGEST_BYTES)
async def create_measurement_run(
    actor: Assessor,
    services: UseCases,
    ask: Asking,
    body: Annotated[NewMeasurement, Body(openapi_examples=measurement_examples.RUNS)],
) -> StartedRun:
    """Compute a measure in the background.

    Use `POST /v1/measurements`, where large work becomes a run by itself, and with `Prefer: respond-async`
    small work, too. Stores the measurement and queues its run; Location is the run's address. Needs the scope
    `assess`.
    """
    return await ask.in_background(services.measurements, actor, await asyncio.to_thread(body.request))


@router.post("/plans", responses=REFUSED)
@takes_up_to(LARGEST_BYTES)
async def plan_measurement(
    actor: Assessor,
    services: UseCases,
    body: Annotated[NewMeasurement, Body(openapi_examples=first(measurement_examples.MEASUREMENTS))],
) -> PlanAnswer:
    """Estimate a measurement.

    What the work would cost, whether it is answered at once or by a run, and what stands in its way. Nothing
    is computed or stored. Needs the scope `assess`.
    """
    request = await asyncio.to_thread(body.request)
    return PlanAnswer.model_validate(await services.measurements.plan(actor, request))


COLLECTION.add_list(router)


@router.get("/{ref}", responses=problems("not-found"))
async def get_measurement(
    actor: AnyKey,
    services: UseCases,
    ref: Annotated[Ref, Path(openapi_examples=names(*measurement_examples.NAMES))],
) -> Measurement:
    """Get a measurement.

    With its result, which is null while a run is at work on it.
    """
    return shown_answer(Measurement, await services.measurements.view(actor, ref))
