"""Policies as plain documents, the same from JSON and YAML: read with every mistake named, written one way.

What a document must be like is said by the domain's types. The canonical document names what is optional
only where it is not as usual, so that two files which mean the same policy hash alike.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from app.domain.errors import Fault, InvalidInput
from app.domain.numbers import to_json_number
from app.domain.policies.building import built, closest, joined
from app.domain.policies.comparison import Value
from app.domain.policies.demands import is_scored, slots_of
from app.domain.policies.objectives import problem_of
from app.domain.policies.policy import (
    FORMAT,
    MOST_CRITERIA,
    Assumptions,
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
from app.domain.policies.schema import USUAL_SINGLED_OUT_SHARE, PolicySchema
from app.domain.search.anonymity.problem import AnonymityProblem
from app.domain.search.problem import Problem
from app.domain.search.scalable.aggregate_options import AggregateOptions
from app.services.fingerprints import plain
from app.services.objectives import (
    AggregateObjective,
    Lagrangian,
    MaxUtility,
    MinLoss,
    MinRisk,
    Objective,
)
from app.services.resources import JsonObject
from app.services.scoring_options import ScoringOptions

DEMANDS: Final[Mapping[str, type]] = {
    "measure": MeasureDemand,
    "score": ScoreDemand,
    "privacy_model": PrivacyModelDemand,
    "bound": BoundDemand,
    "optimum": OptimumDemand,
}
"""Kind of demand, as documents name it → its type."""

_NAMED_INSIDE: Final[Mapping[str, str]] = {"measure": "measure", "privacy_model": "model"}
"""Kinds whose document holds an object with a ``kind`` and its parameters, and the field that it is in."""

_READINGS: Final = ("missing", "suppressed")
"""Fields of privacy models that documents have only where they are not as usual."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,89}")
_USUAL_OPTIONS: Final = ScoringOptions().document()
_MOST_DEEP: Final = 16


def policy_of(document: object) -> Policy:
    """The policy of a document in the format ``privacy-risk/policy/1``.

    InvalidInput names every field that is missing, unknown or of the wrong kind; whether measures, values and
    thresholds make sense is told by :func:`app.domain.policies.lint.lint`.
    """
    if not isinstance(document, Mapping):
        raise InvalidInput.of("", "wrong-type", "A policy is an object with named fields.")
    _refuse_deep(document, "", _MOST_DEEP)
    faults: list[Fault] = []
    _check_head(document, faults)
    fields = _policy_fields(document)
    made = {"criteria": _criteria_of(document, faults)}
    with _collecting(faults):
        policy = built(Policy, fields, "", made)
        _options_of(policy.assumes.options, "/assumes/options")
    if faults:
        raise InvalidInput([_as_written(fault) for fault in faults])
    return policy


def document_of_policy(policy: Policy) -> JsonObject:
    """The canonical document of a policy as plain JSON; :func:`policy_of` reads it back."""
    document: JsonObject = {
        "format": FORMAT,
        "name": policy.name,
        "version": policy.version,
        "title": policy.title,
        "description": policy.description,
        "assumes": {
            "attacker": policy.assumes.attacker,
            "options": _options_document(policy.assumes),
        },
        "dictionaries": [dataclasses.asdict(slot) for slot in policy.dictionaries],
        "suppression_limit": _number(policy.suppression_limit),
        "criteria": [criterion_document(criterion) for criterion in policy.criteria],
    }
    if policy.schema is not None:
        document["schema"] = _schema_document(policy.schema)
    if policy.not_covered:
        document["not_covered"] = [dataclasses.asdict(own) for own in policy.not_covered]
    if policy.singled_out_share != USUAL_SINGLED_OUT_SHARE:
        document["singled_out_share"] = _number(policy.singled_out_share)
    return plain(document)  # type: ignore[no-any-return]


def _schema_document(schema: PolicySchema) -> JsonObject:
    document: JsonObject = {"attributes": dict(schema.attributes)}
    if schema.patterns:
        document["patterns"] = dict(schema.patterns)
    if schema.to_confirm:
        document["to_confirm"] = list(schema.to_confirm)
    return document


def scoring_options_of(policy: Policy) -> ScoringOptions:
    """How the policy's scores are taken."""
    return _options_of(policy.assumes.options, "")


def objective_of(demand: OptimumDemand) -> Objective:
    """The objective of a demand for an optimum; InvalidInput for one that no search takes."""
    match problem_of(demand.objective, demand.scope):
        case AnonymityProblem() as asked:
            return MinLoss(
                asked.privacy, asked.loss, asked.suppression_limit, asked.missing, asked.suppressed
            )
        case Problem("min_risk", threshold, threshold_is_loss=True):
            return MinRisk(loss_cap=threshold)
        case Problem("min_risk", threshold):
            return MinRisk(threshold)
        case Problem("max_utility", threshold):
            return MaxUtility(threshold)
        case Problem("lagrangian", threshold):
            return Lagrangian(threshold)
        case Problem(threshold=threshold, aggregate_options=AggregateOptions() as options):
            return AggregateObjective(threshold, options)
    raise AssertionError("every objective of a problem is one of the above")


