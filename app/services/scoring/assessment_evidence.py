"""What the evidence of an assessment says beside its result."""

from __future__ import annotations

from collections.abc import Sequence

from app.services.gates.evidence import Attested, EvidenceIssuer, EvidenceRef, files_of, inputs_of
from app.services.ports import UnitOfWork
from app.services.questions import require_result
from app.services.references import document_of
from app.services.resources import JsonObject, Kind, Stored
from app.services.rules.rules import rule_of_question
from app.services.scoring.scoring_inputs import find_sources, refs_of
from app.services.scoring.scoring_options import ScoringOptions
from app.services.scoring.utility_building import to_document

SLOT = "dictionary"
"""The slot of an assessment's one dictionary or dictionary set."""

_MONOTONE = {
    "non_empty": "Every record has consistent entities.",
    "phi_monotone": "A more general value is never more harmful.",
    "psi_le_phi": "An attack that fails is never more harmful than one that succeeds.",
    "model_monotone": "The risk model is proved monotone.",
}


async def issue_assessment(work: UnitOfWork, issuer: EvidenceIssuer, assessment: Stored) -> EvidenceRef:
    """The evidence of a stored assessment; Conflict while it has no result."""
    found = await work.results.find(Kind.ASSESSMENT.value, assessment.sha256)
    result = require_result(assessment, found)
    sources = await find_sources(work, refs_of(assessment))
    dictionary, sensitivity = sources.dictionary, sources.sensitivity
    if dictionary is None or sensitivity is None:
        raise ValueError("an assessment names a dictionary and a sensitivity profile")
    rule = await rule_of_question(work, assessment, sources.dataset)
    if rule is None:
        raise ValueError("an assessment is of a rule")
    return await issuer.issue(
        work,
        Attested(
            report="assessment",
            resource=assessment,
            result=result,
            inputs=await inputs_of(
                work,
                dataset=sources.dataset,
                rule=(rule.name, rule.sha256),
                dictionaries={SLOT: dictionary},
                sensitivity=sensitivity,
                failure=sources.failure,
                true_dictionary=sources.true_dictionary,
            ),
            parameters={
                "dataset": sources.dataset.name,
                "rule": {**rule.in_short, "sha256": rule.sha256},
                "release": None,
                "dictionaries": {SLOT: dictionary.name},
                "sensitivity": sensitivity.name,
                "failure": None if sources.failure is None else sources.failure.name,
                "options": _options_of(assessment),
                "bounds": assessment.summary.get("bounds"),
            },
            hypotheses=_hypotheses(result),
            files=await files_of(work, sources.dataset),
        ),
    )


def _options_of(assessment: Stored) -> JsonObject:
    """The options as a request names them."""
    options = ScoringOptions.of(document_of(assessment))
    return {**options.shown(), "utility": to_document(options.utility)}


def _hypotheses(result: JsonObject) -> Sequence[JsonObject]:
    monotone = [
        {"id": name, "holds": "yes" if result["monotone"][name] else "no", "reason": reason}
        for name, reason in _MONOTONE.items()
        if result["monotone"].get(name) is not None
    ]
    bound = result.get("bound")
    return [*monotone, *(bound["hypotheses"] if bound else [])]
