"""Some records before and after a rule."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from app.api.schemas.common import Answer, Count, Ref
from app.api.schemas.derived import Asking
from app.api.schemas.rules import Definition
from app.services.rules.rule_previews import PreviewRule

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


class PreviewedRecord(Answer):
    """One record before and after."""

    row: Annotated[int, Field(ge=1, description="Row number, from 1.", examples=[1])]
    before: Annotated[Cells, Field(examples=[["Lafayette"]])]
    after: Annotated[Cells, Field(examples=[["Tippecanoe"]])]
    steps: Annotated[list[Count | None], Field(max_length=10_000, examples=[[1]])]
    """Per column the steps from the original up to the shown value, as rules of single records take them; 0
    is as it is. Null where a hierarchy with several parents per value has no such number.
    """


class RulePreview(Answer):
    """Some records before and after."""

    columns: Annotated[list[str], Field(max_length=10_000, examples=[["city"]])]
    """The disclosed attributes."""
    heights: Annotated[list[Count], Field(max_length=10_000, examples=[[4]])]
    """Their hierarchies' heights."""
    total_rows: Annotated[Count, Field(description="Rows of the dataset.", examples=[12])]
    records: Annotated[list[PreviewedRecord], Field(max_length=200, description="The records.")]
