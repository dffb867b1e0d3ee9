"""What a release must keep, as a value: criteria with thresholds, and the attacker that they rest on.

The texts of a policy are its author's; measures, criteria of privacy and objectives are named as requests
name them, with their parameters as plain values, so that a policy which names something unknown can still be
read and told what is wrong with it (:mod:`app.domain.policies.lint`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from app.domain.policies.comparison import Comparison, Value

FORMAT: Final = "privacy-risk/policy/1"

Severity = Literal["block", "warn"]
Role = Literal["identifier", "quasi_identifier", "sensitive", "weight", "other"]
"""What a column is to the release, as in a dataset's schema."""

OptimumScope = Literal["table_level", "record_level"]
Threshold = Value


@dataclass(frozen=True)
class Assumptions:
    """The attacker that the thresholds are about, in words, and how scores are taken.

    ``options`` are those of an assessment, by their names there: risk_model, absent_policy, utility …
    """

    attacker: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Slot:
    """A dictionary that an evaluation has to name (or may, if it is not required)."""

    name: str
    description: str = ""
    required: bool = True


@dataclass(frozen=True)
class Scope:
    """What part of the release a criterion is about; None: all of it.

    ``attributes`` are the quasi-identifiers that records are grouped by; ``groups`` is an attribute whose
    original values divide the records into groups, each of which must keep the criterion.
    """

    attributes: tuple[str, ...] | None = None
    groups: str | None = None


@dataclass(frozen=True)
class MeasureDemand:
    """A number or boolean of a measure of the catalogue.

    ``parameters`` are the measure's own by name, ``version`` is its version (None: not pinned yet), ``value``
    the dotted path to the number in its result, ``dictionary`` the slot that it is computed with.
    """

    measure: str
    parameters: Mapping[str, Any]
    version: int | None
    value: str
    comparison: Comparison
    threshold: Threshold
    dictionary: str | None = None


@dataclass(frozen=True)
class ScoreDemand:
    """A number of the assessment's result.

    Without ``dictionary`` it is judged under every slot that is filled, and the worst counts.
    """

    value: str
    comparison: Comparison
    threshold: Threshold
    dictionary: str | None = None


@dataclass(frozen=True)
class PrivacyModelDemand:
    """A criterion of privacy that at most ``failing_share`` of the records fail.

    ``model`` and ``parameters`` are kind and fields of one of ``app.domain.criteria``.
    """

    model: str
    parameters: Mapping[str, Any]
    failing_share: float = 0.0
    dictionary: str | None = None


@dataclass(frozen=True)
class BoundDemand:
    """The risk under the dictionary is proven to be an upper bound of that under the attacker's own."""

    dictionary: str
    may_rest_on_assumptions: bool = False


@dataclass(frozen=True)
class OptimumDemand:
    """The rule is within the relative ``gap`` of the proven optimum of ``objective``."""

    objective: Mapping[str, Any]
    scope: OptimumScope = "table_level"
    gap: float = 0.0
    dictionary: str | None = None


Demand = MeasureDemand | ScoreDemand | PrivacyModelDemand | BoundDemand | OptimumDemand


@dataclass(frozen=True)
class PolicyCriterion:
    """One thing that must hold; ``reason`` says why this number."""

    id: str
    title: str
    reason: str
    demand: Demand
    severity: Severity = "block"
    scope: Scope = field(default_factory=Scope)


@dataclass(frozen=True)
class Policy:
    """A named, versioned list of criteria.

    ``schema`` says what roles attributes must have; a dataset without them is not what the policy is about.
    ``suppression_limit`` is the share of records that a suggested change may withhold.
    """

    name: str
    version: int
    title: str
    assumes: Assumptions
    criteria: tuple[PolicyCriterion, ...]
    description: str = ""
    dictionaries: tuple[Slot, ...] = ()
    schema: Mapping[str, Role] | None = None
    suppression_limit: float = 0.0

    def slot(self, name: str) -> Slot | None:
        """The dictionary slot of this name."""
        return next((slot for slot in self.dictionaries if slot.name == name), None)
