"""How the use of a disclosed table is measured."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from app.api.schemas.common import Text
from app.api.schemas.derived import Asking
from app.services.scoring import utility_building

MOST_NODES = 1_000_000

DerivedModel = Literal["depth_sum", "inverse_leaves", "log_leaves", "info_loss_xt", "info_loss_lm"]

Worth = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]


class UtilityOptions(Asking[utility_building.UtilitySpec]):
    """What every way to measure utility may be told beside."""

    weights: Annotated[dict[Text, Worth], Field(max_length=10_000, examples=[{"income": 2}])] = {}  # noqa: RUF012 - pydantic copies it
    """Attribute → what its values count; 1 where not named, 0 for no use."""
    round_before_constraint: bool = False
    """Whether the table's mean is rounded to the nearest whole number before it is compared with a threshold,
    as in published results; tables pass that fall short by up to 0.5.
    """
    display_rounding: utility_building.DisplayRounding = "none"
    """`nearest` adds rounded means to the result; no comparison uses them."""


class DerivedUtility(UtilityOptions):
    """A utility that follows from the hierarchies alone."""

    kind: DerivedModel
    """`depth_sum`: levels kept. `inverse_leaves`: 1 / values covered. `log_leaves`: nats kept. `info_loss_xt`
    and `info_loss_lm`: shares of values lost by generalising; less is better.
    """


class CustomUtility(UtilityOptions):
    """A utility per value of the hierarchies, never more for a more general value."""

    kind: Annotated[Literal["custom"], Field(description="Kind of utility.")]
    values: Annotated[
        dict[Text, Annotated[dict[Text, Worth], Field(max_length=MOST_NODES)]],
        Field(
            min_length=1,
            max_length=10_000,
            description="Disclosed attribute → label of each value, general ones too → its utility; the top "
            "has 0 unless its label is named.",
            examples=[{"race": {"White": 1, "Black": 1, "European": 0.5, "African American": 0.5}}],
        ),
    ]


def _form(value: Any) -> str | None:  # noqa: ANN401 - whatever was sent
    if isinstance(value, str):
        return "name"
    kind = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
    return None if kind is None else "custom" if kind == "custom" else "derived"


UtilitySpec = Annotated[
    Annotated[DerivedModel, Tag("name")]
    | Annotated[DerivedUtility, Tag("derived")]
    | Annotated[CustomUtility, Tag("custom")],
    Discriminator(
        _form,
        custom_error_type="utility",
        custom_error_message="Utility is the name of a model, or an object with the field kind.",
    ),
    Field(
        description="How utility is measured: a model's name, or an object with its kind and options.",
        examples=["depth_sum"],
    ),
]


def spec_of(given: DerivedModel | DerivedUtility | CustomUtility) -> utility_building.UtilitySpec:
    """The value that the use case takes."""
    return utility_building.UtilitySpec(given) if isinstance(given, str) else given.request()


ShownUtility = Annotated[
    DerivedModel | dict[str, Any],
    Field(description="How utility is measured: a model's name, or its kind and options."),
]
"""The utility in an answer."""
