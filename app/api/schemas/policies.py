"""Policies as they are sent: what a release must keep."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, StringConstraints, Tag

from app.api.schemas.common import Column, Hash, Request, Text
from app.api.schemas.datasets import ColumnReading, FileReading
from app.domain.classes.grouping import Missing, Suppressed
from app.domain.mechanisms.guarantee_models import LIKENESS
from app.domain.policies.comparison import Comparison
from app.domain.policies.formats import FORMAT_1, FORMAT_2, format_of
from app.domain.policies.policy import (
    MOST_CHARACTERS_OF_A_SECRET,
    MOST_EXEMPTIONS,
    MOST_HEADINGS,
    MOST_REQUIREMENTS,
    MOST_SECRETS,
    MOST_SLOTS,
    NEWEST_COVERAGE,
    OptimumScope,
    PromisedStatus,
    Severity,
)
from app.domain.policies.schema import USUAL_SINGLED_OUT_SHARE, PatternRole, Role
from app.services.views.published import Language, SqlDialect

PolicyRef = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,100}(@[1-9][0-9]{0,6})?$"),
    Field(description="Id of a policy, its name with the version, `NAME@VERSION`, or its name alone: then "
          "the highest version."),
]  # fmt: skip

Word = Annotated[str, Field(min_length=1, max_length=100)]
Prose = Annotated[str, Field(min_length=1, max_length=2000)]
Share = Annotated[float, Field(strict=True, ge=0, le=1)]
SlotName = Annotated[Word | None, Field(description="Slot of the dictionary it is judged with.")]

_MOST = sys.float_info.max
Number = (
    Annotated[int, Field(strict=True, ge=-(2**53), le=2**53)]
    | Annotated[float, Field(strict=True, ge=-_MOST, le=_MOST)]
)
Threshold = Annotated[
    Annotated[bool, Field(strict=True)] | Number | Literal["inf", "-inf", "Infinity", "-Infinity"],
    Field(description='A number, "inf", or true or false for a value that is either.', examples=[5]),
]
Compared = Annotated[
    Comparison,
    Field(
        description="How the value is compared with the threshold: whole numbers exactly, reals with a "
        "tolerance of 1e-9 in favour of `at_least`, `at_most` and `equals`.",
        examples=["at_least"],
    ),
]


class MeasureCondition(Request):
    """A number or boolean of a measure."""

    kind: Annotated[Literal["measure"], Field(description="Kind of requirement.")]
    measure: Annotated[dict[Text, Any], Field(max_length=100, examples=[{"kind": "k_map", "k": 5}])]
    """The measure's `kind` and its parameters, as `POST /v1/measurements` takes them; dictionaries among the
    parameters are slots of the policy.
    """
    version: Annotated[int | None, Field(strict=True, ge=1)] = None
    """Version of the measure; filled in when the policy is stored. Another one than the catalogue's is
    refused.
    """
    value: Annotated[str, Field(min_length=1, max_length=200, examples=["records_failing"])]
    """Path to the number in the measure's result."""
    comparison: Compared
    threshold: Threshold
    dictionary: SlotName = None


class ScoreCondition(Request):
    """A number of the assessment's result; without a dictionary of the worst of all that are filled."""

    kind: Annotated[Literal["score"], Field(description="Kind of requirement.")]
    value: Annotated[str, Field(min_length=1, max_length=200, examples=["loss_quantiles.0.95"])]
    """Which number."""
    comparison: Compared
    threshold: Threshold
    dictionary: SlotName = None


class PrivacyModelCondition(Request):
    """A privacy model that at most a share of the records fail."""

    kind: Annotated[Literal["privacy_model"], Field(description="Kind of requirement.")]
    model: Annotated[dict[Text, Any], Field(max_length=100, examples=[{"kind": "k_anonymity", "k": 5}])]
    """The model's `kind` and its parameters, as the objective `min_loss` takes them."""
    failing_share: Annotated[Share, Field(description="Greatest share of records that may fail.")] = 0.0
    dictionary: SlotName = None
    missing: Missing = "own_category"
    """A missing quasi-identifier matches other missing ones (`own_category`), every value
    (`matches_everything`), or the record is to be suppressed (`excluded`): a record that is suppressed for it
    is not counted, one that is released fails. As `min_loss` takes it.
    """
    suppressed: Suppressed = "excluded"
    """Whether only the classes that are released have to meet the model (`excluded`), or the suppressed
    records as one more class as well (`own_block`). As `min_loss` takes it.
    """


