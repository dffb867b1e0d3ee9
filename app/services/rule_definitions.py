"""The ways to define a rule, as values, and those that are kept with the rule as plain documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from app.domain.criteria.class_suppression import ClassSuppression, SmallClasses
from app.domain.errors import Fault, InvalidInput
from app.domain.rules.condition_text import parse_condition, print_condition
from app.domain.rules.conditional import (
    Generalise,
    Hide,
    Statement,
    Target,
    ToEntities,
    ToLevel,
    ToRows,
    ToValue,
)
from app.domain.rules.conditions import Condition, comparisons_of, condition_of_json, condition_to_json
from app.services.resources import JsonObject


@dataclass(frozen=True)
class IdentityDefinition:
    """Everything as it is."""


@dataclass(frozen=True)
class SuppressionDefinition:
    """The attributes named are withheld, the others shown as they are."""

    attributes: tuple[str, ...]


@dataclass(frozen=True)
class TableLevelDefinition:
    """One level per attribute for the whole table; 0 (as is) for attributes that are not named.

    ``suppression`` says who is withheld altogether then: the records of small classes, or of classes of
    quasi-identifiers that fail criteria. ``dictionary`` is the population that criteria compare with.
    """

    levels: Mapping[str, int]
    suppression: SmallClasses | ClassSuppression | None = None
    dictionary: str | None = None


FEWEST_ALIKE: Final = 2
"""Least ``suppress_classes_below`` that can withhold anything."""


@dataclass(frozen=True)
class GeneralisationDefinition:
    """Attribute → {original value: value shown} for the whole table; None is ⊥, others stay as they are."""

    values: Mapping[str, Mapping[str, str | None]]


@dataclass(frozen=True)
class RecordLevels:
    """What is shown of one record, named by its entity id or by its row number from 1.

    An attribute has ``steps``, a number of values up from the record's own, or the value that is shown
    instead (None is ⊥). ``levels`` are steps by their former name; those that lead beyond ⊥ end there.
    """

    levels: Mapping[str, int] = field(default_factory=dict)
    entity: str | None = None
    row: int | None = None
    values: Mapping[str, str | None] | None = None
    steps: Mapping[str, int] = field(default_factory=dict)

    @property
    def asks_the_record(self) -> bool:
        """Whether it is refused or not by the record's own value, so that stating it asks the data."""
        return bool(self.values or self.steps)


@dataclass(frozen=True)
class RecordLevelDefinition:
    """Steps or values per record; what is not named stays as it is."""

    records: tuple[RecordLevels, ...]


@dataclass(frozen=True)
class ConditionalDefinition:
    """Statements, each of which hides or generalises an attribute where its condition is not true."""

    statements: tuple[Statement, ...]


StatedDefinition = (
    IdentityDefinition
    | SuppressionDefinition
    | TableLevelDefinition
    | GeneralisationDefinition
    | RecordLevelDefinition
    | ConditionalDefinition
)


@dataclass(frozen=True)
class AtLeastDefinition:
    """Another rule of the dataset, by its name or as it is defined, with every record generalised further.

    Every record is generalised at least to the levels; then classes that fail criteria are withheld, if asked
    for.
    """

    rule: str | StatedDefinition
    levels: Mapping[str, int]
    suppression: ClassSuppression | None = None
    dictionary: str | None = None


RuleDefinition = StatedDefinition | AtLeastDefinition

MOST_COMPARISONS: Final = 10_000
"""Most comparisons of all conditions of a rule."""

AT_LEAST: Final = "at_least"
CONDITIONAL: Final = "conditional"
GENERALISATION: Final = "generalisation"

_KINDS: Final[Mapping[type[RuleDefinition], str]] = {
    IdentityDefinition: "identity",
    SuppressionDefinition: "suppression",
    TableLevelDefinition: "table_level",
    GeneralisationDefinition: GENERALISATION,
    RecordLevelDefinition: "record_level",
    ConditionalDefinition: CONDITIONAL,
    AtLeastDefinition: AT_LEAST,
}


def kind_of(definition: RuleDefinition) -> str:
    """The word for the definition's kind."""
    return _KINDS[type(definition)]


