"""The result of an evaluation as a plain document: no ids and no times, infinities as texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from app.domain.errors import Fault
from app.domain.gates.findings import Finding, Part
from app.domain.gates.verdicts import Outcome, verdict_of
from app.domain.mechanisms.guarantee import PrivacyGuarantee
from app.domain.models.entry import fields_of_releases
from app.domain.models.reconstruction_privacy import ReconstructionPrivacy
from app.domain.policies.measure_condition import MEASURE_OF
from app.domain.policies.policy import Requirement, of_earlier_versions
from app.services.fingerprints import plain
from app.services.gates.context import EvaluationContext
from app.services.gates.coverage import COVERED_AS_BEFORE, verdict_with
from app.services.gates.evidence_values import TOLERANCE
from app.services.gates.ledger import ledger_document, ledger_warnings
from app.services.gates.registers import answer_for
from app.services.gates.rows import rows_document
from app.services.gates.subject import Subject
from app.services.releases.aligned_release import AlignedRelease
from app.services.releases.mechanism_manifests import hides_records
from app.services.resources import JsonObject

_SHUFFLED: Final = (
    "The rows leave in an order that says nothing of the records' order. A release by this rule in the "
    "records' order is not what was judged."
)
_MADE_OF: Final = (
    "That the synthetic table was made of the original, and of no record held out, is taken from whoever "
    "asked: the people of another table are not attacked."
)
_HELD_OUT: Final = (
    "That the records held out are no records of the original is taken from whoever asked, as far as equal "
    "records do not show it."
)
_STORED: Final = "The rows of the stored release stand in an order that says nothing of the records' order."
_CHOSEN: Final = (
    "The rows stand in the order of the dataset's records, which was chosen: nobody who knows that order is "
    "taken for an attacker."
)
_REMEDY: Final = (
    "Who knows that order knows whose row is whose. Have the release made here, which shuffles the rows of "
    'each class, or shuffle them; if the order is meant, say so by "order": "records".'
)
_BEFORE: Final = (
    "The rows of the stored release stand in the order of the dataset's records: it was made before rows "
    "were shuffled. Who knows that order knows whose row is whose. Make the release anew."
)
_RARE: Final = 6
"""Chances below ten to the minus this are not told in figures."""


def _order_document(subject: Subject, context: EvaluationContext) -> JsonObject:
    """``order``: ``shuffled`` for a rule, else what is known of the file; whether the records' was chosen."""
    aligned = context.aligned
    order = "shuffled" if aligned is None else aligned.order
    if subject.released is not None:
        order = subject.released.order
    return {"order": order, "order_chosen": subject.order == "records"}


def _order_assumptions(subject: Subject, context: EvaluationContext) -> list[str]:
    """What the verdict takes for granted of the order."""
    order = _order_document(subject, context)
    if order["order"] == "records" and order["order_chosen"]:
        return [_CHOSEN]
    if order["order"] != "shuffled":
        return []
    return [_SHUFFLED if subject.released is None else _STORED]


def _order_warnings(subject: Subject, context: EvaluationContext) -> list[str]:
    """A warning where a release keeps the records' order, and nobody said that this is meant."""
    if subject.released is not None:
        return [] if subject.released.order == "shuffled" or subject.order == "records" else [_BEFORE]
    aligned = context.aligned
    if aligned is None or subject.order == "records":
        return []
    found = _found(aligned)
    return [] if found is None else [f"{found} {_REMEDY}"]


def _found(aligned: AlignedRelease) -> str | None:
    if aligned.fits_in_place:
        return (
            "The release file seems to keep the order of the dataset's records: every row fits the record in "
            "its place, and not every row the record in the next one."
        )
    if aligned.kept is None:
        return None
    digits = -aligned.kept.log10_chance
    rarely = "less than once in a million times" if digits > _RARE else f"once in {round(10**digits):,} times"
    where = "Within its equivalence classes the" if aligned.kept.within_classes else "The"
    return f"{where} release file keeps the order of the dataset's records, as a random order does {rarely}."


