"""Hierarchies: how the values of an attribute generalise."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from app.api.schemas.common import Answer, Column, Count, Name, Ref, Request, Resource, Text
from app.services.hierarchies import CreateHierarchy, TreeNode
from app.services.hierarchy_definitions import (
    DatesDefinition,
    FlatDefinition,
    HierarchyDefinition,
    IntervalsDefinition,
    LeafColumn,
    LeafRange,
    LeafSource,
    LeafValues,
    MaskingDefinition,
    OrderedGroupsDefinition,
    ParentsDefinition,
    RowsDefinition,
)

MOST_VALUES = 1_000_000
"""Values in one list of a body; the size of the body bounds them before that."""

Decimal = Annotated[
    str, Field(pattern=r"^-?[0-9]{1,30}(\.[0-9]{1,30})?$", description="A decimal number, as text.")
]


class ValueRange(Request):
    """Leaves from first to last inclusive: numbers, or dates with the step in days."""

    first: Annotated[str, Field(max_length=40, description="First leaf.", examples=["0"])]
    last: Annotated[str, Field(max_length=40, description="Last leaf.", examples=["150000"])]
    step: Annotated[str, Field(max_length=40, description="Distance of neighbours.", examples=["1000"])] = "1"


class UploadColumn(Request):
    """Leaves that are the distinct non-missing values of an upload's column."""

    upload: Ref
    column: Annotated[Column, Field(description="Name of the column.", examples=["city"])]


class Leaves(Request):
    """Where a builder takes its leaves from: exactly one of three fields."""

    values: Annotated[
        list[Text] | None,
        Field(min_length=1, max_length=MOST_VALUES, description="The leaves, listed.", examples=[["a", "b"]]),
    ] = None
    range: Annotated[ValueRange | None, Field(description="The leaves as a range.")] = None
    upload: Annotated[UploadColumn | None, Field(description="The leaves as an upload's column.")] = None

    @model_validator(mode="after")
    def _takes_one_source(self) -> Self:
        if sum(source is not None for source in (self.values, self.range, self.upload)) != 1:
            raise PydanticCustomError("exactly_one", "Give exactly one of values, range and upload.")
        return self

    @property
    def leaves(self) -> LeafSource:
        """The source as the use case takes it."""
        if self.values is not None:
            return LeafValues(tuple(self.values))
        if self.range is not None:
            return LeafRange(self.range.first, self.range.last, self.range.step)
        assert self.upload is not None  # noqa: S101 - the validator has seen to it
        return LeafColumn(self.upload.upload, self.upload.column)


class Parents(Request):
    """Every value with the values directly above it."""

    kind: Annotated[Literal["parents"], Field(description="Kind of definition.")]
    parents: Annotated[
        dict[Text, Annotated[list[Text | None], Field(min_length=1, max_length=100)]],
        Field(
            min_length=1,
            max_length=MOST_VALUES,
            description="Value → its parents; null stands for the top.",
            examples=[{"White": ["European"], "European": [None]}],
        ),
    ]
    top_label: Annotated[
        Text, Field(description="What the top is called where it is shown.", examples=["*"])
    ] = "*"

    def definition(self) -> HierarchyDefinition:
        """The value that the use case takes."""
        return ParentsDefinition({k: tuple(v) for k, v in self.parents.items()}, self.top_label)


class Rows(Request):
    """One row per leaf, from the leaf to its most general label: the common CSV form as JSON."""

    kind: Annotated[Literal["rows"], Field(description="Kind of definition.")]
    rows: Annotated[
        list[Annotated[list[Text], Field(min_length=1, max_length=100)]],
        Field(
            min_length=1,
            max_length=MOST_VALUES,
            description="The rows.",
            examples=[[["Lafayette", "Indiana"]]],
        ),
    ]

    def definition(self) -> HierarchyDefinition:
        """The value that the use case takes."""
        return RowsDefinition(tuple(tuple(row) for row in self.rows))


class Intervals(Leaves):
    """Numbers in half-open intervals, `[50000, 60000[`, of widths that are multiples of each other."""

    kind: Annotated[Literal["intervals"], Field(description="Kind of definition.")]
    widths: Annotated[
        list[Decimal],
        Field(min_length=1, max_length=30, description="Width per level.", examples=[["10000", "100000"]]),
    ]
    origin: Annotated[
        Decimal, Field(description="Where an interval of every width begins.", examples=["0"])
    ] = "0"

    def definition(self) -> HierarchyDefinition:
        """The value that the use case takes."""
        return IntervalsDefinition(self.leaves, tuple(self.widths), self.origin)


