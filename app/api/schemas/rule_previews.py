"""Some records before and after a rule."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from app.api.schemas.common import Ref
from app.api.schemas.derived import Asking, model_of
from app.api.schemas.rules import Definition
from app.services.rules import rules
from app.services.rules.rules import PreviewRule

Cells = Annotated[
    list[str | None],
    Field(max_length=10_000, description="Cells, column by column; null is missing or suppressed."),
]


class NewRulePreview(Asking[PreviewRule]):
    """A rule whose effect is to be seen."""

    dataset: Annotated[Ref, Field(description="Dataset that it discloses.", examples=["members"])]
    rule: Annotated[Ref | Definition, Field(examples=["proposal"])]
    """A rule's id or name, or a rule."""
    first: Annotated[int, Field(ge=1, le=2**31, description="First row, from 1.", examples=[1])] = 1
    limit: Annotated[int, Field(ge=1, le=200, description="Most rows.", examples=[20])] = 20


PreviewedRecord: Any = model_of(rules.PreviewedRecord, "PreviewedRecord")


RulePreview: Any = model_of(rules.RulePreview, "RulePreview", parts={rules.PreviewedRecord: PreviewedRecord})
