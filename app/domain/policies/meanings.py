"""What the values of results can be, and on which side of a threshold people are safer.

By the name of a field, which means the same in every measure unless a path is named beside it. What stands in
none of these lists has no known range and no known direction: nothing is then said about it. So it is with
sizes of the question (records judged, entities, values), with what does not depend on the release, and with
what is safer and less useful at once.
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
    max_absolute_gain geometric arithmetic geometric_active arithmetic_active precision_loss ail
    ail_of_classes distinction separation
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
        ("k_map", "sample.probability"),
        ("beta_likeness", "worst.bound"),
    }
)
_FROM_ZERO: Final = _names(
    """
    standard_error uniques mean_candidates expected_found expected_classes expected_records
    greatest_ratio natural binary beta_basic beta_enhanced beta_saturation ratio utilisation
    non_uniform_entropy ambiguity average_class_size kl_divergence kl_dropped kl_withheld
    median_error greatest_error baseline_error
    """
)
"""Numbers that are never negative: counts to be expected, ratios, distances and losses."""

_FROM_ONE: Final = _names(
    """
    distinct_l frequency_l entropy_l corrected_entropy_l least_frequency_l mean_size
    mean_size_of_records mean_class_size
    """
)
_FROM_MINUS_ONE: Final = frozenset({"gain", "worst_gain"})
_RISKS: Final = _names(
    """
    risk risk_average risk_max risk_min risk_linked risk_linked_max add_self_risk add_self_risk_average
    loss_max risk_if_all_withheld greatest_possible
    """
)
_RISKS_AT: Final = frozenset({("bayes_risk_sampled", "least"), ("bayes_risk_sampled", "greatest")})
_SAME_FOR_EVERY_RELEASE: Final = frozenset({"risk_if_all_withheld", "kl_withheld", "standard_error"})
_USES: Final = frozenset({"utility", "utility_average", "utility_min"})

SAFER_LOW: Final = (_RISKS - _SAME_FOR_EVERY_RELEASE) | _names(
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
    records_suppressed reidentification_rate_unlinked infinite_at_most risk_change
    classes_lacking records_lacking worst_lacks gain ratio utilisation records_of_several_values
    records_ruled_out of_values of_values_enhanced cells_withheld direct_identifiers
    combinations distinction pairs_separated separation
    """
)
SAFER_HIGH: Final = _USES | _names(
    """
    k k_population k_matching k_equivalence min_consistent mean_size mean_size_of_records distinct_l
    frequency_l entropy_l corrected_entropy_l recursive_l least_protected_percent fewest_candidates
    is_k_anonymous is_k_map is_delta_present is_pd_recursive is_npd_recursive is_met is_private is_t_close
    is_feasible is_optimal proven utility_change mean_candidates probability_no_link
    """
)
_SAFER_LOW_AT: Final = frozenset(
    {
        ("delta_presence", "greatest"),
        ("bayes_risk_sampled", "greatest"),
        ("bayes_risk_sampled", "least"),
        ("parametric_risk", "interval.low"),
        ("parametric_risk", "interval.high"),
        ("parametric_risk", "interval_guaranteed.low"),
        ("parametric_risk", "interval_guaranteed.high"),
        ("attacker_models", "journalist.average"),
        ("homogeneity_attack", "complete.classes"),
        ("homogeneity_attack", "complete.records"),
        ("homogeneity_attack", "near.classes"),
        ("homogeneity_attack", "near.records"),
        ("posterior_beliefs", "positive.records"),
        ("posterior_beliefs", "negative.records"),
        ("posterior_beliefs", "upward.pairs"),
        ("posterior_beliefs", "upward.records"),
        ("posterior_beliefs", "downward.pairs"),
        ("posterior_beliefs", "downward.records"),
        ("linking_attack", "records_found.records"),
    }
)
_LOSSES: Final = "information_loss"
"""The measure all of whose numbers are better the smaller they are, but for those of the question."""

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
    {"t", "c", "alpha", "beta", "delta", "threshold", "upper", "failing_share", "gap", "significance"}
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
    if name in _FROM_MINUS_ONE:
        return Range(-1.0)
    if value.kind == "whole number" or name in _USES or name in _FROM_ZERO:
        return Range(0.0)
    is_risk = name in _RISKS or (measure, value.path) in _RISKS_AT or value.path.startswith("loss_quantiles")
    if is_risk and options.get("risk_model") != "III_raw":
        return Range(0.0)
    return Range()


def safer(measure: str | None, path: str) -> Safer | None:
    """On which side of a threshold people are safer, or the data more useful; None where it is not known."""
    first, _, name = path.rpartition(".")
    if measure == _LOSSES and first != "judged":
        return None if name in _SAME_FOR_EVERY_RELEASE else "low"
    if name in SAFER_LOW or path.startswith("loss_quantiles") or (measure, path) in _SAFER_LOW_AT:
        return "low"
    return "high" if name in SAFER_HIGH else None
