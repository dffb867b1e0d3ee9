"""From what is said of a release's recipients to numbers, and to a policy that asks for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Final, Literal

from app.domain.policies.policy import Assumptions, Heading, Policy, Requirement
from app.domain.policies.privacy_model_condition import PrivacyModelCondition
from app.domain.risk.release_context import (
    ATTEMPTS,
    THRESHOLDS,
    ContextAnswers,
    ReleaseContext,
    release_context,
)
from app.services.gates.policies import template
from app.services.gates.policy_documents import document_of_policy
from app.services.resources import JsonObject

TEMPLATE: Final = "ontario-release"
GUIDELINE: Final = (
    "De-identification Guidelines for Structured Data, Information and Privacy Commissioner of Ontario, "
    "June 2016"
)
_WORK: Final = "Information and Privacy Commissioner of Ontario (2016)"

Checked = Literal["text_read", "your_own"]
"""How the source of a number was checked: its text was read in a copy, or the number is whoever's asked."""


@dataclass(frozen=True, kw_only=True)
class ContextQuestion:
    """The answers, and why the numbers among them: by the fields' names."""

    answers: ContextAnswers
    reasons: Mapping[str, str] = field(default_factory=dict)
    name: str = TEMPLATE


def context_document(question: ContextQuestion) -> JsonObject:
    """The numbers that follow, where each is from, and the policy that asks for them."""
    found = release_context(question.answers)
    return {
        **asdict(found),
        "sources": [
            {"number": number, "source": source, "checked": checked}
            for number, (source, checked) in _sources(question, found).items()
        ],
        "policy": document_of_policy(policy_for(question, found)),
    }


def policy_for(question: ContextQuestion, found: ReleaseContext) -> Policy:
    """The template with the numbers of this context, their reasons, and the steps of the guideline."""
    policy = template(TEMPLATE).policy
    kept = tuple(own for own in policy.requirements if own.id != "data-risk")
    answers = question.answers
    return replace(
        policy,
        name=question.name,
        version=1,
        assumes=Assumptions(_ATTACKERS[answers.release_model]),
        requirements=(*_of_data(question, found), *kept),
        outline=tuple(_filled(own, question, found) for own in policy.outline),
    )


_ATTACKERS: Final = {
    "public": "Anybody: somebody will attempt an attack for demonstration, and goes for the records that are "
    "easiest to find.",
    "semi_public": "Anybody who accepts the terms of use: of high motives and capacity, under controls that "
    "are low at best.",
    "non_public": "The recipient, who may attempt an attack, may recognise an acquaintance, and may lose the "
    "data to somebody who attacks them. No record is easier to attack than another.",
}

_MEASURED: Final = {
    "maximum": "The greatest risk of a record, 1 divided by the size of its equivalence class.",
    "strict_average": "The mean risk of the records, while none is above that of the least class allowed.",
}


def _of_data(question: ContextQuestion, found: ReleaseContext) -> tuple[Requirement, ...]:
    """What the data have to meet: the least class, and the mean risk where that is not kept by it."""
    if found.measured_by == "maximum":
        reason = f"{_overall(question, found)} Its greatest risk counts (step 4): a class of {found.k}."
    else:
        reason = (
            f"{_WORK}, step 4: where the mean risk counts, no record may be above a bound. It names 0.33, "
            f"classes of 3, as often proposed, and 0.5, classes of 2, as usable; here {found.k}. Text read."
        )
        if not found.mean_counts:
            reason += f" {_overall(question, found)} Classes of {found.k} keep that."
    least = Requirement(
        "data-risk",
        f"Every equivalence class has at least {found.k} records",
        reason,
        PrivacyModelCondition("k_anonymity", {"k": found.k}),
    )
    if not found.mean_counts:
        return (least,)
    mean = Requirement(
        "mean-risk",
        f"The mean risk of the records is at most {_number(found.data_risk)}",
        _overall(question, found),
        PrivacyModelCondition("average_risk", {"threshold": found.data_risk}),
    )
    return least, mean


