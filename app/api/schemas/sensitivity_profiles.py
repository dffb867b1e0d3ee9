"""Sensitivity profiles: how much harm the disclosure of each value does."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from app.api.schemas.common import (
    Answer,
    Column,
    Count,
    Name,
    NonNegative,
    Number,
    Ref,
    Request,
    Resource,
    Text,
)
from app.api.schemas.derived import Asking
from app.domain.sensitivity.interactions import (
    DEFAULT_ORDER,
    MAX_INTERACTIONS,
    GivenInteraction,
    GivenInteractions,
)
from app.domain.sensitivity.normalisation import Normalisation
from app.domain.sensitivity.sensitivity import Family
from app.services.scoring import sensitivity_profiles
from app.services.scoring.sensitivity_profiles import CreateSensitivityProfile, Viewpoint

MOST_NODES = 1_000_000


class Constant(Asking[sensitivity_profiles.ConstantWeight]):
    """The same weight for every value but the top."""

    constant: Annotated[NonNegative, Field(description="The weight.", examples=[0.5])]

    def _made(self) -> sensitivity_profiles.ConstantWeight:
        return sensitivity_profiles.ConstantWeight(self.constant)


class Leaves(Asking[sensitivity_profiles.LeafWeights]):
    """Weights of leaves; what is above them weighs less by the modified harmonic mean."""

    leaves: Annotated[
        NonNegative | Annotated[dict[Text, NonNegative], Field(min_length=1, max_length=MOST_NODES)],
        Field(description="One weight for all leaves, or a weight for each.", examples=[0.3]),
    ]
    inner: Annotated[Literal["harmonic"], Field(description="How inner nodes get their weights.")] = (
        "harmonic"
    )


class Nodes(Asking[sensitivity_profiles.NodeWeights]):
    """A weight for every node; the top weighs 0, unless it is named and `allow_positive_top` is set."""

    nodes: Annotated[
        dict[Text, NonNegative],
        Field(
            min_length=1,
            max_length=MOST_NODES,
            description="Label of a node → its weight.",
            examples=[{"White": 0.2, "European": 0.1}],
        ),
    ]


def _form(value: Any) -> str | None:  # noqa: ANN401 - whatever was sent
    fields = value if isinstance(value, dict) else vars(value) if isinstance(value, Request) else {}
    return next((f"of {form}" for form in ("constant", "leaves", "nodes") if form in fields), None)


# The tags stand in the places of errors and must not look like fields there.
Weights = Annotated[
    Annotated[Constant, Tag("of constant")]
    | Annotated[Leaves, Tag("of leaves")]
    | Annotated[Nodes, Tag("of nodes")],
    Discriminator(
        _form,
        custom_error_type="weights",
        custom_error_message="Weights are an object with one of the fields constant, leaves and nodes.",
    ),
]


SignedWeight = (
    Annotated[float, Field(strict=True, ge=-1e12, le=1e300, allow_inf_nan=False)]
    | Annotated[Literal["inf", "Infinity"], AfterValidator(lambda _: "inf")]
)


class Overrides(Asking[sensitivity_profiles.Overrides]):
    """Weights per entity or group, from an upload with one row per key and attribute."""

    upload: Annotated[Ref, Field(description="Upload that holds them.", examples=["weights"])]
    by: Annotated[Literal["entity", "group"], Field(description="What a key names.", examples=["entity"])]
    key_column: Annotated[Column, Field(description="Column of keys.", examples=["member_id"])]
    attribute_column: Annotated[Column, Field(description="Column of attributes.", examples=["attribute"])]
    weight_column: Annotated[Column, Field(description="Column of weights.", examples=["weight"])]
    group_attribute: Annotated[
        Column | None, Field(description="Column of the dataset that holds the groups.", examples=["plan"])
    ] = None
    labels: Annotated[
        dict[Column, NonNegative],
        Field(
            max_length=1000,
            description="Words that may stand for a weight in the column of weights.",
            examples=[{"not private": 0, "private": 0.5, "very private": 2}],
        ),
    ] = {}  # noqa: RUF012 - pydantic copies it

    @model_validator(mode="after")
    def _names_groups(self) -> Self:
        if (self.by == "group") != (self.group_attribute is not None):
            raise PydanticCustomError("group_attribute", "Give group_attribute if, and only if, by is group.")
        return self


class InteractionWeight(Asking[GivenInteraction]):
    """What a set of attributes weighs beside its single ones while all of them are disclosed."""

    attributes: Annotated[
        list[Column],
        Field(min_length=2, max_length=100, description="The attributes.", examples=[["city", "birth_date"]]),
    ]
    weight: Annotated[
        SignedWeight,
        Field(description='The weight, or "inf"; below 0 only if that is allowed.', examples=[0.2]),
    ]

    def _made(self) -> GivenInteraction:
        return GivenInteraction(tuple(self.attributes), float(self.weight))


class Interactions(Asking[GivenInteractions]):
    """Harm that sets of attributes do only together: the family `interactions`."""

    sets: Annotated[
        list[InteractionWeight],
        Field(min_length=1, max_length=MAX_INTERACTIONS, description="The sets; others weigh nothing."),
    ]
    order: Annotated[
        int, Field(strict=True, ge=2, le=100, description="Most attributes of a set.", examples=[2])
    ] = DEFAULT_ORDER
    allow_negative: Annotated[
        bool,
        Field(
            description="Whether weights may be below 0: attributes that do less harm together than apart. "
            "Accepted only where disclosing more never does less harm."
        ),
    ] = False


class NormalisedWeights(Asking[Normalisation]):
    """What the finite weights of the values of every record shall sum to, so that nobody dominates."""

    rule: Annotated[
        Literal["equal", "at_most"],
        Field(description="Whether they sum to the total, or to no more than that.", examples=["at_most"]),
    ]
    total: Annotated[
        float, Field(ge=1e-12, le=1e12, allow_inf_nan=False, description="The total.", examples=[2.0])
    ]
    mode: Annotated[
        Literal["validate", "rescale"],
        Field(description="Whether records that do not are refused, or their weights rescaled."),
    ]


class NewSensitivityProfile(Asking[CreateSensitivityProfile]):
    """A sensitivity profile to be created."""

    name: Name
    dataset: Annotated[Ref, Field(description="Dataset whose attributes it weighs.", examples=["members"])]
    family: Annotated[
        Family,
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
    overrides: Annotated[
        Overrides | Annotated[list[Overrides], Field(min_length=1, max_length=2)] | None,
        Field(description="Weights per entity or group, or one of both: then those of entities come first."),
    ] = None
    interactions: Annotated[
        Interactions | None, Field(description="Weights of sets of attributes; for `interactions` only.")
    ] = None
    normalisation: Annotated[
        NormalisedWeights | None, Field(description="What everybody's weights shall sum to.")
    ] = None
    allow_positive_top: Annotated[
        bool,
        Field(
            description="Whether weights of nodes may give the top more than 0: then suppressing does harm."
        ),
    ] = False
    unit: Annotated[
        Text | None, Field(description="What a harm of 1 is; all risks have this unit.", examples=["euro"])
    ] = None
    viewpoint: Annotated[
        Viewpoint | None, Field(description="To whom the harm is done.", examples=["data_subject"])
    ] = None

    @model_validator(mode="after")
    def _fits_the_family(self) -> Self:
        if (self.family == "constant") != (self.constant is not None):
            raise PydanticCustomError("constant", "Give constant if, and only if, family is constant.")
        return self

    def request(self) -> CreateSensitivityProfile:
        """The value that the use case takes."""
        made = super().request()
        return made if self.overrides is not None else dataclasses.replace(made, overrides=())


class WeightsSummary(Answer):
    """The weights of one attribute in short."""

    kind: Annotated[str, Field(max_length=40, description="How they were given.", examples=["leaves"])]
    min: Annotated[Number, Field(description="Least weight below the top.", examples=[0.05])]
    max: Annotated[Number, Field(description="Greatest weight.", examples=[0.3])]


class InteractionsSummary(Answer):
    """Interactions in short."""

    sets: Annotated[Count, Field(description="Sets of attributes that have one.", examples=[3])]
    order: Annotated[Count, Field(description="Attributes of the greatest set.", examples=[2])]
    min: Annotated[Number, Field(description="Least weight of a set.", examples=[0.05])]
    max: Annotated[Number, Field(description="Greatest weight of a set.", examples=[0.2])]


class NormalisationSummary(Answer):
    """A normalisation and what it did."""

    rule: Annotated[Literal["equal", "at_most"], Field(description="The rule.", examples=["at_most"])]
    total: Annotated[Number, Field(description="The total.", examples=[2.0])]
    mode: Annotated[Literal["validate", "rescale"], Field(description="The mode.", examples=["rescale"])]
    rescaled: Annotated[Count, Field(description="Records whose weights were rescaled.", examples=[4])]


class SensitivityProfile(Resource):
    """A sensitivity profile."""

    dataset: Annotated[str, Field(max_length=100, description="Name of its dataset.", examples=["members"])]
    family: Annotated[Family, Field(description="Its family.", examples=["multiplicative"])]
    attributes: Annotated[dict[str, WeightsSummary], Field(description="Attribute → its weights in short.")]
    overrides: Annotated[
        dict[str, Any] | list[dict[str, Any]] | None,
        Field(description="Where weights per entity or group come from."),
    ]
    interactions: Annotated[
        InteractionsSummary | None, Field(description="Weights of sets of attributes in short.")
    ] = None
    normalisation: Annotated[
        NormalisationSummary | None, Field(description="The normalisation, and how many it concerned.")
    ] = None
    unit: Annotated[str | None, Field(max_length=1000, description="What a harm of 1 is.")] = None
    viewpoint: Annotated[Viewpoint | None, Field(description="To whom the harm is done.")] = None
    warnings: Annotated[list[str], Field(max_length=1000, description="What is unusual.", examples=[[]])]
