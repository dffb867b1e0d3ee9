"""Assessments: the score of one rule against one dictionary."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from app.api.schemas.common import Answer, Count, Name, Number, Ref, Resource
from app.api.schemas.derived import Asking, request_of
from app.api.schemas.problems import ProblemFault
from app.api.schemas.rules import Definition
from app.api.schemas.runs import WithRun
from app.api.schemas.scores import AssessmentResult
from app.api.schemas.scoring import AttackerView, ScoringFields, ShownAttacker
from app.services.scoring.assessments import Bounds, CreateAssessment


class _Asked(ScoringFields, Asking[CreateAssessment]):
    attacker_view: AttackerView = None


_PARTS: Final[dict[type, Any]] = {str: Ref}
_PARTS[Bounds] = request_of(Bounds, "Bounds", None, parts=_PARTS)
NewAssessment: Any = request_of(
    CreateAssessment,
    "NewAssessment",
    None,
    parts=_PARTS,
    base=_Asked,
    instead={"name": (Name | None, None), "rule": (Ref | Definition, Field(examples=["proposal"]))},
)


class PlanAnswer(Answer):
    """What the work would cost; nothing was computed or stored."""

    route: Literal["direct", "run"] | None
    """`direct` answers at once, `run` in the background; null if inputs are missing."""
    seconds: Annotated[Number | None, Field(description="Estimated seconds.", examples=[0.01])]
    bytes: Annotated[Count | None, Field(description="Estimated memory.", examples=[100000])]
    engine: Annotated[str | None, Field(max_length=40, description="What would count.", examples=["cube"])]
    units: Annotated[Count | None, Field(examples=[1])]
    """Rules or distinct records to work through."""
    missing: Annotated[list[ProblemFault], Field(description="What stands in the way.")]
    notes: Annotated[list[str], Field(max_length=10, examples=[[]])] = []  # noqa: RUF012 - pydantic copies it
    """What is known of the answer beforehand."""


class AssessmentSummary(ShownAttacker, Resource):
    """An assessment without its result."""

    dataset: Annotated[str, Field(max_length=100, description="Name of the dataset.", examples=["members"])]
    rule: Annotated[dict[str, Any], Field(description="The rule: its name or its definition in short.")]
    bounds: dict[str, Any] | None = None
    """The true dictionary (or null) of the question whether the risk is a bound."""


class Assessment(WithRun, AssessmentSummary):
    """An assessment with its result."""

    result: Annotated[AssessmentResult | None, Field(description="Null until a run has brought it.")]
