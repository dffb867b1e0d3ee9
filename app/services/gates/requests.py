"""What is asked of a gate, and the plain values that its use cases answer with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from app.domain.errors import Fault, InvalidInput
from app.services.questions import Plan
from app.services.resources import Kind
from app.services.rules.rule_definitions import RuleDefinition
from app.services.scoring.scoring_inputs import SourceRefs
from app.services.views.reading import WrittenQuery
from app.services.views.written_schema import WrittenSchema

Compared = Literal["original", "holdout"]
"""What a synthetic table is compared with."""


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
class StoredRelease:
    """A release that was made here, by its name or id; of a rule's release its rule is meant."""

    name: str


@dataclass(frozen=True)
class ViewsAsked:
    """Queries that are to be published, and the schema that they read."""

    schema: WrittenSchema | str
    """As it is given, or the id or name of a stored one."""
    views: Sequence[WrittenQuery]
    keeping: Sequence[str] = ()
    """Ids of the views whose tables may keep rows that their queries no longer return."""


@dataclass(frozen=True)
class CreateEvaluation:
    """A policy by which a dataset's release, or views, are to be evaluated.

    Either ``rule``, a stored rule or a definition, or ``release``, or ``views``. Without ``dataset`` it is
    that of the stored release. ``dictionaries`` fills the policy's slots, for which the scope govern answers
    if the key has it and asks ``as_governor``. Without a name one is made of the content's hash. Where the
    dataset is a synthetic table, ``original`` is the dataset of which it was made, ``holdout`` one of records
    of the same population of which it was not.
    """

    policy: str
    dataset: str | None
    rule: str | RuleDefinition | None = None
    release: ReleaseFile | StoredRelease | None = None
    dictionaries: Mapping[str, str] = field(default_factory=dict)
    sensitivity: str | None = None
    failure: str | None = None
    name: str | None = None
    views: ViewsAsked | None = None
    as_governor: bool = True
    original: str | None = None
    holdout: str | None = None

    def __post_init__(self) -> None:
        if self.views is not None:
            self._require_views_alone()
            return
        if (self.rule is None) == (self.release is None):
            raise InvalidInput.of(
                "/rule" if self.rule is None else "/release",
                "one-of-two",
                "A rule, or a release that is there already: one of the two is evaluated.",
                "Give rule or release.",
            )
        if self.dataset is None and not isinstance(self.release, StoredRelease):
            raise InvalidInput.of(
                "/dataset",
                "missing",
                "Nothing says what is disclosed.",
                "Name a dataset, or a stored release.",
            )

    def _require_views_alone(self) -> None:
        of_data = (
            self.dataset, self.rule, self.release, self.dictionaries, self.sensitivity, self.failure,
            self.original, self.holdout,
        )  # fmt: skip
        if any(of_data):
            raise InvalidInput.of(
                "/views",
                "two-subjects",
                "Views are judged by their queries: no dataset, and nothing of one, is looked at.",
                "Give views and relational_schema alone, or a dataset without them.",
            )

    @property
    def refs(self) -> SourceRefs:
        """What is evaluated, without the dictionaries; ValueError while the dataset is not known."""
        if self.dataset is None:
            raise ValueError("the dataset of the release is not known yet")
        return SourceRefs(self.dataset, None, self.sensitivity, self.failure)

    @property
    def named(self) -> Sequence[tuple[str, Kind, str]]:
        """The rule, if it is a stored one."""
        return [("/rule", Kind.RULE, self.rule)] if isinstance(self.rule, str) else []


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
class EvaluationPlan(Plan):
    """The answer to a dry run.

    ``missing`` are faults of the request; with any there is no cost. If a criterion fails, ``change_rules``
    rules are examined at most for all suggested changes together, which takes ``change_seconds`` at most.
    """

    change_rules: int | None = None
    change_seconds: float | None = None
    criteria: tuple[CriterionPlan, ...] = ()
