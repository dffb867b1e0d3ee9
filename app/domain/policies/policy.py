"""What a release must meet, as a value: requirements with thresholds, and the attacker that they rest on.

The texts of a policy are its author's; measures, criteria of privacy and objectives are named as requests
name them, with their parameters as plain values, so that a policy which names something unknown can still be
read and told what is wrong with it (:mod:`app.domain.policies.lint`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

from annotated_types import Ge, Le, Len, Lt, MaxLen

from app.domain.classes.grouping import Missing, Suppressed
from app.domain.errors import InvalidInput
from app.domain.policies.comparison import Comparison, Value
from app.domain.policies.formats import FORMAT_2, Format
from app.domain.policies.reasons import is_reason
from app.domain.policies.schema import USUAL_SINGLED_OUT_SHARE, Column, NotCovered, PolicySchema
from app.domain.tables.numbers import highest_accepted

Severity = Literal["block", "warn"]
OptimumScope = Literal["table_level", "record_level"]
PromisedStatus = Literal["certified", "as_published", "heuristic"]

MOST_REQUIREMENTS: Final = 100
MOST_SLOTS: Final = 20
MOST_EXEMPTIONS: Final = 100
MOST_HEADINGS: Final = 50
MOST_SECRETS: Final = 50
MOST_CHARACTERS_OF_A_SECRET: Final = 20_000
NEWEST_COVERAGE: Final = 3
"""Version of what a gate checks before any requirement: of columns, and of dictionaries that fill slots."""

Word = Annotated[str, Len(1, 100)]
Title = Annotated[str, Len(1, 200)]
Prose = Annotated[str, Len(1, 2000)]
Share = Annotated[float, Ge(0), Le(1)]


@dataclass(frozen=True)
class Assumptions:
    """The attacker that the thresholds are about, in words, and how scores are taken.

    ``options`` are those of an assessment, by their names there: risk_model, absent_policy, utility …
    """

    attacker: Prose
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Register:
    """Which dictionary fills a slot: the one of this name and hash; or ``any``, with the reason why."""

    name: Word | None = None
    sha256: Annotated[str | None, Len(64, 64)] = None
    any: Annotated[str | None, MaxLen(2000)] = None

    def __post_init__(self) -> None:
        given = [own is not None for own in (self.name, self.sha256, self.any)]
        if given not in ([True, True, False], [False, False, True]):
            raise InvalidInput.of(
                "", "exactly-one", "A register is one dictionary, by name and sha256, or any.",
                "Give name and sha256 as a verdict shows them, or any with the reason why.",
            )  # fmt: skip


@dataclass(frozen=True)
class Slot:
    """A dictionary that an evaluation has to name (or may, if it is not required).

    ``register`` says which one it is; None: that is for keys with the scope govern to say.
    """

    name: Word
    description: Annotated[str, MaxLen(2000)] = ""
    required: bool = True
    register: Register | None = None


@dataclass(frozen=True)
class Scope:
    """What part of the release a requirement is about; None: all of it.

    ``attributes`` are the quasi-identifiers that records are grouped by; ``groups`` is an attribute whose
    original values divide the records into groups, each of which must meet the requirement.
    """

    attributes: Annotated[tuple[Column, ...] | None, Len(1, 100)] = None
    groups: Column | None = None


@dataclass(frozen=True)
class MeasureCondition:
    """A number or boolean of a measure of the catalogue.

    ``parameters`` are the measure's own by name, ``version`` is its version (None: not pinned yet), ``value``
    the dotted path to the number in its result, ``dictionary`` the slot that it is computed with.
    """

    measure: str
    parameters: Mapping[str, Any]
    value: Title
    comparison: Comparison
    threshold: Value
    version: Annotated[int | None, Ge(1)] = None
    dictionary: Word | None = None


@dataclass(frozen=True)
class ScoreCondition:
    """A number of the assessment's result.

    Without ``dictionary`` it is judged under every slot that is filled, and the worst counts.
    """

    value: Title
    comparison: Comparison
    threshold: Value
    dictionary: Word | None = None


@dataclass(frozen=True)
class PrivacyModelCondition:
    """A criterion of privacy that at most ``failing_share`` of the records fail.

    ``model`` and ``parameters`` are kind and fields of one of ``app.domain.models``. ``missing`` and
    ``suppressed`` are how a search for the least loss matches missing values and what it suppresses.
    """

    model: str
    parameters: Mapping[str, Any]
    failing_share: Share = 0.0
    dictionary: Word | None = None
    missing: Missing = "own_category"
    suppressed: Suppressed = "excluded"


@dataclass(frozen=True)
class BoundCondition:
    """The risk under the dictionary is proven to be an upper bound of that under the attacker's own."""

    dictionary: Word
    may_rest_on_assumptions: bool = False


@dataclass(frozen=True)
class OptimumCondition:
    """The rule is within the relative ``gap`` of the proven optimum of ``objective``."""

    objective: Mapping[str, Any]
    scope: OptimumScope = "table_level"
    gap: Share = 0.0
    dictionary: Word | None = None


