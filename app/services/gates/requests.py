"""What is asked of a gate, and the plain values that its use cases answer with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from app.domain.errors import Fault, InvalidInput
from app.domain.gates.verdicts import Verdict
from app.services.evidence_values import EvidenceRef
from app.services.resources import JsonObject, Stored
from app.services.rules import RuleDefinition

Route = Literal["direct", "run"]


@dataclass(frozen=True)
class ReleaseFile:
    """A finished release: an upload, and how it is known which record each of its rows is.

    Either by the column ``key``, or because the file keeps the order of the records and ``order`` says that
    this is meant; with both the key counts. With neither nobody knows.
    """

    upload: str
    key: str | None = None
    order: Literal["records"] | None = None


@dataclass(frozen=True)
class CreateEvaluation:
    """A policy to hold a dataset's release against.

    Either ``rule``, a stored rule or a definition, or ``release``. ``dictionaries`` fills the policy's slots.
    Without a name one is made of the content's hash.
    """

    policy: str
    dataset: str
    rule: str | RuleDefinition | None = None
    release: ReleaseFile | None = None
    dictionaries: Mapping[str, str] = field(default_factory=dict)
    sensitivity: str | None = None
    failure: str | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        if (self.rule is None) == (self.release is None):
            raise InvalidInput.of(
                "/rule" if self.rule is None else "/release",
                "one-of-two",
                "A rule, or a finished release file: one of the two is evaluated.",
                "Give rule or release.",
            )


@dataclass(frozen=True)
class CriterionPlan:
    """What one criterion would take; ``error`` says why it cannot be computed."""

    id: str
    title: str
    severity: str
    kind: str
    seconds: float | None
    bytes: int | None
    engine: str | None
    error: Fault | None


@dataclass(frozen=True)
class EvaluationPlan:
    """The answer to a dry run.

    ``missing`` are faults of the request; with any there is no cost. If a criterion fails, ``change_rules``
    rules are examined at most for all suggested changes together, which takes ``change_seconds`` at most.
    """

    route: Route | None
    seconds: float | None
    bytes: int | None
    change_rules: int | None
    change_seconds: float | None
    criteria: tuple[CriterionPlan, ...]
    missing: tuple[Fault, ...]


@dataclass(frozen=True)
class EvaluationSummary:
    """The keys of an evaluation's ``summary``; the uses are names, ``policy`` has name and version."""

    policy: JsonObject
    dataset: str
    rule: JsonObject | None
    release: JsonObject | None
    dictionaries: Mapping[str, str]
    sensitivity: str | None
    failure: str | None


@dataclass(frozen=True)
class EvaluationView:
    """An evaluation with its result and evidence, both None until a run has brought them."""

    resource: Stored
    result: JsonObject | None
    evidence: EvidenceRef | None

    @property
    def verdict(self) -> Verdict | None:
        """The verdict, once there is one."""
        return None if self.result is None else self.result["verdict"]


@dataclass(frozen=True)
class EvaluationCreated:
    """A direct evaluation, and whether it is new."""

    view: EvaluationView
    created: bool
