"""A policy as it is kept: measures at their versions, parameters without what is as usual."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping
from typing import Any

from app.domain.errors import InvalidInput
from app.domain.policies.building import built
from app.domain.policies.guarantee_bounds import bounds_of
from app.domain.policies.objectives import criterion_of
from app.domain.policies.policy import (
    NEWEST_COVERAGE,
    Condition,
    GuaranteeCondition,
    MeasureCondition,
    Policy,
    PrivacyModelCondition,
)
from app.domain.policies.requirements import MEASURE_OF


def pinned(policy: Policy) -> Policy:
    """The policy with every measure's version, two of one meaning alike.

    Parameters that equal their default are left out. What cannot be read stays as it is.
    """
    requirements = tuple(
        dataclasses.replace(requirement, condition=_pinned(requirement.condition))
        for requirement in policy.requirements
    )
    return dataclasses.replace(policy, requirements=requirements)


def with_coverage(policy: Policy) -> Policy:
    """The policy with the newest check of columns, unless it names a version of it or is about views."""
    if policy.coverage_version is not None or policy.judges_views:
        return policy
    return dataclasses.replace(policy, coverage_version=NEWEST_COVERAGE)


def parameters_in_full(condition: MeasureCondition | PrivacyModelCondition) -> Mapping[str, Any]:
    """The parameters of a condition with all defaults; as they are if they cannot be read."""
    typed = _typed(condition)
    return condition.parameters if typed is None else _plain(dataclasses.asdict(typed))


def _pinned(condition: Condition) -> Condition:
    if isinstance(condition, GuaranteeCondition):
        with contextlib.suppress(InvalidInput):
            return dataclasses.replace(condition, parameters=bounds_of(condition).document())
        return condition
    if not isinstance(condition, MeasureCondition | PrivacyModelCondition):
        return condition
    typed = _typed(condition)
    if typed is None:
        return condition
    usual = {own.name: own.default for own in dataclasses.fields(typed)}
    given = {own.name: getattr(typed, own.name) for own in dataclasses.fields(typed)}
    parameters = _plain({name: value for name, value in given.items() if value != usual[name]})
    if isinstance(condition, PrivacyModelCondition):
        return dataclasses.replace(condition, parameters=parameters)
    version = condition.version or MEASURE_OF[condition.measure].version
    return dataclasses.replace(condition, parameters=parameters, version=version)


def _typed(condition: MeasureCondition | PrivacyModelCondition) -> Any | None:  # noqa: ANN401 - some dataclass
    """The parameters as their dataclass."""
    try:
        if isinstance(condition, PrivacyModelCondition):
            return criterion_of(condition.model, condition.parameters)
        measure = MEASURE_OF.get(condition.measure)
        return None if measure is None else built(measure.parameters, condition.parameters)
    except InvalidInput:
        return None


def _plain(value: Any) -> Any:  # noqa: ANN401 - any value of a parameter
    if isinstance(value, Mapping):
        return {name: _plain(own) for name, own in value.items()}
    return [_plain(own) for own in value] if isinstance(value, tuple) else value
