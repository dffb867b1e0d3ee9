"""What a search can be asked for: the objectives, each described once.

Bodies, stored documents and the policy language are made of these types. Errors about a field point at
``/<field>``, about an objective as a whole at the empty pointer; who asks puts its own place before it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, ClassVar, Final, Literal, TypeVar, get_args

from annotated_types import Ge, Gt, Le, Len, MaxLen, doc

from app.domain.arrays import Floats
from app.domain.catalogue.catalogue_types import ColumnName, Example
from app.domain.classes.grouping import Missing, Suppressed
from app.domain.errors import InvalidInput
from app.domain.losses.loss import LossChoice
from app.domain.models.criterion import Criterion
from app.domain.tables.numbers import highest_accepted, lowest_accepted

Number = TypeVar("Number", float, Floats)

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

PhiZeroPolicy = Literal["exclude", "offset", "unbounded"]
Method = Literal["auto", "enumeration", "closure", "ring_family"]
ParametricSearch = Literal["dinkelbach", "bisection"]


class _OfRiskAndUtility:
    """What every objective of risk and utility tells a search; limits hold with their tolerance."""

    kind: ClassVar[str]
    threshold_name: ClassVar[str]
    """What the threshold is called in documents."""

    is_maximised: ClassVar[bool] = False

    @property
    def threshold(self) -> float:
        """The one number of the objective, whatever it is called."""
        return float(getattr(self, self.threshold_name))

    @property
    def lowest_utility(self) -> float:
        """The least utility that meets the threshold."""
        return -math.inf

    @property
    def highest_risk(self) -> float:
        """The greatest risk that meets the threshold."""
        return math.inf

    def to_document(self) -> dict[str, Any]:
        """Plain JSON-able form."""
        return {"kind": self.kind, self.threshold_name: self.threshold}


@dataclass(frozen=True)
class MinRisk(_OfRiskAndUtility):
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
    def threshold_name(self) -> str:  # type: ignore[override]
        """What the threshold is called in documents."""
        return "loss_cap" if self.utility_floor is None else "utility_floor"

    @cached_property
    def lowest_utility(self) -> float:
        """The floor, which a cap on the loss has to be made into first (``Problem.in_utility``)."""
        return lowest_accepted(self.threshold)

    def key(self, risk: Number, utility: Number) -> tuple[Number, Number]:
        """What is minimised, and what decides between rules that tie."""
        return risk, -utility


@dataclass(frozen=True)
class MaxUtility(_OfRiskAndUtility):
    """Greatest utility among the rules of at most this risk."""

    kind: ClassVar[Literal["max_utility"]] = "max_utility"
    threshold_name: ClassVar[str] = "risk_cap"
    is_maximised: ClassVar[bool] = True

    risk_cap: Annotated[float, Ge(0), doc("Greatest average risk."), Example(0.05)]

    @cached_property
    def highest_risk(self) -> float:
        """The cap."""
        return highest_accepted(self.threshold)

    def key(self, risk: Number, utility: Number) -> tuple[Number, Number]:
        """What is minimised, and what decides between rules that tie."""
        return -utility, risk


@dataclass(frozen=True)
class Lagrangian(_OfRiskAndUtility):
    """Least risk − trade_off · utility."""

    kind: ClassVar[Literal["lagrangian"]] = "lagrangian"
    threshold_name: ClassVar[str] = "trade_off"

    trade_off: Annotated[float, Ge(0), Le(_MOST), doc("Risk that a unit of utility is worth."), Example(0.01)]

    def key(self, risk: Number, utility: Number) -> tuple[Number, Number]:
        """What is minimised, and what decides between rules that tie."""
        return risk - self.trade_off * utility, -utility


@dataclass(frozen=True)
class AggregateObjective(_OfRiskAndUtility):
    """Greatest trade_off / risk + utility^kappa of every record: for record-level rules, additive harm."""

    kind: ClassVar[Literal["aggregate"]] = "aggregate"
    threshold_name: ClassVar[str] = "trade_off"
    is_maximised: ClassVar[bool] = True

    kappa: Annotated[int, Ge(0), Le(8), doc("κ: exponent of the utility."), Example(1)] = 1
    phi_zero_policy: Annotated[
        PhiZeroPolicy,
        doc(
            "What becomes of disclosures that do no harm at all, for which the objective is infinite: left "
            "out (`exclude`), kept finite by phi_offset (`offset`), or taken literally (`unbounded`), which "
            "suppresses whatever is sensitive."
        ),
    ] = "exclude"
    phi_offset: Annotated[
        float | None,
        Gt(0),
        Le(1e300),
        doc("Added to every harm under the policy `offset`."),
        Example(None),
    ] = None
    method: Annotated[
        Method,
        doc(
            "How the inner problem is solved: over all rules of a record (`enumeration`), by a minimum cut "
            "(`closure`), over a ring family, or whichever is estimated to be fastest."
        ),
    ] = "auto"
    parametric_search: Annotated[
        ParametricSearch, doc("How the outer problem is solved; both find the same rule.")
    ] = "dinkelbach"
    trade_off: Annotated[float, Ge(0), Le(_MOST), doc("λ: weight of the reciprocal risk."), Example(1)] = (
        field(kw_only=True)
    )

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("phi_zero_policy", self.phi_zero_policy, get_args(PhiZeroPolicy)),
            ("method", self.method, get_args(Method)),
            ("parametric_search", self.parametric_search, get_args(ParametricSearch)),
        ):
            if value not in allowed:
                raise InvalidInput.of(
                    f"/{name}", "unknown-choice", f"{name} is not one of {', '.join(allowed)}."
                )
        if not 0 <= self.kappa <= 8:
            raise InvalidInput.of("/kappa", "out-of-range", "kappa must be a whole number from 0 to 8.")
        if (self.phi_offset is not None) != (self.phi_zero_policy == "offset"):
            raise InvalidInput.of(
                "/phi_offset",
                "not-applicable",
                "phi_offset belongs to the policy offset, and that policy needs it.",
                "Give both, or neither.",
            )
        if self.phi_offset is not None and not 0 < self.phi_offset <= 1e300:
            raise InvalidInput.of(
                "/phi_offset", "out-of-range", "phi_offset must be a finite number above 0."
            )

    def key(self, risk: Number, utility: Number) -> tuple[Number, Number]:
        """NaN: it is a mean over records, no figure of a mean risk; rules that tie differ in utility."""
        return risk * math.nan, -utility

    def to_document(self) -> dict[str, Any]:
        """Plain JSON-able form."""
        return {
            **super().to_document(),
            "kappa": self.kappa,
            "phi_zero_policy": self.phi_zero_policy,
            "phi_offset": self.phi_offset,
            "method": self.method,
            "parametric_search": self.parametric_search,
        }


PersonsPerValue = Annotated[
    Mapping[ColumnName, Annotated[int, Ge(1), Le(1_000_000)]],
    MaxLen(200),
    doc(
        "Sensitive attribute → of how many persons each of its values that leave is at least. It leaves "
        "at the lowest level of its hierarchy on which that holds whichever records are suppressed, or "
        "at least if none is, and criteria count the values that leave. Others leave as they are."
    ),
    Example({"income": 5}),
]


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

    persons_per_value: PersonsPerValue = field(default_factory=dict, hash=False)

    @property
    def needs_population(self) -> bool:
        """Whether a criterion compares the classes with the entities of a dictionary."""
        return any(own.needs_population for own in self.privacy)


@dataclass(frozen=True)
class Alternatives:
    """Rules of little loss under privacy criteria side by side, each shown with what it leaves of the table.

    All lose by the geometric loss, all leaves of the hierarchies counted.
    """

    kind: ClassVar[Literal["alternatives"]] = "alternatives"

    privacy: Criteria
    suppression_limit: Annotated[
        float, Ge(0), Le(1), doc("Greatest share of the records that may be suppressed."), Example(0.2)
    ] = 0.0
    important: Annotated[
        tuple[ColumnName, ...],
        MaxLen(200),
        doc("Quasi-identifiers that matter most: one of the alternatives generalises the others first."),
        Example(["city"]),
    ] = ()
    persons_per_value: PersonsPerValue = field(default_factory=dict, hash=False)

    @property
    def needs_population(self) -> bool:
        """Whether a criterion compares the classes with the entities of a dictionary."""
        return any(own.needs_population for own in self.privacy)


ScoredObjective = MinRisk | MaxUtility | Lagrangian | AggregateObjective
"""Objectives that weigh risk and utility under the model of an attacker."""

OfPrivacy = MinLoss | Alternatives
"""Objectives that model no attacker: what classes of records have to meet is stated as criteria."""

Objective = ScoredObjective | OfPrivacy

OBJECTIVES: Final[Mapping[str, type[Objective]]] = {
    own.kind: own for own in (MinRisk, MaxUtility, Lagrangian, AggregateObjective, MinLoss, Alternatives)
}
"""Kind of objective, as documents name it → its type."""
