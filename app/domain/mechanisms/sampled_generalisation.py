"""Sampled generalisation: a sample of the records, each as one of its frequent generalisations, by chance.

Which generalisations are frequent is decided by noisy counts, from ⊥ down. Every record is sampled by a coin
of its own. What is shown of a sampled one is drawn with a probability proportional to the exponential of the
objective (the exponential mechanism of McSherry and Talwar (2007), as Fouad (2012), section 6.4, applies it
to records), scaled so that one record more or less changes all draws together little.

Fouad's own constants do not keep his promise; see
:mod:`~app.domain.mechanisms.sampled_generalisation_published`. Here they follow from a repaired argument.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Final

import numpy as np
from annotated_types import Gt, Le, Len, doc

from app.domain.arrays import Bools, Floats, Ints, Longs
from app.domain.catalogue.catalogue_types import Example
from app.domain.classes.ratios import as_written
from app.domain.errors import Fault, InvalidInput, refuse
from app.domain.mechanisms.declared_samples import (
    SECONDS_PER_RECORD,
    DeclaredSample,
    PublishedSample,
    bytes_per_record_of,
    faults_of_declarations,
    generalisations_up_to_most,
    records_of,
    require,
    scores_of,
    warnings_of_sample,
    why_unsampled,
)
from app.domain.mechanisms.exact_choice import chosen, numbered, require_range, sampled
from app.domain.mechanisms.exact_noise import two_sided_geometric
from app.domain.mechanisms.expected_value import ExpectedValue, expected_value
from app.domain.mechanisms.generalised_records import (
    Candidates,
    GeneralisedRecords,
    Score,
)
from app.domain.mechanisms.guarantee import PrivacyGuarantee
from app.domain.mechanisms.guarantee_models import DIFFERENTIAL_PRIVACY
from app.domain.mechanisms.mechanism import Bits, Drawn, Mechanism, MechanismContext, MechanismPlan
from app.domain.mechanisms.plan_constants import RATES_COMPARED, SAMPLED_CONSTANTS
from app.domain.mechanisms.private_release import fewer_records, private_guarantee, private_warnings
from app.domain.mechanisms.public_dictionary import (
    OF_DICTIONARY,
    Entities,
    PublicDictionary,
    faults_of_dictionary,
    require_entities,
    resting_on,
)
from app.domain.mechanisms.public_scores import PublicScores
from app.domain.mechanisms.sampled_constants import (
    MOST_RECORDS,
    SampleConstants,
    SampleQuestion,
    at_rate,
    drifting,
    most_rate,
    rounding_epsilon,
    steady,
)
from app.domain.tables.table import Table

SECONDS: Final = 0.02
BYTES: Final = 16 * 1024**2


@dataclass(frozen=True, kw_only=True)
class SampledGeneralisation(DeclaredSample):
    """How near neighbours are, how many records are shown, and what a generalisation is worth."""

    dictionary: Annotated[
        Entities | None,
        Len(1, 10_000),
        doc(
            "Attribute → its value of each entity that anybody can look up, known without the data: |ρ(x)| "
            "of the objective then counts these entities, in place of the records, so that no record changes "
            "what a generalisation is worth. At most 10,000 entities. Needs exponent_range."
        ),
        Example(None),
    ] = None
    exponent_range: Annotated[
        float | None,
        Gt(0),
        Le(20),
        doc(
            "With a dictionary: by how much exponents of two generalisations of a record may differ. The "
            "more, the more records are needed. Without one it follows from the sampling rate."
        ),
        Example(None),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.dictionary is None) != (self.exponent_range is None):
            raise InvalidInput.of(
                "/exponent_range",
                "without-the-other",
                "A dictionary and an exponent_range are given together, or neither.",
                "Give both, or leave both out.",
            )
        require_entities(self.dictionary)
        most = most_rate(as_written(self.epsilon))
        if self.sampling_rate >= most:
            raise InvalidInput.of(
                "/sampling_rate",
                "beta-too-small",
                f"With so little ε a record must be left out with more than e^(−0.75·ε): of every 1 sampled "
                f"with {self.sampling_rate:.6g} its presence alone would tell too much.",
                f"Give a sampling_rate below {most:.6g}.",
            )


@dataclass(frozen=True, eq=False)
class PublishedSampledGeneralisation(PublishedSample):
    """What is told beside the rows."""

    threshold: Annotated[
        int, doc("A generalisation is frequent if its noisy count, and those above it, are at least this.")
    ]
    crowd: Annotated[int, doc("So many records are below each frequent generalisation, but for δ.")]


def constants_of(context: MechanismContext, asked: SampledGeneralisation) -> SampleConstants:
    """All constants; of declarations alone."""
    return _constants(asked, scores_of(context, asked), _question(context, asked))


def _question(context: MechanismContext, asked: SampledGeneralisation) -> SampleQuestion:
    return SampleQuestion(
        as_written(asked.epsilon),
        asked.delta,
        asked.sampling_rate,
        generalisations_up_to_most(context),
        asked.least_of_neighbours,
        rounding_epsilon(asked.sampling_rate, context.table.n_attributes),
    )


def _constants(
    asked: SampledGeneralisation, scores: PublicScores, question: SampleQuestion
) -> SampleConstants:
    if asked.dictionary is None or asked.exponent_range is None:
        return drifting(question, scores.per_record(asked.least_of_neighbours))
    entities = len(next(iter(asked.dictionary.values())))
    return steady(question, scores.width(entities), asked.exponent_range)


def _supports(context: MechanismContext, parameters: SampledGeneralisation) -> str | None:
    return why_unsampled(context)


def _missing(context: MechanismContext, asked: SampledGeneralisation) -> Iterator[Fault]:
    unfit = tuple(faults_of_dictionary(asked.dictionary or {}, context, "/mechanism/dictionary"))
    faults = (*faults_of_declarations(context, asked), *unfit)
    yield from faults
    if asked.dictionary is not None and not unfit:
        PublicDictionary.read(asked.dictionary, context, "/mechanism/dictionary")
    if not faults and (needed := constants_of(context, asked).needed) > asked.least_of_neighbours:
        yield Fault(
            "/mechanism/least_records",
            "database-too-small",
            f"Of a table of {asked.least_records:,} records no generalisation can be frequent enough; "
            + (
                f"{needed + 1:,.0f} are needed."
                if needed < MOST_RECORDS
                else "no table that is read here is large enough."
            ),
            "Declare more records if the data are known to have them; else give a greater sampling_rate "
            "or delta, disclose fewer columns, give a rule with more general levels, or use "
            "stability_histogram.",
        )


def _plan(context: MechanismContext, parameters: SampledGeneralisation) -> MechanismPlan:
    own, missing = parameters, tuple(_missing(context, parameters))
    declared = all(fault.code == "database-too-small" for fault in missing)
    found, generalisations = (
        constants_of(context, own) if declared else None,
        generalisations_up_to_most(context),
    )
    of_delta = {} if found is None else _of_delta(found)
    return MechanismPlan(
        constants={} if found is None else _told(context, own, found),
        missing=missing,
        seconds=SECONDS,
        bytes=BYTES,
        guarantees=() if missing else (_guarantee(context, own, of_delta),),
        rows_per_record=own.sampling_rate,
        seconds_per_record=SECONDS_PER_RECORD * generalisations,
        bytes_per_record=bytes_per_record_of(context, own.sampling_rate),
        warnings=(
            *warnings_of_sample(scores_of(context, own), own),
            *(() if own.dictionary is None else (OF_DICTIONARY,)),
            *private_warnings(own.epsilon, own.delta, own.least_records),
        ),
    )


def _guarantee(
    context: MechanismContext, own: SampledGeneralisation, of_delta: Mapping[str, float]
) -> PrivacyGuarantee:
    promised = private_guarantee(context, own.epsilon, own.delta, of_delta, own.least_records)
    return resting_on(own.dictionary, promised)


def _of_delta(found: SampleConstants) -> dict[str, float]:
    return {
        "delta_of_frequent_set": found.of_frequent,
        "delta_of_sample_size": found.of_size,
        "delta_of_exchange": found.of_exchange,
    }


def _told(
    context: MechanismContext, asked: SampledGeneralisation, found: SampleConstants
) -> Mapping[str, float]:
    question, scores = _question(context, asked), scores_of(context, asked)
    told = {
        "generalisations": question.generalisations,
        "phi_least": scores.least_phi,
        "phi_greatest": scores.greatest_phi,
        "utility_greatest": scores.greatest_utility,
        "drift": found.drift,
        "exponent": found.exponent,
        "exponent_range": found.exponent_range,
        "exchange_factor": found.factor,
        "least_mass": found.mass,
        "crowd": found.crowd,
        "noise_scale": found.scale,
        "gap": found.gap,
        "threshold": found.threshold,
        "size_needed": found.size_needed,
        "records_needed": found.needed + 1,
        "epsilon_of_rounding": question.rounding,
        **_of_delta(found),
    }
    for rate in RATES_COMPARED:
        if rate < most_rate(question.epsilon):
            other = _constants(asked, scores, at_rate(question, rate, context.table.n_attributes))
            told[f"exponent_range_at_rate_{rate:g}"] = other.exponent_range
            told[f"threshold_at_rate_{rate:g}"] = other.threshold
            told[f"records_needed_at_rate_{rate:g}"] = other.needed + 1
    return told


def noisy_decision(found: SampleConstants, bits: Bits) -> Callable[[Longs], Bools]:
    """Which generalisations are frequent: of each the noise is drawn once."""

    def decide(counts: Longs) -> Bools:
        noise = two_sided_geometric(len(counts), Fraction(1, found.scale), bits)
        return np.asarray(counts + noise >= found.threshold)

    return decide


def exponents_of(scores: PublicScores, found: SampleConstants, records: int) -> Score:
    """E · f / m, for a table of m records."""

    def score(nodes: Sequence[Ints], counts: Longs) -> Floats:
        return np.asarray(found.exponent / records * scores.score(nodes, counts))

    return score


def score_of(context: MechanismContext, asked: SampledGeneralisation) -> Score:
    """The exponents that a draw of the table chooses by."""
    found, scores = constants_of(context, asked), scores_of(context, asked)
    if asked.dictionary is None:
        return exponents_of(scores, found, context.table.n_records)
    # E · (f − the least that f can be), counted in a dictionary: from 0 to the range that is declared
    dictionary = PublicDictionary.read(asked.dictionary, context, "/mechanism/dictionary")
    least = scores.least_score()

    def score(nodes: Sequence[Ints], counts: Longs) -> Floats:
        return np.asarray(found.exponent * (dictionary.worth(scores, nodes) - least))

    return score


def drawn_generalisations(
    records: GeneralisedRecords,
    rate: Fraction,
    decide: Callable[[Longs], Bools],
    score: Score,
    most_range: float,
    bits: Bits,
) -> tuple[Ints, ...]:
    """What is shown of the records that are sampled, per attribute, one row for each of them.

    A record of which every score is −∞ is not shown. ValueError, and nothing is drawn, if scores of a record
    differ by more than the range that the guarantee rests on.
    """
    of_record = np.repeat(np.arange(len(records.codes)), records.counts)
    shown = of_record[sampled(len(of_record), rate, bits)]
    wanted, row = numbered(shown)
    candidates = Candidates.of(records, wanted, decide, score)
    require_range(candidates.scores, most_range)
    row = row[np.isfinite(candidates.scores).any(axis=1)[row]]
    return candidates.nodes(row, chosen(candidates.scores, row, bits))


def _draw(
    context: MechanismContext, parameters: SampledGeneralisation, bits: Bits
) -> Drawn[PublishedSampledGeneralisation]:
    require(_supports(context, parameters))
    refuse((*_missing(context, parameters), *fewer_records(context, parameters)))
    found, score = constants_of(context, parameters), score_of(context, parameters)
    columns = drawn_generalisations(
        records_of(context), parameters.rate, noisy_decision(found, bits), score, found.exponent_range, bits
    )
    published = PublishedSampledGeneralisation(
        "add_or_remove_one_record",
        parameters.epsilon,
        parameters.delta,
        parameters.sampling_rate,
        generalisations_up_to_most(context),
        found.exponent_range,
        int(found.threshold),
        int(found.crowd),
    )
    return Drawn(columns, published)


def value_of(
    context: MechanismContext, parameters: SampledGeneralisation, released: Table | None = None
) -> ExpectedValue:
    """What a draw would be worth on average, whatever was drawn: for who may see the records alone."""
    require(_supports(context, parameters))
    refuse((*_missing(context, parameters), *fewer_records(context, parameters)))
    found, scores = constants_of(context, parameters), scores_of(context, parameters)
    worth: Score = scores.score
    exponent = found.exponent / context.table.n_records
    if parameters.dictionary is not None:
        known = PublicDictionary.read(parameters.dictionary, context, "/mechanism/dictionary")
        worth, exponent = lambda nodes, counts: known.worth(scores, nodes), found.exponent

    def in_doubt(counts: Longs) -> Floats:
        steps = np.where(counts >= found.threshold, counts - found.threshold + 1, found.threshold - counts)
        return np.asarray(np.exp(-steps / found.scale) / (1 + math.exp(-1 / found.scale)))

    return expected_value(
        records_of(context),
        parameters.sampling_rate,
        lambda counts: np.asarray(counts >= found.threshold),
        in_doubt,
        worth,
        exponent,
    )


SAMPLED_GENERALISATION: Final = Mechanism(
    name="sampled_generalisation",
    title="Sampled generalisation: some of the records, each as a frequent generalisation drawn by worth",
    source="Fouad (2012), section 6.4; McSherry and Talwar (2007); with noisy counts and a repaired proof",
    family="generalise",
    parameters=SampledGeneralisation,
    published=PublishedSampledGeneralisation,
    guarantees=(DIFFERENTIAL_PRIVACY,),
    constants=SAMPLED_CONSTANTS,
    supports=_supports,
    plan=_plan,
    draw=_draw,
    keeps_records=False,
    hides_records=True,
    bars=fewer_records,
    value=value_of,
)
