"""Stability histogram: combinations that occur are counted with exact noise, and published above a threshold.

Every record becomes what one public rule makes of it alone or, against a public dictionary, the one of its
generalisations that is of most worth. Each combination that occurs is counted, two-sided geometric noise is
added, and it is published as often as its noisy count says if that reaches the threshold (Korolova et al.
(2009); Bun et al. (2016)), with discrete noise.

What a record becomes follows from it and from what is public, so that it touches one combination. Where
others have the same, its count changes by one, which the noise covers by ε. Where it is alone, the
combination can be published only with it: with the probability α^(τ−1) / (1 + α), α = e^−ε, which is all of
δ, in both orders of neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Annotated, Final

import numpy as np
from annotated_types import Ge, Le, Len, doc

from app.domain.arrays import Ints, Longs
from app.domain.catalogue.catalogue_types import Example
from app.domain.classes.ratios import as_written
from app.domain.errors import Fault, InvalidInput, refuse
from app.domain.mechanisms.best_generalisations import ChoiceCost, best_generalisations
from app.domain.mechanisms.declared_samples import (
    DeclaredObjective,
    depths_of,
    faults_of_objective,
    generalisations_up_to_most,
    records_of,
    require,
    scores_of,
    why_unsampled,
)
from app.domain.mechanisms.exact_noise import two_sided_geometric
from app.domain.mechanisms.generalised_records import GeneralisedRecords
from app.domain.mechanisms.guarantee import PrivacyGuarantee
from app.domain.mechanisms.guarantee_models import DIFFERENTIAL_PRIVACY
from app.domain.mechanisms.mechanism import Bits, Drawn, Mechanism, MechanismContext, MechanismPlan
from app.domain.mechanisms.noise_law import NoiseLaw, not_less
from app.domain.mechanisms.plan_constants import STABILITY_CONSTANTS
from app.domain.mechanisms.private_release import (
    Delta,
    Epsilon,
    LeastRecords,
    PublishedNoisyCounts,
    RuleIsPublic,
    faults_of_delta,
    fewer_records,
    law_constants,
    private_guarantee,
    private_warnings,
    repeated,
    require_private,
    rule_faults,
    why_no_public_rule,
)
from app.domain.mechanisms.public_dictionary import (
    OF_DICTIONARY,
    Entities,
    PublicDictionary,
    faults_of_dictionary,
    require_entities,
    resting_on,
)
from app.domain.mechanisms.public_scores import LARGEST_NUMBER
from app.domain.mechanisms.rule_before import bytes_disclosed, disclosed
from app.domain.tables.distinct import distinct_rows

LIKELY: Final = Fraction(19, 20)
SECONDS: Final = 0.01
BYTES: Final = 16 * 1024**2
BYTES_PER_RECORD: Final = 10
BYTES_PER_VALUE: Final = 5
"""Of a record and each of its attributes, where all differ: beyond what as many published lines take."""
_DICTIONARY: Final = "/mechanism/dictionary"


@dataclass(frozen=True, kw_only=True)
class StabilityHistogram(DeclaredObjective):
    """How near neighbours are, what is declared of the data, and by what each record is generalised.

    What tells the worth of generalisations is for a dictionary alone.
    """

    epsilon: Epsilon
    delta: Delta
    least_records: LeastRecords
    rule_is_public: RuleIsPublic = False
    dictionary: Annotated[
        Entities | None,
        Len(1, 10_000),
        doc(
            "Attribute → its value of each entity that anybody can look up, known without the data. Each "
            "record is then counted as that of its generalisations x for which λ·|ρ(x)|/Φ(x) + u(x)^κ is "
            "greatest, |ρ(x)| being how many of these entities x stands for, at least 1; of equals, as the "
            "more general. At most 10,000 entities. Needs trade_off."
        ),
        Example(None),
    ] = None
    trade_off: Annotated[
        float,
        Ge(0),
        Le(LARGEST_NUMBER),
        doc(
            "With a dictionary: λ of its objective, above 0. The greater, the more general is what is "
            "counted."
        ),
        Example(0),
    ] = 0.0

    def __post_init__(self) -> None:
        require_private(self, self.epsilon)
        super().__post_init__()
        require_entities(self.dictionary)
        if (self.dictionary is None) == (self.trade_off > 0):
            raise InvalidInput.of(
                "/trade_off",
                "without-the-other",
                "A dictionary and a trade_off above 0 are given together, or neither.",
                "Give both, or leave both out.",
            )
        if self.dictionary is None and self._is_weighed:
            raise InvalidInput.of(
                "/dictionary",
                "without-the-other",
                "Without a dictionary no generalisation is chosen, and nothing is weighed.",
                "Give a dictionary, or leave out sensitivity, phi_offset, utility and kappa.",
            )

    @property
    def _is_weighed(self) -> bool:
        plain = DeclaredObjective(trade_off=0.0)
        return any(getattr(self, own.name) != getattr(plain, own.name) for own in fields(plain))

    @property
    def without_choice(self) -> StabilityHistogram:
        """The same of records as they are under the rule."""
        return StabilityHistogram(
            epsilon=self.epsilon,
            delta=self.delta,
            least_records=self.least_records,
            rule_is_public=self.rule_is_public,
        )

    @property
    def law(self) -> NoiseLaw:
        """The noise."""
        return NoiseLaw(as_written(self.epsilon))

    @property
    def threshold(self) -> int:
        """τ: from which noisy count on a combination is published."""
        return self.law.threshold(as_written(self.delta))

    @property
    def delta_of_threshold(self) -> float:
        """With this probability, and none above delta, a combination of one record reaches the threshold."""
        return min(not_less(self.law.tail(self.threshold - 1)), self.delta)

    @property
    def rows_of_noise(self) -> float:
        """Rows that are expected beyond its own of a record, at most.

        Alone it is published with δ, as τ + 1 / ε rows or fewer: above τ a noisy count is geometric.
        Of a combination near the threshold noise adds 1 / (2ε) rows to τ records. Between these it is less,
        but for a rise behind the threshold that is far below a factor of 2.
        """
        alone = self.delta_of_threshold * (self.threshold + 1 / self.epsilon)
        return max(alone, 1 / (self.epsilon * self.threshold))


@dataclass(frozen=True, eq=False)
class PublishedStability(PublishedNoisyCounts):
    """What is told beside the rows."""

    why_not_counted = (
        "combinations whose noisy count is below the threshold are missing, and nothing that is published "
        "tells how many records they have"
    )
    threshold: Annotated[int, doc("A combination is published if its noisy count is at least this.")]
    delta_of_threshold: Annotated[float, doc("What the threshold takes of δ; nothing else takes any.")]


def _supports(context: MechanismContext, parameters: StabilityHistogram) -> str | None:
    return why_no_public_rule(context) if parameters.dictionary is None else why_unsampled(context)


def _missing(context: MechanismContext, parameters: StabilityHistogram) -> Iterator[Fault]:
    yield from rule_faults(context, parameters.rule_is_public)
    yield from faults_of_delta(parameters.delta, parameters.least_records)
    if parameters.dictionary is not None:
        yield from faults_of_objective(context, parameters)
        unfit = tuple(faults_of_dictionary(parameters.dictionary, context, _DICTIONARY))
        yield from unfit
        if not unfit:
            PublicDictionary.read(parameters.dictionary, context, _DICTIONARY)


def _plan(context: MechanismContext, parameters: StabilityHistogram) -> MechanismPlan:
    missing, law, own = tuple(_missing(context, parameters)), parameters.law, parameters
    choice, likely = _choice(context, own), law.reaching(own.threshold, LIKELY)
    return MechanismPlan(
        constants={
            **law_constants(law),
            "threshold": own.threshold,
            "delta_of_threshold": own.delta_of_threshold,
            "count_likely": likely,
            **({} if choice is None else {"generalisations": choice.generalisations}),
        },
        missing=missing,
        seconds=SECONDS + (0.0 if choice is None else choice.seconds),
        bytes=BYTES + (0 if choice is None else choice.bytes),
        guarantees=() if missing else (_guarantee(context, own),),
        rows_per_record=1 + own.rows_of_noise,
        seconds_per_record=0.0 if choice is None else choice.seconds_per_record,
        bytes_per_record=BYTES_PER_RECORD
        + BYTES_PER_VALUE * context.table.n_attributes
        + bytes_disclosed(context),
        warnings=(
            f"Combinations of few records are lost: one of {own.threshold:,} records is published with a "
            f"probability of {float(law.tail(0)):.3g}, one of {likely:,} with at least 0.95. If no "
            "combination of all columns has so many, the table is empty: choose more general levels, or "
            "disclose fewer columns.",
            *(() if choice is None else (OF_DICTIONARY,)),
            *private_warnings(own.epsilon, own.delta, own.least_records),
        ),
    )


def _choice(context: MechanismContext, own: StabilityHistogram) -> ChoiceCost | None:
    if own.dictionary is None:
        return None
    entities = max(map(len, own.dictionary.values()))
    trees = context.table.hierarchies
    nodes = sum(own.n_nodes * (depth + 1) for own, depth in zip(trees, depths_of(context), strict=True))
    return ChoiceCost(generalisations_up_to_most(context), entities, len(trees), nodes)


def _guarantee(context: MechanismContext, own: StabilityHistogram) -> PrivacyGuarantee:
    of_delta = {"delta_of_threshold": own.delta_of_threshold}
    promised = private_guarantee(context, own.epsilon, own.delta, of_delta, own.least_records)
    return resting_on(own.dictionary, promised)


def published_counts(counts: Longs, noise: Longs, threshold: int) -> Longs:
    """How often each combination is published: its noisy count from the threshold on, else not at all."""
    noisy = counts + noise
    noisy[noisy < threshold] = 0
    return noisy


def best_of(
    context: MechanismContext, asked: StabilityHistogram, dictionary: Entities
) -> tuple[GeneralisedRecords, tuple[Ints, ...]]:
    """The distinct records, and per attribute the node of what each becomes against the dictionary."""
    scores, records = scores_of(context, asked), records_of(context)
    known = PublicDictionary.read(dictionary, context, _DICTIONARY)
    return records, best_generalisations(records, known, scores)


def cells_of(context: MechanismContext, asked: StabilityHistogram) -> tuple[Ints, Longs]:
    """(cells, attributes) nodes of the combinations that occur, and how many records become each."""
    table = context.table
    if asked.dictionary is None:
        shown = disclosed(context)
        rows = distinct_rows([shown[:, j] for j in range(shown.shape[1])], table.sizes, table.n_records)
        return rows.codes, rows.counts
    records, best = best_of(context, asked, asked.dictionary)
    rows = distinct_rows(list(best), table.sizes, len(records.codes))
    return rows.codes, np.bincount(rows.inverse, records.counts, rows.size).astype(np.int64)


def _draw(context: MechanismContext, parameters: StabilityHistogram, bits: Bits) -> Drawn[PublishedStability]:
    require(_supports(context, parameters))
    refuse((*_missing(context, parameters), *fewer_records(context, parameters)))
    cells, of_cells = cells_of(context, parameters)
    noise = two_sided_geometric(len(cells), parameters.law.epsilon, bits)
    counts = published_counts(of_cells, noise, parameters.threshold)
    published = PublishedStability(
        "add_or_remove_one_record",
        parameters.epsilon,
        parameters.delta,
        parameters.threshold,
        parameters.delta_of_threshold,
    )
    columns = [cells[:, j] for j in range(context.table.n_attributes)]
    return Drawn(repeated(columns, counts), published)


STABILITY_HISTOGRAM: Final = Mechanism(
    name="stability_histogram",
    title="Stability histogram: combinations that occur, counted with noise and published above a threshold",
    source="Korolova et al. (2009); Bun et al. (2016); with exact discrete noise",
    family="noise",
    parameters=StabilityHistogram,
    published=PublishedStability,
    guarantees=(DIFFERENTIAL_PRIVACY,),
    constants=STABILITY_CONSTANTS,
    supports=_supports,
    plan=_plan,
    draw=_draw,
    keeps_records=False,
    hides_records=True,
    bars=fewer_records,
)
