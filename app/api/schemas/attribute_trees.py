"""A dataset's attribute on its hierarchy."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from app.api.schemas.common import Answer, Count, Number


class CountedNode(Answer):
    """A node of the hierarchy, the dataset's records at or below it, and what is below it."""

    node: Annotated[Count, Field(description="Code of the node; 0 is the top.", examples=[0])]
    label: Annotated[str, Field(max_length=1000, description="Its label.", examples=["Indiana"])]
    depth: Annotated[Count, Field(description="Steps from the top.", examples=[2])]
    leaves: Annotated[Count, Field(description="Leaves below it.", examples=[4])]
    records: Annotated[
        Count | None,
        Field(
            description="Records whose value is the node or below it; null without the scope `data:read`.",
            examples=[7],
        ),
    ]
    weight: Annotated[
        Number | None,
        Field(
            description="Its weight in the sensitivity profile that was named, where that has weights of "
            "values; null without the scope `data:read`.",
            examples=[0.15],
        ),
    ]
    n_children: Annotated[Count, Field(description="All its children, shown or not.", examples=[2])]
    children: Annotated[
        list[CountedNode], Field(max_length=1000, description="Those of its children that are shown.")
    ]


class Ancestor(Answer):
    """A node above."""

    node: Annotated[Count, Field(description="Code of the node; 0 is the top.", examples=[0])]
    label: Annotated[str, Field(max_length=1000, description="Its label.", examples=["*"])]


class AttributeTree(Answer):
    """Part of the hierarchy of a dataset's attribute."""

    attribute: Annotated[str, Field(max_length=1000, description="The attribute.", examples=["city"])]
    height: Annotated[Count, Field(description="Height of the hierarchy.", examples=[4])]
    rows: Annotated[Count, Field(description="Records of the dataset.", examples=[12])]
    path: Annotated[list[Ancestor], Field(max_length=1000, description="From the top to above the root.")]
    root: Annotated[CountedNode, Field(description="The node asked for, with what is below it.")]