class BoundCondition(Request):
    """The risk under the dictionary is a proven upper bound of that under the attacker's own."""

    kind: Annotated[Literal["bound"], Field(description="Kind of requirement.")]
    dictionary: Annotated[Word, Field(description="Slot of the dictionary.")]
    may_rest_on_assumptions: Annotated[bool, Field(strict=True)] = False
    """Whether hypotheses may be assumed rather than checked."""


class OptimumCondition(Request):
    """The rule is within a gap of the proven optimum of an objective."""

    kind: Annotated[Literal["optimum"], Field(description="Kind of requirement.")]
    objective: Annotated[
        dict[Text, Any], Field(max_length=100, examples=[{"kind": "min_risk", "utility_floor": 6}])
    ]
    """The objective, as `POST /v1/optimisations` takes it."""
    scope: Annotated[OptimumScope, Field(description="Among which rules it is the best.")] = "table_level"
    gap: Annotated[Share, Field(description="Greatest relative distance from the proven bound.")] = 0.0
    dictionary: SlotName = None


class GuaranteeCondition(Request):
    """What a mechanism promises of its release, as far as it stands."""

    kind: Annotated[Literal["guarantee"], Field(description="Kind of requirement.")]
    model: Annotated[
        dict[Text, Any], Field(max_length=100, examples=[{"kind": LIKENESS, "beta": {"at_most": 2}}])
    ]
    """The privacy model's `kind`, and what is asked of the parameters that guarantees state: bounds of a
    number by the comparisons of thresholds, the least of a choice, and the `attribute` that it is about (left
    out: the only sensitive one).
    """
    status: PromisedStatus = "certified"
    """The least that it must be worth once every hypothesis that is known to fail is counted."""
    may_rest_on_assumptions: Annotated[bool, Field(strict=True)] = False
    """Whether hypotheses may be assumed rather than checked."""


class BudgetCondition(Request):
    """What all differentially private releases of the table have spent, this one included."""

    kind: Annotated[Literal["privacy_budget"], Field(description="Kind of requirement.")]
    epsilon: Annotated[float, Field(ge=0.0001, le=1000, examples=[2])]
    """Most ε of all of them together, the decimal that it is written as."""
    delta: Annotated[float, Field(ge=0, lt=1, examples=[0.00001])]
    """Most δ of all of them together."""
    may_rest_on_assumptions: Annotated[bool, Field(strict=True)] = False
    """Whether hypotheses may be assumed rather than checked."""


class SecretQuery(Request):
    """A query whose answer is to stay secret."""

    id: Annotated[Word, Field(description="Its name.", examples=["cancer-patients"])]
    query: Annotated[
        str,
        Field(
            min_length=1,
            max_length=MOST_CHARACTERS_OF_A_SECRET,
            examples=["names(n) :- patient(p, n), diagnosis(p, 'cancer', m, w)."],
        ),
    ]
    """As `POST /v1/view-checks` takes it. Whoever reads a verdict reads it: name no person."""
    reason: Annotated[Prose, Field(examples=["Nobody outside the ward may learn who has cancer."])]
    """Why the answer is secret, and from whom."""


class PerfectPrivacyCondition(Request):
    """Every view is perfectly private with respect to every secret."""

    kind: Annotated[Literal["perfect_privacy"], Field(description="Kind of requirement.")]
    secrets: Annotated[list[SecretQuery], Field(min_length=1, max_length=MOST_SECRETS)]
    """What is to stay secret."""
    language: Annotated[Language, Field(examples=["datalog"])] = "datalog"
    """The language of the secrets, and of the views that are judged."""
    dialect: Annotated[SqlDialect, Field(examples=["postgres"])] = "postgres"
    """The dialect of queries and tables in SQL."""
    ignore_foreign_keys: Annotated[bool, Field(strict=True)] = False
    """Decide as if readers did not know that referenced rows exist."""
    keys: Literal["considered", "ignored"] = "considered"
    """`ignored` decides with the keys left out: views are then private if keys are unknown to readers."""
    keys_reason: Annotated[Prose | None, Field(examples=["Readers see no identifiers."])] = None
    """Why keys are ignored: words, which `ignored` needs."""


