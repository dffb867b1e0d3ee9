"""Privacy criteria in requests, made of the domain's types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from app.api.schemas.common import Answer, Number
from app.api.schemas.derived import one_of, request_of
from app.domain.models.criteria import CRITERIA
from app.domain.models.criterion import Criterion

REQUESTS: Final = {
    own.kind: request_of(own, f"{own.__name__}Criterion", own.kind, f"{own.title}. Source: {own.source}.")
    for own in CRITERIA
}
"""Kind of criterion → the body that asks for it."""

AskedCriterion = one_of(tuple(REQUESTS.values()))

ASKED_CRITERION: Final[Mapping[type, Any]] = {Criterion: AskedCriterion}
"""What stands for a criterion in bodies that ask for several."""


class AttainedCriterion(Answer):
    """What the equivalence classes of the release attain of a criterion."""

    criterion: Annotated[dict[str, Any], Field(examples=[{"kind": "k_anonymity", "k": 2}])]
    """What was asked."""
    attained: Annotated[Number | None, Field(examples=[2])]
    """Of the worst class, in the criterion's unit; null if nothing is disclosed."""
    guarantee: Annotated[Literal["exact", "heuristic"], Field(examples=["exact"])] = "exact"
    """`heuristic` where it is an estimate without a bound of its error: an optimum is then the best rule by
    the estimate.
    """


class Refusal(Answer):
    """Why no rule meets what was asked."""

    criterion: Annotated[dict[str, Any] | None, Field(examples=[{"kind": "k_anonymity", "k": 13}])]
    """The criterion that no rule can meet, known before any was looked at; null if each can be met alone."""
    reason: Annotated[str, Field(max_length=1000, description="Why, and by how much.")]
