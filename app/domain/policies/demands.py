"""What can be said of one demand without data: does it exist, does it fit together, can it be judged."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NewType, get_args, get_origin, get_type_hints

from app.domain.catalogue_types import DatasetRef, DictionaryRef, RuleRef
from app.domain.criteria.criterion import Criterion
from app.domain.measures.catalogue import MEASURES
from app.domain.measures.entry import Measure
from app.domain.policies.building import built, closest, joined
from app.domain.policies.findings import Findings
from app.domain.policies.meanings import REPEATED
from app.domain.policies.nothing_asked import met_by_all
from app.domain.policies.objectives import criterion_of, problem_of
from app.domain.policies.policy import (
    BoundDemand,
    Demand,
    MeasureDemand,
    OptimumDemand,
    Policy,
    PolicyCriterion,
    PrivacyModelDemand,
    Scope,
    ScoreDemand,
)
from app.domain.policies.scores import SCORE_VALUES
from app.domain.policies.thresholds import check_threshold
from app.domain.policies.values import ResultValue, found_in, values_of
from app.domain.search.anonymity.problem import AnonymityProblem

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


@dataclass(frozen=True)
class _Checked:
    """One criterion on its way through the checks."""

    policy: Policy
    criterion: PolicyCriterion
    pointer: str
    found: Findings

    @property
    def demand_at(self) -> str:
        return f"{self.pointer}/demand"

    @property
    def scope(self) -> Scope:
        return self.criterion.scope

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


def check_criterion(policy: Policy, criterion: PolicyCriterion, pointer: str, found: Findings) -> None:
    """Note all that is wrong with a criterion that is at ``pointer``."""
    checked = _Checked(policy, criterion, pointer, found)
    for name in ("title", "reason"):
        if not getattr(criterion, name).strip():
            found.error(
                f"{pointer}/{name}", f"missing-{name}", f"The {name} is empty.",
                "Say why this number." if name == "reason" else "Say what must hold.",
            )  # fmt: skip
    match criterion.demand:
        case MeasureDemand() as demand:
            _check_measure(checked, demand)
        case ScoreDemand() as demand:
            _check_score(checked, demand)
        case PrivacyModelDemand() as demand:
            _check_privacy_model(checked, demand)
        case BoundDemand() as demand:
            _refuse_scope(checked, "The bound is about all records together.")
            checked.slot(demand.dictionary, f"{checked.demand_at}/dictionary")
        case OptimumDemand() as demand:
            _check_optimum(checked, demand)


def slots_of(demand: Demand, policy: Policy) -> frozenset[str]:
    """The slots that a demand is judged with."""
    slots = {slot.name for slot in policy.dictionaries}
    if isinstance(demand, ScoreDemand) and demand.dictionary is None:
        return frozenset(slots)
    named = {demand.dictionary} if demand.dictionary is not None else set()
    if isinstance(demand, MeasureDemand) and demand.measure in MEASURE_OF:
        named |= {ref for _, type_, ref in _references(demand) if type_ is DictionaryRef}
    return frozenset(named & slots)


def value_of(demand: MeasureDemand | ScoreDemand) -> ResultValue | None:
    """The value that a threshold is set for; None if there is no such measure or value."""
    if isinstance(demand, ScoreDemand):
        return found_in(SCORE_VALUES, demand.value)
    return found_in(VALUES_OF.get(demand.measure, ()), demand.value)


def is_scored(demand: Demand) -> bool:
    """Whether a demand depends on how scores are taken."""
    match demand:
        case PrivacyModelDemand():
            return False
        case MeasureDemand(measure):
            return measure not in MEASURE_OF or "sensitivity" in MEASURE_OF[measure].needs
        case OptimumDemand(objective):
            return objective.get("kind") != "min_loss"
        case _:
            return True


def _check_measure(checked: _Checked, demand: MeasureDemand) -> None:
    found, at = checked.found, checked.demand_at
    measure = MEASURE_OF.get(demand.measure)
    if measure is None:
        found.error(
            f"{at}/measure/kind", "unknown-measure", f"There is no measure {demand.measure!r}.",
            closest(demand.measure, MEASURE_OF),
        )  # fmt: skip
        return
    if demand.version not in (None, measure.version):
        found.error(
            f"{at}/version", "wrong-version",
            f"{measure.name} is version {measure.version} here, not {demand.version}.",
            "Read what has changed, then raise the policy's version with it.",
        )  # fmt: skip
    with found.refusals():
        built(measure.parameters, demand.parameters, f"{at}/measure")
    _check_references(checked, demand)
    needs = f"The measure {measure.name}" if _needs_dictionary(measure, demand) else None
    checked.slot(demand.dictionary, f"{at}/dictionary", needs)
    _check_grouped(checked, demand, measure)
    value = _check_value(checked, demand.value, VALUES_OF[measure.name], f"the measure {measure.name}")
    if value is None:
        return
    if (measure.name, value.path) in REPEATED:
        found.error(
            f"{at}/value", "repeats-the-question",
            f"{value.path} repeats a parameter of {measure.name}, whatever the data are.",
            "Name a value that depends on the data.",
        )  # fmt: skip
    _check_threshold(checked, demand, value, measure.name)


def _needs_dictionary(measure: Measure[Any, Any], demand: MeasureDemand) -> bool:
    if "dictionary" in measure.needs or "comparable_ids" in measure.needs:
        return True
    if measure.name == "k_map":
        return bool(demand.parameters.get("by", "dictionary") == "dictionary")
    return measure.name == "attacker_models" and demand.value.startswith("journalist")


def _check_references(checked: _Checked, demand: MeasureDemand) -> None:
    """Dictionaries inside parameters are slots; datasets and rules belong to the evaluation."""
    for name, type_, ref in _references(demand):
        place = joined(f"{checked.demand_at}/measure", name)
        if type_ is DictionaryRef:
            checked.slot(ref, place)
        else:
            checked.found.error(
                place, "names-a-resource",
                f"A policy names no {_NAMES_RESOURCE[type_]}: it is about whatever is evaluated.",
                "Leave it out, or choose another measure.",
            )  # fmt: skip


def _references(demand: MeasureDemand) -> list[tuple[str, Any, str]]:
    """The resources that a measure's parameters name: field, type of reference, reference."""
    found = []
    for name, hint in get_type_hints(MEASURE_OF[demand.measure].parameters).items():
        type_ = next((own for own in _leaves(hint) if own in (*_NAMES_RESOURCE, DictionaryRef)), None)
        given = demand.parameters.get(name)
        if type_ is None or given is None:
            continue
        items = [given] if isinstance(given, str) else given
        found += [(name, type_, own) for own in items if isinstance(own, str)]
    return found


