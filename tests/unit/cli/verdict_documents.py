"""Verdict documents as the service answers them, to change for each test."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from app.evidence.envelope import Signer, sealed
from app.evidence.keys import PublicKey
from app.evidence.statement import Statement, Subject

KEY = Ed25519PrivateKey.from_private_bytes(b"k" * 32)
PUBLIC = PublicKey(KEY.public_key().public_bytes_raw(), datetime(2026, 1, 1, tzinfo=UTC), None)


def report_of(predicate: dict[str, Any]) -> bytes:
    """The signed report that states this."""
    subjects = (Subject("dataset/members", "1" * 64),)
    return sealed(Statement(predicate["report"], subjects, predicate), Signer(PUBLIC, KEY.sign))


def evidence_of(result: Any, name: str, **more: Any) -> bytes:
    """The evidence of an evaluation's result, without what else such a report says."""
    empty = dict.fromkeys(("policy", "measures", "seeds", "hypotheses", "tolerance"))
    empty |= {"service": {}, "inputs": [], "parameters": {}}
    predicate = {
        **empty, "report": "verdict", "version": 1, "issued_at": "2026-11-20T12:00:00.000000Z",
        "resource": {"name": name, "sha256": "0" * 64}, "result": result, **more,
    }  # fmt: skip
    return report_of(predicate)


def criterion(id: str, outcome: str = "passed", severity: str = "block", **more: Any) -> dict[str, Any]:
    margins = {"passed": 1, "failed": -4, "waived": -4, "not_computable": None}
    document = {
        "id": id,
        "title": f"Title of {id}",
        "reason": "A number that was agreed on.",
        "severity": severity,
        "outcome": outcome,
        "value": {"passed": 6, "not_computable": None}.get(outcome, 1),
        "comparison": "at_least",
        "threshold": 5,
        "margin": margins[outcome],
        "waiver": None,
        "error": None,
        "explanation": "Of 12 records 3 are in classes of fewer than 5; none may be.",
    }
    if outcome == "waived":
        document["waiver"] = {
            "name": "w", "approved_by": "A. Person", "reason": "Agreed.", "until": "2027-01-01",
            "in_force": True,
        }  # fmt: skip
    if outcome == "not_computable":
        document["error"] = {"code": "no-dictionary", "message": "There is none.", "remedy": "Give one."}
    return document | more


def column(name: str, **more: Any) -> dict[str, Any]:
    """A column that a requirement judges."""
    return {
        "name": name, "role": "quasi_identifier", "given_by": "policy",
        "levels": {"least": 1, "greatest": 1, "height": 3}, "values": 2, "singled_out": 0,
        "singled_out_share": 0, "identifiers": [], "judged_by": ["a"], "warned_by": [], "reason": None,
        **more,
    }  # fmt: skip


def coverage(outcome: str = "covered", **more: Any) -> dict[str, Any]:
    """What was checked before the criteria."""
    return {
        "outcome": outcome, "explanation": "All 1 disclosed columns are covered.", "records": 12,
        "allowed_share": 0.001, "to_confirm": [], "uncovered": [], "columns": [column("city")], **more,
    }  # fmt: skip


NOT_COVERED = coverage(
    "not_covered",
    explanation="Not covered: 'remark'.",
    uncovered=[
        {
            "columns": ["remark"], "why": "singles_out", "singled_out": 12, "singled_out_share": 1,
            "identifier": None, "message": "Nothing bounds telling apart by the column 'remark'.",
            "remedy": "Generalise it further.",
        }
    ],
    columns=[
        column("city"),
        column("remark", role="sensitive", judged_by=[], singled_out_share=1, levels=None),
    ],
)  # fmt: skip


def verdict(status: str, *criteria: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "kind": "verdict",
        "version": 1,
        "verdict": status,
        "policy": {
            "name": "public-release",
            "version": 2,
            "sha256": "b" * 64,
            "attacker": "someone with the register",
        },
        "subject": {"dataset": "members", "records": 12},
        "coverage": coverage(),
        "earlier_releases": {
            "releases": [],
            "total": 0,
            "taken_into_account": 0,
            "explanation": "This release was judged alone; no earlier releases of the same data are known "
            "here.",
        },
        "criteria": list(criteria),
        "changes": [],
        "not_covered": ["What the choice of suppressed cells tells."],
        **more,
    }


PASS = verdict("pass", criterion("a"), criterion("b", "failed", "warn"), criterion("c", "waived"))
FAIL = verdict(
    "fail",
    criterion("a"),
    criterion("b", "failed"),
    changes=[
        {
            "for": "all", "status": "found", "proven": True, "levels": {"city": 1}, "suppressed_records": 2,
            "utility_before": 10.5, "utility_after": 9.0, "examined": 7,
        }
    ],
)  # fmt: skip
ERROR = verdict("error", criterion("a", "not_computable"), criterion("b", "failed"))
