"""Disclosure rules: what is shown of whom."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from app.api.schemas.common import Count, Name, Ref, Request, Resource, Text
from app.api.schemas.conditions import Statement
from app.api.schemas.criteria import ASKED_CRITERION
from app.api.schemas.derived import Asked, Asking, one_of, request_of, value_of
from app.api.schemas.shown_rules import ShownSuppression
from app.services.rules import rule_definitions
from app.services.rules.rule_definitions import (
    AtLeastDefinition,
    ConditionalDefinition,
    GeneralisationDefinition,
    IdentityDefinition,
    RecordLevelDefinition,
    SuppressionDefinition,
    TableLevelDefinition,
    statements_of,
)
from app.services.rules.rules import CreateRule

_KIND: Final = "Kind of rule."

Level = Annotated[int, Field(strict=True, ge=0, le=1000)]
Steps = Annotated[
    dict[Text, Level],
    Field(
        max_length=10_000,
        description="Attribute → steps up from the record's own value, one per value above it: 0 is as it "
        "is. Steps beyond ⊥ are refused. Attributes that are not named stay as they are.",
        examples=[{"city": 1}],
    ),
]


ShownValue = Annotated[
    Text | None, Field(description="Label of a node of the hierarchy; null is suppressed.")
]
ShownRecord = Annotated[
    dict[Text, ShownValue],
    Field(
        max_length=10_000,
        description="Attribute → value shown: the record's own, one above it in the hierarchy, or null for "
        "suppressed. An attribute has steps or a value.",
        examples=[{"race": "Asian"}],
    ),
]


class RecordLevels(Request):
    """What is shown of one record, named by its entity or by its row."""

    entity: Annotated[str | None, Field(max_length=1000, description="Entity id.", examples=["m-03"])] = None
    row: Annotated[int | None, Field(ge=1, le=2**31, description="Row number, from 1.", examples=[3])] = None
    steps: Steps = {}  # noqa: RUF012 - pydantic copies it
    levels: Annotated[
        dict[Text, Level],
        Field(max_length=10_000, examples=[{"city": 1}], json_schema_extra={"deprecated": True}),
    ] = {}  # noqa: RUF012 - pydantic copies it
    """Deprecated: attribute → steps, by their former name; they are no levels of the full domain, and those
    beyond ⊥ end there. Give `steps`.
    """
    values: ShownRecord = {}  # noqa: RUF012 - pydantic copies it

    @model_validator(mode="after")
    def _names_one_record(self) -> Self:
        if (self.entity is None) == (self.row is None):
            raise PydanticCustomError("exactly_one", "Give exactly one of entity and row.")
        return self


class RecordLevel(Asked):
    """Steps or values per record; records that are not named are shown as they are."""

    kind: Annotated[Literal["record_level"], Field(description=_KIND)]
    records: Annotated[list[RecordLevels], Field(max_length=100_000, description="The records.")]

    @model_validator(mode="after")
    def _counts_in_one_way(self) -> Self:
        if any(record.levels for record in self.records) and any(record.steps for record in self.records):
            raise PydanticCustomError(
                "levels_and_steps",
                "Give steps for all records, and no levels, which mean the same and are deprecated.",
            )
        return self

    def _made(self) -> RecordLevelDefinition:
        records = (
            rule_definitions.RecordLevels(r.levels, r.entity, r.row, r.values, r.steps) for r in self.records
        )
        return RecordLevelDefinition(tuple(records))


class Conditional(Asked):
    """Statements that hide or generalise an attribute of every record unless a condition is true of it."""

    kind: Annotated[Literal["conditional"], Field(description=_KIND)]
    statements: Annotated[list[Statement], Field(min_length=1, max_length=1000)]
    """In any order: all conditions are judged on the original table, and where several statements affect a
    cell, the least value above all that they ask for is shown.
    """

    def _made(self) -> ConditionalDefinition:
        documents = [statement.model_dump(mode="json") for statement in self.statements]
        return ConditionalDefinition(statements_of(documents, "/statements"))


_STATED: Final = (
    request_of(IdentityDefinition, "Identity", "identity", said_of_kind=_KIND),
    request_of(SuppressionDefinition, "Suppression", "suppression", said_of_kind=_KIND),
    request_of(TableLevelDefinition, "TableLevel", "table_level", said_of_kind=_KIND, parts=ASKED_CRITERION),
    request_of(GeneralisationDefinition, "Generalisation", "generalisation", said_of_kind=_KIND),
    RecordLevel,
    Conditional,
)
_RULE_BELOW: Any = Annotated[
    Ref | one_of(_STATED),
    Field(description="The rule: its id or name, or how it is defined.", examples=["exceptions"]),
]
AtLeast: Final = request_of(
    AtLeastDefinition,
    "AtLeast",
    "at_least",
    said_of_kind=_KIND,
    fields={"rule": (_RULE_BELOW, ...)},
    parts=ASKED_CRITERION,
)
Definition: Any = one_of((*_STATED, AtLeast))


def rule_asked(sent: Any) -> Any:  # noqa: ANN401 - str, None or the definition of the body
    """The rule of a request: its id or name as it is, or its definition; InvalidInput points into /rule."""
    return value_of(sent, "/rule") if isinstance(sent, Asked) else sent


class NewRule(Asking[CreateRule]):
    """A rule to be created."""

    name: Name
    dataset: Annotated[Ref, Field(description="Dataset that it discloses.", examples=["members"])]
    rule: Annotated[Definition, Field(description="The rule.")]


class Rule(ShownSuppression, Resource):
    """A rule."""

    dataset: Annotated[str, Field(max_length=100, description="Name of its dataset.", examples=["members"])]
    kind: Annotated[str, Field(max_length=40, description="Kind of rule.", examples=["table_level"])]
    levels: Annotated[dict[str, Count] | None, Field(examples=[{"city": 1}])]
    """Attribute → level; null for rules that are not one level per attribute."""
    records: Annotated[Count | None, Field(examples=[2])]
    """Records with levels or values of their own, or that the rule changes or, of one level per attribute,
    suppresses; null for other rules of one level per attribute.
    """
    notes: Annotated[list[str], Field(max_length=10, examples=[[]])] = []  # noqa: RUF012 - pydantic copies it
    """What of the definition was ignored, and why."""
    definition: dict[str, Any] | None = None
    """Of conditional rules and generalisations, how they were defined; every statement also has its condition
    as text (`unless_text`) and the number of records that it affects (`affected`). Null for other rules, in
    lists, and without data:read.
    """
