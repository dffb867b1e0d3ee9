"""How likely somebody attacks a release at all, and what that leaves to the risk of its data.

Source: Information and Privacy Commissioner of Ontario (2016), steps 1 and 3 to 6. The risk of a release is
the risk of its data times that of its context; it is at most a threshold chosen by how invasive a disclosure
is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from annotated_types import Ge, Le

from app.domain.errors import Fault, InvalidInput

ReleaseModel = Literal["public", "semi_public", "non_public"]
Grade = Literal["low", "medium", "high"]
RiskOfData = Literal["maximum", "strict_average"]
"""Which risk of the records is the data's: the greatest, or the mean while none is above a bound."""

THRESHOLDS: Final[Mapping[Grade, float]] = {"low": 0.1, "medium": 0.075, "high": 0.05}
"""Invasion of privacy → greatest risk of a release (step 3)."""

ATTEMPTS: Final[Mapping[tuple[Grade, Grade], float]] = {
    ("high", "low"): 0.05, ("high", "medium"): 0.1, ("high", "high"): 0.2,
    ("medium", "low"): 0.2, ("medium", "medium"): 0.3, ("medium", "high"): 0.4,
    ("low", "low"): 0.4, ("low", "medium"): 0.5, ("low", "high"): 0.6,
}  # fmt: skip
"""(controls, motives and capacity) of a recipient → probability of a deliberate attempt (step 5)."""

ACQUAINTANCES: Final = 150
"""People whom somebody knows on average, Dunbar's number; 190 at most (step 5)."""

ROUNDING: Final = 1e-9

Probability = Annotated[float, Ge(0), Le(1)]


@dataclass(frozen=True, kw_only=True)
class ContextAnswers:
    """What is said of a release and of who gets it.

    Parameters
    ----------
    invasion_of_privacy, threshold
        One of the two: how invasive a disclosure is, or a greatest risk of one's own.
    controls, motives_and_capacity
        Of the recipient of a non-public release. A semi-public one is open to everybody who accepts terms:
        low and high are assumed.
    prevalence
        Share of the population with what the data are about.
    breach
        Probability that data are lost or stolen at the recipient's.
    least_class
        Least size of a class where the mean risk counts.
    """

    release_model: ReleaseModel
    invasion_of_privacy: Grade | None = None
    threshold: Annotated[float, Ge(0.001), Le(0.5)] | None = None
    controls: Grade | None = None
    motives_and_capacity: Grade | None = None
    prevalence: Probability | None = None
    acquaintances: Annotated[int, Ge(1), Le(10_000)] = ACQUAINTANCES
    breach: Probability | None = None
    least_class: Literal[2, 3] = 3

    def __post_init__(self) -> None:
        """InvalidInput names what the release model asks for and is missing, and what it does not ask."""
        if (self.invasion_of_privacy is None) == (self.threshold is None):
            raise InvalidInput.of(
                "/threshold",
                "exactly-one",
                "The threshold follows from how invasive a disclosure is, or is your own.",
                "Give either invasion_of_privacy or threshold.",
            )
        asked = _ASKED[self.release_model]
        faults = [
            Fault(
                f"/{name}", "missing" if name in asked else "not-applicable",
                f"A {self.release_model.replace('_', '-')} release {_REASON[name in asked]} {name}.",
                "Give it." if name in asked else "Leave it out.",
            )
            for name in _ASKED["non_public"]
            if (getattr(self, name) is None) == (name in asked)
        ]  # fmt: skip
        if faults:
            raise InvalidInput(faults)


_ASKED: Final[Mapping[ReleaseModel, tuple[str, ...]]] = {
    "public": (),
    "semi_public": ("prevalence", "breach"),
    "non_public": ("controls", "motives_and_capacity", "prevalence", "breach"),
}
_REASON: Final = {True: "is judged by the field", False: "is not judged by the field"}


@dataclass(frozen=True)
class ReleaseContext:
    """What follows from the answers.

    Parameters
    ----------
    threshold
        Greatest risk of the release.
    attempt, recognition, breach
        Probabilities of a deliberate attempt, of recognising an acquaintance, and of a breach; None where
        an attempt is certain.
    probability
        That of the context: the greatest of these.
    data_risk
        Greatest risk that the data may have, at most 1.
    measured_by
        Which risk of the records is compared with it.
    k
        Least size of a class.
    """

    threshold: float
    attempt: float
    recognition: float | None
    breach: float | None
    probability: float
    data_risk: float
    measured_by: RiskOfData
    k: int

    @property
    def mean_counts(self) -> bool:
        """Whether the mean risk has to be bounded besides: classes of k would not keep it by themselves."""
        return self.measured_by == "strict_average" and 1 / self.k > self.data_risk + ROUNDING


def release_context(answers: ContextAnswers) -> ReleaseContext:
    """The risk of the context, what it leaves to the data, and the least class that keeps it."""
    grade = answers.invasion_of_privacy
    threshold = THRESHOLDS[grade] if grade is not None else answers.threshold
    if threshold is None:
        raise ValueError("answers have a threshold or a grade")
    attempt, recognition = _attempt(answers), None
    if answers.prevalence is not None:
        recognition = recognition_of(answers.prevalence, answers.acquaintances)
    probability = max(own for own in (attempt, recognition, answers.breach) if own is not None)
    data_risk = min(1.0, threshold / probability) if probability else 1.0
    is_open = answers.release_model != "non_public"
    return ReleaseContext(
        threshold,
        attempt,
        recognition,
        answers.breach,
        probability,
        data_risk,
        "maximum" if is_open else "strict_average",
        max(1, math.ceil(1 / data_risk - ROUNDING)) if is_open else answers.least_class,
    )


def recognition_of(prevalence: float, acquaintances: int) -> float:
    """1 − (1 − p)^m: the probability to know somebody of whom the data speak."""
    if prevalence >= 1:
        return 1.0
    return -math.expm1(acquaintances * math.log1p(-prevalence))


def _attempt(answers: ContextAnswers) -> float:
    match answers.release_model:
        case "public":
            return 1.0
        case "semi_public":
            return ATTEMPTS["low", "high"]
    if answers.controls is None or answers.motives_and_capacity is None:
        raise ValueError("answers on a non-public release grade its recipient")
    return ATTEMPTS[answers.controls, answers.motives_and_capacity]
