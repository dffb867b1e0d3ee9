"""A policy as it is kept: measures at their versions, parameters without what is as usual."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping
from typing import Any

from app.documents import built
from app.domain.errors import InvalidInput
from app.domain.models.judging import NEWEST_READING
from app.domain.policies.guarantee_bounds import bounds_of
from app.domain.policies.objectives import criteria_of, criterion_of, marks_of
from app.domain.policies.policy import (
    NEWEST_COVERAGE,
    Condition,
    GuaranteeCondition,
    MeasureCondition,
    OptimumCondition,
    Policy,
    PrivacyModelCondition,
)
from app.domain.policies.requirements import MEASURE_OF


def pinned(policy: Policy, *, as_before: bool = False) -> Policy:
    """The policy with every measure's and privacy model's version, two of one meaning alike.

    What names none has the newest, or the first, ``as_before`` there were others. Parameters that equal their
    default are left out. What cannot be read stays as it is.
    """
    requirements = tuple(
        dataclasses.replace(requirement, condition=_pinned(requirement.condition, as_before))
        for requirement in policy.requirements
    )
    return dataclasses.replace(policy, requirements=requirements)


def with_coverage(policy: Policy) -> Policy:
    """The policy with the newest check of columns, unless it names a version of it or is about views."""
    if policy.coverage_version is not None or policy.judges_views:
        return policy
    return dataclasses.replace(policy, coverage_version=NEWEST_COVERAGE)


def of_earlier_versions(policy: Policy) -> tuple[str, ...]:
    """The requirements of a stored policy that keep an earlier version of a measure or privacy model."""
    newest = pinned(policy).requirements
    return tuple(
        own.id
        for own, new in zip(policy.requirements, newest, strict=True)
        if own != new or (isinstance(own.condition, MeasureCondition) and _usual_of(own.condition))
    )


def parameters_in_full(condition: MeasureCondition | PrivacyModelCondition) -> Mapping[str, Any]:
    """The parameters of a condition with all defaults; as they are if they cannot be read."""
    typed = _typed(condition)
    return condition.parameters if typed is None else _plain(dataclasses.asdict(typed))


def _pinned(condition: Condition, as_before: bool) -> Condition:
    if isinstance(condition, GuaranteeCondition):
        with contextlib.suppress(InvalidInput):
            return dataclasses.replace(condition, parameters=bounds_of(condition).document())
        return condition
    condition = _with_version(condition, as_before)
    if not isinstance(condition, MeasureCondition | PrivacyModelCondition):
        return condition
    typed = _typed(condition)
    if typed is None:
        return condition
    usual = {**{own.name: own.default for own in dataclasses.fields(typed)}, **_usual_of(condition)}
    given = {own.name: getattr(typed, own.name) for own in dataclasses.fields(typed)}
    parameters = _plain({name: value for name, value in given.items() if value != usual[name]})
    return dataclasses.replace(condition, parameters=parameters)


def _with_version(condition: Condition, as_before: bool) -> Condition:
    """The condition with the version of what it names, the newest unless it names one."""
    match condition:
        case MeasureCondition(measure=name, version=None) if name in MEASURE_OF:
            measure = MEASURE_OF[name]
            version = min([measure.version, *measure.earlier]) if as_before else measure.version
            return dataclasses.replace(condition, version=version)
        case PrivacyModelCondition(model, parameters) if not as_before:
            return dataclasses.replace(condition, parameters=_of_newest(model, parameters))
        case OptimumCondition(objective) if "privacy" in objective and not as_before:
            with contextlib.suppress(InvalidInput):
                criteria_of(objective["privacy"])
                privacy = [_of_newest(own["kind"], own) for own in objective["privacy"]]
                return dataclasses.replace(condition, objective={**objective, "privacy": privacy})
    return condition


def _of_newest(model: str, document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The document of a privacy model with a version, where there are several."""
    return {"version": NEWEST_READING, **document} if "version" in marks_of(model) else document


def _usual_of(condition: MeasureCondition | PrivacyModelCondition) -> Mapping[str, Any]:
    """Parameters that mean the version where none are given; a privacy model without one has the first."""
    if isinstance(condition, PrivacyModelCondition):
        return {"version": 1}
    measure = MEASURE_OF.get(condition.measure)
    return {} if measure is None else measure.earlier.get(condition.version or measure.version, {})


def _typed(condition: MeasureCondition | PrivacyModelCondition) -> Any | None:  # noqa: ANN401 - some dataclass
    """The parameters as their dataclass."""
    try:
        if isinstance(condition, PrivacyModelCondition):
            return criterion_of(condition.model, condition.parameters)
        measure, usual = MEASURE_OF.get(condition.measure), _usual_of(condition)
        return None if measure is None else built(measure.parameters, {**usual, **condition.parameters})
    except InvalidInput:
        return None


def _plain(value: Any) -> Any:  # noqa: ANN401 - any value of a parameter
    if isinstance(value, Mapping):
        return {name: _plain(own) for name, own in value.items()}
    return [_plain(own) for own in value] if isinstance(value, tuple) else value
