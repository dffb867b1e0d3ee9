"""What a release must meet, as a value: requirements with thresholds, and the attacker that they rest on.

The texts of a policy are its author's; measures, criteria of privacy and objectives are named as requests
name them, with their parameters as plain values, so that a policy which names something unknown can still be
read and told what is wrong with it (:mod:`app.domain.policies.lint`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Final, Literal, get_args

from annotated_types import Ge, Le, Len, Lt, MaxLen, doc

from app.documents import SHORT, WithKind
from app.domain.catalogue.catalogue_types import (
    ADDED_LATER,
    ColumnName,
    Example,
    LabelText,
    QueryLanguage,
    SqlDialect,
)
from app.domain.classes.grouping import Missing, Suppressed
from app.domain.errors import InvalidInput
from app.domain.mechanisms.guarantee_models import LIKENESS
from app.domain.policies.comparison import Comparison, Value
from app.domain.policies.formats import FORMAT_2, Format
from app.domain.policies.reasons import is_reason
from app.domain.policies.schema import USUAL_SINGLED_OUT_SHARE, NotCovered, PolicySchema
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
Share = Annotated[float, Ge(0), Le(1), SHORT]
Parameters = Annotated[Mapping[LabelText, Any], MaxLen(100)]
SlotName = Annotated[Word | None, doc("Slot of the dictionary it is judged with.")]
Compared = Annotated[
    Comparison,
    doc(
        "How the value is compared with the threshold: whole numbers exactly, reals with a tolerance of 1e-9 "
        "in favour of `at_least`, `at_most` and `equals`."
    ),
    Example("at_least"),
]
Threshold = Annotated[
    Value, doc('A number, "inf", or true or false for a value that is either.'), Example(5), SHORT
]
RestsOnAssumptions = Annotated[bool, doc("Whether hypotheses may be assumed rather than checked.")]


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


@dataclass(frozen=True)
class MeasureCondition:
    """A number or boolean of a measure."""

    kind: ClassVar[str] = "measure"
    measure: str
    parameters: Annotated[Parameters, WithKind("measure"), Example({"kind": "k_map", "k": 5})]
    """The measure's `kind` and its parameters, as `POST measurements` takes them; dictionaries among the
    parameters are slots of the policy.
    """
    version: Annotated[int | None, Ge(1)] = field(default=None, kw_only=True)
    """Version of the measure; filled in when the policy is stored. Another one than the catalogue's is
    refused.
    """
    value: Annotated[Title, Example("records_failing")]
    """Path to the number in the measure's result."""
    comparison: Compared
    threshold: Threshold
    dictionary: SlotName = None


@dataclass(frozen=True)
class ScoreCondition:
    """A number of the assessment's result; without a dictionary of the worst of all that are filled."""

    kind: ClassVar[str] = "score"
    value: Annotated[Title, Example("loss_quantiles.0.95")]
    """Which number."""
    comparison: Compared
    threshold: Threshold
    dictionary: SlotName = None


@dataclass(frozen=True)
class PrivacyModelCondition:
    """A privacy model that at most a share of the records fail."""

    kind: ClassVar[str] = "privacy_model"
    model: str
    parameters: Annotated[Parameters, WithKind("model"), Example({"kind": "k_anonymity", "k": 5})]
    """The model's `kind` and its parameters, as the objective `min_loss` takes them."""
    failing_share: Share = 0.0
    """Greatest share of records that may fail."""
    dictionary: SlotName = None
    missing: Annotated[Missing, ADDED_LATER] = "own_category"
    """A missing quasi-identifier matches other missing ones (`own_category`), every value
    (`matches_everything`), or the record is to be suppressed (`excluded`): a record that is suppressed for it
    is not counted, one that is released fails. As `min_loss` takes it.
    """
    suppressed: Annotated[Suppressed, ADDED_LATER] = "excluded"
    """Whether only the classes that are released have to meet the model (`excluded`), or the suppressed
    records as one more class as well (`own_block`). As `min_loss` takes it.
    """


