"""Sensitivity profiles: how much harm the disclosure of each value does."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from app.api.schemas.common import Answer, Column, Name, NonNegative, Number, Ref, Request, Resource, Text
from app.services import sensitivity_profiles
from app.services.sensitivity_profiles import CreateSensitivityProfile, SensitivityFamily

MOST_NODES = 1_000_000


class Constant(Request):
    """The same weight for every value but the top."""

    constant: Annotated[NonNegative, Field(description="The weight.", examples=[0.5])]

    def weights(self) -> sensitivity_profiles.Weights:
        """The value that the use case takes."""
        return sensitivity_profiles.ConstantWeight(self.constant)


class Leaves(Request):
    """Weights of leaves; what is above them weighs less by the modified harmonic mean."""

    leaves: Annotated[
        NonNegative | Annotated[dict[Text, NonNegative], Field(min_length=1, max_length=MOST_NODES)],
        Field(description="One weight for all leaves, or a weight for each.", examples=[0.3]),
    ]
    inner: Annotated[Literal["harmonic"], Field(description="How inner nodes get their weights.")] = (
        "harmonic"
    )

    def weights(self) -> sensitivity_profiles.Weights:
        """The value that the use case takes."""
        return sensitivity_profiles.LeafWeights(self.leaves, self.inner)


class Nodes(Request):
    """A weight for every node; the top weighs 0."""

    nodes: Annotated[
        dict[Text, NonNegative],
        Field(
            min_length=1,
            max_length=MOST_NODES,
            description="Label of a node → its weight.",
            examples=[{"White": 0.2, "European": 0.1}],
        ),
    ]

    def weights(self) -> sensitivity_profiles.Weights:
        """The value that the use case takes."""
        return sensitivity_profiles.NodeWeights(self.nodes)


def _form(value: Any) -> str | None:  # noqa: ANN401 - whatever was sent
    fields = value if isinstance(value, dict) else vars(value) if isinstance(value, Request) else {}
    return next((form for form in ("constant", "leaves", "nodes") if form in fields), None)


Weights = Annotated[
    Annotated[Constant, Tag("constant")] | Annotated[Leaves, Tag("leaves")] | Annotated[Nodes, Tag("nodes")],
    Discriminator(
        _form,
        custom_error_type="weights",
        custom_error_message="Weights are an object with one of the fields constant, leaves and nodes.",
    ),
]


class Overrides(Request):
    """Weights per entity or group, from an upload with one row per key and attribute."""

    upload: Annotated[Ref, Field(description="Upload that holds them.", examples=["weights"])]
    by: Annotated[Literal["entity", "group"], Field(description="What a key names.", examples=["entity"])]
    key_column: Annotated[Column, Field(description="Column of keys.", examples=["member_id"])]
    attribute_column: Annotated[Column, Field(description="Column of attributes.", examples=["attribute"])]
    weight_column: Annotated[Column, Field(description="Column of weights.", examples=["weight"])]
    group_attribute: Annotated[
        Column | None, Field(description="Column of the dataset that holds the groups.", examples=["plan"])
    ] = None

    @model_validator(mode="after")
    def _names_groups(self) -> Self:
        if (self.by == "group") != (self.group_attribute is not None):
            raise PydanticCustomError("group_attribute", "Give group_attribute if, and only if, by is group.")
        return self

    def overrides(self) -> sensitivity_profiles.Overrides:
        """The value that the use case takes."""
        return sensitivity_profiles.Overrides(
            self.upload,
            self.by,
            self.key_column,
            self.attribute_column,
            self.weight_column,
            self.group_attribute,
        )


class NewSensitivityProfile(Request):
    """A sensitivity profile to be created."""

    name: Name
    dataset: Annotated[Ref, Field(description="Dataset whose attributes it weighs.", examples=["members"])]
    family: Annotated[
        SensitivityFamily,
        Field(
            description="How the weights of a record's values become one number.", examples=["multiplicative"]
        ),
    ]
    attributes: Annotated[
        dict[Text, Weights],
        Field(max_length=10_000, description="Disclosed attribute → weights of its values."),
    ] = {}  # noqa: RUF012 - pydantic copies it
    constant: Annotated[
        NonNegative | None, Field(description="The value of the family `constant`.", examples=[1.0])
    ] = None
    overrides: Annotated[Overrides | None, Field(description="Weights per entity or group.")] = None

    @model_validator(mode="after")
    def _fits_the_family(self) -> Self:
        if (self.family == "constant") != (self.constant is not None):
            raise PydanticCustomError("constant", "Give constant if, and only if, family is constant.")
        return self

    def request(self) -> CreateSensitivityProfile:
        """The value that the use case takes."""
        return CreateSensitivityProfile(
            name=self.name,
            dataset=self.dataset,
            family=self.family,
            attributes={name: weights.weights() for name, weights in self.attributes.items()},
            constant=self.constant,
            overrides=self.overrides.overrides() if self.overrides else None,
        )


class WeightsSummary(Answer):
    """The weights of one attribute in short."""

    kind: Annotated[str, Field(max_length=40, description="How they were given.", examples=["leaves"])]
    min: Annotated[Number, Field(description="Least weight below the top.", examples=[0.05])]
    max: Annotated[Number, Field(description="Greatest weight.", examples=[0.3])]


class SensitivityProfile(Resource):
    """A sensitivity profile."""

    dataset: Annotated[str, Field(max_length=100, description="Name of its dataset.", examples=["members"])]
    family: Annotated[SensitivityFamily, Field(description="Its family.", examples=["multiplicative"])]
    attributes: Annotated[dict[str, WeightsSummary], Field(description="Attribute → its weights in short.")]
    overrides: Annotated[
        dict[str, Any] | None, Field(description="Where weights per entity or group come from.")
    ]
    warnings: Annotated[list[str], Field(max_length=1000, description="What is unusual.", examples=[[]])]
