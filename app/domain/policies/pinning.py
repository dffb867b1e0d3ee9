"""A policy as it is kept: measures at their versions, parameters without what is as usual."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from app.domain.errors import InvalidInput
from app.domain.policies.building import built
from app.domain.policies.demands import MEASURE_OF
from app.domain.policies.objectives import criterion_of
from app.domain.policies.policy import Demand, MeasureDemand, Policy, PrivacyModelDemand


def pinned(policy: Policy) -> Policy:
    """The policy with every measure's version, two of one meaning alike.

    Parameters that equal their default are left out. What cannot be read stays as it is.
    """
    criteria = tuple(
        dataclasses.replace(criterion, demand=_pinned(criterion.demand)) for criterion in policy.criteria
    )
    return dataclasses.replace(policy, criteria=criteria)


def parameters_in_full(demand: MeasureDemand | PrivacyModelDemand) -> Mapping[str, Any]:
    """The parameters of a demand with the defaults of those left out; as they are if they cannot be read."""
    typed = _typed(demand)
    return demand.parameters if typed is None else _plain(dataclasses.asdict(typed))


def _pinned(demand: Demand) -> Demand:
    if not isinstance(demand, MeasureDemand | PrivacyModelDemand):
        return demand
    typed = _typed(demand)
    if typed is None:
        return demand
    usual = {own.name: own.default for own in dataclasses.fields(typed)}
    given = {own.name: getattr(typed, own.name) for own in dataclasses.fields(typed)}
    parameters = _plain({name: value for name, value in given.items() if value != usual[name]})
    if isinstance(demand, PrivacyModelDemand):
        return dataclasses.replace(demand, parameters=parameters)
    version = demand.version or MEASURE_OF[demand.measure].version
    return dataclasses.replace(demand, parameters=parameters, version=version)


def _typed(demand: MeasureDemand | PrivacyModelDemand) -> Any | None:  # noqa: ANN401 - some dataclass
    """The parameters as their dataclass."""
    try:
        if isinstance(demand, PrivacyModelDemand):
            return criterion_of(demand.model, demand.parameters)
        measure = MEASURE_OF.get(demand.measure)
        return None if measure is None else built(measure.parameters, demand.parameters)
    except InvalidInput:
        return None


def _plain(value: Any) -> Any:  # noqa: ANN401 - any value of a parameter
    if isinstance(value, Mapping):
        return {name: _plain(own) for name, own in value.items()}
    return [_plain(own) for own in value] if isinstance(value, tuple) else value
