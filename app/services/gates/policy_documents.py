"""Policies as plain documents, the same from JSON and YAML: read with every mistake named, written one way.

What a document must be like is said by the domain's types. The canonical document names what is optional
only where it is not as usual, so that two files which mean the same policy hash alike.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from app.documents import Names, built, written
from app.domain.errors import Fault, InvalidInput, joined, refuse
from app.domain.policies.formats import FORMAT_1, FORMAT_2, FORMATS, Format, format_of
from app.domain.policies.policy import Assumptions, Policy, Requirement
from app.services.resources import JsonObject
from app.services.scoring.scoring_options import ScoringOptions

_FIRST: Final = ("format", "name", "version", "title", "description", "assumes", "dictionaries")
"""Fields in the order in which files begin."""
NAME: Final = "[A-Za-z0-9][A-Za-z0-9._-]{0,89}"
"""The form of a policy's name."""
_USUAL_OPTIONS: Final = ScoringOptions().document()
_MOST_DEEP: Final = 16


def names_of(form: Format) -> Names:
    """What documents in a format call the fields of policies."""
    return {Policy: {"requirements": form.requirements}, Requirement: {"condition": form.condition}}


def policy_of(document: object) -> Policy:
    """The policy of a document in one of the formats.

    InvalidInput names every field that is missing, unknown or of the wrong kind; whether measures, values and
    thresholds make sense is told by :func:`app.domain.policies.lint.lint`.
    """
    if not isinstance(document, Mapping):
        raise InvalidInput.of("", "wrong-type", "A policy is an object with named fields.")
    _refuse_deep(document, "", _MOST_DEEP)
    form = format_of(document)
    faults = [*_head_faults(document), *_scope_faults(document.get(form.requirements), form)]
    fields = {form.requirements: None, **{key: own for key, own in document.items() if key != "format"}}
    try:
        policy = built(Policy, fields, "", {"format": form}, names_of(form))
        _options_of(policy.assumes.options, "/assumes/options")
    except InvalidInput as error:
        faults += error.faults
    refuse([_as_written(fault, form) for fault in faults])
    return policy


def document_of_policy(policy: Policy) -> JsonObject:
    """The canonical document of a policy as plain JSON; :func:`policy_of` reads it back."""
    assumes = dataclasses.replace(policy.assumes, options=_options_document(policy.assumes))
    document = written(dataclasses.replace(policy, assumes=assumes), names_of(policy.format))
    if policy.takes_any_register:
        document.setdefault("suppression_limit", 0)
    if policy.is_covered_as_before:
        document.pop("coverage_version", None)
    document["format"] = policy.format.name
    first = (*_FIRST, policy.format.requirements, "suppression_limit")
    return {name: document.pop(name) for name in first if name in document} | document


def scoring_options_of(policy: Policy) -> ScoringOptions:
    """How the policy's scores are taken."""
    return _options_of(policy.assumes.options, "")


def asked_document(policy: Policy, requirement: Requirement) -> JsonObject:
    """All that a policy asks by a requirement, as plain JSON: of scores also how and with what.

    It is the same whatever the policy's format, for waivers hold its hash.
    """
    document = written(requirement, names_of(FORMAT_1))
    if requirement.condition.is_scored:
        document["options"] = _options_document(policy.assumes)
        document["dictionaries"] = sorted(policy.slots_of(requirement.condition))
    return document


def _scope_faults(requirements: object, form: Format) -> Iterator[Fault]:
    """Faults of scopes that are given and say nothing, or two things."""
    for number, own in enumerate(requirements if isinstance(requirements, list | tuple) else ()):
        scope = own.get("scope") if isinstance(own, Mapping) else None
        if not isinstance(scope, Mapping) or not scope.keys() <= {"attributes", "groups"}:
            continue
        if (scope.get("attributes") is None) == (scope.get("groups") is None):
            yield Fault(
                f"/{form.requirements}/{number}/scope",
                "exactly-one",
                "A scope has either attributes or groups.",
                "Leave the scope out if the requirement is about the whole release.",
            )


def _head_faults(document: Mapping[str, Any]) -> Iterator[Fault]:
    if document.get("format") not in [own.name for own in FORMATS]:
        yield Fault("/format", "unknown-format", "This is no format of a policy.", f"Write {FORMAT_2.name}.")
    name = document.get("name")
    if isinstance(name, str) and re.fullmatch(NAME, name) is None:
        yield Fault(
            "/name", "invalid-name", "A policy's name has 1 to 90 characters: ASCII letters, digits, "
            "'.', '_' and '-', the first a letter or digit.", "Choose another name.",
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
    if fault.code == "missing" and re.fullmatch(rf"/{form.requirements}/.*/reason", fault.pointer):
        remedy = "Say why this number: who reads the verdict has to be able to disagree with it."
        return dataclasses.replace(fault, remedy=remedy)
    if fault.code == "unknown-field" and named is not None:
        return dataclasses.replace(fault, remedy=f"Call it {named}, as {form.name} does.")
    for place, sent in _WRITTEN.items():
        if fault.pointer.startswith(place):
            return dataclasses.replace(fault, pointer=sent + fault.pointer.removeprefix(place))
    return fault


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