def demand_document(demand: Demand) -> JsonObject:
    """A demand as plain JSON."""
    kind = next(kind for kind, type_ in DEMANDS.items() if isinstance(demand, type_))
    fields = {own.name: getattr(demand, own.name) for own in dataclasses.fields(demand)}
    inside = _NAMED_INSIDE.get(kind)
    if inside is not None:
        fields[inside] = {"kind": fields[inside], **fields.pop("parameters")}
    for name in ("threshold", "failing_share", "gap"):
        if name in fields:
            fields[name] = _number(fields[name])
    if isinstance(demand, PrivacyModelDemand):
        for name in _READINGS:
            if fields[name] == getattr(PrivacyModelDemand, name):
                del fields[name]
    return {"kind": kind, **{name: value for name, value in fields.items() if value is not None}}


def criterion_document(criterion: PolicyCriterion) -> JsonObject:
    """A criterion as policies have it, as plain JSON."""
    document: JsonObject = {
        "id": criterion.id,
        "title": criterion.title,
        "reason": criterion.reason,
        "severity": criterion.severity,
        "demand": demand_document(criterion.demand),
    }
    if criterion.scope != Scope():
        scope = dataclasses.asdict(criterion.scope)
        document["scope"] = {name: value for name, value in scope.items() if value is not None}
    return document


def asked_document(policy: Policy, criterion: PolicyCriterion) -> JsonObject:
    """All that a policy asks by a criterion, as plain JSON: of scores also how and with what."""
    document = criterion_document(criterion)
    if is_scored(criterion.demand):
        document["options"] = _options_document(policy.assumes)
        document["dictionaries"] = sorted(slots_of(criterion.demand, policy))
    return plain(document)  # type: ignore[no-any-return]


def _criteria_of(document: Mapping[str, Any], faults: list[Fault]) -> tuple[PolicyCriterion, ...]:
    """The criteria without those that cannot be read."""
    criteria = document.get("criteria")
    if isinstance(criteria, str | Mapping) or not isinstance(criteria, Sequence):
        faults.append(Fault("/criteria", "wrong-type", "The field criteria must be a list.", "Give it."))
        return ()
    if not 1 <= len(criteria) <= MOST_CRITERIA:
        faults.append(
            Fault("/criteria", "wrong-length", f"A policy has 1 to {MOST_CRITERIA} criteria.",
                  "A policy without any would let everything pass.")
        )  # fmt: skip
        return ()
    found: list[PolicyCriterion] = []
    for i, item in enumerate(criteria):
        with _collecting(faults):
            found.append(_criterion_of(item, f"/criteria/{i}"))
    return tuple(found)


def _criterion_of(document: object, pointer: str) -> PolicyCriterion:
    if not isinstance(document, Mapping):
        raise InvalidInput.of(pointer, "wrong-type", "A criterion is an object with named fields.")
    faults: list[Fault] = []
    made: dict[str, Any] = {"demand": None, "scope": Scope()}
    with _collecting(faults):
        made["demand"] = _demand_of(document.get("demand"), f"{pointer}/demand")
    if "scope" in document:
        with _collecting(faults):
            made["scope"] = _scope_of(document["scope"], f"{pointer}/scope")
    fields = {key: value for key, value in document.items() if key not in ("demand", "scope")}
    with _collecting(faults):
        criterion = built(PolicyCriterion, fields, pointer, made)
    if faults:
        raise InvalidInput([_with_what_a_reason_is(fault) for fault in faults])
    return criterion


def _scope_of(document: object, pointer: str) -> Scope:
    scope = built(Scope, document, pointer)
    if (scope.attributes is None) == (scope.groups is None):
        raise InvalidInput.of(
            pointer,
            "exactly-one",
            "A scope has either attributes or groups.",
            "Leave the scope out if the criterion is about the whole release.",
        )
    return scope


