"""Privacy models whose own numbers ask for nothing, so that every release of every table meets them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from app.domain.policies.policy import PrivacyModelDemand

_ASKS_NOTHING: Final[Mapping[str, Callable[[Mapping[str, Any]], bool]]] = {
    "k_anonymity": lambda given: given.get("k") == 1,
    "k_map": lambda given: given.get("k") == 1,
    "estimated_k_map": lambda given: given.get("k") == 1,
    "distinct_l_diversity": lambda given: given.get("l") == 1,
    "entropy_l_diversity": lambda given: given.get("l") == 1,
    "corrected_entropy_l_diversity": lambda given: given.get("l") == 1,
    "recursive_l_diversity": lambda given: given.get("l") == 1,
    "pd_recursive_l_diversity": lambda given: given.get("l") == 1,
    "npd_recursive_l_diversity": lambda given: given.get("l") == 1 and not given.get("least_percent"),
    "alpha_k_anonymity": lambda given: given.get("alpha") == 1 and given.get("k") == 1,
    "delta_presence": lambda given: given.get("lower", 0) == 0 and given.get("upper", 0.5) == 1,
    # All distances but the divergence of Kullback and Leibler are at most 1.
    "t_closeness": lambda given: given.get("distance", "equal") != "kl" and given.get("t", 0) >= 1,
}


def asks_nothing(model: str, parameters: Mapping[str, Any]) -> bool:
    """Whether the numbers of a privacy model alone say that every release meets it."""
    decide = _ASKS_NOTHING.get(model)
    return bool(parameters.get("threshold") == 1 if decide is None else decide(parameters))


def met_by_all(demand: PrivacyModelDemand) -> bool:
    """Whether every release keeps the demand.

    A missing quasi-identifier that is ``excluded`` makes whoever is shown without it fail, whatever the
    numbers are.
    """
    if demand.failing_share >= 1:
        return True
    return demand.missing != "excluded" and asks_nothing(demand.model, demand.parameters)
