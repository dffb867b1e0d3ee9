"""Conditions, as text or syntax tree, and the statements of conditional rules that have one each."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, StrictFloat, StrictInt, StrictStr, StringConstraints, Tag

from app.api.schemas.common import Column, Request, Text
from app.domain.rules.condition_text import MAX_CHARACTERS
from app.domain.rules.conditions import MAX_COMPARISONS, Connective, Operator

MOST_VALUES = 1_000_000


class AttributeOperand(Request):
    """A column of the dataset, disclosed or not."""

    attr: Annotated[Column, Field(description="Its name.", examples=["city"])]


_Whole = Annotated[StrictInt, Field(ge=-(10**30) + 1, le=10**30 - 1)]
_Real = Annotated[StrictFloat, Field(ge=-1e30, le=1e30)]
_ConstantText = Annotated[StrictStr, StringConstraints(max_length=1000, pattern=r"^[^\x00]*$")]

NumberOrText = _Whole | _Real | _ConstantText
"""What values are compared with."""


class ConstantOperand(Request):
    """A number or a text; a text like 1975-05-10 is a date where it is compared with a column of dates."""

    const: Annotated[NumberOrText, Field(examples=["Gary", 65])]
    """The constant."""


def _operand_kind(value: object) -> str:
    named = value.keys() if isinstance(value, dict) else vars(value) if hasattr(value, "__dict__") else ()
    return "a constant" if "const" in named else "an attribute"


# The tags stand in the places of errors and must not look like fields there.
Operand = Annotated[
    Annotated[AttributeOperand, Tag("an attribute")] | Annotated[ConstantOperand, Tag("a constant")],
    Discriminator(_operand_kind),
]


class Compared(Request):
    """Two operands of the same type compared; unknown where one of them is missing."""

    op: Annotated[Operator, Field(description="Comparison. Texts are ordered by their code points.")]
    left: Annotated[Operand, Field(description="Column or constant.")]
    right: Annotated[Operand, Field(description="Column or constant.")]


class Negated(Request):
    """The opposite; the opposite of unknown is unknown."""

    op: Annotated[Literal["not"], Field(description="Negation.")]
    args: Annotated[list[Tree], Field(min_length=1, max_length=1, description="The one condition.")]


class Joined(Request):
    """Conditions joined by the same word."""

    op: Annotated[Connective, Field(description="All of them, or at least one.")]
    args: Annotated[list[Tree], Field(min_length=2, max_length=MAX_COMPARISONS, description="Conditions.")]


Tree = Annotated[Compared | Negated | Joined, Field(discriminator="op")]

_ConditionText = Annotated[str, StringConstraints(max_length=MAX_CHARACTERS, pattern=r"^[^\x00]*$")]


def _condition_form(value: object) -> str:
    return "text" if isinstance(value, str) else "tree"


Condition = Annotated[
    Annotated[_ConditionText, Tag("text")] | Annotated[Tree, Tag("tree")],
    Discriminator(_condition_form),
    Field(
        description="As text, `age >= 65 and not (city = 'Gary')`, or as its syntax tree. Names that are not "
        "words stand in double quotes, texts in single ones.",
        examples=["income < 50000 or city != 'Gary'"],
    ),
]

Attribute = Annotated[Column, Field(description="Disclosed attribute that it is about.", examples=["city"])]
Unless = Annotated[
    Condition,
    Field(description="Records of which this is true keep their value; all others are affected, also where "
          "it is unknown."),
]  # fmt: skip
Label = Annotated[Text | None, Field(description="Label of a node of the hierarchy; null is suppressed.")]


class HideStatement(Request):
    """The attribute is suppressed unless the condition is true."""

    kind: Annotated[Literal["hide"], Field(description="Kind of statement.")]
    attribute: Attribute
    unless: Unless


class ToLevel(Request):
    """The ancestor at a level, as in rules for the whole table."""

    kind: Annotated[Literal["level"], Field(description="What is shown.")]
    level: Annotated[int, Field(strict=True, ge=0, le=1000, description="The level.", examples=[2])]


class ToValue(Request):
    """One ancestor that all affected records have in common; what is missing stays missing."""

    kind: Annotated[Literal["value"], Field(description="What is shown.")]
    value: Annotated[Label, Field(description="The ancestor, or null for suppressed.", examples=["Indiana"])]


class ToEntities(Request):
    """A value for each affected record, by its entity id."""

    kind: Annotated[Literal["entities"], Field(description="What is shown.")]
    values: Annotated[dict[Text, Label], Field(max_length=MOST_VALUES, examples=[{"m-05": "Indiana"}])]
    """Entity id → value shown, for at least the affected records."""


class ToRows(Request):
    """A value for each affected record, by its row number from 1."""

    kind: Annotated[Literal["rows"], Field(description="What is shown.")]
    values: Annotated[
        dict[Annotated[int, Field(ge=1, le=2**31)], Label],
        Field(max_length=MOST_VALUES, examples=[{"5": "Indiana"}]),
    ]
    """Row number → value shown, for at least the affected records."""


class GeneraliseStatement(Request):
    """The attribute is shown as one of its ancestors unless the condition is true."""

    kind: Annotated[Literal["generalise"], Field(description="Kind of statement.")]
    attribute: Attribute
    unless: Unless
    to: Annotated[ToLevel | ToValue | ToEntities | ToRows, Field(discriminator="kind")]
    """What is shown of the affected records."""


Statement = Annotated[HideStatement | GeneraliseStatement, Field(discriminator="kind")]
