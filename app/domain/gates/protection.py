"""Whether a requirement protects anybody: the one place that decides it of every threshold.

It does not if the table as it is, every record alone in its class and found by whoever looks for it, keeps
it as well. Then the requirement says nothing of the columns that it looks at, whatever it is called.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from app.documents import built
from app.domain.catalogue.result_values import ResultValue
from app.domain.errors import InvalidInput, NotSupported
from app.domain.models.beta_likeness import LEAST, BetaLikeness
from app.domain.models.criteria import CRITERIA
from app.domain.models.criterion import Criterion
from app.domain.models.judging import AloneRecords
from app.domain.policies.guarantee_bounds import bounds_of
from app.domain.policies.objectives import criterion_of
from app.domain.policies.policy import (
    GuaranteeCondition,
    MeasureCondition,
    PrivacyModelCondition,
    ScoreCondition,
)
from app.domain.policies.requirements import MEASURE_OF, value_of
from app.domain.risk.models import RiskModel
from app.domain.sensitivity.sensitivity import Sensitivity
from app.domain.tables.numbers import highest_accepted
from app.domain.tables.table import Table

_SIDES: Final = {"at_most": "low", "below": "low", "at_least": "high", "above": "high"}
_INCLUSIVE: Final = ("at_least", "at_most", "equals")


@dataclass(frozen=True, eq=False)
class WorstCase:
    """What a dataset is like if nobody is protected.

    Attributes
    ----------
    alone
        Its records with every one alone in its class.
    greatest_loss
        The greatest finite loss that the weights of the harm allow for any of its records.
    """

    alone: AloneRecords
    greatest_loss: float = math.inf


def greatest_loss(
    table: Table, sensitivity: Sensitivity, failure: Sensitivity | None, model: RiskModel, n_entities: int
) -> float:
    """The greatest finite loss of a record that is disclosed as it is and found, or taken for another.

    ``n_entities`` are those of the largest dictionary; who adds the record itself has one more. 0 if no loss
    is finite.
    """
    ones = np.ones(table.n_records, dtype=np.int64)
    phi = sensitivity.phi(table.codes, sensitivity.groups)
    losses = [model.of(ones, phi, None, n_entities + 1)]
    if failure is not None:
        losses.append(failure.phi(table.codes, failure.groups))
    return max((float(own[np.isfinite(own)].max(initial=0.0)) for own in losses), default=0.0)


def model_protects(condition: PrivacyModelCondition, model: Criterion, worst: WorstCase | None) -> bool:
    """Whether more than the allowed share of the records would fail if every record were alone."""
    if condition.failing_share >= 1 or model.asks_nothing:
        return False
    if worst is None:
        return True
    amounts = worst.alone.amounts
    allowed = condition.failing_share * int(amounts.sum())
    failing = _failing_records(model, worst)
    return failing is None or failing > highest_accepted(allowed)


def guarantee_protects(condition: GuaranteeCondition, worst: WorstCase | None) -> bool:
    """Whether records that are all alone would not keep the least that the requirement asks for.

    A guarantee of a model that is no criterion of classes protects if some of its numbers, or all where none
    bounds anything alone, is bounded by less than would single out one record of all. InvalidInput for a
    requirement that cannot be understood.
    """
    bounds = bounds_of(condition)
    if not bounds.model.is_of_single_records:
        return False
    least = bounds.loosest()
    if condition.model not in {own.kind for own in CRITERIA}:
        records = math.inf if worst is None else max(2, worst.alone.table_records())
        below = [least[name] < of(records) for name, of in bounds.model.undone.items()]
        return all(below) if below and bounds.model.needs_all else any(below)
    model = criterion_of(condition.model, least)
    if model.asks_nothing:
        return False
    return worst is None or _failing_records(model, worst) != 0


def values_protected(model: Criterion, worst: WorstCase | None) -> bool:
    """Whether a criterion that also asks for classes of some size asks anything of the sensitive values."""
    alone = model.of_values_alone
    if alone is model or not model.is_of_values:
        return model.is_of_values
    if alone.asks_nothing:
        return False
    return worst is None or _failing_records(alone, worst) != 0


def risk_cap_protects(cap: float, worst: WorstCase | None) -> bool:
    """Whether a cap on the risk is below the greatest that there can be."""
    return worst is None or cap < worst.greatest_loss


def threshold_protects(condition: MeasureCondition | ScoreCondition, worst: WorstCase | None) -> bool:
    """Whether a threshold is on the side on which people are safer, and beyond what the worst case keeps."""
    value = value_of(condition)
    if value is None or value.marks.safer is None or value.marks.if_alone == "good":
        return False
    side = value.marks.safer
    if condition.comparison != "equals" and _SIDES[condition.comparison] != side:
        return False
    if isinstance(condition.threshold, bool) and condition.threshold != (side == "high"):
        return False
    if value.marks.if_alone == "fails" and isinstance(condition, MeasureCondition):
        return _parameters_protect(condition, value, worst)
    if isinstance(condition.threshold, bool):
        return True
    reached = _if_alone(condition, value, worst)
    strictly = condition.comparison not in _INCLUSIVE
    if side == "high":
        return condition.threshold >= reached if strictly else condition.threshold > reached
    return condition.threshold <= reached if strictly else condition.threshold < reached


def _if_alone(
    condition: MeasureCondition | ScoreCondition, value: ResultValue, worst: WorstCase | None
) -> float:
    """The worst that the value can be: what it is, or a bound of it, if every record is alone."""
    possible, marks = value.range({}), value.marks
    if marks.safer == "high":
        return 1.0 if marks.if_alone == "one" else possible.least
    bounds = [possible.greatest]
    if worst is not None:
        if marks.if_alone == "loss":
            bounds.append(worst.greatest_loss)
        elif value.kind == "whole number":
            bounds.append(worst.alone.table_records())
        if marks.if_alone in ("gain", "ratio") and isinstance(condition, MeasureCondition):
            bounds.append(_greatest_gain(condition, worst) + (marks.if_alone == "ratio"))
    return min(bounds)


def _greatest_gain(condition: MeasureCondition, worst: WorstCase) -> float:
    parameters = condition.parameters
    groups = parameters.get("groups")
    try:
        found = BetaLikeness(
            LEAST,
            "basic",
            parameters.get("attribute"),
            None if groups is None else tuple(groups),
            parameters.get("values_in_groups", "bounded"),
        ).attained(worst.alone)
    except (InvalidInput, NotSupported):
        return math.inf
    return math.inf if found is None else found


def _parameters_protect(condition: MeasureCondition, value: ResultValue, worst: WorstCase | None) -> bool:
    """Whether the measure's own parameters ask for something, and the threshold lets not everybody fail."""
    measure, threshold = MEASURE_OF[condition.measure], condition.threshold
    if measure.judges is None:
        return True
    model = measure.judges(built(measure.parameters, condition.parameters), condition.value)
    if model is None:
        return True
    if model.asks_nothing:
        return False
    failing = None if worst is None else _failing_records(model, worst)
    if failing is None or worst is None:
        return True
    if isinstance(threshold, bool):
        return failing > 0
    most = failing / worst.alone.table_records() if value.kind == "number" else failing
    return threshold <= most if condition.comparison == "below" else threshold < most


def _failing_records(model: Criterion, worst: WorstCase) -> int | None:
    """How many of the records fail if every one is alone; None if that cannot be told."""
    try:
        failing = model.failing_alone(worst.alone)
    except (InvalidInput, NotSupported):
        return None
    return int(worst.alone.amounts[failing].sum())
