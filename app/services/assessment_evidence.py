"""What the evidence of an assessment says beside its result."""

from __future__ import annotations

from collections.abc import Sequence

from app.domain.errors import Conflict
from app.services.evidence import Attested, EvidenceIssuer, EvidenceRef, files_of, inputs_of
from app.services.ports import UnitOfWork
from app.services.references import document_of
from app.services.resources import JsonObject, Kind, Stored
from app.services.rule_documents import rule_in_short, rule_sha256
from app.services.scoring_inputs import Sources, find_sources, refs_of
from app.services.scoring_options import ScoringOptions
from app.services.utility_building import to_document

SLOT = "dictionary"
"""The slot of an assessment's one dictionary or dictionary set."""

_MONOTONE = {
    "non_empty": "Every record has consistent entities.",
    "phi_monotone": "A coarser value is never more harmful.",
    "psi_le_phi": "An attack that fails is never more harmful than one that succeeds.",
    "model_monotone": "The risk model is proved monotone.",
}


async def issue_assessment(work: UnitOfWork, issuer: EvidenceIssuer, assessment: Stored) -> EvidenceRef:
    """The evidence of a stored assessment; Conflict while it has no result."""
    result = await work.results.find(Kind.ASSESSMENT.value, assessment.sha256)
    if result is None:
        raise Conflict(
            f"The assessment {assessment.name!r} has no result yet.",
            "Wait for its run to succeed, or start one again.",
        )
    sources = await find_sources(work, refs_of(assessment))
    dictionary, sensitivity = sources.dictionary, sources.sensitivity
    if dictionary is None or sensitivity is None:
        raise ValueError("an assessment names a dictionary and a sensitivity profile")
    rule = await _rule_of(work, assessment, sources)
    return await issuer.issue(
        work,
        Attested(
            report="assessment",
            resource=assessment,
            result=result,
            inputs=await inputs_of(
                work,
                dataset=sources.dataset,
                rule=(rule["name"], rule["sha256"]),
                dictionaries={SLOT: dictionary},
                sensitivity=sensitivity,
                failure=sources.failure,
                true_dictionary=sources.true_dictionary,
            ),
            parameters={
                "dataset": sources.dataset.name,
                "rule": rule,
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


async def _rule_of(work: UnitOfWork, assessment: Stored, sources: Sources) -> JsonObject:
    """The rule in short, with its name and hash."""
    document = document_of(assessment)
    if document["rule"] is not None:
        sha256 = rule_sha256(document["rule"], sources.dataset.sha256)
        return {"name": None, **rule_in_short(document["rule"]), "sha256": sha256}
    ref = document.get("stored_rule") or assessment.uses[len(sources.by_role)]
    stored = await work.resources.get(Kind.RULE, ref)
    return {"name": stored.name, **rule_in_short(document_of(stored)), "sha256": stored.sha256}


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
