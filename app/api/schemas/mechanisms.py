"""Mechanisms in requests and manifests: what they take and publish is made of their types."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from app.api.schemas.budgets import TableBudget
from app.api.schemas.common import Answer, Count, GuaranteeHypothesis, Hash, Moment, Number
from app.api.schemas.derived import answer_of, model_of, one_of, request_of
from app.api.schemas.problems import ProblemFault
from app.domain.mechanisms.catalogue import MECHANISMS, AnyMechanism
from app.domain.mechanisms.expected_people import ExpectedPeople
from app.domain.mechanisms.guarantee import Status
from app.domain.mechanisms.mechanism import Family
from app.services.questions import Route


def _model_name(mechanism: str) -> str:
    return "".join(part.capitalize() for part in mechanism.split("_"))


def _about(mechanism: AnyMechanism) -> str:
    """What it is, and what a request must come with."""
    needs = f" Needs: {', '.join(sorted(mechanism.needs))}." if mechanism.needs else ""
    return f"{mechanism.title}.{needs}"


REQUESTS = {
    own.name: request_of(own.parameters, f"{_model_name(own.name)}Mechanism", own.name, _about(own))
    for own in MECHANISMS
}
"""Name of the mechanism → the body that asks for it."""

PUBLISHED = {
    own.name: answer_of(
        own.published, f"Published{_model_name(own.name)}", own.name, f"{own.title}.", own.version
    )
    for own in MECHANISMS
}
"""Name of the mechanism → what it publishes for readers of the release."""

AskedMechanism = one_of(tuple(REQUESTS.values()))
PublishedPart = one_of(tuple(PUBLISHED.values()))


class ShownGuarantee(Answer):
    """What a release promises of the people in it."""

    model: Annotated[str, Field(max_length=100, description="Privacy model.")]
    parameters: Annotated[dict[str, Number | str], Field(examples=[{"beta": 1}])]
    """Its numbers, and the attribute that it is about."""
    sentence: Annotated[str, Field(max_length=1000, description="What it says, in one sentence.")]
    status: Annotated[Status, Field(examples=["certified"])]
    """What it is worth if all hypotheses hold: `certified`, proved; `as_published`, claimed by the source
    with a proof that gives less; `heuristic`, without a proof; `none`.
    """
    standing: Annotated[Status, Field(examples=["certified"])]
    """What is left of the status: `none` if a hypothesis does not hold."""
    hypotheses: Annotated[list[GuaranteeHypothesis], Field(max_length=50, description="What it rests on.")]
    claimed_by_source: Annotated[str, Field(max_length=1000)]
    """What the source claims where that is more than this; empty where it is the same."""


class ReleasedMechanism(Answer):
    """The mechanism that a release was made by."""

    name: Annotated[str, Field(max_length=100, description="Its name.", examples=[MECHANISMS[0].name])]
    version: Annotated[int, Field(description="Version of its meaning.", examples=[1])]
    family: Annotated[Family, Field(description="What it does to the records.", examples=["perturb"])]
    parameters: Annotated[dict[str, Any] | None, Field(examples=[{"beta": 1}])]
    """Its parameters, defaults filled in; null in lists."""
    published: Annotated[
        PublishedPart | None,  # type: ignore[valid-type]
        Field(description="What a reader of the release needs and may have; null in lists."),
    ]
    guarantees: Annotated[
        list[ShownGuarantee], Field(max_length=20, description="What the release promises.")
    ]
    warnings: Annotated[list[str], Field(max_length=50)]
    """What whoever publishes it must know."""
    independent_of_earlier: Annotated[bool, Field(description="Whether a further draw was asked for.")]
    draw: Annotated[Count, Field(description="Which draw of the same data it is.", examples=[1])]
    draws: Annotated[Count, Field(examples=[1])]
    """How many draws are counted by now of the same attribute of the same uploaded content, of whole records
    of it, or of other contents that have some of the same people by their identifiers; of a differentially
    private release all draws of these, of whatever attribute.
    """
    together: ShownGuarantee | None = None
    """What all draws of the same data promise together, with the status `none` where that is not known; null
    where there is one, and in lists.
    """
    budget: TableBudget | None = None
    """Of a differentially private release, how the budget of its table stands; null in lists."""
    csv_sha256: Annotated[Hash, Field(description="Hash of the table as CSV.")]


class EarlierDraw(Answer):
    """A draw of the same uploaded content, or of people who are in it, that counts with it."""

    release: Annotated[str | None, Field(max_length=100, examples=["residents-perturbed"])]
    """Name of its release; null if that is deleted, or not stored yet."""
    begun_at: Annotated[Moment, Field(description="When it was begun.")]


class ReleasePreviewAnswer(Answer):
    """What a draw would be worth on average: for the owner's eyes, and not differentially private."""

    missing: list[ProblemFault]
    """What stands in the way; the numbers are null then."""
    rows: Annotated[Number | None, Field(examples=[None])]
    """Expected number of rows."""
    objective: Annotated[Number | None, Field(examples=[None])]
    """Expected mean objective over all records, of which those that are not sampled count nothing: exact
    where generalisations are frequent by their counts without noise.
    """
    error_at_most: Annotated[Number | None, Field(examples=[None])]
    """By how much noise in the counts can change `objective` at most, up or down."""
    best_frequent: Annotated[Number | None, Field(examples=[None])]
    """Greatest mean objective of a release of every record as one of its frequent generalisations."""
    best: Annotated[Number | None, Field(examples=[None])]
    """The same of all generalisations: the optimum."""
    drawn_people: model_of(ExpectedPeople, "ExpectedPeople", {}) | None = None  # type: ignore[valid-type]
    """What is expected of drawn people, and what the release tells that was drawn of the same question."""
    sentence: Annotated[str, Field(max_length=500)] = (
        "These numbers follow from the records without noise: they are not differentially private, are not "
        "stored with the release, and must not be published or shown to its readers."
    )
    """Who may see the numbers."""


class ReleasePlanAnswer(Answer):
    """What a mechanism would make; nothing was drawn or stored."""

    missing: Annotated[list[ProblemFault], Field(description="What stands in the way.")]
    route: Annotated[Route | None, Field(examples=["direct"])] = None
    """`direct`: it is drawn at once; `run`: `POST /v1/releases/runs` takes it, as it takes what is drawn at
    once; null if inputs are missing.
    """
    seconds: Annotated[Number | None, Field(examples=[0.01])]
    """Estimated seconds of the draw; null where they would tell how many records there are."""
    bytes: Annotated[Count | None, Field(examples=[100000])]
    """Estimated memory of the draw; null likewise."""
    constants: Annotated[dict[str, Number] | None, Field(examples=[{"values": 3}])]
    """Numbers that follow from the table and the parameters, by name; null if inputs are missing."""
    guarantees: Annotated[list[ShownGuarantee], Field(max_length=20)]
    """What the release would promise."""
    warnings: Annotated[list[str], Field(max_length=50)]
    """What whoever publishes it must know."""
    earlier: Annotated[list[EarlierDraw], Field(max_length=10_000)]
    """Draws of the same data so far, the oldest first."""
    budget: TableBudget | None
    """Of a differentially private release, how the budget of its table stands before it."""
