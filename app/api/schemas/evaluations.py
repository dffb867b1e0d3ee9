"""Evaluations: a release held against a policy, and the verdict."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from app.api.schemas.common import Answer, Column, Count, Hash, Name, Number, Ref, Request, Resource
from app.api.schemas.coverage import EarlierReleases, FoundCoverage
from app.api.schemas.problems import ProblemFault
from app.api.schemas.rules import Definition
from app.domain.catalogue_types import Guarantee
from app.domain.errors import Fault
from app.domain.gates.verdicts import Outcome, Verdict
from app.domain.policies.comparison import Comparison
from app.domain.policies.policy import MOST_SLOTS, Severity
from app.services.gates.requests import CreateEvaluation, CriterionPlan, EvaluationPlan, ReleaseFile
from app.services.gates.waivers import Lapse

SlotName = Annotated[str, StringConstraints(min_length=1, max_length=100)]
FoundValue = Annotated[
    bool | int | Number | None, Field(description='The value that was found; infinity is "inf".')
]


class FinishedRelease(Request):
    """A release file that is there already."""

    upload: Annotated[Ref, Field(description="The uploaded file.", examples=["members"])]
    key: Annotated[
        Column | None,
        Field(
            description="Column of the file, and identifier of the dataset, that tells which record each row "
            "is. Without one the rows must be all records in their order.",
            examples=["member_id"],
        ),
    ] = None


class NewEvaluation(Request):
    """A release to be held against a policy."""

    name: Annotated[
        Name | None, Field(description="Its name; without one it is made of the content's hash.")
    ] = None
    dataset: Annotated[Ref, Field(description="Dataset that is disclosed.", examples=["members"])]
    rule: Annotated[
        Ref | Definition | None,
        Field(description="A rule's id or name, or a rule. Either this or release.", examples=["proposal"]),
    ] = None
    release: Annotated[
        FinishedRelease | None, Field(description="A finished release file instead of a rule.")
    ] = None
    dictionaries: Annotated[
        dict[SlotName, Ref],
        Field(
            max_length=MOST_SLOTS,
            description="Slot of the policy → dictionary or dictionary set that fills it.",
            examples=[{"register": "census"}],
        ),
    ] = {}  # noqa: RUF012 - pydantic copies it
    sensitivity: Annotated[
        Ref | None,
        Field(description="What harm disclosure does; where criteria need it.", examples=["members-harm"]),
    ] = None
    failure: Annotated[
        Ref | None,
        Field(description="Sensitivity profile of the harm where the attacker picks the wrong person."),
    ] = None

    @model_validator(mode="after")
    def _of_one(self) -> Self:
        if (self.rule is None) == (self.release is None):
            raise PydanticCustomError("exactly_one", "Give exactly one of rule and release.")
        return self

    def request(self, policy: str) -> CreateEvaluation:
        """The value that the use case takes."""
        release = self.release
        return CreateEvaluation(
            policy=policy,
            dataset=self.dataset,
            rule=self.rule if isinstance(self.rule, str | None) else self.rule.definition(),
            release=None if release is None else ReleaseFile(release.upload, release.key),
            dictionaries=self.dictionaries,
            sensitivity=self.sensitivity,
            failure=self.failure,
            name=self.name,
        )


class CriterionCost(Answer):
    """What one criterion would take."""

    id: Annotated[str, Field(description="The criterion.", examples=["several-people"])]
    title: Annotated[str, Field(description="Its title.", examples=["Nobody is picked out"])]
    severity: Annotated[Severity, Field(description="Whether it blocks.", examples=["block"])]
    kind: Annotated[str, Field(description="Kind of demand.", examples=["score"])]
    seconds: Annotated[Number | None, Field(description="Estimated seconds.", examples=[0.01])]
    bytes: Annotated[Count | None, Field(description="Estimated memory.", examples=[100000])]
    engine: Annotated[str | None, Field(description="What would compute it.", examples=["cube"])]
    error: Annotated[ProblemFault | None, Field(description="Why it cannot be computed; null if it can.")]

    @classmethod
    def of(cls, plan: CriterionPlan) -> CriterionCost:
        """The use case's answer as a body."""
        return cls(
            id=plan.id,
            title=plan.title,
            severity=plan.severity,
            kind=plan.kind,
            seconds=plan.seconds,
            bytes=plan.bytes,
            engine=plan.engine,
            error=None if plan.error is None else _fault(plan.error),
        )


