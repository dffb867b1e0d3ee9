"""The rule of least information loss among those that are k-anonymous: what is asked and what was found."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, get_args

from annotated_types import Ge, Le, doc

from app.domain.errors import InvalidInput
from app.domain.information_loss import LossKind
from app.domain.numbers import highest_accepted, to_json_number
from app.domain.rules import TableRule
from app.domain.search.outcome import Bounds, Counters, Status

GREATEST_K = 1_000_000


@dataclass(frozen=True)
class AnonymityProblem:
    """Least loss under k-anonymity with suppression of whole classes.

    Records with equal disclosed forms (⊥ equal to ⊥) are a class. Classes of fewer than k records are
    suppressed whole, and a rule is allowed if that takes no more records than the limit. Suppressed records
    count in the loss as cells of ⊥.

    Raises
    ------
    InvalidInput
        A number out of range, or a loss of another name.
    """

    k: Annotated[int, Ge(1), Le(GREATEST_K), doc("Least records of a class that is disclosed.")]
    suppression_limit: Annotated[
        float, Ge(0), Le(1), doc("Greatest share of the records that may be suppressed, rounded down.")
    ] = 0.0
    loss: Annotated[LossKind, doc("How the losses of the attributes are put together.")] = "geometric"

    def __post_init__(self) -> None:
        if not 1 <= self.k <= GREATEST_K:
            raise InvalidInput.of(
                "/objective/privacy", "out-of-range", f"k must be between 1 and {GREATEST_K}."
            )
        if not 0 <= self.suppression_limit <= 1:
            raise InvalidInput.of(
                "/objective/suppression_limit", "out-of-range", "suppression_limit must be between 0 and 1."
            )
        if self.loss not in get_args(LossKind):
            raise InvalidInput.of("/objective/loss", "unknown-choice", "loss is geometric or arithmetic.")

    def suppression_allowed(self, n_records: int) -> int:
        """Records that may be suppressed: the limit's share of ``n_records``, rounded down."""
        return min(n_records, math.floor(highest_accepted(self.suppression_limit * n_records)))

    def to_document(self) -> dict[str, Any]:
        """Plain JSON-able form, for results and hashes."""
        return {
            "objective": {
                "kind": "min_loss",
                "loss": self.loss,
                "privacy": [{"kind": "k_anonymity", "k": self.k}],
                "suppression_limit": self.suppression_limit,
            },
            "scope": "table_level",
        }


@dataclass(frozen=True)
class AnonymityOutcome:
    """The answer to an :class:`AnonymityProblem`.

    Attributes
    ----------
    status
        ``infeasible`` if k is greater than the table and the limit forbids to suppress it all.
    smallest_class, classes
        Of the records that remain; no smallest class if none remains.
    bounds
        Of the loss of the best rule there is.
    complete
        False if the search was halted: stopped elsewhere, it may answer differently.
    counters
        ``visited_nodes`` and ``risk_evaluations`` are rules whose classes were counted,
        ``utility_evaluations`` those whose loss with suppression was computed.
    """

    problem: AnonymityProblem
    solver: str
    status: Status
    rule: TableRule | None
    loss: float | None
    suppressed_records: int | None
    suppression_allowed: int
    smallest_class: int | None
    classes: int | None
    bounds: Bounds | None
    complete: bool
    n_rules: int
    counters: Counters
    attributes: tuple[str, ...]

    @property
    def relative_gap(self) -> float | None:
        """Gap as a share of the loss: 0 when proven."""
        if self.bounds is None or self.loss is None:
            return None
        return self.bounds.gap / self.loss if self.bounds.gap else 0.0

    def to_document(self) -> dict[str, Any]:
        """Plain JSON-able form without ids and times."""
        levels = None if self.rule is None else dict(zip(self.attributes, self.rule.levels, strict=True))
        return {
            **self.problem.to_document(),
            "solver": self.solver,
            "status": self.status,
            "levels": levels,
            "loss": self.loss,
            "suppressed_records": self.suppressed_records,
            "suppression_allowed": self.suppression_allowed,
            "smallest_class": self.smallest_class,
            "classes": self.classes,
            "lower_bound": None if self.bounds is None else to_json_number(self.bounds.lower),
            "gap": None if self.bounds is None else to_json_number(self.bounds.gap),
            "relative_gap": self.relative_gap,
            "complete": self.complete,
            "n_rules": self.n_rules,
            "visited_nodes": self.counters.visited_nodes,
            "risk_evaluations": self.counters.risk_evaluations,
            "utility_evaluations": self.counters.utility_evaluations,
        }
