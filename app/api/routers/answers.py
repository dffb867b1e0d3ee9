"""What routes answer beside their bodies: statuses, addresses, problems."""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeVar

from fastapi import Query, Response
from starlette.responses import JSONResponse, StreamingResponse

from app.api.problems import BY_CODE, MEDIA_TYPE
from app.api.routes import PREFIX
from app.api.schemas.common import Answer as Body
from app.api.schemas.common import Resource, shown
from app.api.schemas.runs import Run, StartedRun
from app.services.questions import Answer
from app.services.resources import Created, DataFormat, DataStream

A = TypeVar("A", bound=Resource)

Responses = dict[int | str, dict[str, Any]]


def problems(*codes: str) -> Responses:
    """The problems of an operation as the framework documents responses."""
    responses: Responses = {}
    for code in codes:
        problem = BY_CODE[code]
        said = f"[{problem.code}]({problem.uri}): {problem.title}."
        content = {"schema": {"$ref": "#/components/schemas/Problem"}, "examples": {}}
        response = responses.setdefault(problem.status, {"description": "", "content": {MEDIA_TYPE: content}})
        response["description"] = "\n\n".join(filter(None, [response["description"], said]))
        response["content"][MEDIA_TYPE]["examples"][code] = {"$ref": f"#/components/examples/{code}"}
    return responses


COMMON: Final = problems(
    "unauthenticated", "forbidden", "not-admitted", "invalid-input", "rate-limited", "internal-error",
    "unavailable",
)  # fmt: skip
"""The problems that every operation under /v1 can have."""

REFUSED: Final = problems("conflict", "too-large", "unsupported-media-type")
"""The further problems of an operation that creates a resource, or says what that would take."""

MADE: Final[Responses] = {
    200: {"description": "A resource of this name and content exists already; it is answered unchanged."},
    **REFUSED,
}
"""The further answers of an operation that creates a resource."""

ASKED: Final[Responses] = {
    **MADE,
    202: {
        "description": "It is not finished: `run` works on it, and Location is the run's address. The result "
        "is null until then."
    },
}
"""The further answers of an operation that answers a question, at once or by a run."""

QUEUED: Final[Responses] = {
    200: {"description": "The same work was asked for before, and has ended.", "model": StartedRun},
    201: {"description": "The work was small, or the client waited: the run has ended.", "model": StartedRun},
    **REFUSED,
    **COMMON,
    **problems("invalid-input", "not-supported", "memory-limit", "not-found", "rate-limited"),
}
"""The further answers of an operation that starts a run."""

PLAN_MEDIA_TYPE: Final = "application/vnd.privacy-risk.plan+json"
"""Of a plan where the same status also tells of a resource: so each of the two has one type."""

RUN_MEDIA_TYPE: Final = "application/vnd.privacy-risk.run+json"
"""Of a run where what it is to make cannot be answered before: so each of the two has one type."""

DryRun = Annotated[
    bool,
    Query(
        deprecated=True,
        description="Only estimate, as the operation with `/plans` behind this address does: with `true` the "
        f"answer is that operation's, with status 200, and its media type is `{PLAN_MEDIA_TYPE}`.",
    ),
]
"""How plans were asked for before they had operations of their own."""


class PlanResponse(JSONResponse):
    """A plan where something else is answered otherwise."""

    media_type = PLAN_MEDIA_TYPE


def dry(plan: Body) -> PlanResponse:
    """A plan where a resource is answered otherwise."""
    return PlanResponse(plan.model_dump(mode="json"))


def located(response: Response, address: str, created: bool, *, is_finished: bool = True) -> None:
    """201 for what was created and 200 for what was there, 202 for either while it is not finished.

    Location is its address below the prefix.
    """
    response.status_code = (201 if created else 200) if is_finished else 202
    response.headers["Location"] = f"{PREFIX}{address}"


def made(answer: type[A], path: str, created: Created, response: Response, **more: Any) -> A:  # noqa: ANN401
    """A created resource with its address; ``more`` are fields of the answer beside the stored ones."""
    located(response, f"{path}/{created.resource.id}", created.created)
    return shown(answer, created.resource, **more)


def answered(answer: type[A], path: str, found: Answer, response: Response) -> A:
    """A question with its answer; Location is its address, or, while a run works on it, that of the run."""
    run = found.run
    is_finished = run is None or run.state.is_final
    address = f"{path}/{found.resource.id}" if run is None or is_finished else f"/runs/{run.id}"
    located(response, address, found.created, is_finished=is_finished)
    if run is None:
        return shown_answer(answer, found)
    return shown_answer(answer, found, run_id=run.id, run=Run.of(run))


def shown_answer(answer: type[A], found: Answer, **more: Any) -> A:  # noqa: ANN401 - fields of the answer
    """A question with its result and what is shown beside it."""
    return shown(answer, found.resource, result=found.result, **found.beside, **more)


_CONTENT: Final[dict[DataFormat, tuple[str, dict[str, Any]]]] = {
    DataFormat.CSV: ("text/csv", {"schema": {"type": "string"}}),
    DataFormat.JSON: (
        "application/json",
        {"schema": {"type": "array", "items": {"type": "object", "additionalProperties": True}}},
    ),
    DataFormat.PARQUET: (
        "application/vnd.apache.parquet",
        {"schema": {"type": "string", "format": "binary"}},
    ),
}


def table_content(*formats: DataFormat) -> Responses:
    """How a streamed table is documented."""
    # CSV first: generated clients that read all answers as the first type must not fail on the others.
    content = {media_type: said for format, (media_type, said) in _CONTENT.items() if format in formats}
    return {200: {"description": "The table.", "content": content}}


def streamed(stream: DataStream) -> StreamingResponse:
    """A table as a download."""
    return StreamingResponse(
        stream.chunks,
        media_type=stream.media_type,
        headers={"Content-Disposition": f'attachment; filename="{stream.filename}"'},
    )