class EvaluationPlanAnswer(Answer):
    """What an evaluation would cost; nothing was computed or stored."""

    route: Annotated[
        Literal["direct", "run"] | None,
        Field(description="`direct` answers at once, `run` in the background; null if inputs are missing."),
    ]
    seconds: Annotated[
        Number | None, Field(description="Estimated seconds of all criteria.", examples=[0.05])
    ]
    bytes: Annotated[Count | None, Field(description="Estimated memory.", examples=[100000])]
    change_rules: Annotated[
        Count | None,
        Field(
            description="Rules that are examined at most, all together, for changes that would pass.",
            examples=[400],
        ),
    ]
    change_seconds: Annotated[
        Number | None,
        Field(
            description="Estimated seconds of that, at most, on top; nothing if no criterion fails.",
            examples=[0.4],
        ),
    ]
    criteria: Annotated[list[CriterionCost], Field(description="The criteria one by one.")]
    missing: Annotated[list[ProblemFault], Field(description="What stands in the way.")]

    @classmethod
    def of(cls, plan: EvaluationPlan) -> EvaluationPlanAnswer:
        """The use case's answer as a body."""
        return cls(
            route=plan.route,
            seconds=plan.seconds,
            bytes=plan.bytes,
            change_rules=plan.change_rules,
            change_seconds=plan.change_seconds,
            criteria=[CriterionCost.of(own) for own in plan.criteria],
            missing=[_fault(own) for own in plan.missing],
        )


def _fault(fault: Fault) -> ProblemFault:
    return ProblemFault(pointer=fault.pointer, code=fault.code, message=fault.message, remedy=fault.remedy)


class FoundGroup(Answer):
    """Records that share a value."""

    number: Annotated[Count, Field(description="Its number, from 1.", examples=[1])]
    records: Annotated[Count, Field(description="How many records it has.", examples=[4])]
    value: Annotated[
        str | None,
        Field(description="The value; null for keys without the scope `data:read`.", examples=["White"]),
    ]


class FoundPart(Answer):
    """A dictionary or a group, with its value."""

    dictionary: Annotated[str | None, Field(description="Slot; null: of none.", examples=["register"])]
    group: Annotated[FoundGroup | None, Field(description="Group of records; null: all records.")]
    value: FoundValue
    margin: Annotated[
        Number, Field(description="How far from failing, in the value's unit; negative fails.", examples=[1])
    ]
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
    dataset_sha256: Annotated[
        Hash | None,
        Field(description="Hash of the dataset that it was granted for; null: of any under the name."),
    ] = None
    criterion_sha256: Annotated[
        Hash | None,
        Field(description="Hash of the criterion that it was granted for; null: none was recorded."),
    ] = None
    in_force: Annotated[bool, Field(description="Whether it counted.")]
    lapse: Annotated[
        Lapse | None,
        Field(
            description="Why it did not count: its last day was past, or it was granted for other data under "
            "the dataset's name, or for another criterion under this one's id.",
            examples=["expired"],
        ),
    ] = None


class CriterionError(Answer):
    """Why a criterion could not be computed."""

    code: Annotated[str, Field(description="Kind of fault, for programs.", examples=["not-supported"])]
    message: Annotated[str, Field(description="What is wrong.")]
    remedy: Annotated[str, Field(description="What would be right.")]


class FoundCriterion(Answer):
    """What was found of one criterion."""

    id: Annotated[str, Field(description="Its id in the policy.", examples=["several-people"])]
    title: Annotated[str, Field(description="Its title.", examples=["Nobody is picked out"])]
    reason: Annotated[str, Field(description="Why the policy asks for this number.")]
    severity: Annotated[Severity, Field(description="Whether it blocks.", examples=["block"])]
    outcome: Annotated[
        Outcome,
        Field(
            description="`not_computable` is never a pass: of a criterion that blocks it makes the verdict "
            "`error`.",
            examples=["failed"],
        ),
    ]
    demand: Annotated[dict[str, Any], Field(description="What the policy demands.")]
    value: FoundValue
    comparison: Annotated[Comparison | None, Field(description="How it is held against the threshold.")]
    threshold: Annotated[bool | int | Number | None, Field(description="The threshold.", examples=[2])]
    margin: Annotated[
        Number | None,
        Field(description="How far from failing, in the value's unit; negative fails.", examples=[-1]),
    ]
    guarantee: Annotated[Guarantee | None, Field(description="What the value is worth.", examples=["exact"])]
    standard_error: Annotated[
        Number | None, Field(description="Of a value from a sample; null for others.", examples=[None])
    ]
    parts: Annotated[
        list[FoundPart], Field(description="Dictionaries and groups; all must hold, the worst is the value.")
    ]
    worst: Annotated[FoundWorst | None, Field(description="Records that the value is about; null: unknown.")]
    hypotheses: Annotated[list[FoundHypothesis], Field(description="What a claim rests on.")]
    waiver: Annotated[CountedWaiver | None, Field(description="Its waiver, in force or not; null: none.")]
    error: Annotated[CriterionError | None, Field(description="Why there is no value; null if there is.")]
    explanation: Annotated[str, Field(description="What was found, in a sentence.")]


