"""Audits of mechanisms over HTTP."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import Body, Path, Response

from app.api.authentication import AnyKey, Assessor
from app.api.examples.form import first, names
from app.api.examples.rules import MECHANISM_AUDIT_RUNS, MECHANISM_AUDITS
from app.api.routers.answers import ASKED, QUEUED, REFUSED, answered, problems, shown_answer
from app.api.routers.collection import Collection
from app.api.schemas.assessments import PlanAnswer
from app.api.schemas.common import Ref
from app.api.schemas.mechanism_audits import MechanismAudit, MechanismAuditSummary, NewMechanismAudit
from app.api.schemas.runs import StartedRun
from app.api.services import UseCases
from app.api.waiting import Asking
from app.services.resources import Scope

COLLECTION = Collection(
    "mechanism audit",
    MechanismAuditSummary,
    (*MECHANISM_AUDITS, *MECHANISM_AUDIT_RUNS),
    write_scope=Scope.ASSESS,
)

router = COLLECTION.router()


@router.post(
    "",
    status_code=201,
    response_model=MechanismAudit,
    responses=ASKED | problems("invalid-input", "memory-limit", "not-supported", "too-large"),
)
async def create_mechanism_audit(
    actor: Assessor,
    services: UseCases,
    response: Response,
    ask: Asking,
    body: Annotated[NewMechanismAudit, Body(openapi_examples=MECHANISM_AUDITS)],
) -> MechanismAudit:
    """Audit a mechanism.

    Tries to refute what a certified mechanism promises with these parameters, on made-up tables of few
    records about its own thresholds: no dataset is read. `exact` compares the laws of all that they can be
    released as, of all neighbours and in both orders, with δ and every part of it that the guarantee tells; a
    mechanism whose thresholds are too high for that is refused with `too-large`. `draws` draws releases of
    pairs that are hard to hide and bounds ε by what they show. A mechanism that certifies nothing is refused
    with `not-supported`. That nothing is refuted is no proof.

    The audit is kept with what it found, and the same one is answered by it again. One that takes long
    becomes a run (202). Needs the scope `assess`.
    """
    request = await asyncio.to_thread(body.request)
    found = await ask.question(services.mechanism_audits, actor, request)
    return answered(MechanismAudit, COLLECTION.path, found, response)


@router.post("/runs", status_code=202, deprecated=True, responses=QUEUED | problems("too-large"))
async def create_mechanism_audit_run(
    actor: Assessor,
    services: UseCases,
    ask: Asking,
    body: Annotated[NewMechanismAudit, Body(openapi_examples=MECHANISM_AUDIT_RUNS)],
) -> StartedRun:
    """Audit a mechanism in the background.

    Use `POST /v1/mechanism-audits`, where large work becomes a run by itself, and with `Prefer:
    respond-async` small work, too. Stores the audit and queues its run, whose progress counts the tables or
    the pairs that are done; Location is the run's address. Needs the scope `assess`.
    """
    return await ask.in_background(services.mechanism_audits, actor, await asyncio.to_thread(body.request))


@router.post("/plans", responses=REFUSED | problems("too-large"))
async def plan_mechanism_audit(
    actor: Assessor,
    services: UseCases,
    body: Annotated[NewMechanismAudit, Body(openapi_examples=first(MECHANISM_AUDIT_RUNS))],
) -> PlanAnswer:
    """Estimate an audit of a mechanism.

    What it would cost, whether it is answered at once or by a run, and what stands in its way. Nothing is
    drawn or stored. Needs the scope `assess`.
    """
    request = await asyncio.to_thread(body.request)
    return PlanAnswer.model_validate(await services.mechanism_audits.plan(actor, request))


COLLECTION.add_list(router)


@router.get("/{ref}", responses=problems("not-found"))
async def get_mechanism_audit(
    actor: AnyKey,
    services: UseCases,
    ref: Annotated[Ref, Path(openapi_examples=names(next(iter(MECHANISM_AUDITS))))],
) -> MechanismAudit:
    """Get an audit of a mechanism.

    With what it found, which is null while a run is at work on it.
    """
    return shown_answer(MechanismAudit, await services.mechanism_audits.view(actor, ref))
