"""A policy as it is kept: measures at their versions, parameters without what is as usual."""

from __future__ import annotations

import dataclasses

from app.domain.policies.policy import NEWEST_COVERAGE, Policy


def pinned(policy: Policy, *, as_before: bool = False) -> Policy:
    """The policy with every measure's and privacy model's version, two of one meaning alike.

    What names none has the newest, or the first, ``as_before`` there were others. Parameters that equal their
    default are left out. What cannot be read stays as it is.
    """
    requirements = tuple(
        dataclasses.replace(requirement, condition=requirement.condition.pinned(as_before=as_before))
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
        if own != new or own.condition.is_of_earlier_version
    )
