"""Hierarchies: how the values of an attribute generalise."""

from __future__ import annotations

from typing import Annotated, Any, Final, Self

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from app.api.schemas.common import Answer, Count, Name, Request, Resource, Text
from app.api.schemas.derived import Asked, one_of, request_of, value_of
from app.domain.hierarchies.hierarchy_definitions import (
    MADE_OF_LEAVES,
    MOST_VALUES,
    LeafColumn,
    LeafRange,
    LeafSource,
    LeafValues,
    MaskingDefinition,
    ParentsDefinition,
    RowsDefinition,
)
from app.services.datasets.attribute_trees import CountedNode
from app.services.datasets.hierarchies import CreateHierarchy

_KIND: Final = "Kind of definition."

ValueRange: Final = request_of(LeafRange, "ValueRange", None)
UploadColumn: Final = request_of(LeafColumn, "UploadColumn", None)


class Leaves(Asked):
    """Where a builder takes its leaves from: exactly one of three fields."""

    values: Annotated[
        list[Text] | None,
        Field(min_length=1, max_length=MOST_VALUES, description="The leaves, listed.", examples=[["a", "b"]]),
    ] = None
    range: Annotated[
        ValueRange | None,  # type: ignore[valid-type]
        Field(description="The leaves as a range."),
    ] = None
    upload: Annotated[
        UploadColumn | None,  # type: ignore[valid-type]
        Field(description="The leaves as an upload's column."),
    ] = None

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
        source: Any = self.range or self.upload
        leaves: LeafSource = value_of(source)
        return leaves


_CHARACTER: Any = Annotated[
    str, Field(min_length=1, max_length=1, pattern=r"^[^\x00]$", description="Masks.", examples=["*"])
]
Definition: Any = one_of(
    (
        request_of(ParentsDefinition, "Parents", "parents", said_of_kind=_KIND),
        request_of(RowsDefinition, "Rows", "rows", said_of_kind=_KIND),
        *(
            request_of(
                own,
                own.__name__.removesuffix("Definition"),
                kind,
                said_of_kind=_KIND,
                fields={"char": (_CHARACTER, "*")} if own is MaskingDefinition else {},
                parts={int: int},
                base=Leaves,
            )
            for kind, own in MADE_OF_LEAVES.items()
        ),
    )
)


class NewHierarchy(Request):
    """A hierarchy to be created."""

    name: Name
    definition: Definition
    """The values and what is above them."""
    from_data: Annotated[
        bool,
        Field(
            description="Whether the labels, or what is above them, were taken from records though they are "
            "written out, as of a hierarchy that was made from a column and then edited. Differentially "
            "private mechanisms refuse such a hierarchy. Leaves of an upload's column always are.",
            examples=[False],
        ),
    ] = False

    def request(self) -> CreateHierarchy:
        """The value that the use case takes."""
        return CreateHierarchy(self.name, value_of(self.definition), self.from_data)


def _from_the_top(levels: Any) -> Any:  # noqa: ANN401 - whatever is stored
    """Hierarchies were stored with the lowest level first, of which no higher one has more values."""
    return list(reversed(levels)) if levels and levels[0] > levels[-1] else levels


class Hierarchy(Resource):
    """A hierarchy."""

    kind: Annotated[str, Field(max_length=40, description="Kind of its definition.", examples=["rows"])]
    height: Annotated[Count, Field(examples=[4])]
    """Levels above the leaves; level `height` is the top."""
    nodes: Annotated[Count, Field(description="Number of nodes, the top included.", examples=[20])]
    leaves: Annotated[Count, Field(description="Number of leaves.", examples=[10])]
    is_tree: Annotated[bool, Field(description="Whether every node has one parent.", examples=[True])]
    is_balanced: Annotated[bool, Field(description="Whether all leaves are equally deep.", examples=[True])]
    top_label: Annotated[str, Field(max_length=1000, description="What the top is called.", examples=["*"])]
    level_nodes: Annotated[
        list[Count], Field(max_length=1000, examples=[[1, 2, 10]]), BeforeValidator(_from_the_top)
    ]
    """Values that the leaves become per level, from the top down; empty unless a tree."""
    warnings: Annotated[list[str], Field(max_length=1000, examples=[[]])]
    """What is unusual but allowed."""
    from_data: Annotated[
        bool | None,
        Field(
            description="Whether records decided what it holds, so that differentially private mechanisms "
            "refuse it. Null: it was made before that was recorded, and is refused unless its kind is "
            "parents or rows.",
            examples=[False],
        ),
    ] = None


class Node(Answer):
    """A node of a hierarchy's preview and what is below it."""

    node: Annotated[Count, Field(description="Code of the node; 0 is the top.", examples=[0])]
    label: Annotated[str, Field(max_length=1000, description="Its label.", examples=["Indiana"])]
    depth: Annotated[Count, Field(description="Steps from the top.", examples=[2])]
    leaves: Annotated[Count, Field(description="Leaves below it.", examples=[4])]
    n_children: Annotated[Count, Field(description="All its children, shown or not.", examples=[2])]
    children: Annotated[list[Node], Field(max_length=1000)]
    """Those of its children that are shown."""


def shown_node(node: CountedNode) -> Node:
    """A preview as its answer."""
    return Node.model_validate(node)