class OrderedGroups(Leaves):
    """Neighbours in the order of the leaves, grouped."""

    kind: Annotated[Literal["ordered_groups"], Field(description="Kind of definition.")]
    group_sizes: Annotated[
        list[Annotated[int, Field(ge=1, le=MOST_VALUES)]],
        Field(
            min_length=1,
            max_length=30,
            description="Per level, how many groups of the level below make one.",
            examples=[[2, 2]],
        ),
    ]

    def definition(self) -> HierarchyDefinition:
        """The value that the use case takes."""
        return OrderedGroupsDefinition(self.leaves, tuple(self.group_sizes))


class Masking(Leaves):
    """One character more masked per level."""

    kind: Annotated[Literal["masking"], Field(description="Kind of definition.")]
    side: Annotated[Literal["left", "right"], Field(description="Where masking begins.")] = "right"
    char: Annotated[
        str, Field(min_length=1, max_length=1, pattern=r"^[^\x00]$", description="Masks.", examples=["*"])
    ] = "*"
    pad: Annotated[Literal["left", "right"], Field(description="Where shorter values are filled up.")] = (
        "right"
    )

    def definition(self) -> HierarchyDefinition:
        """The value that the use case takes."""
        return MaskingDefinition(self.leaves, self.side, self.char, self.pad)


class Dates(Leaves):
    """ISO dates truncated to the levels given, finest first."""

    kind: Annotated[Literal["dates"], Field(description="Kind of definition.")]
    levels: Annotated[
        list[Literal["day", "month", "quarter", "year", "decade"]],
        Field(min_length=1, max_length=5, description="Levels.", examples=[["day", "month", "year"]]),
    ]

    def definition(self) -> HierarchyDefinition:
        """The value that the use case takes."""
        return DatesDefinition(self.leaves, tuple(self.levels))


class Flat(Leaves):
    """Every value directly below the top."""

    kind: Annotated[Literal["flat"], Field(description="Kind of definition.")]

    def definition(self) -> HierarchyDefinition:
        """The value that the use case takes."""
        return FlatDefinition(self.leaves)


class NewHierarchy(Request):
    """A hierarchy to be created."""

    name: Name
    definition: Annotated[
        Parents | Rows | Intervals | OrderedGroups | Masking | Dates | Flat,
        Field(discriminator="kind", description="The values and what is above them."),
    ]

    def request(self) -> CreateHierarchy:
        """The value that the use case takes."""
        return CreateHierarchy(self.name, self.definition.definition())


def _from_the_top(levels: Any) -> Any:  # noqa: ANN401 - whatever is stored
    """Hierarchies were stored with the lowest level first, of which no higher one has more values."""
    return list(reversed(levels)) if levels and levels[0] > levels[-1] else levels


class Hierarchy(Resource):
    """A hierarchy."""

    kind: Annotated[str, Field(max_length=40, description="Kind of its definition.", examples=["rows"])]
    height: Annotated[
        Count, Field(description="Levels above the leaves; level `height` is the top.", examples=[4])
    ]
    nodes: Annotated[Count, Field(description="Number of nodes, the top included.", examples=[20])]
    leaves: Annotated[Count, Field(description="Number of leaves.", examples=[10])]
    is_tree: Annotated[bool, Field(description="Whether every node has one parent.", examples=[True])]
    is_balanced: Annotated[bool, Field(description="Whether all leaves are equally deep.", examples=[True])]
    top_label: Annotated[str, Field(max_length=1000, description="What the top is called.", examples=["*"])]
    level_nodes: Annotated[
        list[Count],
        Field(
            max_length=1000,
            description="Values that the leaves become per level, from the top down; empty unless a tree.",
            examples=[[1, 2, 10]],
        ),
        BeforeValidator(_from_the_top),
    ]
    warnings: Annotated[
        list[str], Field(max_length=1000, description="What is unusual but allowed.", examples=[[]])
    ]


class Node(Answer):
    """A node of a hierarchy's preview and what is below it."""

    node: Annotated[Count, Field(description="Code of the node; 0 is the top.", examples=[0])]
    label: Annotated[str, Field(max_length=1000, description="Its label.", examples=["Indiana"])]
    depth: Annotated[Count, Field(description="Steps from the top.", examples=[2])]
    leaves: Annotated[Count, Field(description="Leaves below it.", examples=[4])]
    n_children: Annotated[Count, Field(description="All its children, shown or not.", examples=[2])]
    children: Annotated[
        list[Node], Field(max_length=1000, description="Those of its children that are shown.")
    ]


def shown_node(node: TreeNode) -> Node:
    """A preview as its answer."""
    return Node.model_validate(node)
