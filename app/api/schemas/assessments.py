"""Assessments: the score of one rule against one dictionary."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from app.api.schemas.common import Answer, Count, Name, Number, Ref, Request, Resource
from app.api.schemas.problems import ProblemFault
from app.api.schemas.rules import Definition
from app.services.assessments import AbsentPolicy, CreateAssessment
from app.services.plans import Plan

Absent = Annotated[
    AbsentPolicy,
    Field(
        description="What a record is that no entity is consistent with: of risk `zero`, counted as if the "
        "dictionary held it (`add_self`), or an `error`."
    ),
]
UtilityFamily = Annotated[Literal["depth_sum"], Field(description="How utility is measured.")]


class NewAssessment(Request):
    """A rule to be scored."""

    name: Annotated[
        Name | None, Field(description="Its name; without one it is made of the content's hash.")
    ] = None
    dataset: Annotated[Ref, Field(description="Dataset that is disclosed.", examples=["members"])]
    rule: Annotated[
        Ref | Definition, Field(description="A rule's id or name, or a rule.", examples=["proposal"])
    ]
    dictionary: Annotated[Ref, Field(description="What the attacker has.", examples=["census"])]
    sensitivity: Annotated[Ref, Field(description="What harm disclosure does.", examples=["members-harm"])]
    utility: UtilityFamily = "depth_sum"
    absent_policy: Absent = "zero"

    def request(self) -> CreateAssessment:
        """The value that the use case takes."""
        return CreateAssessment(
            dataset=self.dataset,
            rule=self.rule if isinstance(self.rule, str) else self.rule.definition(),
            dictionary=self.dictionary,
            sensitivity=self.sensitivity,
            name=self.name,
            utility=self.utility,
            absent_policy=self.absent_policy,
        )


class PlanAnswer(Answer):
    """What the work would cost; nothing was computed or stored."""

    route: Annotated[
        Literal["direct", "run"] | None,
        Field(description="`direct` answers at once, `run` in the background; null if inputs are missing."),
    ]
    seconds: Annotated[Number | None, Field(description="Estimated seconds.", examples=[0.01])]
    bytes: Annotated[Count | None, Field(description="Estimated memory.", examples=[100000])]
    engine: Annotated[str | None, Field(max_length=40, description="What would count.", examples=["cube"])]
    units: Annotated[
        Count | None, Field(description="Rules or distinct records to work through.", examples=[1])
    ]
    missing: Annotated[list[ProblemFault], Field(max_length=100, description="What stands in the way.")]

    @classmethod
    def of(cls, plan: Plan) -> PlanAnswer:
        """The use case's answer as a body."""
        faults = [
            ProblemFault(pointer=f.pointer, code=f.code, message=f.message, remedy=f.remedy)
            for f in plan.missing
        ]
        return cls(
            route=plan.route,
            seconds=plan.seconds,
            bytes=plan.bytes,
            engine=plan.engine,
            units=plan.units,
            missing=faults,
        )


class AssessmentSummary(Resource):
    """An assessment without its result."""

    dataset: Annotated[str, Field(max_length=100, description="Name of the dataset.", examples=["members"])]
    rule: Annotated[dict[str, Any], Field(description="The rule: its name or its definition in short.")]
    dictionary: Annotated[
        str, Field(max_length=100, description="Name of the dictionary.", examples=["census"])
    ]
    sensitivity: Annotated[
        str, Field(max_length=100, description="Name of the sensitivity profile.", examples=["members-harm"])
    ]
    utility: UtilityFamily
    absent_policy: Absent


class Assessment(AssessmentSummary):
    """An assessment with its result."""

    result: Annotated[
        dict[str, Any] | None,
        Field(
            description="Null until a run has brought it. Risk: `risk_average` (the model's risk), "
            "`risk_max`, `risk_min`, `loss_quantiles`, `histogram`, `infinite` losses, `absent` records "
            "and, where ids allow, `add_self_risk_average`. Utility: `utility_average`, "
            "`utility_min`. Anonymity: `min_consistent` entities, `k_matching`, `k_equivalence`, "
            '`classes`. Also `n_records`, `n_entities`, `engine`, `monotone`. Infinity is "inf".',
        ),
    ]
