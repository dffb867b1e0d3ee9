"""Types that many schemas share."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import (
    AwareDatetime,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StringConstraints,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from app.api.addresses import address_of
from app.api.schemas.described import Described
from app.domain.catalogue.catalogue_types import Holds
from app.services.resources import Kind, Page, Stored


class Request(Described):
    """Base of bodies that are sent: an unknown field is an error, NaN and Infinity are none of JSON."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, frozen=True)


class Answer(Described):
    """Base of bodies that are answered."""

    model_config = ConfigDict(frozen=True, from_attributes=True)


Name = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"),
    Field(description="Name, unique among the tenant's resources of this kind; accepted wherever an id is."),
]

Ref = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,100}$"),
    Field(description="Id or name of a resource."),
]

Text = Annotated[str, StringConstraints(max_length=1000, pattern=r"^[^\x00]*$")]
"""A label, a value of a cell or the name of a column."""

Column = Annotated[str, StringConstraints(min_length=1, max_length=1000, pattern=r"^[^\x00]*$")]


Decimal = Annotated[
    str, Field(pattern=r"^-?[0-9]{1,30}(\.[0-9]{1,30})?$", description="A decimal number, as text.")
]


_WRITTEN_MOMENT = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)


def _read_moment(value: object) -> object:
    # The framework would take a number, too, and guess by its size whether it counts seconds.
    if isinstance(value, datetime) or (isinstance(value, str) and _WRITTEN_MOMENT.fullmatch(value)):
        return value
    raise PydanticCustomError("moment", "Input should be a date and a time with its offset from UTC.")


Moment = Annotated[AwareDatetime, BeforeValidator(_read_moment, json_schema_input_type=AwareDatetime)]
"""A point in time as it is sent: RFC 3339."""


def _read_infinity(value: object) -> object:
    if value in ("inf", "Infinity"):
        return math.inf
    # Compared, not asked whether it is finite: a whole number of 400 digits is too large to be asked.
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not -sys.float_info.max <= value <= sys.float_info.max
    ):
        raise PydanticCustomError("number_or_inf", 'Input should be a number ≥ 0, or "inf" for infinity.')
    return value


NonNegative = Annotated[
    float,
    Field(ge=0, allow_inf_nan=True),
    BeforeValidator(_read_infinity),
    WithJsonSchema(
        {
            "anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "enum": ["inf", "Infinity"]}],
            "description": 'A number ≥ 0, or "inf" for infinity, which the numbers of JSON lack; "Infinity" '
            "means the same.",
        }
    ),
]
"""A weight or a bound; infinity travels as the string "inf"."""


def _show_number(value: float | str) -> float | str:
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value


Number = Annotated[
    float | Literal["inf", "-inf"],
    PlainSerializer(_show_number, return_type=float | Literal["inf", "-inf"]),
    Field(description='A number, or "inf" for infinity.'),
]
"""A number of an answer."""

Count = Annotated[int, Field(ge=0)]

Hash = Annotated[
    str,
    Field(
        pattern="^[0-9a-f]{64}$",
        description="Hash of everything that gives the resource its meaning, what it is built on included.",
        examples=["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"],
    ),
]


def is_none(value: object) -> bool:
    """Whether a field is left out of an answer that has nothing to say in it."""
    return value is None


class GuaranteeHypothesis(Answer):
    """What a guarantee rests on."""

    id: Annotated[str, Field(max_length=100, description="Its name.", examples=["drawn_once"])]
    holds: Annotated[Holds, Field(description="Whether it holds.", examples=["yes"])]
    reason: Annotated[str, Field(max_length=1000, description="Why, or why it can only be assumed.")]


class Addresses(Answer):
    """Where a body and what belongs to it are found; what there is not is left out."""

    model_config = ConfigDict(serialize_by_alias=True)

    own: Annotated[str, Field(alias="self", max_length=300, examples=["/v1/hierarchies/hier_Jx3kQ0c9VbT2"])]
    """Its own address."""
    resource: Annotated[str | None, Field(max_length=300, exclude_if=is_none)] = None
    """Of a run: what it works on."""
    run: Annotated[str | None, Field(max_length=300, exclude_if=is_none)] = None
    """Of a question: the run that works on it."""
    result: Annotated[str | None, Field(max_length=300, exclude_if=is_none)] = None
    """Of a run that has succeeded: its result."""


class Resource(Answer):
    """What every resource says of itself."""

    id: Annotated[str, Field(max_length=100, description="Random public id.", examples=["hier_Jx3kQ0c9VbT2"])]
    name: Annotated[str, Field(max_length=100, examples=["city"])]
    """Name, unique within its kind."""
    sha256: Hash
    created_at: Annotated[datetime, Field(examples=["2026-11-20T09:00:00Z"])]
    """When it was created."""
    addresses: Addresses


class Configured(Answer):
    """What was configured when a resource was made."""

    id: Annotated[str, Field(max_length=100, description="Id of the resource.")]
    name: Annotated[str, Field(max_length=100, description="Its name.", examples=["city"])]
    definition: dict[str, Any]
    """In the words of the request that makes one; what it refers to stands as id, name and hash. A hierarchy
    of a column's values names these, a rule of single records the steps of each that it changes.
    """


class Deleted(Answer):
    """A resource that a deletion takes along."""

    kind: Annotated[Kind, Field(description="Kind of resource.", examples=["rule"])]
    id: Annotated[str, Field(max_length=100, description="Its id.")]
    name: Annotated[str, Field(max_length=100, description="Its name.", examples=["proposal"])]
    href: Annotated[str, Field(max_length=200, description="Its address.", examples=["/v1/rules/proposal"])]


class Deletion(Answer):
    """What a deletion would delete."""

    items: Annotated[list[Deleted], Field(description="The resources, in the order of their deletion.")]

    @classmethod
    def of(cls, found: Sequence[Stored]) -> Deletion:
        """The answer about these."""
        return cls(
            items=[
                Deleted(kind=own.kind, id=own.id, name=own.name, href=address_of(own.kind.value, own.id))
                for own in found
            ]
        )


A = TypeVar("A", bound=Resource)


def shown(answer: type[A], stored: Stored, run_id: str | None = None, **more: Any) -> A:  # noqa: ANN401 - fields
    """A stored resource as the answer of its kind: its own fields and those of its summary.

    ``run_id`` is of the run that works on it.
    """
    run = None if run_id is None else address_of("run", run_id)
    return answer.model_validate(
        {
            **stored.summary,
            "id": stored.id,
            "name": stored.name,
            "sha256": stored.sha256,
            "created_at": stored.created_at,
            "addresses": {"self": address_of(stored.kind.value, stored.id), "run": run},
            **more,
        }
    )


class Listing(Answer, Generic[A]):
    """Part of a list, newest first."""

    items: Annotated[list[A], Field(max_length=200, description="The resources, newest first.")]
    next_cursor: Annotated[str | None, Field(max_length=1000)]
    """Value of `cursor` for the next part; null on the last one."""


def listed(answer: type[A], page: Page[Stored]) -> Listing[A]:
    """A page of stored resources as the answer of their kind."""
    return Listing[answer](  # type: ignore[valid-type]
        items=[shown(answer, stored) for stored in page.items], next_cursor=page.next_cursor
    )
