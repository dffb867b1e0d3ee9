"""Evaluations: a release, a policy, and the verdict."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, StrictBool, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from app.api.schemas.common import (
    Answer,
    Column,
    Count,
    Hash,
    Moment,
    Name,
    Number,
    Ref,
    Request,
    Resource,
)
from app.api.schemas.evidence import Revocation
from app.api.schemas.problems import ProblemFault
from app.api.schemas.rules import Definition, rule_asked
from app.api.schemas.runs import WithRun
from app.api.schemas.verdicts import VerdictResult
from app.api.schemas.view_checks import QueryBody, SchemaOrRef
from app.domain.policies.policy import MOST_SLOTS, Severity
from app.services.gates.requests import CreateEvaluation, ReleaseFile, StoredRelease, ViewsAsked
from app.services.gates.view_subject import MOST_VIEWS

SlotName = Annotated[str, StringConstraints(min_length=1, max_length=100)]


class FinishedRelease(Request):
    """A release that is there already: an uploaded file, or one that was made here."""

    upload: Annotated[Ref | None, Field(description="The uploaded file.", examples=["members"])] = None
    name: Annotated[Ref | None, Field(examples=[None])] = None
    """In place of a file the id or name of a stored release. Of one that a rule made the rule is evaluated;
    of one that a mechanism made its guarantees, and the measures that can read it. Neither `key` nor `order`
    go with it.
    """
    key: Annotated[Column | None, Field(examples=["member_id"])] = None
    """Column of the file, and identifier of the dataset, that tells which record each row is. With neither
    this nor `order` only what needs nothing but the file's classes is computed.
    """
    order: Annotated[Literal["records"] | None, Field(examples=["records"])] = None
    """`records` says that the file keeps the order of the dataset's records and that this is meant: who knows
    that order knows whose row is whose. Without a key the rows must be all records. The verdict lists it
    among its assumptions.
    """

    @model_validator(mode="after")
    def _of_one(self) -> Self:
        if (self.upload is None) == (self.name is None):
            raise PydanticCustomError("exactly_one", "Give exactly one of upload and name.")
        if self.name is not None and (self.key is not None or self.order is not None):
            raise PydanticCustomError("not_applicable", "key and order are of files: leave them out.")
        return self

    def request(self) -> ReleaseFile | StoredRelease:
        """The value that the use case takes."""
        if self.name is not None:
            return StoredRelease(self.name)
        return ReleaseFile(self.upload or "", self.key, self.order)


class PublishedView(QueryBody):
    """A query whose answer is to be published."""

    keeps_rows: StrictBool = False
    """Whether its table keeps rows that the query no longer returns, as snapshots and incremental models of
    dbt do. The query is judged all the same, and the verdict names the view among what it does not cover.
    """


class NewEvaluation(Request):
    """A release to be evaluated by a policy."""

    name: Name | None = None
    """Its name; without one it is made of the content's hash."""
    dataset: Annotated[Ref | None, Field(examples=["members"])] = None
    """Dataset that is disclosed; may be left out if a stored release is named, which is of one."""
    rule: Annotated[Ref | Definition | None, Field(examples=["proposal"])] = None
    """A rule's id or name, or a rule. Either this or release."""
    release: FinishedRelease | None = None
    """A release that is there already instead of a rule."""
    dictionaries: Annotated[
        dict[SlotName, Ref], Field(max_length=MOST_SLOTS, examples=[{"register": "census"}])
    ] = {}  # noqa: RUF012 - pydantic copies it
    """Slot of the policy → dictionary or dictionary set that fills it."""
    as_governor: StrictBool = True
    """Whether the key's scope `govern`, if it has that, answers for dictionaries that no policy pins."""
    sensitivity: Annotated[Ref | None, Field(examples=["members-harm"])] = None
    """What harm disclosure does; where criteria need it."""
    failure: Ref | None = None
    """Sensitivity profile of the harm where the attacker picks the wrong person."""

    original: Ref | None = None
    """Of a synthetic table the dataset of which it was made; where criteria compare it with that."""
    holdout: Ref | None = None
    """Of a synthetic table a dataset of the same population of which it was not made."""

    relational_schema: SchemaOrRef | None = None
    """Of views: the relations that they read, a relational schema's id or name, or a schema."""
    views: Annotated[list[PublishedView] | None, Field(min_length=1, max_length=MOST_VIEWS)] = None
    """In place of a dataset with its rule or release: the queries whose answers are to be published, each as
    a whole, in the language that the policy names. All of them together have at most 4,000,000 characters.
    """

    @model_validator(mode="after")
    def _of_one(self) -> Self:
        if (self.views is None) != (self.relational_schema is None):
            raise PydanticCustomError("exactly_one", "views and relational_schema go together: give both.")
        if self.views is not None:
            return self
        if (self.rule is None) == (self.release is None):
            raise PydanticCustomError("exactly_one", "Give exactly one of rule and release.")
        if self.dataset is None and (self.release is None or self.release.name is None):
            raise PydanticCustomError("missing", "Name the dataset; only a stored release tells its own.")
        return self

    def request(self, policy: str) -> CreateEvaluation:
        """The value that the use case takes."""
        return CreateEvaluation(
            policy=policy,
            dataset=self.dataset,
            rule=rule_asked(self.rule),
            release=self.release.request() if self.release else None,
            dictionaries=self.dictionaries,
            sensitivity=self.sensitivity,
            failure=self.failure,
            name=self.name,
            views=self._views_asked(),
            as_governor=self.as_governor,
            original=self.original,
            holdout=self.holdout,
        )

    def _views_asked(self) -> ViewsAsked | None:
        if self.views is None or self.relational_schema is None:
            return None
        sent, keeping = self.relational_schema, [own.id for own in self.views if own.keeps_rows]
        schema = sent if isinstance(sent, str) else sent.written()
        return ViewsAsked(schema, [own.written() for own in self.views], keeping)


