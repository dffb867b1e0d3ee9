"""The problem document as a schema."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from app.api.schemas.described import Described


class ProblemFault(Described):
    """One fault of the input."""

    model_config = ConfigDict(from_attributes=True)

    pointer: Annotated[str, Field(examples=["/attributes/0/role"])]
    """JSON pointer into the body, `query/…`, `path/…` or `header/…` for a parameter, or the place in the
    uploaded data.
    """
    code: Annotated[str, Field(description="Kind of fault, for programs.", examples=["missing"])]
    message: Annotated[str, Field(description="What is wrong.", examples=["Field required"])]
    remedy: Annotated[str, Field(description="What would be right.", examples=["Add the field."])]
    choices: Annotated[list[str] | None, Field(exclude_if=lambda own: not own)] = None
    """What can be said instead, where that is one of a few things, such as the sheets of a workbook."""


class Problem(Described):
    """Why a request was not served (RFC 9457). Each type has members of its own beside these."""

    model_config = ConfigDict(extra="allow")

    type: Annotated[str, Field(description="Its page in this service.", examples=["/problems/invalid-input"])]
    title: Annotated[str, Field(examples=["The request contains invalid input"])]
    """Kind of problem."""
    status: Annotated[int, Field(ge=400, le=599, description="HTTP status.", examples=[422])]
    detail: Annotated[str, Field(description="What happened here.", examples=["Field required"])]
    request_id: Annotated[str, Field(description="Also in the log and in X-Request-Id.", examples=["5f0c"])]
    remedy: Annotated[str | None, Field(examples=["Add the field."])] = None
    """What would be right."""
    errors: list[ProblemFault] | None = None
    """The faults, if the input is at fault."""
