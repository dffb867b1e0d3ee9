"""What is asked of a search: objective, scope of the rule, policy for absent records."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from app.domain.errors import InvalidInput, having
from app.domain.risk.attackers import View
from app.domain.risk.utility import Utility
from app.domain.search.objectives import MinRisk, ScoredObjective
from app.domain.tables.numbers import lowest_accepted

Scope = Literal["table_level", "record_level"]
AbsentPolicy = Literal["zero", "add_self", "error"]
Constraint = Literal["per_record", "average"]
Aggregate = Literal["average", "max"]

FRONTIER_POINTS = 2_000


@dataclass(frozen=True)
class Problem:
    """An objective, and of which rules and attackers it is asked (Definitions: optimisation problems).

    Parameters
    ----------
    view
        What is assumed of the attacker: ``known`` or ``estimated`` for one dictionary, else what
        becomes of the risks under several.
    constraint
        Record-level rules only: whether the threshold holds for every record (the constraint set Δ̂) or for
        the mean over the table (Δ). For table-level rules it always holds for the mean.
    aggregate
        Whether the risk of a table is the mean of its records' or the greatest of them.
    round_utility
        Round the mean utility to the nearest integer, halves up, before it is compared with the floor.
    """

    objective: ScoredObjective
    scope: Scope = "table_level"
    absent_policy: AbsentPolicy = "zero"
    view: View = "known"
    constraint: Constraint = "per_record"
    aggregate: Aggregate = "average"
    round_utility: bool = False

    def __post_init__(self) -> None:
        _require_choices(
            ("scope", self.scope, get_args(Scope)),
            ("absent_policy", self.absent_policy, get_args(AbsentPolicy)),
            ("attacker_view", self.view, get_args(View)),
            ("constraint", self.constraint, get_args(Constraint)),
            ("aggregate", self.aggregate, get_args(Aggregate)),
        )
        name, threshold = self.objective.threshold_name, self.objective.threshold
        if not math.isfinite(threshold) or (name != "utility_floor" and threshold < 0):
            bound = "a finite number" if name == "utility_floor" else "a finite number of at least 0"
            raise InvalidInput.of(f"/objective/{name}", "out-of-range", f"{name} must be {bound}.")
        of_mean = self.scope == "table_level" or self.constraint == "average"
        if self.round_utility and not (of_mean and name == "utility_floor"):
            raise InvalidInput.of(
                "/round_before_constraint",
                "not-applicable",
                "Only a floor under the mean utility can be compared after rounding.",
                "Ask for min_risk with a utility_floor, table-level or with the constraint average.",
            )

    @property
    def holds_per_record(self) -> bool:
        """Whether the threshold is a floor or a cap of every record."""
        return self.scope == "record_level" and self.constraint == "per_record"

    def in_utility(self, utility: Utility) -> Problem:
        """The same problem with its threshold as a floor under the utility as it is, unrounded.

        Rounding halves up, a mean reaches the floor iff it is at least half below the least whole number from
        the floor on. InvalidInput for a cap on the loss where the utility is no loss.
        """
        threshold = self.objective.threshold
        if self.objective.threshold_name == "loss_cap":
            if not utility.is_loss:
                raise InvalidInput.of(
                    "/objective/loss_cap",
                    "not-a-loss",
                    f"The utility model {utility.model} is not a loss.",
                    "Give a utility_floor, or choose info_loss_xt or info_loss_lm.",
                )
            floor = utility.floor_of_loss(threshold)
        elif self.round_utility:
            floor = math.ceil(lowest_accepted(threshold)) - 0.5
        else:
            return self
        return replace(self, objective=MinRisk(floor), round_utility=False)

    def to_document(self) -> dict[str, Any]:
        """Plain JSON-able form, for results and hashes."""
        return {
            "objective": self.objective.to_document(),
            "scope": self.scope,
            "absent_policy": self.absent_policy,
            "attacker_view": self.view,
            "constraint": self.constraint if self.scope == "record_level" else "average",
            "aggregate": self.aggregate,
            "round_before_constraint": self.round_utility,
        }


@dataclass(frozen=True)
class FrontierProblem:
    """All Pareto-optimal rules: no other rule is better in risk or utility without being worse in the other.

    The fields are those of :class:`Problem`; ``max_points`` limits the points of the answer, which then
    keeps both ends and is spread evenly over the utility.
    """

    scope: Scope = "table_level"
    absent_policy: AbsentPolicy = "zero"
    view: View = "known"
    aggregate: Aggregate = "average"
    max_points: int = 200

    def __post_init__(self) -> None:
        _require_choices(
            ("scope", self.scope, get_args(Scope)),
            ("absent_policy", self.absent_policy, get_args(AbsentPolicy)),
            ("attacker_view", self.view, get_args(View)),
            ("aggregate", self.aggregate, get_args(Aggregate)),
        )
        if not 2 <= self.max_points <= FRONTIER_POINTS:
            raise InvalidInput.of(
                "/max_points", "out-of-range", f"max_points must be between 2 and {FRONTIER_POINTS}."
            )

    def to_document(self) -> dict[str, Any]:
        """Plain JSON-able form, for results and hashes."""
        return {
            "scope": self.scope,
            "absent_policy": self.absent_policy,
            "attacker_view": self.view,
            "aggregate": self.aggregate,
            "max_points": self.max_points,
        }


def _require_choices(*fields: tuple[str, str, tuple[str, ...]]) -> None:
    for name, value, allowed in fields:
        if value not in allowed:
            raise InvalidInput.of(f"/{name}", "unknown-choice", f"{name} is not one of {', '.join(allowed)}.")


def refuse_absent(policy: AbsentPolicy, n_absent: int) -> None:
    """Refuse absent records under the policy ``error``."""
    if policy == "error" and n_absent:
        raise InvalidInput.of(
            "/absent_policy",
            "absent-records",
            f"{having(n_absent, 'record')} no consistent entity in a dictionary, and the absent policy is "
            "error.",
            "Complete the dictionary, or choose the policy zero or add_self.",
        )
