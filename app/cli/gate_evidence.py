"""Whether an answer and its evidence are those of the question that was asked."""

from __future__ import annotations

from collections.abc import Mapping

from app.cli.gate_verdict import Json, Verdict
from app.domain.errors import InvalidInput
from app.domain.policies.formats import format_of
from app.evidence.envelope import opened
from app.evidence.faults import EvidenceError
from app.evidence.statement import statement_of
from app.evidence.verification import check_page


def check_policy(verdict: Verdict, policy: Json | str) -> None:
    """InvalidInput unless the verdict is one of this policy, and judges all that the policy requires.

    Of a policy that only its name is known of (``NAME`` or ``NAME@VERSION``) the name is compared.
    """
    judged = verdict.policy
    if isinstance(policy, str):
        if judged != policy and judged.rpartition("@")[0] != policy:
            raise _other(f"It is of the policy {judged}.")
        return
    if judged != f"{policy.get('name')}@{policy.get('version')}":
        raise _other(f"It is of the policy {judged}.")
    severities = {own.id: own.document.get("severity") for own in verdict.criteria}
    for required in policy.get(format_of(policy).requirements) or ():
        if severities.get(required.get("id")) != required.get("severity", "block"):
            raise _other(f"It does not evaluate the requirement {required.get('id')} as the policy has it.")


def check_evidence(envelope: bytes, evidence: object, evaluation: str, verdict: Verdict) -> Json:
    """The evidence's id and hash; InvalidInput unless the envelope has that hash and says the same.

    The signature is not checked: that takes the keys of the service (``verify``).
    """
    if not isinstance(evidence, Mapping) or not {"id", "sha256"} <= evidence.keys():
        raise InvalidInput.of("evidence", "missing", "The service has no evidence of its verdict.")
    try:
        report = opened(envelope)
        statement = statement_of(report.content)
    except EvidenceError as error:
        raise InvalidInput.of("evidence", error.code, error.message, error.remedy) from error
    if report.sha256 != evidence["sha256"]:
        raise InvalidInput.of("evidence", "altered", "The evidence is not what the service says it is.")
    stated = statement.predicate
    resource, result = stated["resource"], stated["result"]
    if statement.report != "verdict" or not isinstance(resource, Mapping) or not isinstance(result, Mapping):
        raise _unlike("It is no evidence of a verdict.")
    if resource.get("name") != evaluation:
        raise _unlike(f"It is about {resource.get('name')!r}.")
    if result.get("verdict") != verdict.status or _outcomes(result) != _outcomes(verdict.document):
        raise _unlike("It states another verdict.")
    return evidence


def check_report_page(page: str, evidence: Json) -> None:
    """InvalidInput unless the page to read was made from the evidence."""
    try:
        check_page(page, evidence["sha256"])
    except EvidenceError as error:
        raise InvalidInput.of("--html", error.code, error.message, error.remedy) from error


def _outcomes(result: Json) -> object:
    criteria = result.get("criteria")
    if not isinstance(criteria, list) or not all(isinstance(own, Mapping) for own in criteria):
        return None
    return [tuple(own.get(key) for key in ("id", "severity", "outcome", "threshold")) for own in criteria]


def _other(why: str) -> InvalidInput:
    return InvalidInput.of(
        "result", "other-policy", f"The service's answer is not to the question. {why}", "Nothing has passed."
    )


def _unlike(why: str) -> InvalidInput:
    return InvalidInput.of(
        "evidence", "unlike-verdict", f"The evidence is not that of the verdict. {why}", "Nothing has passed."
    )
