"""What is asked of a search: objective with threshold, scope of the rule, policy for absent records."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

from app.domain.errors import InvalidInput

Objective = Literal["min_risk", "max_utility", "lagrangian"]
Scope = Literal["table_level", "record_level"]
AbsentPolicy = Literal["zero", "add_self", "error"]
Solver = Literal["auto", "enumeration", "branch_and_bound"]

THRESHOLD_NAMES: dict[str, str] = {
    "min_risk": "utility_floor",
    "max_utility": "risk_cap",
    "lagrangian": "trade_off",
}


@dataclass(frozen=True)
class Problem:
    """One of the three problems of section 11.

    ``threshold`` is the utility floor of ``min_risk``, the risk cap of ``max_utility`` or the trade-off λ of
    ``lagrangian`` (minimise risk − λ · utility). With ``scope="record_level"`` the threshold holds for every
    record (the constraint set Δ̂), with ``"table_level"`` for the mean over the table.
    """

    objective: Objective
    threshold: float
    scope: Scope = "table_level"
    absent_policy: AbsentPolicy = "zero"

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("objective", self.objective, get_args(Objective)),
            ("scope", self.scope, get_args(Scope)),
            ("absent_policy", self.absent_policy, get_args(AbsentPolicy)),
        ):
            if value not in allowed:
                raise InvalidInput.of(
                    f"/{name}", "unknown-choice", f"{name} is not one of {', '.join(allowed)}."
                )
        if not math.isfinite(self.threshold) or (self.objective != "min_risk" and self.threshold < 0):
            name = THRESHOLD_NAMES[self.objective]
            bound = "a finite number" if self.objective == "min_risk" else "a finite number of at least 0"
            raise InvalidInput.of(f"/objective/{name}", "out-of-range", f"{name} must be {bound}.")

    def to_document(self) -> dict[str, Any]:
        """Plain JSON-able form, for results and hashes."""
        return {
            "objective": {"kind": self.objective, THRESHOLD_NAMES[self.objective]: self.threshold},
            "scope": self.scope,
            "absent_policy": self.absent_policy,
        }
