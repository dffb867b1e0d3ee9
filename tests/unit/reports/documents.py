"""Results of a verdict and an assessment as reports carry them, small and complete."""

from __future__ import annotations

import copy
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from app.evidence.canonical import instant_text
from app.evidence.envelope import Signer, envelope_bytes, opened, sealed
from app.evidence.keys import PublicKey
from app.evidence.statement import Report, Statement, Subject
from app.evidence.withdrawal import Withdrawal

BEGIN = datetime(2026, 11, 1, 9, 0, tzinfo=UTC)
ISSUED = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
KEY = PublicKey(PRIVATE.public_key().public_bytes_raw(), BEGIN)
OTHER_PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
OTHER_KEY = PublicKey(OTHER_PRIVATE.public_key().public_bytes_raw(), BEGIN)

RISK: dict[str, Any] = {
    "risk_average": 0.124, "risk_max": 0.8, "min_consistent": 2, "absent": 3,
    "loss_quantiles": {"0.05": 0.01, "0.5": 0.1, "0.95": 0.4}, "utility_average": 8.5,
}  # fmt: skip
RULE: dict[str, Any] = {
    "name": "proposal", "kind": "table_level", "levels": {"city": 1, "race": 0}, "records": None,
    "suppress_classes_below": None, "suppress_classes_failing": None, "missing": None, "suppressed": None,
}  # fmt: skip


def criterion(id: str, title: str, outcome: str, value: Any, comparison: str, threshold: Any, **more: Any):
    passed = outcome == "passed"
    return {
        "id": id, "title": title, "reason": "The house's rule for publications.", "severity": "block",
        "outcome": outcome, "demand": {"kind": "score", "value": "risk_max"}, "value": value,
        "comparison": comparison, "threshold": threshold,
        "margin": None if value is None else (0.4 if passed else -0.3), "guarantee": "exact",
        "standard_error": None, "parts": [{"dictionary": "register", "group": None, "value": value,
        "outcome": outcome}], "worst": None, "hypotheses": [], "waiver": None, "error": None,
        "explanation": f"{title}: the value is {value}; it must be {comparison} {threshold}.",
    } | more  # fmt: skip


def verdict_result() -> dict[str, Any]:
    return {
        "kind": "verdict", "version": 1, "verdict": "fail",
        "policy": {
            "name": "public-release", "version": 3, "sha256": "b" * 64, "title": "Release to the public",
            "attacker": "Anyone who can look people up in a population register with home, race and age.",
        },
        "subject": {
            "dataset": "members", "dataset_sha256": "d" * 64, "rule": RULE, "rule_sha256": "e" * 64,
            "release": None, "records": 20_000,
            "dictionaries": {"register": {"name": "census", "sha256": "c" * 64, "entities": 1_250_000}},
            "sensitivity": "harm", "failure": None,
        },
        "criteria": [
            criterion("no-one-alone", "Nobody stands out", "failed", 312, "at_most", 0, margin=-312,
                      worst={"rows": [3, 17, 19_500], "records": 312}),
            criterion("worst-risk", "No record is at great risk", "passed", 0.4, "at_most", 0.8),
            criterion("groups", "Every region is treated alike", "waived", 0.3, "at_most", 0.2, parts=[
                {"dictionary": None, "group": {"number": 1, "records": 12_000, "value": None}, "value": 0.1,
                 "outcome": "passed"},
                {"dictionary": None, "group": {"number": 2, "records": 8_000, "value": None}, "value": 0.3,
                 "outcome": "failed"}], waiver={
                "name": "until-the-census", "approved_by": "D. P. Officer", "reason": "The region is new.",
                "until": "2027-01-31", "in_force": True}),
            criterion("estimate", "Unlike others", "failed", 0.07, "at_most", 0.05, severity="warn",
                      guarantee="statistical", standard_error=0.004, margin=-0.02),
            criterion("bound", "The risk is an upper bound", "not_computable", None, "equals", True,
                      severity="warn", error={"code": "not-supported", "message": "Ids are not comparable.",
                                              "remedy": "Declare the identifiers."}),
        ],
        "changes": [
            {"for": "all", "status": "found", "proven": True, "levels": {"city": 2, "race": 1},
             "suppressed_records": 4, "utility_before": 8.5, "utility_after": 7.25, "examined": 31},
            {"for": "groups", "status": "none_exists", "proven": True, "levels": None,
             "suppressed_records": 0, "utility_before": 8.5, "utility_after": None, "examined": 60},
        ],
        "risk": {"register": RISK}, "not_covered": ["Attackers who know incomes were not assessed."],
        "warnings": [], "tolerance": {"absolute": 1e-9},
    }  # fmt: skip