class FoundChange(Answer):
    """The nearest change of the rule that would pass."""

    for_: Annotated[
        str, Field(alias="for", description="A criterion's id, or `all` of them.", examples=["all"])
    ]
    status: Annotated[
        Literal["found", "none_exists", "not_found"],
        Field(description="`none_exists` only if that is proven; `not_found` within the budget of rules."),
    ]
    proven: Annotated[bool, Field(description="Whether no other change keeps more utility, or none exists.")]
    levels: Annotated[
        dict[str, Count] | None,
        Field(description="Every record is generalised at least so far; null if nothing was found."),
    ]
    suppressed_records: Annotated[Count, Field(description="Records that it withholds.", examples=[0])]
    utility_before: Annotated[Number | None, Field(description="Mean utility of the rule.", examples=[8])]
    utility_after: Annotated[Number | None, Field(description="Mean utility after it.", examples=[6.5])]
    examined: Annotated[Count, Field(description="Rules that were looked at.", examples=[17])]
    rule: Annotated[
        dict[str, Any] | None,
        Field(description="The changed rule as creating a rule takes it; null where it cannot be said so."),
    ]


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
    verdict: Annotated[
        Verdict,
        Field(
            description="`error`: a criterion that blocks could not be computed, or the policy's schema is a "
            "draft. `fail`: one failed without a waiver, or a column is not covered. `pass`: none of it.",
            examples=["fail"],
        ),
    ]
    policy: Annotated[JudgedPolicy, Field(description="The policy.")]
    subject: Annotated[dict[str, Any], Field(description="What was evaluated, with hashes.")]
    coverage: Annotated[
        FoundCoverage | None,
        Field(description="What was checked before the criteria; null in verdicts from before it was."),
    ] = None
    earlier_releases: Annotated[
        EarlierReleases | None,
        Field(description="What was released before of the same data; null as above."),
    ] = None
    criteria: Annotated[list[FoundCriterion], Field(description="The criteria in the policy's order.")]
    changes: Annotated[
        list[FoundChange],
        Field(description="Per failed criterion that blocks, and for all, the nearest change that passes."),
    ]
    risk: Annotated[
        dict[str, dict[str, Any] | None] | None,
        Field(description="Slot → the score of the release in short; null where there is none."),
    ]
    not_covered: Annotated[list[str], Field(description="What the verdict says nothing about.")]
    warnings: Annotated[list[str], Field(description="What to know beside.")]
    tolerance: Annotated[dict[str, Number], Field(description="By which real numbers are compared.")]


class PolicyOfEvaluation(Answer):
    """The policy of an evaluation."""

    name: Annotated[str, Field(description="Its name.", examples=["members-release"])]
    version: Annotated[int, Field(description="Its version.", examples=[1])]


class EvidencePointer(Answer):
    """Where the signed report is."""

    id: Annotated[str, Field(description="Its id.", examples=["8c1f0a"])]
    sha256: Annotated[Hash, Field(description="Hash of the signed envelope.")]


class EvaluationSummary(Resource):
    """An evaluation without its result."""

    policy: Annotated[PolicyOfEvaluation, Field(description="The policy.")]
    dataset: Annotated[str, Field(description="Name of the dataset.", examples=["members"])]
    rule: Annotated[
        dict[str, Any] | None, Field(description="The rule: its name or its definition in short.")
    ]
    release: Annotated[
        dict[str, Any] | None, Field(description="The release file and its key; null for a rule.")
    ]
    dictionaries: Annotated[
        dict[str, str], Field(description="Slot → dictionary.", examples=[{"register": "census"}])
    ]
    sensitivity: Annotated[
        str | None, Field(description="Name of the sensitivity profile.", examples=["members-harm"])
    ]
    failure: Annotated[str | None, Field(description="Name of the profile of failure.", examples=[None])]


class Evaluation(EvaluationSummary):
    """An evaluation with its verdict."""

    result: Annotated[VerdictResult | None, Field(description="Null until a run has brought it.")]
    evidence: Annotated[
        EvidencePointer | None, Field(description="Its signed report; null until there is a verdict.")
    ]