class CriterionCost(Answer):
    """What one criterion would take."""

    id: Annotated[str, Field(description="The criterion.", examples=["several-people"])]
    title: Annotated[str, Field(description="Its title.", examples=["Nobody is picked out"])]
    severity: Annotated[Severity, Field(description="Whether it blocks.", examples=["block"])]
    kind: Annotated[str, Field(description="Kind of requirement.", examples=["score"])]
    seconds: Annotated[Number | None, Field(description="Estimated seconds.", examples=[0.01])]
    bytes: Annotated[Count | None, Field(description="Estimated memory.", examples=[100000])]
    engine: Annotated[str | None, Field(description="What would compute it.", examples=["cube"])]
    error: Annotated[ProblemFault | None, Field(description="Why it cannot be computed; null if it can.")]


class EvaluationPlanAnswer(Answer):
    """What an evaluation would cost; nothing was computed or stored."""

    route: Literal["direct", "run"] | None
    """`direct` answers at once, `run` in the background; null if inputs are missing."""
    seconds: Annotated[Number | None, Field(examples=[0.05])]
    """Estimated seconds of all criteria."""
    bytes: Annotated[Count | None, Field(description="Estimated memory.", examples=[100000])]
    change_rules: Annotated[Count | None, Field(examples=[400])]
    """Rules that are examined at most, all together, for changes that would pass."""
    change_seconds: Annotated[Number | None, Field(examples=[0.4])]
    """Estimated seconds of that, at most, on top; nothing if no criterion fails."""
    criteria: Annotated[list[CriterionCost], Field(description="The criteria one by one.")]
    missing: Annotated[list[ProblemFault], Field(description="What stands in the way.")]


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
    dataset: Annotated[str | None, Field(examples=["members"])]
    """Name of the dataset; null where views are judged."""
    views: Annotated[Count | None, Field(examples=[None])] = None
    """How many views are judged; null: none, but a release of the dataset."""
    rule: dict[str, Any] | None
    """The rule: its name or its definition in short."""
    release: dict[str, Any] | None
    """The release file, its key and its order, or the name of the stored release; null for a rule."""
    dictionaries: Annotated[dict[str, str], Field(examples=[{"register": "census"}])]
    """Slot → dictionary."""
    sensitivity: Annotated[str | None, Field(examples=["members-harm"])]
    """Name of the sensitivity profile."""
    failure: Annotated[str | None, Field(description="Name of the profile of failure.", examples=[None])]
    revocation: Revocation | None = None
    """Since when its verdict stands no more, and why; null: it was not revoked."""


class NewRevocation(Request):
    """That a verdict stands no more."""

    reason: Annotated[str, Field(min_length=1, max_length=2000, description="Why, in words.")]


class Evaluation(WithRun, EvaluationSummary):
    """An evaluation with its verdict."""

    result: Annotated[VerdictResult | None, Field(description="Null until a run has brought it.")]
    evidence: EvidencePointer | None
    """Its signed report; null until there is a verdict."""
    release_withdrawn_at: Moment | None = None
    """When the stored release was withdrawn that the verdict is about: no part of what was signed then."""
