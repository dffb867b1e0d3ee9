"""What is common to differentially private releases: their cells, parameters, promises and warnings.

Neighbours are two tables of which one has one record more. (ε, δ) is approximate differential privacy (Dwork
and Roth (2014), definition 2.4): for all neighbours D, D′, in both orders, and all sets S of tables that may
be published, Pr[M(D) ∈ S] ≤ e^ε · Pr[M(D′) ∈ S] + δ. ε and δ are the decimals that they are written as.

Everything here but the counts follows from declarations: no record is looked at.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar, Final, Literal, Protocol

import numpy as np
from annotated_types import Ge, Le, doc

from app.documents import refuse_out_of_bounds
from app.domain.arrays import Ints, Longs
from app.domain.catalogue.catalogue_types import Hypothesis
from app.domain.classes.ratios import as_written
from app.domain.errors import Fault, InvalidInput
from app.domain.mechanisms.common_hypotheses import one_record_per_person
from app.domain.mechanisms.guarantee import PrivacyGuarantee
from app.domain.mechanisms.guarantee_models import DIFFERENTIAL_PRIVACY
from app.domain.mechanisms.mechanism import MechanismContext
from app.domain.mechanisms.noise_law import NoiseLaw, not_less
from app.domain.mechanisms.public_domains import why_undeclared
from app.domain.mechanisms.rule_before import shown_attributes
from app.domain.rules.rule import TableRule, identity, recodings

LARGE_EPSILON: Final = 3.0
GROUPS_TOLD: Final = (2, 5)
LARGEST_EXPONENT: Final = 700
"""Up to here e^ε is a floating-point number."""
DECIMALS: Final = 9
"""Places of ε: with more the exact sums of 64 bits that noise is made of would not hold its parts."""

RULE_IS_PUBLIC: Final = "rule_is_public"

OF_DECLARATIONS: Final = (
    Hypothesis(
        "parameters_are_public",
        "assumed",
        "Parameters, hierarchies and the description of the columns are taken to be chosen without looking "
        "at the records.",
    ),
    Hypothesis(
        "only_the_table_leaves",
        "assumed",
        "Readers are taken to have the table and what is published beside it: not how long the work took, "
        "nor what the service tells of the dataset.",
    ),
)
"""What every guarantee rests on that nobody can check."""

Epsilon = Annotated[
    float,
    Ge(0.0001),
    Le(20),
    doc(
        "ε: one record more or less changes the probability of no set of published tables by more than the "
        "factor e^ε. Taken as the decimal it is written as, of at most 9 places."
    ),
]
Delta = Annotated[
    float,
    Ge(1e-30),
    Le(0.01),
    doc(
        "δ: what may be left over beside the factor e^ε. Taken as the decimal it is written as. Choose "
        "it far below 1 in the number of records: from there on one record could be published as it is."
    ),
]
LeastRecords = Annotated[
    int,
    Ge(1),
    Le(10**9),
    doc(
        "A number that it is no secret that the data have at least. A dataset with fewer is refused, and "
        "so is a delta of 1 in this number or more."
    ),
]
RuleIsPublic = Annotated[
    bool,
    doc(
        "Whoever asks declares that the rule was chosen from public knowledge alone, and from no record of "
        "the data. Must be true where a rule stands beside the mechanism: what is chosen by looking at the "
        "data tells of them."
    ),
]


def require_private(question: object, epsilon: float) -> None:
    """InvalidInput for numbers beyond the bounds of their fields, and for an ε of too many places."""
    refuse_out_of_bounds(question)
    require_decimals("epsilon", epsilon, DECIMALS)


def require_decimals(name: str, number: float, most: int) -> None:
    """InvalidInput for a number of more decimal places than exact draws can hold."""
    if as_written(number).denominator > 10**most:
        raise InvalidInput.of(
            f"/{name}",
            "too-many-decimals",
            f"{name} has more than {most} decimal places, with which nothing is drawn exactly.",
            f"Round it to {most} places.",
        )


@dataclass(frozen=True, eq=False)
class PublishedPrivately:
    """What is told of a table of which the guarantee is differential privacy.

    ``what_rows_are`` says what a row is, which is no person's record as it is; ``why_not_counted`` why a
    count of rows is no estimate with a known error.
    """

    what_rows_are: ClassVar[str]
    why_not_counted: ClassVar[str]


@dataclass(frozen=True, eq=False)
class PublishedOfRecords(PublishedPrivately):
    """The same where it is secret who has a record."""

    neighbours: Annotated[
        Literal["add_or_remove_one_record"], doc("Which two tables are hard to tell apart.")
    ]


@dataclass(frozen=True, eq=False)
class PublishedNoisyCounts(PublishedOfRecords):
    """The same where rows are counts with noise: no row is a person's record."""

    what_rows_are = "counts with noise: none of them is a person's record"
    epsilon: Annotated[float, doc("ε of the guarantee and of the noise: Pr[Z = z] ∝ exp(−ε·|z|).")]
    delta: Annotated[float, doc("δ of the guarantee.")]


