"""Verdicts: what was found of each criterion, and what would pass."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from app.api.schemas.common import Answer, Count, Hash, Number, is_none
from app.api.schemas.coverage import EarlierReleases, FoundCoverage
from app.api.schemas.datasets import FoundRows
from app.api.schemas.mechanisms import ShownGuarantee
from app.api.schemas.view_advice import NearestViewChange
from app.api.schemas.view_checks import JudgedPair
from app.domain.catalogue.catalogue_types import Guarantee
from app.domain.gates.verdicts import Outcome, Verdict
from app.domain.policies.comparison import Comparison
from app.domain.policies.policy import Severity
from app.services.gates.waivers import Lapse

FoundValue = Annotated[
    bool | int | Number | None, Field(description='The value that was found; infinity is "inf".')
]


class FoundGroup(Answer):
    """Records that share a value."""

    number: Annotated[Count, Field(description="Its number, from 1.", examples=[1])]
    records: Annotated[Count, Field(description="How many records it has.", examples=[4])]
    value: Annotated[str | None, Field(examples=["White"])]
    """The value; null for keys without the scope `data:read`."""


class FoundPart(Answer):
    """A dictionary or a group, with its value."""

    dictionary: Annotated[str | None, Field(description="Slot; null: of none.", examples=["register"])]
    group: Annotated[FoundGroup | None, Field(description="Group of records; null: all records.")]
    value: FoundValue
    margin: Annotated[Number, Field(examples=[1])]
    """How far from failing, in the value's unit; negative fails."""
    outcome: Annotated[Literal["passed", "failed"], Field(description="Whether it holds.")]


class FoundWorst(Answer):
    """The records that a failure is about."""

    rows: Annotated[list[Count], Field(description="The first 20, as rows from 1.", examples=[[3, 8]])]
    records: Annotated[Count, Field(description="How many there are.", examples=[2])]


class FoundHypothesis(Answer):
    """A hypothesis of a theorem that a claim rests on."""

    id: Annotated[str, Field(description="Its name.", examples=["dictionary_order"])]
    holds: Annotated[str, Field(description="yes, no or assumed.", examples=["yes"])]
    reason: Annotated[str, Field(description="Why.")]


class CountedWaiver(Answer):
    """The waiver of a criterion that was looked at."""

    name: Annotated[str, Field(description="Its name.", examples=["members-waiver"])]
    sha256: Annotated[Hash, Field(description="Hash of what it says.")]
    approved_by: Annotated[str, Field(description="Who takes it on himself.", examples=["Data protection"])]
    reason: Annotated[str, Field(description="Why the criterion need not hold.")]
    until: Annotated[str, Field(description="Last day that it is in force.", examples=["2027-06-30"])]
    dataset_sha256: Hash | None = None
    """Hash of the dataset, or of the schema and the views, that it was granted for; null: of any, and in a
    verdict on a differentially private release.
    """
    criterion_sha256: Hash | None = None
    """Hash of the criterion that it was granted for; null: none was recorded."""
    in_force: Annotated[bool, Field(description="Whether it counted.")]
    lapse: Annotated[Lapse | None, Field(examples=["expired"])] = None
    """Why it did not count: its last day was past, or it was granted for other data under the dataset's name,
    or for another criterion under this one's id.
    """


class CriterionError(Answer):
    """Why a criterion could not be computed."""

    code: Annotated[str, Field(description="Kind of fault, for programs.", examples=["not-supported"])]
    message: Annotated[str, Field(description="What is wrong.")]
    remedy: Annotated[str, Field(description="What would be right.")]


class FoundQuantity(Answer):
    """What a value is a number of."""

    what: Annotated[str, Field(description="In a few words.", examples=["mean risk of the records"])]
    of_records: Annotated[Count | None, Field(examples=[None])]
    """Records that the value is a share of; null if it is none."""


class FoundPair(JudgedPair):
    """Whether a view discloses anything about a secret, and if it does what would pass."""

    nearest_change: Annotated[NearestViewChange | None, Field(exclude_if=is_none)] = None
    """Of a pair that discloses and is not waived. Not there for keys that see no queries."""


