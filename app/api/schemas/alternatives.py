"""Several rules of little loss side by side, as they are answered."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from app.api.schemas.criteria import AttainedCriterion, Refusal
from app.api.schemas.derived import model_of
from app.api.schemas.results import FoundRule
from app.services.searches.alternatives import Alternative, Comparison

_Alternative: Any = model_of(
    Alternative,
    "Alternative",
    {
        "rule": (FoundRule, Field(description="The rule.")),
        "privacy": (
            list[AttainedCriterion],
            Field(description="What those that remain attain of each criterion."),
        ),
    },
)
_Result: Any = model_of(
    Comparison,
    "ComparedRules",
    {
        "alternatives": (list[_Alternative], Field(description="The rules that were found.")),
        "infeasible_because": (
            list[Refusal],
            Field(description="Why no rule meets the criteria; empty if one does."),
        ),
    },
)


class AlternativesResult(_Result):  # type: ignore[misc]
    """Several rules side by side."""

    @model_validator(mode="before")
    @classmethod
    def _read_without_likeness(cls, result: Any) -> Any:  # noqa: ANN401 - whatever is stored
        """Comparisons of before asked nothing beside β-likeness."""
        if isinstance(result, dict):
            return {**result, "curves": {"likeness": [], **result["curves"]}}
        return result
