"""Who gets a release, and how likely it is attacked: asked, and answered with the policy that follows."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from app.api.schemas.common import Answer, Request
from app.domain.risk.release_context import ACQUAINTANCES, ContextAnswers, Grade, ReleaseModel, RiskOfData
from app.services.gates.release_contexts import TEMPLATE, Checked, ContextQuestion

Reason = Annotated[str, Field(min_length=1, max_length=300, examples=["Health survey of 2025, table 4."])]
Probability = Annotated[float, Field(ge=0, le=1)]


class ProbabilityWithReason(Request):
    """A probability, and where it is from."""

    value: Annotated[float, Field(strict=True, ge=0, le=1, examples=[0.02])]
    """The probability."""
    reason: Reason
    """Where it is from; it stands in the policy beside the number."""


class ThresholdWithReason(Request):
    """A greatest risk of one's own."""

    value: Annotated[float, Field(strict=True, ge=0.001, le=0.5, examples=[0.05])]
    """The greatest risk of the release."""
    reason: Reason
    """Why this number; it stands in the policy beside it."""


class ReleaseContextQuestion(Request):
    """What is said of a release and of who gets it."""

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,89}$")] = TEMPLATE
    """Name of the policy that is answered."""
    release_model: Annotated[ReleaseModel, Field(examples=["non_public"])]
    """`public`: anybody can have it; `semi_public`: anybody who accepts terms of use; `non_public`: a
    limited number of identified recipients under a data sharing agreement.
    """
    invasion_of_privacy: Annotated[Grade | None, Field(examples=["medium"])] = None
    """How invasive a disclosure would be, or instead of it a `threshold`. Consider how sensitive and detailed
    the information is, how many people it is about, what harm a breach or misuse may do, whether it may be
    disclosed without consent, whether it was given freely, and whether people agreed to or were told of this
    use.
    """
    threshold: Annotated[ThresholdWithReason | None, Field(examples=[None])] = None
    """A greatest risk of your own, such as an expert's number for a risk that is very small."""
    controls: Annotated[Grade | None, Field(examples=["high"])] = None
    """Privacy and security controls of a non-public release. Consider access for authorised staff only,
    confidentiality agreements, disposal after a time, no sharing with others, policies that are enforced,
    training, a protocol for breaches, protection against malware, audit trails, encrypted transmission, and
    locked rooms.
    """
    motives_and_capacity: Annotated[Grade | None, Field(examples=["low"])] = None
    """Of the recipient of a non-public release, to identify somebody. Consider work with you in the past
    without incident, reasons to try, expertise and money, and other data that could be linked.
    """
    prevalence: Annotated[
        ProbabilityWithReason | None, Field(examples=[{"value": 0.001, "reason": "Health survey of 2025."}])
    ] = None
    """Share of the population with the condition or characteristic that the data are about; not asked of a
    public release.
    """
    acquaintances: Annotated[int, Field(strict=True, ge=1, le=10_000)] = ACQUAINTANCES
    """How many people somebody knows well enough to know this of them: 150 on average, up to 190."""
    breach: Annotated[
        ProbabilityWithReason | None, Field(examples=[{"value": 0.05, "reason": "Reported breaches, 2025."}])
    ] = None
    """How likely data are lost or stolen at the recipient's, by what is published on their industry; not
    asked of a public release.
    """
    least_class: Annotated[Literal[2, 3], Field(examples=[3])] = 3
    """Least equivalence class of a non-public release, whose mean risk counts: 3, or 2 in practice."""

    def question(self) -> ContextQuestion:
        """What was sent, as the use case takes it."""
        reasoned = {"threshold": self.threshold, "prevalence": self.prevalence, "breach": self.breach}
        given = {name: own for name, own in reasoned.items() if own is not None}
        answered: dict[str, Any] = self.model_dump(exclude={"name", *reasoned})
        answers = ContextAnswers(**answered | {name: own.value for name, own in given.items()})
        reasons = {name: own.reason for name, own in given.items()}
        return ContextQuestion(answers=answers, reasons=reasons, name=self.name)


class NumberSource(Answer):
    """Where a number of the answer is from."""

    number: Annotated[str, Field(max_length=100, description="Field of the answer.", examples=["attempt"])]
    source: Annotated[str, Field(max_length=1000, description="Title, section and date, or your reason.")]
    checked: Annotated[Checked, Field(examples=["text_read"])]
    """`text_read`: a copy of the source's own words was read; `your_own`: the number is yours."""


class ReleaseContextAnswer(Answer):
    """The risk of the context, what it leaves to the data, and a policy that asks for that."""

    threshold: Annotated[Probability, Field(description="Greatest risk of the release.", examples=[0.075])]
    attempt: Annotated[Probability, Field(description="Chance of a deliberate attempt.", examples=[0.05])]
    recognition: Annotated[Probability | None, Field(examples=[0.139])]
    """Chance that a recipient knows somebody in the data, 1 − (1 − p)^m; null for a public release."""
    breach: Annotated[Probability | None, Field(description="As it was sent.", examples=[0.05])]
    probability: Annotated[Probability, Field(examples=[0.139])]
    """Risk of the context: the greatest of the three."""
    data_risk: Annotated[Probability, Field(examples=[0.538])]
    """Greatest risk that the data may have: the threshold divided by the risk of the context, at most 1."""
    measured_by: Annotated[RiskOfData, Field(examples=["strict_average"])]
    """Which risk of the records is the data's: the `maximum`, or the mean with none above a bound."""
    k: Annotated[int, Field(ge=1, description="Least size of an equivalence class.", examples=[3])]
    sources: Annotated[list[NumberSource], Field(max_length=20, description="Where each number is from.")]
    policy: dict[str, Any]
    """The policy `ontario-release` with these numbers, to be filled with the roles of your columns and sent
    to `POST /v1/policies`.
    """
