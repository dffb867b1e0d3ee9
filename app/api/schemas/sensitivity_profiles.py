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
    inner: Literal["harmonic"] = "harmonic"
    """How inner nodes get their weights."""


class Nodes(Asking[sensitivity_profiles.NodeWeights]):
    """A weight for every node; the top weighs 0, unless it is named and `allow_positive_top` is set."""

    nodes: Annotated[
        dict[Text, NonNegative],
        Field(min_length=1, max_length=MOST_NODES, examples=[{"White": 0.2, "European": 0.1}]),
    ]
    """Label of a node → its weight."""


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
    group_attribute: Annotated[Column | None, Field(examples=["plan"])] = None
    """Column of the dataset that holds the groups."""
    labels: Annotated[
        dict[Column, NonNegative],
        Field(max_length=1000, examples=[{"not private": 0, "private": 0.5, "very private": 2}]),
    ] = {}  # noqa: RUF012 - pydantic copies it
    """Words that may stand for a weight in the column of weights."""

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
    weight: Annotated[SignedWeight, Field(examples=[0.2])]
    """The weight, or "inf"; below 0 only if that is allowed."""

    def _made(self) -> GivenInteraction:
        return GivenInteraction(tuple(self.attributes), float(self.weight))


class Interactions(Asking[GivenInteractions]):
    """Harm that sets of attributes do only together: the family `interactions`."""

    sets: Annotated[list[InteractionWeight], Field(min_length=1, max_length=MAX_INTERACTIONS)]
    """The sets; others weigh nothing."""
    order: Annotated[int, Field(strict=True, ge=2, le=100, examples=[2])] = DEFAULT_ORDER
    """Most attributes of a set."""
    allow_negative: bool = False
    """Whether weights may be below 0: attributes that do less harm together than apart. Accepted only where
    disclosing more never does less harm.
    """


class NormalisedWeights(Asking[Normalisation]):
    """What the finite weights of the values of every record shall sum to, so that nobody dominates."""

    rule: Annotated[Literal["equal", "at_most"], Field(examples=["at_most"])]
    """Whether they sum to the total, or to no more than that."""
    total: Annotated[float, Field(ge=1e-12, le=1e12, allow_inf_nan=False, examples=[2.0])]
    """The total."""
    mode: Literal["validate", "rescale"]
    """Whether records that do not are refused, or their weights rescaled."""


class NewSensitivityProfile(Asking[CreateSensitivityProfile]):
    """A sensitivity profile to be created."""

    name: Name
    dataset: Annotated[Ref, Field(description="Dataset whose attributes it weighs.", examples=["members"])]
    family: Annotated[Family, Field(examples=["multiplicative"])]
    """How the weights of a record's values become one number."""
    attributes: Annotated[dict[Text, Weights], Field(max_length=10_000)] = {}  # noqa: RUF012 - pydantic copies it
    """Disclosed attribute → weights of its values."""
    constant: Annotated[NonNegative | None, Field(examples=[1.0])] = None
    """The value of the family `constant`."""
    overrides: Overrides | Annotated[list[Overrides], Field(min_length=1, max_length=2)] | None = None
    """Weights per entity or group, or one of both: then those of entities come first."""
    interactions: Interactions | None = None
    """Weights of sets of attributes; for `interactions` only."""
    normalisation: NormalisedWeights | None = None
    """What everybody's weights shall sum to."""
    allow_positive_top: bool = False
    """Whether weights of nodes may give the top more than 0: then suppressing does harm."""
    unit: Annotated[Text | None, Field(examples=["euro"])] = None
    """What a harm of 1 is; all risks have this unit."""
    viewpoint: Annotated[Viewpoint | None, Field(examples=["data_subject"])] = None
    """To whom the harm is done."""

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
    overrides: dict[str, Any] | list[dict[str, Any]] | None
    """Where weights per entity or group come from."""
    interactions: InteractionsSummary | None = None
    """Weights of sets of attributes in short."""
    normalisation: NormalisationSummary | None = None
    """The normalisation, and how many it concerned."""
    unit: Annotated[str | None, Field(max_length=1000, description="What a harm of 1 is.")] = None
    viewpoint: Annotated[Viewpoint | None, Field(description="To whom the harm is done.")] = None
    warnings: Annotated[list[str], Field(max_length=1000, description="What is unusual.", examples=[[]])]
