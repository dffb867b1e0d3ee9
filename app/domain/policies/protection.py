"""Whether a requirement protects anybody.

It does not if the table as it is, every record alone in its class and found by whoever looks for it, keeps
it as well. Then the requirement says nothing of the columns that it looks at, whatever it is called.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from app.domain.errors import InvalidInput, NotSupported
from app.domain.models.criterion import Criterion
from app.domain.models.judging import AloneRecords
from app.domain.risk.models import RiskModel
from app.domain.sensitivity.sensitivity import Sensitivity
from app.domain.tables.numbers import highest_accepted
from app.domain.tables.table import Table


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


def model_protects(model: Criterion, worst: WorstCase | None, failing_share: float = 0.0) -> bool:
    """Whether more than the allowed share of the records would fail if every record were alone."""
    if failing_share >= 1 or model.asks_nothing:
        return False
    if worst is None:
        return True
    allowed = failing_share * int(worst.alone.amounts.sum())
    failing = failing_records(model, worst)
    return failing is None or failing > highest_accepted(allowed)


def values_protected(model: Criterion, worst: WorstCase | None) -> bool:
    """Whether a criterion that also asks for classes of some size asks anything of the sensitive values."""
    alone = model.of_values_alone
    if alone is model or not model.is_of_values:
        return model.is_of_values
    if alone.asks_nothing:
        return False
    return worst is None or failing_records(alone, worst) != 0


def risk_cap_protects(cap: float, worst: WorstCase | None) -> bool:
    """Whether a cap on the risk is below the greatest that there can be."""
    return worst is None or cap < worst.greatest_loss


def failing_records(model: Criterion, worst: WorstCase) -> int | None:
    """How many of the records fail if every one is alone; None if that cannot be told."""
    try:
        failing = model.failing_alone(worst.alone)
    except (InvalidInput, NotSupported):
        return None
    return int(worst.alone.amounts[failing].sum())
