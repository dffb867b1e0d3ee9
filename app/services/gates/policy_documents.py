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
from typing import Any, Final, get_args

from app.domain.errors import Fault, InvalidInput, joined, refuse
from app.domain.policies.building import built, closest
from app.domain.policies.comparison import Value
from app.domain.policies.formats import FORMAT_1, FORMAT_2, FORMATS, Format, format_of
from app.domain.policies.policy import (
    MOST_REQUIREMENTS,
    Assumptions,
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
from app.domain.policies.requirements import is_scored, slots_of
from app.domain.policies.schema import USUAL_SINGLED_OUT_SHARE, PolicySchema
from app.domain.tables.numbers import to_json_number
from app.services.fingerprints import plain
from app.services.resources import JsonObject
from app.services.scoring.scoring_options import ScoringOptions
from app.services.views.published import Language, SqlDialect

CONDITIONS: Final[Mapping[str, type]] = {
    "measure": MeasureCondition,
    "score": ScoreCondition,
    "privacy_model": PrivacyModelCondition,
    "bound": BoundCondition,
    "optimum": OptimumCondition,
    "guarantee": GuaranteeCondition,
    "privacy_budget": BudgetCondition,
    "perfect_privacy": PerfectPrivacyCondition,
}
"""Kind of requirement, as documents name it → its type."""

_NAMED_INSIDE: Final[Mapping[str, str]] = {
    "measure": "measure",
    "privacy_model": "model",
    "guarantee": "model",
}
"""Kinds whose document holds an object with a ``kind`` and its parameters, and the field that it is in."""

_READINGS: Final = ("missing", "suppressed")
"""Fields of privacy models that documents have only where they are not as usual."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,89}")
_USUAL_OPTIONS: Final = ScoringOptions().document()
_MOST_DEEP: Final = 16


def policy_of(document: object) -> Policy:
    """The policy of a document in one of the formats.

    InvalidInput names every field that is missing, unknown or of the wrong kind; whether measures, values and
    thresholds make sense is told by :func:`app.domain.policies.lint.lint`.
    """
    if not isinstance(document, Mapping):
        raise InvalidInput.of("", "wrong-type", "A policy is an object with named fields.")
    _refuse_deep(document, "", _MOST_DEEP)
    faults: list[Fault] = []
    _check_head(document, faults)
    form = format_of(document)
    fields = _policy_fields(document, form)
    made = {"requirements": _requirements_of(document, form, faults), "format": form}
    with _collecting(faults):
        policy = built(Policy, fields, "", made)
        _options_of(policy.assumes.options, "/assumes/options")
    if faults:
        raise InvalidInput([_as_written(fault, form) for fault in faults])
    return policy


def document_of_policy(policy: Policy) -> JsonObject:
    """The canonical document of a policy as plain JSON; :func:`policy_of` reads it back."""
    document: JsonObject = {
        "format": policy.format.name,
        "name": policy.name,
        "version": policy.version,
        "title": policy.title,
        "description": policy.description,
        "assumes": {
            "attacker": policy.assumes.attacker,
            "options": _options_document(policy.assumes),
        },
        "dictionaries": [dataclasses.asdict(slot, dict_factory=_said) for slot in policy.dictionaries],
        policy.format.requirements: [
            _requirement_document(own, policy.format) for own in policy.requirements
        ],
    }
    if policy.suppression_limit is not None or policy.takes_any_register:
        document["suppression_limit"] = _number(policy.suppression_limit or 0.0)
    if policy.schema is not None:
        document["schema"] = schema_document(policy.schema)
    if policy.not_covered:
        document["not_covered"] = [dataclasses.asdict(own) for own in policy.not_covered]
    if policy.singled_out_share != USUAL_SINGLED_OUT_SHARE:
        document["singled_out_share"] = _number(policy.singled_out_share)
    if not policy.is_covered_as_before:
        document["coverage_version"] = policy.coverage_version
    if policy.outline:
        document["outline"] = [dataclasses.asdict(own) for own in policy.outline]
    return plain(document)


def _said(fields: list[tuple[str, Any]]) -> JsonObject:
    return {name: value for name, value in fields if value is not None}


def schema_document(schema: PolicySchema) -> JsonObject:
    """What a policy says of columns, as plain JSON."""
    document: JsonObject = {"attributes": dict(schema.attributes)}
    if schema.patterns:
        document["patterns"] = dict(schema.patterns)
    if schema.to_confirm:
        document["to_confirm"] = list(schema.to_confirm)
    if schema.rows_are is not None:
        document["rows_are"] = schema.rows_are
    for name in ("file", "release"):
        if read := dataclasses.asdict(getattr(schema, name), dict_factory=_said):
            document[name] = read
    if schema.columns:
        document["columns"] = {
            name: dataclasses.asdict(own, dict_factory=_said) for name, own in schema.columns.items()
        }
    return plain(document)


def scoring_options_of(policy: Policy) -> ScoringOptions:
    """How the policy's scores are taken."""
    return _options_of(policy.assumes.options, "")


def condition_document(condition: Condition) -> JsonObject:
    """What a requirement asks, as plain JSON."""
    kind = next(kind for kind, type_ in CONDITIONS.items() if isinstance(condition, type_))
    fields = {own.name: getattr(condition, own.name) for own in dataclasses.fields(condition)}
    if isinstance(condition, PerfectPrivacyCondition):
        fields["secrets"] = [dataclasses.asdict(own) for own in condition.secrets]
        if condition.keys == PerfectPrivacyCondition.keys:
            del fields["keys"]
    inside = _NAMED_INSIDE.get(kind)
    if inside is not None:
        fields[inside] = {"kind": fields[inside], **fields.pop("parameters")}
    for name in ("threshold", "failing_share", "gap"):
        if name in fields:
            fields[name] = _number(fields[name])
    if isinstance(condition, PrivacyModelCondition):
        for name in _READINGS:
            if fields[name] == getattr(PrivacyModelCondition, name):
                del fields[name]
    return {"kind": kind, **{name: value for name, value in fields.items() if value is not None}}


def _requirement_document(requirement: Requirement, form: Format) -> JsonObject:
    document: JsonObject = {
        "id": requirement.id,
        "title": requirement.title,
        "reason": requirement.reason,
        "severity": requirement.severity,
        form.condition: condition_document(requirement.condition),
    }
    if requirement.scope != Scope():
        scope = dataclasses.asdict(requirement.scope)
        document["scope"] = {name: value for name, value in scope.items() if value is not None}
    return document


def asked_document(policy: Policy, requirement: Requirement) -> JsonObject:
    """All that a policy asks by a requirement, as plain JSON: of scores also how and with what.

    It is the same whatever the policy's format, for waivers hold its hash.
    """
    document = _requirement_document(requirement, FORMAT_1)
    if is_scored(requirement.condition):
        document["options"] = _options_document(policy.assumes)
        document["dictionaries"] = sorted(slots_of(requirement.condition, policy))
    return plain(document)


def _requirements_of(
    document: Mapping[str, Any], form: Format, faults: list[Fault]
) -> tuple[Requirement, ...]:
    """The requirements without those that cannot be read."""
    name = form.requirements
    items = document.get(name)
    if isinstance(items, str | Mapping) or not isinstance(items, Sequence):
        faults.append(Fault(f"/{name}", "wrong-type", f"The field {name} must be a list.", "Give it."))
        return ()
    if not 1 <= len(items) <= MOST_REQUIREMENTS:
        faults.append(
            Fault(f"/{name}", "wrong-length", f"A policy has 1 to {MOST_REQUIREMENTS} {name}.",
                  "A policy without any would let everything pass.")
        )  # fmt: skip
        return ()
    found: list[Requirement] = []
    for i, item in enumerate(items):
        with _collecting(faults):
            found.append(_requirement_of(item, f"/{name}/{i}", form.condition))
    return tuple(found)


def _requirement_of(document: object, pointer: str, condition: str) -> Requirement:
    """A requirement; ``condition`` is the field of what it asks."""
    if not isinstance(document, Mapping):
        raise InvalidInput.of(pointer, "wrong-type", "A requirement is an object with named fields.")
    faults: list[Fault] = []
    made: dict[str, Any] = {"condition": None, "scope": Scope()}
    with _collecting(faults):
        made["condition"] = _condition_of(document.get(condition), f"{pointer}/{condition}")
    if "scope" in document:
        with _collecting(faults):
            made["scope"] = _scope_of(document["scope"], f"{pointer}/scope")
    fields = {key: value for key, value in document.items() if key not in (condition, "scope")}
    with _collecting(faults):
        requirement = built(Requirement, fields, pointer, made)
    if faults:
        raise InvalidInput([_with_what_a_reason_is(fault) for fault in faults])
    return requirement


def _scope_of(document: object, pointer: str) -> Scope:
    scope = built(Scope, document, pointer)
    if (scope.attributes is None) == (scope.groups is None):
        raise InvalidInput.of(
            pointer,
            "exactly-one",
            "A scope has either attributes or groups.",
            "Leave the scope out if the requirement is about the whole release.",
        )
    return scope


def _condition_of(document: object, pointer: str) -> Condition:
    if not isinstance(document, Mapping):
        raise InvalidInput.of(pointer, "wrong-type", "A requirement is an object with the field kind.")
    kind = document.get("kind")
    if not isinstance(kind, str) or kind not in CONDITIONS:
        raise InvalidInput.of(
            f"{pointer}/kind",
            "unknown-kind",
            "There is no requirement of this kind.",
            closest(str(kind), CONDITIONS),
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
        condition: Condition = built(CONDITIONS[kind], fields, pointer, made)
    refuse(faults)
    if isinstance(condition, PerfectPrivacyCondition):
        refuse(_of_language(condition, pointer))
    return condition


def _of_language(condition: PerfectPrivacyCondition, pointer: str) -> list[Fault]:
    """Faults for a language or dialect that is not read."""
    given = (("language", condition.language, Language), ("dialect", condition.dialect, SqlDialect))
    return [
        Fault(
            f"{pointer}/{name}",
            "unknown-choice",
            f"{own!r} is none of the choices.",
            closest(own, get_args(choices)),
        )
        for name, own, choices in given
        if own not in get_args(choices)
    ]


def _named(document: object, pointer: str) -> tuple[str, dict[str, Any]]:
    """Kind and parameters of a measure or of a privacy model."""
    if not isinstance(document, Mapping) or not isinstance(document.get("kind"), str):
        raise InvalidInput.of(
            pointer, "wrong-type", "It must be an object: its kind, and its parameters.", "Give its kind."
        )
    return document["kind"], {key: value for key, value in document.items() if key != "kind"}


def _policy_fields(document: Mapping[str, Any], form: Format) -> dict[str, Any]:
    """The fields of a policy beside its requirements; a schema that is null is none."""
    fields = {key: value for key, value in document.items() if key not in ("format", form.requirements)}
    if fields.get("schema") is None:
        fields.pop("schema", None)
    return fields


def _check_head(document: Mapping[str, Any], faults: list[Fault]) -> None:
    if document.get("format") not in [own.name for own in FORMATS]:
        faults.append(
            Fault("/format", "unknown-format", "This is no format of a policy.", f"Write {FORMAT_2.name}.")
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


def _as_written(fault: Fault, form: Format) -> Fault:
    named = form.name_of(fault.pointer.rpartition("/")[2])
    if fault.code == "unknown-field" and named is not None:
        return dataclasses.replace(fault, remedy=f"Call it {named}, as {form.name} does.")
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
    """The options of an assessment as requests for one state them."""
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
    refuse(faults)
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
