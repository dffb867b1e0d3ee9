"""The ways to define a rule, as values, and those that are kept with the rule as plain documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Final

from annotated_types import Ge, Le, MaxLen, doc

from app.domain.catalogue.catalogue_types import ColumnName, DictionaryRef, Example, LabelText
from app.domain.classes.grouping import Missing, Suppressed
from app.domain.errors import Fault, InvalidInput, refuse
from app.domain.models.class_suppression import EQUIVALENCE_CLASSES, ClassSuppression, Meaning, SmallClasses
from app.domain.models.suppression import Order
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
from app.domain.rules.conditions import comparisons_of, condition_of_json, condition_to_json
from app.domain.search.objectives import Criteria
from app.services.resources import JsonObject

LEAST_SUPPRESS_CLASSES_BELOW: Final = 2
"""Least ``suppress_classes_below`` that can suppress anything."""

Level = Annotated[int, Ge(0), Le(1_000)]
Levels = Annotated[
    Mapping[LabelText, Level],
    MaxLen(10_000),
    doc(
        "Attribute → level, a cut through the whole hierarchy: 0 is the value as it is, the hierarchy's "
        "height suppresses it; a value above the cut stays as it is. Attributes that are not named stay at 0."
    ),
    Example({"city": 1, "birth_date": 2}),
]
ShownValue = Annotated[LabelText | None, doc("Label of a node of the hierarchy; null is suppressed.")]
ShownValues = Annotated[
    Mapping[LabelText, ShownValue],
    MaxLen(1_000_000),
    doc(
        "Original value → value shown, one above it in the hierarchy or null. Values that are not named stay."
    ),
    Example({"Gary": "Indiana", "Albany": None}),
]
Population = Annotated[
    DictionaryRef | None,
    doc(
        "Dictionary that lists the population which the criteria compare the classes with, such as `k_map` "
        "and `delta_presence`. Where none of them does it is ignored, and `notes` say so."
    ),
    Example("census"),
]


@dataclass(frozen=True)
class IdentityDefinition:
    """Everything as it is."""

    kind: ClassVar[str] = "identity"


@dataclass(frozen=True)
class SuppressionDefinition:
    """The attributes named are suppressed, the others shown as they are."""

    kind: ClassVar[str] = "suppression"

    attributes: Annotated[
        tuple[ColumnName, ...],
        MaxLen(10_000),
        doc("Attributes that are suppressed."),
        Example(["birth_date"]),
    ]


@dataclass(frozen=True)
class TableLevelDefinition:
    """One level per attribute for the whole table."""

    kind: ClassVar[str] = "table_level"

    levels: Levels
    suppress_classes_below: Annotated[
        int | None,
        Ge(LEAST_SUPPRESS_CLASSES_BELOW),
        Le(2**31),
        doc("Suppress all equivalence classes of fewer records than this: those that fail k-anonymity."),
        Example(5),
    ] = None
    meaning: Annotated[
        Meaning,
        doc(
            "Version of the meaning of `suppress_classes_below`. 2 counts equivalence classes of the "
            "quasi-identifiers. 1 compares sensitive values, too, and so suppresses more: rules stored "
            "before there was a 2 keep it, and state it to be stated again."
        ),
        Example(2),
    ] = EQUIVALENCE_CLASSES
    suppress_classes_failing: Annotated[
        Criteria | None,
        doc(
            "Instead of it: suppress all equivalence classes that fail one of these "
            "criteria, then, as far as those of the whole table ask for it, the smallest ones, in the order "
            "of `suppression_order`."
        ),
    ] = None
    missing: Annotated[
        Missing,
        doc(
            "With criteria: `excluded` suppresses records with a missing quasi-identifier, too; with "
            "`matches_everything` a missing one matches every value, so that suppressing a class makes "
            "others smaller, which are then suppressed, too."
        ),
    ] = "own_category"
    suppressed: Annotated[
        Suppressed,
        doc(
            "With criteria: `own_block` shows the sensitive values of suppressed records, whose "
            "quasi-identifiers are then one more class."
        ),
    ] = "excluded"
    suppression_order: Annotated[
        Order,
        doc(
            "With criteria of the whole table: `size_by_size` suppresses all classes of the least size, then "
            "all of the next, until they are met; `class_by_class` no more classes than have to be: among "
            "the fewest people first, where a criterion compares with a population, then those of fewest "
            "records, of equals those that disclose least. Searches find rules of this order."
        ),
    ] = "size_by_size"
    dictionary: Population = None

    def __post_init__(self) -> None:
        failing = self.suppress_classes_failing
        if self.suppress_classes_below is not None and failing is not None:
            raise InvalidInput.of(
                "",
                "at-most-one",
                "Give at most one of suppress_classes_below and suppress_classes_failing.",
            )
        options = (self.missing, self.suppressed, self.suppression_order)
        if failing is None and options != ("own_category", "excluded", "size_by_size"):
            raise InvalidInput.of(
                "",
                "needs-criteria",
                "missing, suppressed and suppression_order need suppress_classes_failing.",
            )

    @property
    def suppression(self) -> SmallClasses | ClassSuppression | None:
        """What is suppressed beside the levels; None: nothing."""
        if self.suppress_classes_failing is not None:
            return ClassSuppression(
                self.suppress_classes_failing, self.missing, self.suppressed, self.suppression_order
            )
        below = self.suppress_classes_below
        return None if below is None else SmallClasses(below, self.meaning)


@dataclass(frozen=True)
class GeneralisationDefinition:
    """Some values are shown as one of their ancestors, in the whole table."""

    kind: ClassVar[str] = "generalisation"

    values: Annotated[
        Mapping[LabelText, ShownValues],
        MaxLen(10_000),
        doc("Attribute → {original value: value shown}."),
        Example({"city": {"Gary": "Indiana"}}),
    ]


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
    """Steps or values per record; records that are not named are shown as they are."""

    kind: ClassVar[str] = "record_level"

    records: tuple[RecordLevels, ...]


@dataclass(frozen=True)
class ConditionalDefinition:
    """Statements, each of which hides or generalises an attribute where its condition is not true."""

    kind: ClassVar[str] = "conditional"

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
    """Another rule of the dataset with every record generalised further."""

    kind: ClassVar[str] = "at_least"

    rule: str | StatedDefinition
    levels: Annotated[
        Levels,
        doc(
            "Attribute → level that every record is generalised to at least: what the rule shows of a cell "
            "stays where it is more general. Attributes that are not named stay as the rule says."
        ),
    ]
    suppress_classes_failing: Annotated[
        Criteria | None, doc("Suppress all of the classes that fail one of these criteria then.")
    ] = None
    dictionary: Population = None

    @property
    def suppression(self) -> ClassSuppression | None:
        """What is suppressed beside; None: nothing."""
        failing = self.suppress_classes_failing
        return None if failing is None else ClassSuppression(failing)


RuleDefinition = StatedDefinition | AtLeastDefinition

MOST_COMPARISONS: Final = 10_000
"""Most comparisons of all conditions of a rule."""


def definition_document(definition: GeneralisationDefinition | ConditionalDefinition) -> JsonObject:
    """The definition as plain JSON, conditions as syntax trees."""
    if isinstance(definition, GeneralisationDefinition):
        values = {attribute: dict(shown) for attribute, shown in definition.values.items()}
        return {"kind": definition.kind, "values": values}
    statements = [_statement_document(statement) for statement in definition.statements]
    return {"kind": definition.kind, "statements": statements}


def definition_of(document: JsonObject) -> GeneralisationDefinition | ConditionalDefinition:
    """Inverse of :func:`definition_document`."""
    if document["kind"] == GeneralisationDefinition.kind:
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
            faults.append(
                Fault(
                    pointer,
                    "conditions-too-large",
                    f"The conditions of a rule make at most {MOST_COMPARISONS} comparisons altogether.",
                    "Shorten the conditions; where they list values or records, name what is shown of each "
                    "by a rule of the kind generalisation, or by entities or rows.",
                )
            )
            break
    refuse(faults)
    return tuple(statements)


def shown_definition(document: JsonObject) -> JsonObject | None:
    """The definition that a rule's document holds, as answers show it.

    Every statement also has its condition as text and the number of records that it affects.
    """
    definition: JsonObject | None = document.get("definition")
    if definition is None or definition["kind"] != ConditionalDefinition.kind:
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
    written = document["unless"]
    condition = (
        parse_condition(written, pointer) if isinstance(written, str) else condition_of_json(written, pointer)
    )
    if document["kind"] == "hide":
        return Hide(document["attribute"], condition)
    return Generalise(document["attribute"], condition, _target_of(document["to"]))


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
