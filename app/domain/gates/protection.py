"""Whether a requirement protects anybody: the one place that decides it of every threshold.

It does not if the table as it is, every record alone in its class and found by whoever looks for it, keeps
it as well. Then the requirement says nothing of the columns that it looks at, whatever it is called.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from app.domain.criteria.alone import AloneRecords
from app.domain.criteria.anonymity import KAnonymity
from app.domain.criteria.closeness import TCloseness
from app.domain.criteria.criterion import Criterion
from app.domain.criteria.disclosure import AlphaKAnonymity, NpdRecursiveLDiversity
from app.domain.criteria.gains import LEAST, BetaLikeness, DeltaDisclosure
from app.domain.criteria.population import DeltaPresence, HighestRisk, KMap
from app.domain.errors import InvalidInput, NotSupported
from app.domain.harm.sensitivity import Sensitivity
from app.domain.numbers import highest_accepted
from app.domain.policies.building import built
from app.domain.policies.demands import MEASURE_OF, value_of
from app.domain.policies.meanings import range_of, safer
from app.domain.policies.nothing_asked import asks_nothing
from app.domain.policies.policy import MeasureDemand, PrivacyModelDemand, ScoreDemand
from app.domain.risk.models import RiskModel
from app.domain.tables import Table

_SIDES: Final = {"at_most": "low", "below": "low", "at_least": "high", "above": "high"}
_INCLUSIVE: Final = ("at_least", "at_most", "equals")


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_OF_NOBODY: Final = _names(
    """
    utility utility_average utility_min utility_change information_loss_average information_loss_max
    records_suppressed cells_withheld absent infinite infinite_records infinite_losses infinite_at_most
    increase risk_change risk_min interval.low interval_guaranteed.low least target.is_confident
    """
)
"""Values that are good where nobody is protected.

They are of usefulness, of gaps of the dictionary, of prohibited values, of one release compared with another,
of the record that is safest, of a bound from below, or of one chosen person.
"""

_ONE_IF_ALONE: Final = _names(
    """
    k k_equivalence k_matching k_population min_consistent fewest_candidates mean_candidates mean_size
    mean_size_of_records distinct_l frequency_l entropy_l recursive_l
    """
)
"""Numbers of people or of values among whom somebody is, which are 1 for whoever is alone."""

_RISKS: Final = _names(
    """
    risk risk_average risk_max risk_linked risk_linked_max add_self_risk add_self_risk_average loss_max
    greatest_possible interval.high interval_guaranteed.high
    """
)
_QUANTILES: Final = "loss_quantiles"
_GAINS: Final = {
    "beta_basic": 0.0,
    "worst_gain": 0.0,
    "worst.gain": 0.0,
    "of_values": 0.0,
    "worst.ratio": 1.0,
}
"""Relative gains on a value, and ratios, which are greater by 1."""

_FAILING: Final = _names(
    """
    is_k_anonymous is_k_map is_delta_present is_met is_t_close is_pd_recursive is_npd_recursive
    classes_below_k records_below_k classes_failing records_failing classes_farther records_farther
    pd_classes_failing pd_records_failing npd_classes_failing npd_records_failing records_at_risk
    share_at_risk share_at_risk_of_all classes_exposed records_exposed share_exposed
    """
)
"""Values that say whether, or for how many, a criterion with the measure's own parameters fails."""

_CRITERION_OF: Final[Mapping[str, Callable[[Any], Criterion]]] = {
    "anonymity": lambda own: KAnonymity(own.k),
    "equivalence_classes": lambda own: KAnonymity(own.k),
    "k_map": lambda own: KMap(own.k),
    "delta_presence": lambda own: DeltaPresence(own.lower, own.upper),
    "attacker_models": lambda own: HighestRisk(own.threshold),
    "alpha_k_anonymity": lambda own: AlphaKAnonymity(own.alpha, own.k, own.values, own.attribute),
    "disclosure_diversity": lambda own: NpdRecursiveLDiversity(
        own.c, own.l, own.harmless, own.attribute, own.others, own.protected, own.least_percent
    ),
    "t_closeness": lambda own: TCloseness(own.t, own.distance, own.attribute),
    "delta_disclosure": lambda own: DeltaDisclosure(own.delta, own.base, own.attribute),
    "beta_likeness": lambda own: BetaLikeness(own.beta, own.bound, own.attribute),
    "skewness_attack": lambda own: BetaLikeness(own.gain, "basic", own.attribute),
}
"""Measure → the criterion that it judges by its parameters."""


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


def model_protects(demand: PrivacyModelDemand, model: Criterion, worst: WorstCase | None) -> bool:
    """Whether more than the allowed share of the records would fail if every record were alone."""
    if demand.failing_share >= 1 or asks_nothing(demand.model, demand.parameters):
        return False
    if worst is None:
        return True
    amounts = worst.alone.amounts
    allowed = demand.failing_share * int(amounts.sum())
    failing = _failing_records(model, worst)
    return failing is None or failing > highest_accepted(allowed)


