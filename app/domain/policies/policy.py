"""What a release must meet, as a value: requirements with thresholds, and the attacker that they rest on.

The texts of a policy are its author's; measures, criteria of privacy and objectives are named as requests
name them, with their parameters as plain values, so that a policy which names something unknown can still be
read and told what is wrong with it (:mod:`app.domain.policies.lint`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final, Literal, get_args

from annotated_types import Ge, Le, Len, MaxLen

from app.documents import SHORT
from app.domain.catalogue.catalogue_types import ADDED_LATER, ColumnName, Example, LabelText
from app.domain.errors import InvalidInput
from app.domain.policies.bound_condition import BoundCondition
from app.domain.policies.budget_condition import BudgetCondition
from app.domain.policies.condition import Condition, Prose, Share, Title, Word
from app.domain.policies.formats import FORMAT_2, Format
from app.domain.policies.guarantee_condition import GuaranteeCondition
from app.domain.policies.measure_condition import MeasureCondition
from app.domain.policies.optimum_condition import OptimumCondition
from app.domain.policies.perfect_privacy_condition import PerfectPrivacyCondition
from app.domain.policies.privacy_model_condition import PrivacyModelCondition
from app.domain.policies.reasons import is_reason
from app.domain.policies.schema import USUAL_SINGLED_OUT_SHARE, NotCovered, PolicySchema
from app.domain.policies.score_condition import ScoreCondition
from app.domain.tables.numbers import highest_accepted

Severity = Literal["block", "warn"]

MOST_REQUIREMENTS: Final = 100
MOST_SLOTS: Final = 20
MOST_EXEMPTIONS: Final = 100
MOST_HEADINGS: Final = 50
NEWEST_COVERAGE: Final = 3
"""Version of what a gate checks before any requirement: of columns, and of dictionaries that fill slots."""


@dataclass(frozen=True)
class Assumptions:
    """The attacker that the thresholds are about."""

    attacker: Prose
    """Who it is, and what is known to them."""
    options: Annotated[Mapping[LabelText, Any], MaxLen(20), Example({"absent_policy": "add_self"})] = field(
        default_factory=dict
    )
    """How scores are taken, as `POST assessments` takes it: `utility`, `risk_model`, `absent_policy`,
    `consistency`, `attacker_view`.
    """


@dataclass(frozen=True)
class Register:
    """Which dictionary fills a slot: that of this name and hash, or any."""

    name: Annotated[Word | None, Example("census")] = None
    """Name of the dictionary or dictionary set."""
    sha256: Annotated[str | None, Len(64, 64)] = None
    """Its hash, as it and verdicts show it."""
    any: Annotated[str | None, MaxLen(2000), Example(None)] = None
    """In place of name and hash: why whatever is named will do; without a word, verdicts are errors."""

    def __post_init__(self) -> None:
        given = [own is not None for own in (self.name, self.sha256, self.any)]
        if given not in ([True, True, False], [False, False, True]):
            raise InvalidInput.of(
                "", "exactly-one", "A register is one dictionary, by name and sha256, or any.",
                "Give name and sha256 as a verdict shows them, or any with the reason why.",
            )  # fmt: skip


@dataclass(frozen=True)
class Slot:
    """A dictionary that an evaluation names."""

    name: Annotated[Word, Example("register")]
    """Name of the slot."""
    description: Annotated[str, MaxLen(2000)] = ""
    """What belongs into it."""
    required: bool = True
    """Whether it must be filled."""
    register: Register | None = None
    """Which dictionary fills it. Without this only keys with the scope `govern` can name one: for others the
    verdict is an error.
    """


@dataclass(frozen=True)
class Scope:
    """What part of the release a requirement is about: attributes that group records, or groups."""

    attributes: Annotated[tuple[ColumnName, ...] | None, Len(1, 100)] = None
    """Quasi-identifiers that records are grouped by."""
    groups: ColumnName | None = None
    """Attribute whose original values make groups, each of which must keep it."""

    @property
    def is_everything(self) -> bool:
        """Whether it is the whole release."""
        return self.attributes is None and self.groups is None


AnyCondition = (
    MeasureCondition
    | ScoreCondition
    | PrivacyModelCondition
    | BoundCondition
    | OptimumCondition
    | GuaranteeCondition
    | BudgetCondition
    | PerfectPrivacyCondition
)
CONDITIONS: Final[tuple[type[AnyCondition], ...]] = get_args(AnyCondition)
"""The kinds of requirements: each is a file, and a line above."""


@dataclass(frozen=True)
class Requirement:
    """One thing that must hold."""

    id: Annotated[Word, Example("small-classes")]
    """Its name within the policy."""
    title: Title
    """What must hold, in words."""
    reason: Prose
    """Why this number."""
    severity: Severity = field(default="block", kw_only=True)
    """Whether its failure blocks or is only listed."""
    scope: Annotated[Scope, ADDED_LATER] = field(default_factory=Scope, kw_only=True)
    """All of the release if left out."""
    condition: AnyCondition
    """What is required."""


@dataclass(frozen=True)
class Heading:
    """A question that somebody outside asks, under which a report says what answers it."""

    title: Annotated[Title, Example("Singling out")]
    """The question in short; each heading has its own."""
    source: Annotated[str, Len(1, 500), Example("Opinion 05/2014, 10 April 2014")]
    """Who asks it, and where."""
    text: Annotated[Prose, Example("Whether anybody can be told apart. Free text is not looked at.")]
    """What is asked, and what of it no requirement sees."""
    requirements: Annotated[tuple[Word, ...], MaxLen(MOST_REQUIREMENTS), Example(["small-classes"])] = ()
    """Ids of the requirements that answer it."""


@dataclass(frozen=True, kw_only=True)
class Policy:
    """A policy, as JSON or YAML have it."""

    name: Annotated[str, Len(1, 90)]
    """Name that all versions share."""
    version: Annotated[int, Ge(1), Le(1_000_000)]
    """Raised by whoever changes the policy."""
    title: Title
    """What it is for."""
    description: Annotated[str, MaxLen(5000)] = ""
    """More about it."""
    assumes: Assumptions
    dictionaries: Annotated[tuple[Slot, ...], MaxLen(MOST_SLOTS)] = ()
    """Dictionaries that an evaluation names."""
    schema: PolicySchema | None = None
    """The role of every column; any dataset if left out."""
    not_covered: Annotated[tuple[NotCovered, ...], MaxLen(MOST_EXEMPTIONS), ADDED_LATER] = ()
    """Columns that may leave though they single people out, with the reason; requirements still hold."""
    singled_out_share: Annotated[Share, ADDED_LATER] = USUAL_SINGLED_OUT_SHARE
    """Greatest share of the records whose value fewer persons may have than the largest k, 2 without any."""
    coverage_version: Annotated[int | None, Ge(1), Le(NEWEST_COVERAGE), Example(3)] = None
    """Version of what is checked before any requirement; filled in when the policy is stored. Of those of
    before, version 1 counts unique records, and both 1 and 2 take any dictionary for a slot and any number of
    suppressed records.
    """
    suppression_limit: Annotated[float | None, Ge(0), Le(1), SHORT] = None
    """Greatest share of the records that may be suppressed, and that a suggested change may suppress. If left
    out, any share may be, and no change suppresses. Before coverage version 3 it is for changes only.
    """
    outline: Annotated[tuple[Heading, ...], MaxLen(MOST_HEADINGS), ADDED_LATER] = ()
    """What a report of its verdicts is arranged by; by the requirements if left out."""
    format: Format = FORMAT_2
    """Format of the document."""
    requirements: Annotated[tuple[Requirement, ...], Len(1, MOST_REQUIREMENTS)]
    """What must hold, all of it."""

    @property
    def judges_views(self) -> bool:
        """Whether it is about queries that are to be published rather than about a release of data."""
        return any(own.condition.is_of_views for own in self.requirements)

    @property
    def is_certified(self) -> bool:
        """Whether a requirement that blocks is on what the mechanism promises of every draw."""
        return any(own.severity == "block" and own.condition.is_certificate for own in self.requirements)

    def slot(self, name: str) -> Slot | None:
        """The dictionary slot of this name."""
        return next((slot for slot in self.dictionaries if slot.name == name), None)

    def slots_of(self, condition: Condition) -> frozenset[str]:
        """The slots that what a requirement asks is evaluated with."""
        return condition.slots(frozenset(slot.name for slot in self.dictionaries))

    def takes_absence_for_safety(self, condition: Condition) -> bool:
        """Whether records that are like nobody in the dictionary count as safe: not found, or of risk 0."""
        return condition.takes_absence_for_safety(self.assumes.options.get("absent_policy", "zero") == "zero")

    def reason_for(self, column: str) -> str | None:
        """Why a column may leave though it is not covered; None if the policy gives no reason."""
        given = next((own.reason for own in self.not_covered if column in own.columns), None)
        return None if column in self.without_reason else given

    @property
    def is_covered_as_before(self) -> bool:
        """Whether columns are judged by version 1: whatever was written is a reason, and rows are counted."""
        return self.coverage_version in (None, 1)

    @property
    def takes_any_register(self) -> bool:
        """Whether the dictionaries of slots are whatever is named, as before version 3 of what is checked."""
        return self.coverage_version in (None, 1, 2)

    def most_suppressed(self, records: int) -> int | None:
        """How many of so many records may be suppressed; None: any number."""
        if self.suppression_limit is None or self.takes_any_register:
            return None
        return math.floor(highest_accepted(self.suppression_limit * records))

    @property
    def without_reason(self) -> tuple[str, ...]:
        """The columns under ``not_covered`` for which somebody still has to write a reason."""
        if self.is_covered_as_before:
            return ()
        return tuple(name for own in self.not_covered if not is_reason(own.reason) for name in own.columns)


def pinned(policy: Policy, *, as_before: bool = False) -> Policy:
    """The policy with every measure's and privacy model's version, two of one meaning alike.

    What names none has the newest, or the first, ``as_before`` there were others. Parameters that equal their
    default are left out. What cannot be read stays as it is.
    """
    requirements = tuple(
        replace(requirement, condition=requirement.condition.pinned(as_before=as_before))
        for requirement in policy.requirements
    )
    return replace(policy, requirements=requirements)


def with_coverage(policy: Policy) -> Policy:
    """The policy with the newest check of columns, unless it names a version of it or is about views."""
    if policy.coverage_version is not None or policy.judges_views:
        return policy
    return replace(policy, coverage_version=NEWEST_COVERAGE)


def of_earlier_versions(policy: Policy) -> tuple[str, ...]:
    """The requirements of a stored policy that keep an earlier version of a measure or privacy model."""
    newest = pinned(policy).requirements
    return tuple(
        own.id
        for own, new in zip(policy.requirements, newest, strict=True)
        if own != new or own.condition.is_of_earlier_version
    )
