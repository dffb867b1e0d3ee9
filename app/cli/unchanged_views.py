"""Views that an earlier verdict proves private and that are what they were: they are not judged again.

The proof is evidence that was signed with the very key that this gate signs with; nothing else is believed.
Everything that the earlier verdict rests on must be as it is now: the policy, the schema with its
constraints, the text of the view, and what decides. Whatever differs is judged again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from app.cli.files import read_bounded
from app.cli.gate_question import Subject
from app.cli.gate_verdict import Json
from app.domain.errors import InvalidInput
from app.evidence.envelope import opened
from app.evidence.faults import EvidenceError
from app.evidence.private_keys import public_key_of
from app.evidence.statement import Statement, statement_of
from app.evidence.verification import verify

OPTION: Final = "--changed-since"
MEMBER: Final = "unchanged"
"""Of the evidence's parameters: the views that were not judged again, and the evidence that proves them."""


@dataclass(frozen=True)
class Earlier:
    """A verdict that is believed: which views it proves private, and what that rests on."""

    sha256: str
    private: Mapping[str, str]
    """View → hash of its id and its text."""
    basis: Json

    def has_basis_of(self, envelope: bytes) -> bool:
        """Whether a verdict rests on the same policy, schema and program."""
        return basis_of(statement_of(opened(envelope).content)) == self.basis

    def unchanged(self, subject: Subject) -> list[dict[str, str]]:
        """The views that need not be judged again, as the evidence names them; never all of them.

        A verdict is about something: of views that are all unchanged, the first is judged again. And it says
        which tables keep rows from before, so that these are always judged.
        """
        given = subject.views
        if given is None:
            return []
        # Imported here: it loads all that judges, which a gate of tables leaves to the service.
        from app.services.gates.view_subject import view_sha256
        from app.services.views.reading import WrittenQuery

        found = [
            {"id": own.id, "sha256": view_sha256(WrittenQuery(own.id, own.query))}
            for own in given.views
            if own.id not in given.keeping
        ]
        same = [own for own in found if self.private.get(own["id"]) == own["sha256"]]
        return same[1:] if len(same) == len(given.views) else same


def earlier_of(path: Path | None, key: Ed25519PrivateKey | None, server: str | None) -> Earlier | None:
    """The verdict that the option names; InvalidInput if it is not believed."""
    if path is None:
        return None
    if server is not None or key is None:
        raise InvalidInput.of(
            OPTION, "needs-signing-key",
            f"{OPTION} believes only evidence that this gate's own key has signed.",
            "Give --signing-key, and no --server.",
        )  # fmt: skip
    try:
        report = read_bounded(path)
        issued_at = statement_of(opened(report).content).issued_at
        public = public_key_of(key, issued_at)
        verified = verify(report, {public.id: public})
    except EvidenceError as error:
        raise InvalidInput.of(f"{OPTION} {path}", error.code, error.message, error.remedy) from error
    if verified.statement.signed_by != "pipeline" or basis_of(verified.statement) is None:
        raise InvalidInput.of(
            f"{OPTION} {path}", "other-evidence", "It is no evidence of a verdict on views by a pipeline.",
            f"Name what --report has written, or leave {OPTION} out.",
        )  # fmt: skip
    return Earlier(verified.sha256, _private(verified.statement), basis_of(verified.statement) or {})


def basis_of(statement: Statement) -> Json | None:
    """What a verdict on views rests on beside their queries; None of any other."""
    predicate = statement.predicate
    result = predicate["result"]
    subject = result.get("subject")
    if statement.report != "verdict" or not isinstance(subject, Mapping) or "views" not in subject:
        return None
    return {
        "policy": result["policy"]["sha256"],
        "relational_schema": subject["relational_schema_sha256"],
        "decision": subject["decision"],
        "service": predicate["service"],
    }


def without(subject: Subject, unchanged: Sequence[Json]) -> Subject:
    """The subject without these views."""
    if subject.views is None or not unchanged:
        return subject
    left_out = {own["id"] for own in unchanged}
    left = tuple(own for own in subject.views.views if own.id not in left_out)
    return replace(subject, views=replace(subject.views, views=left))


def _private(statement: Statement) -> dict[str, str]:
    """The views that the verdict proves private beside every secret of every requirement."""
    result, parameters = statement.predicate["result"], statement.predicate["parameters"]
    before = parameters.get(MEMBER) or {"views": []}
    found = {own["id"]: own["sha256"] for own in before["views"]}
    for view in result["subject"]["views"]:
        if all(_is_private(view["id"], own) for own in result["criteria"]):
            found[view["id"]] = view["sha256"]
    return found


def _is_private(view: str, criterion: Json) -> bool:
    """Whether each secret of the requirement has a pair with the view, all of them private."""
    verdicts = {own["secret"]: own["verdict"] for own in criterion["pairs"] if own["view"] == view}
    secrets: list[Any] = criterion["demand"]["secrets"]
    constant = (criterion.get("error") or {}).get("code") == "constant-secret"
    # A requirement that ignores keys has its own word, and the policy is the same.
    private = ("PRIVATE", "PRIVATE_IF_KEYS_ARE_UNKNOWN_TO_READERS")
    return not constant and all(verdicts.get(own["id"]) in private for own in secrets)