def why_no_public_rule(context: MechanismContext) -> str | None:
    """Why the rule is none that makes of each record the same whatever the others are; None if it is."""
    if context.rule is None or isinstance(context.rule, TableRule):
        return None
    return (
        "The rule is none of levels for the whole table: it generalises or suppresses single records, or was "
        "made of the data, and what depends on other records tells of them. Give a rule of the kind "
        "table_level that suppresses no classes."
    )


def rule_faults(context: MechanismContext, rule_is_public: bool) -> Iterator[Fault]:
    """What is in the way of taking the rule for public."""
    if context.rule is None:
        return
    if context.rule_is_of_data:
        yield Fault(
            "/rule",
            "rule-from-data",
            "The rule was found by a search in the data, or may suppress records by what others show: which "
            "rule is best, and which records are suppressed, tells of the data.",
            "Give a rule of levels that was written down without looking at the data and suppresses no "
            "records.",
        )
    elif not rule_is_public:
        yield Fault(
            "/mechanism/rule_is_public",
            "rule-not-public",
            "It is not declared that the rule was chosen from public knowledge.",
            "Set rule_is_public to true if no record was looked at when the rule was chosen; else release "
            "without a rule.",
        )


def levels_of(context: MechanismContext) -> tuple[int, ...]:
    """The levels of the rule beside the mechanism; 0 if there is none."""
    rule = context.rule
    return (rule if isinstance(rule, TableRule) else identity(context.table.n_attributes)).levels


def why_of_data(context: MechanismContext, why: str) -> str | None:
    """Why the values of all attributes that are shown must be declared, if those of some are not."""
    return why_undeclared(context, shown_attributes(context), why, ", or suppress the column by a rule")


def faults_of_delta(delta: float, least_records: int) -> Iterator[Fault]:
    """What is in the way of a δ beside the declared number of records."""
    if as_written(delta) * least_records >= 1:
        yield Fault(
            "/mechanism/delta",
            "delta-too-large",
            f"delta is {delta:.6g}, which is 1 in the declared {least_records:,} "
            "records or more: so much is left over if one record, picked at random, is published as it is.",
            f"Give less than a tenth of {1 / least_records:.3g}.",
        )


class DeclaresRecords(Protocol):
    """Parameters with the least number of records that the data are known to have."""

    @property
    def least_records(self) -> int:
        """How many records the data are known to have at least."""


def fewer_records(context: MechanismContext, parameters: DeclaresRecords) -> tuple[Fault, ...]:
    """Whether the data have fewer records than is declared; another number would tell of them."""
    if context.table.n_records >= parameters.least_records:
        return ()
    fault = Fault(
        "/mechanism/least_records",
        "fewer-records",
        f"The dataset has fewer than the {parameters.least_records:,} records that are declared.",
        "Declare a number that the data are known to reach, with a delta that fits it.",
    )
    return (fault,)


def public_values(context: MechanismContext) -> tuple[Ints, ...]:
    """Per attribute the nodes that a cell can become, whatever the records are; of declared hierarchies."""
    becomes = recodings(TableRule(levels_of(context)), context.table)
    return tuple(np.unique(own).astype(np.int32) for own in becomes)


def n_public_cells(context: MechanismContext) -> int:
    """How many combinations of these there are."""
    return math.prod(len(own) for own in public_values(context))


def repeated(columns: list[Ints], counts: Longs) -> tuple[Ints, ...]:
    """The columns with each row as often as its count says, which is at least 0."""
    return tuple(np.repeat(own, counts) for own in columns)


