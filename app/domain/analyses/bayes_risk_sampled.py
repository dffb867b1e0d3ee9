"""Bayes risk over a drawn dictionary: mean over samples (Definitions: unknown dictionaries)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final

from annotated_types import Len, doc

from app.domain.analyses.scoring import score_of
from app.domain.catalogue.catalogue_types import DictionaryRef
from app.domain.catalogue.meanings import FROM_ZERO, LOSS, LOW, LOW_ASIDE, RISK
from app.domain.counting.counter import Counter
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick, given
from app.domain.risk.assessment import Assessment, estimate_cost
from app.domain.tables.numbers import exact_sum


@dataclass(frozen=True)
class SampledBayesParameters:
    """The samples of the attacker's dictionary."""

    dictionaries: Annotated[
        tuple[DictionaryRef, ...],
        Len(2, 200),
        doc("Dictionaries drawn independently from what is believed of the attacker's; one that was drawn "
            "twice is named twice."),
    ]  # fmt: skip


@dataclass(frozen=True)
class SampleRisk:
    """Risk against one sample."""

    dictionary: Annotated[str, doc("The sample.")]
    risk: Annotated[float, doc("Mean loss over records.")]
    risk_max: Annotated[float, doc("Greatest loss of a record.")]
    absent: Annotated[int, doc("Records that no entity of the sample is consistent with.")]
    row_of_risk_max: Annotated[
        int | None,
        doc("The record of risk_max, the first of equals, as a row of the dataset from 1; null: measured "
            "before it was told."),
    ] = None  # fmt: skip


@dataclass(frozen=True)
class SampledBayesRisk:
    """Estimated Bayes risk and what the choice of samples may have done to it."""

    risk: Annotated[float, RISK, doc("Mean of the samples' risks; infinite if that of any is.")]
    standard_error: Annotated[
        float | None,
        FROM_ZERO,
        doc("Standard error of `risk`, by the spread of the samples; null if it is infinite."),
    ]
    risk_max: Annotated[float, RISK, doc("Greatest loss of a record against any sample.")]
    least: Annotated[float, LOSS, LOW_ASIDE, doc("Risk against the sample with the least.")]
    greatest: Annotated[
        float, LOSS, LOW, doc("Risk against the sample with the greatest: the worst of those drawn.")
    ]
    samples: Annotated[tuple[SampleRisk, ...], doc("Every sample in the order given.")]
    row_of_risk_max: Annotated[
        int | None, doc("The record of risk_max against the first sample that has it; null as above.")
    ] = None


def mean_and_standard_error(risks: list[float]) -> tuple[float, float | None]:
    """Mean of two or more risks and its standard error, which is None if the mean is infinite."""
    n = len(risks)
    mean = exact_sum(risks) / n
    if math.isinf(mean):
        return mean, None
    return mean, math.sqrt(exact_sum([(risk - mean) ** 2 for risk in risks]) / (n - 1) / n)


def _compute(context: MeasureContext, parameters: SampledBayesParameters, tick: Tick) -> SampledBayesRisk:
    found: dict[str, Assessment] = {}
    for ref, counter in _counters(context, parameters):
        found[ref] = score_of(context, given(context.rule), counter)
        tick(len(found))
    scores = [found[ref] for ref in parameters.dictionaries]
    risks = [score.risk_average for score in scores]
    risk, error = mean_and_standard_error(risks)
    worst = max(scores, key=lambda score: score.risk_max)
    return SampledBayesRisk(
        risk=risk,
        standard_error=error,
        risk_max=worst.risk_max,
        least=min(risks),
        greatest=max(risks),
        samples=tuple(
            SampleRisk(ref, score.risk_average, score.risk_max, score.absent, score.extremes.risk_max + 1)
            for ref, score in zip(parameters.dictionaries, scores, strict=True)
        ),
        row_of_risk_max=worst.extremes.risk_max + 1,
    )


def _counters(context: MeasureContext, parameters: SampledBayesParameters) -> Iterator[tuple[str, Counter]]:
    """A counter for each sample that is named, once; all share the one of the table against itself."""
    itself: Counter | None = None
    for ref in dict.fromkeys(parameters.dictionaries):
        counter = Counter(context.table, context.dictionaries[ref], context.memory_ceiling)
        if itself is None:
            itself = counter.of_table_itself
        counter.of_table_itself = itself
        yield ref, counter


def _supports(context: MeasureContext, parameters: SampledBayesParameters) -> str | None:
    if context.absent_policy != "add_self":
        return None
    if all(context.dictionaries[ref].comparable_ids for ref in parameters.dictionaries):
        return None
    return (
        "The absent policy add_self needs identifiers that mean the same entities in the dataset and in "
        "every sample; declare same_entities_as, or choose another absent policy."
    )


def _cost(context: MeasureContext, parameters: SampledBayesParameters) -> Cost:
    costs = [
        estimate_cost(counter, given(context.rule), given(context.sensitivity))
        for _, counter in _counters(context, parameters)
    ]
    greatest = max(costs, key=lambda cost: cost.seconds)
    return Cost(
        sum(cost.seconds for cost in costs), max(cost.bytes for cost in costs), len(costs), greatest.engine
    )


BAYES_RISK_SAMPLED: Final = Measure(
    name="bayes_risk_sampled",
    title="Bayes risk over sampled dictionaries",
    source="Definitions: unknown dictionaries",
    guarantee="statistical",
    parameters=SampledBayesParameters,
    result=SampledBayesRisk,
    needs=frozenset({"rule", "sensitivity"}),
    supports=_supports,
    cost=_cost,
    compute=_compute,
    example=Example(
        "what is the risk on average over attackers drawn at random?",
        "proposal-sampled-attackers",
        rule="proposal",
        sensitivity="members-harm",
        parameters={"dictionaries": ["census", "members-themselves", "register"]},
    ),
)
