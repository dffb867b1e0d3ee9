"""Optimisations over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body, Path
from starlette.responses import JSONResponse

from app.api.authentication import AnyKey, Assessor
from app.api.bodies.limits import LARGEST_BYTES, takes_up_to
from app.api.examples.form import first, names
from app.api.examples.searches import OPTIMISATIONS
from app.api.routers.answers import QUEUED, REFUSED, DryRun, dry, problems, shown_answer
from app.api.routers.collection import Collection
from app.api.schemas.assessments import PlanAnswer
from app.api.schemas.common import Ref
from app.api.schemas.optimisations import NewOptimisation, Optimisation, OptimisationSummary
from app.api.schemas.runs import StartedRun
from app.api.services import UseCases
from app.api.waiting import Asking
from app.services.resources import Scope

COLLECTION = Collection("optimisation", OptimisationSummary, tuple(OPTIMISATIONS), write_scope=Scope.ASSESS)

router = COLLECTION.router()


@router.post("", status_code=202, response_model=StartedRun, responses=QUEUED)
@takes_up_to(LARGEST_BYTES)
async def create_optimisation(
    actor: Assessor,
    services: UseCases,
    ask: Asking,
    body: Annotated[NewOptimisation, Body(openapi_examples=OPTIMISATIONS)],
    dry_run: DryRun = False,
) -> StartedRun | JSONResponse:
    """Ask for the best rule.

    The search is a run; Location is its address. When it has succeeded, the best rule is stored as a rule
    of the optimisation's name. Needs the scope `assess`.
    """
    if dry_run:
        return dry(PlanAnswer.model_validate(await services.optimisations.plan(actor, body.request())))
    return await ask.search(services.optimisations, actor, body.request())


@router.post("/plans", responses=REFUSED)
@takes_up_to(LARGEST_BYTES)
async def plan_optimisation(
    actor: Assessor,
    services: UseCases,
    body: Annotated[NewOptimisation, Body(openapi_examples=first(OPTIMISATIONS))],
) -> PlanAnswer:
    """Estimate a search for the best rule.

    What the work would cost, whether it is answered at once or by a run, and what stands in its way. Nothing
    is computed or stored. Needs the scope `assess`.
    """
    return PlanAnswer.model_validate(await services.optimisations.plan(actor, body.request()))


COLLECTION.add_list(router)


@router.get("/{ref}", responses=problems("not-found"))
async def get_optimisation(
    actor: AnyKey,
    services: UseCases,
    ref: Annotated[Ref, Path(openapi_examples=names("members-optimum"))],
) -> Optimisation:
    """Get an optimisation.

    With its result, which is null until its run has succeeded.
    """
    return shown_answer(Optimisation, await services.optimisations.view(actor, ref))
