"""Evidence shows no values: neither cells of the data nor labels of hierarchies.

What may hold some is known by type (:data:`~app.domain.models.entry.CellValue`) or by its place in a
document; each such value becomes null, or gives way to the hash of what named it. What is of no known kind
loses everything but its name. Recomputing is told the values anew by whoever has them, and compares hashes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

from app.domain.analyses.catalogue import MEASURES
from app.domain.models.criteria import CRITERIA
from app.domain.policies.formats import format_of
from app.domain.search.alternatives.shown import ShownRelease
from app.services.datasets.cell_values import shown_result, without_cell_values
from app.services.fingerprints import sha256_of
from app.services.resources import Actor, JsonObject, Kind, Scope, Stored
from app.services.rules.rule_documents import SUPPRESSION_OF_FAILING
from app.services.views.check_masking import shown_check, shown_verdict

_CRITERIA: Final[Mapping[str, type]] = {own.kind: own for own in CRITERIA}
_MEASURES: Final[Mapping[str, type]] = {measure.name: measure.parameters for measure in MEASURES}


def masked_rule(rule: JsonObject) -> JsonObject:
    """A rule in short; the criteria by which it suppresses may name values."""
    return _with_models(rule, SUPPRESSION_OF_FAILING)


def masked_options(options: JsonObject) -> JsonObject:
    """Options of a score; those of the utility ``custom`` name values of hierarchies."""
    utility = options.get("utility")
    if not isinstance(utility, dict) or "values" not in utility:
        return options
    values = {attribute: {"sha256": sha256_of(given)} for attribute, given in utility["values"].items()}
    return {**options, "utility": {**utility, "values": values}}


def masked_policy(policy: JsonObject) -> JsonObject:
    """A policy's document."""
    assumes = policy["assumes"]
    if "options" in assumes:
        assumes = {**assumes, "options": masked_options(assumes["options"])}
    form = format_of(policy)
    masked = [
        {**own, form.condition: masked_condition(own[form.condition])} for own in policy[form.requirements]
    ]
    shown = {**policy, "assumes": assumes, form.requirements: masked}
    if columns := (policy.get("schema") or {}).get("columns"):
        read = {name: _masked_reading(own) for name, own in columns.items()}
        shown["schema"] = {**policy["schema"], "columns": read}
    return shown


def _masked_reading(column: JsonObject) -> JsonObject:
    """How a column is read; what replaces its cells, and its hierarchy, may name values."""
    shown = dict(column)
    for key in ("map", "hierarchy"):
        if key in column:
            shown[key] = {"sha256": sha256_of(column[key])}
    return shown


def masked_condition(condition: JsonObject) -> JsonObject:
    """What a requirement of a policy asks: measures and privacy models may name values."""
    shown = dict(condition)
    if "measure" in condition:
        shown["measure"] = _masked_by(_MEASURES, condition["measure"])
    if condition.get("kind") == "privacy_model":
        shown["model"] = _masked_by(_CRITERIA, condition["model"])
    if "objective" in condition:
        shown["objective"] = _with_models(condition["objective"], "privacy")
    return shown


def shown_answer(actor: Actor, kind: Kind, result: JsonObject) -> JsonObject:
    """The result of a question of this kind for this actor: without data:read, masked."""
    if kind is Kind.MEASUREMENT:
        return shown_result(actor, result)
    if kind is Kind.VIEW_CHECK:
        return shown_check(actor, result)
    if kind is Kind.EVALUATION:
        return result if Scope.DATA_READ in actor.scopes else shown_verdict(actor, masked_verdict(result))
    return shown_document(actor, result)


def shown_document(actor: Actor, document: JsonObject) -> JsonObject:
    """A summary, or the result of a search, for this actor: without data:read, no values that criteria name.

    They are those by which a rule suppresses and those that an objective asks for, wherever they stand.
    """
    if Scope.DATA_READ in actor.scopes:
        return document
    shown: JsonObject = _without_named_values(document)
    for own in shown.get("alternatives") or ():
        own |= without_cell_values(ShownRelease, own)
    return shown


def shown_resource(actor: Actor, stored: Stored) -> Stored:
    """A resource with the summary that this actor may see."""
    return dataclasses.replace(stored, summary=shown_document(actor, stored.summary))


def _without_named_values(part: Any) -> Any:  # noqa: ANN401 - JSON
    """The part of a document with all criteria in it masked."""
    if isinstance(part, list):
        return [_without_named_values(inner) for inner in part]
    if not isinstance(part, dict):
        return part
    shown = {key: _without_named_values(inner) for key, inner in part.items()}
    kind = shown.get("kind")
    return _masked_by(_CRITERIA, shown) if isinstance(kind, str) and kind in _CRITERIA else shown


def masked_verdict(result: JsonObject) -> JsonObject:
    """The result of an evaluation; groups keep their number and size."""
    subject = result["subject"]
    if subject.get("rule") is not None:
        subject = {**subject, "rule": masked_rule(subject["rule"])}
    coverage = result.get("coverage") or {}
    # What their files write in several ways are values.
    columns = [{key: own[key] for key in own if key != "spellings"} for own in coverage.get("columns", ())]
    return {
        **result,
        "subject": subject,
        **({"coverage": {**coverage, "columns": columns}} if coverage else {}),
        "criteria": [_masked_criterion(own) for own in result["criteria"]],
        "changes": [_masked_change(own) for own in result["changes"]],
    }


def _masked_change(change: JsonObject) -> JsonObject:
    """A suggested change; the definition of its rule may state conditions, which are not shown."""
    rule = change.get("rule")
    if not isinstance(rule, dict):
        return change
    shown = {key: rule[key] for key in ("kind", "levels", SUPPRESSION_OF_FAILING) if key in rule}
    if isinstance(rule.get("rule"), str):
        shown["rule"] = rule["rule"]
    return {**change, "rule": masked_rule(shown)}


def _masked_criterion(found: JsonObject) -> JsonObject:
    parts = [
        {**part, "group": {**part["group"], "value": None}} if part.get("group") else part
        for part in found["parts"]
    ]
    return {**found, "demand": masked_condition(found["demand"]), "parts": parts}


def _with_models(document: JsonObject, key: str) -> JsonObject:
    if not document.get(key):
        return document
    return {**document, key: [_masked_by(_CRITERIA, own) for own in document[key]]}


def _masked_by(known: Mapping[str, type], named: Any) -> JsonObject:  # noqa: ANN401 - JSON
    """An object ``{kind, …parameters}`` with its type's values left out."""
    type_ = known.get(named["kind"])
    return {"kind": named["kind"]} if type_ is None else without_cell_values(type_, named)