def values_protected(model: Criterion, worst: WorstCase | None) -> bool:
    """Whether a criterion that also asks for classes of some size asks anything of the sensitive values."""
    if not any(own.name == "k" for own in dataclasses.fields(model)) or not model.is_of_values:
        return model.is_of_values
    without = dataclasses.replace(model, k=1)  # type: ignore[call-arg]
    if asks_nothing(model.kind, dataclasses.asdict(without)):
        return False
    return worst is None or _failing_records(without, worst) != 0


def risk_cap_protects(cap: float, worst: WorstCase | None) -> bool:
    """Whether a cap on the risk is below the greatest that there can be."""
    return worst is None or cap < worst.greatest_loss


def threshold_protects(
    measure: str | None, demand: MeasureDemand | ScoreDemand, worst: WorstCase | None
) -> bool:
    """Whether a threshold is on the side on which people are safer and beyond what nobody's protection gives.

    ``measure`` is None for a score.
    """
    path = demand.value
    name = path.rpartition(".")[2]
    side = safer(measure, path)
    if side is None or path in _OF_NOBODY or name in _OF_NOBODY:
        return False
    if demand.comparison != "equals" and _SIDES[demand.comparison] != side:
        return False
    if measure is not None and name in _FAILING:
        return _parameters_protect(measure, demand, name, worst)
    if isinstance(demand.threshold, bool):
        return demand.threshold == (side == "high")
    reached = _if_alone(measure, demand, name, side, worst)
    strictly = demand.comparison not in _INCLUSIVE
    if side == "high":
        return demand.threshold >= reached if strictly else demand.threshold > reached
    return demand.threshold <= reached if strictly else demand.threshold < reached


def _if_alone(
    measure: str | None, demand: MeasureDemand | ScoreDemand, name: str, side: str, worst: WorstCase | None
) -> float:
    """The worst that the value can be: what it is, or a bound of it, if every record is alone."""
    value = value_of(demand)
    possible = None if value is None else range_of(measure, value, {})
    if side == "high":
        if name in _ONE_IF_ALONE:
            return 1.0
        return -math.inf if possible is None else possible.least
    bounds = [math.inf if possible is None else possible.greatest]
    if worst is not None:
        if name in _RISKS or demand.value in _RISKS or demand.value.startswith(_QUANTILES):
            bounds.append(worst.greatest_loss)
        elif value is not None and value.kind == "whole number":
            bounds.append(worst.alone.table_records())
        more = _GAINS.get(demand.value, _GAINS.get(name))
        if more is not None and isinstance(demand, MeasureDemand):
            bounds.append(_greatest_gain(demand, worst) + more)
    return min(bounds)


def _greatest_gain(demand: MeasureDemand, worst: WorstCase) -> float:
    try:
        found = BetaLikeness(LEAST, "basic", demand.parameters.get("attribute")).attained(worst.alone)
    except (InvalidInput, NotSupported):
        return math.inf
    return math.inf if found is None else found


def _parameters_protect(
    measure: str, demand: MeasureDemand | ScoreDemand, name: str, worst: WorstCase | None
) -> bool:
    """Whether the measure's own parameters ask for something, and the threshold lets not everybody fail."""
    threshold = demand.threshold
    if isinstance(threshold, bool) and threshold != (safer(measure, demand.value) == "high"):
        return False
    model = _criterion(measure, demand)
    if model is None:
        return True
    if asks_nothing(model.kind, dataclasses.asdict(model)):
        return False
    failing = None if worst is None else _failing_records(model, worst)
    if failing is None or worst is None:
        return True
    if isinstance(threshold, bool):
        return failing > 0
    most = failing / worst.alone.table_records() if "share" in name else failing
    return threshold <= most if demand.comparison == "below" else threshold < most


def _criterion(measure: str, demand: MeasureDemand | ScoreDemand) -> Criterion | None:
    """The criterion that a measure judges by; None without one, and if its parameters are not understood."""
    if measure not in _CRITERION_OF or not isinstance(demand, MeasureDemand):
        return None
    parameters = built(MEASURE_OF[measure].parameters, demand.parameters)
    if getattr(parameters, "reference", None) is not None:
        return None  # compared with other data, of which nothing is known here
    if demand.value.startswith(("is_pd_", "pd_")):
        parameters = dataclasses.replace(parameters, protected=(), least_percent=0.0)
    return _CRITERION_OF[measure](parameters)


def _failing_records(model: Criterion, worst: WorstCase) -> int | None:
    """How many of the records fail if every one is alone; None if that cannot be told."""
    try:
        failing = model.failing_alone(worst.alone)
    except (InvalidInput, NotSupported):
        return None
    return int(worst.alone.amounts[failing].sum())
