"""What a search can be asked for: the objectives, each described once.

Bodies, stored documents and the policy language are made of these types. Errors about a field point at
``/<field>``, about an objective as a whole at the empty pointer; who asks puts its own place before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Final, Literal

from annotated_types import Ge, Le, Len, doc

from app.domain.catalogue.catalogue_types import Example
from app.domain.classes.grouping import Missing, Suppressed
from app.domain.errors import InvalidInput
from app.domain.losses.loss import LossChoice
from app.domain.models.criterion import Criterion
from app.domain.search.aggregate.aggregate_options import AggregateOptions

MOST_CRITERIA: Final = 20
Criteria = Annotated[
    tuple[Criterion, ...],
    Len(1, MOST_CRITERIA),
    doc(
        "What must hold of the equivalence classes that are released, all of it: of the records with the "
        "same released quasi-identifiers."
    ),
]

_MOST: Final = 1e12


@dataclass(frozen=True)
class MinRisk:
    """Least risk among the rules of at least this utility, or of at most this loss of information."""

    kind: ClassVar[Literal["min_risk"]] = "min_risk"

    utility_floor: Annotated[float | None, Ge(0), Le(_MOST), doc("Least utility."), Example(6)] = None
    loss_cap: Annotated[
        float | None,
        Ge(0),
        Le(_MOST),
        doc("Instead of it, for the utilities `info_loss_xt` and `info_loss_lm`: greatest loss."),
        Example(1.5),
    ] = None

    def __post_init__(self) -> None:
        if (self.utility_floor is None) == (self.loss_cap is None):
            raise InvalidInput.of("", "exactly-one", "Give exactly one of utility_floor and loss_cap.")

    @property
    def threshold(self) -> float:
        """The floor or the cap."""
        return float(self.loss_cap if self.utility_floor is None else self.utility_floor)  # type: ignore[arg-type]


@dataclass(frozen=True)
class MaxUtility:
    """Greatest utility among the rules of at most this risk."""

    kind: ClassVar[Literal["max_utility"]] = "max_utility"

    risk_cap: Annotated[float, Ge(0), doc("Greatest average risk."), Example(0.05)]

    @property
    def threshold(self) -> float:
        """The cap."""
        return float(self.risk_cap)


@dataclass(frozen=True)
class Lagrangian:
    """Least risk − trade_off · utility."""

    kind: ClassVar[Literal["lagrangian"]] = "lagrangian"

    trade_off: Annotated[float, Ge(0), Le(_MOST), doc("Risk that a unit of utility is worth."), Example(0.01)]

    @property
    def threshold(self) -> float:
        """The trade-off."""
        return float(self.trade_off)


@dataclass(frozen=True)
class AggregateObjective(AggregateOptions):
    """Greatest trade_off / risk + utility^kappa of every record: for record-level rules, additive harm."""

    kind: ClassVar[Literal["aggregate"]] = "aggregate"

    trade_off: Annotated[float, Ge(0), Le(_MOST), doc("λ: weight of the reciprocal risk."), Example(1)] = (
        field(kw_only=True)
    )

    @property
    def threshold(self) -> float:
        """The trade-off."""
        return float(self.trade_off)


@dataclass(frozen=True)
class MinLoss:
    """Least loss of information among the rules that meet privacy criteria: no attacker is modelled."""

    kind: ClassVar[Literal["min_loss"]] = "min_loss"

    privacy: Criteria
    suppression_limit: Annotated[
        float,
        Ge(0),
        Le(1),
        doc(
            "Greatest share of the records that may be suppressed; by a table-level rule each class as a "
            "whole."
        ),
        Example(0.2),
    ] = 0.0
    loss: Annotated[LossChoice, doc("How loss of information is measured.")] = field(
        default_factory=LossChoice
    )
    missing: Annotated[
        Missing,
        doc(
            "A missing quasi-identifier matches other missing ones (`own_category`), every value "
            "(`matches_everything`), or the record is suppressed under every rule (`excluded`)."
        ),
    ] = "own_category"
    suppressed: Annotated[
        Suppressed,
        doc(
            "Whether only the classes that remain have to meet the criteria (`excluded`), or the "
            "suppressed records as one more class as well (`own_block`): then their sensitive values are "
            "released."
        ),
    ] = "excluded"
    local_recoding: Annotated[
        bool,
        doc(
            "Whether the records that the best table-level rule suppresses are searched again on their own, "
            "as long as that helps: the rule found is then one of records. With `delta_presence` they are "
            "disclosed at its levels, if at all."
        ),
    ] = False
    minimal_rules: Annotated[
        bool,
        doc(
            "Whether to list all rules of levels that are allowed while none is that discloses more: "
            "whatever loss is minimised without suppression, an optimum is among them."
        ),
    ] = False

    @property
    def needs_population(self) -> bool:
        """Whether a criterion compares the classes with the entities of a dictionary."""
        return any(own.needs_population for own in self.privacy)


ScoredObjective = MinRisk | MaxUtility | Lagrangian | AggregateObjective
"""Objectives that weigh risk and utility under the model of an attacker."""

Objective = ScoredObjective | MinLoss

OBJECTIVES: Final[Mapping[str, type[Objective]]] = {
    own.kind: own for own in (MinRisk, MaxUtility, Lagrangian, AggregateObjective, MinLoss)
}
"""Kind of objective, as documents name it → its type."""