def assessment_result() -> dict[str, Any]:
    return RISK | {
        "n_records": 12, "n_entities": 20, "add_self_risk_average": 0.2, "bound": None, "infinite": 0,
        "k_equivalence": 1, "k_matching": 1, "classes": 9, "utility_min": 7.0, "warnings": ["One warning."],
        "histogram": {
            "counts": {"edges": [0.0, 1.0, 2.0, 3.0, 5.0], "records": [3, 0, 4, 5], "infinite": 0},
            "losses": {"edges": [0.0, 0.4, 0.8], "records": [10, 2], "infinite": 0},
        },
    }  # fmt: skip


def statement(report: Report = "verdict", **changed: Any) -> Statement:
    """A statement about a verdict or an assessment, with some members of its predicate exchanged."""
    inputs = [
        {"role": "dataset", "name": "members", "sha256": "d" * 64, "slot": None},
        {"role": "hierarchy", "name": "city", "sha256": "f" * 64, "slot": "city"},
        {"role": "dictionary", "name": "census", "sha256": "c" * 64, "slot": "register"},
    ]
    predicate = {
        "report": report, "version": 1, "issued_at": instant_text(ISSUED),
        "service": {"version": "0.1.0", "meaning": 1, "python": "3.11.7", "libraries": {"numpy": "2.4.6"}},
        "resource": {"name": "members-gate", "sha256": "a" * 64}, "inputs": inputs,
        "parameters": {
            "dataset": "members", "rule": RULE | {"sha256": "e" * 64}, "release": None,
            "dictionaries": {"register": "census"}, "sensitivity": "harm", "failure": None,
            "options": {"risk_model": "I", "absent_policy": "zero", "attacker_view": "known",
                        "utility": "depth_sum"},
        },
        "policy": None, "measures": {"k_map": 1}, "seeds": {"estimate": 7},
        "hypotheses": [{"id": "non_empty", "holds": "yes", "reason": "Every record has entities."}],
        "result": verdict_result() if report == "verdict" else assessment_result(),
        "tolerance": {"absolute": 1e-9},
    }  # fmt: skip
    subjects = (Subject("dataset/members", "d" * 64), Subject("dictionary/census", "c" * 64))
    return Statement(report, subjects, copy.deepcopy(predicate) | changed)


def signed(made: Statement | None = None) -> bytes:
    """The signed envelope of a statement."""
    return sealed(made or statement(), Signer(KEY, PRIVATE.sign))


def withdrawn_report(
    at: datetime = ISSUED + timedelta(days=1), signer: Signer | None = None, **changed: Any
) -> bytes:
    """The envelope of a verdict on a stored release with a signed statement of its withdrawal."""
    made = statement()
    release = Subject("release/drawn", "b" * 64)
    parameters = made.predicate["parameters"] | {"rule": None, "release": {"name": "drawn"}}
    predicate = made.predicate | {"parameters": parameters}
    report = opened(signed(replace(made, subjects=(*made.subjects, release), predicate=predicate)))
    withdrawal = replace(Withdrawal(release, report.sha256, at, at), **changed)
    beside = sealed(withdrawal, signer or Signer(KEY, PRIVATE.sign))
    return envelope_bytes(replace(report, withdrawal=beside))
