"""Runs: the execution of optimisations and of large assessments."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from app.api.addresses import address_of
from app.api.schemas.common import Addresses, Answer, Count, Hash, is_none
from app.api.schemas.results import MapPoint
from app.services import resources
from app.services.resources import Kind, RunState


class Progress(Answer):
    """How far a run is."""

    stage: Annotated[str, Field(max_length=100, description="What it is doing.", examples=["search"])]
    done: Annotated[Count, Field(description="Units done.", examples=[120])]
    total: Annotated[Count, Field(description="Units in all.", examples=[240])]
    rate: Annotated[float | None, Field(description="Units per second.", examples=[60.5])]
    remaining_seconds: Annotated[float | None, Field(examples=[2.0])] = None
    """Seconds of computing that are left by the estimate and the rate so far; null while that cannot be told.
    A search that can leave rules out may end earlier.
    """


class RunResource(Answer):
    """What a run works on."""

    id: Annotated[str, Field(max_length=100, description="Its id.", examples=["opt_Jx3kQ0c9VbT2"])]
    kind: Annotated[Kind, Field(description="Kind of resource.", examples=["optimisation"])]
    name: Annotated[str, Field(max_length=100, description="Its name.", examples=["members-optimum"])]


class Run(Answer):
    """A run."""

    id: Annotated[str, Field(max_length=100, description="Random public id.", examples=["run_Jx3kQ0c9VbT2"])]
    state: Annotated[RunState, Field(examples=["running"])]
    """How the work went; what it found is `status` of the result."""
    resource: Annotated[RunResource, Field(description="What it works on.")]
    attempt: Annotated[Count, Field(description="Attempts so far.", examples=[1])]
    input_sha256: Annotated[Hash, Field(description="Hash of everything that goes into the result.")]
    created_at: Annotated[datetime, Field(examples=["2026-11-20T09:00:00Z"])]
    """When it was queued."""
    started_at: Annotated[datetime | None, Field(description="When its first attempt began.")]
    finished_at: Annotated[datetime | None, Field(description="When it reached its final state.")]
    heartbeat_at: Annotated[datetime | None, Field(description="Last sign of life of its worker.")]
    progress: Annotated[Progress | None, Field(description="How far it is.")]
    cancel_requested: Annotated[bool, Field(description="Whether its end was asked for.", examples=[False])]
    stop_requested: Annotated[bool, Field(examples=[False])] = False
    """Whether the best so far was asked for."""
    error: dict[str, Any] | None
    """Why it failed: code, message, remedy, perhaps errors."""
    result_id: Annotated[str | None, Field(max_length=100, description="Id of its result.")]
    addresses: Addresses

    @classmethod
    def of(cls, run: resources.Run) -> Run:
        """The use case's answer as a body."""
        resource = RunResource(id=run.resource_id, kind=run.resource_kind, name=run.resource_name)
        progress = Progress.model_validate(run.progress) if run.progress else None
        address = address_of("run", run.id)
        addresses = {
            "self": address,
            "resource": address_of(run.resource_kind.value, run.resource_id),
            "result": f"{address}/result" if run.state is RunState.SUCCEEDED else None,
        }
        return cls.model_validate(
            {**vars(run), "resource": resource, "progress": progress, "addresses": addresses}
        )


class StartedRun(Run):
    """A run where it was started."""

    result: Annotated[dict[str, Any] | None, Field(exclude_if=is_none)] = None
    """The same as at `/v1/runs/{ref}/result`, if it is there; else left out."""


class WithRun(Answer):
    """A question that may be too large to be answered at once."""

    run: Annotated[Run | None, Field(exclude_if=is_none)] = None
    """The run that asking has started, or found at work; left out of what is answered at once, or read."""


class RunListing(Answer):
    """Part of the list of runs, newest first."""

    items: Annotated[list[Run], Field(max_length=200, description="The runs, newest first.")]
    next_cursor: Annotated[str | None, Field(max_length=1000)]
    """Value of `cursor` for the next part; null on the last."""


class RunMap(Answer):
    """The rules of an optimisation on the map of risk and utility."""

    points: list[MapPoint]
    """All rules where there are at most 2,000, else those that no other beats in both."""
    rules: Annotated[Count, Field(description="Rules that the points were drawn from.", examples=[240])]
