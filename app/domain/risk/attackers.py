"""Attackers of whom only a set of possible dictionaries is known (Definitions: unknown dictionaries).

Bayes risk is the expectation over a prior; the worst case is the greatest risk over the dictionaries, either
of the rule as a whole or record by record.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Literal

import numpy as np

from app.domain.arrays import Floats, Ints
from app.domain.counting.counter import Counter
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.errors import InvalidInput
from app.domain.risk.assessment import Assessment, Monotone, assess
from app.domain.risk.loss import AbsentPolicy
from app.domain.risk.models import MODEL_I, RiskModel
from app.domain.risk.summaries import mean, quantiles
from app.domain.risk.utility import Utility
from app.domain.rules.rule import Rule
from app.domain.sensitivity.sensitivity import Sensitivity
from app.domain.tables.table import Table

View = Literal["known", "estimated", "bayes", "worst_case", "worst_case_per_record"]
PRIOR_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class DictionarySet:
    """Θ: dictionaries that the attacker may have, and how probable each is taken to be.

    ``prior`` is ≥ 0 and sums to 1 up to 1e-9 (InvalidInput otherwise); None: no prior, and no Bayes risk.
    """

    dictionaries: tuple[Dictionary, ...]
    prior: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if not self.dictionaries:
            raise InvalidInput.of(
                "/dictionaries", "empty", "The set has no dictionaries.", "Name at least one."
            )
        if self.prior is None:
            return
        if len(self.prior) != len(self.dictionaries):
            raise InvalidInput.of(
                "/prior", "wrong-shape", "The prior does not have one probability per dictionary."
            )
        if not all(0 <= q <= 1 + PRIOR_TOLERANCE for q in self.prior):
            raise InvalidInput.of(
                "/prior", "out-of-range", "A probability of the prior is not in 0..1.", "Give values in 0..1."
            )
        if abs(math.fsum(self.prior) - 1) > PRIOR_TOLERANCE:
            raise InvalidInput.of(
                "/prior",
                "not-normalised",
                f"The prior sums to {math.fsum(self.prior):.12g}, not to 1.",
                "Scale the probabilities so that they sum to 1.",
            )


@dataclass(frozen=True, eq=False)
class ViewScore:
    """The risk of one rule in one view of the attacker.

    ``at_average``, ``at_max`` and ``at_min`` are the positions in the set of the dictionaries that attain the
    three risks (the first of several); None for Bayes risk, and for the average over records of which each
    has a worst dictionary of its own. ``row_max`` and ``row_min`` are the first records, from 0, of the
    greatest and the least risk, under these dictionaries where there are any. ``loss`` is the risk of each
    record (n,): expected over the prior, or under the dictionary ``at`` (n,) that is worst, of the rule or of
    the record. ``monotone`` are the hypotheses (Definitions: monotonicity) for all dictionaries
    that count.
    """

    view: View
    risk_average: float
    risk_max: float
    risk_min: float
    loss_quantiles: Mapping[float, float]
    at_average: int | None
    at_max: int | None
    at_min: int | None
    row_max: int
    row_min: int
    infinite: int
    monotone: Monotone
    loss: Floats
    at: Ints | None


@dataclass(frozen=True, eq=False)
class SetAssessment:
    """The score of one rule against a set of dictionaries: under each, and in every view of the set."""

    assessments: tuple[Assessment, ...]
    prior: tuple[float, ...] | None
    bayes: ViewScore | None
    worst_case: ViewScore
    worst_case_per_record: ViewScore

    def view(self, view: View) -> ViewScore:
        """The score in a view of the set; InvalidInput for Bayes risk without a prior."""
        if view == "worst_case":
            return self.worst_case
        if view == "worst_case_per_record":
            return self.worst_case_per_record
        if view != "bayes":
            raise InvalidInput.of(
                "/attacker_view",
                "view-of-one",
                f"The view {view} is that of a single dictionary.",
                "Choose bayes, worst_case or worst_case_per_record for a set.",
            )
        if self.bayes is None:
            raise InvalidInput.of(
                "/attacker_view", "no-prior", "Bayes risk needs a prior.", "Give the set of dictionaries one."
            )
        return self.bayes


def assess_set(
    table: Table,
    rule: Rule,
    dictionaries: DictionarySet,
    sensitivity: Sensitivity,
    utility: Utility,
    absent_policy: AbsentPolicy = "zero",
    *,
    failure: Sensitivity | None = None,
    model: RiskModel = MODEL_I,
) -> SetAssessment:
    """Score a rule against every dictionary of a set; the parameters are those of :func:`assess`.

    Infinite values (Definitions: loss) are treated per record and dictionary, before anything is averaged. A
    dictionary of prior 0 is ignored by Bayes risk, not by the worst case.
    """
    counters = [Counter(table, dictionary) for dictionary in dictionaries.dictionaries]
    for counter in counters[1:]:
        counter.of_table_itself = counters[0].of_table_itself
    found = tuple(
        assess(
            table,
            rule,
            counter.dictionary,
            sensitivity,
            utility,
            absent_policy,
            failure=failure,
            model=model,
            counter=counter,
        )
        for counter in counters
    )
    mass = np.ones(table.n_records) if table.weights is None else table.weights
    losses = np.stack([assessment.records.loss for assessment in found])
    prior, bayes = dictionaries.prior, None
    if prior is not None:
        counting = [assessment for assessment, q in zip(found, prior, strict=True) if q > 0]
        bayes = _of_records("bayes", expected_loss(losses, prior), None, mass, _all_of(counting))
    at = losses.argmax(axis=0).astype(np.int32)
    worst: Floats = losses[at, np.arange(table.n_records)]
    per_record = _of_records("worst_case_per_record", worst, at, mass, _all_of(found))
    return SetAssessment(found, prior, bayes, _worst_case(found, losses), per_record)


def expected_loss(losses: Floats, prior: tuple[float, ...]) -> Floats:
    """Σ_θ q(θ)·ℓ_θ per column of losses (dictionaries, n), with 0·∞ = 0; the prior is scaled to sum to 1."""
    total = math.fsum(prior)
    expected = np.zeros(losses.shape[1])
    for q, loss in zip(prior, losses, strict=True):
        if q > 0:
            expected += q / total * loss
    return expected


def _worst_case(found: tuple[Assessment, ...], losses: Floats) -> ViewScore:
    """Per rule: the greatest of each figure over the dictionaries."""
    at_average = int(np.argmax([assessment.risk_average for assessment in found]))
    at_max = int(np.argmax([assessment.risk_max for assessment in found]))
    at_min = int(np.argmax([assessment.risk_min for assessment in found]))
    worst = found[at_average]
    return ViewScore(
        view="worst_case",
        risk_average=worst.risk_average,
        risk_max=found[at_max].risk_max,
        risk_min=found[at_min].risk_min,
        loss_quantiles=worst.loss_quantiles,
        at_average=at_average,
        at_max=at_max,
        at_min=at_min,
        row_max=found[at_max].extremes.risk_max,
        row_min=found[at_min].extremes.risk_min,
        infinite=worst.infinite,
        monotone=_all_of(found),
        loss=losses[at_average],
        at=np.full(losses.shape[1], at_average, dtype=np.int32),
    )


def _of_records(view: View, loss: Floats, at: Ints | None, mass: Floats, monotone: Monotone) -> ViewScore:
    counted = np.flatnonzero(mass > 0)
    greatest, least = counted[loss[counted].argmax()], counted[loss[counted].argmin()]
    return ViewScore(
        view=view,
        risk_average=mean(loss, mass),
        risk_max=float(loss[greatest]),
        risk_min=float(loss[least]),
        loss_quantiles=quantiles(loss, mass),
        at_average=None,
        at_max=None if at is None else int(at[greatest]),
        at_min=None if at is None else int(at[least]),
        row_max=int(greatest),
        row_min=int(least),
        infinite=int(np.isposinf(loss).sum()),
        monotone=monotone,
        loss=loss,
        at=at,
    )


def _all_of(found: Sequence[Assessment]) -> Monotone:
    names = [own.name for own in fields(Monotone) if own.init]
    return Monotone(*(all(getattr(own.monotone, name) for own in found) for name in names))
