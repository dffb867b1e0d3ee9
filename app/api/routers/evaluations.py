"""Gates over HTTP: evaluations of releases by policies."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Path, Query, Response
from starlette.responses import JSONResponse

from app.api.authentication import AnyKey, Assessor, Governor
from app.api.bodies.limits import LARGEST_BYTES, takes_up_to
from app.api.examples import gates as gate_examples
from app.api.examples.form import names
from app.api.routers.answers import (
    ASKED,
    COMMON,
    QUEUED,
    REFUSED,
    DryRun,
    answered,
    dry,
    problems,
    shown_answer,
)
from app.api.routers.collection import Collection, CreatedIn, Cursor, Limit, NamePart
from app.api.routes import PREFIX, Route
from app.api.schemas.common import Listing, Ref, listed
from app.api.schemas.evaluations import (
    Evaluation,
    EvaluationPlanAnswer,
    EvaluationSummary,
    NewEvaluation,
    NewRevocation,
)
from app.api.schemas.policies import PolicyRef
from app.api.schemas.runs import StartedRun
from app.api.services import UseCases
from app.api.waiting import Asking
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
AnyGate = Annotated[PolicyRef, Path(openapi_examples=gate_examples.GATES)]


@gates.post(
    "/{policy}/evaluations",
    status_code=201,
    response_model=Evaluation,
    responses=ASKED | problems("invalid-input", "memory-limit", "not-supported", "not-found", "withdrawn"),
)
@takes_up_to(LARGEST_BYTES)
async def evaluate_gate(
    actor: Assessor,
    services: UseCases,
    response: Response,
    ask: Asking,
    policy: AnyGate,
    body: Annotated[NewEvaluation, Body(openapi_examples=gate_examples.EVALUATIONS)],
    dry_run: DryRun = False,
) -> Evaluation | JSONResponse:
    """Evaluate a release, or views.

    Evaluates a dataset with a rule, or a finished release file, by a policy; or queries that are to be
    published, by a policy that requires their perfect privacy. The verdict is `pass`, `fail`
    or `error`; for what failed the nearest change that passes is looked for. Work that is too large to be
    answered at once becomes a run (202): until it has succeeded there is no verdict. A request that cannot be
    evaluated (an unknown name, another schema, a dictionary that is missing) is a problem: nothing is
    recorded. Needs the scope `assess`.
    """
    request = body.request(policy)
    if dry_run:
        return dry(EvaluationPlanAnswer.model_validate(await services.evaluations.plan(actor, request)))
    found = await ask.question(services.evaluations, actor, request)
    return answered(Evaluation, COLLECTION.path, found, response)


@gates.post("/{policy}/evaluations/runs", status_code=202, deprecated=True, responses=QUEUED)
@takes_up_to(LARGEST_BYTES)
async def evaluate_gate_run(
    actor: Assessor,
    services: UseCases,
    ask: Asking,
    policy: Gate,
    body: Annotated[NewEvaluation, Body(openapi_examples=gate_examples.RUNS)],
) -> StartedRun:
    """Evaluate a release in the background.

    Use `POST /v1/gates/{policy}/evaluations`, where large work becomes a run by itself, and with `Prefer:
    respond-async` small work, too. Stores the evaluation and queues its run; Location is the run's address.
    Until it has succeeded there is no verdict. Needs the scope `assess`.
    """
    return await ask.in_background(services.evaluations, actor, body.request(policy))


@gates.post("/{policy}/evaluations/plans", responses=REFUSED)
@takes_up_to(LARGEST_BYTES)
async def plan_evaluation(
    actor: Assessor,
    services: UseCases,
    policy: AnyGate,
    body: Annotated[NewEvaluation, Body(openapi_examples=gate_examples.EVALUATIONS)],
) -> EvaluationPlanAnswer:
    """Estimate an evaluation.

    What each criterion would cost, whether the evaluation is answered at once or by a run, and what stands in
    its way. Nothing is evaluated or stored. Needs the scope `assess`.
    """
    return EvaluationPlanAnswer.model_validate(await services.evaluations.plan(actor, body.request(policy)))


@router.get("")
async def list_evaluations(
    actor: AnyKey,
    services: UseCases,
    created: CreatedIn,
    name: NamePart = None,
    revoked: Annotated[
        bool | None, Query(description="Only those that are revoked, or that are not.")
    ] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Listing[EvaluationSummary]:
    """List evaluations.

    The tenant's evaluations, newest first, a page at a time.
    """
    page = await services.evaluations.list(
        actor, name=name, created=created, limit=limit, cursor=cursor, revoked=revoked
    )
    return listed(EvaluationSummary, page)


@router.get("/{ref}", responses=problems("not-found"))
async def get_evaluation(
    actor: AnyKey,
    services: UseCases,
    ref: Annotated[Ref, Path(openapi_examples=names(gate_examples.NAME))],
) -> Evaluation:
    """Get an evaluation.

    With its verdict and evidence, which are null while a run is at work on it. Values of groups are shown to
    keys with the scope `data:read` only, and what a verdict on views says of queries to keys with `assess` or
    `data:read`.
    """
    return shown_answer(Evaluation, await services.evaluations.view(actor, ref))


@router.post("/{ref}/revocation", responses=REFUSED | problems("not-found"))
async def revoke_evaluation(
    actor: Governor,
    services: UseCases,
    ref: Annotated[Ref, Path(openapi_examples=names(gate_examples.VIEWS_NAME))],
    body: Annotated[NewRevocation, Body(openapi_examples=gate_examples.REVOCATIONS)],
) -> Evaluation:
    """Revoke a verdict.

    For good, with the reason: the evaluation, those that judged the same by the same policy, and their pages
    show it, webhooks are called, and `verify --online` fails. The same is not judged again (409). What was
    signed stays as it is. A second time changes nothing. Needs the scope `govern`.
    """
    return shown_answer(Evaluation, await services.evaluations.revoke(actor, ref, body.reason))