@dataclass(frozen=True)
class BoundCondition:
    """The risk under the dictionary is a proven upper bound of that under the attacker's own."""

    kind: ClassVar[str] = "bound"
    dictionary: Word
    """Slot of the dictionary."""
    may_rest_on_assumptions: RestsOnAssumptions = False


@dataclass(frozen=True)
class OptimumCondition:
    """The rule is within a gap of the proven optimum of an objective."""

    kind: ClassVar[str] = "optimum"
    objective: Annotated[Parameters, Example({"kind": "min_risk", "utility_floor": 6})]
    """The objective, as `POST optimisations` takes it."""
    scope: OptimumScope = "table_level"
    """Among which rules it is the best."""
    gap: Share = 0.0
    """Greatest relative distance from the proven bound."""
    dictionary: SlotName = None


@dataclass(frozen=True)
class GuaranteeCondition:
    """What a mechanism promises of its release, as far as it stands."""

    kind: ClassVar[str] = "guarantee"
    model: str
    parameters: Annotated[Parameters, WithKind("model"), Example({"kind": LIKENESS, "beta": {"at_most": 2}})]
    """The privacy model's `kind`, and what is asked of the parameters that guarantees state: bounds of a
    number by the comparisons of thresholds, the least of a choice, and the `attribute` that it is about (left
    out: the only sensitive one).
    """
    status: PromisedStatus = "certified"
    """The least that it must be worth once every hypothesis that is known to fail is counted."""
    may_rest_on_assumptions: RestsOnAssumptions = False


@dataclass(frozen=True)
class BudgetCondition:
    """What all differentially private releases of the table have spent, this one included."""

    kind: ClassVar[str] = "privacy_budget"
    epsilon: Annotated[float, Ge(0.0001), Le(1000), Example(2)]
    """Most ε of all of them together, the decimal that it is written as."""
    delta: Annotated[float, Ge(0), Lt(1), Example(0.00001)]
    """Most δ of all of them together."""
    may_rest_on_assumptions: RestsOnAssumptions = False

    def within(self, other: BudgetCondition) -> bool:
        """Whether every release that keeps this keeps the other too."""
        return (
            self.epsilon <= other.epsilon
            and self.delta <= other.delta
            and (other.may_rest_on_assumptions or not self.may_rest_on_assumptions)
        )


@dataclass(frozen=True)
class Secret:
    """A query whose answer is to stay secret."""

    id: Annotated[Word, Example("cancer-patients")]
    """Its name."""
    query: Annotated[
        str,
        Len(1, MOST_CHARACTERS_OF_A_SECRET),
        Example("names(n) :- patient(p, n), diagnosis(p, 'cancer', m, w)."),
    ]
    """As `POST view-checks` takes it. Whoever reads a verdict reads it: name no person."""
    reason: Annotated[Prose, Example("Nobody outside the ward may learn who has cancer.")]
    """Why the answer is secret, and from whom."""


@dataclass(frozen=True)
class PerfectPrivacyCondition:
    """Every view is perfectly private with respect to every secret."""

    kind: ClassVar[str] = "perfect_privacy"
    secrets: Annotated[tuple[Secret, ...], Len(1, MOST_SECRETS)]
    """What is to stay secret."""
    language: Annotated[QueryLanguage, Example("datalog")] = "datalog"
    """The language of the secrets, and of the views that are judged."""
    dialect: Annotated[SqlDialect, Example("postgres")] = "postgres"
    """The dialect of queries and tables in SQL."""
    ignore_foreign_keys: bool = False
    """Decide as if readers did not know that referenced rows exist."""
    keys: Annotated[Literal["considered", "ignored"], ADDED_LATER] = "considered"
    """`ignored` decides with the keys left out: views are then private if keys are unknown to readers."""
    keys_reason: Annotated[Prose | None, Example("Readers see no identifiers.")] = None
    """Why keys are ignored: words, which `ignored` needs."""


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
CONDITIONS: Final[tuple[type[Condition], ...]] = get_args(Condition)


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
    condition: Condition
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
