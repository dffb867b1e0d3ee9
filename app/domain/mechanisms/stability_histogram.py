"""Stability histogram: combinations that occur are counted with exact noise, and published above a threshold.

Every record becomes what one public rule makes of it alone. Each combination that occurs is counted,
two-sided geometric noise is added, and it is published as often as its noisy count says if that reaches the
threshold (Korolova et al. (2009); Bun et al. (2016)), with discrete noise.

A record touches one combination. Where others have the same, its count changes by one, which the noise covers
by ε. Where it is alone, the combination can be published only with it: with the probability
α^(τ−1) / (1 + α), α = e^−ε, which is all of δ, in both orders of neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Final

from annotated_types import doc

from app.domain.arrays import Longs
from app.domain.classes.ratios import as_written
from app.domain.errors import Fault, NotSupported, refuse
from app.domain.mechanisms.exact_noise import two_sided_geometric
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
from app.domain.mechanisms.rule_before import disclosed
from app.domain.tables.distinct import distinct_rows

LIKELY: Final = Fraction(19, 20)
SECONDS: Final = 0.01
BYTES: Final = 16 * 1024**2


@dataclass(frozen=True, kw_only=True)
class StabilityHistogram:
    """How near neighbours are, and what is declared of the data."""

    epsilon: Epsilon
    delta: Delta
    least_records: LeastRecords
    rule_is_public: RuleIsPublic = False

    def __post_init__(self) -> None:
        require_private(self, self.epsilon)

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
    return why_no_public_rule(context)


def _missing(context: MechanismContext, parameters: StabilityHistogram) -> Iterator[Fault]:
    yield from rule_faults(context, parameters.rule_is_public)
    yield from faults_of_delta(parameters.delta, parameters.least_records)


def _bars(context: MechanismContext, parameters: StabilityHistogram) -> tuple[Fault, ...]:
    return fewer_records(context, parameters.least_records)


def _plan(context: MechanismContext, parameters: StabilityHistogram) -> MechanismPlan:
    missing, law, own = tuple(_missing(context, parameters)), parameters.law, parameters
    of_delta = {"delta_of_threshold": own.delta_of_threshold}
    return MechanismPlan(
        constants={
            **law_constants(law),
            "threshold": own.threshold,
            "delta_of_threshold": own.delta_of_threshold,
            "count_likely": law.reaching(own.threshold, LIKELY),
        },
        missing=missing,
        seconds=SECONDS,
        bytes=BYTES,
        guarantees=()
        if missing
        else (private_guarantee(context, own.epsilon, own.delta, of_delta, own.least_records),),
        rows_per_record=1 + own.rows_of_noise,
        warnings=(*_of_threshold(own), *private_warnings(own.epsilon, own.delta, own.least_records)),
    )


def _of_threshold(own: StabilityHistogram) -> Iterator[str]:
    likely = own.law.reaching(own.threshold, LIKELY)
    chance = float(own.law.tail(0))
    yield (
        f"Combinations of few records are lost: one of {own.threshold:,} records is published with a "
        f"probability of {chance:.3g}, one of {likely:,} with at least 0.95. If no combination of all "
        "columns has so many, the table is empty: choose more general levels, or disclose fewer columns."
    )


def published_counts(counts: Longs, noise: Longs, threshold: int) -> Longs:
    """How often each combination is published: its noisy count from the threshold on, else not at all."""
    noisy = counts + noise
    noisy[noisy < threshold] = 0
    return noisy


def _draw(context: MechanismContext, parameters: StabilityHistogram, bits: Bits) -> Drawn[PublishedStability]:
    reason = _supports(context, parameters)
    if reason is not None:
        raise NotSupported.because(reason)
    refuse((*_missing(context, parameters), *_bars(context, parameters)))
    shown, table = disclosed(context), context.table
    cells = distinct_rows([shown[:, j] for j in range(shown.shape[1])], table.sizes, table.n_records)
    noise = two_sided_geometric(cells.size, parameters.law.epsilon, bits)
    counts = published_counts(cells.counts, noise, parameters.threshold)
    published = PublishedStability(
        "add_or_remove_one_record",
        parameters.epsilon,
        parameters.delta,
        parameters.threshold,
        parameters.delta_of_threshold,
    )
    columns = [cells.codes[:, j] for j in range(table.n_attributes)]
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
    bars=_bars,
)