def private_guarantee(
    context: MechanismContext,
    epsilon: float,
    delta: float,
    of_delta: Mapping[str, float],
    least_records: int | None = None,
) -> PrivacyGuarantee:
    """What a release promises; ``of_delta`` is what δ is made of, ``least_records`` what it is judged by."""
    declared = () if least_records is None else (least_records_is_public(least_records),)
    of_records = {} if least_records is None else {"least_records": least_records}
    slack = "" if delta == 0 else f", apart from a slack of δ = {delta:.6g}"
    return PrivacyGuarantee(
        model=DIFFERENTIAL_PRIVACY,
        parameters={
            "epsilon": epsilon,
            "delta": delta,
            **of_delta,
            **of_records,
            "definition": "approximate_differential_privacy",
            "neighbours": "add_or_remove_one_record",
        },
        sentence=(
            "Whether or not any one person's record is in the data, the chance of any particular published "
            "table, and of any set of them, changes by at most a factor "
            f"{factor_told(epsilon)}{slack}."
        ),
        status="certified",
        hypotheses=(*private_hypotheses(context), *declared),
    )


def least_records_is_public(least_records: int) -> Hypothesis:
    """That it is no secret that the data have so many records: it is compared with them before a draw."""
    return Hypothesis(
        "least_records_is_public",
        "assumed",
        f"That the data have at least {least_records:,} records is declared, and taken to be no secret. "
        "It is checked before anything is drawn: a table with fewer is refused, which tells that one bit.",
    )


def private_hypotheses(context: MechanismContext) -> Iterator[Hypothesis]:
    """What a release of whole records rests on, whichever tables are neighbours."""
    yield one_record_per_person(context.table)
    if context.rule is None:
        yield Hypothesis(RULE_IS_PUBLIC, "yes", "There is no rule: records are counted as they are.")
    else:
        yield Hypothesis(
            RULE_IS_PUBLIC, "assumed", "Who asked for the release declares it; nobody can check it."
        )
    yield from OF_DECLARATIONS
    yield Hypothesis(
        "drawn_once",
        "assumed",
        "A second draw of the same people's data adds to the first; it depends on all that is ever released. "
        "The same table is recognised in another file, and its people in other rows by identifiers alone.",
    )


def private_warnings(epsilon: float, delta: float, least_records: int | None) -> Iterator[str]:
    """What whoever publishes the release must know of its numbers."""
    degraded = [(g, *group_privacy(g, epsilon, delta)) for g in GROUPS_TOLD]
    yield (
        "Whoever has g records in the data is protected with g·ε and g·e^((g−1)·ε)·δ only: "
        + "; ".join(
            f"with {g} records ε = {own:.6g}" + (f" and δ = {slack:.3g}" if delta else "")
            for g, own, slack in degraded
        )
        + "."
    )
    yield (
        "Whether a person's record is in the data is protected with ε and δ. Which value that record has is "
        "two steps, one record less and one more, and is protected with 2ε and (1 + e^ε)·δ: "
        f"{_of_value(epsilon, delta)}."
    )
    yield (
        "Nothing is promised of what the data tell of people in general: who is in a group of which nearly "
        "all have one value is believed to have it, whether or not the own record was counted."
    )
    if epsilon > LARGE_EPSILON:
        yield (
            f"ε = {epsilon:.6g} is large: the factor is {math.exp(epsilon):.6g}. Above 3 a promise is weak; "
            "choose at most 1 where you can."
        )
    if least_records is not None and as_written(delta) * 10 * least_records > 1:
        yield (
            f"δ = {delta:.6g} is above a tenth of 1 in the {least_records:,} records that are declared: it "
            "is no longer small beside the chance of picking one record."
        )


def _of_value(epsilon: float, delta: float) -> str:
    """Such as: odds of 1 to 1 become at most 7.39 to 1, apart from 3.72e-06."""
    whole, left = 2 * as_written(epsilon), min(1.0, (1 + math.exp(epsilon)) * delta)
    slack = "" if not delta else f", apart from a slack of {left:.3g}"
    return f"odds of 1 to 1 between two values become at most {math.exp(whole):.3g} to 1{slack}"


def group_privacy(g: int, epsilon: float, delta: float) -> tuple[float, float]:
    """(g·ε, g·e^((g−1)·ε)·δ), the second at most 1: what is left for whoever has g records."""
    whole = g * as_written(epsilon)
    return not_less(whole), min(1.0, g * math.exp((g - 1) * epsilon) * delta)


def factor_told(epsilon: Fraction | float) -> str:
    """Such as: e^ε = 2.71828; or e^ε = e^720 where no floating-point number is so large."""
    told = f"{math.exp(epsilon):.6g}" if epsilon <= LARGEST_EXPONENT else f"e^{float(epsilon):.6g}"
    return f"e^ε = {told}"


def law_constants(law: NoiseLaw) -> dict[str, float]:
    """What follows from ε alone."""
    return {"factor": math.exp(float(law.epsilon)), "noise_standard_deviation": law.standard_deviation}
