"""A gate's outcome in SARIF 2.1.0: a rule per criterion, a result for each that is not met."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote

from app.cli.gate_text import explanation_of, standing_of, uncovered_of, waiver_text
from app.cli.gate_verdict import JudgedCriterion, Outcome, Standing
from app.cli.gate_views import change_of, open_pairs_of, places_of
from app.cli.given_views import Place
from app.cli.plain_lines import plain_json, plain_line
from app.reports.assumptions import rows_sentence

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS: Final[Mapping[Standing, str]] = {
    Standing.FAILED: "error",
    Standing.ERROR: "error",
    Standing.WARNING: "warning",
    Standing.WAIVED: "note",
}


def sarif_of(outcome: Outcome) -> str:
    """One run; a fault is a notification of an execution that did not succeed."""
    criteria = outcome.verdict.criteria if outcome.verdict else ()
    invocation: dict[str, Any] = {
        "executionSuccessful": outcome.exit_code != 2,
        "exitCode": outcome.exit_code,
    }
    if outcome.fault is not None or outcome.verdict is None:
        message = outcome.fault or "There is no verdict."
        invocation["toolExecutionNotifications"] = [{"level": "error", "message": _message(message)}]
    run: dict[str, Any] = {
        "tool": {"driver": {"name": "privacy-risk", "rules": [_rule(criterion) for criterion in criteria]}},
        "invocations": [invocation],
        "results": [
            result
            for number, criterion in enumerate(criteria)
            if criterion.standing is not Standing.PASSED
            for result in _results(outcome, number, criterion)
        ]
        + _columns(outcome),
    }
    if outcome.verdict is not None and (rows := rows_sentence(outcome.verdict.document)):
        run["properties"] = {"rows_are": plain_line(rows)}
    document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return plain_json(document, indent=2)


def _columns(outcome: Outcome) -> list[dict[str, Any]]:
    """A result per fault of the columns, one for a schema that nobody answers for."""
    verdict = outcome.verdict
    if verdict is None or standing_of(verdict) == "covered":
        return []
    said = [f"{own['message']} {own['remedy']}" for own in uncovered_of(verdict)]
    return [
        {
            "level": "error",
            "message": _message(text),
            "locations": [_location(outcome)],
            "partialFingerprints": {"columns/v1": f"{outcome.subject}:{text}"},
        }
        for text in said or [explanation_of(verdict)]
    ]


def _location(outcome: Outcome) -> dict[str, Any]:
    return _at(Place(outcome.subject, 1))


def _at(place: Place) -> dict[str, Any]:
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": quote(place.path.replace("\\", "/"), errors="replace")},
            "region": {"startLine": place.line},
        }
    }


def _rule(criterion: JudgedCriterion) -> dict[str, Any]:
    blocks = criterion.document.get("severity") != "warn"
    rule: dict[str, Any] = {
        "id": criterion.id,
        "shortDescription": _message(criterion.title),
        "defaultConfiguration": {"level": "error" if blocks else "warning"},
    }
    if criterion.reason:
        rule["fullDescription"] = _message(criterion.reason)
    return rule


def _result(outcome: Outcome, number: int, criterion: JudgedCriterion) -> dict[str, Any]:
    text = f"{criterion.explanation} {criterion.value_and_threshold}.".strip()
    result: dict[str, Any] = {
        "ruleId": criterion.id,
        "ruleIndex": number,
        "level": _LEVELS[criterion.standing],
        "message": _message(text),
        "locations": [_location(outcome)],
        "partialFingerprints": {"criterion/v1": f"{outcome.subject}:{criterion.id}"},
    }
    if criterion.standing is Standing.WAIVED:
        why = waiver_text(criterion.document["waiver"])
        result["suppressions"] = [
            {"kind": "external", "status": "accepted", "justification": plain_line(why)}
        ]
    return result


def _results(outcome: Outcome, number: int, criterion: JudgedCriterion) -> Iterator[dict[str, Any]]:
    """One result, or of a requirement about views one for each pair that is not private, at its line."""
    whole = _result(outcome, number, criterion)
    open_pairs = list(open_pairs_of(criterion))
    if not open_pairs:
        yield whole
    for own in open_pairs:
        result = dict(whole)
        view, secret = own["view"], own["secret"]
        said = f"{view} beside {secret}: {own['explanation']} {change_of(own, outcome)}"
        result["message"] = _message(said.strip())
        result["locations"] = [_location(outcome)]
        places = places_of(own, outcome)
        if places:
            result["locations"] = [_at(places[0])]
        if len(places) > 1:
            result["relatedLocations"] = [_at(place) for place in places[1:]]
        result["partialFingerprints"] = {"pair/v1": f"{criterion.id}:{secret}:{view}"}
        yield result


def _message(text: str) -> dict[str, str]:
    """A text that is shown to people: what reads the file decodes what is escaped in it."""
    return {"text": plain_line(text)}