VERSION: Final = 1

_AS_WRITTEN: Final = "The policy keeps version 1, for which each spelling, and ⊥, is a value of its own, in"
_SHOWN_RISKS: Final = (
    "risk_average",
    "risk_max",
    "row_of_risk_max",
    "loss_quantiles",
    "infinite",
    "utility_average",
    "utility_min",
    "min_consistent",
    "row_of_min_consistent",
    "absent",
    "add_self_risk_average",
    "risk_model",
    "attacker_view",
    "n_entities",
    "k_matching",
    "k_equivalence",
    "warnings",
)


def criterion_document(
    criterion: Requirement,
    condition: JsonObject,
    finding: Finding,
    outcome: Outcome,
    waiver: JsonObject | None,
) -> JsonObject:
    """What was found of a criterion."""
    worst, rows = finding.worst, finding.worst_records
    promised = {} if finding.promised is None else {"promised": _promised(finding.promised)}
    return _criterion(
        criterion,
        condition,
        waiver,
        **promised,
        outcome=outcome,
        value=worst.value,
        quantity={"what": criterion.condition.quantity, "of_records": finding.of_records},
        comparison=finding.comparison,
        threshold=finding.threshold,
        margin=worst.margin,
        guarantee=finding.guarantee,
        standard_error=finding.standard_error,
        parts=[_part(part) for part in finding.parts],
        worst=rows and asdict(rows),
        hypotheses=[asdict(own) for own in finding.hypotheses],
        error=None,
        explanation=finding.explanation,
    )


def criterion_of_views(
    criterion: Requirement,
    condition: JsonObject,
    waiver: JsonObject | None,
    *,
    outcome: Outcome,
    open_pairs: int | None,
    what: str,
    error: Fault | None,
    explanation: str,
    pairs: Sequence[JsonObject],
    assumptions: Sequence[str],
    warnings: Sequence[str],
) -> JsonObject:
    """What was found of a requirement about views; ``open_pairs`` is how many pairs are not private.

    ``assumptions`` and ``warnings`` are for the verdict, which says those of all requirements once.
    """
    return _criterion(
        criterion,
        condition,
        waiver,
        outcome=outcome,
        value=open_pairs,
        quantity={"what": what, "of_records": None},
        comparison="at_most",
        threshold=0,
        margin=None if open_pairs is None else -open_pairs,
        guarantee=None if open_pairs is None else "exact",
        standard_error=None,
        parts=[],
        worst=None,
        hypotheses=[],
        error=None if error is None else _error(error),
        explanation=explanation,
        pairs=pairs,
        assumptions=assumptions,
        warnings=warnings,
    )


def _error(fault: Fault) -> JsonObject:
    return {key: value for key, value in asdict(fault).items() if key != "pointer"}


def _promised(guarantee: PrivacyGuarantee) -> JsonObject:
    """The guarantee as it was judged."""
    return {**asdict(guarantee), "standing": guarantee.standing}


def broken_document(
    criterion: Requirement, condition: JsonObject, fault: Fault, waiver: JsonObject | None
) -> JsonObject:
    """A criterion whose value could not be had."""
    return _criterion(
        criterion,
        condition,
        waiver,
        outcome="not_computable",
        value=None,
        quantity={"what": criterion.condition.quantity, "of_records": None},
        comparison=condition.get("comparison"),
        threshold=condition.get("threshold"),
        margin=None,
        guarantee=None,
        standard_error=None,
        parts=[],
        worst=None,
        hypotheses=[],
        error=_error(fault),
        explanation=f"It could not be computed: {fault.message}",
    )


