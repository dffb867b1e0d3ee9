"""The result of a comparison as a document: no ids, no times."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable
from typing import Final

from app.domain.classes.released import Release
from app.domain.errors import InvalidInput
from app.domain.rules.rule import Rule
from app.domain.search.alternatives.plan import AlternativesOutcome, Nearest
from app.domain.search.alternatives.questions import WAYS, Way, document_of
from app.domain.search.alternatives.shown import ShownRelease, shown_release, suggested
from app.domain.search.full_domain.problem import AnonymityOutcome, criterion_document
from app.domain.search.objectives import Alternatives
from app.domain.tables.numbers import to_json_number
from app.domain.tables.table import Table
from app.services.resources import JsonObject
from app.services.rules.rule_documents import rule_of

LONGEST_NAME: Final = 100
_NONE: Final = "No rule of this kind meets the criteria with so few suppressed records."


def rule_name(name: str, way: str) -> str:
    """The name of an alternative's rule, from that of the optimisation."""
    return f"{name}-{way.replace('_', '-')}"


def require_short(name: str) -> None:
    """InvalidInput for a name that leaves no room for those of the rules."""
    most = LONGEST_NAME - max(len(rule_name("", way)) for way in WAYS)
    if len(name) > most:
        raise InvalidInput.of(
            "/name",
            "too-long",
            "The names of the alternatives' rules begin with it and would be longer than "
            f"{LONGEST_NAME} characters.",
            f"Give a name of at most {most} characters.",
        )


def result_of_alternatives(
    outcome: AlternativesOutcome,
    asked: Alternatives,
    table: Table,
    written: Callable[[AnonymityOutcome, Rule], JsonObject],
) -> JsonObject:
    """What was found side by side; ``written`` makes the document of a rule.

    Rules that release the same are one alternative.
    """
    shown: dict[str, ShownRelease] = {}
    alternatives: dict[str, JsonObject] = {}
    for way in WAYS:
        own = outcome.found.get(way)
        if own is None or own.rule is None:
            continue
        document = written(own, own.rule)
        release = Release(table, rule_of(document, table))
        same = hashlib.sha256(release.codes.tobytes("F")).hexdigest()
        if same in alternatives:
            alternatives[same]["also"].append(way)
            continue
        shown[same] = shown_release(release)
        alternatives[same] = _alternative(way, own, document, shown[same])
    found, place = list(alternatives.values()), suggested(list(shown.values()))
    statuses = [own["status"] for own in found]
    short = outcome.short
    return {
        "objective": document_of(asked),
        "status": ("heuristic" if "heuristic" in statuses else "optimal") if found else _without(outcome),
        "suppression_allowed": outcome.found["one_level_per_column"].suppression_allowed,
        "alternatives": found,
        "suggested": None if place is None else found[place]["id"],
        "not_found": [{"id": way, "reason": reason} for way, reason in _not_found(outcome)],
        "records_short": None if short is None else dataclasses.asdict(short),
        "curves": {
            name: [dataclasses.asdict(own) for own in points] for name, points in outcome.curves.items()
        },
        "infeasible_because": [own.to_document() for own in outcome.refusals],
        "nearest": [_nearest(own) for own in outcome.nearest],
    }


def _without(outcome: AlternativesOutcome) -> str:
    """The status where no rule was found."""
    is_proven = all(own.status == "infeasible" for own in outcome.found.values())
    return "infeasible" if is_proven else "heuristic"


def _not_found(outcome: AlternativesOutcome) -> list[tuple[Way, str]]:
    reasons = dict(outcome.not_made)
    reasons |= {way: _NONE for way, own in outcome.found.items() if own.rule is None}
    return [(way, reasons[way]) for way in WAYS if way in reasons]


def _alternative(way: Way, own: AnonymityOutcome, rule: JsonObject, shown: ShownRelease) -> JsonObject:
    bounds = own.bounds
    return {
        "id": way,
        "also": [],
        "rule": rule,
        "status": own.status,
        "minimised": own.loss,
        "lower_bound": None if bounds is None else to_json_number(bounds.lower),
        "gap": None if bounds is None else to_json_number(bounds.gap),
        **dataclasses.asdict(shown),
        "privacy": [attained.to_document() for attained in own.privacy],
    }


def _nearest(own: Nearest) -> JsonObject:
    criterion = None if own.criterion is None else criterion_document(own.criterion)
    return {"criterion": criterion, "value": own.value}
