"""Releases: the table that is published."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from app.api.schemas.common import (
    Count,
    Hash,
    Moment,
    Name,
    Ref,
    Resource,
    is_none,
)
from app.api.schemas.datasets import FoundRows
from app.api.schemas.derived import Asking, value_of
from app.api.schemas.mechanisms import AskedMechanism, ReleasedMechanism
from app.api.schemas.shown_rules import ShownSuppression
from app.services.releases.releases import ORDER_BEFORE
from app.services.releases.requests import ChosenMechanism, CreateRelease, LineOrder


class NewRelease(Asking[CreateRelease]):
    """A dataset to be released under a rule, or as a mechanism draws it."""

    name: Name
    dataset: Annotated[Ref, Field(description="The dataset.", examples=["members"])]
    rule: Annotated[Ref | None, Field(examples=["members-optimum"])] = None
    """The rule. Beside a mechanism, one that generalises the quasi-identifiers first."""
    mechanism: Annotated[
        AskedMechanism | None,
        Field(description="Which mechanism, with its parameters; `GET /v1/catalogue` lists them."),
    ] = None
    independent_of_earlier: bool = False
    """Draw again what was drawn before: who has several draws learns more than any of them promises. Needs
    the scope `govern`.
    """
    neutralise_formulas: bool = False
    """Make cells harmless that a spreadsheet would take for formulas."""
    order: Annotated[LineOrder, Field(examples=["shuffled"])] = "shuffled"
    """`shuffled`: equivalence classes sorted by what they show, the rows of each in a secret order that is
    the same at every download. `records`: the order of the dataset's records, which tells everybody who knows
    that order whose row is whose: choose it only for a recipient who may know that. No mechanism offers it.
    """

    def request(self) -> CreateRelease:
        """The value that the use case takes."""
        chosen = self.mechanism
        return CreateRelease(
            self.name,
            self.dataset,
            self.rule,
            self.neutralise_formulas,
            self.order,
            None if chosen is None else ChosenMechanism(chosen.kind, value_of(chosen, "/mechanism")),
            self.independent_of_earlier,
        )


class ReleasedRule(ShownSuppression):
    """The rule that a release was made by."""

    name: Annotated[str, Field(max_length=100, examples=["members-optimum"])]
    """Its name; empty where a mechanism took the records as they are."""
    kind: Annotated[str, Field(max_length=40, description="Its kind.", examples=["table_level"])]
    sha256: Annotated[Hash | None, Field(examples=["0" * 64])]
    """Its hash; null of a differentially private release, since it holds that of the data."""
    levels: Annotated[dict[str, Count] | None, Field(description="Attribute → level; null for record-level.")]


class Release(Resource):
    """A release: what it was made of, and what was suppressed."""

    dataset: Annotated[str, Field(max_length=100, description="Name of the dataset.", examples=["members"])]
    dataset_sha256: Annotated[Hash | None, Field(examples=["0" * 64])]
    """Hash of the dataset; null of a differentially private release: who knows all records but one could find
    that one by it.
    """
    rows_are: Annotated[FoundRows | None, Field(description="What a row is; null: nobody said.")] = None
    rule: Annotated[ReleasedRule, Field(description="The rule.")]
    columns: Annotated[list[str], Field(max_length=10_000, examples=[["city"]])]
    """Columns of the released table."""
    rows: Annotated[Count, Field(description="Rows of the released table.", examples=[12])]
    suppressed_cells: Annotated[Count, Field(description="Cells that are suppressed.", examples=[0])]
    suppressed_records: Annotated[Count, Field(examples=[0])]
    """Records of which all is suppressed."""
    classes: Annotated[Count, Field(description="Distinct released records.", examples=[6])]
    neutralise_formulas: Annotated[bool, Field(description="Whether formulas are made harmless.")]
    order: Annotated[LineOrder, Field(examples=["shuffled"])] = ORDER_BEFORE
    """Order of the rows: `shuffled`, or `records`, that of the dataset's records."""
    order_chosen: Annotated[bool, Field(examples=[False])] = False
    """Whether the records' order was asked for. `records` that was not chosen is a release made before rows
    were shuffled.
    """
    mechanism: Annotated[ReleasedMechanism | None, Field(exclude_if=is_none)] = None
    """The mechanism; there is none in the manifest of a release that a rule made."""
    withdrawn_at: Annotated[Moment | None, Field(exclude_if=is_none)] = None
    """When it was withdrawn: its table is given out no more."""
