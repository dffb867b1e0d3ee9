"""What can be said of one requirement without data: does it exist, does it fit together, can it be judged."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NewType, TypeGuard, get_args, get_origin

from app.documents import built, closest
from app.domain.analyses.catalogue import MEASURES
from app.domain.catalogue.catalogue_types import DatasetRef, DictionaryIf, DictionaryRef, RuleRef
from app.domain.catalogue.field_types import field_types
from app.domain.catalogue.result_values import ResultValue, found_in, values_of
from app.domain.errors import joined
from app.domain.models.criterion import Criterion
from app.domain.models.entry import Measure
from app.domain.policies.findings import Findings
from app.domain.policies.guarantee_lint import check_budget, check_guarantee
from app.domain.policies.objectives import criterion_of, problem_of
from app.domain.policies.perfect_privacy import check_secrets
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
    Scope,
    ScoreCondition,
)
from app.domain.policies.reasons import is_reason
from app.domain.policies.thresholds import SCORE_VALUES, check_threshold
from app.domain.search.full_domain.problem import AnonymityProblem

MEASURE_OF: Final[Mapping[str, Measure[Any, Any]]] = {measure.name: measure for measure in MEASURES}
VALUES_OF: Final[Mapping[str, tuple[ResultValue, ...]]] = {
    measure.name: values_of(measure.result) for measure in MEASURES
}

_BY_GROUP: Final = frozenset(
    {"risk_average", "risk_max", "risk_min", "utility_average", "utility_min", "min_consistent", "infinite"}
)
"""Scores that groups of records have of their own, beside the quantiles."""

_NAMES_RESOURCE: Final = {DatasetRef: "dataset", RuleRef: "rule"}
_VALUES_LISTED: Final = 40

COMPARED: Final = {"synthetic": "dataset", "holdout": "holdout"}
"""What a policy writes for the datasets of a measure that judges synthetic tables: parts of an evaluation."""


@dataclass(frozen=True)
class _Checked:
    """One requirement on its way through the checks."""

    policy: Policy
    requirement: Requirement
    pointer: str
    found: Findings

    @property
    def condition_at(self) -> str:
        return f"{self.pointer}/condition"

    @property
    def scope(self) -> Scope:
        return self.requirement.scope

    def slot(self, name: str | None, pointer: str, needed_by: str | None = None) -> None:
        """Note a dictionary that no slot is, or that is needed and not named."""
        slots = [slot.name for slot in self.policy.dictionaries]
        if name is None:
            if needed_by is not None:
                self.found.error(
                    pointer, "no-dictionary", f"{needed_by} needs a dictionary.",
                    closest("", slots) if slots else "Declare a slot under dictionaries and name it here.",
                )  # fmt: skip
        elif name not in slots:
            remedy = closest(name, slots) if slots else "Declare it under dictionaries."
            self.found.error(pointer, "unknown-slot", f"There is no dictionary slot {name!r}.", remedy)


def check_requirement(policy: Policy, requirement: Requirement, pointer: str, found: Findings) -> None:
    """Note all that is wrong with a requirement that is at ``pointer``."""
    checked = _Checked(policy, requirement, pointer, found)
    for name in ("title", "reason"):
        if not is_reason(getattr(requirement, name)):
            found.error(
                f"{pointer}/{name}", f"missing-{name}", f"The {name} has no word.",
                "Say why this number." if name == "reason" else "Say what must hold.",
            )  # fmt: skip
    match requirement.condition:
        case MeasureCondition() as condition:
            _check_measure(checked, condition)
        case ScoreCondition() as condition:
            _check_score(checked, condition)
        case PrivacyModelCondition() as condition:
            _check_privacy_model(checked, condition)
        case BoundCondition() as condition:
            _refuse_scope(checked, "The bound is about all records together.")
            checked.slot(condition.dictionary, f"{checked.condition_at}/dictionary")
        case OptimumCondition() as condition:
            _check_optimum(checked, condition)
        case GuaranteeCondition() as condition:
            _refuse_scope(checked, "A guarantee is of the whole release.")
            check_guarantee(policy, condition, checked.condition_at, found)
        case BudgetCondition() as condition:
            _refuse_scope(checked, "A budget is of the whole table.")
            check_budget(condition, checked.condition_at, found)
        case PerfectPrivacyCondition() as condition:
            _refuse_scope(checked, "Every view is judged as a whole.")
            check_secrets(condition, checked.condition_at, found)


def judges_synthetic(condition: Condition) -> TypeGuard[MeasureCondition]:
    """Whether it is about the dataset as a synthetic table of another one."""
    if not isinstance(condition, MeasureCondition) or condition.measure not in MEASURE_OF:
        return False
    return MEASURE_OF[condition.measure].judges_synthetic


def is_certificate(condition: Condition) -> bool:
    """Whether it is on what a mechanism promises, whatever it draws."""
    return isinstance(condition, GuaranteeCondition | BudgetCondition)


def check_attacked(policy: Policy, found: Findings) -> None:
    """Note blocking requirements on figures of a synthetic table beside no attack or guarantee that blocks.

    A table can be far from all records, and resemble them little, and give people away all the same.
    """
    if any(own.severity == "block" and is_certificate(own.condition) for own in policy.requirements):
        return
    judging = [
        (number, MEASURE_OF[own.condition.measure])
        for number, own in enumerate(policy.requirements)
        if own.severity == "block" and judges_synthetic(own.condition)
    ]
    if any(measure.protects for _, measure in judging):
        return
    attack = next(own.name for own in MEASURES if own.judges_synthetic and own.protects)
    for number, measure in judging:
        found.error(
            f"/requirements/{number}/severity", "stands-alone",
            f"{measure.name} alone lets nothing pass: a synthetic table can be far from every record, or "
            "resemble them little, and give people away all the same.",
            f"Say severity: warn, or require {attack}, or of drawn releases a guarantee, as well.",
        )  # fmt: skip


def slots_of(condition: Condition, policy: Policy) -> frozenset[str]:
    """The slots that a condition is evaluated with."""
    slots = {slot.name for slot in policy.dictionaries}
    if isinstance(condition, ScoreCondition) and condition.dictionary is None:
        return frozenset(slots)
    if isinstance(condition, GuaranteeCondition | BudgetCondition | PerfectPrivacyCondition):
        return frozenset()
    named = {condition.dictionary} if condition.dictionary is not None else set()
    if isinstance(condition, MeasureCondition) and condition.measure in MEASURE_OF:
        named |= {ref for _, type_, ref in _references(condition) if type_ is DictionaryRef}
    return frozenset(named & slots)


def value_of(condition: MeasureCondition | ScoreCondition) -> ResultValue | None:
    """The value that a threshold is set for; None if there is no such measure or value."""
    if isinstance(condition, ScoreCondition):
        return found_in(SCORE_VALUES, condition.value)
    return found_in(VALUES_OF.get(condition.measure, ()), condition.value)


def is_scored(condition: Condition) -> bool:
    """Whether a condition depends on how scores are taken."""
    match condition:
        case PrivacyModelCondition() | GuaranteeCondition() | BudgetCondition() | PerfectPrivacyCondition():
            return False
        case MeasureCondition(measure):
            return measure not in MEASURE_OF or "sensitivity" in MEASURE_OF[measure].needs
        case OptimumCondition(objective):
            return objective.get("kind") != "min_loss"
        case _:
            return True


def _check_measure(checked: _Checked, condition: MeasureCondition) -> None:
    found, at = checked.found, checked.condition_at
    measure = MEASURE_OF.get(condition.measure)
    if measure is None:
        found.error(
            f"{at}/measure/kind", "unknown-measure", f"There is no measure {condition.measure!r}.",
            closest(condition.measure, MEASURE_OF),
        )  # fmt: skip
        return
    if condition.version not in (None, measure.version, *measure.earlier):
        found.error(
            f"{at}/version", "wrong-version",
            f"{measure.name} is version {measure.version} here, not {condition.version}.",
            "Read what has changed, then raise the policy's version with it.",
        )  # fmt: skip
    with found.refusals():
        built(measure.parameters, condition.parameters, f"{at}/measure")
    _check_references(checked, condition)
    needs = f"The measure {measure.name}" if _needs_dictionary(measure, condition) else None
    checked.slot(condition.dictionary, f"{at}/dictionary", needs)
    _check_grouped(checked, condition, measure)
    value = _check_value(checked, condition.value, VALUES_OF[measure.name], f"the measure {measure.name}")
    if value is None:
        return
    if value.marks.asked:
        found.error(
            f"{at}/value", "repeats-the-question",
            f"{value.path} repeats a parameter of {measure.name}, whatever the data are.",
            "Name a value that depends on the data.",
        )  # fmt: skip
    check_threshold(checked.found, checked.condition_at, value, condition, checked.policy.assumes.options)


def _needs_dictionary(measure: Measure[Any, Any], condition: MeasureCondition) -> bool:
    if "dictionary" in measure.needs or "comparable_ids" in measure.needs:
        return True
    for field in dataclasses.fields(measure.parameters):
        hint = field_types(measure.parameters)[field.name]
        chosen = condition.parameters.get(field.name, field.default)
        if DictionaryIf(chosen) in getattr(hint, "__metadata__", ()):
            return True
    value = found_in(VALUES_OF[measure.name], condition.value)
    return value is not None and value.marks.of_dictionary


def _check_references(checked: _Checked, condition: MeasureCondition) -> None:
    """Dictionaries inside parameters are slots; datasets and rules belong to the evaluation."""
    for name, type_, ref in _references(condition):
        place = joined(f"{checked.condition_at}/measure", name)
        if type_ is DictionaryRef:
            checked.slot(ref, place)
        elif MEASURE_OF[condition.measure].judges_synthetic and name in COMPARED:
            if ref != COMPARED[name]:
                checked.found.error(
                    place, "names-a-resource",
                    f"A policy names no dataset: {name!r} is {COMPARED[name]!r}, the part of an evaluation.",
                    f"Write {name}: {COMPARED[name]}.",
                )  # fmt: skip
        else:
            checked.found.error(
                place, "names-a-resource",
                f"A policy names no {_NAMES_RESOURCE[type_]}: it is about whatever is evaluated.",
                "Leave it out, or choose another measure.",
            )  # fmt: skip


def _references(condition: MeasureCondition) -> list[tuple[str, Any, str]]:
    """The resources that a measure's parameters name: field, type of reference, reference."""
    found = []
    for name, hint in field_types(MEASURE_OF[condition.measure].parameters).items():
        type_ = next((own for own in _leaves(hint) if own in (*_NAMES_RESOURCE, DictionaryRef)), None)
        given = condition.parameters.get(name)
        if type_ is None or given is None:
            continue
        items = [given] if isinstance(given, str) else given
        found += [(name, type_, own) for own in items if isinstance(own, str)]
    return found


