"""Whether the process lives, and whether it can do its work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Final

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from app.api.routes import operation_id
from app.domain.errors import Unavailable

Readiness = Callable[[], Awaitable[Mapping[str, bool]]]
"""Asks each part that the service depends on; the name of a part → whether it answers as it should."""

_WITHOUT_KEY: Final[dict[str, Any]] = {"security": []}
"""Who looks after processes has no API key."""

router = APIRouter(tags=["operation"], generate_unique_id_function=operation_id)


class Alive(BaseModel):
    """The process answers."""

    status: Annotated[str, Field(pattern="^alive$", description="Always `alive`.", examples=["alive"])]


class Ready(BaseModel):
    """Everything that the service depends on answers."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"status": "ready", "checks": {"database": True, "disk": True}}}
    )

    status: Annotated[str, Field(pattern="^ready$", description="Always `ready`.", examples=["ready"])]
    checks: Annotated[
        dict[str, bool], Field(description="Each part that was asked.", examples=[{"database": True}])
    ]


@router.get("/healthz", openapi_extra=_WITHOUT_KEY)
async def check_health() -> Alive:
    """Say that the process lives.

    Asks nothing else, so that a failing database does not get a healthy process restarted.
    """
    return Alive(status="alive")


@router.get("/readyz", openapi_extra=_WITHOUT_KEY)
async def check_readiness(request: Request) -> Ready:
    """Say whether requests can be served.

    Answers 503, naming the parts that fail, while the database, its disk or its migrations are not in order.
    With a full disk everything that stores nothing goes on.
    """
    readiness: Readiness = request.app.state.readiness
    checks = dict(await readiness())
    failing = sorted(name for name, answers in checks.items() if not answers)
    if failing:
        raise Unavailable(
            f"Not ready: {', '.join(failing)}.", "Look into the log of the service, or run `doctor`."
        )
    return Ready(status="ready", checks=checks)
