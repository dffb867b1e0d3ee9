"""Disclosure rules: which level of each attribute is shown of whom."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from app.api.schemas.common import Column, Count, Name, Ref, Request, Resource, Text
from app.services import rules
from app.services.rules import CreateRule, RuleDefinition

Level = Annotated[int, Field(strict=True, ge=0, le=1000)]
Levels = Annotated[
    dict[Text, Level],
    Field(
        max_length=10_000,
        description="Attribute → level: 0 is the value as it is, the hierarchy's height withholds it. "
        "Attributes that are not named stay at 0.",
        examples=[{"city": 1, "birth_date": 2}],
    ),
]


class Identity(Request):
    """Everything as it is."""

    kind: Annotated[Literal["identity"], Field(description="Kind of rule.")]

    def definition(self) -> RuleDefinition:
        """The value that the use case takes."""
        return rules.IdentityDefinition()


class Suppression(Request):
    """Some attributes are withheld, the others shown as they are."""

    kind: Annotated[Literal["suppression"], Field(description="Kind of rule.")]
    attributes: Annotated[
        list[Column],
        Field(max_length=10_000, description="Attributes that are withheld.", examples=[["birth_date"]]),
    ]

    def definition(self) -> RuleDefinition:
        """The value that the use case takes."""
        return rules.SuppressionDefinition(tuple(self.attributes))


class TableLevel(Request):
    """One level per attribute for the whole table."""

    kind: Annotated[Literal["table_level"], Field(description="Kind of rule.")]
    levels: Levels

    def definition(self) -> RuleDefinition:
        """The value that the use case takes."""
        return rules.TableLevelDefinition(self.levels)


class RecordLevels(Request):
    """The levels of one record, named by its entity or by its row."""

    entity: Annotated[str | None, Field(max_length=1000, description="Entity id.", examples=["m-03"])] = None
    row: Annotated[int | None, Field(ge=1, le=2**31, description="Row number, from 1.", examples=[3])] = None
    levels: Levels

    @model_validator(mode="after")
    def _names_one_record(self) -> Self:
        if (self.entity is None) == (self.row is None):
            raise PydanticCustomError("exactly_one", "Give exactly one of entity and row.")
        return self


class RecordLevel(Request):
    """Levels per record; records that are not named are shown as they are."""

    kind: Annotated[Literal["record_level"], Field(description="Kind of rule.")]
    records: Annotated[list[RecordLevels], Field(max_length=100_000, description="The records.")]

    def definition(self) -> RuleDefinition:
        """The value that the use case takes."""
        records = (rules.RecordLevels(r.levels, r.entity, r.row) for r in self.records)
        return rules.RecordLevelDefinition(tuple(records))


Definition = Annotated[Identity | Suppression | TableLevel | RecordLevel, Field(discriminator="kind")]


class NewRule(Request):
    """A rule to be created."""

    name: Name
    dataset: Annotated[Ref, Field(description="Dataset that it discloses.", examples=["members"])]
    rule: Annotated[Definition, Field(description="The rule.")]

    def request(self) -> CreateRule:
        """The value that the use case takes."""
        return CreateRule(self.name, self.dataset, self.rule.definition())


class Rule(Resource):
    """A rule."""

    dataset: Annotated[str, Field(max_length=100, description="Name of its dataset.", examples=["members"])]
    kind: Annotated[str, Field(max_length=40, description="Kind of rule.", examples=["table_level"])]
    levels: Annotated[
        dict[str, Count] | None,
        Field(description="Attribute → level; null for record-level rules.", examples=[{"city": 1}]),
    ]
    records: Annotated[
        Count | None,
        Field(description="Records with levels of their own; null for table rules.", examples=[2]),
    ]