def _leaves(hint: Any) -> list[Any]:  # noqa: ANN401 - any type
    if isinstance(hint, NewType) or get_origin(hint) is None:
        return [hint]
    return [leaf for own in get_args(hint) for leaf in _leaves(own)]


def _check_grouped(checked: _Checked, demand: MeasureDemand, measure: Measure[Any, Any]) -> None:
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
    elif "quasi_identifiers" in demand.parameters:
        found.error(
            f"{checked.pointer}/scope/attributes", "unsupported-scope",
            "The measure names quasi_identifiers itself.", "Name them in one place.",
        )  # fmt: skip
    _check_roles(checked)


def _check_score(checked: _Checked, demand: ScoreDemand) -> None:
    if demand.dictionary is not None or not checked.policy.dictionaries:
        checked.slot(demand.dictionary, f"{checked.demand_at}/dictionary", "A score")
    if checked.scope.attributes is not None:
        checked.found.error(
            f"{checked.pointer}/scope/attributes", "unsupported-scope",
            "A score is of all that is disclosed of a record.", "Leave the attributes out.",
        )  # fmt: skip
    value = _check_value(checked, demand.value, SCORE_VALUES, "a score")
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
    _check_threshold(checked, demand, value, None)


def _check_privacy_model(checked: _Checked, demand: PrivacyModelDemand) -> None:
    found, at = checked.found, checked.demand_at
    _check_roles(checked)
    model: Criterion | None = None
    with found.refusals():
        model = criterion_of(demand.model, demand.parameters, f"{at}/model")
    if model is None:
        checked.slot(demand.dictionary, f"{at}/dictionary")
        return
    needs = f"The privacy model {demand.model}" if model.needs_population else None
    checked.slot(demand.dictionary, f"{at}/dictionary", needs)
    if demand.dictionary is not None and needs is None:
        found.warn(
            f"{at}/dictionary",
            "unused-dictionary",
            f"{demand.model} looks at no dictionary.",
            "Leave it out.",
        )
    if model.table_wide:
        _check_table_wide(checked, demand)
    if demand.missing == "excluded":
        found.warn(
            f"{at}/missing", "leaves-out",
            "It does not look at records that lack a quasi-identifier: they have to be withheld.",
            "Leave it out, unless the rule was searched for under this reading.",
        )  # fmt: skip
    if demand.failing_share >= 1:
        found.warn(
            f"{at}/failing_share", "always-passes", "All records may fail it.", "Give a share below 1."
        )
    elif met_by_all(demand):
        found.warn(
            f"{at}/model", "always-passes", f"Every release meets {demand.model} with these numbers.",
            "Ask for more, or leave the criterion out.",
        )  # fmt: skip


def _check_table_wide(checked: _Checked, demand: PrivacyModelDemand) -> None:
    if demand.failing_share:
        checked.found.error(
            f"{checked.demand_at}/failing_share", "not-applicable",
            f"{demand.model} is about all classes together: no single record fails it.", "Leave it out.",
        )  # fmt: skip
    if checked.scope.groups is not None:
        checked.found.error(
            f"{checked.pointer}/scope/groups", "unsupported-scope",
            f"{demand.model} is about all classes together and says nothing of groups.",
            "Leave the scope out.",
        )  # fmt: skip


def _check_optimum(checked: _Checked, demand: OptimumDemand) -> None:
    at = checked.demand_at
    _refuse_scope(checked, "An optimum is of the whole release.")
    problem = None
    with checked.found.refusals():
        problem = problem_of(demand.objective, demand.scope, f"{at}/objective")
    if isinstance(problem, AnonymityProblem):
        needed = any(own.needs_population for own in problem.privacy)
        checked.slot(demand.dictionary, f"{at}/dictionary", "A privacy model of it" if needed else None)
    elif problem is not None:
        checked.slot(demand.dictionary, f"{at}/dictionary", f"The objective {problem.objective}")


def _refuse_scope(checked: _Checked, why: str) -> None:
    if checked.scope != Scope():
        checked.found.error(f"{checked.pointer}/scope", "unsupported-scope", why, "Leave the scope out.")


def _check_roles(checked: _Checked) -> None:
    """Hold a scope against the roles that the policy's own schema gives."""
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
        f"{checked.demand_at}/value", "unknown-value",
        f"{path!r} is no number or boolean of {what}.", f"{near}There are: {'; '.join(named)}.",
    )  # fmt: skip
    return None


def _check_threshold(
    checked: _Checked, demand: MeasureDemand | ScoreDemand, value: ResultValue, measure: str | None
) -> None:
    check_threshold(
        checked.found,
        checked.demand_at,
        value,
        demand.comparison,
        demand.threshold,
        measure=measure,
        options=checked.policy.assumes.options,
    )