def _criterion(
    criterion: Requirement,
    condition: JsonObject,
    waiver: JsonObject | None,
    **found: Any,  # noqa: ANN401
) -> JsonObject:
    document: JsonObject = {
        "id": criterion.id,
        "title": criterion.title,
        "reason": criterion.reason,
        "severity": criterion.severity,
        "demand": condition,
        "waiver": waiver,
        **found,
    }
    return plain(document)


def _part(part: Part) -> JsonObject:
    document = asdict(part)
    return document | {"outcome": "passed" if document.pop("passes") else "failed"}


def risk_document(score: JsonObject) -> JsonObject:
    """A score in short."""
    return {name: score[name] for name in _SHOWN_RISKS}


def verdict_document(
    subject: Subject,
    context: EvaluationContext,
    criteria: Sequence[JsonObject],
    risks: Mapping[str, JsonObject | None],
    changes: Sequence[JsonObject],
    coverage: JsonObject,
) -> JsonObject:
    """The whole result; the verdict follows from the coverage and the outcomes, and from nothing else."""
    earlier = ledger_document(subject.earlier, subject.dataset, subject.parameters)
    if _hides_records(subject):
        earlier = {**earlier, "releases": list(map(_without_hash_of_data, earlier["releases"]))}
        criteria = [
            {**own, "waiver": own["waiver"] and _without_hash_of_data(own["waiver"])} for own in criteria
        ]
    schema = subject.policy.schema
    answers = [answer_for(subject, slot) for slot in sorted(subject.dictionaries)]
    rows = rows_document(subject.dataset, None if schema is None else schema.rows_are)
    document = {
        "kind": "verdict",
        "version": VERSION,
        "rows_are": rows,
        "verdict": verdict_with(
            coverage, verdict_of([(own["severity"], own["outcome"]) for own in criteria])
        ),
        "policy": {
            "name": subject.policy.name,
            "version": subject.policy.version,
            "sha256": subject.stored_policy.sha256,
            "title": subject.policy.title,
            "attacker": subject.policy.assumes.attacker,
        },
        "subject": _subject(subject, context),
        "coverage": coverage,
        "earlier_releases": earlier,
        "criteria": list(criteria),
        "changes": list(changes),
        "risk": dict(risks) or None,
        "not_covered": _not_covered(subject, context, criteria),
        "assumptions": [
            rows["sentence"],
            *_order_assumptions(subject, context),
            *(said for by, said in answers if by != "before"),
            *_made_of(subject),
        ],
        "warnings": [
            *_order_warnings(subject, context),
            *ledger_warnings(subject.earlier, _order_document(subject, context)["order"]),
            *([COVERED_AS_BEFORE] if subject.policy.is_covered_as_before else []),
            *dict.fromkeys(said for by, said in answers if by == "before"),
            *([f"{_AS_WRITTEN}: {', '.join(own)}."] if (own := of_earlier_versions(subject.policy)) else []),
            *_warnings(criteria, risks),
        ],
        "tolerance": TOLERANCE,
    }
    return plain(document)


def _hides_records(subject: Subject) -> bool:
    """Whether who knows all records but one could find that one by a hash of the data."""
    released = subject.released
    return released is not None and released.is_drawn and hides_records(released.stored)


def _without_hash_of_data(document: JsonObject) -> JsonObject:
    return {**document, "dataset_sha256": None}


def _subject(subject: Subject, context: EvaluationContext) -> JsonObject:
    upload, aligned, released = subject.upload, context.aligned, subject.released
    release = None if released is None else released.in_short
    is_secret = _hides_records(subject)
    if upload is not None and aligned is not None:
        release = {
            "upload": upload.name,
            "upload_sha256": upload.sha256,
            "aligned_by": aligned.aligned_by,
            "records": aligned.records,
        }
    return {
        "dataset": subject.dataset.name,
        "dataset_sha256": None if is_secret else subject.dataset.sha256,
        "rule": subject.shown_rule,
        "rule_sha256": None if subject.rule is None else subject.rule.sha256,
        "release": release,
        **_order_document(subject, context),
        "records": None if is_secret else context.table.n_records,
        "dictionaries": {
            slot: {
                "name": stored.name,
                "sha256": stored.sha256,
                "entities": max(own.n_entities for own in context.scorings[slot].linked),
                "answered_for_by": answer_for(subject, slot)[0],
            }
            for slot, stored in subject.dictionaries.items()
        },
        "sensitivity": subject.base.sensitivity and subject.base.sensitivity.name,
        "failure": subject.base.failure and subject.base.failure.name,
        **{role: {"name": own.name, "sha256": own.sha256} for role, own in subject.compared.items()},
    }