Condition = Annotated[
    MeasureCondition
    | ScoreCondition
    | PrivacyModelCondition
    | BoundCondition
    | OptimumCondition
    | GuaranteeCondition
    | BudgetCondition
    | PerfectPrivacyCondition,
    Field(discriminator="kind", description="What is required."),
]


class RequirementScope(Request):
    """What part of the release a requirement is about: attributes that group records, or groups."""

    attributes: Annotated[list[Column] | None, Field(min_length=1, max_length=100)] = None
    """Quasi-identifiers that records are grouped by."""
    groups: Column | None = None
    """Attribute whose original values make groups, each of which must keep it."""


class _Requirement(Request):
    """One thing that must hold."""

    id: Annotated[Word, Field(description="Its name within the policy.", examples=["small-classes"])]
    title: Annotated[str, Field(min_length=1, max_length=200, description="What must hold, in words.")]
    reason: Annotated[Prose, Field(description="Why this number.")]
    severity: Severity = "block"
    """Whether its failure blocks or is only listed."""
    scope: Annotated[RequirementScope | None, Field(description="All of the release if left out.")] = None


class PolicyRequirement(_Requirement):
    """One thing that must hold."""

    requirement: Condition


class PolicyCriterion(_Requirement):
    """One thing that must hold, as format 1 has it."""

    demand: Condition


class SlotRegister(Request):
    """Which dictionary fills a slot: that of this name and hash, or any."""

    name: Annotated[Word | None, Field(examples=["census"])] = None
    """Name of the dictionary or dictionary set."""
    sha256: Hash | None = None
    """Its hash, as it and verdicts show it."""
    any: Annotated[str | None, Field(max_length=2000, examples=[None])] = None
    """In place of name and hash: why whatever is named will do; without a word, verdicts are errors."""


class Slot(Request):
    """A dictionary that an evaluation names."""

    name: Annotated[Word, Field(description="Name of the slot.", examples=["register"])]
    description: Annotated[str, Field(max_length=2000, description="What belongs into it.")] = ""
    required: Annotated[bool, Field(strict=True, description="Whether it must be filled.")] = True
    register_: Annotated[SlotRegister | None, Field(alias="register")] = None
    """Which dictionary fills it. Without this only keys with the scope `govern` can name one: for others the
    verdict is an error.
    """


class PolicyAssumptions(Request):
    """The attacker that the thresholds are about."""

    attacker: Annotated[Prose, Field(description="Who it is, and what is known to them.")]
    options: Annotated[dict[Text, Any], Field(max_length=20, examples=[{"absent_policy": "add_self"}])] = {}  # noqa: RUF012 - pydantic copies it
    """How scores are taken, as `POST /v1/assessments` takes it: `utility`, `risk_model`, `absent_policy`,
    `consistency`, `attacker_view`.
    """


class PolicySchema(Request):
    """The role of every column; a disclosed column that it does not name is refused."""

    attributes: Annotated[
        dict[Column, Role],
        Field(max_length=1000, examples=[{"birth_year": "quasi_identifier", "income": "sensitive"}]),
    ]
    """Column → the role that it must have; `dropped` must not be in the release, and one at most is `person`,
    whom a row is about. Empty: a draft, under which every verdict is an error.
    """
    patterns: Annotated[
        dict[Column, PatternRole], Field(max_length=100, examples=[{"*name*": "dropped"}])
    ] = {}  # noqa: RUF012 - pydantic copies it
    """Pattern of column names (`*`, `?`, `[abc]`) → a role in which nothing is released."""
    to_confirm: Annotated[list[Column], Field(max_length=1000, examples=[[]])] = []  # noqa: RUF012 - pydantic copies it
    """Columns whose role nobody has confirmed yet; with any, every verdict is an error."""
    rows_are: Annotated[Literal["persons"] | None, Field(examples=["persons"])] = None
    """`persons` says that each row is a person; not beside a column with the role `person`."""
    columns: Annotated[dict[Column, ColumnReading], Field(max_length=1000)] = {}  # noqa: RUF012 - pydantic copies it
    """How columns are read where commands and packages are given tables and nothing else says it. Stored
    datasets are read as they are described.
    """
    file: FileReading = FileReading()
    """How the table's file is read."""
    release: FileReading = FileReading()
    """How the file of a release is read."""