@dataclass(frozen=True)
class GuaranteeCondition:
    """What a mechanism promises of its release, as far as it stands.

    ``model`` is the privacy model that the guarantee is of; ``parameters`` bound its numbers, name the least
    of its choices, and the attribute that it is about (left out: the only sensitive one). ``status`` is the
    least that it must be worth once all that is known of its hypotheses is counted.
    """

    model: str
    parameters: Mapping[str, Any]
    status: PromisedStatus = "certified"
    may_rest_on_assumptions: bool = False


@dataclass(frozen=True)
class BudgetCondition:
    """All that was released of the table, this release included, spends no more ε and no more δ than this.

    Both are the decimals that they are written as, and sums are compared exactly.
    ``may_rest_on_assumptions``: hypotheses may be assumed rather than checked.
    """

    epsilon: Annotated[float, Ge(0.0001), Le(1000)]
    delta: Annotated[float, Ge(0), Lt(1)]
    may_rest_on_assumptions: bool = False

    def within(self, other: BudgetCondition) -> bool:
        """Whether every release that keeps this keeps the other too."""
        return (
            self.epsilon <= other.epsilon
            and self.delta <= other.delta
            and (other.may_rest_on_assumptions or not self.may_rest_on_assumptions)
        )


@dataclass(frozen=True)
class Secret:
    """A query whose answer is to stay secret; ``reason`` says why, and from whom."""

    id: Word
    query: Annotated[str, Len(1, MOST_CHARACTERS_OF_A_SECRET)]
    reason: Prose


@dataclass(frozen=True)
class PerfectPrivacyCondition:
    """Every view that is judged is perfectly private with respect to every secret.

    ``language`` and ``dialect`` are those of the secrets and of the views; ``ignore_foreign_keys`` decides as
    if readers did not know that referenced rows exist. ``keys`` that are ignored are left out, for the reason
    that ``keys_reason`` says: views are then private if keys are unknown to readers.
    """

    secrets: Annotated[tuple[Secret, ...], Len(1, MOST_SECRETS)]
    language: Word = "datalog"
    dialect: Word = "postgres"
    ignore_foreign_keys: bool = False
    keys: Literal["considered", "ignored"] = "considered"
    keys_reason: Prose | None = None


Condition = (
    MeasureCondition
    | ScoreCondition
    | PrivacyModelCondition
    | BoundCondition
    | OptimumCondition
    | GuaranteeCondition
    | BudgetCondition
    | PerfectPrivacyCondition
)


@dataclass(frozen=True)
class Requirement:
    """One thing that must hold; ``reason`` says why this number."""

    id: Word
    title: Title
    reason: Prose
    condition: Condition
    severity: Severity = "block"
    scope: Scope = field(default_factory=Scope)


@dataclass(frozen=True)
class Heading:
    """A question that somebody outside asks, under which a report says what answers it.

    ``source`` says who asks it and where; ``text`` what is asked, and what of it no requirement sees;
    ``requirements`` are the ids of those that answer it.
    """

    title: Title
    source: Annotated[str, Len(1, 500)]
    text: Prose
    requirements: Annotated[tuple[Word, ...], MaxLen(MOST_REQUIREMENTS)] = ()


@dataclass(frozen=True)
class Policy:
    """A named, versioned list of requirements.

    ``schema`` says what roles columns must have, and no other column may be disclosed; None: any dataset,
    with the roles that it has. ``not_covered`` are columns that may leave though they single people out.
    ``singled_out_share`` is the greatest share of the records that a column may single out;
    ``coverage_version`` the version of what that means; None: 1 if it is stored, else the newest.
    ``suppression_limit`` is the share of records that may be suppressed, and that a suggested change may
    suppress; None: any share, and a change suppresses none. Before coverage version 3 it is for changes only.
    ``outline`` is what a report of its verdicts is arranged by; without one by the requirements.
    ``format`` is that of its document.
    """

    name: Annotated[str, Len(1, 90)]
    version: Annotated[int, Ge(1), Le(1_000_000)]
    title: Title
    assumes: Assumptions
    requirements: Annotated[tuple[Requirement, ...], Len(1, MOST_REQUIREMENTS)]
    description: Annotated[str, MaxLen(5000)] = ""
    dictionaries: Annotated[tuple[Slot, ...], MaxLen(MOST_SLOTS)] = ()
    schema: PolicySchema | None = None
    not_covered: Annotated[tuple[NotCovered, ...], MaxLen(MOST_EXEMPTIONS)] = ()
    singled_out_share: Share = USUAL_SINGLED_OUT_SHARE
    coverage_version: Annotated[int | None, Ge(1), Le(NEWEST_COVERAGE)] = None
    suppression_limit: Share | None = None
    outline: Annotated[tuple[Heading, ...], MaxLen(MOST_HEADINGS)] = ()
    format: Format = FORMAT_2

    @property
    def judges_views(self) -> bool:
        """Whether it is about queries that are to be published rather than about a release of data."""
        return any(isinstance(own.condition, PerfectPrivacyCondition) for own in self.requirements)

    def slot(self, name: str) -> Slot | None:
        """The dictionary slot of this name."""
        return next((slot for slot in self.dictionaries if slot.name == name), None)

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
