"""What the score of a rule says; made of the result's types, but for what examples say more of."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import Field

from app.api.schemas.common import Answer, Count, Number
from app.api.schemas.derived import model_of
from app.domain.risk import assessment, summaries
from app.services.scoring import assessment_results as results


class Histogram(Answer):
    """Records by a number of theirs."""

    edges: Annotated[list[Number], Field(description="Edges of the bins.", examples=[[1, 2, 4]])]
    records: Annotated[list[Count], Field(description="Records per bin.", examples=[[3, 9]])]
    infinite: Annotated[Count, Field(description="Records beyond all bins, at infinity.", examples=[0])]


class Monotone(Answer):
    """Which hypotheses hold under which generalising further never raises a loss."""

    non_empty: Annotated[bool, Field(description="Every record has consistent entities.", examples=[True])]
    phi_monotone: Annotated[bool, Field(description="More general is never more harmful.", examples=[True])]
    psi_le_phi: Annotated[bool, Field(examples=[True])]
    """Failure is never more harmful than success."""
    model_monotone: Annotated[bool | None, Field(examples=[True])] = None
    """The risk model is proved monotone."""
    holds: Annotated[bool | None, Field(description="All of them hold.", examples=[True])] = None


_PARTS: Final[dict[type, Any]] = {
    summaries.Histogram: Histogram,
    assessment.Monotone: Monotone,
}
_PARTS[results.Histograms] = model_of(results.Histograms, "Histograms", {}, _PARTS)
_PRIOR = Annotated[float | None, Field(description="Its probability.", examples=[0.75])]
_PARTS[results.DictionaryScore] = model_of(
    results.DictionaryScore, "DictionaryScore", {"prior": (_PRIOR, ...)}, _PARTS
)
AssessmentResult: Any = model_of(results.AssessmentResult, "AssessmentResult", {}, _PARTS)
