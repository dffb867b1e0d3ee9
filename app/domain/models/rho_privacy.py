"""(ρ1,ρ2)-privacy as a criterion: nobody who knows the population is taught too much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

import numpy as np
from annotated_types import Gt, Lt, doc

from app.domain.arrays import Bools
from app.domain.errors import InvalidInput
from app.domain.models.criterion import Criterion, Merging
from app.domain.models.judging import JudgedClasses
from app.domain.models.sensitive_values import Attribute
from app.domain.risk.bayes import breaches, greatest_shift

_LEAST_PRIOR: Final = 1e-6
"""Of fewer than a million people nobody has a value with a smaller probability."""


@dataclass(frozen=True)
class RhoPrivacy(Criterion):
    """No value is improbable before the release and probable after it, nor the other way round."""

    kind: ClassVar[str] = "rho_privacy"
    title: ClassVar[str] = "(ρ1,ρ2)-privacy: no belief in a sensitive value rises or falls too far"
    source: ClassVar[str] = "Evfimievski et al. (2003); Machanavajjhala (2008), definition 3.6"
    merging: ClassVar[Merging] = "none"
    needs_population: ClassVar[bool] = True
    needs_beliefs: ClassVar[bool] = True

    rho_1: Annotated[
        float,
        Gt(0),
        Lt(1),
        doc("A value is improbable if its prior is below rho_1, and probable if it is above 1 − rho_1."),
    ] = 0.2
    rho_2: Annotated[
        float,
        Gt(0),
        Lt(1),
        doc(
            "The belief in an improbable value stays at most rho_2, that in a probable one at least "
            "1 − rho_2; above rho_1."
        ),
    ] = 0.8
    attribute: Attribute = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rho_1 >= self.rho_2:
            raise InvalidInput.of(
                "/rho_1",
                "out-of-range",
                f"rho_1 is {self.rho_1}, not below rho_2, which is {self.rho_2}.",
                "Choose 0 < rho_1 < rho_2 < 1.",
            )

    def failing(self, judged: JudgedClasses) -> Bools:
        """Classes with a breach, and those of whose records nothing can be said: they fit no population."""
        failing: Bools = np.zeros(len(judged.records), dtype=bool)
        for block, class_ in judged.beliefs(self.attribute):
            up, down = breaches(block, self.rho_1, self.rho_2)
            failing[class_[(up | down).any(axis=1) | ~block.is_judged]] = True
        return failing

    def failing_alone(self, alone: JudgedClasses) -> Bools:
        """All, for whoever is alone is known; unless no value is improbable enough to be looked at."""
        return np.full(len(alone.records), self.rho_1 > _LEAST_PRIOR)

    def attained(self, judged: JudgedClasses) -> float | None:
        """The least rho_2 without a breach for this rho_1; ∞ if the population does not know of a record."""
        if not len(judged.records):
            return None
        greatest = 0.0
        for block, _ in judged.beliefs(self.attribute):
            if not block.is_judged.all():
                return float("inf")
            greatest = max(greatest, greatest_shift(block, self.rho_1))
        return greatest

    def impossible(self, whole: JudgedClasses) -> str | None:
        """Classes may breach together or apart: one class of all says nothing of the others."""
        return None
