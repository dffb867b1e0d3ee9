"""Which columns a requirement reads: the one place that says so of every kind of requirement.

A requirement reads a column if what it computes rests on the values of the column that are released, and if
its threshold can only be kept by protecting somebody: a bound on usefulness, or one from the wrong side,
reads nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from app.domain.errors import InvalidInput
from app.domain.gates.protection import (
    WorstCase,
    guarantee_protects,
    model_protects,
    risk_cap_protects,
    threshold_protects,
    values_protected,
)
from app.domain.models.criterion import Criterion
from app.domain.policies.guarantee_bounds import as_guarantee, bounds_of
from app.domain.policies.objectives import criterion_of, problem_of
from app.domain.policies.policy import (
    BoundCondition,
    BudgetCondition,
    Condition,
    GuaranteeCondition,
    MeasureCondition,
    OptimumCondition,
    PerfectPrivacyCondition,
    Policy,
    PrivacyModelCondition,
    Requirement,
    ScoreCondition,
)
from app.domain.policies.requirements import MEASURE_OF, judges_synthetic, slots_of
from app.domain.search.full_domain.problem import AnonymityProblem

_NOTHING: Final[frozenset[str]] = frozenset()
_OF_ALL: Final = frozenset({"k_matching", "k_equivalence"})
"""Scores that compare records by everything that is disclosed of them."""

_OF_HARM: Final = ("risk", "loss_quantiles", "add_self_risk")


@dataclass(frozen=True)
class Columns:
    """What there is to read.

    Attributes
    ----------
    quasi_identifiers, sensitive
        The disclosed columns by role.
    carried
        Slot of the policy → the columns that its dictionary, or any of its dictionaries, carries.
    weighed
        The columns whose disclosure the sensitivity profile weighs.
    worst
        What the dataset is like if nobody is protected; None: nothing is known of it.
    lacking
        The slots whose dictionary lacks more people who are told apart by what it carries than may be: that
        nobody finds them in it bounds nothing.
    """

    quasi_identifiers: frozenset[str]
    sensitive: frozenset[str]
    carried: Mapping[str, frozenset[str]] = field(default_factory=dict)
    weighed: frozenset[str] = _NOTHING
    worst: WorstCase | None = None
    lacking: frozenset[str] = _NOTHING

    @property
    def disclosed(self) -> frozenset[str]:
        """All of them."""
        return self.quasi_identifiers | self.sensitive

    def named(self, attribute: str | None) -> frozenset[str]:
        """The sensitive column of this name; None: the only one."""
        if attribute is not None:
            return frozenset({attribute}) & self.disclosed
        return self.sensitive if len(self.sensitive) == 1 else _NOTHING


@dataclass(frozen=True)
class Reading:
    """The columns that a requirement reads.

    Attributes
    ----------
    tells_apart
        Those of them by which it bounds telling records apart.
    not_their_own
        Those of which a value that a record shows need not be its own, by a guarantee: who knows a person's
        value does not find the record by it. The values may still be what nobody should see at all.
    """

    read: frozenset[str] = _NOTHING
    tells_apart: frozenset[str] = _NOTHING
    not_their_own: frozenset[str] = _NOTHING

    def __or__(self, other: Reading) -> Reading:
        return Reading(
            self.read | other.read,
            self.tells_apart | other.tells_apart,
            self.not_their_own | other.not_their_own,
        )


def reading_of(policy: Policy, criterion: Requirement, columns: Columns) -> Reading:
    """What a requirement of the policy reads of these columns; nothing if it cannot be understood."""
    grouped = columns.quasi_identifiers
    if criterion.scope.attributes is not None:
        grouped = frozenset(criterion.scope.attributes) & columns.disclosed
    condition = criterion.condition
    slots = slots_of(condition, policy)
    if takes_absence_for_safety(policy, condition):
        slots -= columns.lacking
    carried = _NOTHING.union(*(columns.carried.get(slot, _NOTHING) for slot in slots))
    try:
        match condition:
            case PrivacyModelCondition():
                model = criterion_of(condition.model, condition.parameters)
                if not model_protects(condition, model, columns.worst):
                    return Reading()
                return _of_model(model, grouped, carried, columns)
            case MeasureCondition():
                return _of_measure(condition, grouped, carried, columns)
            case ScoreCondition():
                return _of_score(condition, carried, columns)
            case OptimumCondition():
                return _of_optimum(condition, carried, columns)
            case GuaranteeCondition():
                return _of_guarantee(condition, columns)
            case BudgetCondition():
                return _of_guarantee(as_guarantee(condition), columns)
            case BoundCondition() | PerfectPrivacyCondition():
                # That a risk is no underestimate does not say how large it is; views have no columns.
                return Reading()
    except InvalidInput:
        return Reading()


def as_released(condition: Condition, reading: Reading, drawn: frozenset[str] | None) -> Reading:
    """What is left of a reading of this release.

    ``drawn`` are the columns whose values a mechanism drew; None: no mechanism made the release, and nothing
    is promised of it. Of a mechanism's release classes are those of its rows. What else measures read there
    is what was drawn, and they bound what is learnt of it, not who is found; an attack that fails on a draw
    bounds nothing. Nothing else can be computed.
    """
    match condition:
        case GuaranteeCondition() | BudgetCondition():
            return Reading() if drawn is None else reading
        case _ if drawn is None:
            return reading
        case MeasureCondition(measure):
            if judges_synthetic(condition):
                return Reading()
            if measure in MEASURE_OF and "classes" in MEASURE_OF[measure].reads:
                return Reading(reading.read - drawn, reading.tells_apart - drawn)
            return Reading(reading.read & drawn)
    return Reading()


def takes_absence_for_safety(policy: Policy, condition: Condition) -> bool:
    """Whether records that are like nobody in the dictionary count as safe: not found, or of risk 0."""
    risk_of_absent_is_0 = policy.assumes.options.get("absent_policy", "zero") == "zero"
    match condition:
        case ScoreCondition():
            counts_people = condition.value in _OF_ALL or condition.value == "min_consistent"
            return risk_of_absent_is_0 and not counts_people
        case MeasureCondition():
            measure = MEASURE_OF.get(condition.measure)
            if measure is None:
                return False
            return risk_of_absent_is_0 if "sensitivity" in measure.needs else "dictionary" in measure.needs
        case OptimumCondition():
            try:
                problem = problem_of(condition.objective, condition.scope)
            except InvalidInput:
                return False
            return risk_of_absent_is_0 and not isinstance(problem, AnonymityProblem)
    return False


def _of_model(
    model: Criterion, grouped: frozenset[str], carried: frozenset[str], columns: Columns
) -> Reading:
    # Of a population the attacker knows only what the dictionary says.
    apart = grouped & carried if model.needs_population else grouped
    values = _NOTHING
    if values_protected(model, columns.worst):
        values = columns.named(getattr(model, "attribute", None))
    return Reading(apart | values, apart if model.tells_apart else _NOTHING)


def _of_measure(
    condition: MeasureCondition, grouped: frozenset[str], carried: frozenset[str], columns: Columns
) -> Reading:
    measure = MEASURE_OF.get(condition.measure)
    if measure is None or not measure.protects or not threshold_protects(condition, columns.worst):
        return Reading()
    if measure.judges_synthetic:
        # Attackers try all columns.
        return Reading(columns.disclosed, columns.disclosed)
    names = {own.name for own in dataclasses.fields(measure.parameters)}
    if "quasi_identifiers" not in names:
        if "sensitivity" in measure.needs:
            return Reading(carried | columns.weighed, carried)
        if "rule" in measure.needs:
            # It compares records by everything that is disclosed of them.
            return Reading(columns.disclosed, columns.disclosed)
        return Reading()
    own = condition.parameters.get("quasi_identifiers")
    if own is not None:
        grouped = frozenset(own) & columns.disclosed
    if condition.dictionary is not None:
        grouped &= carried
    values = _values_of(names, condition.parameters, columns)
    of_values = bool({"attribute", "attributes"} & names)
    return Reading(grouped | values, _NOTHING if of_values and condition.value != "k" else grouped)


def _values_of(names: set[str], parameters: Mapping[str, Any], columns: Columns) -> frozenset[str]:
    if "attribute" in names:
        return columns.named(parameters.get("attribute"))
    if "attributes" in names:
        listed = parameters.get("attributes")
        return columns.sensitive if listed is None else frozenset(listed) & columns.disclosed
    return _NOTHING


def _of_score(condition: ScoreCondition, carried: frozenset[str], columns: Columns) -> Reading:
    if not threshold_protects(condition, columns.worst):
        return Reading()
    if condition.value in _OF_ALL:
        return Reading(columns.disclosed, columns.disclosed)
    weighed = columns.weighed if condition.value.startswith(_OF_HARM) else _NOTHING
    return Reading(carried | weighed, carried)


def _of_guarantee(condition: GuaranteeCondition, columns: Columns) -> Reading:
    """The attribute whose values were drawn, of others nothing is promised; or whole records, all of them."""
    if not guarantee_protects(condition, columns.worst):
        return Reading()
    bounds = bounds_of(condition)
    about = columns.named(bounds.attribute) if bounds.model.is_of_one_attribute else columns.disclosed
    return Reading(about, not_their_own=about)


def _of_optimum(condition: OptimumCondition, carried: frozenset[str], columns: Columns) -> Reading:
    """An optimum has to keep its objective's own bound; the best of a bad lot protects nobody by itself."""
    problem = problem_of(condition.objective, condition.scope)
    if not isinstance(problem, AnonymityProblem):
        asked = problem.objective
        if asked.kind != "max_utility" or not risk_cap_protects(asked.threshold, columns.worst):
            return Reading()
        return Reading(carried | columns.weighed, carried)
    found = Reading()
    for model in problem.privacy:
        own = PrivacyModelCondition(model.kind, dataclasses.asdict(model))
        if model_protects(own, model, columns.worst):
            found |= _of_model(model, columns.quasi_identifiers, carried, columns)
    return found