def _overall(question: ContextQuestion, found: ReleaseContext) -> str:
    return (
        f"{_WORK}, step 6: data risk times context risk is at most the threshold, "
        f"{_number(found.threshold)} / {_number(found.probability)} = {_number(found.data_risk)}. "
        f"{_why_threshold(question)} Context: {_why_context(question, found)} Text read."
    )


def _why_threshold(question: ContextQuestion) -> str:
    grade = question.answers.invasion_of_privacy
    if grade is None:
        return f"The threshold is one of your own: {question.reasons['threshold']}"
    said = f"The threshold {_number(THRESHOLDS[grade])} is that of a {grade} invasion of privacy (step 3)"
    return f"{said}; the guideline writes a cell size of 15 beside it." if grade == "medium" else f"{said}."


def _why_context(question: ContextQuestion, found: ReleaseContext) -> str:
    answers = question.answers
    if found.recognition is None:
        return "somebody will attempt an attack on a public release, 1 (step 5)."
    graded = f"controls {answers.controls}, motives and capacity {answers.motives_and_capacity}"
    if answers.release_model == "semi_public":
        graded = "controls low, motives and capacity high, as for every semi-public release"
    return (
        f"the greatest of a deliberate attempt, {_number(found.attempt)} ({graded}); of recognising an "
        f"acquaintance, {_number(found.recognition)} (1 - (1 - p)^m with p = {_number(answers.prevalence)}, "
        f"m = {answers.acquaintances}; {question.reasons['prevalence']}); and of a breach, "
        f"{_number(found.breach)} ({question.reasons['breach']}), step 5."
    )


def _filled(heading: Heading, question: ContextQuestion, found: ReleaseContext) -> Heading:
    """A step with what is said of this release."""
    of_data = tuple(own.id for own in _of_data(question, found))
    texts = {
        "Step 1": question.answers.release_model.replace("_", "-").capitalize() + ".",
        "Step 3": _why_threshold(question),
        "Step 4": _MEASURED[found.measured_by],
        "Step 5": f"{_number(found.probability)}: {_why_context(question, found)}",
        "Step 6": "The data risk times the context risk. It is at most the threshold if the data risk is at "
        f"most {_number(found.data_risk)}.",
    }
    text = texts.get(heading.title.partition(":")[0], heading.text)
    answering = [id_ for id_ in heading.requirements if id_ != "data-risk"]
    if "data-risk" in heading.requirements:
        answering += of_data
    return replace(heading, text=text, requirements=tuple(answering))


def _sources(question: ContextQuestion, found: ReleaseContext) -> dict[str, tuple[str, Checked]]:
    """Number of the answer → where it is from, and how that was checked."""
    answers, reasons = question.answers, question.reasons
    graded: tuple[str, Checked] = (f"{GUIDELINE}, step 3, table", "text_read")
    sources: dict[str, tuple[str, Checked]] = {
        "threshold": graded if answers.threshold is None else (reasons["threshold"], "your_own"),
        "attempt": (f"{GUIDELINE}, step 5, attack 1, table of {len(ATTEMPTS)} probabilities", "text_read"),
        "recognition": (
            f"{GUIDELINE}, step 5, attack 2; prevalence: {reasons.get('prevalence')}",
            "text_read",
        ),
        "breach": (reasons.get("breach", ""), "your_own"),
        "probability": (f"{GUIDELINE}, step 5, the greatest of the three", "text_read"),
        "data_risk": (f"{GUIDELINE}, step 6, solved for the data risk", "text_read"),
        "measured_by": (f"{GUIDELINE}, step 4.2", "text_read"),
        "k": (f"{GUIDELINE}, step 4.1 and 4.2", "text_read"),
    }
    if answers.release_model == "public":
        sources["attempt"] = (f"{GUIDELINE}, step 5, public data releases", "text_read")
        sources["probability"] = sources["attempt"]
        del sources["recognition"], sources["breach"]
    return sources


def _number(value: float | None) -> str:
    return f"{value:.4g}"