def _leaves(hint: Any) -> list[Any]:  # noqa: ANN401 - any type
    if isinstance(hint, NewType) or get_origin(hint) is None:
        return [hint]
    return [leaf for own in get_args(hint) for leaf in _leaves(own)]


def _check_grouped(checked: _Checked, condition: MeasureCondition, measure: Measure[Any, Any]) -> None:
    """The scope of a measure: it may name the attributes that records are grouped by."""
    found, scope = checked.found, checked.scope
    if scope.groups is not None:
        found.error(
            f"{checked.pointer}/scope/groups", "unsupported-scope",
            "Measures are taken of the whole release; only scores and privacy models are judged by group.",
            "Use a score or a privacy model, or leave the scope out.",
        )  # fmt: skip
    if scope.attributes is None:
        return
    fields = {own.name for own in dataclasses.fields(measure.parameters)}
    if "quasi_identifiers" not in fields:
        found.error(
            f"{checked.pointer}/scope/attributes", "unsupported-scope",
            f"{measure.name} does not group records by quasi-identifiers.", "Leave the scope out.",
        )  # fmt: skip
    elif "quasi_identifiers" in condition.parameters:
        found.error(
            f"{checked.pointer}/scope/attributes", "unsupported-scope",
            "The measure names quasi_identifiers itself.", "Name them in one place.",
        )  # fmt: skip
    _check_roles(checked)


