"""What an optimisation asks for: objectives, and the loss of information that one of them minimises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from app.api.schemas.common import Column, Request
from app.api.schemas.criteria import Privacy, criteria_asked
from app.domain.classes.grouping import Missing, Suppressed
from app.domain.losses.loss import (
    AGGREGATED,
    EQUAL,
    MOST_WEIGHT,
    OF_ATTRIBUTES,
    OF_CELLS,
    Aggregate,
    LeafDomain,
    LossKind,
)
from app.domain.search.scalable.aggregate_options import (
    AggregateOptions,
    Method,
    ParametricSearch,
    PhiZeroPolicy,
)
from app.services import objectives
from app.services.objectives import Objective


class MinRisk(Request):
    """Least risk among the rules of at least this utility, or of at most this loss of information."""

    kind: Annotated[Literal["min_risk"], Field(description="Kind of objective.")]
    utility_floor: Annotated[
        float | None,
        Field(ge=0, le=1e12, allow_inf_nan=False, description="Least utility.", examples=[6]),
    ] = None
    loss_cap: Annotated[
        float | None,
        Field(
            ge=0,
            le=1e12,
            allow_inf_nan=False,
            description="Instead of it, for the utilities `info_loss_xt` and `info_loss_lm`: greatest loss.",
            examples=[1.5],
        ),
    ] = None

    @model_validator(mode="after")
    def _has_one_threshold(self) -> Self:
        if (self.utility_floor is None) == (self.loss_cap is None):
            raise PydanticCustomError("exactly_one", "Give exactly one of utility_floor and loss_cap.")
        return self

    def objective(self) -> Objective:
        """The value that the use case takes."""
        return objectives.MinRisk(self.utility_floor, self.loss_cap)


class MaxUtility(Request):
    """Greatest utility among the rules of at most this risk."""

    kind: Annotated[Literal["max_utility"], Field(description="Kind of objective.")]
    risk_cap: Annotated[
        float, Field(ge=0, allow_inf_nan=False, description="Greatest average risk.", examples=[0.05])
    ]

    def objective(self) -> Objective:
        """The value that the use case takes."""
        return objectives.MaxUtility(self.risk_cap)


class Lagrangian(Request):
    """Least risk − trade_off · utility."""

    kind: Annotated[Literal["lagrangian"], Field(description="Kind of objective.")]
    trade_off: Annotated[
        float,
        Field(
            ge=0,
            le=1e12,
            allow_inf_nan=False,
            description="Risk that a unit of utility is worth.",
            examples=[0.01],
        ),
    ]

    def objective(self) -> Objective:
        """The value that the use case takes."""
        return objectives.Lagrangian(self.trade_off)


class AggregateObjective(Request):
    """Greatest trade_off / risk + utility^kappa of every record: for record-level rules, additive harm."""

    kind: Annotated[Literal["aggregate"], Field(description="Kind of objective.")]
    trade_off: Annotated[
        float,
        Field(
            ge=0, le=1e12, allow_inf_nan=False, description="λ: weight of the reciprocal risk.", examples=[1]
        ),
    ]
    kappa: Annotated[
        int, Field(strict=True, ge=0, le=8, description="κ: exponent of the utility.", examples=[1])
    ] = 1
    phi_zero_policy: Annotated[
        PhiZeroPolicy,
        Field(
            description="What becomes of disclosures that do no harm at all, for which the objective is "
            "infinite: left out (`exclude`), kept finite by phi_offset (`offset`), or taken literally "
            "(`unbounded`), which withholds whatever is sensitive."
        ),
    ] = "exclude"
    phi_offset: Annotated[
        float | None,
        Field(
            gt=0,
            le=1e300,
            allow_inf_nan=False,
            description="Added to every harm under the policy `offset`.",
            examples=[None],
        ),
    ] = None
    method: Annotated[
        Method,
        Field(
            description="How the inner problem is solved: over all rules of a record (`enumeration`), by a "
            "minimum cut (`closure`), over a ring family, or whichever is estimated to be fastest."
        ),
    ] = "auto"
    parametric_search: Annotated[
        ParametricSearch, Field(description="How the outer problem is solved; both find the same rule.")
    ] = "dinkelbach"

    def objective(self) -> Objective:
        """The value that the use case takes; InvalidInput for options that do not go together."""
        options = AggregateOptions(
            self.kappa, self.phi_zero_policy, self.phi_offset, self.method, self.parametric_search
        )
        return objectives.AggregateObjective(self.trade_off, options)


def _listed(kinds: Sequence[LossKind]) -> str:
    return ", ".join(f"`{kind}`" for kind in kinds)


class LossFields(Request):
    """How loss of information is measured, with more than its kind."""

    kind: Annotated[LossKind, Field(description="Kind of loss.", examples=["ail"])]
    leaf_domain: Annotated[
        LeafDomain | None,
        Field(
            description="Which values count where leaves are counted: all leaves of the hierarchy "
            "(`declared`) or those that occur in the table (`active`); null: `active` for `kl_divergence`, "
            "else `declared`.",
            examples=["active"],
        ),
    ] = None
    numeric: Annotated[
        list[Column],
        Field(
            max_length=200,
            description="Attributes whose values are numbers: `ail` measures them by their range, "
            "`squared_error` by their squared distance from the mean of the numbers shown alike.",
            examples=[[]],
        ),
    ] = []  # noqa: RUF012 - pydantic copies it
    weights: Annotated[
        dict[Column, Annotated[float, Field(ge=0, le=MOST_WEIGHT, allow_inf_nan=False)]],
        Field(
            max_length=200,
            description="Quasi-identifier → how much its loss counts, 1 where it is not named. Only the "
            "proportions matter: weights are scaled so that their mean is 1. For "
            f"{_listed(OF_ATTRIBUTES)}.",
            examples=[{"city": 2}],
        ),
    ] = {}  # noqa: RUF012 - pydantic copies it
    aggregate: Annotated[
        Aggregate | None,
        Field(
            description="What is made of the attributes' losses: their `sum`, `mean` or `maximum`, or "
            "`rank`: of two rules the one whose greatest loss is smaller is better, if these tie the one "
            "whose next greatest is, and so on. Null: as the loss is defined. "
            f"For {_listed(AGGREGATED)}.",
            examples=["rank"],
        ),
    ] = None
    suppression_factor: Annotated[
        float,
        Field(
            ge=0,
            le=1,
            allow_inf_nan=False,
            description="0.5: a cell of a suppressed record counts as ⊥. Below, it counts less, at 0 no more "
            "than it would generalised; above, generalised cells count less, at 1 nothing. For "
            f"{_listed(OF_CELLS)}.",
            examples=[0.5],
        ),
    ] = EQUAL


def _form_of_loss(loss: object) -> str:
    """A loss is its name, or an object: what is wrong with one form is no fault of the other."""
    return "kind_alone" if isinstance(loss, str) else "with_more"


class MinLoss(Request):
    """Least loss of information among the rules that meet privacy criteria: no attacker is modelled."""

    kind: Annotated[Literal["min_loss"], Field(description="Kind of objective.")]
    privacy: Privacy
    loss: Annotated[
        Annotated[LossKind, Tag("kind_alone")] | Annotated[LossFields, Tag("with_more")],
        Discriminator(_form_of_loss),
        Field(
            description="`geometric` and `arithmetic`: share of each hierarchy's leaves under the values "
            "disclosed, averaged over the records and normalised, then the attributes' losses by their "
            "geometric or arithmetic mean. `squared_error`: of numbers, see `numeric`. The "
            "others as the measure `information_loss` defines them."
        ),
    ] = "geometric"
    suppression_limit: Annotated[
        float,
        Field(
            ge=0,
            le=1,
            allow_inf_nan=False,
            description="Greatest share of the records that may be withheld; by a rule for the table each "
            "class as a whole.",
            examples=[0.2],
        ),
    ] = 0.0
    missing: Annotated[
        Missing,
        Field(
            description="A missing quasi-identifier is like another missing one (`own_category`), like any "
            "value (`matches_everything`), or reason to withhold the record under every rule (`excluded`)."
        ),
    ] = "own_category"
    suppressed: Annotated[
        Suppressed,
        Field(
            description="Whether only the classes that remain have to meet the criteria (`excluded`), or the "
            "withheld records as one more class as well (`own_block`): then their sensitive values are shown."
        ),
    ] = "excluded"
    local_recoding: Annotated[
        bool,
        Field(
            strict=True,
            description="Whether the records that the best table-level rule withholds are searched again on "
            "their own, as long as that helps: the rule found is then one of records. With `delta_presence` "
            "they are disclosed at its levels, if at all.",
        ),
    ] = False

    minimal_rules: Annotated[
        bool,
        Field(
            strict=True,
            description="Whether to list all rules of levels that are allowed while none is that discloses "
            "more: whatever loss is minimised without suppression, an optimum is among them.",
        ),
    ] = False

    def objective(self) -> Objective:
        """The value that the use case takes."""
        asked = self.loss if isinstance(self.loss, str) else self.loss.model_dump()
        return objectives.MinLoss(
            criteria_asked(self.privacy, "/objective/privacy"),
            objectives.loss_choice_of(asked, "/objective/loss"),
            self.suppression_limit,
            self.missing,
            self.suppressed,
            self.local_recoding,
            self.minimal_rules,
        )
