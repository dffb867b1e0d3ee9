"""Disclosure rules: what is shown of whom."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from app.api.schemas.common import (
    Column,
    Count,
    Name,
    Ref,
    Request,
    Resource,
    Text,
)
from app.api.schemas.conditions import Statement
from app.api.schemas.criteria import Privacy, criteria_asked
from app.api.schemas.shown_rules import ShownSuppression
from app.domain.classes.grouping import Missing, Suppressed
from app.domain.criteria.class_suppression import (
    EQUIVALENCE_CLASSES,
    ClassSuppression,
    Meaning,
    SmallClasses,
)
from app.domain.criteria.suppression_order import Order
from app.domain.errors import pointing_into
from app.services import rule_definitions, rules
from app.services.rule_definitions import RuleDefinition
from app.services.rules import CreateRule

Level = Annotated[int, Field(strict=True, ge=0, le=1000)]
Levels = Annotated[
    dict[Text, Level],
    Field(
        max_length=10_000,
        description="Attribute → level, a cut through the whole hierarchy: 0 is the value as it is, the "
        "hierarchy's height suppresses it; a value above the cut stays as it is. Attributes that are not "
        "named stay at 0.",
        examples=[{"city": 1, "birth_date": 2}],
    ),
]

Steps = Annotated[
    dict[Text, Level],
    Field(
        max_length=10_000,
        description="Attribute → steps up from the record's own value, one per value above it: 0 is as it "
        "is. Steps beyond ⊥ are refused. Attributes that are not named stay as they are.",
        examples=[{"city": 1}],
    ),
]


class Identity(Request):
    """Everything as it is."""

    kind: Annotated[Literal["identity"], Field(description="Kind of rule.")]

    def definition(self) -> rule_definitions.StatedDefinition:
        """The value that the use case takes."""
        return rules.IdentityDefinition()


class Suppression(Request):
    """Some attributes are withheld, the others shown as they are."""

    kind: Annotated[Literal["suppression"], Field(description="Kind of rule.")]
    attributes: Annotated[
        list[Column],
        Field(max_length=10_000, description="Attributes that are withheld.", examples=[["birth_date"]]),
    ]

    def definition(self) -> rule_definitions.StatedDefinition:
        """The value that the use case takes."""
        return rules.SuppressionDefinition(tuple(self.attributes))


Population = Annotated[
    Ref | None,
    Field(
        description="Dictionary that lists the population which the criteria compare the classes with, such "
        "as `k_map` and `delta_presence`. Where none of them does it is ignored, and `notes` say so.",
        examples=["census"],
    ),
]


class TableLevel(Request):
    """One level per attribute for the whole table."""

    kind: Annotated[Literal["table_level"], Field(description="Kind of rule.")]
    levels: Levels
    suppress_classes_below: Annotated[
        int | None,
        Field(
            strict=True,
            ge=rule_definitions.FEWEST_ALIKE,
            le=2**31,
            description="Suppress all of the records whose quasi-identifiers are then disclosed like those "
            "of fewer than so many: the equivalence classes that fail k-anonymity.",
            examples=[5],
        ),
    ] = None
    meaning: Annotated[
        Meaning,
        Field(
            description="Version of the meaning of `suppress_classes_below`. 2 counts equivalence classes of "
            "the quasi-identifiers. 1 compares sensitive values, too, and so suppresses more: rules stored "
            "before there was a 2 keep it, and state it to be stated again.",
            examples=[2],
        ),
    ] = EQUIVALENCE_CLASSES
    suppress_classes_failing: Annotated[
        Privacy | None,
        Field(
            description="Instead of it: withhold all of the classes of quasi-identifiers that fail one of "
            "these criteria, then, as far as those of the whole table ask for it, the smallest ones, in the "
            "order of `suppression_order`."
        ),
    ] = None
    missing: Annotated[
        Missing,
        Field(
            description="With criteria: `excluded` withholds records with a missing quasi-identifier, too; "
            "with `matches_everything` a missing one is like any value, so that withholding a class makes "
            "others smaller, which are then withheld, too."
        ),
    ] = "own_category"
    suppressed: Annotated[
        Suppressed,
        Field(
            description="With criteria: `own_block` shows the sensitive values of withheld records, whose "
            "quasi-identifiers are then one more class."
        ),
    ] = "excluded"
    suppression_order: Annotated[
        Order,
        Field(
            description="With criteria of the whole table: `size_by_size` withholds all classes of the least "
            "size, then all of the next, until they are met; `class_by_class` no more classes than have to "
            "be: among the fewest people first, where a criterion compares with a population, then those of "
            "fewest records, of equals those that disclose least. Searches find rules of this order."
        ),
    ] = "size_by_size"

    dictionary: Population = None

    @model_validator(mode="after")
    def _suppresses_in_one_way(self) -> Self:
        if self.suppress_classes_below is not None and self.suppress_classes_failing is not None:
            raise PydanticCustomError(
                "at_most_one", "Give at most one of suppress_classes_below and suppress_classes_failing."
            )
        options = (self.missing, self.suppressed, self.suppression_order)
        unusual = options != ("own_category", "excluded", "size_by_size")
        if unusual and self.suppress_classes_failing is None:
            raise PydanticCustomError(
                "needs_criteria",
                "missing, suppressed and suppression_order need suppress_classes_failing.",
            )
        return self

    def definition(self) -> rule_definitions.StatedDefinition:
        """The value that the use case takes."""
        suppression: SmallClasses | ClassSuppression | None = None
        if self.suppress_classes_below is not None:
            suppression = SmallClasses(self.suppress_classes_below, self.meaning)
        if self.suppress_classes_failing is not None:
            failing = criteria_asked(self.suppress_classes_failing, "/rule/suppress_classes_failing")
            suppression = ClassSuppression(failing, self.missing, self.suppressed, self.suppression_order)
        return rules.TableLevelDefinition(self.levels, suppression, self.dictionary)


ShownValue = Annotated[Text | None, Field(description="Label of a node of the hierarchy; null is withheld.")]
ShownValues = Annotated[
    dict[Text, ShownValue],
    Field(
        max_length=1_000_000,
        description="Original value → value shown, one above it in the hierarchy or null. Values that are "
        "not named stay.",
        examples=[{"Gary": "Indiana", "Albany": None}],
    ),
]


class Generalisation(Request):
    """Some values are shown as one of their ancestors, in the whole table."""

    kind: Annotated[Literal["generalisation"], Field(description="Kind of rule.")]
    values: Annotated[
        dict[Text, ShownValues],
        Field(
            max_length=10_000,
            description="Attribute → {original value: value shown}.",
            examples=[{"city": {"Gary": "Indiana"}}],
        ),
    ]

    def definition(self) -> rule_definitions.StatedDefinition:
        """The value that the use case takes."""
        return rule_definitions.GeneralisationDefinition(self.values)


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
        Field(
            max_length=10_000,
            description="Deprecated: attribute → steps, by their former name; they are no levels of the full "
            "domain, and those beyond ⊥ end there. Give `steps`.",
            examples=[{"city": 1}],
            json_schema_extra={"deprecated": True},
        ),
    ] = {}  # noqa: RUF012 - pydantic copies it
    values: ShownRecord = {}  # noqa: RUF012 - pydantic copies it

    @model_validator(mode="after")
    def _names_one_record(self) -> Self:
        if (self.entity is None) == (self.row is None):
            raise PydanticCustomError("exactly_one", "Give exactly one of entity and row.")
        return self


class RecordLevel(Request):
    """Steps or values per record; records that are not named are shown as they are."""

    kind: Annotated[Literal["record_level"], Field(description="Kind of rule.")]
    records: Annotated[list[RecordLevels], Field(max_length=100_000, description="The records.")]

    @model_validator(mode="after")
    def _counts_in_one_way(self) -> Self:
        if any(record.levels for record in self.records) and any(record.steps for record in self.records):
            raise PydanticCustomError(
                "levels_and_steps",
                "Give steps for all records, and no levels, which mean the same and are deprecated.",
            )
        return self

    def definition(self) -> rule_definitions.StatedDefinition:
        """The value that the use case takes."""
        records = (rules.RecordLevels(r.levels, r.entity, r.row, r.values, r.steps) for r in self.records)
        return rules.RecordLevelDefinition(tuple(records))


class Conditional(Request):
    """Statements that hide or generalise an attribute of every record unless a condition is true of it."""

    kind: Annotated[Literal["conditional"], Field(description="Kind of rule.")]
    statements: Annotated[
        list[Statement],
        Field(
            min_length=1,
            max_length=1000,
            description="In any order: all conditions are judged on the original table, and where several "
            "statements affect a cell, the least value above all that they ask for is shown.",
        ),
    ]

    def definition(self) -> rule_definitions.StatedDefinition:
        """The value that the use case takes; InvalidInput for conditions that cannot be read."""
        documents = [statement.model_dump(mode="json") for statement in self.statements]
        statements = rule_definitions.statements_of(documents, "/rule/statements")
        return rule_definitions.ConditionalDefinition(statements)


StatedDefinition = Annotated[
    Identity | Suppression | TableLevel | Generalisation | RecordLevel | Conditional,
    Field(discriminator="kind"),
]


class AtLeast(Request):
    """Another rule of the dataset with every record generalised further."""

    kind: Annotated[Literal["at_least"], Field(description="Kind of rule.")]
    rule: Annotated[
        Ref | StatedDefinition,
        Field(description="The rule: its id or name, or how it is defined.", examples=["exceptions"]),
    ]
    levels: Annotated[
        Levels,
        Field(
            description="Attribute → level that every record is generalised to at least: what the rule shows "
            "of a cell stays where it is more general. Attributes that are not named stay as the rule says."
        ),
    ]
    suppress_classes_failing: Annotated[
        Privacy | None,
        Field(description="Suppress all of the classes that fail one of these criteria then."),
    ] = None
    dictionary: Population = None

    def definition(self) -> RuleDefinition:
        """The value that the use case takes."""
        suppression = None
        if self.suppress_classes_failing is not None:
            failing = criteria_asked(self.suppress_classes_failing, "/rule/suppress_classes_failing")
            suppression = ClassSuppression(failing)
        rule = self.rule
        if isinstance(rule, str):
            return rule_definitions.AtLeastDefinition(rule, self.levels, suppression, self.dictionary)
        with pointing_into("/rule"):
            return rule_definitions.AtLeastDefinition(
                rule.definition(), self.levels, suppression, self.dictionary
            )


Definition = Annotated[
    Identity | Suppression | TableLevel | Generalisation | RecordLevel | Conditional | AtLeast,
    Field(discriminator="kind"),
]


class NewRule(Request):
    """A rule to be created."""

    name: Name
    dataset: Annotated[Ref, Field(description="Dataset that it discloses.", examples=["members"])]
    rule: Annotated[Definition, Field(description="The rule.")]

    def request(self) -> CreateRule:
        """The value that the use case takes."""
        return CreateRule(self.name, self.dataset, self.rule.definition())


class Rule(ShownSuppression, Resource):
    """A rule."""

    dataset: Annotated[str, Field(max_length=100, description="Name of its dataset.", examples=["members"])]
    kind: Annotated[str, Field(max_length=40, description="Kind of rule.", examples=["table_level"])]
    levels: Annotated[
        dict[str, Count] | None,
        Field(
            description="Attribute → level; null for rules that are not one level per attribute.",
            examples=[{"city": 1}],
        ),
    ]
    records: Annotated[
        Count | None,
        Field(
            description="Records with levels or values of their own, or that the rule changes or, of one "
            "level per attribute, withholds; null for other rules of one level per attribute.",
            examples=[2],
        ),
    ]
    notes: Annotated[
        list[str],
        Field(max_length=10, description="What of the definition was ignored, and why.", examples=[[]]),
    ] = []  # noqa: RUF012 - pydantic copies it
    definition: Annotated[
        dict[str, Any] | None,
        Field(
            description="Of conditional rules and generalisations, how they were defined; every statement "
            "also has its condition as text (`unless_text`) and the number of records that it affects "
            "(`affected`). Null for other rules, in lists, and without data:read.",
        ),
    ] = None
