"""What is declared of a release of sampled records, each as a generalisation that is drawn for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated, Final

from annotated_types import Ge, Gt, Le, Lt, MaxLen, doc

from app.domain.arrays import Levels
from app.domain.catalogue.catalogue_types import ColumnName, Example
from app.domain.classes.ratios import as_written
from app.domain.errors import Fault, InvalidInput, NotSupported
from app.domain.hierarchies.node_values import DerivedUtility
from app.domain.mechanisms.generalised_records import GeneralisedRecords, generalisations_of
from app.domain.mechanisms.mechanism import MechanismContext
from app.domain.mechanisms.private_release import (
    Delta,
    Epsilon,
    LeastRecords,
    PublishedOfRecords,
    RuleIsPublic,
    faults_of_delta,
    levels_of,
    require_decimals,
    require_private,
    rule_faults,
    why_no_public_rule,
    why_of_data,
)
from app.domain.mechanisms.public_scores import (
    LARGEST_NUMBER,
    PLAIN_WEIGHTS,
    PublicScores,
    faults_of_weights,
    utilities_of,
    weights_by_depth,
)
from app.domain.mechanisms.rule_before import bytes_disclosed, disclosed
from app.domain.mechanisms.sampled_constants import MOST_RECORDS
from app.domain.tables.distinct import distinct_rows

MOST_LEVELS: Final = 100
MOST_GENERALISATIONS: Final = 1_000_000
"""Of a record; so many are refused."""
DECIMALS_OF_RATE: Final = 18
"""Places of s: 10¹⁸ is below 2⁶⁴, of which coins are made."""
LARGEST_SCORE: Final = 1e15
"""Below, a number of 53 bits holds whole records beside the utility."""
SECONDS_PER_RECORD: Final = 2e-8
"""For each generalisation that a record has at most."""
BYTES_PER_RECORD: Final = 30
BYTES_PER_VALUE: Final = 16
"""Of a record and each of its attributes, while generalisations are counted."""
BYTES_PER_SCORE: Final = 10
"""Of a sampled record and one of its generalisations; an eighth of a byte of every other one."""


@dataclass(frozen=True, kw_only=True)
class DeclaredObjective:
    """What a generalisation is worth."""

    trade_off: Annotated[
        float,
        Ge(0),
        Le(LARGEST_NUMBER),
        doc(
            "λ of the objective λ·|ρ(x)|/Φ(x) + u(x)^κ by which a generalisation x is chosen. Where it is "
            "far above φ_l·ν^κ / least_records, all records are suppressed."
        ),
        Example(0.001),
    ]
    kappa: Annotated[int, Ge(0), Le(8), doc("κ: exponent of the utility."), Example(1)] = 1
    sensitivity: Annotated[
        Mapping[ColumnName, Annotated[tuple[float, ...], MaxLen(MOST_LEVELS)]],
        MaxLen(10_000),
        doc(
            "Attribute → weights in Φ, of the suppressed value first, then one per level below it; the last "
            "also of what is deeper. They never fall. Attributes that are not named have 0, 1."
        ),
        Example({"education": [0, 0.3, 0.6]}),
    ] = field(default_factory=dict)
    phi_offset: Annotated[
        float,
        Ge(0),
        Le(LARGEST_NUMBER),
        doc("Added to every Φ, which must be above 0 even where all is suppressed."),
        Example(1),
    ] = 1.0
    utility: Annotated[
        DerivedUtility,
        doc("u: levels kept (`depth_sum`), sum of 1 / values covered, or nats kept (`log_leaves`)."),
    ] = "depth_sum"

    def __post_init__(self) -> None:
        faults = faults_of_weights(self.sensitivity)
        if not isinstance(self.kappa, int):
            faults.append(
                Fault("/kappa", "not-whole", "kappa is no whole number.", "Give 0, 1 or another up to 8.")
            )
        if faults:
            raise InvalidInput(faults)


@dataclass(frozen=True, kw_only=True)
class DeclaredSample(DeclaredObjective):
    """How near neighbours are, how many records are shown, and what a generalisation is worth."""

    epsilon: Epsilon
    delta: Delta
    sampling_rate: Annotated[
        float,
        Gt(0),
        Lt(1),
        doc(
            "The probability s with which a record is shown at all. Taken as the decimal it is written as, "
            "of at most 18 places. "
            "The smaller, the better is what is shown chosen, and the more records must be below each."
        ),
        Example(0.1),
    ]
    least_records: LeastRecords
    rule_is_public: RuleIsPublic = False

    def __post_init__(self) -> None:
        require_private(self, self.epsilon)
        require_decimals("sampling_rate", self.sampling_rate, DECIMALS_OF_RATE)
        super().__post_init__()

    @property
    def rate(self) -> Fraction:
        """s, exactly."""
        return as_written(self.sampling_rate)

    @property
    def least_of_neighbours(self) -> int:
        """So many records both neighbours have at least: the smaller has one less than is declared."""
        return max(1, self.least_records - 1)


@dataclass(frozen=True, eq=False)
class PublishedSample(PublishedOfRecords):
    """What is told beside the rows."""

    what_rows_are = (
        "some of the records, picked by chance, each generalised by chance: none shows whose record it is, "
        "or how likely it was shown so"
    )
    why_not_counted = (
        "its rows are sampled records, each generalised with probabilities that depend on the data and are "
        "not published"
    )
    epsilon: Annotated[float, doc("ε of the guarantee.")]
    delta: Annotated[float, doc("δ of the guarantee.")]
    sampling_rate: Annotated[float, doc("The probability with which a record is shown at all.")]
    generalisations: Annotated[int, doc("No record has more generalisations.")]
    exponent_range: Annotated[
        float,
        doc(
            "By no more than the exponential of this do probabilities of two generalisations of a record "
            "differ: near 0 generalisations are drawn nearly uniformly."
        ),
    ]


def depths_of(context: MechanismContext) -> Levels:
    """How deep a value can be after the rule, per attribute."""
    return tuple(
        height - level for height, level in zip(context.table.heights, levels_of(context), strict=True)
    )


def generalisations_up_to_most(context: MechanismContext) -> int:
    """H, of which no estimate is made beyond what is refused: it may be larger than any number of 64 bits."""
    return min(generalisations_of(depths_of(context)), MOST_GENERALISATIONS)


def bytes_per_record_of(context: MechanismContext, sampling_rate: float) -> float:
    """Of a record while all generalisations of records are counted, and those of sampled ones are weighed."""
    most = generalisations_up_to_most(context)
    counted = BYTES_PER_RECORD + BYTES_PER_VALUE * context.table.n_attributes + bytes_disclosed(context)
    return counted + sampling_rate * BYTES_PER_SCORE * most + most / 8


def scores_of(context: MechanismContext, asked: DeclaredObjective) -> PublicScores:
    """What generalisations are worth, from declarations alone.

    Below the depths that the rule leaves nothing is shown: bounds are of what can be.
    """
    table, levels = context.table, levels_of(context)
    weights, utilities = [], []
    for name, hierarchy, level, depth in zip(
        table.attributes, table.hierarchies, levels, depths_of(context), strict=True
    ):
        cut = hierarchy.ancestors_at(level)
        weights.append(weights_by_depth(hierarchy, asked.sensitivity.get(name, PLAIN_WEIGHTS))[cut])
        utilities.append(utilities_of(hierarchy, asked.utility, depth > 0)[cut])
    return PublicScores(tuple(weights), tuple(utilities), asked.trade_off, asked.kappa, asked.phi_offset)


def is_counted_in_full(scores: PublicScores) -> bool:
    """Whether scores of any table that is read here are numbers that hold what one record counts."""
    return scores.least_phi > 0 and scores.greatest_score(MOST_RECORDS) < LARGEST_SCORE


def records_of(context: MechanismContext) -> GeneralisedRecords:
    """The distinct records under the rule."""
    table, shown = context.table, disclosed(context)
    rows = distinct_rows([shown[:, j] for j in range(shown.shape[1])], table.sizes, table.n_records)
    return GeneralisedRecords(table.hierarchies, depths_of(context), rows.codes, rows.counts)


def why_unsampled(context: MechanismContext) -> str | None:
    """Why records of the table cannot be generalised by what is public; None if they can."""
    reason = why_no_public_rule(context)
    if reason is not None:
        return reason
    table = context.table
    tangled = [name for name, own in zip(table.attributes, table.hierarchies, strict=True) if not own.is_tree]
    if tangled:
        return (
            f"The hierarchy of {tangled[0]!r} is no tree: a value has several parents, so that a record has "
            "several generalisations at one level. Give every value one parent."
        )
    return why_of_data(
        context,
        ": what generalisations are worth, and how many a record has, must not follow from records.",
    )


def faults_of_declarations(context: MechanismContext, asked: DeclaredSample) -> Iterator[Fault]:
    """What of the declarations is in the way."""
    yield from rule_faults(context, asked.rule_is_public)
    yield from faults_of_delta(asked.delta, asked.least_records)
    yield from faults_of_objective(context, asked)


def faults_of_objective(context: MechanismContext, asked: DeclaredObjective) -> Iterator[Fault]:
    """What of the objective is in the way, and whether records have too many generalisations."""
    for name in asked.sensitivity:
        if name not in context.table.attributes:
            yield Fault(
                f"/mechanism/sensitivity/{name}",
                "unknown-attribute",
                f"The table has no attribute {name!r}.",
                "Name disclosed attributes.",
            )
    scores = scores_of(context, asked)
    if scores.least_phi <= 0:
        yield Fault(
            "/mechanism/phi_offset",
            "phi-not-bounded-away-from-zero",
            "What is suppressed has a sensitivity of 0, for which the objective is infinite.",
            "Give a phi_offset above 0, or weights above 0 to suppressed values.",
        )
    elif not is_counted_in_full(scores):
        yield Fault(
            "/mechanism/trade_off",
            "scores-too-large",
            f"trade_off is {asked.trade_off:.6g} and φ_l {scores.least_phi:.6g}: of a table of "
            f"{MOST_RECORDS:,} records λ·m/φ_l + ν^κ would be {LARGEST_SCORE:g} or more, where numbers lose "
            "what one record counts.",
            "Give a smaller trade_off or kappa, or a greater phi_offset.",
        )
    if generalisations_up_to_most(context) >= MOST_GENERALISATIONS:
        yield Fault(
            "/mechanism",
            "too-many-generalisations",
            f"A record may have {MOST_GENERALISATIONS:,} generalisations or more; it is shown as one of "
            "fewer.",
            "Disclose fewer columns, or give a rule with more general levels.",
        )


def warnings_of_sample(scores: PublicScores, asked: DeclaredSample) -> Iterator[str]:
    """What whoever publishes a sample must know beside what holds of all private releases."""
    yield (
        f"A share of {asked.sampling_rate:.6g} of the records is expected to be shown, the others not at "
        "all. Nothing tells which are, and no row tells whose it is."
    )
    usual = scores.least_phi * scores.greatest_gain / asked.least_of_neighbours
    if asked.trade_off > MANY_TIMES * usual:
        yield (
            f"trade_off is {asked.trade_off:.6g}, far above φ_l·ν^κ / records = {usual:.3g}: nearly all rows "
            "may be wholly suppressed, which the objective then prefers whatever the data are."
        )


MANY_TIMES: Final = 10


def require(reason: str | None) -> None:
    """NotSupported with the reason, if there is one."""
    if reason is not None:
        raise NotSupported.because(reason)