class NotCovered(Request):
    """Columns that may leave although they single people out."""

    columns: Annotated[list[Column], Field(min_length=1, max_length=1000, examples=[["member_id"]])]
    """Their names."""
    reason: Annotated[str, Field(max_length=2000, examples=["Random, and new each time."])]
    """Why they may leave, in words; empty until somebody writes it, and till then verdicts are errors."""


class PolicyHeading(Request):
    """A question that somebody outside asks, under which a report says what answers it."""

    title: Annotated[str, Field(min_length=1, max_length=200, examples=["Singling out"])]
    """The question in short; each heading has its own."""
    source: Annotated[str, Field(min_length=1, max_length=500, examples=["Opinion 05/2014, 10 April 2014"])]
    """Who asks it, and where."""
    text: Annotated[Prose, Field(examples=["Whether anybody can be told apart. Free text is not looked at."])]
    """What is asked, and what of it no requirement sees."""
    requirements: Annotated[
        list[Word], Field(max_length=MOST_REQUIREMENTS, examples=[["small-classes"]])
    ] = []  # noqa: RUF012 - pydantic copies it
    """Ids of the requirements that answer it."""


class _Policy(Request):
    """What a policy has in every format."""

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,89}$")]
    """Name that all versions share."""
    version: Annotated[int, Field(strict=True, ge=1, le=1_000_000)]
    """Raised by whoever changes the policy."""
    title: Annotated[str, Field(min_length=1, max_length=200, description="What it is for.")]
    description: Annotated[str, Field(max_length=5000, description="More about it.")] = ""
    assumes: PolicyAssumptions
    dictionaries: Annotated[list[Slot], Field(max_length=MOST_SLOTS)] = []  # noqa: RUF012 - pydantic copies it
    """Dictionaries that an evaluation names."""
    schema_: Annotated[PolicySchema | None, Field(alias="schema")] = None
    """The role of every column; any dataset if left out."""
    not_covered: Annotated[list[NotCovered], Field(max_length=MOST_EXEMPTIONS)] = []  # noqa: RUF012 - pydantic copies it
    """Columns that may leave though they single people out, with the reason; requirements still hold."""
    singled_out_share: Share = USUAL_SINGLED_OUT_SHARE
    """Greatest share of the records whose value fewer persons may have than the largest k, 2 without any."""
    coverage_version: Annotated[int | None, Field(strict=True, ge=1, le=NEWEST_COVERAGE, examples=[3])] = None
    """Version of what is checked before any requirement; filled in when the policy is stored. Of those of
    before, version 1 counts unique records, and both 1 and 2 take any dictionary for a slot and any number of
    suppressed records.
    """
    suppression_limit: Share | None = None
    """Greatest share of the records that may be suppressed, and that a suggested change may suppress. If left
    out, any share may be, and no change suppresses. Before coverage version 3 it is for changes only.
    """
    outline: Annotated[list[PolicyHeading], Field(max_length=MOST_HEADINGS)] = []  # noqa: RUF012 - pydantic copies it
    """What a report of its verdicts is arranged by; by the requirements if left out."""

    def document(self) -> dict[str, Any]:
        """What was sent, as the use cases take it."""
        return self.model_dump(by_alias=True, exclude_unset=True)


class PolicyInFormat2(_Policy):
    """A policy, as JSON or YAML have it."""

    format: Annotated[Literal["privacy-risk/policy/2"], Field(description="Format of the document.")]
    requirements: Annotated[list[PolicyRequirement], Field(min_length=1, max_length=MOST_REQUIREMENTS)]
    """What must hold, all of it."""


class PolicyInFormat1(_Policy):
    """A policy in the format before: its requirements are called criteria, and what each asks its demand."""

    format: Annotated[Literal["privacy-risk/policy/1"], Field(description="Format of the document.")]
    criteria: Annotated[list[PolicyCriterion], Field(min_length=1, max_length=MOST_REQUIREMENTS)]
    """What must hold, all of it."""


def _format_name(body: Any) -> str:  # noqa: ANN401 - any JSON value
    return format_of(body).name if isinstance(body, Mapping) else FORMAT_2.name


NewPolicy = Annotated[
    Annotated[PolicyInFormat2, Tag(FORMAT_2.name)] | Annotated[PolicyInFormat1, Tag(FORMAT_1.name)],
    Discriminator(_format_name),
]
