"""Sequential disclosures: records released batch by batch."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from app.api.schemas.common import Answer, Count, Name, Number, Ref, Request, Resource, Text
from app.api.schemas.derived import Asking, value_of
from app.api.schemas.rules import ShownRecord, Steps
from app.api.schemas.scoring import ScoringFields, ShownScoring
from app.services.rules import disclosure_batches as batches
from app.services.rules.disclosure_batches import MOST_RECORDS
from app.services.rules.rule_definitions import RecordLevels
from app.services.rules.sequential_disclosures import AppendRecords, CreateSequentialDisclosure

Floor = Annotated[
    float,
    Field(ge=0, le=1e12, allow_inf_nan=False, description="Least utility of each record.", examples=[6.0]),
]


class NewSequentialDisclosure(ScoringFields, Asking[CreateSequentialDisclosure]):
    """What every batch will be judged by."""

    name: Name
    dataset: Annotated[Ref, Field(examples=["members"])]
    """Dataset whose attributes and hierarchies the records have."""
    dictionary: Annotated[Ref, Field(description="What the attacker has.", examples=["census"])]
    sensitivity: Annotated[Ref, Field(examples=["members-harm"])]
    """What harm disclosure does, with the same weights for everybody."""


class ChosenLevels(Asking[batches.ChosenLevels]):
    """The same levels for every record."""

    kind: Annotated[Literal["levels"], Field(description="How levels are chosen.")]
    levels: Annotated[
        dict[Text, Annotated[int, Field(ge=0, le=1000)]], Field(max_length=10_000, examples=[{"city": 1}])
    ]
    """Attribute → level, as in full-domain rules: the cut through its hierarchy, 0 as it is, the hierarchy's
    height ⊥. Not the steps of an answer: those are sent as `record_level`.
    """


class DisclosedRecord(Request):
    """What is shown of one record of the batch."""

    steps: Steps = {}  # noqa: RUF012 - pydantic copies it
    values: ShownRecord = {}  # noqa: RUF012 - pydantic copies it


class StepsOfRecords(Asking[batches.StepsOfRecords]):
    """Steps or values of your choice for every record, such as those that an earlier answer states."""

    kind: Annotated[Literal["record_level"], Field(description="How it is chosen what is shown.")]
    records: Annotated[list[DisclosedRecord], Field(max_length=MOST_RECORDS)]
    """One entry per record of the batch, in its order: the `steps` of an answer's record disclose again what
    it says.
    """

    def _made(self) -> batches.StepsOfRecords:
        records = (RecordLevels(values=own.values, steps=own.steps) for own in self.records)
        return batches.StepsOfRecords(tuple(records))


class OptimalLevels(Asking[batches.OptimalLevels]):
    """For each record the steps of least risk at a utility floor."""

    kind: Annotated[Literal["optimal"], Field(description="How steps are chosen.")]
    utility_floor: Floor


class ModalLevels(Asking[batches.ModalLevels]):
    """The steps that were optimal most often so far at a utility floor."""

    kind: Annotated[Literal["modal"], Field(description="How steps are chosen.")]
    utility_floor: Floor


class NewRecord(Request):
    """A record to disclose. Its values are judged and not stored."""

    values: Annotated[dict[Text, Text | None], Field(max_length=10_000, examples=[{"race": "White"}])]
    """Attribute → value; null or left out where missing."""
    entity: Text | None = None
    """Its identifier; every record of a batch has one or none."""
    weight: Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)] = 1.0
    """How much it counts in the averages."""


class NewBatch(Asking[AppendRecords]):
    """Records to disclose now."""

    records: Annotated[list[NewRecord], Field(min_length=1, max_length=MOST_RECORDS)]
    """The records."""
    rule: Annotated[ChosenLevels | StepsOfRecords | OptimalLevels | ModalLevels, Field(discriminator="kind")]
    """How it is chosen what is shown."""

    def _made(self) -> AppendRecords:
        records = tuple(batches.NewRecord(r.values, r.entity, r.weight) for r in self.records)
        return AppendRecords(records, value_of(self.rule, "/rule"))


class Running(Answer):
    """All records so far."""

    step: Annotated[Count, Field(description="Batches so far.", examples=[1])]
    records: Annotated[Count, Field(description="Records so far.", examples=[2])]
    risk_average: Annotated[Number | None, Field(examples=[0.5])]
    """Weighted mean loss, exact; "inf" from the first infinite loss on."""
    risk_max: Annotated[Number | None, Field(description="Greatest loss so far.", examples=[1.0])]
    infinite: Annotated[Count, Field(description="Infinite losses so far.", examples=[0])]
    utility_average: Annotated[Number | None, Field(description="Weighted mean utility.", examples=[9.5])]
    utility_min: Annotated[Number | None, Field(description="Least utility so far.", examples=[9.0])]


class JudgedRecord(Answer):
    """A record as it was judged."""

    entity: Annotated[str | None, Field(max_length=1000, description="Its identifier.")]
    steps: Annotated[dict[str, int | None], Field(examples=[{"city": 1}])]
    """Attribute → steps from the record's own value up to what is disclosed; 0 is as it is. Null where a
    hierarchy with several parents per value has no such number: see `disclosed`.
    """
    disclosed: Annotated[dict[str, str | None], Field(examples=[{"city": "Lake"}])]
    """Attribute → value that is disclosed; null where it is suppressed or missing."""
    levels: Annotated[
        dict[str, int | None], Field(examples=[{"city": 1}], json_schema_extra={"deprecated": True})
    ]
    """Deprecated: what was chosen. Of the rule `levels` the cut of the full domain, of all others steps,
    which may lead beyond ⊥. Read `steps` and `disclosed`.
    """
    count: Annotated[Count, Field(description="Consistent entities of the dictionary.", examples=[7])]
    probability: Annotated[Number, Field(description="Probability of identification.", examples=[0.142857])]
    phi: Annotated[Number, Field(description="Harm if it is identified.", examples=[1.5])]
    loss: Annotated[Number, Field(description="Expected harm.", examples=[0.2])]
    utility: Annotated[Number, Field(description="Its utility.", examples=[9.0])]


class AppendedBatch(Answer):
    """A batch that was appended."""

    step: Annotated[Count, Field(description="Number of the batch.", examples=[1])]
    records: Annotated[list[JudgedRecord], Field(max_length=MOST_RECORDS)]
    """The records in their order."""
    running: Annotated[Running, Field(description="All records so far.")]


class SequentialDisclosureSummary(Resource, ShownScoring):
    """A sequential disclosure without its running figures."""

    dataset: Annotated[str, Field(max_length=100, description="Name of the dataset.", examples=["members"])]
    dictionary: Annotated[str, Field(max_length=100, examples=["census"])]
    """Name of the dictionary."""
    sensitivity: Annotated[str, Field(max_length=100, examples=["members-harm"])]
    """Name of the sensitivity profile."""


class SequentialDisclosure(SequentialDisclosureSummary):
    """A sequential disclosure with its running figures."""

    running: Annotated[Running, Field(description="All records so far.")]