def _made_of(subject: Subject) -> list[str]:
    """What is taken from whoever asked; of which dataset a release was drawn here is known."""
    if subject.released is not None and subject.released.is_drawn:
        return [_HELD_OUT] if "holdout" in subject.compared else []
    return [_MADE_OF] if subject.compared else []


def _not_covered(subject: Subject, context: EvaluationContext, criteria: Sequence[JsonObject]) -> list[str]:
    said = ["Attackers who know more than the policy assumes are not covered."]
    if context.table.persons is not None:
        said.append("Who knows what stands in several rows of one person is not covered.")
    if not any(own.condition.is_scored for own in subject.policy.requirements):
        said.append("How much harm a disclosure does is not judged: no requirement asks for it.")
    elif subject.base.sensitivity is None:
        said.append("No harm of a disclosure was named: the risk itself was not computed.")
    elif not context.scorings:
        said.append("No dictionary was named: the risk itself was not computed.")
    measures = (own["demand"].get("measure", {}).get("kind") for own in criteria)
    if not any(fields_of_releases(MEASURE_OF[own].parameters) for own in measures if own in MEASURE_OF):
        said.append("What was released of the dataset before was not taken into account.")
    said += [
        f"Records that are suppressed for a missing quasi-identifier are not judged by {own['id']!r}."
        for own in criteria
        if own["demand"].get("missing") == "excluded"
    ]
    said += [
        f"The criterion {own['id']!r} is about values that plain perturbation would draw afterwards: the "
        "release itself, as a table, shows the sensitive values unperturbed."
        for own in criteria
        if context.drawn is None and _is_of_later(own["demand"])
    ]
    if context.aligned is not None and context.rule is None:
        said.append(
            f"The release file was not aligned with the records of the dataset: {context.aligned.reason}"
        )
    said += [
        f"The criterion {own['id']!r} could not be computed."
        for own in criteria
        if own["outcome"] == "not_computable"
    ]
    return said


def _is_of_later(demand: JsonObject) -> bool:
    """Whether a requirement judges what a later perturbation would leave, not what is shown."""
    asked = demand.get("model" if demand["kind"] == "privacy_model" else "measure", {})
    return bool(asked.get("kind") == ReconstructionPrivacy.kind)


def _warnings(criteria: Sequence[JsonObject], risks: Mapping[str, JsonObject | None]) -> list[str]:
    said = [
        f"The requirement {own['id']!r} fails and is waived: it covers no column."
        for own in criteria
        if own["outcome"] == "waived" and own["severity"] == "block"
    ]
    said += [
        f"The waiver {own['waiver']['name']!r} of the criterion {own['id']!r} {_lapsed(own['waiver'])}"
        for own in criteria
        if own["waiver"] is not None and not own["waiver"]["in_force"]
    ]
    for slot, risk in sorted(risks.items()):
        said += [f"{slot}: {warning}" for warning in (risk or {}).get("warnings", ())]
    return said


def _lapsed(waiver: JsonObject) -> str:
    """Why a waiver does not count."""
    if waiver.get("lapse") == "other_content":
        return "was granted for other data under this name and does not count for these."
    if waiver.get("lapse") == "other_criterion":
        return "was granted for another criterion under this id and does not count for this one."
    return f"expired on {waiver['until']} and is no waiver any more."
