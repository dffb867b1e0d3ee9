"""What the values of results can be, and on which side of a threshold people are safer.

By the name of a field, which means the same in every measure unless a path is named beside it. What stands in
none of these lists has no known range and no known direction: nothing is then said about it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from app.domain.policies.values import ResultValue

Safer = Literal["low", "high"]


@dataclass(frozen=True)
class Range:
    """The least and the greatest number that a value can be; infinite where there is no bound."""

    least: float = -math.inf
    greatest: float = math.inf


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


SHARES: Final = _names(
    """
    unique_share share_linked probability_no_link probability_conflict probability_emptied
    reidentification_rate reidentification_rate_unlinked own_entity_consistent
    own_entity_consistent_linked infinite_at_most highest average_per_record
    average_per_record_of_all average_per_class share_at_risk share_at_risk_of_all
    share_re_identified share_re_identified_of_all share_sample_uniques share sampling_fraction
    alpha attainable share_of_classes share_of_records prior belief greatest_belief
    greatest_increase greatest_decrease greatest_probability average_probability in_table in_class
    share_exposed worst_posterior success_rate success_before worst_belief beta_negative
    max_absolute_gain
    """
)
"""Numbers from 0 to 1."""

_SHARES_AT: Final = frozenset(
    {
        ("delta_presence", "least"),
        ("delta_presence", "greatest"),
        ("parametric_risk", "absent"),
        ("attacker_models", "journalist.average"),
        ("attacker_models", "journalist.classes_per_person"),
    }
)
_FROM_ONE: Final = frozenset({"distinct_l", "frequency_l", "entropy_l"})
_RISKS: Final = _names(
    """
    risk risk_average risk_max risk_min risk_linked risk_linked_max add_self_risk_average loss_max
    """
)
_USES: Final = frozenset({"utility", "utility_average", "utility_min"})

SAFER_LOW: Final = _RISKS | _names(
    """
    increase infinite infinite_records infinite_losses absent records_below_k classes_below_k
    unique_records unique_share reidentification_rate highest average_per_record
    average_per_record_of_all average_per_class records_at_risk share_at_risk share_at_risk_of_all
    share_re_identified share_re_identified_of_all classes_per_person classes_failing
    records_failing pd_classes_failing pd_records_failing npd_classes_failing npd_records_failing
    share_sample_uniques sample_uniques uniques share alpha share_of_classes share_of_records
    greatest_belief greatest_increase greatest_decrease greatest_ratio persons_found
    greatest_probability average_probability rightly_found expected_found classes_farther
    records_farther natural binary beta_basic beta_enhanced beta_negative max_absolute_gain
    caps_broken worst_posterior worst_gain success_rate worst_belief classes_exposed records_exposed
    share_exposed single_records median_error greatest_error information_loss_average
    information_loss_max precision_loss ail discernibility kl_divergence breaks_cap is_confident
    """
)
SAFER_HIGH: Final = _USES | _names(
    """
    k k_population k_matching k_equivalence min_consistent mean_size mean_size_of_records distinct_l
    frequency_l entropy_l recursive_l least_protected_percent fewest_candidates is_k_anonymous
    is_k_map is_delta_present is_pd_recursive is_npd_recursive is_met is_private is_t_close
    is_feasible is_optimal proven
    """
)
_SAFER_LOW_AT: Final = frozenset(
    {("delta_presence", "greatest"), ("bayes_risk_sampled", "greatest"), ("bayes_risk_sampled", "least")}
)

REPEATED: Final = frozenset(
    {
        ("k_map", "k"),
        ("delta_presence", "lower"),
        ("delta_presence", "upper"),
        ("attacker_models", "threshold"),
        ("background_knowledge_attack", "confidence"),
        ("homogeneity_attack", "near.theta"),
        ("homogeneity_attack", "complete.theta"),
        ("parametric_risk", "samples"),
    }
)
"""Values that only repeat what was asked, whatever the data are."""

STRICTER_HIGH: Final = frozenset({"k", "l", "least_percent", "lower"})
STRICTER_LOW: Final = frozenset(
    {"t", "c", "alpha", "beta", "delta", "threshold", "upper", "failing_share", "gap"}
)
"""Parameters of privacy models that ask for more if they are greater, or if they are less."""


def range_of(measure: str | None, value: ResultValue, options: Mapping[str, Any]) -> Range:
    """What a value of a measure's result, or of a score (None), can be."""
    name = value.path.rpartition(".")[2]
    if value.kind == "number" and (name in SHARES or (measure, value.path) in _SHARES_AT):
        return Range(0.0, 1.0)
    if name == "least_protected_percent":
        return Range(0.0, 100.0)
    if name in _FROM_ONE or (name in ("k", "k_equivalence") and value.kind == "whole number"):
        return Range(1.0)
    if value.kind == "whole number" or name in _USES:
        return Range(0.0)
    if (name in _RISKS or value.path.startswith("loss_quantiles")) and options.get("risk_model") != "III_raw":
        return Range(0.0)
    return Range()


def safer(measure: str | None, path: str) -> Safer | None:
    """On which side of a threshold people are safer, or the data more useful; None where it is not known."""
    name = path.rpartition(".")[2]
    if name in SAFER_LOW or path.startswith("loss_quantiles") or (measure, path) in _SAFER_LOW_AT:
        return "low"
    return "high" if name in SAFER_HIGH else None
