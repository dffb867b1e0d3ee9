"""Sampled generalisation of Fouad (2012), algorithm 6, word for word, whose proof does not hold.

Frequent are generalisations of at least θ·m records, θ drawn once; every record is sampled by a coin, and
shown as a generalisation drawn by the exponential of its worth, or of less risk where a floor of utility is
given. One copy of ⊥ is added to what is shown.

The counts that decide what is frequent have no noise, so that one record changes the frequent set with a
probability of order 1/m, and the constants rest on an identity that counts sampled sets several times. The
guarantee tells the δ that can be proved beside the one that is claimed, and is never certified.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, Final

import numpy as np
from annotated_types import Ge, Gt, Le, Lt, doc

from app.domain.arrays import Bools, Floats, Ints, Longs
from app.domain.catalogue.catalogue_types import Example
from app.domain.classes.ratios import as_written
from app.domain.errors import Fault, InvalidInput, refuse
from app.domain.mechanisms.declared_samples import (
    SECONDS_PER_RECORD,
    DeclaredSample,
    PublishedSample,
    bytes_per_record_of,
    depths_of,
    faults_of_declarations,
    generalisations_up_to_most,
    records_of,
    require,
    scores_of,
    warnings_of_sample,
    why_unsampled,
)
from app.domain.mechanisms.generalised_records import Score
from app.domain.mechanisms.guarantee import PrivacyGuarantee
from app.domain.mechanisms.mechanism import Bits, Drawn, Mechanism, MechanismContext, MechanismPlan
from app.domain.mechanisms.plan_constants import PUBLISHED_SAMPLE_CONSTANTS
from app.domain.mechanisms.private_release import (
    factor_told,
    fewer_records,
    private_guarantee,
    private_warnings,
)
from app.domain.mechanisms.public_scores import PublicScores
from app.domain.mechanisms.published_constants import (
    PublishedConstants,
    PublishedQuestion,
    corrected_delta,
    published_constants,
)
from app.domain.mechanisms.sampled_generalisation import BYTES, SECONDS, drawn_generalisations

MOST_RATE: Final = 2 / 3
"""Above it the published bound on the size of a sample is above the number of records."""
_DRAW_BITS: Final = 53
_ROUNDED: Final = 1.0 + 1e-12


@dataclass(frozen=True, kw_only=True)
class SampledGeneralisationPublished(DeclaredSample):
    """How near neighbours are claimed to be, how many records are shown, and what is frequent."""

    least_share: Annotated[
        float,
        Gt(0),
        Lt(1),
        doc("θ0: the share θ of all records that a frequent generalisation has is drawn between this and 1."),
        Example(0.01),
    ]
    utility_floor: Annotated[
        float | None,
        Ge(0),
        Le(1e12),
        doc(
            "c: draw from generalisations of at least this utility, those of less risk Φ/|ρ| rather. A "
            "record that has none of them is not shown at all."
        ),
        Example(None),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        most = min(MOST_RATE, -math.expm1(-self.epsilon))
        if self.sampling_rate >= most:
            raise InvalidInput.of(
                "/sampling_rate",
                "beta-too-small",
                "A record must be left out with a probability of more than e^(−ε), and of a third.",
                f"Give a sampling_rate below {most:.6g}.",
            )


@dataclass(frozen=True, eq=False)
class PublishedAsPublished(PublishedSample):
    """What is told beside the rows; one of them is a ⊥ that stands for no record."""

    least_share: Annotated[float, doc("θ0: the share of frequent generalisations was drawn from here to 1.")]


def _question(context: MechanismContext, asked: SampledGeneralisationPublished) -> PublishedQuestion:
    depths, scores = depths_of(context), scores_of(context, asked)
    share = scores.trade_off / scores.least_phi
    return PublishedQuestion(
        asked.epsilon,
        asked.delta,
        asked.sampling_rate,
        (max(depths) + 1) ** sum(own > 0 for own in depths),
        share,
        2.0 * (share + 1.0) if asked.utility_floor is None else scores.greatest_phi,
        context.table.n_attributes,
    )


def _supports(context: MechanismContext, parameters: SampledGeneralisationPublished) -> str | None:
    return why_unsampled(context)


def _missing(context: MechanismContext, asked: SampledGeneralisationPublished) -> Iterator[Fault]:
    faults = tuple(faults_of_declarations(context, asked))
    yield from faults
    if faults:
        return
    found, scores = published_constants(_question(context, asked)), scores_of(context, asked)
    needed = max(found.size_needed, scores.greatest_gain)
    if asked.least_records < needed:
        yield Fault(
            "/mechanism/least_records",
            "database-too-small",
            f"The source's conditions ask for {math.ceil(needed):,} records.",
            "Declare so many if the data are known to have them.",
        )
    elif asked.least_share * asked.least_records < found.least_crowd:
        yield Fault(
            "/mechanism/least_share",
            "share-too-small",
            f"The source's conditions ask for {found.least_crowd:,.6g} records below a frequent "
            f"generalisation; {asked.least_share:.6g} of {asked.least_records:,} are fewer.",
            f"Give a least_share of {found.least_crowd / asked.least_records:.3g} or more, below 1.",
        )


def _corrected(context: MechanismContext, asked: SampledGeneralisationPublished) -> tuple[float, float]:
    """Parts of the δ that is proved; of the fewest records that there can be, which is the greatest."""
    scores, records = scores_of(context, asked), asked.least_records
    crowd = asked.least_share * records - 1.0
    if asked.utility_floor is None:
        drift = scores.per_record(max(1, records - 1))
    else:
        # Risks of frequent generalisations are φ_u/(t − 1) at most, before and after.
        drift = scores.greatest_phi * records / (max(1, records - 1) * max(1.0, crowd))
    return corrected_delta(_question(context, asked), drift, records, asked.least_share)


def _guarantee(context: MechanismContext, asked: SampledGeneralisationPublished) -> PrivacyGuarantee:
    of_sample, of_frequent = _corrected(context, asked)
    delta = min(1.0, of_sample + of_frequent)
    parts = {
        "delta_of_exchange_and_size": of_sample,
        "delta_of_frequent_set": of_frequent,
        "delta_claimed": asked.delta,
    }
    return replace(
        private_guarantee(context, asked.epsilon, delta, parts, asked.least_records),
        # Of m records the frequent set alone takes 2·h^k/(1 − θ0) times 1/m: one of them, picked at random,
        # may be published as it is, whatever is asked for.
        status="none",
        sentence=(
            "What can be proved: whether or not any one person's record is in the data, the chance of any "
            f"set of published tables changes by at most a factor {factor_told(asked.epsilon)}, apart from a "
            f"slack of δ = {delta:.6g}; a slack of {1 / asked.least_records:.3g} allows to publish one "
            "record, picked at random, as it is."
        ),
        claimed_by_source=(
            f"A slack of δ = {asked.delta:.6g} and a term that is said to vanish as 1/m² of m records. The "
            "claimed guarantee is not supported by its proof: the term is of the order of 1/m, and an "
            "identity of the proof is false."
        ),
    )


def _plan(context: MechanismContext, parameters: SampledGeneralisationPublished) -> MechanismPlan:
    own, missing = parameters, tuple(_missing(context, parameters))
    generalisations = generalisations_up_to_most(context)
    is_declared = not any(faults_of_declarations(context, own))
    guarantees = () if missing else (_guarantee(context, own),)
    return MechanismPlan(
        constants=_told(context, own) if is_declared else {},
        missing=missing,
        seconds=SECONDS,
        bytes=BYTES,
        guarantees=guarantees,
        rows_per_record=own.sampling_rate,
        seconds_per_record=SECONDS_PER_RECORD * generalisations,
        bytes_per_record=bytes_per_record_of(context, own.sampling_rate),
        warnings=(
            "The guarantee that the source claims is not supported by its proof: use sampled_generalisation, "
            "or stability_histogram, where anything depends on it.",
            *_of_floor(own),
            *warnings_of_sample(scores_of(context, own), own),
            *(_warned(guarantees, own)),
        ),
    )


def _warned(guarantees: tuple[PrivacyGuarantee, ...], asked: SampledGeneralisationPublished) -> Iterator[str]:
    """What holds with the δ that is proved, which is not the one that was asked for."""
    for own in guarantees:
        yield from private_warnings(asked.epsilon, float(own.parameters["delta"]), asked.least_records)


def _of_floor(asked: SampledGeneralisationPublished) -> Iterator[str]:
    if asked.utility_floor is not None:
        yield (
            "With a floor of utility generalisations are drawn nearly uniformly: risks are divided by the "
            "number of records, which leaves hardly any difference between their exponents. Records that "
            "have no frequent generalisation of that utility are covered by ⊥ alone."
        )


def _told(context: MechanismContext, asked: SampledGeneralisationPublished) -> Mapping[str, float]:
    question, scores = _question(context, asked), scores_of(context, asked)
    found, (of_sample, of_frequent) = published_constants(question), _corrected(context, asked)
    return {
        "lattice_bound": question.lattice,
        "phi_least": scores.least_phi,
        "phi_greatest": scores.greatest_phi,
        "utility_greatest": scores.greatest_utility,
        "exponent": found.exponent,
        "exponent_range": found.exponent_range,
        "floor_of_unsampled": found.floor,
        "crowd_needed": found.least_crowd,
        "share_needed": found.least_crowd / asked.least_records,
        "size_needed": found.size_needed,
        "delta_of_exchange_and_size": of_sample,
        "delta_of_frequent_set": of_frequent,
    }


def exact_decision(
    asked: SampledGeneralisationPublished, records: int, bits: Bits
) -> Callable[[Longs], Bools]:
    """Which generalisations are frequent: those of at least θ·m records, θ drawn once."""
    drawn = Fraction(int.from_bytes(bits(8), "little") >> (64 - _DRAW_BITS), 2**_DRAW_BITS)
    least = as_written(asked.least_share)
    crowd = math.ceil((least + (1 - least) * drawn) * records)
    return lambda counts: np.asarray(counts >= crowd)


def published_score(context: MechanismContext, asked: SampledGeneralisationPublished) -> Score:
    """The exponents that a draw of the table chooses by."""
    found = published_constants(_question(context, asked))
    # ε′·f/m; with a floor −ε′·r/m, and −∞ below it
    scores = scores_of(context, asked)

    def score(nodes: Sequence[Ints], counts: Longs) -> Floats:
        if asked.utility_floor is None:
            return np.asarray(found.exponent / context.table.n_records * scores.score(nodes, counts))
        risks = -found.exponent / context.table.n_records * scores.risk(nodes, counts)
        return np.where(scores.utility(nodes) >= asked.utility_floor, risks, -math.inf)

    return score


def _range(
    asked: SampledGeneralisationPublished, scores: PublicScores, found: PublishedConstants, records: int
) -> float:
    """No two exponents of a record differ by more."""
    if asked.utility_floor is None:
        return found.exponent * scores.per_record(records)
    return found.exponent * scores.greatest_phi / records


def _draw(
    context: MechanismContext, parameters: SampledGeneralisationPublished, bits: Bits
) -> Drawn[PublishedAsPublished]:
    require(_supports(context, parameters))
    refuse((*_missing(context, parameters), *fewer_records(context, parameters)))
    records, found = context.table.n_records, published_constants(_question(context, parameters))
    scores, score = scores_of(context, parameters), published_score(context, parameters)
    # Rounding is by far less than a part in 10¹²; what is proved of the algorithm has room for it.
    reach = _ROUNDED * _range(parameters, scores, found, records)
    decide = exact_decision(parameters, records, bits)
    columns = drawn_generalisations(records_of(context), parameters.rate, decide, score, reach, bits)
    published = PublishedAsPublished(
        "add_or_remove_one_record",
        parameters.epsilon,
        parameters.delta,
        parameters.sampling_rate,
        generalisations_up_to_most(context),
        found.exponent_range,
        parameters.least_share,
    )
    return Drawn(tuple(np.append(own, np.int32(0)) for own in columns), published)


SAMPLED_GENERALISATION_PUBLISHED: Final = Mechanism(
    name="sampled_generalisation_published",
    title="Sampled generalisation as it was published, whose claim is not supported by its proof",
    source="Fouad (2012), section 6.4, algorithm 6",
    family="generalise",
    parameters=SampledGeneralisationPublished,
    published=PublishedAsPublished,
    guarantees=(),
    constants=PUBLISHED_SAMPLE_CONSTANTS,
    supports=_supports,
    plan=_plan,
    draw=_draw,
    keeps_records=False,
    hides_records=True,
    bars=fewer_records,
)