def definition_document(definition: GeneralisationDefinition | ConditionalDefinition) -> JsonObject:
    """The definition as plain JSON, conditions as syntax trees."""
    if isinstance(definition, GeneralisationDefinition):
        values = {attribute: dict(shown) for attribute, shown in definition.values.items()}
        return {"kind": GENERALISATION, "values": values}
    statements = [_statement_document(statement) for statement in definition.statements]
    return {"kind": CONDITIONAL, "statements": statements}


def definition_of(document: JsonObject) -> GeneralisationDefinition | ConditionalDefinition:
    """Inverse of :func:`definition_document`."""
    if document["kind"] == GENERALISATION:
        return GeneralisationDefinition(document["values"])
    return ConditionalDefinition(statements_of(document["statements"], ""))


def statements_of(documents: Sequence[JsonObject], pointer: str) -> tuple[Statement, ...]:
    """Statements from their plain form, conditions from text or syntax tree.

    InvalidInput, with pointers below ``pointer``, for every condition that cannot be read, and at ``pointer``
    for more than :data:`MOST_COMPARISONS`; what comes after these is not read.
    """
    faults: list[Fault] = []
    statements = []
    comparisons = 0
    for i, document in enumerate(documents):
        try:
            statement = _statement_of(document, f"{pointer}/{i}/unless")
        except InvalidInput as error:
            faults += error.faults
            continue
        statements.append(statement)
        comparisons += sum(1 for _ in comparisons_of(statement.unless))
        if comparisons > MOST_COMPARISONS:
            faults.append(_too_many_comparisons(pointer))
            break
    if faults:
        raise InvalidInput(faults)
    return tuple(statements)


def _too_many_comparisons(pointer: str) -> Fault:
    return Fault(
        pointer,
        "conditions-too-large",
        f"The conditions of a rule make at most {MOST_COMPARISONS} comparisons altogether.",
        "Shorten the conditions; where they list values or records, name what is shown of each by a rule of "
        "the kind generalisation, or by entities or rows.",
    )


def shown_definition(document: JsonObject) -> JsonObject | None:
    """The definition that a rule's document holds, as answers show it.

    Every statement also has its condition as text and the number of records that it affects.
    """
    definition: JsonObject | None = document.get("definition")
    if definition is None or definition["kind"] != CONDITIONAL:
        return definition
    statements = [
        {**statement, "unless_text": print_condition(condition_of_json(statement["unless"])), "affected": n}
        for statement, n in zip(definition["statements"], document["affected"], strict=True)
    ]
    return {**definition, "statements": statements}


def _statement_document(statement: Statement) -> JsonObject:
    common = {"attribute": statement.attribute, "unless": condition_to_json(statement.unless)}
    match statement:
        case Hide():
            return {"kind": "hide", **common}
        case Generalise():
            return {"kind": "generalise", **common, "to": _target_document(statement.to)}


def _target_document(target: Target) -> JsonObject:
    match target:
        case ToLevel(level):
            return {"kind": "level", "level": level}
        case ToValue(value):
            return {"kind": "value", "value": value}
        case ToEntities(values):
            return {"kind": "entities", "values": dict(values)}
        case ToRows(by_row):
            return {"kind": "rows", "values": {str(row): value for row, value in by_row.items()}}


def _statement_of(document: JsonObject, pointer: str) -> Statement:
    condition = _condition(document["unless"], pointer)
    if document["kind"] == "hide":
        return Hide(document["attribute"], condition)
    return Generalise(document["attribute"], condition, _target_of(document["to"]))


def _condition(written: Any, pointer: str) -> Condition:  # noqa: ANN401 - text or any JSON value
    if isinstance(written, str):
        return parse_condition(written, pointer)
    return condition_of_json(written, pointer)


def _target_of(document: JsonObject) -> Target:
    match document["kind"]:
        case "level":
            return ToLevel(document["level"])
        case "value":
            return ToValue(document["value"])
        case "entities":
            return ToEntities(document["values"])
        case _:
            return ToRows({int(row): value for row, value in document["values"].items()})