def _demand_of(document: object, pointer: str) -> Demand:
    if not isinstance(document, Mapping):
        raise InvalidInput.of(pointer, "wrong-type", "A demand is an object with the field kind.")
    kind = document.get("kind")
    if not isinstance(kind, str) or kind not in DEMANDS:
        raise InvalidInput.of(
            f"{pointer}/kind", "unknown-kind", "There is no demand of this kind.", closest(str(kind), DEMANDS)
        )
    fields = {key: value for key, value in document.items() if key != "kind"}
    made: dict[str, Any] = {}
    faults: list[Fault] = []
    inside = _NAMED_INSIDE.get(kind)
    if inside is not None:
        named, place = fields.pop(inside, None), f"{pointer}/{inside}"
        with _collecting(faults):
            made = dict(zip((inside, "parameters"), _named(named, place), strict=True))
    if faults:
        # The other fields are looked at as well, so that one reading tells all.
        made = dict.fromkeys((str(inside), "parameters"))
    with _collecting(faults):
        demand: Demand = built(DEMANDS[kind], fields, pointer, made)
    if faults:
        raise InvalidInput(faults)
    return demand


def _named(document: object, pointer: str) -> tuple[str, dict[str, Any]]:
    """Kind and parameters of a measure or of a privacy model."""
    if not isinstance(document, Mapping) or not isinstance(document.get("kind"), str):
        raise InvalidInput.of(
            pointer, "wrong-type", "It must be an object: its kind, and its parameters.", "Give its kind."
        )
    return document["kind"], {key: value for key, value in document.items() if key != "kind"}


def _policy_fields(document: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a policy beside its criteria; a schema that is null is none."""
    fields = {key: value for key, value in document.items() if key not in ("format", "criteria")}
    if fields.get("schema") is None:
        fields.pop("schema", None)
    return fields


def _check_head(document: Mapping[str, Any], faults: list[Fault]) -> None:
    if document.get("format") != FORMAT:
        faults.append(
            Fault("/format", "unknown-format", "This is not the format of a policy.", f"Write {FORMAT}.")
        )
    name = document.get("name")
    if isinstance(name, str) and _NAME.fullmatch(name) is None:
        faults.append(
            Fault("/name", "invalid-name", "A policy's name has 1 to 90 characters: ASCII letters, digits, "
                  "'.', '_' and '-', the first a letter or digit.", "Choose another name.")
        )  # fmt: skip


def _refuse_deep(document: object, pointer: str, deeper: int) -> None:
    """Refuse what is nested deeper than any policy, before anything walks through it."""
    if not deeper:
        raise InvalidInput.of(pointer, "too-deep", f"No policy is nested deeper than {_MOST_DEEP} levels.")
    inner = document.values() if isinstance(document, Mapping) else document
    if isinstance(inner, str) or not isinstance(inner, Iterable):
        return
    for item in inner:
        _refuse_deep(item, pointer, deeper - 1)


_WRITTEN: Final[Mapping[str, str]] = {
    "/assumes/options/risk_model/name": "/assumes/options/risk_model",
}
"""Places in the domain's types → places in documents, where they are not the same."""


def _as_written(fault: Fault) -> Fault:
    for place, written in _WRITTEN.items():
        if fault.pointer.startswith(place):
            return dataclasses.replace(fault, pointer=written + fault.pointer.removeprefix(place))
    return fault


@contextlib.contextmanager
def _collecting(faults: list[Fault]) -> Iterator[None]:
    """Note the faults of a part, so that the others are read as well."""
    try:
        yield
    except InvalidInput as error:
        faults.extend(error.faults)


def _with_what_a_reason_is(fault: Fault) -> Fault:
    if fault.code != "missing" or not fault.pointer.endswith("/reason"):
        return fault
    return dataclasses.replace(
        fault, remedy="Say why this number: who reads the verdict has to be able to disagree with it."
    )


def _options_of(options: Mapping[str, Any], pointer: str) -> ScoringOptions:
    """The options of an assessment as ``POST /v1/assessments`` takes them."""
    read = dict(options)
    if isinstance(model := read.get("risk_model"), str):
        read["risk_model"] = {"name": model}
    elif isinstance(model, Mapping) and "kind" in model:
        read["risk_model"] = {"name": model["kind"], **{k: v for k, v in model.items() if k != "kind"}}
    if isinstance(utility := read.get("utility"), str):
        read["utility"] = {"kind": utility}
    found = built(ScoringOptions, read, pointer)
    faults = [
        Fault(joined(f"{pointer}/utility/weights", name), "out-of-range", "A weight is at least 0.")
        for name, weight in found.utility.weights.items()
        if weight < 0
    ]
    if faults:
        raise InvalidInput(faults)
    return found


def _options_document(assumes: Assumptions) -> JsonObject:
    """The options that are not as usual."""
    document = _options_of(assumes.options, "").document()
    return {name: value for name, value in document.items() if value != _USUAL_OPTIONS.get(name)}


def _number(value: Value) -> Value | str:
    """A number as JSON writes it, whole ones without a fraction."""
    if isinstance(value, bool | int):
        return value
    return to_json_number(value) if math.isinf(value) or value != int(value) else int(value)
