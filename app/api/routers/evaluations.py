"""Gates over HTTP: evaluations of releases by policies."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Path, Query, Response
from starlette.responses import JSONResponse

from app.api.authentication import AnyKey, Assessor
from app.api.bodies.limits import LARGEST_BYTES, takes_up_to
from app.api.examples import gates as gate_examples
from app.api.examples.form import names
from app.api.routers.answers import COMMON, MADE, QUEUED, answered, problems, shown_answer
from app.api.routers.collection import Collection
from app.api.routes import PREFIX, Route
from app.api.schemas.common import Ref
from app.api.schemas.evaluations import (
    Evaluation,
    EvaluationPlanAnswer,
    EvaluationSummary,
    NewEvaluation,
)
from app.api.schemas.policies import PolicyRef
from app.api.schemas.runs import Run
from app.api.services import UseCases
from app.api.waiting import RunStarter
from app.services.resources import Scope

TAG = "gates"

COLLECTION = Collection(
    "evaluation",
    EvaluationSummary,
    (*gate_examples.EVALUATIONS, *gate_examples.RUNS),
    write_scope=Scope.ASSESS,
)

gates = APIRouter(prefix=f"{PREFIX}/gates", tags=[TAG], route_class=Route, responses=COMMON)
router = APIRouter(prefix=PREFIX + COLLECTION.path, tags=[TAG], route_class=Route, responses=COMMON)

Gate = Annotated[PolicyRef, Path(openapi_examples=gate_examples.POLICY)]


@gates.post(
    "/{policy}/evaluations",
    status_code=201,
    responses=MADE | problems("direct-budget-exceeded", "not-supported", "not-found"),
)
@takes_up_to(LARGEST_BYTES)
async def evaluate_gate(
    actor: Assessor,
    services: UseCases,
    response: Response,
    policy: Gate,
    body: Annotated[NewEvaluation, Body(openapi_examples=gate_examples.EVALUATIONS)],
    dry_run: Annotated[
        bool, Query(description="Only estimate: every criterion's cost, the route, and what is missing.")
    ] = False,
) -> Evaluation | EvaluationPlanAnswer:
    """Evaluate a release.

    Evaluates a dataset with a rule, or a finished release file, by a policy. The verdict is `pass`, `fail`
    or `error`; for what failed the nearest change that passes is looked for. Work that is too large for a
    direct answer is refused with `direct-budget-exceeded`, which names the route that takes it as a run. A
    request that cannot be evaluated (an unknown name, another schema, a dictionary that is missing) is a
    problem: nothing is recorded. Needs the scope `assess`.
    """
    request = body.request(policy)
    if dry_run:
        response.status_code = 200
        return EvaluationPlanAnswer.model_validate(await services.evaluations.plan(actor, request))
    found = await services.evaluations.create(actor, request)
    return answered(Evaluation, COLLECTION.path, found, response)


@gates.post("/{policy}/evaluations/runs", status_code=202, response_model=Run, responses=QUEUED)
@takes_up_to(LARGEST_BYTES)
async def evaluate_gate_run(
    actor: Assessor,
    services: UseCases,
    start: RunStarter,
    policy: Gate,
    body: Annotated[NewEvaluation, Body(openapi_examples=gate_examples.RUNS)],
) -> Run | JSONResponse:
    """Evaluate a release in the background.

    Stores the evaluation and queues its run; Location is the run's address. Until it has succeeded there is
    no verdict. Needs the scope `assess`.
    """
    return await start(services.evaluations, actor, body.request(policy))


COLLECTION.add_list(router)


@router.get("/{ref}", responses=problems("not-found"))
async def get_evaluation(
    actor: AnyKey,
    services: UseCases,
    ref: Annotated[Ref, Path(openapi_examples=names(gate_examples.NAME))],
) -> Evaluation:
    """Get an evaluation.

    With its verdict and evidence, which are null while a run is at work on it. Values of groups are shown to
    keys with the scope `data:read` only.
    """
    return shown_answer(Evaluation, await services.evaluations.view(actor, ref))