class FoundCriterion(Answer):
    """What was found of one criterion."""

    id: Annotated[str, Field(description="Its id in the policy.", examples=["several-people"])]
    title: Annotated[str, Field(description="Its title.", examples=["Nobody is picked out"])]
    reason: Annotated[str, Field(description="Why the policy asks for this number.")]
    severity: Annotated[Severity, Field(description="Whether it blocks.", examples=["block"])]
    outcome: Annotated[Outcome, Field(examples=["failed"])]
    """`not_computable` is never a pass: of a criterion that blocks it makes the verdict `error`."""
    demand: Annotated[dict[str, Any], Field(description="What the policy requires.")]
    value: FoundValue
    quantity: FoundQuantity | None = None
    """What the value is a number of; null in verdicts of before this was said."""
    comparison: Annotated[Comparison | None, Field(description="How it is compared with the threshold.")]
    threshold: Annotated[bool | int | Number | None, Field(description="The threshold.", examples=[2])]
    margin: Annotated[Number | None, Field(examples=[-1])]
    """How far from failing, in the value's unit; negative fails."""
    guarantee: Annotated[Guarantee | None, Field(description="What the value is worth.", examples=["exact"])]
    standard_error: Annotated[Number | None, Field(examples=[None])]
    """Of a value from a sample; null for others."""
    parts: list[FoundPart]
    """Dictionaries and groups; all must hold, the worst is the value."""
    worst: Annotated[FoundWorst | None, Field(description="Records that the value is about; null: unknown.")]
    hypotheses: Annotated[list[FoundHypothesis], Field(description="What a claim rests on.")]
    promised: Annotated[ShownGuarantee | None, Field(exclude_if=is_none)] = None
    """The guarantee that was judged, as it stood when the evaluation was asked for; there where one was."""
    pairs: Annotated[list[FoundPair] | None, Field(exclude_if=is_none)] = None
    """Of a requirement about views: every secret with every view."""
    assumptions: Annotated[list[str] | None, Field(exclude_if=is_none)] = None
    """Of a requirement about views: what its pairs rest on."""
    warnings: Annotated[list[str] | None, Field(exclude_if=is_none)] = None
    """Of a requirement about views: what of tables in SQL is left out, or taken for something else."""
    waiver: Annotated[CountedWaiver | None, Field(description="Its waiver, in force or not; null: none.")]
    error: Annotated[CriterionError | None, Field(description="Why there is no value; null if there is.")]
    explanation: Annotated[str, Field(description="What was found, in a sentence.")]


class FoundChange(Answer):
    """The nearest change of the rule that would pass."""

    for_: Annotated[str, Field(alias="for", examples=["all"])]
    """A criterion's id, or `all` of them."""
    status: Literal["found", "none_exists", "not_found"]
    """`none_exists` only if that is proven; `not_found` within the budget of rules."""
    proven: Annotated[bool, Field(description="Whether no other change keeps more utility, or none exists.")]
    levels: dict[str, Count] | None
    """Every record is generalised at least so far; null if nothing was found."""
    suppressed_records: Annotated[Count, Field(description="Records that it suppresses.", examples=[0])]
    utility_before: Annotated[Number | None, Field(description="Mean utility of the rule.", examples=[8])]
    utility_after: Annotated[Number | None, Field(description="Mean utility after it.", examples=[6.5])]
    examined: Annotated[Count, Field(description="Rules that were looked at.", examples=[17])]
    rule: dict[str, Any] | None
    """The changed rule as creating a rule takes it; null where it cannot be said so."""


class JudgedPolicy(Answer):
    """The policy of a verdict."""

    name: Annotated[str, Field(description="Its name.", examples=["members-release"])]
    version: Annotated[int, Field(description="Its version.", examples=[1])]
    sha256: Annotated[Hash, Field(description="Hash of its content.")]
    title: Annotated[str, Field(description="Its title.", examples=["Release of the members"])]
    attacker: Annotated[str, Field(description="Whom its numbers are about.")]


class VerdictResult(Answer):
    """The verdict with everything that it follows from; no ids, no times."""

    kind: Annotated[Literal["verdict"], Field(description="Kind of result.")]
    version: Annotated[int, Field(description="Version of its form.", examples=[1])]
    rows_are: FoundRows | None = None
    """What a row of the data is; null in verdicts from before this was said, and of views."""
    verdict: Annotated[Verdict, Field(examples=["fail"])]
    """`error`: a criterion that blocks could not be computed, or the policy's schema is a draft. `fail`: one
    failed without a waiver, or a column is not covered. `pass`: none of it.
    """
    policy: Annotated[JudgedPolicy, Field(description="The policy.")]
    subject: Annotated[dict[str, Any], Field(description="What was evaluated, with hashes.")]
    coverage: FoundCoverage | None = None
    """What was checked before the criteria; null in verdicts from before it was."""
    earlier_releases: EarlierReleases | None = None
    """What was released before of the same data; null as above."""
    criteria: Annotated[list[FoundCriterion], Field(description="The criteria in the policy's order.")]
    changes: list[FoundChange]
    """Per failed criterion that blocks, and for all, the nearest change that passes."""
    risk: dict[str, dict[str, Any] | None] | None
    """Slot → the score of the release in short; null where there is none."""
    not_covered: Annotated[list[str], Field(description="What the verdict says nothing about.")]
    assumptions: list[str] = []  # noqa: RUF012 - pydantic copies it
    """What is taken for granted, the order of the released rows for one."""
    warnings: Annotated[list[str], Field(description="What to know beside.")]
    tolerance: Annotated[dict[str, Number], Field(description="By which real numbers are compared.")]