def _check_score(checked: _Checked, condition: ScoreCondition) -> None:
    if condition.dictionary is not None or not checked.policy.dictionaries:
        checked.slot(condition.dictionary, f"{checked.condition_at}/dictionary", "A score")
    if checked.scope.attributes is not None:
        checked.found.error(
            f"{checked.pointer}/scope/attributes", "unsupported-scope",
            "A score is of all that is disclosed of a record.", "Leave the attributes out.",
        )  # fmt: skip
    value = _check_value(checked, condition.value, SCORE_VALUES, "a score")
    if value is None:
        return
    if checked.scope.groups is not None and not (
        value.path in _BY_GROUP or value.path.startswith("loss_quantiles")
    ):
        checked.found.error(
            f"{checked.pointer}/scope/groups", "unsupported-scope",
            f"{value.path} is of the whole release; groups have no such number of their own.",
            f"By group there are: {', '.join(sorted(_BY_GROUP))} and the quantiles.",
        )  # fmt: skip
    _check_roles(checked)
    check_threshold(checked.found, checked.condition_at, value, condition, checked.policy.assumes.options)


def _check_privacy_model(checked: _Checked, condition: PrivacyModelCondition) -> None:
    found, at = checked.found, checked.condition_at
    _check_roles(checked)
    model: Criterion | None = None
    with found.refusals():
        model = criterion_of(condition.model, condition.parameters, f"{at}/model")
    if model is None:
        checked.slot(condition.dictionary, f"{at}/dictionary")
        return
    needs = f"The privacy model {condition.model}" if model.needs_population else None
    checked.slot(condition.dictionary, f"{at}/dictionary", needs)
    if condition.dictionary is not None and needs is None:
        found.warn(
            f"{at}/dictionary",
            "unused-dictionary",
            f"{condition.model} looks at no dictionary.",
            "Leave it out.",
        )
    if model.table_wide:
        _check_table_wide(checked, condition)
    if condition.missing == "excluded":
        found.warn(
            f"{at}/missing", "leaves-out",
            "It does not look at records with a missing quasi-identifier: they have to be suppressed.",
            "Leave it out, unless the rule was searched for with this matching.",
        )  # fmt: skip
    if condition.failing_share >= 1:
        found.warn(
            f"{at}/failing_share", "always-passes", "All records may fail it.", "Give a share below 1."
        )
    elif condition.missing != "excluded" and model.asks_nothing:
        found.warn(
            f"{at}/model", "always-passes", f"Every release meets {condition.model} with these numbers.",
            "Ask for more, or leave the requirement out.",
        )  # fmt: skip


def _check_table_wide(checked: _Checked, condition: PrivacyModelCondition) -> None:
    if condition.failing_share:
        checked.found.error(
            f"{checked.condition_at}/failing_share", "not-applicable",
            f"{condition.model} is about all classes together: no single record fails it.", "Leave it out.",
        )  # fmt: skip
    if checked.scope.groups is not None:
        checked.found.error(
            f"{checked.pointer}/scope/groups", "unsupported-scope",
            f"{condition.model} is about all classes together and says nothing of groups.",
            "Leave the scope out.",
        )  # fmt: skip


def _check_optimum(checked: _Checked, condition: OptimumCondition) -> None:
    at = checked.condition_at
    _refuse_scope(checked, "An optimum is of the whole release.")
    problem = None
    with checked.found.refusals():
        problem = problem_of(condition.objective, condition.scope, f"{at}/objective")
    if isinstance(problem, AnonymityProblem):
        needed = any(own.needs_population for own in problem.privacy)
        checked.slot(condition.dictionary, f"{at}/dictionary", "A privacy model of it" if needed else None)
    elif problem is not None:
        checked.slot(condition.dictionary, f"{at}/dictionary", f"The objective {problem.objective.kind}")


def _refuse_scope(checked: _Checked, why: str) -> None:
    if checked.scope != Scope():
        checked.found.error(f"{checked.pointer}/scope", "unsupported-scope", why, "Leave the scope out.")


def _check_roles(checked: _Checked) -> None:
    """Compare a scope with the roles that the policy's own schema gives."""
    schema = checked.policy.schema
    roles = {} if schema is None else schema.attributes
    for number, name in enumerate(checked.scope.attributes or ()):
        if roles.get(name, "quasi_identifier") != "quasi_identifier":
            checked.found.error(
                f"{checked.pointer}/scope/attributes/{number}", "wrong-role",
                f"By the policy's schema {name!r} is no quasi-identifier.", "Name quasi-identifiers.",
            )  # fmt: skip
    groups = checked.scope.groups
    if groups is not None and roles.get(groups, "sensitive") not in ("quasi_identifier", "sensitive"):
        checked.found.error(
            f"{checked.pointer}/scope/groups", "wrong-role",
            f"By the policy's schema {groups!r} is not disclosed.", "Name an attribute of the release.",
        )  # fmt: skip


def _check_value(
    checked: _Checked, path: str, values: tuple[ResultValue, ...], what: str
) -> ResultValue | None:
    value = found_in(values, path)
    if value is not None:
        return dataclasses.replace(value, path=path)
    named = [f"{own.path} ({own.meaning.rstrip('.')})" for own in values[:_VALUES_LISTED]]
    near = closest(path, [own.path for own in values]).partition("There are:")[0]
    checked.found.error(
        f"{checked.condition_at}/value", "unknown-value",
        f"{path!r} is no number or boolean of {what}.", f"{near}There are: {'; '.join(named)}.",
    )  # fmt: skip
    return None
